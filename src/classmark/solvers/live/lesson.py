"""Lesson: what is to be learned from one document."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from classmark.arrays import Floats
from classmark.preferences.decompose import Groups


@dataclass(frozen=True, slots=True)
class Lesson:
    """A document's words and its preferences: layers, or groups of listed edges.

    columns : uint32, increasing, and values, the document's row;
    labels, levels : those listed, level 1, 2, …, or −1 for compared with none;
    groups, weights : instead of them, groups of edges and what each weighs; the item −1
        stands for the threshold.
    """

    columns: NDArray[np.uint32]
    values: Floats
    labels: NDArray[np.uint32]
    levels: NDArray[np.float32]
    groups: Groups | None = None
    weights: tuple[float, ...] = ()

    def prefers_as(self, other: Lesson) -> bool:
        """Whether two lessons say the same of the labels."""
        if self.groups is not None or other.groups is not None:
            return (self.groups, self.weights) == (other.groups, other.weights)
        mine, theirs = (
            dict(zip(one.labels.tolist(), one.levels.tolist(), strict=True))
            for one in (self, other)
        )
        return mine == theirs

    def reading(self, label: int, other: int) -> Lesson:
        """The same with one label read as another; what says nothing then is left out.

        Of a document that lists both, the higher of the two levels counts.
        """
        if self.groups is not None:
            return replace(self, **_renamed(self, label, other))
        if other not in self.labels:
            labels = np.where(self.labels == label, other, self.labels)
            return replace(self, labels=labels.astype(np.uint32))
        levels = self.levels.copy()
        both = np.isin(self.labels, (label, other))
        levels[both] = levels[both].max()
        kept = self.labels != label
        return replace(self, labels=self.labels[kept], levels=levels[kept])


def _renamed(lesson: Lesson, label: int, other: int) -> dict[str, Any]:
    def read(item: int) -> int:
        return other if item == label else item

    found = [
        ([(read(u), read(v)) for u, v in group if read(u) != read(v)], weight)
        for group, weight in zip(lesson.groups or [], lesson.weights, strict=True)
    ]
    labels = np.unique([read(int(item)) for item in lesson.labels])
    return {
        "labels": labels.astype(np.uint32),
        "levels": np.zeros(len(labels), np.float32),
        "groups": [group for group, _ in found if group],
        "weights": tuple(weight for group, weight in found if group),
    }
