"""How near do clicks come to the truth, and another policy's log to a policy's value?

The queries of a collection are parted in two by chance. On one half a user clicks in
the ten results that the ranker in service shows; from these clicks alone, by one
strategy or another, a ranking is learned; on the other half it orders the hundred
candidates anew, and is judged by the true grades. The learner is the same throughout,
½‖w‖² + C Σ weighted hinges of the preferences over the features of the candidates.

The Open Bandit sample holds logs of two policies that chose items for three positions:
one by chance, one that learned (Thompson sampling, "bts") [Saito21]. Each row says with
which chance its item was chosen. What the log of one says of the other is put beside
what the other gained itself. The policy that learned changed as it went: what is asked
for is its mean over the days of the log, each item by how often it was shown at a
position.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from classmark.arrays import Floats
from classmark.evaluation.retrieval import indexed
from classmark.figures import HUES, INK, LINE, SOFT
from classmark.measures import bootstrap_interval, randomisation_test
from classmark.measures.off_policy import Estimate, clipped_ips, ips, snips
from classmark.preferences.labels import STRATEGIES
from classmark.problems import Mistake
from classmark.progress import track
from reproductions.click_model import (
    DEPTH,
    SHOWN,
    ClickLog,
    User,
    World,
    candidates,
    simulate_clicks,
    with_order,
)
from reproductions.report import (
    ROUNDS,
    STYLE,
    Reproduction,
    chance,
    difference,
    holds,
    save,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from classmark.datasets.dataset import Dataset, Impressions


DASHES = {"": "-", "propensities": "--", "order kept": ":"}


class Curves(NamedTuple):
    """One panel: lines by (strategy, way), and levels by name."""

    title: str
    lines: Mapping[tuple[str, str], Sequence[float]]
    levels: Mapping[str, float]


def click_curves(
    panels: Sequence[Curves], sizes: Sequence[int], path: Path, title: str
) -> None:
    """Draw every way to learn from clicks between the ranker in service and the truth.

    A colour a strategy; a line plain, dashed with propensities, dotted with the order
    kept.
    """
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    names = list(dict.fromkeys(name for name, _ in panels[0].lines))
    hue = dict(zip(names, HUES * len(names), strict=False))
    across = min(2, len(panels))
    down = -(-len(panels) // across)
    with rc_context(STYLE):
        figure = Figure(figsize=(4.2 * across, 3.0 * down + 1.3))
        grid = figure.subplots(down, across, squeeze=False, sharex=True)
        for axes in grid.flat[len(panels) :]:
            axes.set_axis_off()
        for axes, panel in zip(grid.flat, panels, strict=False):
            _draw(axes, panel, sizes, hue)
        for axes in grid[-1]:
            axes.set_xlabel("impressions")
        figure.tight_layout(rect=(0, 0, 1, 1 - 1.3 / figure.get_figheight()))
        height = figure.get_figheight()
        figure.text(0.02, 1 - 0.25 / height, title, fontsize=12, color=INK)
        for at, name in enumerate(names):
            place = (0.02 + 0.5 * (at % 2), 1 - (0.5 + 0.22 * (at // 2)) / height)
            figure.text(*place, f"— {name}", color=hue[name])
        ways = "— plain   - - propensities   ··· order kept"
        figure.text(0.52, 1 - (0.5 + 0.44) / height, ways, color=SOFT)
        save(figure, path)


def _draw(
    axes: Axes, panel: Curves, sizes: Sequence[int], hue: Mapping[str, str]
) -> None:
    for (name, way), values in panel.lines.items():
        axes.plot(sizes, values, color=hue[name], linestyle=DASHES[way], linewidth=1.4)
    axes.set(xscale="log", title=panel.title)
    axes.set_xticks(sizes, labels=[f"{size:,}" for size in sizes])
    axes.minorticks_off()
    axes.set_ylim(bottom=0)
    _name_levels(axes, panel.levels)
    axes.grid(axis="y", color=LINE, linewidth=0.6)


def _name_levels(axes: Axes, levels: Mapping[str, float]) -> None:
    """Draw each level, its name right of it, none on another."""
    apart, place = 0.06 * axes.get_ylim()[1], -1.0
    for name, level in sorted(levels.items(), key=lambda entry: entry[1]):
        axes.axhline(level, color=SOFT, linewidth=0.8)
        place = max(level, place + apart)
        axes.text(
            1.02, place, name, transform=axes.get_yaxis_transform(), color=SOFT,
            fontsize=8, va="center",
        )  # fmt: skip


COLLECTIONS = {
    "npl-vaswani": None,
    "nfcorpus": "dev",
    "cranfield": None,  # this and the next had no part in any choice
    "cacm": None,
}
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
ALL, LAST, PREVIOUS, ABOVE = (
    "clicked-over-skipped",
    "last-click-over-skipped-above",
    "click-over-previous",
    "skip-above",
)
# What is claimed of one way beside another: it is above it, below it, or no worse.
CLAIMS = (
    (TRUTH, "above", SERVICE),
    (f"{ALL}; propensities", "above", ALL),
    (f"{ALL}; propensities", "as good as", TRUTH),
    *((strategy, "below", SERVICE) for strategy in (LAST, PREVIOUS, ABOVE)),
    (FAIR, "above", PREVIOUS),
    (FAIR, "as good as", TRUTH),
    *((f"{name}; order kept", "above", name) for name in (LAST, ABOVE)),
)

Estimates = Mapping[str, Floats]


@dataclass(frozen=True, slots=True)
class Row:
    """One way to learn, one ranker in service, one collection.

    ndcg : on the other half, after each number of impressions, the mean over the logs;
    spread : its standard deviation over the logs;  chance : of the difference from the
    ranker in service after the last, two-sided;  queries : NDCG of each query then, the
    mean over the logs.
    """

    collection: str
    service: str
    method: str
    ndcg: list[float]
    spread: list[float]
    chance: float
    queries: list[float]


@dataclass(frozen=True, slots=True)
class Table:
    """All rows, the numbers of impressions, and what can be said.

    queries : of both halves;  errors : the largest error of log θ, estimate by
    estimate, after each number of impressions, of every log.
    """

    rows: list[Row]
    sizes: list[int]
    queries: dict[str, tuple[int, int]]
    errors: dict[str, dict[str, list[list[float]]]]
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
) -> tuple[dict[str, Floats], dict[str, list[list[float]]]]:
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
        true = world.ndcg(world.learn(world.true_preferences(depth)))
        values[method] = np.tile(true, (1, len(sizes), 1))
    each = {
        way: np.transpose([found[way] for found in errors]).tolist()
        for way in errors[0]
    }
    return values, each


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
        *names,
        means.mean(axis=0).tolist(),
        means.std(axis=0).tolist(),
        float(p),
        last.tolist(),
    )


def claims(table: Table) -> list[str]:
    """Say for each ranker in service what comes near to the truth, and what falls.

    Differences are those of the means over the logs after the last impression, with 95
    % intervals, by bootstrap over the judged queries.
    """
    said = []
    for name in table.queries:
        here = {
            row.method: row
            for row in table.rows
            if f"{row.collection}, {row.service}" == name
        }
        said.append(_best_way(f"{name} in service", here))
        said += [f"{name} in service: {compare_ways(here, *each)}" for each in CLAIMS]
        worst = " and ".join(
            f"{np.expm1(np.mean(errors[-1])):.0%} ({np.expm1(min(errors[-1])):.0%} to "
            f"{np.expm1(max(errors[-1])):.0%} over the logs) by {way}"
            for way, errors in table.errors[name].items()
        )
        said.append(f"{name} in service: θ is off by {worst}, at its worst place")
    return said


def _best_way(where: str, here: Mapping[str, Row]) -> str:
    """Whether a way is surely above: the surest of those above, p times all ways."""
    ways = [row for method, row in here.items() if method not in NOT_CLICKS]
    service = here[SERVICE]
    above = [row for row in ways if row.ndcg[-1] > service.ndcg[-1]]
    claim = f"{where}: something learned from clicks is surely above it"
    if not above:
        return f"{claim}: {holds(False)}; none of {len(ways)} ways is above"
    best = min(above, key=lambda row: (row.chance, -row.ndcg[-1]))
    p = min(1.0, best.chance * len(ways))
    return (
        f"{claim}: {holds(p < SURE)}; surest of {len(ways)} ways is {best.method}, "
        f"{_beside(best, service)}, {chance(p)} corrected for {len(ways)} ways"
    )


def compare_ways(here: Mapping[str, Row], own: str, relation: str, other: str) -> str:
    """Say whether one way is above, below or as good as another, and how surely.

    As good as: the interval of the difference is not all below 0.
    """
    first, second = here[own], here[other]
    low, high = bootstrap_interval(first.queries, second.queries, rounds=ROUNDS)
    apart = first.ndcg[-1] - second.ndcg[-1]
    good = {"above": apart > 0, "below": apart < 0, "as good as": high >= 0}[relation]
    unsure = relation != "as good as" and low <= 0 <= high
    return (
        f"{own} is {relation} {other}: {holds(good)}{', not surely' * unsure}; "
        f"{_beside(first, second)}"
    )


def _beside(own: Row, other: Row) -> str:
    apart = difference(own.queries, other.queries, "+.3f")
    return f"{own.ndcg[-1]:.3f} and {other.ndcg[-1]:.3f}, {apart}"


CAMPAIGNS = ("all", "men", "women")
POLICIES = ("random", "bts")
ESTIMATORS = {"ips": ips, "clipped ips": clipped_ips, "snips": snips}
APART = 1.96


@dataclass(frozen=True, slots=True)
class PolicyRow:
    """What one log says of the other policy, and what that gained itself.

    apart : the difference in standard errors of both together.
    """

    campaign: str
    log: str
    policy: str
    estimator: str
    estimate: Estimate
    seen: Estimate
    apart: float


@dataclass(frozen=True, slots=True)
class PolicyTable:
    """All rows, and what can be said."""

    rows: list[PolicyRow]
    claims: list[str]


def off_policy(data: Path | None = None) -> PolicyTable:
    """Estimate both policies from each other's logs, campaign by campaign."""
    rows: list[PolicyRow] = []
    for campaign in CAMPAIGNS:
        logs = {policy: _log(data, f"{policy}-{campaign}") for policy in POLICIES}
        for log, policy in (POLICIES, POLICIES[::-1]):
            rows += compared(campaign, (log, policy), logs[log], logs[policy])
    return PolicyTable(rows, policy_claims(rows))


