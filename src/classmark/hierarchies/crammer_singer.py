"""CrammerSingerSVM: the multiclass support vector machine, to a certified optimum."""

from __future__ import annotations

from classmark.hierarchies.flat import FlatClassifier


class CrammerSingerSVM(FlatClassifier):
    """min ½‖W‖² + C Σ_i max_s (1 − ⟨w_{y_i} − w_s, x_i⟩)₊ [CrammerSinger01].

    The last weight of each category, ``bias_``, is that of a constant 1. Solved until
    the relative duality gap is at most ``tol``. A document of several categories puts
    each of them over all the others.

    >>> X, y = [[1.0, 0.0], [0.0, 1.0]], ["tea", "wine"]
    >>> CrammerSingerSVM(tol=1e-6).fit(X, y).weights_.round(3).tolist()
    [[0.5, -0.5], [-0.5, 0.5]]
    """

    def __init__(
        self,
        C: float = 1.0,
        tol: float = 1e-3,
        *,
        memory: str = "2GB",
        n_jobs: int = 1,
        random_state: int = 0,
    ) -> None:
        super().__init__(
            "svm", C, tol=tol, memory=memory, n_jobs=n_jobs, random_state=random_state
        )
