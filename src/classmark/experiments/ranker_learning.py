"""From judged queries, or clicks, to a ranker and how it compares: all steps, once."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from classmark.arrays import Floats
from classmark.experiments.candidates import Candidates
from classmark.experiments.ranker_learners import Learner
from classmark.experiments.ranker_training import (
    MEASURES,
    Compared,
    Fit,
    Parting,
    Tuned,
    choose_price,
    compare,
    fit_judged,
    gather,
    tune_models,
)
from classmark.experiments.retrieving import JudgedQueries, Run, run_queries
from classmark.problems import Mistake

LEARNED, BEST = "learned", "best single model"
Rivals = Callable[[JudgedQueries], Mapping[str, Run]]


class Preferred(NamedTuple):
    """One document over another, by their ids, and how much that counts."""

    winner: str
    loser: str
    weight: float = 1.0


class Prepared(NamedTuple):
    """The models as tuned, and every query's candidates with their features."""

    tuned: Tuned
    found: Candidates


class Wish(NamedTuple):
    """What is wanted.

    name : the measure that chooses C;  preferences : query → what clicks prefer to
    what, to learn from in place of grades, or None.
    """

    name: str = MEASURES[0]
    preferences: Mapping[str, Sequence[Preferred]] | None = None


@dataclass(frozen=True, slots=True)
class Learned:
    """A fitted ranker, what it was made of, and how it did on the held-out queries.

    means : the measure at each price tried, by cross-validation over queries.
    """

    ranker: Any
    found: Candidates
    tuned: Tuned
    price: float
    means: Mapping[float, float]
    compared: Compared

    def importance(self, queries: Sequence[str]) -> dict[str, float]:
        """|weight| times the spread of each feature within queries, largest first.

        Of trees, the gain of the splits at each feature. Shares of the sum.
        """
        rows = [self.found.blocks[query].rows for query in queries]
        spread = np.vstack([each - each.mean(axis=0) for each in rows if len(each)])
        sizes = _sizes(self.ranker) * (spread.std(axis=0) if is_linear(self) else 1.0)
        shares = sizes / max(float(sizes.sum()), 1e-300)
        order = np.argsort(-shares, kind="stable").tolist()
        return {self.found.names[at]: float(shares[at]) for at in order}


def is_linear(learned: Learned) -> bool:
    """Whether the ranker is a weighted sum of features."""
    return hasattr(learned.ranker, "coef_")


def _sizes(ranker: Any) -> Floats:
    if hasattr(ranker, "coef_"):
        return np.abs(np.asarray(ranker.coef_, np.float64).ravel())
    gains = ranker.booster_.feature_importance("gain")
    return np.asarray(gains, np.float64)


def prepare(
    asked: JudgedQueries,
    parting: Parting,
    name: str = MEASURES[0],
    pagerank: Floats | None = None,
) -> Prepared:
    """Tune the models on the taught queries, and make the features of all queries."""
    tuned = tune_models(asked.only(parting.taught), name)
    return Prepared(tuned, gather(asked, tuned, pagerank=pagerank))


def learn(
    asked: JudgedQueries,
    parting: Parting,
    prepared: Prepared,
    learner: Learner,
    rivals: Rivals,
    wish: Wish | None = None,
) -> Learned:
    """Choose C and learn on the taught queries; compare on the held-out ones.

    rivals : other orders of the held-out queries, by name.
    """
    tuned, found = prepared
    name, preferences = wish or Wish()
    taught, held = asked.only(parting.taught), asked.only(parting.held)
    if preferences is None:
        fit = fit_judged(found, learner.make)
    else:
        fit = fit_preferred(found, learner, preferences)
    price, means = choose_price(taught, found, fit, learner.prices, name)
    ranker = fit(parting.taught, price)
    runs = {
        LEARNED: found.run(parting.held, ranker),
        BEST: run_queries(held, tuned.choice),
        **rivals(held),
    }
    names = tuple(dict.fromkeys((*MEASURES, name)))
    return Learned(ranker, found, tuned, price, means, compare(held, runs, names))


def fit_preferred(
    found: Candidates,
    learner: Learner,
    preferences: Mapping[str, Sequence[Preferred]],
) -> Fit:
    """Return how to learn from the preferences of some queries at a price.

    Documents that the first stage does not find among its candidates say nothing.
    """

    def fit(queries: Sequence[str], price: float) -> Any:
        rows, pairs, weights, base = [], [], list[float](), 0
        for query in queries:
            block = found.blocks[query]
            place = {id_: at for at, id_ in enumerate(block.ids[: len(block.grades)])}
            for winner, loser, weight in preferences.get(query, ()):
                if winner in place and loser in place:
                    pairs.append((base + place[winner], base + place[loser]))
                    weights.append(weight)
            rows.append(block.rows)
            base += len(block.rows)
        if not pairs:
            raise Mistake(
                "no click prefers one candidate to another: log more searches "
                "(classmark search --log) and what is opened (classmark click)"
            )
        winners, losers = np.array(pairs, np.int64).T
        made = learner.make(price)
        if not hasattr(made, "fit_preferences"):
            raise Mistake(f"{learner.name} learns from grades only: use ranking-svm")
        return made.fit_preferences(
            np.vstack(rows), winners, losers, weights=np.array(weights)
        )

    return fit