def _log(data: Path | None, name: str) -> Impressions:
    from classmark.datasets import load

    found = load("obp", data, name).train.impressions
    if found is None:
        raise Mistake(f"obp, {name}: there are no impressions: fetch the data anew")
    return found


def compared(
    campaign: str, names: tuple[str, str], log: Impressions, other: Impressions
) -> list[PolicyRow]:
    """Put what a log says of the other's policy beside what the other gained."""
    seen = ips(other.clicks, np.ones(len(other)), np.ones(len(other)))
    wanted = shown_shares(other, log)
    rows = []
    for name, estimator in ESTIMATORS.items():
        found = estimator(log.clicks, wanted, log.propensities)
        both = np.hypot(found.error, seen.error)
        apart = float((found.value - seen.value) / both) if both else 0.0
        rows.append(PolicyRow(campaign, *names, name, found, seen, apart))
    return rows


def shown_shares(policy: Impressions, log: Impressions) -> Floats:
    """How often a policy shows each item of a log at its position.

    Where all its chances are the same they are what is asked for; else the share of its
    own impressions at that position.
    """
    if np.ptp(policy.propensities) == 0:
        return np.full(len(log), policy.propensities[0])
    items = 1 + int(max(policy.items.max(), log.items.max()))
    places = 1 + int(max(policy.positions.max(), log.positions.max()))
    counts = np.zeros((places, items))
    np.add.at(counts, (policy.positions, policy.items), 1.0)
    totals = np.maximum(counts.sum(axis=1, keepdims=True), 1.0)
    return np.asarray((counts / totals)[log.positions, log.items])


