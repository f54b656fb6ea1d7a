"""LogLinearRanker: weights that make violated groups of preferences cheap."""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import Any, Literal, Self

from classmark.estimator import parameters
from classmark.preferences.graph import Loss
from classmark.preferences.losses import loss_from
from classmark.problems import Mistake
from classmark.rankers.linear import LinearRanker
from classmark.solvers.smooth import (
    DocumentLoss,
    Objective,
    boost,
    minimise,
    require_penalty,
)
from classmark.sparse import rows_from
from classmark.validation import require_numbers


@parameters(decomposition="loss")
class LogLinearRanker(LinearRanker):
    """Label ranking from preference graphs [DekelManningSinger03].

    Minimises L = Σ_i (1/s_i) Σ_k ln(1 + Σ_{e ∈ E_k} exp(f(term e) − f(init e))) over
    f(x, y) = ⟨w_y, x⟩; with C, penalty(W) + C·L.

    loss : which edges of a document's graph stand together in a group E_k: "zero-one"
        all, "dis" (disagreement) none, "dom" (domination) those from one label, "dme"
        (dominated) those to one label; or a function from a graph to groups.
    solver : "lbfgs", or "boosting", the paper's parallel updates, slow.
    max_iter, tol : stop after so many iterations, or when the largest slope is tol
        times that of the start.
    C : weight of the loss against the penalty; None for no penalty: then the optimum
        need not be unique, nor finite.
    penalty : "l2", ½‖W‖²; or "natural", Σ ln(1 + e^λ) + ln(1 + e^−λ) over all weights,
        which makes the optimum unique for boosting too [DekelShalevSinger03].

    loss_curve_ : L, without penalty, after each iteration;  n_iter_ : their number;
    objective_ : the value minimised.

    >>> ranker = LogLinearRanker(C=1.0).fit([[1.0, 0.0], [0.0, 1.0]], [[0], [1]])
    >>> ranker.rank([[0.2, 0.9]]).tolist(), round(ranker.objective_, 4)
    ([[1, 0]], 1.0509)
    """

    takes_graphs = True

    loss: Loss = "dom"
    _: KW_ONLY
    solver: Literal["lbfgs", "boosting"] = "lbfgs"
    max_iter: int = 1000
    C: float | None = None
    tol: float = 1e-5
    penalty: Literal["l2", "natural"] = "l2"

    def fit(self, X: Any, Y: Any) -> Self:
        """Learn from documents X, shape (n, features), and their preferences Y.

        Y : labels or grades, shape (n, k), or a list of n preference graphs.
        """
        require_penalty(self.penalty, self.C)
        require_numbers(self, "max_iter", whole=True, least=1)
        require_numbers(self, "tol", least=0)
        if self.solver not in {"lbfgs", "boosting"}:
            raise Mistake(f"solver {self.solver!r} is not known: use lbfgs or boosting")
        if self.solver == "boosting" and self.C is not None and self.penalty == "l2":
            raise Mistake(
                "solver 'boosting' cannot minimise the l2 penalty: give "
                "penalty='natural', or C=None, or solver='lbfgs'"
            )
        rows = rows_from(X)
        loss = loss_from(Y, self.loss, len(rows))
        documents, max_iter, tol = DocumentLoss(rows, loss), self.max_iter, self.tol
        if self.solver == "boosting":
            solution = boost(documents, C=self.C, max_iter=max_iter, tol=tol)
        else:
            objective = Objective(documents, self.C, self.penalty)
            solution = minimise(objective, max_iter=max_iter, tol=tol)
        self.weights_ = solution.weights
        self.loss_curve_ = solution.losses
        self.n_iter_ = solution.n_iter
        self.objective_ = solution.objective
        return self
