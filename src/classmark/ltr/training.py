"""From judged queries or clicks to a ranker, and how it compares with single models.

A first stage answers each query; its first ``depth`` documents are the candidates that
a ranker puts in a new order, the rest follow as they were.

Queries are parted once, by chance. On the training part the parameters of every
retrieval model are tuned, C is chosen by cross-validation over queries, and the ranker
learns; the held-out part compares it with the best single model and with what is in
service.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from classmark.arrays import Floats, rows_from
from classmark.corpus.documents import folds, train_test
from classmark.evaluation.retrieval import (
    DEPTH,
    Grid,
    JudgedQueries,
    Run,
    best_of,
    measure,
    run_queries,
    settings_of,
    sweep,
    tally,
)
from classmark.formats.svmlight import JudgedRows
from classmark.index.dense import DenseIndex
from classmark.index.feedback import feedback_from
from classmark.index.models import MODELS, Choice
from classmark.language import several
from classmark.ltr.features import FEEDBACK, Longer, PairFeatures, Recipe, minmax
from classmark.ltr.learners import (
    SVMMAP,
    LambdaMART,
    ListNet,
    PairwiseLogistic,
    PointwiseSVM,
    RankingSVM,
)
from classmark.ltr.nonlinear import RankBoost, RankNet
from classmark.measures import parse, randomisation_test
from classmark.problems import Mistake, worded
from classmark.progress import track

CANDIDATES = 100
Scorer = Callable[[Floats], Floats]


@dataclass(frozen=True, slots=True, eq=False)
class QueryCandidates:
    """The answers to one query: ids, best first, and of the candidates the features.

    raw : shape (candidates, features);  rows : the same, scaled to 0 … 1 within the
    query;  grades : shape (candidates,), 0 where nobody judged.
    """

    ids: tuple[str, ...]
    raw: Floats
    rows: Floats
    grades: Floats

    @property
    def teaches(self) -> bool:
        """Whether any candidate is to stand above another."""
        return len(self.grades) > 0 and bool(np.ptp(self.grades) > 0)

    def ordered(self, scores: Floats) -> dict[str, float]:
        """Return the answers by these scores of the candidates, as a run has them."""
        order = np.argsort(-scores, kind="stable")
        ids = [self.ids[at] for at in order.tolist()] + list(self.ids[len(scores) :])
        return {id_: -float(rank) for rank, id_ in enumerate(ids, 1)}


@dataclass(frozen=True, slots=True, eq=False)
class Candidates:
    """The candidates of each query, which a ranker learns from and is judged by.

    names : of the features, which ``recipe`` made.
    """

    names: tuple[str, ...]
    recipe: Recipe
    blocks: Mapping[str, QueryCandidates]

    def stacked(self, queries: Sequence[str]) -> tuple[Floats, Floats, list[str]]:
        """Return X, grades and query ids of the queries that teach something."""
        teaching = [query for query in queries if self.blocks[query].teaches]
        if not teaching:
            raise Mistake(
                "no query has candidates of two grades: judge documents among its "
                f"first {CANDIDATES} answers, some relevant and some not"
            )
        blocks = [self.blocks[query] for query in teaching]
        sizes = [len(block.grades) for block in blocks]
        return (
            np.vstack([block.rows for block in blocks]),
            np.concatenate([block.grades for block in blocks]),
            [query for query, n in zip(teaching, sizes, strict=True) for _ in range(n)],
        )

    def run(self, queries: Sequence[str], scorer: Scorer | Any) -> Run:
        """Order the candidates of each query by a scorer, or a fitted ranker."""
        score = getattr(scorer, "decision_function", scorer)
        blocks = {query: self.blocks[query] for query in queries}
        return {
            query: block.ordered(score(block.rows) if len(block.rows) else np.empty(0))
            for query, block in blocks.items()
        }

    def judged_rows(self) -> JudgedRows:
        """Return all candidates, as a LETOR file has them; features are not scaled."""
        pairs = [
            (query, id_)
            for query, block in self.blocks.items()
            for id_ in block.ids[: len(block.grades)]
        ]
        if not pairs:
            raise Mistake("no query has an answer: nothing to write")
        return JudgedRows(
            rows_from(np.vstack([block.raw for block in self.blocks.values()])),
            np.concatenate([block.grades for block in self.blocks.values()]),
            tuple(query for query, _ in pairs),
            tuple(id_ for _, id_ in pairs),
        )


def candidates_of(
    judged: JudgedQueries,
    features: PairFeatures,
    first: Choice,
    depth: int = CANDIDATES,
) -> Candidates:
    """Answer the queries by the first stage, and make the candidates' features."""
    model, parameters = first
    blocks = {}
    for query, terms in track(judged.queries.items(), "features", len(judged.queries)):
        hits = judged.searcher.search(
            terms, max(DEPTH, depth), model, fields=None, prior=None, **parameters
        )
        ids = tuple(hit.id for hit in hits)
        items = np.array([hit.number for hit in hits[:depth]], np.int64)
        raw = features.of(tally(terms), items, judged.texts[query])
        judgments = judged.qrels.get(query, {})
        grades = np.array([judgments.get(id_, 0.0) for id_ in ids[:depth]], np.float64)
        blocks[query] = QueryCandidates(ids, raw, minmax(raw), grades)
    return Candidates(features.names, features.recipe, blocks)


