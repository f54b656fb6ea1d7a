"""Queries by examples beside scikit-learn's LinearSVC: quality, and time.

Run with ``OMP_NUM_THREADS=1 CLASSMARK_DATA=DIR python benchmarks/bench_examples.py
[--parts speed,meaning,few,cut,design,judge,growth] [--json FILE]``. A topic's training
documents are the examples P, all test documents the collection U; LinearSVC (balanced,
C = 0.1) learns the same matrix, P against U.

speed : training and ranking one topic of 20 Newsgroups from all examples; a first
answer from a few examples over all 18,846 messages, and ranking again after one yes or
one no. Processor time, the contestants taking turns.
meaning : processor time of ``auto`` by words, and with made-up vectors of 384 numbers
around the centres of topics beside them, 20 Newsgroups.
few : MAP by the number of examples, 20 Newsgroups; the same draws for every method.
cut : MAP of queries cut to their heaviest terms.
design, judge : as few, on the collections that the constants of ``auto`` were chosen
on (``query_settings.py``), and on others that no constant has seen.
growth : processor time of the methods as made-up documents grow in number.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from synthetic_rows import SyntheticRows

from classmark.arrays import Rows, beside, rows_from, stack, take
from classmark.examples.query import ExampleQuery
from reproductions.qbme_few import few, margins
from reproductions.qbme_tasks import Task, load_task, news20

MADE = (4_000, 16_000, 64_000)  # documents out of a seed
WIDTH = 50_000  # their words
GROWING = {  # methods, and the paper's C where it is that of the formula
    "one-class": 100.0,
    "balanced": 1.0,
    "balanced-literal": 100.0,
    "precision-recall": 100.0,
    "precision@k": 100.0,
}
TURNS = 3
DESIGN = (  # name and part; constants may look at these
    "library",
    "reuters-21578 modapte",
    "pypi-topics",
    "yahoo arts",
    "stackex cs",
    "debian-debtags",
    "mulan-tmc2007",
    "20newsgroups-bydate",
)
JUDGE = (  # and not at these
    "yahoo business",
    "yahoo education",
    "stackex cooking",
    "mulan-bibtex",
    "mulan-medical",
    "rcv1-v2-topics tokens",
    "annif-makupalat",
    "wikispeedia",
)
TOPICS, DRAWS = 30, 2  # of each collection, at most; of each number of examples
SIZES = (1, 3, 5, 10, 20)
NUMBERS, CENTRED = 384, 0.22  # of a made-up vector; how far topics are apart
CUTS = (10, 30, 100, 300, 1000, 3000, 10_000, None)
LEAST = (20, 5)  # examples and relevant documents of a collection's topics


class Peer:
    """LinearSVC with balanced classes, as recommenders of papers use it."""

    def __init__(self, C: float = 0.1) -> None:
        from sklearn.svm import LinearSVC

        self.model = LinearSVC(C=C, class_weight="balanced", random_state=0)

    def fit(self, P: Rows, U: Rows) -> Self:
        """Learn P against U."""
        return self.fit_matrix(*matrix(P, U))

    def fit_matrix(self, X: Any, y: Any) -> Self:
        """Learn a matrix that is at hand."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of passes: C and tol are the recipe's
            self.model.fit(X, y)
        return self

    def decision_function(self, X: Any) -> Any:
        """Score documents; the intercept changes no order."""
        matrix = X.to_scipy() if isinstance(X, Rows) else X
        return matrix @ self.model.coef_.ravel()

    def cut(self, terms: int) -> Self:
        """Keep the heaviest weights."""
        weights = self.model.coef_.ravel()
        weights[np.argsort(-np.abs(weights), kind="stable")[terms:]] = 0.0
        return self


MAKERS: dict[str, Callable[[], Any]] = {
    "Centroid": partial(ExampleQuery, "centroid"),
    "SVM_1c": partial(ExampleQuery, "one-class"),
    "Rocchio": partial(ExampleQuery, "rocchio"),
    "balanced, C_P = 1": partial(ExampleQuery, "balanced"),
    "LinearSVC": Peer,
    "auto": ExampleQuery,
}


def matrix(P: Rows, U: Rows) -> tuple[Any, Any]:
    """Return P above U in the precision the peer works in, and +1 or −1 for each."""
    X = sp.vstack([P.to_scipy(), U.to_scipy()]).tocsr().astype(np.float64)
    return X, np.repeat([1.0, -1.0], [len(P), len(U)])


