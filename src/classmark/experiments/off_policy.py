"""Do the estimators find a policy's value in another's log? Both ran: it can be seen.

The Open Bandit sample holds logs of two policies that chose items for three positions:
one by chance, one that learned (Thompson sampling, "bts") [Saito21]. Each row says with
which chance its item was chosen. What the log of one says of the other is put beside
what the other gained itself. The policy that learned changed as it went: what is asked
for is its mean over the days of the log, each item by how often it was shown at a
position.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from classmark.arrays import Floats
from classmark.measures.off_policy import Estimate, clipped_ips, ips, snips
from classmark.problems import Mistake

if TYPE_CHECKING:
    from classmark.datasets.dataset import Impressions

CAMPAIGNS = ("all", "men", "women")
POLICIES = ("random", "bts")
ESTIMATORS = {"ips": ips, "clipped ips": clipped_ips, "snips": snips}
APART = 1.96


@dataclass(frozen=True, slots=True)
class Row:
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
class Table:
    """All rows, and what can be said."""

    rows: list[Row]
    claims: list[str]


def off_policy(data: Path | None = None) -> Table:
    """Estimate both policies from each other's logs, campaign by campaign."""
    rows: list[Row] = []
    for campaign in CAMPAIGNS:
        logs = {policy: _log(data, f"{policy}-{campaign}") for policy in POLICIES}
        for log, policy in (POLICIES, POLICIES[::-1]):
            rows += compared(campaign, (log, policy), logs[log], logs[policy])
    return Table(rows, claims(rows))


def _log(data: Path | None, name: str) -> Impressions:
    from classmark.datasets import load

    found = load("obp", data, name).train.impressions
    if found is None:
        raise Mistake(f"obp, {name}: there are no impressions: fetch the data anew")
    return found


def compared(
    campaign: str, names: tuple[str, str], log: Impressions, other: Impressions
) -> list[Row]:
    """Put what a log says of the other's policy beside what the other gained."""
    seen = ips(other.clicks, np.ones(len(other)), np.ones(len(other)))
    wanted = shown_shares(other, log)
    rows = []
    for name, estimator in ESTIMATORS.items():
        found = estimator(log.clicks, wanted, log.propensities)
        both = np.hypot(found.error, seen.error)
        apart = float((found.value - seen.value) / both) if both else 0.0
        rows.append(Row(campaign, *names, name, found, seen, apart))
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


def claims(rows: list[Row]) -> list[str]:
    """Say how often each estimator agrees with what was seen, and how surely."""
    said = []
    for name in ESTIMATORS:
        mine = [row for row in rows if row.estimator == name]
        agree = sum(abs(row.apart) <= APART for row in mine)
        wide = float(np.mean([row.estimate.error / row.seen.error for row in mine]))
        said.append(
            f"{name}: {agree} of {len(mine)} estimates are within {APART} standard "
            f"errors of what was seen; an error is {wide:.1f} times that of having "
            "run the policy"
        )
    return said
