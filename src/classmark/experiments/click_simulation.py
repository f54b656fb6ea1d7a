"""How near do clicks come to the truth? A user of whom all is known clicks; we learn.

The queries of a collection are parted in two by chance. On one half a user clicks in
the ten results that the ranker in service shows; from these clicks alone, by one
strategy or another, a ranking is learned; on the other half it orders the hundred
candidates anew, and is judged by the true grades. The learner is the same throughout,
½‖w‖² + C Σ weighted hinges of the preferences over the features of the candidates.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from classmark.arrays import Floats
from classmark.experiments.click_log import (
    SHOWN,
    ClickLog,
    simulate_clicks,
    with_order,
)
from classmark.experiments.click_users import User
from classmark.experiments.click_world import DEPTH, World, candidates
from classmark.experiments.retrieving import indexed
from classmark.judgments.clicks import STRATEGIES
from classmark.measures import randomisation_test
from classmark.progress import track

if TYPE_CHECKING:
    from classmark.datasets.dataset import Dataset

COLLECTIONS = {"npl-vaswani": None, "nfcorpus": "dev"}
SERVICES = ("bm25", "tf")
SIZES = (1_000, 10_000, 100_000)
USER = User(attraction=(0.1, 0.8, 0.9), eta=1.0)
SEEDS = 3
FAIR = "click-over-previous, swapped pairs"
RULES = {**{name: name for name in STRATEGIES}, FAIR: "click-over-previous"}
WAYS = ("", "propensities", "order kept")
SERVICE, OF_TEN, TRUTH = "in service", "truth of the ten shown", "truth"
NOT_CLICKS = (SERVICE, OF_TEN, TRUTH)
SURE = 0.05

Estimates = Mapping[str, Floats]


@dataclass(frozen=True, slots=True)
class Row:
    """One way to learn, one ranker in service, one collection.

    ndcg : on the other half, after each number of impressions, the mean over the logs;
    spread : its standard deviation over the logs;  chance : of the difference from the
    ranker in service after the last, two-sided.
    """

    collection: str
    service: str
    method: str
    ndcg: list[float]
    spread: list[float]
    chance: float


@dataclass(frozen=True, slots=True)
class Table:
    """All rows, the numbers of impressions, and what can be said.

    queries : of both halves;  errors : the largest error of log θ, estimate by
    estimate, after each number of impressions.
    """

    rows: list[Row]
    sizes: list[int]
    queries: dict[str, tuple[int, int]]
    errors: dict[str, dict[str, list[float]]]
    claims: list[str]


def click_simulation(data: Path | None = None) -> Table:
    """Simulate, learn and judge on both collections, with both rankers in service."""
    from classmark.datasets import load

    return simulated([load(name, data, part) for name, part in COLLECTIONS.items()])


def simulated(
    datasets: Sequence[Dataset],
    sizes: Sequence[int] = SIZES,
    services: Sequence[str] = SERVICES,
    seeds: int = SEEDS,
) -> Table:
    """Do it for some collections of queries."""
    table = Table([], list(sizes), {}, {}, [])
    for dataset in datasets:
        with indexed(dataset) as asked:
            for service in services:
                clicked, judged = (candidates(h, service) for h in asked.halves(0))
                name = f"{dataset.name}, {service}"
                table.queries[name] = (len(clicked), len(judged))
                world = World(asked.qrels, clicked, judged)
                values, errors = learned(world, sizes, seeds, name)
                table.errors[name] = errors
                table.rows.extend(
                    _row((dataset.name, service, method), every, values[SERVICE][0, 0])
                    for method, every in values.items()
                )
    table.claims.extend(claims(table))
    return table


def learned(
    world: World, sizes: Sequence[int], seeds: int, name: str
) -> tuple[dict[str, Floats], dict[str, list[float]]]:
    """Learn in every way: NDCG, shape (logs, sizes, queries), and errors of log θ."""
    runs: list[dict[str, list[Floats]]] = []
    errors: list[dict[str, list[float]]] = []
    theta = USER.propensities(SHOWN)
    grades = [each.grades for each in world.clicked]
    for seed in track(range(seeds), f"clicks on {name}", seeds):
        log = simulate_clicks(grades, USER, max(sizes), seed)
        estimates = [log.beginning(n).propensities() for n in sizes]
        errors.append(
            {
                way: [float(np.abs(np.log(e[way] / theta)).max()) for e in estimates]
                for way in estimates[0]
            }
        )
        runs.append(by_clicks(world, log, sizes, estimates))
    values = {SERVICE: np.tile(world.ndcg(None), (1, len(sizes), 1))}
    values |= {method: np.array([run[method] for run in runs]) for method in runs[0]}
    for method, depth in ((OF_TEN, SHOWN), (TRUTH, DEPTH)):
        each = world.ndcg(world.learn(world.true_preferences(depth)))
        values[method] = np.tile(each, (1, len(sizes), 1))
    means = {
        way: np.mean([found[way] for found in errors], axis=0).tolist()
        for way in errors[0]
    }
    return values, means


def by_clicks(
    world: World, log: ClickLog, sizes: Sequence[int], estimates: Sequence[Estimates]
) -> dict[str, list[Floats]]:
    """Learn by every strategy in every way: NDCG of each query, size by size."""
    found: dict[str, list[Floats]] = {}
    for n, estimate in zip(sizes, estimates, strict=True):
        part = log.beginning(n)
        for strategy, rule in RULES.items():
            for way in WAYS:
                theta = estimate["click model"] if way == "propensities" else None
                said = part.preferences(rule, theta, fair=strategy == FAIR)
                if way == "order kept":
                    said = with_order(said, len(world.clicked))
                method = f"{strategy}; {way}" if way else strategy
                found.setdefault(method, []).append(world.ndcg(world.learn(said)))
    return found


def _row(names: tuple[str, str, str], every: Floats, service: Floats) -> Row:
    """Put one method's values, shape (logs, sizes, queries), in a row."""
    means = every.mean(axis=2)
    last = every[:, -1].mean(axis=0)
    same = np.array_equal(last, service)
    p = 1.0 if same else randomisation_test(last, service, seed=0).p_value
    return Row(
        *names, means.mean(axis=0).tolist(), means.std(axis=0).tolist(), float(p)
    )


def claims(table: Table) -> list[str]:
    """Say for each ranker in service what comes near to the truth, and what falls.

    A chance is times the ways there are to learn from clicks.
    """
    said = []
    for name in table.queries:
        here = {
            row.method: row
            for row in table.rows
            if f"{row.collection}, {row.service}" == name
        }
        service, truth = here[SERVICE].ndcg[-1], here[TRUTH].ndcg[-1]
        ways = [row for method, row in here.items() if method not in NOT_CLICKS]
        best = max(ways, key=lambda row: row.ndcg[-1])
        surely = "surely" if best.chance * len(ways) < SURE else "not surely"
        said.append(
            f"{name} in service, {service:.3f}: after {table.sizes[-1]:,} impressions "
            f"{best.method} is best of {len(ways)} ways, {best.ndcg[-1]:.3f}, {surely} "
            f"different from it; the truth gives {truth:.3f}"
        )
        fallen = [row.method for row in ways if row.ndcg[-1] < service / 2]
        if fallen:
            said.append(f"{name} in service: less than half by {', '.join(fallen)}")
        worst = " and ".join(
            f"{np.expm1(errors[-1]):.0%} by {way}"
            for way, errors in table.errors[name].items()
        )
        said.append(f"{name} in service: θ is off by {worst}, at its worst place")
    return said
