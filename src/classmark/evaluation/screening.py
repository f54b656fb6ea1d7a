"""How much reading does a screening save, and does it stop where it should?"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from classmark.arrays import Bools, rows_from
from classmark.evaluation.figures import color_of, points_of
from classmark.examples.screening import Screening, ScreeningQuery, StoppingRule
from classmark.figures import LINE, SOFT, Axis, Figure, Panel, Series, write_figure
from classmark.measures import documents_read
from classmark.problems import Mistake
from classmark.progress import track


@dataclass(frozen=True, slots=True, eq=False)
class Simulated:
    """A screening as it would have gone.

    documents, relevant : how many there are;  order : whether each document read was
    relevant, in reading order;  stopped : how many were read when the rule said stop;
    recall : the share of relevant documents found by then;  bound : the recall that
    the rule promised;
    reached : how many were read when the target was reached.
    """

    documents: int
    relevant: int
    order: Bools
    stopped: int
    recall: float
    bound: float
    reached: int
    target: float

    @property
    def saved(self) -> float:
        """WSS at the target: of the order, as if one knew when to stop."""
        share = (self.documents - self.reached) / self.documents
        return share - (1 - self.target)

    @property
    def saved_at_stop(self) -> float:
        """The share of the documents that was not read when the rule said stop."""
        return 1 - self.stopped / self.documents


def simulate(  # noqa: PLR0913 (what a trial is asked)
    X: Any,
    relevant: ArrayLike,
    seeds: ArrayLike,
    *,
    rule: StoppingRule | None = None,
    query: Callable[[], ScreeningQuery] | None = None,
    random_state: int = 0,
    to_stop: bool = True,
) -> Simulated:
    """Screen documents whose relevance is known, from some relevant seeds on.

    X : shape (n, features);  relevant : flags, shape (n,);  seeds : numbers of relevant
    documents to start from;  to_stop : go on until the rule says so, else only until
    the target is reached, which needs no draws.

    >>> X = np.eye(60)
    >>> X[:10, 0] = 1
    >>> trial = simulate(X, np.arange(60) < 10, [0], rule=StoppingRule(batch=5))
    >>> trial.recall, trial.reached <= trial.stopped
    (1.0, True)
    """
    truth = np.asarray(relevant, bool)
    rule = StoppingRule() if rule is None else rule
    rows = rows_from(X)
    if truth.shape != (len(rows),) or not truth[np.asarray(seeds)].all():
        raise Mistake("relevant: give a flag a document; seeds: relevant ones of them")
    total = int(truth.sum())
    screening = Screening(
        rows, np.asarray(seeds).tolist(), rule=rule, query=query,
        random_state=random_state,
    )  # fmt: skip
    stopped, recall, bound = 0, 0.0, 0.0
    for _ in track(range(len(rows)), "screening"):
        n_relevant = int(screening.relevant.sum())
        if screening.stop and not stopped:
            state = screening.progress()
            stopped, recall, bound = state.read, n_relevant / total, state.recall_bound
        reached = n_relevant >= rule.target * total - 1e-9
        if reached and (stopped or not to_stop):
            break
        shown = screening.next()
        screening.answer(shown.documents, truth[shown.documents], shown.random)
    order = screening.relevant
    whole = np.concatenate([order, np.ones(total - int(order.sum()), bool)])
    read, n = documents_read(whole, rule.target), len(rows)
    return Simulated(n, total, order, stopped, recall, bound, read, rule.target)


def draw_curves(
    curves: Mapping[str, ArrayLike],
    path: Path,
    title: str,
    *,
    documents: int,
    target: float,
    stops: Mapping[str, tuple[float, float]] | None = None,
) -> None:
    """Draw recall against the share of documents read, a ring where reading stopped.

    curves : name → recall after 0, 1, … documents;  stops : name → share read, recall.
    """
    rings = stops or {}
    goal = [(0.0, target), (1.0, target)]
    series = [
        Series("", [(0.0, 0.0), (1.0, 1.0)], LINE, dash="2 4"),
        Series(f"target {target:.0%}", goal, SOFT, width=1.0),
    ]
    for number, (name, curve) in enumerate(curves.items()):
        shares = np.arange(len(np.asarray(curve))) / documents
        ring = [rings[name]] if name in rings else []
        points = points_of(shares, curve)
        series.append(Series(name, points, color_of(number), rings=ring))
    x = Axis("share of the documents read", low=0, high=1)
    panel = Panel(series, x, Axis("recall", low=0, high=1.02))
    write_figure(Figure(title, [panel]), path)
