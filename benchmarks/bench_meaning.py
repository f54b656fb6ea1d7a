"""Words and meaning: few examples, the embedded library, screening, and what it costs.

Run with ``CLASSMARK_DATA=DIR python benchmarks/bench_meaning.py [--sets SETS]
[--parts few,sets,folds,live,screen,cost] [--draws 10] [--runs 3] [--model FOLDER]
[--vectors FOLDER] [--json FILE]``. Contestants: words alone; the static table of
``classmark[meaning]``, weight 0.3; with --model, a folder with model.onnx, that
sentence model, at 0.5; its vectors are stored in --vectors from one run to the next.
Rankers are ``PreferenceRanker()``; their vectorizer is fitted on the training texts.

few : 40 training documents of each topic at most, test documents as the collection; MAP
of ``auto`` by the number of examples, the same draws for every contestant, and vectors
alone. Beside them what people do with sentence vectors: the cosine with the examples'
centroid, and scikit-learn's LogisticRegression, of the examples against the collection,
and against the examples of all other topics.
sets : all categories ranked, at the source's weight and at the one that held-out
rankings choose; and the library by the ranker of ``classmark train``, along its tree.
folds : the library's records, each tested by what is learned of three quarters of them.
live : AvgP after the first 30, 100 and 300 labelled documents, the columns of meaning
centred, and not centred, as in live learning that begins from nothing.
screen : WSS@95 on Debian packages, as bench_screening does, words against both.
cost : training time against words alone, of all categories, and of a query over the
test messages of 20 Newsgroups (processor time, the contestants taking turns); one round
over 100,000 made-up documents; and what a text costs when it is suggested for.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from collections.abc import Callable, Iterator, Sequence
from copy import copy
from dataclasses import replace
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
from bench_screening import ANALYZER, BANDS, BATCH, NEVER
from meaning_few import (
    SETS,
    SIZES,
    few_task,
    peers,
    picked,
    set_named,
    some_packages,
)
from synthetic_rows import SyntheticRows

import classmark as cm
from classmark.arrays import Rows, beside, rows_from, take
from classmark.datasets.dataset import Dataset, DatasetPart
from classmark.evaluation.screening import simulate
from classmark.examples.problem import mean_of
from classmark.examples.screening import StoppingRule
from classmark.hierarchies.taxonomy_ranker import TaxonomyRanker
from classmark.meaning.sources import MeaningSource, unit_rows
from classmark.measures import paired_t_test
from classmark.measures.categories import category_ranking_per_document
from classmark.preferences.labels import labels_from
from classmark.rankers.meaning_weight import weigh_meaning
from classmark.weighting.dense import centre_of, centred
from reproductions.qbme_few import Cell, few
from reproductions.qbme_tasks import Task

TREE = "library, its tree"
FIRST = (30, 100, 300)  # labelled documents to begin with
ASKED = (5, 10, 20)  # examples of the queries that are timed
MEASURES = ("one_error", "average_precision", "coverage")
Sources = dict[str, MeaningSource]


def contestants(texts: Sequence[str], fitted: int, sources: Sources) -> dict[str, Rows]:
    """Rows of texts, the vectorizer fitted on the first so many, by contestant."""
    first = texts[:fitted]
    words = cm.Vectorizer(weighting="log-tfidf").fit(first).rows(texts)
    rows = {"words": words}
    for name, source in sources.items():
        if isinstance(source, cm.VectorFile):
            source.compute(texts)
        vectors = source.encode(texts)
        alone = centred(vectors, centre_of(vectors[:fitted]))
        rows[f"{name} alone"] = rows_from(alone)
        both = cm.Vectorizer(weighting="log-tfidf", meaning=source).fit(first)
        rows[f"words ⊕ {name}"] = both.rows(texts)
    return rows


def by_examples(
    sources: Sources, names: Sequence[str], draws: int
) -> dict[str, dict[str, Any]]:
    """Measure MAP by the number of examples, of each set: ``auto``, and the peers."""
    found: dict[str, dict[str, Any]] = {}
    for name in names:
        task, texts, cut = few_task(name)
        cells: list[Cell] = []
        for own, rows in contestants(texts, len(texts), sources).items():
            parts = (np.arange(cut), np.arange(cut, len(rows)))
            train, collection = (take(rows, part) for part in parts)
            query = replace(task, train=train, collection=collection)
            cells += few(query, {own: cm.ExampleQuery}, (*SIZES, None), draws)
        if "sentence" in sources:
            units = unit_rows(sources["sentence"].encode(texts))
            cells += peers(task, units, SIZES, draws)
        found[name] = {"topics": len(task.topics), "train": cut, "all": len(texts)}
        for cell in cells:
            figures = [cell.mean, cell.error]
            found[name].setdefault(cell.method, []).append(figures)
        found[name] |= differences(cells)
        print(f"\n{few_table({name: found[name]})}", flush=True)
    return found


def differences(cells: Sequence[Cell]) -> dict[str, Any]:
    """How far both are from words alone: the mean over topics, and its error."""
    words = {cell.size: cell.values for cell in cells if cell.method == "words"}
    apart: dict[str, Any] = {}
    for cell in cells:
        if cell.method.startswith("words ⊕"):
            gain = cell.values - words[cell.size]
            error = float(gain.std(ddof=1) / np.sqrt(len(gain)))
            figures = [float(gain.mean()), error]
            apart.setdefault(f"{cell.method}, less words", []).append(figures)
    return apart


def by_set(sources: Sources, names: Sequence[str]) -> list[dict[str, Any]]:
    """One row for each set, and for the library along its tree, source and weight."""
    return [row for name in (*names, TREE) for row in _ranked(name, sources)]


def _ranked(name: str, sources: Sources) -> list[dict[str, Any]]:
    rows = [
        facts | {measure: float(right[measure].mean()) for measure in MEASURES}
        for facts, right in contests(name, ranked_set(name), sources)
    ]
    print(f"\n{sets_table(rows)}", flush=True)
    return rows


def by_folds(sources: Sources, partitions: int = 3, parts: int = 4) -> dict[str, Any]:
    """AvgP over all records of the library, each tested once in every partition.

    Beside each mean its difference from words, and its p by the paired t test.
    """
    library = cm.datasets.load("library")
    both = (library.train, tested_part(library))
    joined = DatasetPart(
        *([each for part in both for each in getattr(part, own)]
          for own in ("ids", "texts", "labels"))
    )  # fmt: skip
    result: dict[str, Any] = {}
    for name in ("library", TREE):
        precisions: dict[str, list[np.ndarray]] = {}
        for seed in range(partitions):
            mixed = np.random.default_rng(seed).permutation(len(joined))
            for first in range(parts):
                out = set(mixed[first::parts].tolist())
                rest = [at for at in range(len(joined)) if at not in out]
                train, test = (picked(joined, at) for at in (rest, sorted(out)))
                dataset = replace(library, train=train, test=test)
                for facts, right in contests(name, dataset, sources):
                    column = f"{facts['rows']} {facts['how']}".strip()
                    own = precisions.setdefault(column, [])
                    own.append(right["average_precision"])
        words = np.concatenate(precisions["words"])
        for column, some in precisions.items():
            values = np.concatenate(some)
            row = {"AvgP": float(values.mean())}
            if column != "words":
                row["less words"] = float((values - words).mean())
                row["p"] = float(paired_t_test(values, words).p_value)
            result[f"{name}, {column}"] = row
    return result


def contests(
    name: str, dataset: Dataset, sources: Sources
) -> Iterator[tuple[dict[str, Any], dict[str, np.ndarray]]]:
    """Each way to make rows, and the measures of every test document by it."""
    train, tested, k = dataset.train, tested_part(dataset), len(dataset.label_names)
    known, truth = (
        labels_from(dataset.label_numbers(part), len(part), k)
        for part in (train, tested)
    )
    asked = np.flatnonzero(np.diff(truth.starts))
    for own, source in {"words": None, **sources}.items():
        if isinstance(source, cm.VectorFile):
            source.compute([*train.texts, *tested.texts])
        for how in ("the source's", "chosen") if source else ("",):
            vectorizer = cm.Vectorizer(weighting="log-tfidf", meaning=source)
            X = vectorizer.fit_transform(train.texts)
            ranker = ranker_of(name, dataset, vectorizer)
            if how == "chosen":
                X, ranker = weigh_meaning(vectorizer, ranker, X, known)
            rows = take(vectorizer.rows(tested.texts), asked)
            scores = copy(ranker).fit(X, known).decision_function(rows)
            right = category_ranking_per_document(scores, take(truth, asked))
            weight = vectorizer.meaning_.weight if vectorizer.meaning_ else 0.0
            facts = {"set": name, "rows": own, "how": how, "weight": weight}
            yield facts, right


def ranked_set(name: str) -> Dataset:
    """A set by its name, the library by ``TREE`` as well."""
    return set_named("library" if name == TREE else name)


def tested_part(dataset: Dataset) -> DatasetPart:
    """The test part, else the validation part."""
    return dataset.test if dataset.test.ids else dataset.validation


def ranker_of(name: str, dataset: Dataset, vectorizer: cm.Vectorizer) -> Any:
    """The ranker as constructed; for ``TREE``, that of ``classmark train``."""
    if name == TREE:
        return tree_ranker(dataset, vectorizer)
    return cm.PreferenceRanker()


def from_nothing(
    sources: Sources, names: Sequence[str], draws: int = 3
) -> list[dict[str, Any]]:
    """Rank all test documents after so many labelled ones, drawn by chance."""
    means: dict[tuple[Any, ...], list[float]] = {}
    for name in names:
        dataset = set_named(name)
        k, train = len(dataset.label_names), dataset.train
        tested = tested_part(dataset)
        truth = labels_from(dataset.label_numbers(tested), len(tested), k)
        asked = np.flatnonzero(np.diff(truth.starts))
        known = labels_from(dataset.label_numbers(train), len(train), k)
        labelled = np.flatnonzero(np.diff(known.starts))
        for first in FIRST:
            for draw in range(draws):
                drawn = np.random.default_rng(draw).permutation(labelled)[:first]
                texts = [train.texts[at] for at in drawn]
                for how, vectorizer in beginnings(texts, sources):
                    ranker = cm.PreferenceRanker()
                    ranker.fit(vectorizer.rows(texts), take(known, drawn))
                    scores = ranker.decision_function(
                        take(vectorizer.rows(tested.texts), asked)
                    )
                    right = cm.measures.category_ranking(scores, take(truth, asked))
                    own = means.setdefault((name, first, how), [])
                    own.append(right["average_precision"])
    return [
        {"set": name, "documents": first, "rows": how, "AvgP": float(np.mean(own))}
        for (name, first, how), own in means.items()
    ]


def beginnings(
    texts: Sequence[str], sources: Sources
) -> Iterator[tuple[str, cm.Vectorizer]]:
    """Vectorizers of words; of both, not centred; and of both, centred."""
    yield "words", cm.Vectorizer(weighting="log-tfidf").fit(texts)
    for name, source in sources.items():
        for how in ("not centred", "centred"):
            both = cm.Vectorizer(
                weighting="log-tfidf", meaning=source, meaning_weight=None
            ).fit(texts)
            if how == "not centred" and (block := both.meaning_) is not None:
                both.meaning_ = replace(block, centre=np.zeros_like(block.centre))
            yield f"words ⊕ {name}, {how}", both


def tree_ranker(library: Dataset, vectorizer: cm.Vectorizer) -> TaxonomyRanker:
    """The ranker of ``classmark train`` for the library; the vectorizer is fitted."""
    about = dict(zip(library.descriptions.ids, library.descriptions.texts, strict=True))
    said = [about.get(node, "") for node in library.taxonomy]
    return TaxonomyRanker(
        library.taxonomy,
        library.label_names,
        descriptions=vectorizer.transform(said),
    )


def screened(sources: Sources, runs: int) -> dict[str, Any]:
    """WSS@95 of the order, per tag, by words and by both, and the paired difference.

    Of 8,000 packages with tags, or of all where no sentence model has to read them; the
    tags are those of bench_screening's shares.
    """
    some = cm.datasets.load("debian-debtags")
    if "sentence" in sources:
        some = some_packages(some)
    tagged = [
        (text, set(own))
        for part in (some.train, some.test)
        for text, own in zip(part.texts, part.labels, strict=True)
        if own
    ]
    texts, labels = ([one[at] for one in tagged] for at in (0, 1))
    rows = {"words": cm.Vectorizer(ANALYZER, "log-tfidf").fit(texts).rows(texts)}
    for name, source in sources.items():
        both = cm.Vectorizer(ANALYZER, "log-tfidf", meaning=source).fit(texts)
        rows[f"words ⊕ {name}"] = both.rows(texts)
    flags = {
        tag: np.array([tag in own for own in labels])
        for tag in sorted({tag for own in labels for tag in own})
    }
    tags = [
        tag
        for tag, truth in flags.items()
        if any(low < truth.mean() < high for low, high in BANDS)
    ]
    rule = StoppingRule(batch=BATCH, share=0.0, patience=NEVER)
    saved = {
        name: np.array([
            np.mean([
                simulate(
                    X, flags[tag],
                    np.random.default_rng(run).choice(np.flatnonzero(flags[tag]), 1),
                    rule=rule, random_state=run, to_stop=False,
                ).saved
                for run in range(runs)
            ])
            for tag in tags
        ])
        for name, X in rows.items()
    }  # fmt: skip
    return {"documents": len(texts), "tags": len(tags), "runs": runs} | {
        name: {
            "WSS@95": float(values.mean()),
            "better": int((values > saved["words"]).sum()),
            "p": float(paired_t_test(values, saved["words"]).p_value)
            if name != "words"
            else 1.0,
        }
        for name, values in saved.items()
    }


def costs(sources: Sources, names: Sequence[str], turns: int = 3) -> dict[str, Any]:
    """Training times of words and of both, and of one more text to be suggested for.

    Training includes the choice of the weight, unless "its weight" is given.
    """
    found: dict[str, Any] = {"train": {}, "suggest": {}}
    for name in (TREE, *names):
        found["train"][name] = in_turns(trainings(name, sources), turns)
    for size, times in asking(sources, turns).items():
        found["train"][f"a query from {size} examples, 20 Newsgroups"] = times
    found["suggest"] = suggesting(cm.datasets.load("library"), sources)
    found["round"] = one_round()
    return found


def trainings(name: str, sources: Sources) -> dict[str, Callable[[], Any]]:
    """What is timed: a training by words, by both, and by both at the source's weight.

    Texts have been read and vectors made before.
    """
    dataset = ranked_set(name)
    texts, k = dataset.train.texts, len(dataset.label_names)
    Y = labels_from(dataset.label_numbers(dataset.train), len(texts), k)
    acts: dict[str, Callable[[], Any]] = {}
    for own, source in {"words": None, **sources}.items():
        if isinstance(source, cm.VectorFile):
            source.compute(texts)
        vectorizer = cm.Vectorizer(weighting="log-tfidf", meaning=source)
        X = vectorizer.fit_transform(texts)
        ranker = ranker_of(name, dataset, vectorizer)
        acts[own] = partial(trained, vectorizer, ranker, X, Y)
        if source is not None:
            acts[f"{own}, its weight"] = partial(copy(ranker).fit, X, Y)
    return acts


def trained(vectorizer: cm.Vectorizer, ranker: Any, X: Any, Y: Any) -> None:
    """Choose the weight, learn, and leave the vectorizer as it was."""
    block = vectorizer.meaning_
    rows, weighed = weigh_meaning(vectorizer, ranker, X, Y)
    copy(weighed).fit(rows, Y)
    vectorizer.meaning_ = block


def asking(sources: Sources, turns: int) -> dict[int, dict[str, float]]:
    """Processor seconds of one query by the number of examples, over all topics."""
    task, texts, cut = few_task("20newsgroups-bydate")
    tasks = {}
    for name, rows in contestants(texts, len(texts), sources).items():
        parts = (np.arange(cut), np.arange(cut, len(rows)))
        train, collection = (take(rows, part) for part in parts)
        if "alone" not in name:
            tasks[name] = replace(task, train=train, collection=collection)

    def asked(own: Task, size: int) -> None:
        for topic in own.topics:
            cm.ExampleQuery().fit(own.examples(topic, size), own.collection)

    found = {}
    for size in ASKED:
        acts = {name: partial(asked, own, size) for name, own in tasks.items()}
        taken = in_turns(acts, turns)
        found[size] = {name: s / len(task.topics) for name, s in taken.items()}
    return found


def one_round(documents: int = 100_000, numbers: int = 256, turns: int = 5) -> Any:
    """Processor milliseconds of a round over made-up documents: learn, the best 50.

    Words are 50 of 50,000; ten examples. "whole" learns over all documents, "yes" goes
    on from there with one example more, "sample" learns over 20,000 of them, "mean"
    over their mean, as ``Online`` does.
    """
    chance = np.random.default_rng(0)
    words = SyntheticRows(0, documents, 50_000, relevant=documents // 100).open()
    dense = unit_rows(chance.normal(size=(documents, numbers)))
    found = {}
    for name, rows in (
        ("words", words),
        ("words ⊕ meaning", beside(words, rows_from(np.float32(0.5) * dense))),
    ):
        P, mean = take(rows, np.arange(10)), mean_of(rows)
        begun = cm.ExampleQuery().fit(P, rows, mean=mean)
        more = take(rows, [10])
        acts = {
            "whole": lambda P=P, U=rows, mean=mean: cm.ExampleQuery().fit(
                P, U, mean=mean
            ),
            "yes": lambda begun=begun, more=more: begun.partial_fit(more, known=[10]),
            "sample": lambda P=P, U=rows, mean=mean: cm.ExampleQuery(sample=20_000).fit(
                P, U, mean=mean
            ),
            "mean": lambda P=P, mean=mean: cm.ExampleQuery().fit(P, mean=mean),
        }
        for how, act in acts.items():
            taken = []
            for _ in range(turns):
                begin = time.process_time()
                act().rank(rows, 50)
                taken.append(time.process_time() - begin)
                if how == "yes":
                    begun.undo()
            found[f"{name}, {how}"] = 1000 * median(taken)
    return found


def suggesting(dataset: Dataset, sources: Sources) -> dict[str, float]:
    """Median milliseconds of ``suggest`` for a text of the library's test part."""
    made: dict[str, Any] = {"words": None} | dict(sources)
    found = {}
    for name, source in made.items():
        if isinstance(source, cm.VectorFile):
            source = source.source  # noqa: PLW2901 (a new text is in no file)
        vectorizer = cm.Vectorizer(weighting="log-tfidf", meaning=source)
        model = cm.TextRanker.fit(
            vectorizer,
            cm.PreferenceRanker(),
            dataset.train.texts,
            dataset.label_numbers(dataset.train),
            dataset.label_names,
        )
        model.suggest(dataset.train.texts[0])
        taken = []
        for text in dataset.test.texts[:100]:
            begin = time.perf_counter(), time.process_time()
            model.suggest(text)
            end = time.perf_counter(), time.process_time()
            taken.append(np.subtract(end, begin))
        clock, processor = 1000 * np.median(taken, axis=0)
        found |= {name: float(clock), f"{name}, processor": float(processor)}
    return found


