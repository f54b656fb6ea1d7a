"""Train a ranker on some judged queries, and compare it on the others.

Queries are parted once, by chance. On the training part the parameters of every
retrieval model are tuned, C is chosen by cross-validation over queries, and the ranker
learns; the held-out part compares it with the best single model and with what is in
service.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from classmark.arrays import Floats
from classmark.corpus.splits import folds, train_test
from classmark.experiments.candidates import CANDIDATES, Candidates, candidates_of
from classmark.experiments.retrieving import JudgedQueries, Run, measure
from classmark.experiments.tuning import Grid, best_of, settings_of, sweep
from classmark.index.feedback import feedback_from
from classmark.index.models import MODELS
from classmark.index.plans import Choice
from classmark.ltr.features import FEEDBACK, Longer, PairFeatures, Recipe
from classmark.measures import parse, randomisation_test
from classmark.problems import Mistake
from classmark.progress import track

MEASURES = ("ndcg@10", "map", "mrr")
LEAST, SURE = 5, 0.05
_OKAPI = {"k1": (0.8, 1.2, 2.0, 4.0), "b": (0.3, 0.6, 0.75)}
_MASSES = (20, 100, 200, 500, 2000)
_SPREADS = (0.1, 0.5, 1, 4)
GRIDS: dict[str, Grid] = {
    **dict.fromkeys(("bm25", "robertson", "atire", "bm25+", "bm25l"), _OKAPI),
    **{model: {"mu": _MASSES} for model in ("dirichlet", "kl")},
    **{model: {"c": _SPREADS} for model in ("pl2", "inl2", "lgd", "spl")},
    "bim": {"p": (0.3, 0.5, 0.7)},
    "jm": {"lambda": (0.1, 0.3, 0.6, 0.8)},
}
MANY: Grid = {"documents": (3, 10, 20), "terms": (20, 100)}

Make = Callable[[float], Any]
Fit = Callable[[Sequence[str], float], Any]


@dataclass(frozen=True, slots=True)
class Parting:
    """Which queries teach and which judge, and the seed that parted them."""

    taught: tuple[str, ...]
    held: tuple[str, ...]
    seed: int


@dataclass(frozen=True, slots=True)
class Tuned:
    """Every model's parameters, as tuned, and the best model among them.

    feedback : likewise, of each model that is tried with feedback, the best first.
    """

    models: Mapping[str, Mapping[str, float]]
    best: str
    value: float
    feedback: tuple[Longer, ...] = ()

    @property
    def choice(self) -> Choice:
        """The best model with its parameters."""
        return self.best, self.models[self.best]


@dataclass(frozen=True, slots=True)
class Compared:
    """Measures of several orders on the held-out queries, and tests against each.

    values : order → measure → value of each query, the learned order first;  chances :
    rival → measure → the two-sided chance that the learned order differs so much from
    it by accident [Smucker07].
    """

    queries: tuple[str, ...]
    values: Mapping[str, Mapping[str, Floats]]
    chances: Mapping[str, Mapping[str, float]] = field(default_factory=dict)

    def is_better(self, rival: str, name: str) -> bool:
        """Whether the learned order is surely better than another."""
        own = next(iter(self.values))
        ahead = self.mean(own, name) > self.mean(rival, name)
        return ahead and self.chances[rival][name] < SURE

    def mean(self, order: str, name: str) -> float:
        """The mean of a measure over the queries."""
        return float(self.values[order][name].mean())


def part_queries(queries: Sequence[str], share: float = 0.5, seed: int = 0) -> Parting:
    """Part queries by chance: ``share`` of them teach, the others are held out."""
    if len(queries) < LEAST:
        raise Mistake(
            f"{len(queries)} judged queries: a ranker needs at least {LEAST}, some to "
            "learn from and some to be judged by"
        )
    ids = list(queries)
    if not 0 < share < 1 or round(share * len(ids)) < 2:
        raise Mistake(
            f"share is {share}: give one below 1 that leaves at least two of "
            f"{len(ids)} queries to learn from"
        )
    taught, held = train_test(len(ids), 1.0 - share, seed)
    return Parting(tuple(ids[at] for at in taught), tuple(ids[at] for at in held), seed)


def tune_models(
    asked: JudgedQueries, name: str = MEASURES[0], grids: Mapping[str, Grid] = GRIDS
) -> Tuned:
    """Choose every model's parameters on some queries, and the best model."""
    models: dict[str, Mapping[str, float]] = {}
    found: dict[str, float] = {}
    for model in track(list(MODELS), "tuning models", len(MODELS)):
        best = best_of(sweep(asked, model, settings_of(grids.get(model, {})), name))
        models[model], found[model] = best.parameters, best.value
    best_model = max(found, key=found.__getitem__)
    longer = tune_feedback(asked, models, name)
    return Tuned(models, best_model, found[best_model], longer)