def seconds(act: Callable[[], Any]) -> float:
    """Return the processor seconds of an act."""
    begin = time.process_time()
    act()
    return time.process_time() - begin


def speed(data: Path) -> dict[str, Any]:
    """Measure training plus ranking, and answers to a person who waits."""
    task = news20(data)
    return {"topics": topics_timed(task), "waiting": waiting(task)}


def topics_timed(task: Task, turns: int = 3) -> dict[str, Any]:
    """Train on all examples and rank; medians over topics, ratio topic by topic."""
    U = task.collection
    plain = U.to_scipy()
    taken: dict[str, list[float]] = {"auto": [], "balanced": [], "LinearSVC": []}
    good: dict[str, list[float]] = {name: [] for name in taken}
    for topic in task.topics:
        P = task.examples(topic)
        X, y = matrix(P, U)
        acts: dict[str, Callable[[], Any]] = {
            "auto": lambda P=P: ExampleQuery().fit(P, U).decision_function(U),
            "balanced": lambda P=P: (
                ExampleQuery("balanced").fit(P, U).decision_function(U)
            ),
            "LinearSVC": lambda X=X, y=y: (
                Peer().fit_matrix(X, y).decision_function(plain)
            ),
        }
        for name, act in acts.items():
            good[name].append(task.measure(topic, np.asarray(act())).ap)
            ordered = partial(_ranked, act)
            taken[name].append(median(seconds(ordered) for _ in range(turns)))
    peer = np.array(taken["LinearSVC"])
    return {
        name: {
            "ms": 1000 * median(times),
            "ratio": float(np.median(peer / np.array(times))),
            "map": float(np.mean(good[name])),
        }
        for name, times in taken.items()
    }


def _ranked(act: Callable[[], Any]) -> Any:
    return np.argsort(-act(), kind="stable")


def waiting(task: Task, turns: int = 3) -> dict[str, dict[str, float]]:
    """Time a first answer over both parts, and ranking again, by |P|; CPU ms."""
    U = stack([task.train, task.collection])
    mean = np.asarray(U.to_scipy().mean(axis=0)).ravel()
    found: dict[str, dict[str, float]] = {}
    for size in (1, 3, 5, 10, 20):
        taken: dict[str, list[float]] = {"first": [], "yes": [], "no": []}
        for at, topic in enumerate(task.topics):
            rows = np.random.default_rng([size, at]).permutation(topic.examples)
            known, more = rows[:size], rows[size]
            other = task.topics[(at + 1) % len(task.topics)].examples[0]
            for _ in range(turns):
                query = ExampleQuery()
                P, yes, no = (take(U, which) for which in (known, [more], [other]))
                first = partial(query.fit, P, U, mean=mean, known=known)
                taken["first"].append(seconds(lambda act=first: act().rank(U)))
                for name, given in (("yes", {"yes": yes}), ("no", {"no": no})):
                    row = [more] if name == "yes" else [other]
                    again = partial(query.partial_fit, **given, known=row)
                    taken[name].append(seconds(lambda act=again: act().rank(U)))
                    query.undo()
        found[str(size)] = {name: 1000 * median(ms) for name, ms in taken.items()}
    return found


def meaning(data: Path, turns: int = 3) -> dict[str, dict[str, float]]:
    """Time queries by words, and with made-up vectors beside them; medians, CPU ms."""
    words = news20(data)
    chance = np.random.default_rng(0)
    middle = CENTRED * chance.standard_normal((len(words.topics), NUMBERS))
    parts = []
    for rows, which in ((words.train, "examples"), (words.collection, "relevant")):
        dense = chance.standard_normal((len(rows), NUMBERS))
        for topic, centre in zip(words.topics, middle, strict=True):
            dense[getattr(topic, which)] += centre
        lengths = 2.0 * np.linalg.norm(dense, axis=1, keepdims=True)
        parts.append(beside(rows, rows_from((dense / lengths).astype(np.float32))))
    both = replace(words, train=parts[0], collection=parts[1])
    found: dict[str, dict[str, float]] = {}
    for size in (5, 10, 20):
        taken = np.empty((2, len(words.topics), turns))
        for at, turn in np.ndindex(taken.shape[1:]):
            for which, task in enumerate((words, both)):
                P = task.examples(task.topics[at], size)
                act = partial(ExampleQuery().fit, P, task.collection)
                taken[which, at, turn] = seconds(act)
        by_words, by_both = np.median(taken, axis=2)
        found[str(size)] = {
            "words": 1000 * float(np.median(by_words)),
            "both": 1000 * float(np.median(by_both)),
            "ratio": float(np.median(by_both / by_words)),
        }
    return found


