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

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from classmark.arrays import Floats, Ints
from classmark.examples.collection import Collection, climb, products, some
from classmark.examples.problem import (
    NOBODY,
    Given,
    Hopeful,
    Prices,
    hinges_of,
    mean_of,
)
from classmark.problems import Mistake
from classmark.randomness import generator
from classmark.solvers.hinge import Solution, ascend
from classmark.sparse import Rows, take

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
class Choice:
    """What was read off P and U.

    hidden : the estimated number of relevant documents in U, None for one example;
    hopeful : how many were taken for examples;  gamma : what U counts, P counting 1;
    cost : C is lowered to this share of it.
    """

    hidden: int | None
    hopeful: int
    gamma: float
    cost: float = 1.0


class State(NamedTuple):
    """How full the duals of each kind are, 0 to 1, and what those of U add up to.

    pull : Σ_U share · x, (features,), without the known documents;  known : those;
    scores : of U, by the query these duals make; nothing at first.
    """

    P: Floats
    N: Floats
    U: Floats
    pull: Floats
    known: Ints
    scores: Floats


class Answer(NamedTuple):
    """The query, what was chosen for it, and where its duals ended."""

    found: Solution
    choice: Choice | None
    state: State | None


def choose(all_: Given, scores: Floats) -> Choice:
    """How many are hidden, how many are hopeful, and what U counts.

    scores : of U under Rocchio's query, −∞ where known.
    """
    others, examples = all_.unknown, len(all_.P)
    most = min(HOPED, 1 + others // SHARE)
    if examples == 1:
        return Choice(None, min(ALONE, most), 1.0)
    above = int((scores > np.median(left_out(all_.P, all_.mean))).sum())
    hoped = int(above * examples / (examples + HALF)) if examples <= ENOUGH else 0
    clean = np.clip(CLEAN * others / max(2 * above, 1), 1.0, MOST)
    gamma = float(clean ** (examples / (examples + SURE)))
    cost = min(1.0, PRICE * others / (gamma * examples))
    return Choice(2 * above, min(hoped, most), gamma, cost)


def left_out(P: Rows, mean: Floats) -> Floats:
    """Score each example by Rocchio's query made of the others, shape (l,).

    (Σ_P x_j · x_i − ‖x_i‖²)/(l − 1) − mean · x_i, for at least two examples.
    """
    owner = np.repeat(np.arange(len(P)), np.diff(P.starts))
    own = np.bincount(owner, np.square(P.values, dtype=np.float64), minlength=len(P))
    others = (_scores(P, mean_of(P) * len(P)) - own) / (len(P) - 1)
    return np.asarray(others - _scores(P, mean))


def learn(all_: Given, C: float, tol: float, before: Answer | None = None) -> Answer:
    """The query, over P, N and U; ``before`` is that of fewer examples."""
    scores = _open(all_, _rocchio(all_))
    choice = choose(all_, scores)
    C = C * choice.cost
    state = _begun(all_, C, None if before is None else before.state)
    if before is not None:
        scores = _open(all_, state.scores)
    elif choice.hopeful and (len(all_.P) > FEW or len(all_.N)):
        found, state = _fit(all_, C, choice, NOBODY, state, max(tol, ROUGH))
        scores = _open(all_, state.scores)
    found, state = _fit(all_, C, choice, _best(all_, scores, choice, C), state, tol)
    return Answer(found, choice, state)


def learn_online(all_: Given, C: float, tol: float) -> Answer:
    """The query from P and N alone, U standing by its mean: center −C l · mean.

    While all duals of U are at their bounds this is the same query; no row of U is
    read.
    """
    hinges = hinges_of(all_, Prices(C, 0.0, (1.0, MARGIN)))
    center = -C * len(all_.P) * all_.mean
    parts = [all_.judged()]
    found = ascend(parts, hinges, center=center, duals=hinges.boxes, tol=tol)
    return Answer(found, None, None)


def _fit(
    all_: Given, C: float, choice: Choice, hopeful: Hopeful, state: State, tol: float
) -> tuple[Solution, State]:
    mass = len(all_.P) + len(hopeful.rows) * hopeful.box / C
    prices = Prices(C, choice.gamma * C * mass / all_.unknown, (1.0, MARGIN))
    hinges = hinges_of(all_, prices, hopeful)
    hoping = np.full(len(hopeful.rows), state.P.mean())
    start = np.concatenate([state.P, state.N, state.U, hoping]) * hinges.boxes
    few = _few(all_, hopeful)
    weights = few(hinges.signs * start) - prices.others * state.pull
    judged = all_.judged()
    found = climb(judged, all_.U, hinges, duals=start, weights=weights, tol=tol)
    full = np.ones_like(start)
    np.divide(found.duals, hinges.boxes, out=full, where=hinges.boxes > 0.0)
    pull = (few(hinges.signs * found.duals) - found.weights) / prices.others
    P, N, U, _ = np.split(full, np.cumsum([len(all_.P), len(all_.N), len(all_.U)]))
    return found, State(P, N, U, pull, all_.known, _seen(all_, found))


def _seen(all_: Given, found: Solution) -> Floats:
    """The scores of U: as they were seen last, where they were kept."""
    if found.slopes is None:
        return _scores(all_.U, found.weights)
    judged = len(all_.P) + len(all_.N)
    return np.asarray(-MARGIN - found.slopes[judged : judged + len(all_.U)])


def _few(all_: Given, hopeful: Hopeful) -> Callable[[Floats], Floats]:
    """Σ coefficient · x over all hinges but those of U, as a function."""
    rows = products([all_.judged(), some(all_.U, hopeful.rows)])
    judged, n = len(all_.P) + len(all_.N), len(hopeful.rows)
    return lambda c: rows.back(np.concatenate([c[:judged], c[len(c) - n :]]))


def _begun(all_: Given, C: float, before: State | None) -> State:
    """Where to start: as it was; at first full, or so that examples score 1 by it."""
    kinds = (all_.P, all_.N, all_.U)
    if before is None:
        likeness = float(_scores(all_.P, mean_of(all_.P) - all_.mean).mean())
        level = 1.0 / max(C * len(all_.P) * likeness, 1e-12)
        level = 1.0 if level > NEARLY else level
        P, N, U = (np.full(len(rows), level) for rows in kinds)
        left, pull = all_.known, level * len(all_.U) * all_.mean
        scores = np.empty(0)
    else:
        old = before.P, before.N, before.U
        P, N, U = (np.ones(len(rows)) for rows in kinds)
        for new, held in zip((P, N, U), old, strict=True):
            new[: len(held)] = held
        left, pull = np.setdiff1d(all_.known, before.known), before.pull
        scores = before.scores.copy()
    pull = pull - products([some(all_.U, left)]).back(U[left])
    return State(P, N, U, pull, all_.known, scores)


def _best(all_: Given, scores: Floats, choice: Choice, C: float) -> Hopeful:
    """The best documents of U, and what each is worth."""
    if not choice.hopeful:
        return NOBODY
    best = np.argpartition(-scores, choice.hopeful - 1)[: choice.hopeful]
    examples = len(all_.P)
    price = min(examples / choice.hopeful, 1.0 / (HALF + examples))
    return Hopeful(np.sort(best), C * price)


def _rocchio(all_: Given) -> Floats:
    """The scores of U by Rocchio's query; their mean tells whether ``mean`` is U's."""
    query = mean_of(all_.P) - all_.mean
    scores = _scores(all_.U, query)
    if abs(scores.mean() - all_.mean @ query) > 1e-4 * np.abs(scores).mean() + 1e-9:
        raise Mistake(
            "mean is not the mean of U: leave it out, or give that of these U"
        )
    return scores


def _scores(rows: Rows | Collection, weights: Floats) -> Floats:
    return products([rows]).product(weights)


def _open(all_: Given, scores: Floats) -> Floats:
    """The scores, those of known documents so low that they are never chosen."""
    scores[all_.known] = -np.inf
    return scores


OTHERS = (0.01, 0.03, 0.1, 0.3)  # costs of an unlabelled document
TIMES = (10.0, 30.0, 100.0, 200.0)  # an example costs so many times more
HELD = 0.3  # of the examples are kept back to judge
FEWEST = 4


def biased(
    all_: Given, C: float | None, tol: float, random_state: int
) -> tuple[Solution, float]:
    """½‖w‖² + C₊ Σ_P max(0, 1 − w·x) + C₋ Σ_U max(0, 1 + w·x) [LiuEtAl03].

    The costs are those with the largest r²/Pr(w·x > 0), r being the recall of examples
    that were kept back: it grows with the product of precision and recall [LeeLiu03].
    C : of an example, where it is not to be searched. Return the query and C₊.
    """
    if len(all_.P) < FEWEST:
        raise Mistake(
            f"biased keeps back examples to choose its costs: give at least {FEWEST}"
        )
    order = generator(random_state).permutation(len(all_.P))
    held = max(1, round(HELD * len(order)))
    learn = replace(all_, P=take(all_.P, np.sort(order[held:])))
    judge = products([take(all_.P, order[:held]), all_.U])
    best, found = -1.0, (1.0, 1.0)
    for example, other in _costs(C):
        scores = judge.product(_fit_biased(learn, example, other, tol).weights)
        recall = float((scores[:held] > 0).mean())
        criterion = recall**2 / max(float((scores > 0).mean()), 1e-12)
        if criterion > best:
            best, found = criterion, (example, other)
    return _fit_biased(all_, *found, tol), found[0]


def _costs(C: float | None) -> list[tuple[float, float]]:
    if C is not None:
        return [(C, C / times) for times in TIMES]
    return [(other * times, other) for other in OTHERS for times in TIMES]


def _fit_biased(all_: Given, example: float, other: float, tol: float) -> Solution:
    hinges = hinges_of(all_, Prices(example, other))
    return climb(all_.judged(), all_.U, hinges, duals=hinges.boxes, tol=tol)
