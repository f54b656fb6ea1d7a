"""The query nobody has to choose: from Rocchio to the balanced margin as P grows.

One problem for every number l of examples,

    ½‖w‖² + C Σ_P max(0, 1 − w·x) + C γ (l + β q)/u Σ_U max(0, μ + w·x)
          + C β Σ_H max(0, 1 − w·x),

is Rocchio's query while l or C is small, all duals being at their bounds, and the
balanced support vector machine of [ZhangLee09] when they are large. What is best
differs from topic to topic, and the examples can tell:

* **Settings.** C, γ and whether there are hopeful documents are one of ``SETTINGS``.
  With 20 examples or more a fifth of them is left out at a time, the query is learned
  from the others and a sample of U, and the left-out ones are ranked within another
  sample of U. The first setting, nearly Rocchio's, stands unless another ranks them
  higher by more than chance would, ``preferred``.
* **γ.** With fewer, C is 1 and there are hopeful documents. Few hidden documents make U
  a cleaner set of negatives, which may count more: γ = (0.02 u/h within 1 and 4) to the
  power l/(l + 5).
* **Hidden.** Relevant documents of U score as the examples do when each is left out of
  the query, so half of them score above the examples' median: twice the number of
  documents there, ``h``, estimates how many are hidden in U.
* **Hopeful.** The q best documents, H, join as examples, q = (h/2) · l/(l + 10), at
  most 100 and one in 30, at a price β that together is at most that of P and each at
  most 1/(10 + l) of an example's: none for l over 100. With one example, which cannot
  be left out, q is 10.

Where l is large beside u, C is lowered until a document of U, which may be relevant
itself, costs no more than 0.075. The margin of U is μ = 0.25/√C, at most 0.25:
documents that share no words with the query score 0 and need not be pushed to −1.

The constants of the choice are those of ``benchmarks/query_settings.py``.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

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
from classmark.validation import generator

MARGIN = 0.25  # μ where C is 1 or less
HALF = 10  # examples that make the number of hopeful documents half of its estimate
ENOUGH = 100  # examples; with more, hopeful documents would weigh less than one
FEW = 5  # examples whose hopeful documents are the best by Rocchio's query
HOPED, SHARE = 100, 30  # hopeful documents: so many, and one in so many of U, at most
ALONE = 10  # hopeful documents of a single example
NEARLY = 0.3  # full: all duals start at their bounds, where most of them stay
ROUGH = 0.02  # the gap at which a query is good enough to choose hopeful documents
PRICE = 0.075  # of a document of U, at most
CLEAN = 0.02  # the share of hidden documents at which U counts as much as P
MOST = 4.0  # times P that U may count
SURE = 5  # examples that make γ half sure
LEAST = 20  # examples that can choose a setting
FOLDS = 5  # of the examples, each left out in turn; of more than ENOUGH the first only
SAMPLE = 2000  # documents of U that settings are compared on, half to learn from
OFFSET = 0.01  # of U: left-out examples ranked within this share are nearly alike
DOUBT = 0.6  # standard errors that another setting must be ahead of the first
GROWN = 1.5  # times as many examples choose again


class Setting(NamedTuple):
    """What the examples choose among.

    cost : C is multiplied by it;  gamma : the weight of U where that of P is 1;
    hopes : whether the best documents of U join as examples.
    """

    cost: float
    gamma: float
    hopes: bool


SETTINGS = (
    Setting(0.3, 1.0, hopes=False),
    Setting(0.3, 1.0, hopes=True),
    Setting(1.0, 1.0, hopes=False),
    Setting(1.0, 2.0, hopes=False),
    Setting(4.0, 1.0, hopes=False),
    Setting(4.0, 1.0, hopes=True),
)


@dataclass(frozen=True, slots=True)
class AutoNumbers:
    """The numbers that "auto" chooses by P and U.

    hidden : the estimated number of relevant documents in U, None for one example;
    hopeful : how many documents of U join as examples;  gamma : the weight of U where
    that of P is 1;  cost : C is multiplied by it;  setting : the one chosen;
    examples : how many chose it.
    """

    hidden: int | None
    hopeful: int
    gamma: float
    cost: float
    setting: Setting
    examples: int

    @property
    def margin(self) -> float:
        """μ, of U."""
        return MARGIN / max(1.0, float(np.sqrt(self.cost)))


class AutoState(NamedTuple):
    """The duals of P, N and U as shares of their boxes, 0 to 1, and the sum over U.

    pull : Σ_U share · x, (features,), without the labelled documents;  labelled : the
    rows of those;  scores : of U, by the query of these duals; empty at first.
    """

    P: Floats
    N: Floats
    U: Floats
    pull: Floats
    labelled: Ints
    scores: Floats


class AutoQuery(NamedTuple):
    """The query, the numbers chosen for it, and the final state of its duals."""

    solution: Solution
    choice: AutoNumbers | None
    state: AutoState | None


def count_hidden(training: TrainingSet, scores: Floats) -> int | None:
    """Estimate the relevant documents of U; None of one example.

    scores : of U under Rocchio's query, −∞ where labelled.
    """
    if len(training.P) == 1:
        return None
    return 2 * int((scores > np.median(left_out(training.P, training.mean))).sum())


def numbers(
    training: TrainingSet, hidden: int | None, setting: Setting, cost: float
) -> AutoNumbers:
    """How many hopeful documents there are to be; cost : see ``lowered``."""
    examples, hoped = len(training.P), ALONE
    if hidden is not None:
        hoped = int(hidden / 2 * examples / (examples + HALF))
    most = min(HOPED, 1 + training.n_unlabelled // SHARE)
    hopeful = min(hoped, most) if setting.hopes and examples <= ENOUGH else 0
    return AutoNumbers(hidden, hopeful, setting.gamma, cost, setting, examples)


def setting_of_few(training: TrainingSet, hidden: int | None) -> Setting:
    """C 1, hopeful documents, and γ by how many relevant ones are hidden in U."""
    if hidden is None:
        return Setting(1.0, 1.0, hopes=True)
    examples = len(training.P)
    clean = np.clip(CLEAN * training.n_unlabelled / max(hidden, 1), 1.0, MOST)
    return Setting(1.0, float(clean ** (examples / (examples + SURE))), hopes=True)


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

    setting : to be used without a choice.

    Without U, which then stands by its mean, the center is −C l · mean. While all duals
    of U are at their bounds this is the same query, and no row of U is read.
    """
    if not len(training.U):
        hinges = hinges_of(training, Prices(C, 0.0, (1.0, MARGIN)))
        center = -C * len(training.P) * training.mean
        parts, duals = [training.judged()], hinges.boxes
        solution = ascend(parts, hinges, center=center, duals=duals, tol=tol)
        return AutoQuery(solution, None, None)
    query = mean_of(training.P) - training.mean  # Rocchio's
    scores = _scores(training.U, query)
    if abs(scores.mean() - training.mean @ query) > 1e-4 * np.abs(scores).mean() + 1e-9:
        raise Mistake(
            "mean is not the mean of U: leave it out, or give that of these U"
        )
    scores, last = _open(training, scores), None if before is None else before.choice
    choice = _chosen(training, C, scores, last, setting)
    C = C * choice.cost
    state = _begun(training, C, None if before is None else before.state)
    if before is not None:
        scores = _open(training, state.scores)
    elif choice.hopeful and (len(training.P) > FEW or len(training.N)):
        solution, state = _fit(training, C, choice, NOBODY, state, max(tol, ROUGH))
        scores = _open(training, state.scores)
    solution, state = _fit(
        training, C, choice, _best(training, scores, choice, C), state, tol
    )
    return AutoQuery(solution, choice, state)