def meaning_table(found: dict[str, dict[str, float]]) -> str:
    """Write times as Markdown."""
    lines = ["| examples | words, CPU ms | with vectors | times |", "|---|---|---|---|"]
    for size, row in found.items():
        cells = f"{row['words']:.1f} | {row['both']:.1f} | {row['ratio']:.2f}"
        lines.append(f"| {size} | {cells} |")
    return "\n".join(lines)


def by_size(task: Task, sizes: Sequence[int | None], draws: int) -> dict[str, Any]:
    """Measure MAP by the number of examples; where ``auto`` stands."""
    cells = few(task, MAKERS, sizes, draws)
    best = margins(cells, "auto")
    return {
        "topics": len(task.topics),
        "documents": len(task.collection),
        "draws": draws,
        "map": [[_size(c), c.method, c.mean, c.error] for c in cells],
        "auto": [[_size(m), m.other, m.difference, m.error] for m in best],
    }


def _size(cell: Any) -> str:
    return "all" if cell.size is None else str(cell.size)


def few_news(data: Path, draws: int) -> dict[str, Any]:
    """Measure on 20 Newsgroups."""
    return by_size(news20(data), (*SIZES, 50, None), draws)


def collection_task(name: str, data: Path) -> Task:
    """Topics of a collection that are large enough; of many, some by chance."""
    own, _, split = name.partition(" ")
    folder = None if own == "library" else data  # the library is embedded
    return load_task(own, folder, split or None).with_at_least(*LEAST).some(TOPICS)


def measured(names: Sequence[str], data: Path) -> dict[str, Any]:
    """Measure on some collections."""
    found = {}
    for name in names:
        found[name] = by_size(collection_task(name, data), (*SIZES, None), DRAWS)
        print(f"{name}: {few_table(found[name])}\n", file=sys.stderr, flush=True)
    return found


def cut(data: Path) -> dict[str, list[float]]:
    """Measure MAP of queries cut to some terms, from all examples, by method."""
    task = news20(data)
    found: dict[str, list[float]] = {}
    for name in ("auto", "LinearSVC"):
        kept = np.empty((len(task.topics), len(CUTS)))
        for at, topic in enumerate(task.topics):
            whole = MAKERS[name]().fit(task.examples(topic), task.collection)
            for place, terms in reversed(list(enumerate(CUTS))):
                shorter = whole if terms is None else whole.cut(terms)
                scores = shorter.decision_function(task.collection)
                kept[at, place] = task.measure(topic, scores).ap
        found[name] = kept.mean(axis=0).tolist()
    return found


