"""The query nobody has to choose: the best by left-out examples, averaged.

One problem for every number l of examples,

    ½‖w‖² + C Σ_P max(0, 1 − w·x) + C γ (l + β q)/u Σ_U max(0, μ + w·x)
          + C β Σ_H max(0, 1 − w·x),

is Rocchio's query while l or C is small, all duals being at their bounds, and the
balanced support vector machine of [ZhangLee09] when they are large. What is best
differs from topic to topic, and the examples can tell:

* **Settings.** C, γ and whether there are hopeful documents are one of ``SETTINGS``;
  of cost 0 it is Rocchio's query; ``squared`` is

      ½‖w‖² + ½b² + C n/2l Σ_P max(0, 1 − w·x − b)² + C n/2u Σ_U max(0, 1 + w·x + b)²,

  n = l + u: an intercept, and the price of U that of P however few examples there are.
  With 20 examples or more a fifth of them is left out at a time, the query is learned
  from the others and a sample of U, and the left-out ones are ranked within another
  sample of U. Which setting ranks them highest depends on the examples that there
  happen to be: drawn again with replacement, they vote, ``votes``. With fewer
  examples it is ``OF_FEW``, from 10 on ``OF_TEN``, and Rocchio's query as much. Over
  20,000 documents only what is ``QUICK`` is learned.
* **Average.** The queries of the three settings with most votes, each of length 1 and
  weighted by its votes, are added: what one of them is wrong about the others mostly
  are not. The sum is one linear query; it has the length that the first would have.
* **Hidden.** Relevant documents of U score as the examples do when each is left out of
  the query, so half of them score above the examples' median: twice the number of
  documents there, ``h``, estimates how many are hidden in U.
* **Hopeful.** The q best documents by Rocchio's query, H, join as examples,
  q = (h/2) · l/(l + 10), at most 100 and one in 30, at a price β that together is at
  most that of P and each at most 1/(10 + l) of an example's, four times so in
  ``OF_FEW``: none for l over 100. With one example, which cannot be left out, q is 10.

Where l is large beside u, C is lowered until a document of U, which may be relevant
itself, costs no more than 0.075. The margin of U is μ = 0.25/√C, at most 0.25:
documents that share no words with the query score 0 and need not be pushed to −1.
Rocchio's query is the mean of P less that of U.

The constants of the choice are those of ``benchmarks/query_settings.py``.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from classmark.arrays import Floats, Ints, Rows, keep_columns, take
from classmark.corpus.documents import folds, train_test
from classmark.examples.problem import (
    NOBODY,
    Collection,
    Hopeful,
    Prices,
    TrainingSet,
    hinges_of,
    mean_of,
    products,
    some,
)
from classmark.problems import Mistake
from classmark.solvers.ascent import Solution
from classmark.solvers.hinge import ascend
from classmark.solvers.preference import squares
from classmark.solvers.smooth import squared_hinges
from classmark.validation import generator

MARGIN = 0.25  # μ where C is 1 or less
HALF = 10  # examples that make the number of hopeful documents half of its estimate
ENOUGH = 100  # examples; with more, hopeful documents would weigh less than one
HOPED, SHARE = 100, 30  # hopeful documents: so many, and one in so many of U, at most
ALONE = 10  # hopeful documents of a single example
NEARLY = 0.3  # full: all duals start at their bounds, where most of them stay
ROUGH = 0.02  # the gap at which a query is good enough to rank left-out examples
PRICE = 0.075  # of a document of U, at most
LARGE = 20_000  # documents of U; over them, for the sake of time, QUICK settings only
TEN = 10  # examples; with fewer, hopeful documents have to stand for more
LEAST = 20  # examples that can choose a setting
FOLDS = 5  # of the examples, each left out in turn; of more than ENOUGH the first only
SAMPLE = 2000  # documents of U that settings are compared on, half to learn from
OFFSET = 0.03  # of U: left-out examples ranked within this share are nearly alike
DRAWS = 200  # of the left-out examples, each a vote
AVERAGED = 3  # settings at most
GROWN = 1.5  # times as many examples choose again


class Setting(NamedTuple):
    """What the examples choose among.

    cost : C is multiplied by it, 0 for Rocchio's;  gamma : the weight of U where that
    of P is 1;  hopes : what the best documents of U cost that join as examples, in
    units of 1/(10 + l) of an example's; 0 if none join;  squared : hinges are squared,
    beside an intercept.
    """

    cost: float
    gamma: float = 1.0
    hopes: float = 0.0
    squared: bool = False


ROCCHIO = Setting(0.0)
QUICK = (Setting(0.3, 1.0, hopes=1.0), Setting(1.0, 2.0), ROCCHIO)
OF_TEN = Setting(4.0, 1.0, hopes=1.0)
SETTINGS = (*QUICK, OF_TEN, Setting(0.1, squared=True))


OF_FEW = Setting(1.0, 1.0, hopes=4.0)


class AutoChoice(NamedTuple):
    """What "auto" chooses by P and U.

    hidden : the estimated number of relevant documents in U, None for one example;
    settings : whose queries are averaged, the most voted first;  shares : of each,
    together 1;  examples : how many chose.
    """

    hidden: int | None
    settings: tuple[Setting, ...]
    shares: tuple[float, ...]
    examples: int


class QueryPart(NamedTuple):
    """One of the queries that are averaged.

    kind : "rocchio", "svm" or "squared", the form with squared hinges;  share : of the
    average;  C : what an error costs, None for Rocchio's;  hopeful : how many documents
    of U joined the examples;  gamma : the weight of U where that of P is 1.
    """

    kind: str
    share: float
    C: float | None = None
    hopeful: int = 0
    gamma: float = 1.0


class AutoNumbers(NamedTuple):
    """A setting's numbers for some P and U.

    hopeful : how many documents of U join as examples;  price : what each costs, where
    an example costs 1;  gamma : the weight of U where that of P is 1;  cost : C is
    multiplied by it.
    """

    hopeful: int
    price: float
    gamma: float
    cost: float

    @property
    def margin(self) -> float:
        """μ, of U."""
        return MARGIN / max(1.0, float(np.sqrt(self.cost)))


class AutoState(NamedTuple):
    """The duals of P, N and U as shares of their boxes, 0 to 1, and the sum over U.

    pull : Σ_U share · x, (features,), without the labelled documents;  labelled : the
    rows of those.
    """

    P: Floats
    N: Floats
    U: Floats
    pull: Floats
    labelled: Ints


class AutoQuery(NamedTuple):
    """The weights; the query of the first setting; the choice; where each goes on.

    choice : None without U;  states : of each setting the duals; of squared hinges the
    weights and the intercept; None of Rocchio's;  parts : what is averaged.
    """

    weights: Floats
    solution: Solution
    choice: AutoChoice | None
    states: tuple[AutoState | Floats | None, ...]
    parts: tuple[QueryPart, ...] = ()


class Rocchio(NamedTuple):
    """Rocchio's query, the scores of U, −∞ where labelled, and what they estimate."""

    weights: Floats
    scores: Floats
    hidden: int | None