def policy_claims(rows: list[PolicyRow]) -> list[str]:
    """Say how often each estimator agrees with what was seen, and how surely."""
    said = []
    for name in ESTIMATORS:
        mine = [row for row in rows if row.estimator == name]
        agree = sum(abs(row.apart) <= APART for row in mine)
        wide = float(np.mean([row.estimate.error / row.seen.error for row in mine]))
        said.append(
            f"{name}: estimates are within {APART} standard errors of what was seen: "
            f"{holds(agree == len(mine))}, {agree} of {len(mine)}; an error is "
            f"{wide:.1f} times that of having run the policy"
        )
    return said


def clicks_report(table: Table, policy: PolicyTable) -> Reproduction:
    """One row a method; in a cell NDCG@10 after each number of impressions."""
    methods: dict[str, dict[str, str | float | None]] = {}
    for row in table.rows:
        cells = methods.setdefault(row.method, {"method": row.method})
        values = row.ndcg[-1:] if row.method in NOT_CLICKS else row.ndcg
        cells[f"{row.collection}, {row.service}"] = " ".join(
            f"{value:.3f}" for value in values
        )
    sizes = ", ".join(f"{size:,}" for size in table.sizes)
    halves = "; ".join(
        f"{name} in service: {clicked} queries clicked on, {judged} judged"
        for name, (clicked, judged) in table.queries.items()
    )
    title = "NDCG@10 learned from clicks, beside the truth"
    return Reproduction(
        f"Clicks: NDCG@10 after {sizes} impressions",
        list(methods.values()),
        [*table.claims, *_policy_claims(policy)],
        partial(click_curves, panels(table), table.sizes, title=title),
        f"{halves}; means of {SEEDS} logs",
        {"simulation": asdict(table), "policies": asdict(policy)},
    )


def panels(table: Table) -> list[Curves]:
    """One panel a collection and ranker in service."""
    found = []
    for name in table.queries:
        here = {
            row.method: row.ndcg
            for row in table.rows
            if f"{row.collection}, {row.service}" == name
        }
        lines = {
            (strategy, way): values
            for method, values in here.items()
            if method not in NOT_CLICKS
            for strategy, _, way in [method.partition("; ")]
        }
        levels = {key: here[key][-1] for key in (SERVICE, TRUTH)}
        found.append(Curves(f"{name} in service", lines, levels))
    return found


def _policy_claims(table: PolicyTable) -> list[str]:
    said = [
        f"obp {row.campaign}, {row.policy} from the log of {row.log}: "
        f"{row.estimate.value:.3%} ({row.estimate.low:.3%} to {row.estimate.high:.3%}) "
        f"by {row.estimator}, {row.seen.value:.3%} ({row.seen.low:.3%} to "
        f"{row.seen.high:.3%}) seen"
        for row in table.rows
        if row.estimator == "snips"
    ]
    return [*said, *(f"obp, {claim}" for claim in table.claims)]


def reproduce(data: Path | None) -> Reproduction:
    """What clicks of a known user teach, and counterfactual values [Joachims17]."""
    return clicks_report(click_simulation(data), off_policy(data))
