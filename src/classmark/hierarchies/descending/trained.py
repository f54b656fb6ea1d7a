"""Trained: the pieces of all inner nodes as ten arrays, in memory or mapped."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from classmark.arrays import Array, Ints
from classmark.hierarchies.descending.pieces import Piece
from classmark.hierarchies.descending.shape import Shape

NAMES = (
    "starts", "codes", "bias", "slope", "feature_starts", "features", "entry_starts",
    "offsets", "daughter", "weight",
)  # fmt: skip


@dataclass(frozen=True, eq=False)
class Trained:
    """What all nodes have learned.

    arrays : as ``NAMES`` says; ``kernels`` explains them. None is ever written to.
    dropped : the share of Σ w² that was not kept.
    """

    arrays: tuple[Array, ...]
    dropped: float

    @property
    def size_bytes(self) -> int:
        """What the arrays take."""
        return sum(array.nbytes for array in self.arrays)

    @property
    def named(self) -> dict[str, Array]:
        """The arrays by name."""
        return dict(zip(NAMES, self.arrays, strict=True))

    @property
    def widest(self) -> int:
        """The most daughters a node has."""
        return int(np.diff(self.arrays[0]).max())

    @cached_property
    def plain(self) -> tuple[Array, ...]:
        """The arrays without the manners of mapped ones, which take their time."""
        return tuple(array.view(np.ndarray) for array in self.arrays)

    @cached_property
    def _by_code(self) -> tuple[Array, Ints]:
        """The codes of all daughters, sorted, and the inner node that has each."""
        starts, codes = self.plain[:2]
        order = np.argsort(codes, kind="stable")
        owner = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
        return codes[order], owner[order]

    def mothers(self, code: int) -> list[int]:
        """The inner nodes that have a leaf, or an inner node, among their daughters."""
        codes, owner = self._by_code
        low, high = np.searchsorted(codes, [code, code + 1])
        found: list[int] = owner[low:high].tolist()
        return found

    def piece(self, at: int) -> Piece:
        """What inner node ``at`` has learned."""
        starts, _, bias, slope, first, features, entry, offsets, daughter, weight = (
            self.plain
        )
        mine = slice(starts[at], starts[at + 1])
        entries = slice(entry[at], entry[at + 1])
        return Piece(
            features[first[at] : first[at + 1]],
            offsets[first[at] + at : first[at + 1] + at + 1],
            daughter[entries], weight[entries], bias[mine], slope[mine], 0.0, 0.0,
        )  # fmt: skip


def gather(shape: Shape, pieces: Sequence[Piece]) -> Trained:
    """Put the pieces of all inner nodes, in the order of ``shape``, together."""
    whole = sum(piece.whole for piece in pieces)
    lost = sum(piece.lost for piece in pieces)
    joined: dict[str, Any] = {"starts": shape.starts, "codes": shape.codes}
    for name in ("bias", "slope", "features", "offsets", "daughter", "weight"):
        joined[name] = np.concatenate([getattr(piece, name) for piece in pieces])
    joined["feature_starts"] = _ends([len(piece.features) for piece in pieces])
    joined["entry_starts"] = _ends([len(piece.weight) for piece in pieces])
    arrays = tuple(joined[name] for name in NAMES)
    return Trained(read_only(arrays), lost / whole if whole else 0.0)


def read_only(arrays: Sequence[Array]) -> tuple[Array, ...]:
    """Views that refuse writing, as mapped files are: kernels see one type."""
    views = tuple(array.view() for array in arrays)
    for view in views:
        view.flags.writeable = False
    return views


def _ends(lengths: list[int]) -> Ints:
    return np.cumsum([0, *lengths]).astype(np.int64)
