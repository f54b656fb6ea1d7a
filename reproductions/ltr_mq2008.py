"""Which learner orders LETOR's MQ2008 best, and does it help to price the top more?

LETOR's parts S1 … S5 are the folds, as many as are there: each asks once, the others
having taught; parameters are chosen by
nDCG@10, by cross-validation over the queries of the training parts only.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from classmark.arrays import Floats, Rows, stack
from classmark.datasets.dataset import where
from classmark.figures import HUES, LINE
from classmark.formats.svmlight import read_letor
from classmark.ltr import (
    SVMMAP,
    LambdaMART,
    ListNet,
    PairwiseLogistic,
    PointwiseSVM,
    RankBoost,
    RankingSVM,
    RankNet,
    select_over_queries,
)
from classmark.ltr.judged import QueryRanker, order_measured
from classmark.measures.significance import bootstrap_interval, paired_t_test
from classmark.problems import Mistake
from classmark.progress import track
from reproductions.report import (
    STYLE,
    Reproduction,
    chance,
    difference,
    holds,
    save,
)

MEASURES = (*(f"ndcg@{rank}" for rank in range(1, 11)), "map")
CHOSEN_BY, FOLDS, SURE = "ndcg@10", 5, 0.05
PAIRS = (1e-5, 1e-4, 1e-3, 1e-2, 1e-1, 1.0)
QUERIES = (1e-2, 1e-1, 1.0, 10.0, 100.0)
ROWS = (1e-3, 1e-2, 1e-1, 1.0, 10.0)
TOP = ("ndcg@1", "ndcg@3", "ndcg@5", "ndcg@10", "map")
Grid = Mapping[str, Sequence[Any]]


@dataclass(frozen=True, slots=True)
class Part:
    """One of LETOR's parts: judged rows of whole queries."""

    rows: Rows
    grades: Floats
    qids: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Row:
    """One learner: means over all queries, 95 % intervals, and each part's choice.

    chance : p of a paired t-test over queries against the Ranking SVM;  queries : the
    value of each query, by measure.
    """

    method: str
    means: dict[str, float]
    intervals: dict[str, tuple[float, float]]
    chance: dict[str, float]
    chosen: list[dict[str, Any]]
    queries: dict[str, list[float]]


@dataclass(frozen=True, slots=True)
class Table:
    """Every learner, the size of the collection, and which claims hold."""

    rows: list[Row]
    parts: int
    queries: int
    pairs: int
    features: int
    claims: list[str]


def learners() -> dict[str, tuple[QueryRanker, Grid]]:
    """Each learner and what it may choose from; LambdaMART where it is installed."""
    found: dict[str, tuple[QueryRanker, Grid]] = {
        "pointwise SVM": (PointwiseSVM(), {"C": ROWS}),
        "Ranking SVM": (RankingSVM(), {"C": PAIRS}),
        "RSVM-IR": (RankingSVM(weighting="ir"), {"C": PAIRS}),
        "pairwise logistic": (PairwiseLogistic(), {"C": PAIRS}),
        "ListNet": (ListNet(), {"C": QUERIES}),
        "SVM-MAP": (SVMMAP(), {"C": QUERIES}),
        "RankNet": (RankNet(), {"C": PAIRS}),
        "RankBoost": (RankBoost(), {"n_estimators": (30, 100, 300)}),
    }
    if LambdaMART.installed():
        grid = {"num_leaves": (4, 15), "n_estimators": (50, 150, 400)}
        fixed = {"learning_rate": 0.05, "min_data_in_leaf": 30}
        trees = LambdaMART(**fixed, lambdarank_truncation_level=15)
        found["LambdaMART"] = (trees, grid)
    return found


def load_parts(data: Path | None = None) -> list[Part]:
    """LETOR's parts, as many as are there."""
    folder = where("letor-mq2008", data)
    judged = [read_letor(path) for path in sorted(folder.glob("S[1-5].txt"))]
    if len(judged) < 2:
        raise Mistake(
            f"{folder} holds {len(judged)} of S1.txt … S5.txt: two are needed"
        )
    return [Part(each.rows, each.grades, each.qids) for each in judged]


def ltr_mq2008(
    data: Path | None = None,
    *,
    parts: Sequence[Part] | None = None,
    only: Sequence[str] | None = None,
) -> Table:
    """Teach every learner by all parts but one, ask by that one; each part once.

    parts : others than LETOR's;  only : names of learners, else all.
    """
    given = load_parts(data) if parts is None else list(parts)
    entered = {
        name: held for name, held in learners().items() if only is None or name in only
    }
    values: dict[str, list[dict[str, Floats]]] = {name: [] for name in entered}
    chosen: dict[str, list[dict[str, Any]]] = {name: [] for name in entered}
    jobs = [(at, name) for at in range(len(given)) for name in entered]
    for at, name in track(jobs, "teaching and asking", len(jobs)):
        taught = _together([part for i, part in enumerate(given) if i != at])
        found, parameters = _asked(*entered[name], taught, given[at])
        values[name].append(found)
        chosen[name].append(parameters)
    joined = {name: _joined(found) for name, found in values.items()}
    rows = [_row(name, joined, chosen[name]) for name in entered]
    sizes = (len(rows[0].queries["map"]), sum(len(part.rows) for part in given))
    width = max(part.rows.width for part in given)
    return Table(rows, len(given), *sizes, width, claims(rows))