def rocchio_of(training: TrainingSet) -> Rocchio:
    """Rocchio's query, and an estimate of the relevant documents of U by it."""
    weights = mean_of(training.P) - training.mean
    scores = _scores(training.U, weights)
    mean, size = training.mean @ weights, np.abs(scores).mean()
    if abs(scores.mean() - mean) > 1e-4 * size + 1e-9:
        raise Mistake(
            "mean is not the mean of U: leave it out, or give that of these U"
        )
    scores[training.labelled] = -np.inf  # never hopeful
    if len(training.P) == 1:
        return Rocchio(weights, scores, None)
    above = scores > np.median(left_out(training.P, training.mean))
    return Rocchio(weights, scores, 2 * int(above.sum()))


def numbers(
    training: TrainingSet, hidden: int | None, setting: Setting, cost: float
) -> AutoNumbers:
    """How many hopeful documents there are to be; cost : see ``lowered``."""
    examples, hoped = len(training.P), ALONE
    if hidden is not None:
        hoped = int(hidden / 2 * examples / (examples + HALF))
    most = min(HOPED, 1 + training.n_unlabelled // SHARE)
    hopeful = min(hoped, most) if setting.hopes and examples <= ENOUGH else 0
    price = min(examples / max(hopeful, 1), 1.0 / (HALF + examples)) * setting.hopes
    return AutoNumbers(hopeful, price, setting.gamma, cost)


def lowered(setting: Setting, training: TrainingSet) -> float:
    """The setting's cost, or that at which a document of U costs ``PRICE``."""
    mass = setting.gamma * len(training.P)
    return min(setting.cost, PRICE * training.n_unlabelled / mass)


def left_out(P: Rows, mean: Floats) -> Floats:
    """Score each example by Rocchio's query made of the others, shape (l,).

    (Σ_P x_j · x_i − ‖x_i‖²)/(l − 1) − mean · x_i, for at least two examples.
    """
    others = (_scores(P, mean_of(P) * len(P)) - squares(P)) / (len(P) - 1)
    return np.asarray(others - _scores(P, mean))


def learn(
    training: TrainingSet,
    C: float,
    tol: float,
    before: AutoQuery | None = None,
    setting: Setting | None = None,
) -> AutoQuery:
    """The query, over P, N and U; ``before`` is that of fewer examples.

    setting : to be used alone, without a choice.

    Without U, which then stands by its mean, the center is −C l · mean. While all duals
    of U are at their bounds this is the same query, and no row of U is read.
    """
    if not len(training.U):
        hinges = hinges_of(training, Prices(C, 0.0, (1.0, MARGIN)))
        center = -C * len(training.P) * training.mean
        parts, duals = [training.judged()], hinges.boxes
        solution = ascend(parts, hinges, center=center, duals=duals, tol=tol)
        return AutoQuery(solution.weights, solution, None, ())
    rocchio = rocchio_of(training)
    last = None if before is None else before.choice
    choice = _chosen(training, C, rocchio.hidden, last)
    if setting is not None:
        choice = choice._replace(settings=(setting,), shares=(1.0,))
    learned = [
        _learned(
            training, C, each, rocchio, lowered(each, training), tol, before=before
        )
        for each in choice.settings
    ]
    solutions, states = zip(*learned, strict=True)
    weights = _average([s.weights for s in solutions], choice.shares)
    averaged = tuple(
        _part(training, C, each, share, rocchio.hidden)
        for each, share in zip(choice.settings, choice.shares, strict=True)
    )
    return AutoQuery(weights, solutions[0], choice, states, averaged)


def _part(
    training: TrainingSet, C: float, setting: Setting, share: float, hidden: int | None
) -> QueryPart:
    """What is said of a setting's query: the numbers that it was learned with."""
    if setting == ROCCHIO:
        return QueryPart("rocchio", share)
    if setting.squared:
        return QueryPart("squared", share, C * setting.cost)
    used = numbers(training, hidden, setting, lowered(setting, training))
    return QueryPart("svm", share, C * used.cost, used.hopeful, used.gamma)


def _learned(
    training: TrainingSet,
    C: float,
    setting: Setting,
    rocchio: Rocchio,
    cost: float,
    tol: float,
    *,
    before: AutoQuery | None = None,
) -> tuple[Solution, AutoState | Floats | None]:
    """The query of one setting, and where it goes on from with more examples."""
    old = _state_of(setting, before)
    if setting == ROCCHIO:
        weights = rocchio.weights
        return Solution(weights, -0.5 * float(weights @ weights), 0.0, 0), None
    if setting.squared:
        return _squared(training, C * setting.cost, tol, old)
    chosen = numbers(training, rocchio.hidden, setting, cost)
    state = _begun(training, C * chosen.cost, old)
    return _fit(training, C, chosen, rocchio.scores, state, tol)


def _squared(
    training: TrainingSet, C: float, tol: float, start: Floats | None
) -> tuple[Solution, Floats]:
    """Squared hinges and an intercept; rejected documents cost what examples do."""
    examples, others = len(training.P), training.n_unlabelled
    rejected, half = len(training.N), 0.5 * C * (examples + others)
    prices = np.repeat(
        [half / examples, half / max(examples, rejected), half / others],
        [examples, rejected, len(training.U)],
    )
    prices[examples + rejected + training.labelled] = 0.0
    signs = np.where(np.arange(len(prices)) < examples, 1.0, -1.0)
    X = products([training.judged(), training.U])
    found = squared_hinges(X, signs, prices, start=start, tol=tol)
    return replace(found, weights=found.weights[:-1]), found.weights


def _average(queries: Sequence[Floats], shares: Sequence[float]) -> Floats:
    """The queries by their shares, each of length 1, then as long as the first.

    >>> _average([np.array([2.0, 0.0]), np.array([0.0, 0.5])], (0.5, 0.5)).tolist()
    [1.0, 1.0]
    """
    total = np.zeros(len(queries[0]))
    for share, weights in zip(shares, queries, strict=True):
        total += share / _length(weights) * weights
    return np.asarray(_length(queries[0]) * total)


def _length(weights: Floats) -> float:
    return float(np.linalg.norm(weights)) or 1.0


def _chosen(
    training: TrainingSet, C: float, hidden: int | None, last: AutoChoice | None
) -> AutoChoice:
    """The settings with most votes, or the last ones while P has grown little."""
    examples = len(training.P)
    is_large = training.n_unlabelled > LARGE
    if examples < LEAST:
        fixed = OF_FEW if examples < TEN or is_large else OF_TEN
        return AutoChoice(hidden, (fixed, ROCCHIO), (0.5, 0.5), examples)
    if last and last.examples >= LEAST and examples < GROWN * last.examples:
        return last._replace(hidden=hidden)
    settings = QUICK if is_large else SETTINGS
    shares = votes(left_out_shares(training, C, settings))
    best = np.argsort(-shares, kind="stable")[:AVERAGED]
    best = best[shares[best] > 0.0]
    chosen = tuple(settings[i] for i in best)
    return AutoChoice(
        hidden, chosen, tuple((shares[best] / shares[best].sum()).tolist()), examples
    )


def left_out_shares(
    training: TrainingSet, C: float, settings: Sequence[Setting] = SETTINGS
) -> Floats:
    """The share of other documents that rank above each left-out example.

    Shape (settings, examples left out). Learned from one half of a sample of U, ranked
    within the other half. A setting costs what it does with all of P and U.
    """
    rest = np.delete(np.arange(len(training.U)), training.labelled)
    sample = generator(0).choice(rest, min(SAMPLE, len(rest)), replace=False)
    sample.sort()
    known, others = some(training.U, sample[::2]), some(training.U, sample[1::2])
    used = np.zeros(known.width, np.bool_)  # the rest have no weight
    for rows in (training.judged(), known):
        used[rows.columns] = True
    P, N, known, others = (
        keep_columns(rows, np.flatnonzero(used))
        for rows in (training.P, training.N, known, others)
    )
    part = TrainingSet(P, N, known, mean_of(known), sample[:0])
    ranks = products([others])
    costs = [lowered(setting, training) for setting in settings]
    shares = []
    parts = list(folds(len(P), FOLDS, random_state=0))
    for learned, out in parts if len(P) <= ENOUGH else parts[:1]:
        held, part = take(P, out), replace(part, P=take(P, learned))
        ranked = [
            _share_above(ranks.product(weights), _scores(held, weights))
            for weights in _queries(part, C, settings, costs)
        ]
        shares.append(np.array(ranked))
    return np.concatenate(shares, axis=1)


def _queries(
    training: TrainingSet, C: float, settings: Sequence[Setting], costs: Sequence[float]
) -> Iterator[Floats]:
    """The weights by each setting."""
    rocchio = rocchio_of(training)
    for setting, cost in zip(settings, costs, strict=True):
        yield _learned(training, C, setting, rocchio, cost, ROUGH)[0].weights


def _share_above(others: Floats, scores: Floats) -> Floats:
    """The share of others that score at least as high, for each score.

    >>> _share_above(np.array([0.0, 1.0, 2.0, 3.0]), np.array([2.0, 9.0])).tolist()
    [0.5, 0.0]
    """
    below = np.searchsorted(np.sort(others), scores, side="left")
    return np.asarray(1.0 - below / max(len(others), 1))


def votes(shares: Floats, offset: float = OFFSET, draws: int = DRAWS) -> Floats:
    """How often a setting ranks examples highest that are drawn from those left out.

    By the mean of log(share + offset); of equal ones the first counts.
    shares : (settings, examples). Shape (settings,), the sum is 1.
    """
    n_settings, n_examples = shares.shape
    chances = np.full(n_examples, 1.0 / n_examples)
    drawn = generator(0).multinomial(n_examples, chances, draws)
    best = np.argmin(drawn @ np.log(shares + offset).T, axis=1)
    return np.asarray(np.bincount(best, minlength=n_settings) / draws)


def _fit(
    training: TrainingSet,
    C: float,
    choice: AutoNumbers,
    scores: Floats,
    state: AutoState,
    tol: float,
) -> tuple[Solution, AutoState]:
    """The query of one setting, from a state of its duals; scores : Rocchio's."""
    C = C * choice.cost
    hopeful = _best(scores, choice, C)
    mass = len(training.P) + len(hopeful.rows) * hopeful.box / C
    others_price = choice.gamma * C * mass / training.n_unlabelled
    prices = Prices(C, others_price, (1.0, choice.margin))
    hinges = hinges_of(training, prices, hopeful)
    hoping = np.full(len(hopeful.rows), state.P.mean())
    start = np.concatenate([state.P, state.N, state.U, hoping]) * hinges.boxes
    judged = training.judged()
    others = slice(len(judged), len(judged) + len(training.U))  # the hinges of U
    few = products([judged, some(training.U, hopeful.rows)])

    def sum_of_few(duals: Floats) -> Floats:
        """Σ sign · dual · x over all hinges but those of U."""
        return few.back(np.delete(hinges.signs * duals, others))

    weights = sum_of_few(start) - prices.others * state.pull
    solution = training.ascend(hinges, tol, start, weights)
    full = np.ones_like(start)
    np.divide(solution.duals, hinges.boxes, out=full, where=hinges.boxes > 0.0)
    pull = (sum_of_few(solution.duals) - solution.weights) / prices.others
    P, N = np.split(full[: len(judged)], [len(training.P)])
    return solution, AutoState(P, N, full[others], pull, training.labelled)


def _state_of(setting: Setting, before: AutoQuery | None) -> Any:
    """Where a setting goes on from; duals, where it is new, from those of another."""
    if before is None or before.choice is None:
        return None
    states = dict(zip(before.choice.settings, before.states, strict=True))
    if setting in states or setting.squared:
        return states.get(setting)
    return next((s for s in before.states if isinstance(s, AutoState)), None)


def _begun(training: TrainingSet, C: float, before: AutoState | None) -> AutoState:
    """The initial duals: those before; else full, or such that examples score 1."""
    kinds = (training.P, training.N, training.U)
    if before is None:
        mean = mean_of(training.P)
        likeness = float((mean - training.mean) @ mean)
        level = 1.0 / max(C * len(training.P) * likeness, 1e-12)
        level = 1.0 if level > NEARLY else level
        P, N, U = (np.full(len(rows), level) for rows in kinds)
        left, pull = training.labelled, level * len(training.U) * training.mean
    else:
        old = before.P, before.N, before.U
        P, N, U = (np.ones(len(rows)) for rows in kinds)
        for new, previous in zip((P, N, U), old, strict=True):
            new[: len(previous)] = previous
        left, pull = np.setdiff1d(training.labelled, before.labelled), before.pull
    pull = pull - products([some(training.U, left)]).back(U[left])
    return AutoState(P, N, U, pull, training.labelled)


def _best(scores: Floats, choice: AutoNumbers, C: float) -> Hopeful:
    """The best documents of U, and the price of each."""
    if not choice.hopeful:
        return NOBODY
    best = np.argpartition(-scores, choice.hopeful - 1)[: choice.hopeful]
    return Hopeful(np.sort(best), C * choice.price)


def _scores(rows: Rows | Collection, weights: Floats) -> Floats:
    return products([rows]).product(weights)


OTHERS = (0.01, 0.03, 0.1, 0.3)  # costs of an unlabelled document
TIMES = (10.0, 30.0, 100.0, 200.0)  # an example costs so many times more
HELD = 0.3  # of the examples are kept back to judge
FEWEST = 4


def biased(
    training: TrainingSet, C: float | None, tol: float, random_state: int
) -> tuple[Solution, float]:
    """½‖w‖² + C₊ Σ_P max(0, 1 − w·x) + C₋ Σ_U max(0, 1 + w·x) [LiuEtAl03].

    The costs are those with the largest r²/Pr(w·x > 0), r being the recall of examples
    that were kept back: it grows with the product of precision and recall [LeeLiu03].
    C : of an example, where it is not to be searched. Return the query and C₊.
    """
    if len(training.P) < FEWEST:
        raise Mistake(
            f"biased keeps back examples to choose its costs: give at least {FEWEST}"
        )
    train, test = train_test(len(training.P), HELD, random_state)
    learn = replace(training, P=take(training.P, train))
    judge = products([take(training.P, test), training.U])
    grid = [(other * times, other) for other in OTHERS for times in TIMES]
    if C is not None:
        grid = [(C, C / times) for times in TIMES]
    best, costs = -1.0, (1.0, 1.0)
    for example, other in grid:
        hinges = hinges_of(learn, Prices(example, other))
        scores = judge.product(learn.ascend(hinges, tol).weights)
        recall = float((scores[: len(test)] > 0).mean())
        criterion = recall**2 / max(float((scores > 0).mean()), 1e-12)
        if criterion > best:
            best, costs = criterion, (example, other)
    return training.ascend(hinges_of(training, Prices(*costs)), tol), costs[0]