PRICES = (1e-4, 1e-3, 1e-2, 1e-1, 1.0)
LARGER = (1e-2, 1e-1, 1.0, 10.0, 100.0)


class RankerRecipe(NamedTuple):
    """How to make a learner at a price C, and which prices to try."""

    name: str
    make: Callable[[float], Any]
    prices: tuple[float, ...] = PRICES

    @property
    def has_price(self) -> bool:
        """Whether it learns at a price; trees and thresholds have none."""
        return self.name not in WITHOUT_PRICE


WITHOUT_PRICE = ("rankboost", "lambdamart")

#: Prices are small where a query costs the sum over its pairs, of which there are
#: hundreds.
LEARNERS = (
    RankerRecipe("ranking-svm", RankingSVM),
    RankerRecipe("rsvm-ir", partial(RankingSVM, weighting="ir"), LARGER),
    RankerRecipe("pointwise", PointwiseSVM),
    RankerRecipe("listnet", ListNet, LARGER),
    RankerRecipe("logistic", PairwiseLogistic),
    RankerRecipe("svm-map", SVMMAP, LARGER),
    RankerRecipe("ranknet", lambda C: RankNet(C=C)),
    RankerRecipe("rankboost", lambda _: RankBoost(), (1.0,)),
    RankerRecipe("lambdamart", lambda _: LambdaMART(), (1.0,)),
)
NAMES = tuple(recipe.name for recipe in LEARNERS)


def learner_of(name: str) -> RankerRecipe:
    """Return the learner of a name."""
    for recipe in LEARNERS:
        if recipe.name == name:
            return recipe
    raise Mistake(f"learner {name!r} is not known: use {', '.join(NAMES)}")


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

Fit = Callable[[Sequence[str], float], Any]


@dataclass(frozen=True, slots=True)
class Parting:
    """The queries to train on and those held out, and the seed of the split."""

    taught: tuple[str, ...]
    held_out: tuple[str, ...]
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
class RankerComparison:
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
        learned = next(iter(self.values))
        ahead = self.mean(learned, name) > self.mean(rival, name)
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
            f"{several(len(ids), 'query')} to learn from"
        )
    taught, held_out = train_test(len(ids), 1.0 - share, seed)
    return Parting(
        tuple(ids[at] for at in taught), tuple(ids[at] for at in held_out), seed
    )


def tune_models(
    judged: JudgedQueries, name: str = MEASURES[0], grids: Mapping[str, Grid] = GRIDS
) -> Tuned:
    """Choose the parameters of models and feedback on some queries, and the best."""
    models: dict[str, Mapping[str, float]] = {}
    values: dict[str, float] = {}
    for model in track(list(MODELS), "tuning models", len(MODELS)):
        best = best_of(sweep(judged, model, settings_of(grids.get(model, {})), name))
        models[model], values[model] = best.parameters, best.value
    best_model = max(values, key=values.__getitem__)
    chosen: list[tuple[float, Longer]] = []
    for model, kind in track(FEEDBACK, "tuning feedback", len(FEEDBACK)):
        tried = []
        for counts in settings_of(MANY):
            feedback = feedback_from(kind, counts)
            settings = [dict(models[model])]
            (trial,) = sweep(judged, model, settings, name, feedback=feedback)
            tried.append((trial.value, (model, kind, counts)))
        chosen.append(max(tried, key=lambda entry: entry[0]))
    chosen.sort(key=lambda entry: -entry[0])
    longer = tuple(each for _, each in chosen)
    return Tuned(models, best_model, values[best_model], longer)