def _chosen(
    training: TrainingSet,
    C: float,
    scores: Floats,
    last: AutoNumbers | None,
    setting: Setting | None,
) -> AutoNumbers:
    """Numbers for the best setting, or for the last one while P has grown little."""
    examples, hidden = len(training.P), count_hidden(training, scores)
    if setting is None:
        if examples < LEAST:
            setting = setting_of_few(training, hidden)
        elif last and last.examples >= LEAST and examples < GROWN * last.examples:
            setting, examples = last.setting, last.examples
        else:
            setting = SETTINGS[preferred(left_out_shares(training, C))]
    chosen = numbers(training, hidden, setting, lowered(setting, training))
    return replace(chosen, examples=examples)


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
    """The weights by each setting, those with hope going on from the same without."""
    rocchio = _scores(training.U, mean_of(training.P) - training.mean)
    hidden = count_hidden(training, rocchio)
    plain: dict[tuple[float, float], tuple[Solution, AutoState]] = {}
    for setting, cost in zip(settings, costs, strict=True):
        choice, price = numbers(training, hidden, setting, cost), C * cost
        same = (cost, setting.gamma)
        if same not in plain:
            begun = _begun(training, price, None)
            plain[same] = _fit(training, price, choice, NOBODY, begun, ROUGH)
        solution, state = plain[same]
        if choice.hopeful:
            hopeful = _best(training, state.scores, choice, price)
            solution, _ = _fit(training, price, choice, hopeful, state, ROUGH)
        yield solution.weights