def in_turns(acts: dict[str, Callable[[], Any]], turns: int) -> dict[str, float]:
    """Median processor seconds of each act."""
    taken: dict[str, list[float]] = {name: [] for name in acts}
    for _ in range(turns):
        for name, act in acts.items():
            begin = time.process_time()
            act()
            taken[name].append(time.process_time() - begin)
    return {name: median(times) for name, times in taken.items()}


def few_table(found: dict[str, Any]) -> str:
    """Write MAP by the number of examples as Markdown."""
    lines = ["| set | method | " + " | ".join(map(str, SIZES)) + " | all |"]
    lines.append("|---" * (3 + len(SIZES)) + "|")
    for name, methods in found.items():
        for method, cells in methods.items():
            if isinstance(cells, list):
                shown = " | ".join(f"{mean:.3f} ± {error:.3f}" for mean, error in cells)
                shown += " | –" * (1 + len(SIZES) - len(cells))
                lines.append(f"| {name} | {method} | {shown} |")
    return "\n".join(lines)


def sets_table(found: list[dict[str, Any]]) -> str:
    """Write measures as Markdown."""
    lines = ["| set | rows | weight | one-error | AvgP | coverage |", "|---" * 6 + "|"]
    for row in found:
        weight = f"{row['weight']:g}, {row['how']}" if row["how"] else "–"
        numbers = f"{row['one_error']:.3f} | {row['average_precision']:.4f} | "
        numbers += f"{row['coverage']:.2f}"
        lines.append(f"| {row['set']} | {row['rows']} | {weight} | {numbers} |")
    return "\n".join(lines)


