"""Where does live learning begin: from nothing, or from a batch?"""

from __future__ import annotations

from typing import Any

import numpy as np

from classmark.problems import Mistake
from classmark.solvers.dual.explicit import ExplicitDual
from classmark.solvers.dual.implicit import CODES, Caps, ImplicitDual
from classmark.solvers.dual.together import CompositeDual
from classmark.solvers.live.dual import LiveDual
from classmark.sparse import Rows

LIVE = tuple(name for name in CODES if name != "svm")


def from_nothing(
    mapping: str, C: float, dtype: Any = np.float32, keep: int | None = None
) -> LiveDual:
    """No documents yet, no words, no labels."""
    if mapping not in LIVE:
        raise Mistake(
            f"mapping {mapping!r} cannot learn document by document: use "
            f"{', '.join(LIVE)}, or fit on all documents"
        )
    return LiveDual(_empty(mapping, C, dtype, 0), C, keep)


def from_batch(
    problem: Any, C: float, keep: int | None = None, mapping: str = "dom"
) -> LiveDual:
    """Go on from a batch problem: its documents, duals and weights are kept.

    Document i of the batch has the handle i. mapping : of layered documents to come,
    where the batch has none.
    """
    if isinstance(problem, CompositeDual):
        problem.settle()
        problem.implicit.share_one_pool()
        return LiveDual(problem.implicit, C, keep, problem.explicit, problem.is_listed)
    if isinstance(problem, ExplicitDual):
        dtype, n_labels = problem.rows.values.dtype, problem.W.shape[1]
        layered = _empty(mapping, C, dtype, n_labels)
        layered.W = problem.W
        return LiveDual(layered, C, keep, problem)
    if isinstance(problem, ImplicitDual) and CODES["svm"][0] not in problem.codes:
        problem.settle()
        problem.share_one_pool()
        return LiveDual(problem, C, keep)
    raise Mistake(
        "this model cannot learn document by document: it needs dense weights (a "
        "larger memory) and a mapping other than 'svm'"
    )


def _empty(mapping: str, C: float, dtype: Any, n_labels: int) -> ImplicitDual:
    """A problem without documents."""
    none = np.zeros(1, np.int64), np.empty(0, np.uint32)
    rows = Rows(*none, np.empty(0, dtype), 0)
    levels = Rows(*none, np.empty(0, np.float32), n_labels)
    caps = np.full(n_labels, C)
    return ImplicitDual(rows, levels, mapping, Caps(caps, caps))
