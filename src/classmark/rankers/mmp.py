"""MMP: multiclass multilabel perceptrons, which learn from the order of all labels."""

from __future__ import annotations

from classmark.problems import Mistake
from classmark.randomness import Seed
from classmark.rankers.online import OnlineRanker
from classmark.scores.similarity import Similarity


class MMP(OnlineRanker):
    """One prototype per category, moved when the ranking is wrong [CrammerSinger03].

    E = {(r, s) : r ∈ Y, s ∉ Y, ⟨w_r, x⟩ ≤ ⟨w_s, x⟩}; where it is not empty,
    w_r ← w_r + (n_r/c) x for r ∈ Y and w_s ← w_s − (n_s/c) x for s ∉ Y, n being the
    number of pairs of E a category is in.

    loss : what one round costs, and with it c. 1: [E ≠ ∅], c = #E. 2: #E, c = 1.
        3: #E / (#Y·(k − #Y)), c = #Y·(k − #Y).
    passes : how often ``fit`` goes through the documents.
    average : rank with the mean of the prototypes after each round, not the last.
    kernel : None for linear scores; "linear", "polynomial", "rbf" (with ``gamma``,
        ``degree``, ``coef0``) or a function of two matrices. The documents that led to
        an update are then kept (once for each update).
    vote : rank by the votes of all prototypes along the way, each as often as the
        rounds it lasted; a vote gives the category in place p of k k − p points.
    budget : how many documents a kernel keeps; beyond, one is forgotten: with loss 1
        the oldest, with losses 2 and 3 the one that moved the prototypes least.
    random_state : None goes through the documents in the order given; a seed shuffles
        them anew for each pass of ``fit``.

    >>> ranker = MMP(loss=2).fit([[1.0, 0.0], [0.0, 1.0]], [[0], [1, 2]])
    >>> ranker.coef_.tolist()
    [[2.0, -2.0], [-1.0, 1.0], [-1.0, 1.0]]
    >>> ranker.losses_.tolist()
    [[1.0, 2.0, 1.0], [1.0, 2.0, 1.0]]
    """

    def __init__(
        self,
        loss: int = 3,
        passes: int = 1,
        average: bool = False,
        kernel: str | Similarity | None = None,
        *,
        vote: bool = False,
        budget: int | None = None,
        gamma: float = 1.0,
        degree: int = 2,
        coef0: float = 1.0,
        random_state: Seed = None,
    ) -> None:
        self.loss = loss
        self.passes = passes
        self.average = average
        self.kernel = kernel
        self.vote = vote
        self.budget = budget
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.random_state = random_state

    def _rule(self) -> int:
        if self.loss not in (1, 2, 3):
            raise Mistake(f"loss is {self.loss!r}: use 1, 2 or 3")
        return self.loss