def growth(_data: Path) -> list[dict[str, float]]:
    """Seconds to learn from n documents, a twentieth of them examples; one-class: n."""
    rows = []
    for n in MADE:
        known, others = n // 20, n - n // 20
        P = SyntheticRows(1, known, WIDTH, relevant=known).open()
        U = SyntheticRows(2, others, WIDTH, relevant=others // 100).open()
        alone = SyntheticRows(3, n, WIDTH, relevant=n).open()
        row = {"documents": float(n)}
        for method, C in GROWING.items():
            given = (alone,) if method == "one-class" else (P, U)
            query = ExampleQuery(method, C=C).fit(*given)  # compiled and read once
            row[method] = median(
                seconds(partial(query.fit, *given)) for _ in range(TURNS)
            )
        rows.append(row)
    return rows


def growth_table(found: list[dict[str, float]]) -> str:
    """A row for each number of documents, and the exponents of the time."""
    first, last = found[0], found[-1]
    lines = [
        f"| documents | {' | '.join(GROWING)} |",
        "|---" * (1 + len(GROWING)) + "|",
    ]
    for row in found:
        cells = " | ".join(f"{row[name]:.3f}" for name in GROWING)
        lines.append(f"| {row['documents']:,.0f} | {cells} |")
    times = np.log(last["documents"] / first["documents"])
    powers = (np.log(last[name] / first[name]) / times for name in GROWING)
    lines.append(f"| ~ documents^ | {' | '.join(f'{power:.2f}' for power in powers)} |")
    return "\n".join(lines)


def few_table(found: dict[str, Any]) -> str:
    """Write MAP by the number of examples as Markdown."""
    methods = list(dict.fromkeys(row[1] for row in found["map"]))
    sizes = list(dict.fromkeys(row[0] for row in found["map"]))
    value = {(row[0], row[1]): row[2:] for row in found["map"]}
    drawn = f"{found['documents']:,} documents, {found['draws']} draws"
    lines = [
        f"{found['topics']} topics, {drawn}",
        "",
        "| examples | " + " | ".join(sizes) + " |",
        "|---" * (len(sizes) + 1) + "|",
    ]
    for method in methods:
        cells = [f"{value[size, method][0]:.4f}" for size in sizes]
        lines.append(f"| {method} | " + " | ".join(cells) + " |")
    errors = [f"{value[size, 'auto'][1]:.4f}" for size in sizes]
    lines.append("| standard error of auto | " + " | ".join(errors) + " |")
    beside = [f"{d:+.4f} ± {e:.4f} ({other})" for _, other, d, e in found["auto"]]
    lines.append("| auto less the best other | " + " | ".join(beside) + " |")
    return "\n".join(lines)


def collection_tables(found: dict[str, Any]) -> str:
    """Write a table for each collection, and where ``auto`` stands on all of them."""
    tables = [f"**{name}**: {few_table(own)}" for name, own in found.items()]
    heads = [size for size, *_ in next(iter(found.values()))["auto"]]
    lines = ["| auto less the best other | " + " | ".join(heads) + " |"]
    lines.append("|---" * (len(heads) + 1) + "|")
    gains = {name: [row[2] for row in own["auto"]] for name, own in found.items()}
    rows = [*gains.items(), ("least", np.min([*gains.values()], axis=0))]
    for name, values in [*rows, ("mean", np.mean([*gains.values()], axis=0))]:
        lines.append(f"| {name} | " + " | ".join(f"{v:+.4f}" for v in values) + " |")
    return "\n\n".join([*tables, "\n".join(lines)])


def cut_table(found: dict[str, list[float]]) -> str:
    """Write MAP by the number of terms as Markdown."""
    heads = ["all" if terms is None else f"{terms:,}" for terms in CUTS]
    lines = ["| terms | " + " | ".join(heads) + " |", "|---" * (len(heads) + 1) + "|"]
    for name, values in found.items():
        lines.append(f"| {name} | " + " | ".join(f"{v:.4f}" for v in values) + " |")
    return "\n".join(lines)


def speed_table(found: dict[str, Any]) -> str:
    """Write times as Markdown."""
    lines = ["| one topic | CPU ms | times as fast | MAP |", "|---|---|---|---|"]
    for name, row in found["topics"].items():
        cells = f"{row['ms']:.1f} | {row['ratio']:.2f} | {row['map']:.4f}"
        lines.append(f"| {name} | {cells} |")
    lines += ["", "| examples | first answer, CPU ms | after a yes | after a no |"]
    lines.append("|---|---|---|---|")
    for size, ms in found["waiting"].items():
        cells = " | ".join(f"{ms[name]:.1f}" for name in ("first", "yes", "no"))
        lines.append(f"| {size} | {cells} |")
    return "\n".join(lines)


def main() -> None:
    """Measure the parts asked for; print, write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=os.environ.get("CLASSMARK_DATA"))
    parser.add_argument("--parts", default="speed,meaning,few,cut,design,judge,growth")
    parser.add_argument("--draws", type=int, default=10)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    if options.data is None:
        parser.error("give --data, or set CLASSMARK_DATA")
    parts: dict[str, tuple[Callable[[Path], Any], Callable[[Any], str]]] = {
        "speed": (speed, speed_table),
        "meaning": (meaning, meaning_table),
        "few": (partial(few_news, draws=options.draws), few_table),
        "cut": (cut, cut_table),
        "design": (partial(measured, DESIGN), collection_tables),
        "judge": (partial(measured, JUDGE), collection_tables),
        "growth": (growth, growth_table),
    }
    result = {}
    for part in options.parts.split(","):
        if part not in parts:
            parser.error(f"--parts: {part} is not one of {', '.join(parts)}")
        measure, written = parts[part]
        result[part] = measure(Path(options.data))
        print(f"\n{written(result[part])}", flush=True)
    if options.json:
        options.json.write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()
