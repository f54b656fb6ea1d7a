"""Which retrieval model is best? Every one, on four collections, fairly tuned.

The queries of a collection are parted in two by chance: parameters are chosen by MAP on
one half, and the other half is reported. Documents are one text each, without stop
words, stemmed; runs have 1,000 documents. Chances are those of a paired randomisation
test over the queries, against BM25 [Smucker07].
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from classmark.arrays import Floats
from classmark.evaluation.retrieval import (
    Grid,
    JudgedQueries,
    best_of,
    indexed,
    measure,
    run_queries,
    settings_of,
    sweep,
)
from classmark.index.feedback import feedback_from
from classmark.index.models import MODELS
from classmark.measures import randomisation_test
from classmark.progress import track
from reproductions.report import Reproduction, chance, difference, dot_panels, holds

if TYPE_CHECKING:
    from classmark.datasets.dataset import Dataset


BASELINE = "bm25"
COLLECTIONS = {
    "cranfield": None,
    "cacm": None,
    "npl-vaswani": None,
    "nfcorpus": "dev",
}
MEASURES = ("map", "ndcg@10")
SURE = 0.05
_OKAPI = {
    "k1": (0.4, 0.8, 1.2, 1.6, 2.0, 2.8, 4.0),
    "b": (0.0, 0.2, 0.4, 0.6, 0.75, 0.9),
}
_SHARES = (0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)
_MASSES = (10, 20, 50, 100, 200, 500, 1000, 2000, 5000)
_SPREADS = (0.1, 0.25, 0.5, 1, 2, 4, 8, 16, 32)
GRIDS: dict[str, Grid] = {
    "bm25": _OKAPI,
    "robertson": _OKAPI,
    "atire": _OKAPI,
    "bm25+": _OKAPI | {"delta": (0.5, 1.0)},
    "bm25l": _OKAPI | {"delta": (0.25, 0.5)},
    "bim": {"p": (0.1, 0.3, 0.5, 0.7, 0.9)},
    "jm": {"lambda": _SHARES},
    "dirichlet": {"mu": _MASSES},
    "kl": {"mu": _MASSES},
    "pl2": {"c": _SPREADS},
    "inl2": {"c": _SPREADS},
    "lgd": {"c": _SPREADS},
    "spl": {"c": _SPREADS},
}
_MANY: dict[str, Sequence[float]] = {
    "documents": (3, 5, 10, 20),
    "terms": (10, 20, 50, 100),
}
LONGER: dict[tuple[str, str], Grid] = {
    ("bm25", "rocchio"): {"beta": (0.5, 1.0, 2.0), **_MANY},
    ("bm25", "rm3"): {"original": (0.3, 0.5, 0.7), **_MANY},
    ("dirichlet", "rm3"): {"original": (0.3, 0.5, 0.7), **_MANY},
    ("lgd", "information"): {"beta": (0.5, 1.0, 2.0), **_MANY},
}

Setting = dict[str, float]


@dataclass(frozen=True, slots=True)
class Row:
    """One method on one collection.

    parameters : as tuned;  tuned : MAP on the half they were tuned on;  measures : on
    the other;  chance : of the difference from BM25, two-sided;  queries : measure →
    the value of each query of the other half;  gained : with feedback, the chance of
    the difference in MAP from the same model without.
    """

    collection: str
    method: str
    parameters: Setting
    tuned: float
    measures: dict[str, float]
    chance: dict[str, float]
    queries: dict[str, list[float]]
    gained: float | None = None


@dataclass(frozen=True, slots=True)
class Size:
    """A collection: its documents, and the queries of both halves."""

    documents: int
    tuned: int
    reported: int


@dataclass(frozen=True, slots=True)
class Table:
    """All rows, the collections, and what can be said."""

    rows: list[Row]
    sizes: dict[str, Size]
    claims: list[str]


def retrieval_models(data: Path | None = None, *, seed: int = 0) -> Table:
    """Tune and measure every model, alone and with feedback, on every collection.

    data : the folder of the data sets, or None for that of ``CLASSMARK_DATA``.
    """
    from classmark.datasets import load

    parts = COLLECTIONS.items()
    return compare([load(name, data, split) for name, split in parts], seed)


def compare(
    datasets: Sequence[Dataset],
    seed: int = 0,
    grids: Mapping[str, Grid] = GRIDS,
    longer: Mapping[tuple[str, str], Grid] = LONGER,
) -> Table:
    """Do it for some collections of queries."""
    rows: list[Row] = []
    sizes: dict[str, Size] = {}
    for dataset in datasets:
        with indexed(dataset) as asked:
            tuned, reported = asked.halves(seed)
            many = (len(tuned.queries), len(reported.queries))
            sizes[dataset.name] = Size(asked.searcher.n_items, *many)
            rows += measured((tuned, reported), grids, longer)
    return Table(rows, sizes, claims(rows))


def measured(
    halves: tuple[JudgedQueries, JudgedQueries],
    grids: Mapping[str, Grid],
    longer: Mapping[tuple[str, str], Grid],
) -> list[Row]:
    """Tune on one half, measure on the other."""
    tuned, reported = halves
    name = tuned.name
    chosen: dict[str, Setting] = {}
    found: dict[str, tuple[float, Setting, dict[str, Floats]]] = {}
    for model in track(list(MODELS), f"models on {name}", len(MODELS)):
        best = best_of(sweep(tuned, model, settings_of(grids.get(model, {}))))
        chosen[model] = best.parameters
        run = run_queries(reported, (model, best.parameters))
        found[model] = best.value, best.parameters, measure(reported, run, MEASURES)
    for (model, kind), grid in longer.items():
        value, setting = _tuned_feedback(tuned, model, chosen[model], kind, grid)
        feedback = feedback_from(kind, setting)
        run = run_queries(reported, (model, chosen[model]), feedback=feedback)
        values = measure(reported, run, MEASURES)
        found[f"{model}, {kind}"] = value, chosen[model] | setting, values
    base = found[BASELINE][2]
    return [
        Row(
            name,
            method,
            setting,
            value,
            {key: float(each.mean()) for key, each in values.items()},
            {key: _chance(each, base[key]) for key, each in values.items()},
            {key: each.tolist() for key, each in values.items()},
            _gained(method, {name: entry[2]["map"] for name, entry in found.items()}),
        )
        for method, (value, setting, values) in found.items()
    ]


def _tuned_feedback(
    asked: JudgedQueries, model: str, chosen: Setting, kind: str, grid: Grid
) -> tuple[float, Setting]:
    """Choose the feedback's parameters, the model's being chosen."""
    tried = []
    settings = settings_of(grid)
    for setting in track(settings, f"{model}, {kind} on {asked.name}", len(settings)):
        feedback = feedback_from(kind, setting)
        (trial,) = sweep(asked, model, [chosen], feedback=feedback)
        tried.append((trial.value, setting))
    return max(tried, key=lambda entry: entry[0])


def _gained(method: str, values: Mapping[str, Floats]) -> float | None:
    plain, _, feedback = method.partition(", ")
    return _chance(values[method], values[plain]) if feedback else None


def _chance(own: Floats, other: Floats) -> float:
    if np.array_equal(own, other):
        return 1.0
    return float(randomisation_test(own, other, seed=0).p_value)


def claims(rows: Sequence[Row]) -> list[str]:
    """Say where a tuned BM25 is not beaten, and where feedback lifts the MAP.

    Differences stand with their 95 % intervals, by bootstrap over the queries.
    """
    said = []
    for name in dict.fromkeys(row.collection for row in rows):
        here = {row.method: row for row in rows if row.collection == name}
        alone = [row for method, row in here.items() if method in MODELS]
        said += [_unbeaten(name, key, alone, here[BASELINE]) for key in MEASURES]
        said.append(_transferred(name, alone, here[BASELINE]))
        said += [
            _lifted(row, here[method.partition(",")[0]])
            for method, row in here.items()
            if method not in MODELS
        ]
    return said


def _unbeaten(name: str, key: str, rows: Sequence[Row], base: Row) -> str:
    """Whether none is surely above BM25; p is times the models the best is one of."""
    claim = f"{name}, {key}: no model without feedback is surely above tuned {BASELINE}"
    best = max(rows, key=lambda row: row.measures[key])
    if best.method == BASELINE:
        return f"{claim}: {holds(True)}; it is best itself, {base.measures[key]:.4f}"
    others = len(rows) - 1
    p = min(1.0, best.chance[key] * others)
    return (
        f"{claim}: {holds(p >= SURE)}; {best.method} is best, "
        f"{_beside(best, base, key)}, {chance(p)} corrected for {others} models"
    )


def _transferred(name: str, rows: Sequence[Row], base: Row) -> str:
    """Whether the model that is best where it was tuned is above BM25 elsewhere."""
    best = max(rows, key=lambda row: row.tuned)
    claim = f"{name}, map: the best model of the half tuned on is above {BASELINE}"
    if best.method == BASELINE:
        return f"{claim}: {holds(False)}; it is {BASELINE} itself"
    good = best.measures["map"] > base.measures["map"]
    told = f"{_beside(best, base, 'map')}, {chance(best.chance['map'])}"
    return f"{claim}: {holds(good)}; {best.method}, {told}"


def _lifted(row: Row, plain: Row) -> str:
    p = 1.0 if row.gained is None else row.gained
    good = row.measures["map"] > plain.measures["map"]
    return (
        f"{row.collection}, map: feedback by {row.method.partition(', ')[2]} lifts "
        f"{plain.method}: {holds(good)}{'' if p < SURE else ', not surely'}; "
        f"{_beside(row, plain, 'map')}, {chance(p)}"
    )


def _beside(own: Row, other: Row, key: str) -> str:
    apart = difference(own.queries[key], other.queries[key])
    return f"{own.measures[key]:.4f} and {other.measures[key]:.4f}, {apart}"


def reproduce(data: Path | None) -> Reproduction:
    """Effectiveness of every retrieval model on four collections [Robertson94]."""
    return models_report(retrieval_models(data))


def models_report(table: Table) -> Reproduction:
    """Show both measures of each method on each collection; draw the MAP."""
    methods: dict[str, dict[str, str | float | None]] = {}
    panels: dict[str, dict[str, float]] = {}
    for row in table.rows:
        cells = methods.setdefault(row.method, {"method": row.method})
        for key, value in row.measures.items():
            cells[f"{row.collection} {key}"] = value
        panels.setdefault(row.collection, {})[row.method] = row.measures["map"]
    sizes = [
        f"{name}: {size.documents:,} documents, tuned on {size.tuned} queries, "
        f"reported on {size.reported}"
        for name, size in table.sizes.items()
    ]
    return Reproduction(
        "Retrieval models: parameters tuned on half of the queries, the rest reported",
        list(methods.values()),
        table.claims,
        partial(dot_panels, panels, title="MAP by model", mark=BASELINE),
        f"{'; '.join(sizes)}; in brackets 95 % intervals, bootstrap over queries",
        asdict(table),
    )