def _asked(
    learner: QueryRanker, grid: Grid, taught: Part, asked: Part
) -> tuple[dict[str, Floats], dict[str, Any]]:
    """Values of every query asked, and the parameters chosen on those taught."""
    X, y, qid = taught.rows, taught.grades, taught.qids
    best = select_over_queries(
        learner, X, y, qid, grid, folds=FOLDS, measure=CHOSEN_BY
    ).parameters
    fitted = type(learner)(**learner.get_params(deep=False)).set_params(**best)
    scores = fitted.fit(X, y, qid).decision_function(asked.rows)
    return order_measured(scores, asked.grades, asked.qids, MEASURES), best


def _together(parts: list[Part]) -> Part:
    return Part(
        stack([part.rows for part in parts]),
        np.concatenate([part.grades for part in parts]),
        tuple(qid for part in parts for qid in part.qids),
    )


def _joined(found: list[dict[str, Floats]]) -> dict[str, Floats]:
    return {
        measure: np.concatenate([each[measure] for each in found])
        for measure in MEASURES
    }


def _row(
    name: str, joined: dict[str, dict[str, Floats]], chosen: list[dict[str, Any]]
) -> Row:
    own, base = joined[name], joined.get("Ranking SVM", joined[name])
    return Row(
        name,
        {measure: float(own[measure].mean()) for measure in MEASURES},
        {measure: bootstrap_interval(own[measure]) for measure in MEASURES},
        {m: paired_t_test(own[m], base[m]).p_value for m in MEASURES},
        chosen,
        {measure: own[measure].tolist() for measure in MEASURES},
    )


def claims(rows: list[Row]) -> list[str]:
    """Say whether RSVM-IR is above the Ranking SVM at the top, and who differs."""
    by_name = {row.method: row for row in rows}
    base, own = by_name.get("Ranking SVM"), by_name.get("RSVM-IR")
    said = []
    if base is not None and own is not None:
        for measure in TOP:
            rise, p = own.means[measure] - base.means[measure], own.chance[measure]
            apart = difference(own.queries[measure], base.queries[measure])
            said.append(
                f"{measure}, RSVM-IR is above Ranking SVM: {holds(rise > 0)}"
                f"{'' if p < SURE else ', not surely'}; {apart}, {chance(p)}"
            )
    for row in rows:
        differing = [measure for measure in TOP if row.chance[measure] < SURE]
        if differing and row.method != "RSVM-IR":
            said.append(
                f"{row.method} surely differs from Ranking SVM (p < {SURE}): "
                + ", ".join(
                    f"{measure} {row.means[measure]:.4f}" for measure in differing
                )
            )
    return said


def ltr_report(table: Table) -> Reproduction:
    """One row a learner: means, and the interval of nDCG@10 and MAP."""
    rows: list[dict[str, str | float | None]] = []
    for row in table.rows:
        cells: dict[str, str | float | None] = {"method": row.method}
        for measure in MEASURES:
            low, high = row.intervals[measure]
            shown = f"{row.means[measure]:.4f}"
            if measure in ("ndcg@10", "map"):
                shown += f" ({low:.3f} … {high:.3f})"
            cells[measure] = shown
        rows.append(cells)
    return Reproduction(
        f"Learning to rank: MQ2008, {table.parts} parts, each asked once",
        rows,
        table.claims,
        partial(rank_bars, table, title="MQ2008: nDCG by rank, 95 % intervals"),
        f"{table.queries} queries, {table.pairs:,} rows, {table.features} features; "
        "parameters chosen by nDCG@10 on the other parts; intervals by bootstrap over "
        "queries",
        asdict(table),
    )


def rank_bars(table: Table, path: Path, title: str) -> None:
    """Draw nDCG at ranks 1 to 10: a dot a learner, a bar its interval."""
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    ranks = np.arange(1, 11)
    with rc_context(STYLE):
        figure = Figure(figsize=(8.0, 4.4))
        axes = figure.subplots()
        for at, row in enumerate(table.rows):
            hue = HUES[at % len(HUES)]
            places = ranks + 0.12 * (at - 0.5 * (len(table.rows) - 1))
            means = [row.means[f"ndcg@{rank}"] for rank in ranks]
            low, high = np.array([row.intervals[f"ndcg@{rank}"] for rank in ranks]).T
            axes.vlines(places, low, high, color=hue, linewidth=0.8)
            axes.scatter(places, means, color=hue, s=14, label=row.method, zorder=3)
        axes.set(title=title, xlabel="rank k", ylabel="nDCG@k")
        axes.set_xticks(ranks)
        axes.grid(axis="y", color=LINE, linewidth=0.6)
        axes.legend(frameon=False, labelcolor="linecolor", ncols=2, loc="lower right")
        save(figure, path)


def reproduce(data: Path | None) -> Reproduction:
    """Learning to rank on LETOR's MQ2008: is RSVM-IR better at the top [Cao06]?"""
    return ltr_report(ltr_mq2008(data))
