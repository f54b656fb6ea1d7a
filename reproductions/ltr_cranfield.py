"""Does a learned ranker beat the best single model? Half of the queries teach it.

The other half compares it with the best of all retrieval models, tuned on the taught
half, over the same fields and over each document as one text, and with the best of four
models with feedback. Several partings, because one of them decides little.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import numpy as np

from classmark.evaluation.retrieval import (
    JudgedQueries,
    Run,
    indexed,
    judged_queries,
    run_queries,
)
from classmark.index.feedback import feedback_from
from classmark.ltr.training import (
    BEST,
    LEARNED,
    MEASURES,
    SURE,
    Candidates,
    RankerComparison,
    RankerRecipe,
    Tuned,
    learn,
    learner_of,
    part_queries,
    prepare,
    tune_models,
)
from classmark.progress import track
from reproductions.report import Reproduction, difference, dot_panels, holds

if TYPE_CHECKING:
    from classmark.datasets.dataset import Dataset


EMBEDDED, COLLECTION = "library", "cranfield"
SEEDS = (0, 1, 2, 3, 4)
LEARNER = "ranking-svm"
ONE_TEXT, LONGER = "best single model, one text", "best with feedback, one text"
ALONE = "learned without feedback"


@dataclass(frozen=True, slots=True)
class Row:
    """One order on one collection and parting.

    measures : means over the held-out queries;  chance : of the learned order's
    difference from it, by accident; empty for the learned one;  queries : measure →
    held-out query → value.
    """

    collection: str
    seed: int
    method: str
    setting: str
    measures: dict[str, float]
    chance: dict[str, float]
    queries: dict[str, dict[str, float]]


@dataclass(frozen=True, slots=True)
class Table:
    """All rows, how many queries teach and judge, and what can be said."""

    rows: list[Row]
    sizes: dict[str, tuple[int, int]]
    claims: list[str]


def ranker_service(data: Path | None = None, seeds: Sequence[int] = SEEDS) -> Table:
    """Learn and compare on the embedded corpus and on Cranfield.

    data : the folder of the data sets, or None for that of ``CLASSMARK_DATA``.
    """
    from classmark.datasets import load

    found = [load(EMBEDDED), load(COLLECTION, data)]
    return compare_on(found, learner_of(LEARNER), seeds)


def compare_on(
    datasets: Sequence[Dataset], learner: RankerRecipe, seeds: Sequence[int] = SEEDS
) -> Table:
    """Do it for some collections of queries, with some learner."""
    rows: list[Row] = []
    sizes: dict[str, tuple[int, int]] = {}
    for dataset in datasets:
        with ExitStack() as stack:
            asked = stack.enter_context(with_fields(dataset))
            whole = stack.enter_context(indexed(dataset))
            for seed in track(seeds, f"rankers on {dataset.name}", len(seeds)):
                compared, settings = compared_once(asked, whole, learner, seed)
                rows += _rows(dataset.name, seed, compared, settings)
            held = len(compared.queries)
            sizes[dataset.name] = (len(asked.queries) - held, held)
    return Table(rows, sizes, claims(rows))


def compared_once(
    asked: JudgedQueries, whole: JudgedQueries, learner: RankerRecipe, seed: int
) -> tuple[RankerComparison, dict[str, str]]:
    """Part the queries, learn on one half and compare all orders on the other."""
    parting = part_queries(list(asked.queries), 0.5, seed)
    prepared = prepare(asked, parting)
    taught = whole.only(parting.taught)
    single = tune_models(taught)
    model, kind, counts = single.feedback[0]
    longer = model, single.models[model]
    feedback = feedback_from(kind, counts)

    def rivals(_: JudgedQueries) -> Mapping[str, Run]:
        held = whole.only(parting.held_out)
        alone = learn(asked, parting, _without(prepared), learner, lambda _: {})
        return {
            ALONE: alone.candidates.run(parting.held_out, alone.ranker),
            ONE_TEXT: run_queries(held, single.choice),
            LONGER: run_queries(held, longer, feedback=feedback),
        }

    learned = learn(asked, parting, prepared, learner, rivals)
    settings = {
        LEARNED: f"C {learned.price:g}",
        ALONE: "",
        BEST: _said(*prepared[0].choice),
        ONE_TEXT: _said(*single.choice),
        LONGER: f"{_said(*longer)}, {_said(kind, counts)}",
    }
    return learned.compared, settings


@contextmanager
def with_fields(dataset: Dataset) -> Iterator[JudgedQueries]:
    """Index a collection, its fields apart, for as long as it is needed."""
    from classmark.index.index import Index

    with TemporaryDirectory() as folder:
        index = Index.build(Path(folder) / "index", dataset.documents)
        yield judged_queries(index, dataset.queries, dataset.qrels, dataset.name)


def _without(prepared: tuple[Tuned, Candidates]) -> tuple[Tuned, Candidates]:
    """Leave the scores of longer queries out of the features."""
    tuned, found = prepared
    gone = {f"{model}+{kind}" for model, kind, _ in found.recipe.feedback}
    kept = [at for at, name in enumerate(found.names) if name not in gone]
    blocks = {
        query: replace(block, raw=block.raw[:, kept], rows=block.rows[:, kept])
        for query, block in found.blocks.items()
    }
    names = tuple(found.names[at] for at in kept)
    recipe = found.recipe._replace(feedback=())
    return tuned, Candidates(names, recipe, blocks)


def _rows(
    name: str, seed: int, compared: RankerComparison, settings: Mapping[str, str]
) -> list[Row]:
    return [
        Row(
            name,
            seed,
            order,
            settings[order],
            {key: float(each.mean()) for key, each in values.items()},
            dict(compared.chances.get(order, {})),
            {
                key: dict(zip(compared.queries, each.tolist(), strict=True))
                for key, each in values.items()
            },
        )
        for order, values in compared.values.items()
    ]


def claims(rows: Sequence[Row]) -> list[str]:
    """Say for each collection, rival and measure whether the learned order is above."""
    said = []
    for name in dict.fromkeys(row.collection for row in rows):
        here = [row for row in rows if row.collection == name]
        own = {row.seed: row for row in here if row.method == LEARNED}
        for rival in (BEST, ONE_TEXT, LONGER, ALONE):
            theirs = [row for row in here if row.method == rival]
            said += [_claim(name, rival, key, own, theirs) for key in MEASURES[:2]]
    return said


def _claim(
    name: str, rival: str, key: str, own: Mapping[int, Row], theirs: Sequence[Row]
) -> str:
    """One claim: the mean difference of each query over the partings that held it out.

    The interval is a bootstrap over queries: partings share them, and are not drawn.
    """
    ahead = [row for row in theirs if own[row.seed].measures[key] > row.measures[key]]
    sure = sum(row.chance[key] < SURE for row in ahead)
    behind = [row for row in theirs if row not in ahead and row.chance[key] < SURE]
    apart: dict[str, list[float]] = {}
    for row in theirs:
        for query, value in row.queries[key].items():
            learned = own[row.seed].queries[key][query]
            apart.setdefault(query, []).append(learned - value)
    means = np.array([np.mean(each) for each in apart.values()])
    return (
        f"{name}, {key}: {LEARNED} is above {rival}: {holds(bool(means.mean() > 0))}; "
        f"{difference(means, 0 * means)} over {len(means)} queries; above "
        f"in {len(ahead)} of {len(theirs)} partings, surely in {sure}, surely below in "
        f"{len(behind)}"
    )


def _said(model: str, setting: Mapping[str, float | str]) -> str:
    return " ".join([model, *(f"{key} {value}" for key, value in setting.items())])


Cells = dict[str, str | float | None]


def service_report(table: Table) -> Reproduction:
    """Show means over partings, and in how many the learned order surely differs."""
    rows: dict[str, Cells] = {}
    panels: dict[str, dict[str, float]] = {}
    for name in table.sizes:
        for method in dict.fromkeys(row.method for row in table.rows):
            own = [r for r in table.rows if (r.collection, r.method) == (name, method)]
            cells = rows.setdefault(method, {"order": method})
            for key in MEASURES:
                mean = float(np.mean([row.measures[key] for row in own]))
                cells[f"{name} {key}"] = mean
                panels.setdefault(f"{name}, {key}", {})[method] = mean
            sure = sum(row.chance.get(MEASURES[0], 1.0) < SURE for row in own)
            told = "" if method == LEARNED else f"{sure} of {len(own)}"
            cells[f"{name}, p < {SURE:g}"] = told
    shown = {k: v for k, v in panels.items() if not k.endswith(MEASURES[2])}
    sizes = "; ".join(
        f"{name}: {taught} queries teach, {held} judge"
        for name, (taught, held) in table.sizes.items()
    )
    partings = len({row.seed for row in table.rows})
    return Reproduction(
        f"A learned ranker ({LEARNER}) beside single models, {partings} partings",
        list(rows.values()),
        table.claims,
        partial(dot_panels, shown, title="Held-out queries", mark=LEARNED),
        f"{sizes}; p by randomisation test of {MEASURES[0]} against {LEARNED}, in how "
        "many partings; 95 % intervals by bootstrap over queries",
        asdict(table),
    )


def reproduce(data: Path | None) -> Reproduction:
    """A learned ranker beside the best single model, on half of the queries."""
    return service_report(ranker_service(data))
