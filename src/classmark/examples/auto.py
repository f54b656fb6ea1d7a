"""The query nobody has to choose: from Rocchio to the balanced margin as P grows.

One problem for every number l of examples,

    ½‖w‖² + C Σ_P max(0, 1 − w·x) + C γ (l + β q)/u Σ_U max(0, μ + w·x)
          + C β Σ_H max(0, 1 − w·x),

is Rocchio's query while l is small, all duals being at their bounds, and the balanced
support vector machine of [ZhangLee09] when l is large. Three numbers are read off P and
U, no labels being needed:

* **Hidden.** Relevant documents of U score as the examples do when each is left out of
  the query, so half of them score above the examples' median: twice the number of
  documents there, ``h``, estimates how many are hidden in U.
* **Hopeful.** The q best documents, H, join as examples, q = (h/2) · l/(l + 10), at
  most 100 and one in 30, at a price β that together is at most that of P and each at
  most 1/(10 + l) of an example's: none for l over 100. With one example, which cannot
  be left out, q is 10.
* **γ.** Few hidden documents make U a cleaner set of negatives, which may count more:
  γ = (0.02 u/h within 1 and 4) to the power l/(l + 5).

Where l is large beside u, C is lowered until a document of U, which may be relevant
itself, costs no more than 0.1.

The margin of U is μ = 0.25: documents that share no words with the query score 0 and
need not be pushed to −1.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from classmark.arrays import Floats, Ints, Rows, take
from classmark.corpus.documents import train_test
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

MARGIN = 0.25  # μ
CLEAN = 0.02  # the share of hidden documents at which U counts as much as P
MOST = 4.0  # times P that U may count
SURE = 5  # examples that make γ half sure
HALF = 10  # examples that make the number of hopeful documents half of its estimate
ENOUGH = 100  # examples; with more, hopeful documents would weigh less than one
FEW = 5  # examples whose hopeful documents are the best by Rocchio's query
HOPED, SHARE = 100, 30  # hopeful documents: so many, and one in so many of U, at most
ALONE = 10  # hopeful documents of a single example
NEARLY = 0.3  # full: all duals start at their bounds, where most of them stay
ROUGH = 0.02  # the gap at which a query is good enough to choose hopeful documents
PRICE = 0.1  # of a document of U, at most


@dataclass(frozen=True, slots=True)
class AutoNumbers:
    """The numbers that "auto" estimates from P and U.

    hidden : the estimated number of relevant documents in U, None for one example;
    hopeful : how many documents of U join as examples;  gamma : the weight of U where
    that of P is 1;  cost : C is multiplied by it.
    """

    hidden: int | None
    hopeful: int
    gamma: float
    cost: float = 1.0


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


def choose(training: TrainingSet, scores: Floats) -> AutoNumbers:
    """Estimate the hidden documents, the hopeful ones and the weight of U.

    scores : of U under Rocchio's query, −∞ where labelled.
    """
    others, examples = training.n_unlabelled, len(training.P)
    most = min(HOPED, 1 + others // SHARE)
    if examples == 1:
        return AutoNumbers(None, min(ALONE, most), 1.0)
    above = int((scores > np.median(left_out(training.P, training.mean))).sum())
    hoped = int(above * examples / (examples + HALF)) if examples <= ENOUGH else 0
    clean = np.clip(CLEAN * others / max(2 * above, 1), 1.0, MOST)
    gamma = float(clean ** (examples / (examples + SURE)))
    cost = min(1.0, PRICE * others / (gamma * examples))
    return AutoNumbers(2 * above, min(hoped, most), gamma, cost)


def left_out(P: Rows, mean: Floats) -> Floats:
    """Score each example by Rocchio's query made of the others, shape (l,).

    (Σ_P x_j · x_i − ‖x_i‖²)/(l − 1) − mean · x_i, for at least two examples.
    """
    others = (_scores(P, mean_of(P) * len(P)) - squares(P)) / (len(P) - 1)
    return np.asarray(others - _scores(P, mean))


def learn(
    training: TrainingSet, C: float, tol: float, before: AutoQuery | None = None
) -> AutoQuery:
    """The query, over P, N and U; ``before`` is that of fewer examples.

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
    choice = choose(training, _open(training, scores))
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


def _fit(
    training: TrainingSet,
    C: float,
    choice: AutoNumbers,
    hopeful: Hopeful,
    state: AutoState,
    tol: float,
) -> tuple[Solution, AutoState]:
    mass = len(training.P) + len(hopeful.rows) * hopeful.box / C
    prices = Prices(C, choice.gamma * C * mass / training.n_unlabelled, (1.0, MARGIN))
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
        scores = np.asarray(-MARGIN - solution.slopes[others])
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