def gather(
    judged: JudgedQueries,
    tuned: Tuned,
    *,
    pagerank: Floats | None = None,
    dense: DenseIndex | None = None,
) -> Candidates:
    """Make the features of all queries' candidates, the models being tuned."""
    meaning = None if dense is None else dense.facts
    if dense is not None and meaning is None:
        raise Mistake("vectors without their source cannot be a feature: give source=…")
    recipe = Recipe(tuned.models, tuned.feedback, pagerank is not None, meaning)
    features = PairFeatures(judged.searcher, recipe, pagerank=pagerank, dense=dense)
    return candidates_of(judged, features, tuned.choice)


def choose_price(
    judged: JudgedQueries,
    candidates: Candidates,
    fit: Fit,
    prices: Sequence[float],
    name: str = MEASURES[0],
) -> tuple[float, dict[float, float]]:
    """Choose C by cross-validation: no query is both learned from and judged by.

    fit : learns from some queries at a price.  Returns the best, the smallest of
    equals, and the mean of the measure at each.
    """
    parse(name)
    ids = list(judged.queries)
    if len(prices) == 1:
        return prices[0], {}
    values = {price: np.zeros(len(ids)) for price in sorted(prices)}
    parts = list(folds(len(ids), min(5, len(ids)), random_state=0))
    for taught, test in track(parts, "choosing C", len(parts)):
        test_ids = [ids[at] for at in test]
        for price, row in values.items():
            ranker = fit([ids[at] for at in taught], price)
            part = judged.only(test_ids)
            row[test] = measure(part, candidates.run(test_ids, ranker), [name])[name]
    means = {price: float(row.mean()) for price, row in values.items()}
    return max(means, key=means.__getitem__), means


def compare(
    judged: JudgedQueries, runs: Mapping[str, Run], names: Sequence[str] = MEASURES
) -> RankerComparison:
    """Measure orders on held-out queries; test the first against each other one."""
    values = {order: measure(judged, run, names) for order, run in runs.items()}
    return RankerComparison(tuple(judged.queries), values, tested(values))


def tested(values: Mapping[str, Mapping[str, Floats]]) -> dict[str, dict[str, float]]:
    """Test the first order against each other one: rival → measure → chance."""
    (_, learned), *rivals = values.items()
    return {
        rival: {
            name: 1.0
            if np.array_equal(learned[name], each)
            else float(randomisation_test(learned[name], each, seed=0).p_value)
            for name, each in theirs.items()
        }
        for rival, theirs in rivals
    }


LEARNED, BEST = "learned", "best single model"
Rivals = Callable[[JudgedQueries], Mapping[str, Run]]


class DocumentPreference(NamedTuple):
    """One document over another, by their ids, and how much that counts."""

    winner: str
    loser: str
    weight: float = 1.0


