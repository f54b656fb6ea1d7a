"""Meaning beside words: the last columns of a row, from a source of vectors."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from classmark.arrays import Floats, Rows, beside, rows_from
from classmark.meaning.sources import (
    MeaningFacts,
    MeaningSource,
    TextEncoder,
    Vectors,
    require_same,
    source_from,
    unit_rows,
)
from classmark.problems import Mistake

AUTO = "auto"  # the weight that is chosen where there is something to rank
COLUMN = "meaning["  # what the names of its columns begin with; no word does


def centre_of(vectors: ArrayLike) -> Floats:
    """Mean of the unit vectors, c = (1/n) Σ v/‖v‖; those of length 0 do not count.

    >>> centre_of([[2.0, 0.0], [0.0, 5.0], [0.0, 0.0]]).tolist()
    [0.5, 0.5]
    """
    units = unit_rows(vectors).astype(np.float64)
    return np.asarray(units.sum(axis=0) / max(int(units.any(axis=1).sum()), 1))


def centred(vectors: ArrayLike, centre: Floats) -> Vectors:
    """Unit vectors seen from the centre: z = (u − c)/‖u − c‖, u = v/‖v‖.

    What all texts of a collection share says nothing of any of them, and makes all
    alike. A vector of length 0 (a text without a known token) stays 0.

    >>> centred([[2.0, 0.0], [0.0, 0.0]], np.array([0.5, 0.5])).round(3).tolist()
    [[0.7070000171661377, -0.7070000171661377], [0.0, 0.0]]
    """
    units = unit_rows(vectors).astype(np.float64)
    return unit_rows(np.where(units.any(axis=1, keepdims=True), units - centre, 0.0))


@dataclass(frozen=True)
class MeaningBlock:
    """The part of a row that is not words: weight · centred unit vector.

    facts : which vectors;  weight : the length of the part;  centre : shape
    (dimension,), float64;  source : makes the vectors; None while it is not at hand.
    """

    facts: MeaningFacts
    weight: float
    centre: NDArray[np.float64]
    source: MeaningSource | None = None

    @property
    def feature_names(self) -> list[str]:
        """The names of its columns."""
        return [f"{COLUMN}{number}]" for number in range(self.facts.dimension)]

    @property
    def settings(self) -> dict[str, Any]:
        """What is saved beside the centre, fit for JSON."""
        return self.facts._asdict() | {"weight": self.weight}

    @classmethod
    def from_settings(cls, settings: Mapping[str, Any], centre: Floats) -> MeaningBlock:
        """What was saved; its source is still to come."""
        facts = MeaningFacts(*(settings[name] for name in MeaningFacts._fields))
        return cls(facts, settings["weight"], np.asarray(centre))

    def beside(self, words: Rows, texts: Iterable[str]) -> Rows:
        """The rows of texts: their words, and then this part."""
        if self.source is None:
            raise self.without_source()
        return beside(words, self.rows(self.source.encode(texts)))

    def rows(self, vectors: Vectors) -> Rows:
        """The part alone, of texts whose vectors are at hand."""
        return rows_from(np.float32(self.weight) * centred(vectors, self.centre))

    def without_source(self) -> Mistake:
        """What is wrong where the source is not at hand."""
        return Mistake(
            f"the model was made with the vectors of {self.facts}: open it with them "
            "(meaning=…)"
        )


def learned(
    meaning: TextEncoder | None, weight: float | str | None, texts: Iterable[str]
) -> tuple[MeaningBlock | None, Rows | None]:
    """Learn the centre of texts; return the part and its rows; None for words alone."""
    if meaning is None:
        return None, None
    source = source_from(meaning)
    weight = source.weight if weight in {None, AUTO} else weight
    if isinstance(weight, str) or weight is None or not 0.0 < weight < np.inf:
        raise Mistake(
            f"meaning_weight is {weight!r}: give a number over 0, or {AUTO!r}"
        )
    vectors = source.encode(texts)
    block = MeaningBlock(source.facts, float(weight), centre_of(vectors), source)
    return block, block.rows(vectors)


def made_by(
    block: MeaningBlock | None, meaning: TextEncoder | None
) -> MeaningBlock | None:
    """The same part with its source at hand; other vectors are refused."""
    if block is None:
        if meaning is not None:
            raise Mistake("meaning: this was fitted on words alone: leave it out")
        return None
    if meaning is None:
        raise block.without_source()
    source = source_from(meaning)
    require_same(source, block.facts, "the model")
    return replace(block, source=source)
