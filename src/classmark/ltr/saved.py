"""Rankers that are kept: how stored weights score, and models of LETOR files."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from importlib import import_module
from pathlib import Path
from typing import Any, Self

import numpy as np

from classmark.arrays import Array, Floats, rows_from
from classmark.ltr.judged import normalise_per_query
from classmark.ltr.nonlinear import SCORES
from classmark.problems import Mistake, worded
from classmark.storage import open_folder, save


class StoredScores:
    """How weights, or trees, that were stored score rows.

    learner : whose they are;  weights : of each feature, shape (features,), or the
    table of a network or of thresholds;  trees : LightGBM's own text.
    """

    learner: str
    weights: Floats
    trees: str

    def decision_function(self, rows: Floats) -> Floats:
        """Return the scores of rows, features as the learner had them."""
        if self.trees:
            return np.asarray(self._booster.predict(rows), np.float64)
        score = SCORES.get(self.learner)
        scores = rows @ self.weights if score is None else score(self.weights, rows)
        return np.asarray(scores, np.float64)

    @property
    def is_sum(self) -> bool:
        """Whether a score is a sum over features, as trees and networks are not."""
        return not self.trees and self.learner != "ranknet"

    @cached_property
    def _booster(self) -> Any:
        try:
            lightgbm = import_module("lightgbm")
        except ImportError as problem:
            raise Mistake(
                f"a ranker of {self.learner} needs LightGBM: pip install "
                f"'classmark[trees]', or {worded('search with --ranker none')}"
            ) from problem
        return lightgbm.Booster(model_str=self.trees)


def stored_of(ranker: Any) -> tuple[Floats, str]:
    """Return what is stored of a fitted ranker: its weights, and its trees as text."""
    trees = getattr(ranker, "booster_", None)
    weights = np.empty(0) if trees else getattr(ranker, "weights_", None)
    table = np.asarray(ranker.coef_ if weights is None else weights, np.float64)
    return table, trees.model_to_string() if trees else ""


FORMAT, VERSION = "classmark-letor-ranker", 1
AS_THEY_ARE = ("learner", "features", "scaled")  # in the file


@dataclass(frozen=True, eq=False)
class LetorRanker(StoredScores):
    """A ranker of rows of LETOR's kind, to be saved and opened.

    features : how many;  scaled : whether each feature is brought to 0 … 1 within its
    query first, as when it was fitted;  facts : how it was learned and how good it was.

    >>> from tempfile import TemporaryDirectory
    >>> from classmark.ltr import RankingSVM
    >>> X, y, qid = [[3.0], [1.0], [8.0], [9.0]], [1, 0, 0, 1], ["p", "p", "q", "q"]
    >>> fitted = RankingSVM().fit(normalise_per_query(X, qid), y, qid)
    >>> with TemporaryDirectory() as folder:
    ...     LetorRanker.of(fitted, "ranking-svm").save(Path(folder) / "ranker")
    ...     LetorRanker.open(Path(folder) / "ranker").scores(X, qid).round(2).tolist()
    [1.0, 0.0, 0.0, 1.0]
    """

    learner: str
    weights: Floats
    features: int
    trees: str = ""
    scaled: bool = True
    facts: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def of(
        cls,
        ranker: Any,
        learner: str,
        *,
        scaled: bool = True,
        facts: Mapping[str, Any] | None = None,
    ) -> Self:
        """Take what a fitted ranker has learned.

        learner : its name, as ``classmark rank train --learner`` takes it.
        """
        weights, trees = stored_of(ranker)
        width = len(weights)
        if trees:
            width = int(ranker.booster_.num_feature())
        elif learner in SCORES:
            width = getattr(ranker, "n_features_in_", weights.shape[1] - 2)
        return cls(learner, weights, width, trees, scaled, dict(facts or {}))

    def scores(self, X: Any, qid: Any) -> Floats:
        """Return the scores of rows, (n,): within a query, the higher the better."""
        rows = rows_from(X)
        if rows.width != self.features:
            raise Mistake(
                f"X has {rows.width} features, {self.features} were learned: give the "
                "same"
            )
        table = normalise_per_query(rows, qid, "minmax" if self.scaled else None)
        return self.decision_function(table)

    def save(self, folder: Path | str) -> None:
        """Write it as a folder of its own, checksummed."""
        arrays: dict[str, Array] = {
            "weights": np.asarray(self.weights, np.float64),
            "trees": np.frombuffer(self.trees.encode(), np.uint8),
        }
        settings = {name: getattr(self, name) for name in AS_THEY_ARE}
        facts = {"facts": json.dumps(self.facts)}
        save(Path(folder), FORMAT, VERSION, arrays, settings | facts)

    @classmethod
    def open(cls, folder: Path | str) -> Self:
        """Open what ``save`` wrote; damage is refused."""
        saved = open_folder(Path(folder), FORMAT, VERSION)
        learner, features, scaled = (saved.settings[name] for name in AS_THEY_ARE)
        weights = np.array(saved.arrays["weights"])
        trees = saved.arrays["trees"].tobytes().decode()
        facts = json.loads(saved.settings["facts"])
        return cls(learner, weights, features, trees, scaled, facts)