def cost_table(found: dict[str, Any]) -> str:
    """Write times as Markdown."""
    lines = ["| training | rows | CPU s | times words |", "|---" * 4 + "|"]
    for name, times in found["train"].items():
        for rows, taken in times.items():
            ratio = taken / times["words"]
            lines.append(f"| {name} | {rows} | {taken:.3f} | {ratio:.2f} |")
    shown = ", ".join(f"{name} {ms:.2f}" for name, ms in found["suggest"].items())
    lines += ["", f"one suggestion, ms: {shown}"]
    shown = ", ".join(f"{name} {ms:.0f}" for name, ms in found["round"].items())
    return "\n".join([*lines, "", f"a round over 100,000 documents, CPU ms: {shown}"])


def as_json(found: Any) -> str:
    """Write what has no table."""
    return json.dumps(found, indent=1, ensure_ascii=False)


def sources_from(options: argparse.Namespace) -> Sources:
    """Open the static table and, where named, the sentence model."""
    sources: Sources = {"static": cm.StaticVectors.packaged()}
    if options.model:
        sentence: MeaningSource = cm.SentenceModel(options.model)
        if options.vectors:
            sentence = cm.VectorFile(options.vectors, sentence)
        sources["sentence"] = sentence
    return sources


def main() -> None:
    """Measure the parts asked for; print, write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--parts", default="few,sets,folds,live,screen,cost")
    parser.add_argument("--sets", default=",".join(SETS))
    parser.add_argument("--draws", type=int, default=10)
    parser.add_argument("--runs", type=int, default=3, help="screenings of a tag")
    parser.add_argument("--model", type=Path)
    parser.add_argument("--vectors", type=Path)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    if not os.environ.get("CLASSMARK_DATA"):
        parser.error("set CLASSMARK_DATA to the folder of the data sets")
    sources, names = sources_from(options), options.sets.split(",")
    parts: dict[str, tuple[Callable[[], Any], Callable[[Any], str]]] = {
        "few": (lambda: by_examples(sources, names, options.draws), few_table),
        "sets": (lambda: by_set(sources, names), sets_table),
        "folds": (lambda: by_folds(sources), as_json),
        "live": (lambda: from_nothing(sources, names), as_json),
        "screen": (lambda: screened(sources, options.runs), as_json),
        "cost": (lambda: costs(sources, names), cost_table),
    }
    result = {}
    for part in options.parts.split(","):
        if part not in parts:
            parser.error(f"--parts: {part} is not one of {', '.join(parts)}")
        measure, written = parts[part]
        result[part] = measure()
        print(f"\n{written(result[part])}", flush=True)
    if options.json:
        options.json.write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()
