"""LambdaMART: boosted trees for nDCG, grown by LightGBM."""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from classmark.arrays import Floats
from classmark.ltr.judged import QueryRanker, judged, require_width
from classmark.problems import Mistake
from classmark.sparse import rows_from

GRADES = 31  # that LightGBM has gains for
FIXED = {
    "objective": "lambdarank",
    "verbose": -1,
    "deterministic": True,
    "force_row_wise": True,
}
USUAL = {
    "n_estimators": 150,
    "learning_rate": 0.05,
    "num_leaves": 15,
    "min_data_in_leaf": 30,
    "lambdarank_truncation_level": 15,
    "num_threads": 1,
    "seed": 0,
}


class LambdaMART(QueryRanker):
    """Boosted regression trees on the lambdas of nDCG [Burges10].

    parameters : LightGBM's, by its own names, over the usual ones of this module. Needs
    ``pip install 'classmark[trees]'``. ``booster_.model_to_string()`` is text that
    LightGBM reads again.
    """

    def __init__(self, **parameters: Any) -> None:
        self.parameters = parameters

    @staticmethod
    def installed() -> bool:
        """Whether LightGBM can be imported, and finds the OpenMP library it needs."""
        if find_spec("lightgbm") is None:
            return False
        try:
            import lightgbm  # noqa: F401
        except OSError:
            return False
        return True

    @classmethod
    def _defaults(cls) -> dict[str, Any]:
        return {}

    def get_params(self, deep: bool = True) -> dict[str, Any]:  # noqa: ARG002 (manners)
        """Return the parameters that were given."""
        return dict(self.parameters)

    def set_params(self, **params: Any) -> Self:
        """Set parameters by LightGBM's names."""
        self.parameters = self.parameters | params
        return self

    def __repr__(self) -> str:
        shown = (f"{name}={value!r}" for name, value in self.parameters.items())
        return f"LambdaMART({', '.join(shown)})"

    def fit(
        self, X: Any, y: ArrayLike, qid: Any, *, weights: ArrayLike | None = None
    ) -> Self:
        """Learn from rows X, (n, features), grades y, (n,), and their queries, (n,).

        y : whole numbers from 0 to 30;  qid : any hashables, in any order;  weights :
        (n,), what a row counts.
        """
        lightgbm = _lightgbm()
        training = judged(X, y, qid, weights)
        whole = training.distinct == np.floor(training.distinct)
        if not (whole & (training.distinct >= 0) & (training.distinct < GRADES)).all():
            raise Mistake(f"y: LambdaMART needs whole grades from 0 to {GRADES - 1}")
        chosen = USUAL | self.parameters
        table = lightgbm.Dataset(
            training.rows.to_scipy(),
            training.grades,
            group=np.diff(training.starts),
            weight=None if weights is None else training.counts,
            params={"verbose": -1},
        )
        rounds = int(chosen.pop("n_estimators"))
        self.booster_ = lightgbm.train(chosen | FIXED, table, rounds)
        return self

    def decision_function(self, X: Any) -> Floats:
        """Scores of rows, (n,): within a query, the higher the better."""
        self._require_fitted()
        rows = rows_from(X)
        require_width(rows.width, self.booster_.num_feature())
        return np.asarray(self.booster_.predict(rows.to_scipy()), np.float64)


def _lightgbm() -> Any:
    try:
        return import_module("lightgbm")
    except ImportError as problem:
        raise Mistake(
            "LambdaMART needs LightGBM: pip install 'classmark[trees]'"
        ) from problem