def tune_feedback(
    asked: JudgedQueries, models: Mapping[str, Mapping[str, float]], name: str
) -> tuple[Longer, ...]:
    """Choose the feedback's parameters for each model that is tried with it."""
    chosen: list[tuple[float, Longer]] = []
    for model, kind in track(FEEDBACK, "tuning feedback", len(FEEDBACK)):
        tried = []
        for setting in settings_of(MANY):
            counts = {key: int(value) for key, value in setting.items()}
            feedback = feedback_from(kind, counts)
            settings = [dict(models[model])]
            (trial,) = sweep(asked, model, settings, name, feedback=feedback)
            tried.append((trial.value, (model, kind, counts)))
        chosen.append(max(tried, key=lambda entry: entry[0]))
    chosen.sort(key=lambda entry: -entry[0])
    return tuple(longer for _, longer in chosen)


def gather(
    asked: JudgedQueries,
    tuned: Tuned,
    *,
    pagerank: Floats | None = None,
    depth: int = CANDIDATES,
) -> Candidates:
    """Make the features of all queries' candidates, the models being tuned."""
    recipe = Recipe(tuned.models, tuned.feedback, pagerank is not None)
    features = PairFeatures(asked.searcher, recipe, pagerank=pagerank)
    return candidates_of(asked, features, tuned.choice, depth)


def choose_price(
    asked: JudgedQueries,
    found: Candidates,
    fit: Fit,
    prices: Sequence[float],
    name: str = MEASURES[0],
) -> tuple[float, dict[float, float]]:
    """Choose C by cross-validation: no query is both learned from and judged by.

    fit : learns from some queries at a price.  Returns the best, the smallest of
    equals, and the mean of the measure at each.
    """
    parse(name)
    ids = list(asked.queries)
    if len(prices) == 1:
        return prices[0], {}
    values = {price: np.zeros(len(ids)) for price in sorted(prices)}
    parts = list(folds(len(ids), min(5, len(ids)), random_state=0))
    for taught, held in track(parts, "choosing C", len(parts)):
        judged = [ids[at] for at in held]
        for price, row in values.items():
            ranker = fit([ids[at] for at in taught], price)
            part = asked.only(judged)
            row[held] = measure(part, found.run(judged, ranker), [name])[name]
    means = {price: float(row.mean()) for price, row in values.items()}
    return max(means, key=means.__getitem__), means


def fit_judged(found: Candidates, make: Make) -> Fit:
    """Return how to learn from the grades of some queries at a price."""

    def fit(queries: Sequence[str], price: float) -> Any:
        X, grades, qid = found.stacked(queries)
        return make(price).fit(X, grades, qid)

    return fit


def compare(
    held: JudgedQueries, runs: Mapping[str, Run], names: Sequence[str] = MEASURES
) -> Compared:
    """Measure orders on held-out queries; test the first against each other one."""
    values = {order: measure(held, run, names) for order, run in runs.items()}
    return Compared(tuple(held.queries), values, tested(values))


def tested(values: Mapping[str, Mapping[str, Floats]]) -> dict[str, dict[str, float]]:
    """Test the first order against each other one: rival → measure → chance."""
    (_, own), *rivals = values.items()
    return {
        rival: {name: _chance(own[name], each) for name, each in theirs.items()}
        for rival, theirs in rivals
    }


def _chance(own: Floats, other: Floats) -> float:
    if np.array_equal(own, other):
        return 1.0
    return float(randomisation_test(own, other, seed=0).p_value)
