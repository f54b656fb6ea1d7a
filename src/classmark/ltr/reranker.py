"""Reranker: a learned order of features, ready to sort the answers of an index.

It knows which features it was taught with, in which order, over which fields, and which
first stage brings it its candidates; another index is refused.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from classmark.arrays import Array, Floats
from classmark.index.index import Index
from classmark.index.models import Choice
from classmark.ltr.features import PairFeatures, Recipe, minmax
from classmark.problems import DamagedFolder, Mistake, worded
from classmark.storage import open_folder, save

FORMAT, VERSION = "classmark-reranker", 1
PLAIN = ("learner", "names", "depth", "fields", "analyzer")  # saved as they are


@dataclass(frozen=True, eq=False)
class Reranker:
    """A learned order of the first answers.

    names : the features;  weights : of each, shape (features,), for a linear ranker;
    trees : LightGBM's own text, for one of trees;  first, depth : the model that finds
    the candidates, and how many;  fields, analyzer : of the index;  facts : how it was
    learned and how good it was.
    """

    learner: str
    names: tuple[str, ...]
    weights: Floats
    recipe: Recipe
    first: Choice
    depth: int
    fields: tuple[str, ...]
    analyzer: str
    trees: str = ""
    facts: Mapping[str, Any] = field(default_factory=dict)

    def require_fit_for(self, index: Index, name: str = "the ranker") -> None:
        """Refuse an index whose fields or terms are not those it was taught with."""
        fields, terms = tuple(index.fields), str(index.analyzer)
        if (fields, terms) == (self.fields, self.analyzer):
            return
        why = f"terms of {self.analyzer}, the index has those of {terms}"
        if fields != self.fields:
            names = (", ".join(self.fields), ", ".join(fields) or "none")
            why = f"the fields {names[0]}, the index has {names[1]}"
        raise Mistake(
            f"{name} was trained over {why}: "
            f"{worded('take it out with classmark rank use none')}, "
            f"{worded('train one again with classmark rank train')}, or "
            f"{worded('search with --ranker none')}"
        )

    def features(self, index: Index, pagerank: Floats | None = None) -> PairFeatures:
        """Return the computation of this ranker's features over an index."""
        features = PairFeatures(index, self.recipe, pagerank=pagerank)
        if features.names != self.names:
            raise Mistake(
                "the features of this version are not those the ranker was taught with:"
                f" {worded('train one again with classmark rank train')}"
            )
        return features

    def decision_function(self, rows: Floats) -> Floats:
        """Return the scores of one query's candidates, features scaled to 0 … 1."""
        scores = self._booster.predict(rows) if self.trees else rows @ self.weights
        return np.asarray(scores, np.float64)

    def scores(self, raw: Floats) -> Floats:
        """Return the scores of one query's candidates by their features."""
        return self.decision_function(minmax(raw))

    def parts(self, raw: Floats) -> list[dict[str, float]]:
        """Return what each feature adds to each score: weight times scaled value."""
        if self.trees:
            raise Mistake(
                f"{self.learner} is no sum of features: {worded('--explain')} needs a "
                "linear ranker, as ranking-svm"
            )
        parts = minmax(raw) * self.weights
        return [
            {
                self.names[at]: float(row[at])
                for at in np.argsort(-np.abs(row), kind="stable").tolist()
                if row[at]
            }
            for row in parts
        ]

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


def save_reranker(ranker: Reranker, folder: Path) -> None:
    """Write a ranker as a folder of its own, checksummed."""
    model, parameters = ranker.first
    settings = {name: getattr(ranker, name) for name in PLAIN} | {
        "models": [[name, dict(each)] for name, each in ranker.recipe.models.items()],
        "feedback": [[*names, dict(each)] for *names, each in ranker.recipe.feedback],
        "pagerank": ranker.recipe.pagerank,
        "first": [model, dict(parameters)],
        "facts": json.dumps(ranker.facts),
    }
    arrays: dict[str, Array] = {
        "weights": np.asarray(ranker.weights, np.float64),
        "trees": np.frombuffer(ranker.trees.encode(), np.uint8),
    }
    save(folder, FORMAT, VERSION, arrays, settings)


def open_reranker(folder: Path) -> Reranker:
    """Open what ``save_reranker`` wrote; damage is refused."""
    saved = open_folder(folder, FORMAT, VERSION)
    settings = saved.settings
    weights = np.array(saved.arrays["weights"])
    trees = saved.arrays["trees"].tobytes().decode()
    if not trees and len(weights) != len(settings["names"]):
        raise DamagedFolder(
            f"{folder} has {len(weights)} weights for {len(settings['names'])} "
            "features: restore it from a backup, or train one again"
        )
    return Reranker(
        settings["learner"],
        tuple(settings["names"]),
        weights,
        Recipe(
            dict(settings["models"]),
            tuple((model, kind, each) for model, kind, each in settings["feedback"]),
            settings["pagerank"],
        ),
        (settings["first"][0], settings["first"][1]),
        settings["depth"],
        tuple(settings["fields"]),
        settings["analyzer"],
        trees,
        json.loads(settings["facts"]),
    )
