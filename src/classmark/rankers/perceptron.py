"""CategoryPerceptron: one independent perceptron per category."""

from __future__ import annotations

from classmark.randomness import Seed
from classmark.rankers.online import OnlineRanker
from classmark.scores.similarity import Similarity

RULE = 0


class CategoryPerceptron(OnlineRanker):
    """Binary perceptrons, one per category, over the same stream of documents.

    When y_r ⟨w_r, x⟩ ≤ 0: w_r ← w_r + y_r x, with y_r = ±1 [Rosenblatt58]; the baseline
    of [CrammerSinger03].

    passes : how often ``fit`` goes through the documents.
    average : rank with the mean of the prototypes after each round, not the last.
    kernel, vote, budget, gamma, degree, coef0, random_state : as for ``MMP``.
    """

    def __init__(
        self,
        passes: int = 1,
        average: bool = False,
        kernel: str | Similarity | None = None,
        budget: int | None = None,
        *,
        vote: bool = False,
        gamma: float = 1.0,
        degree: int = 2,
        coef0: float = 1.0,
        random_state: Seed = None,
    ) -> None:
        self.passes = passes
        self.average = average
        self.kernel = kernel
        self.budget = budget
        self.vote = vote
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.random_state = random_state

    def _rule(self) -> int:
        return RULE
