"""Words and meaning in search: nDCG@10 of judged queries, and what the nearest cost.

Run with ``CLASSMARK_DATA=DIR python benchmarks/bench_hybrid.py [--parts sets,ltr,cost]
[--design cranfield,cacm] [--sets nfcorpus,npl-vaswani,adi] [--model FOLDER]
[--vectors FOLDER] [--json FILE]``. Contestants: BM25; vectors alone; both by reciprocal
ranks; both with the default weight, which the design sets taught; and with the weight
that one half of a set's queries teaches, measured on the other half, both ways. Vectors
are those of the static table of ``classmark[meaning]`` and, with --model, a folder with
model.onnx, of that sentence model, stored in --vectors from one run to the next. p is
of the paired randomisation test.

ltr : a ranking SVM over BM25's first hundred documents, learned from one half of the
queries and measured on the other, with and without the feature ``meaning``.
cost : processor time of one exact query and of 64 at once over --documents made-up
vectors of 384 numbers in half precision, memory-mapped in --folder, against that of
reading the table once; and of the approximate index, where usearch is installed, with
its recall; --exact leaves it out: a million vectors are minutes of work to it. Set
OPENBLAS_NUM_THREADS=1: threads that wait count as working.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

import classmark as cm
from classmark.arrays import Floats
from classmark.evaluation.retrieval import (
    WEIGHTS,
    JudgedQueries,
    Run,
    best_of,
    compare,
    hybrid_questions,
    indexed,
    learn_weight,
    measure,
    run_hybrid,
    run_queries,
)
from classmark.index.fusion import WEIGHT
from classmark.ltr.features import USUAL
from classmark.ltr.training import Tuned, gather, learn, learner_of, part_queries
from classmark.meaning.sources import MeaningSource

MEASURE, TURNS, BATCH = "ndcg@10", 7, 64
Questions = Mapping[str, cm.HybridQuestion]


class Collection:
    """A judged collection, indexed, and its queries made ready for each source."""

    def __init__(
        self, name: str, sources: dict[str, MeaningSource], stack: ExitStack
    ) -> None:
        dataset = cm.datasets.load(name)
        self.name = name
        self.judged = stack.enter_context(indexed(dataset))
        texts = [document.text for document in dataset.documents]
        self.questions: dict[str, Questions] = {}
        for source, each in sources.items():
            if isinstance(each, cm.VectorFile):
                each.compute([*self.judged.texts.values(), *texts])
            dense = cm.DenseIndex.of(texts, each)
            self.questions[source] = hybrid_questions(self.judged, dense)

    def values(self, run: Run) -> Floats:
        """The measure of each query."""
        return measure(self.judged, run, [MEASURE])[MEASURE]


def nearest(questions: Questions, k: int = 10) -> Run:
    """Answer by vectors alone."""
    run = {}
    for query, each in questions.items():
        items, cosines = each.dense.find(each.vector, k)
        hits = each.words.searcher.hits(items, cosines)
        run[query] = {hit.id: hit.score for hit in hits}
    return run


def learned(judged: JudgedQueries, questions: Questions) -> float:
    """The weight that some queries teach."""
    some = {query: questions[query] for query in judged.queries}
    return best_of(learn_weight(judged, some, WEIGHTS[1:])).parameters["weight"]


def by_halves(collection: Collection, questions: Questions) -> tuple[Floats, Any]:
    """Learn the weight on one half of the queries, measure on the other; both ways."""
    halves, values = collection.judged.halves(), {}
    weights = []
    for taught, other in (halves, halves[::-1]):
        weights.append(learned(taught, questions))
        some = {query: questions[query] for query in other.queries}
        run = run_hybrid(some, weights[-1], 10)
        own = measure(other, run, [MEASURE])[MEASURE]
        values |= dict(zip(other.queries, own, strict=True))
    return np.array([values[query] for query in collection.judged.queries]), weights


def designed(design: list[Collection], source: str) -> dict[float, float]:
    """The mean over design sets of the measure at each weight."""
    trials = [learn_weight(c.judged, c.questions[source], WEIGHTS) for c in design]
    return {
        weight: float(np.mean([each[at].value for each in trials]))
        for at, weight in enumerate(WEIGHTS)
    }


def by_set(options: argparse.Namespace) -> dict[str, Any]:
    """Measure all contestants on all sets; weights come from the design sets."""
    sources = sources_from(options)
    with ExitStack() as stack:
        design, judged = (
            [Collection(name, sources, stack) for name in names.split(",")]
            for names in (options.design, options.sets)
        )
        tried = {source: designed(design, source) for source in sources}
        rows = [
            row
            for kind, collections in (("design", design), ("judged", judged))
            for each in collections
            for row in set_rows(each, kind)
        ]
    return {"weights": tried, "rows": rows}


def set_rows(collection: Collection, kind: str) -> list[dict[str, Any]]:
    """Measure the contestants on one set, each tested against BM25 and the vectors."""
    words = collection.values(run_queries(collection.judged, ("bm25", {}), 10))
    rows = [row_of(collection, kind, "bm25", words, {})]
    for source, questions in collection.questions.items():
        alone = collection.values(nearest(questions))
        halves, weights = by_halves(collection, questions)
        contestants = {
            f"{source} alone": alone,
            f"{source}, reciprocal ranks": collection.values(
                run_hybrid(questions, None, 10)
            ),
            f"{source}, w = {WEIGHT:g}": collection.values(
                run_hybrid(questions, WEIGHT, 10)
            ),
            f"{source}, w learned ({weights[0]:g}, {weights[1]:g})": halves,
        }
        rivals = {"bm25": words, "alone": alone}
        rows += [
            row_of(collection, kind, name, values, rivals)
            for name, values in contestants.items()
        ]
    return rows


def row_of(
    collection: Collection,
    kind: str,
    name: str,
    values: Floats,
    rivals: dict[str, Floats],
) -> dict[str, Any]:
    """One line of the table."""
    row = {"set": collection.name, "kind": kind, "ranking": name}
    row |= {"queries": len(values), "value": float(values.mean())}
    for rival, others in rivals.items():
        if not np.array_equal(others, values):
            row[f"p {rival}"] = compare(others, values).chances[2]
    return row


def sets_table(result: dict[str, Any]) -> str:
    """Write it as Markdown."""
    lines = ["| source | w | " + " | ".join(f"{w:g}" for w in WEIGHTS) + " |"]
    lines.append("|---" * (len(WEIGHTS) + 2) + "|")
    for source, values in result["weights"].items():
        cells = " | ".join(f"{value:.4f}" for value in values.values())
        lines.append(f"| {source} | {MEASURE} | {cells} |")
    return "\n".join([*lines, "", rows_table(result["rows"], "vectors")])


def by_ranker(options: argparse.Namespace) -> list[dict[str, Any]]:
    """A ranking SVM over BM25's first hundred, with and without the cosine.

    Models have their usual parameters; C is chosen on the half that teaches.
    """
    sources, rows = sources_from(options), []
    tuned = Tuned({name: {} for name in cm.MODELS}, "bm25", 0.0, USUAL)
    with ExitStack() as stack:
        for name in f"{options.design},{options.sets}".split(","):
            collection = Collection(name, sources, stack)
            judged, values = collection.judged, {}
            parting = part_queries(list(judged.queries))
            first = next(iter(collection.questions.values()))
            vectors = {"words": None} | {
                f"words and {source}": next(iter(each.values())).dense
                for source, each in collection.questions.items()
            }
            for label, dense in vectors.items():
                prepared = tuned, gather(judged, tuned, dense=dense)
                learner = learner_of("ranking-svm")
                learned = learn(judged, parting, prepared, learner, lambda _: {})
                values[label] = learned.compared.values["learned"][MEASURE]
            held_out = {query: first[query] for query in parting.held_out}
            words = measure(
                judged.only(parting.held_out), run_hybrid(held_out, 0.0, 10), [MEASURE]
            )[MEASURE]
            rivals = {"bm25": words, "alone": values["words"]}
            rows += [row_of(collection, "held out", "bm25", words, {})]
            rows += [
                row_of(collection, "held out", f"ranking SVM, {label}", each, rivals)
                for label, each in values.items()
            ]
    return rows


def rows_table(rows: list[dict[str, Any]], last: str = "words") -> str:
    """Write measures and chances as Markdown."""
    lines = [f"| set | ranking | {MEASURE} | p, BM25 | p, {last} |", "|---" * 5 + "|"]
    for row in rows:
        chances = [
            f"{row[key]:.4f}" if key in row else "" for key in ("p bm25", "p alone")
        ]
        place = f"{row['set']} ({row['kind']}, {row['queries']})"
        cells = " | ".join([place, row["ranking"], f"{row['value']:.4f}", *chances])
        lines.append(f"| {cells} |")
    return "\n".join(lines)


def seconds(act: Callable[[], Any]) -> float:
    """Processor time, the shortest of some turns, after one that does not count."""
    act()
    taken = []
    for _ in range(TURNS):
        begin = time.process_time()
        act()
        taken.append(time.process_time() - begin)
    return min(taken)


def costs(options: argparse.Namespace) -> dict[str, Any]:
    """Time the nearest of made-up vectors; the table is mapped from a file."""
    n, chance = options.documents, np.random.default_rng(0)
    with TemporaryDirectory(dir=options.folder) as folder:
        path = Path(folder) / "vectors"
        topics = chance.normal(size=(200, 384)).astype(np.float32)
        with path.open("wb") as file:
            for first in range(0, n, 4096):
                size = min(4096, n - first)
                block = topics[chance.integers(200, size=size)]
                block = block + chance.normal(size=block.shape).astype(np.float32)
                block /= np.linalg.norm(block, axis=1, keepdims=True)
                file.write(block.astype(np.float16).tobytes())
        table = np.memmap(path, np.float16, "r", shape=(n, 384))
        dense = cm.DenseIndex(table)
        queries = topics[:BATCH] + chance.normal(size=(BATCH, 384))
        few = np.zeros(n, np.bool_)
        few[:: max(n // 1000, 1)] = True
        result = {
            "documents": n,
            "GB": table.nbytes / 1e9,
            "read s": seconds(lambda: int(table.view(np.uint64).max())),
            "k=10 s": seconds(lambda: dense.find(queries[0], 10)),
            "k=1000 s": seconds(lambda: dense.find(queries[0], 1000)),
            "a thousand allowed s": seconds(lambda: dense.find(queries[0], 10, few)),
            "64 queries, each s": seconds(lambda: dense.find_many(queries, 10)) / BATCH,
        }
        if find_spec("usearch") is not None and not options.exact:
            result |= approximate_costs(dense, queries)
    return result


def approximate_costs(dense: cm.DenseIndex, queries: Floats) -> dict[str, Any]:
    """Time the approximate index, and count what it finds of the ten nearest."""
    begin = time.process_time()
    graph = dense.approximate()
    built = time.process_time() - begin
    exact, near = (each.find_many(queries, 10) for each in (dense, graph))
    common = sum(
        len(np.intersect1d(exact.of(query)[0], near.of(query)[0]))
        for query in range(len(queries))
    )
    return {
        "graph built s": built,
        "approximate s": seconds(lambda: graph.find(queries[0], 10)),
        "approximate recall@10": common / (10 * len(queries)),
    }


def costs_table(result: dict[str, Any]) -> str:
    """Write times, and gigabytes a second where the whole table is read."""
    lines = []
    for name, value in result.items():
        whole = name in {"read s", "k=10 s", "k=1000 s"}
        rate = f" ({result['GB'] / value:.1f} GB/s)" if whole else ""
        lines.append(f"{name}: {value:.5g}{rate}")
    return "\n".join(lines)


def sources_from(options: argparse.Namespace) -> dict[str, MeaningSource]:
    """Open the static table and, where named, the sentence model."""
    sources: dict[str, MeaningSource] = {"static": cm.StaticVectors.packaged()}
    if options.model:
        sentence: MeaningSource = cm.SentenceModel(options.model)
        if options.vectors:
            sentence = cm.VectorFile(options.vectors, sentence)
        sources["sentence"] = sentence
    return sources


def main() -> None:
    """Measure the parts asked for; print, write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--parts", default="sets,ltr,cost")
    parser.add_argument("--design", default="cranfield,cacm")
    parser.add_argument("--sets", default="nfcorpus,npl-vaswani,adi")
    parser.add_argument("--documents", type=int, default=200_000)
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--exact", action="store_true", help="no approximate index")
    parser.add_argument("--model", type=Path)
    parser.add_argument("--vectors", type=Path)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    parts: dict[str, tuple[Callable[[Any], Any], Callable[[Any], str]]] = {
        "sets": (by_set, sets_table),
        "ltr": (by_ranker, rows_table),
        "cost": (costs, costs_table),
    }
    result = {}
    for part in options.parts.split(","):
        if part not in parts:
            parser.error(f"--parts: {part} is not one of {', '.join(parts)}")
        if part == "sets" and not os.environ.get("CLASSMARK_DATA"):
            parser.error("set CLASSMARK_DATA to the folder of the data sets")
        measured, written = parts[part]
        result[part] = measured(options)
        print(f"\n{written(result[part])}", flush=True)
    if options.json:
        options.json.write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()