@dataclass(frozen=True, slots=True)
class LearnedRanker:
    """A fitted ranker, its training data, and how it did on the held-out queries.

    means : the measure at each price tried, by cross-validation over queries.
    """

    ranker: Any
    candidates: Candidates
    tuned: Tuned
    price: float
    means: Mapping[float, float]
    compared: RankerComparison

    def importance(self, queries: Sequence[str]) -> dict[str, float]:
        """|weight| times the spread of each feature within queries, largest first.

        Of trees, the gain of the splits at each feature; of other scores that are not
        linear, the spread of what it takes to have the feature's mean in its place,
        which is the same where they are. Shares of the sum.
        """
        rows = [self.candidates.blocks[query].rows for query in queries]
        spread = np.vstack([each - each.mean(axis=0) for each in rows if len(each)])
        if is_linear(self):
            weights = np.asarray(self.ranker.coef_, np.float64).ravel()
            sizes = np.abs(weights) * spread.std(axis=0)
        elif hasattr(self.ranker, "booster_"):
            gains = self.ranker.booster_.feature_importance("gain")
            sizes = np.asarray(gains, np.float64)
        else:
            whole = np.vstack([each for each in rows if len(each)])
            score, sizes = self.ranker.decision_function, np.empty(whole.shape[1])
            for at in range(len(sizes)):
                level = whole.copy()
                level[:, at] -= spread[:, at]
                sizes[at] = (score(whole) - score(level)).std()
        shares = sizes / max(float(sizes.sum()), 1e-300)
        order = np.argsort(-shares, kind="stable").tolist()
        return {self.candidates.names[at]: float(shares[at]) for at in order}


def is_linear(learned: LearnedRanker) -> bool:
    """Whether the ranker is a weighted sum of features."""
    return hasattr(learned.ranker, "coef_")


def prepare(
    judged: JudgedQueries,
    parting: Parting,
    name: str = MEASURES[0],
    pagerank: Floats | None = None,
    dense: DenseIndex | None = None,
) -> tuple[Tuned, Candidates]:
    """Tune the models on the taught queries, and make the features of all queries."""
    tuned = tune_models(judged.only(parting.taught), name)
    return tuned, gather(judged, tuned, pagerank=pagerank, dense=dense)


def learn(
    judged: JudgedQueries,
    parting: Parting,
    prepared: tuple[Tuned, Candidates],
    learner: RankerRecipe,
    rivals: Rivals,
    *,
    name: str = MEASURES[0],
    preferences: Mapping[str, Sequence[DocumentPreference]] | None = None,
) -> LearnedRanker:
    """Choose C and learn on the taught queries; compare on the held-out ones.

    prepared : what ``prepare`` returns;  rivals : other orders of the held-out queries,
    by name;  name : the measure that chooses C;  preferences : query → preferences
    between its documents by clicks, to learn from in place of grades, or None.
    """
    tuned, candidates = prepared
    taught, held_out = judged.only(parting.taught), judged.only(parting.held_out)

    def fit(queries: Sequence[str], price: float) -> Any:
        if preferences is None:
            return learner.make(price).fit(*candidates.stacked(queries))
        return fit_preferred(candidates, learner, preferences, queries, price)

    price, means = choose_price(taught, candidates, fit, learner.prices, name)
    ranker = fit(parting.taught, price)
    runs = {
        LEARNED: candidates.run(parting.held_out, ranker),
        BEST: run_queries(held_out, tuned.choice),
        **rivals(held_out),
    }
    names = tuple(dict.fromkeys((*MEASURES, name)))
    return LearnedRanker(
        ranker, candidates, tuned, price, means, compare(held_out, runs, names)
    )


def fit_preferred(
    candidates: Candidates,
    learner: RankerRecipe,
    preferences: Mapping[str, Sequence[DocumentPreference]],
    queries: Sequence[str],
    price: float,
) -> Any:
    """Learn from the preferences of some queries at a price.

    Documents that the first stage does not find among its candidates say nothing.
    """
    rows, pairs, weights, base = [], [], list[float](), 0
    for query in queries:
        block = candidates.blocks[query]
        place = {id_: at for at, id_ in enumerate(block.ids[: len(block.grades)])}
        for winner, loser, weight in preferences.get(query, ()):
            if winner in place and loser in place:
                pairs.append((base + place[winner], base + place[loser]))
                weights.append(weight)
        rows.append(block.rows)
        base += len(block.rows)
    if not pairs:
        remedy = worded(
            "log more searches (classmark search --log) and what is opened "
            "(classmark click)"
        )
        raise Mistake(f"no click prefers one candidate to another: {remedy}")
    winners, losers = np.array(pairs, np.int64).T
    ranker = learner.make(price)
    if not hasattr(ranker, "fit_preferences"):
        raise Mistake(f"{learner.name} learns from grades only: use ranking-svm")
    return ranker.fit_preferences(
        np.vstack(rows), winners, losers, sample_weight=np.array(weights)
    )