def _share_above(others: Floats, scores: Floats) -> Floats:
    """The share of others that score at least as high, for each score.

    >>> _share_above(np.array([0.0, 1.0, 2.0, 3.0]), np.array([2.0, 9.0])).tolist()
    [0.5, 0.0]
    """
    below = np.searchsorted(np.sort(others), scores, side="left")
    return np.asarray(1.0 - below / max(len(others), 1))


def preferred(shares: Floats, offset: float = OFFSET, doubt: float = DOUBT) -> int:
    """The setting that ranks left-out examples highest, the first when in doubt.

    By log(share + offset), example by example against the first setting: the gain is
    the mean less ``doubt`` standard errors. shares : (settings, examples).
    """
    ranks = np.log(shares + offset)
    ahead = ranks[0] - ranks
    errors = ahead.std(axis=1, ddof=1) / np.sqrt(ahead.shape[1])
    return int(np.argmax(ahead.mean(axis=1) - doubt * errors))


def _fit(
    training: TrainingSet,
    C: float,
    choice: AutoNumbers,
    hopeful: Hopeful,
    state: AutoState,
    tol: float,
) -> tuple[Solution, AutoState]:
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
    if solution.slopes is None:
        scores = _scores(training.U, solution.weights)
    else:  # of the last visits
        scores = np.asarray(-choice.margin - solution.slopes[others])
    return solution, AutoState(P, N, full[others], pull, training.labelled, scores)


def _begun(training: TrainingSet, C: float, before: AutoState | None) -> AutoState:
    """The initial duals: those before; else full, or such that examples score 1."""
    kinds = (training.P, training.N, training.U)
    if before is None:
        likeness = float(
            _scores(training.P, mean_of(training.P) - training.mean).mean()
        )
        level = 1.0 / max(C * len(training.P) * likeness, 1e-12)
        level = 1.0 if level > NEARLY else level
        P, N, U = (np.full(len(rows), level) for rows in kinds)
        left, pull = training.labelled, level * len(training.U) * training.mean
        scores = np.empty(0)
    else:
        old = before.P, before.N, before.U
        P, N, U = (np.ones(len(rows)) for rows in kinds)
        for new, previous in zip((P, N, U), old, strict=True):
            new[: len(previous)] = previous
        left, pull = np.setdiff1d(training.labelled, before.labelled), before.pull
        scores = before.scores.copy()
    pull = pull - products([some(training.U, left)]).back(U[left])
    return AutoState(P, N, U, pull, training.labelled, scores)


def _best(
    training: TrainingSet, scores: Floats, choice: AutoNumbers, C: float
) -> Hopeful:
    """The best documents of U, and the price of each."""
    if not choice.hopeful:
        return NOBODY
    best = np.argpartition(-scores, choice.hopeful - 1)[: choice.hopeful]
    examples = len(training.P)
    price = min(examples / choice.hopeful, 1.0 / (HALF + examples))
    return Hopeful(np.sort(best), C * price)


def _scores(rows: Rows | Collection, weights: Floats) -> Floats:
    return products([rows]).product(weights)


def _open(training: TrainingSet, scores: Floats) -> Floats:
    """The scores, −∞ for labelled documents, so that they are never chosen."""
    scores[training.labelled] = -np.inf
    return scores


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
