"""What does an inner node learn from? Documents, and the daughters they are of."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from classmark.arrays import Array, Ints
from classmark.hierarchies.descending.shape import Shape
from classmark.hierarchies.places import Places
from classmark.sparse import Rows, take
from classmark.storage import open_folder, save

FORMAT, VERSION = "classmark-lessons", 1
#: What one dense weight takes while a node learns, beside itself.
BESIDE = {"svm": 8, "logistic": 8 * 26, "naive-bayes": 8 * 4}
PER_DOCUMENT, PER_VALUE, PER_SPARSE_VALUE = 150, 40, 200


@dataclass(eq=False)
class Lessons:
    """The problem of each inner node, as arrays alone, in memory or mapped.

    rows : the documents (n, features);  first, member : the documents of node v or
    below it are member[first[v]:first[v + 1]], increasing;  order : the number of each
    inner node;  starts, below : inner node ``at`` has the daughters
    below[starts[at]:starts[at + 1]].
    """

    rows: Rows
    first: Array
    member: Array
    order: Array
    starts: Array
    below: Array

    def save(self, folder: Path) -> None:
        """Write a new folder; it appears whole or not at all."""
        arrays = {name: getattr(self, name) for name in ARRAYS}
        arrays |= {f"rows_{name}": getattr(self.rows, name) for name in PARTS}
        save(folder, FORMAT, VERSION, arrays, {"width": self.rows.width})

    @staticmethod
    def open(folder: Path) -> Lessons:
        """Open a folder, once its checksums are compared; arrays are mapped."""
        saved = open_folder(folder, FORMAT, VERSION)
        plain = {name: each.view(np.ndarray) for name, each in saved.arrays.items()}
        parts = [plain[f"rows_{name}"] for name in PARTS]
        rows = Rows(parts[0], parts[1], parts[2], saved.settings["width"])
        return Lessons(rows, *(plain[name] for name in ARRAYS))

    @property
    def size_bytes(self) -> int:
        """What the arrays take."""
        arrays = [getattr(self, name) for name in ARRAYS]
        arrays += [getattr(self.rows, name) for name in PARTS]
        return sum(array.nbytes for array in arrays)

    def members(self, node: int) -> Ints:
        """The documents of a node or below it, increasing."""
        found: Ints = self.member[self.first[node] : self.first[node + 1]]
        return found

    @cached_property
    def values(self) -> Ints:
        """How many values the documents of each inner node have, shape (inner,)."""
        lengths = np.diff(self.rows.starts)
        sums = [int(lengths[self.members(int(v))].sum()) for v in self.order]
        return np.array(sums, np.int64)

    @cached_property
    def daughters(self) -> Ints:
        """How many daughters each inner node has, shape (inner,)."""
        return np.diff(self.starts)

    def documents(self, at: int) -> Rows:
        """The rows of an inner node's documents; of all documents: no copy."""
        chosen = self.members(int(self.order[at]))
        return self.rows if len(chosen) == len(self.rows) else take(self.rows, chosen)

    def owners(self, at: int) -> Rows:
        """1 where a document of the node belongs to its daughter j, shape (n, d)."""
        chosen = self.members(int(self.order[at]))
        daughters = self.below[self.starts[at] : self.starts[at + 1]]
        lists = [self.members(int(u)) for u in daughters]
        place = np.searchsorted(chosen, np.concatenate(lists))
        owner = np.repeat(np.arange(len(lists)), [len(found) for found in lists])
        starts = np.zeros(len(chosen) + 1, np.int64)
        np.cumsum(np.bincount(place, minlength=len(chosen)), out=starts[1:])
        columns = owner[np.argsort(place, kind="stable")].astype(np.uint32)
        return Rows(starts, columns, np.ones(len(columns), np.float32), len(lists))

    def need(
        self, at: int, base: str, *, m: int | None = None, sparse: bool = False
    ) -> float:
        """Bytes that learning takes beside the documents, by a cautious estimate.

        m : how many features are used; without it, as many as there can be.
        """
        values, size = int(self.values[at]), self.rows.values.itemsize
        count = len(self.members(int(self.order[at])))
        if sparse:
            return float(count * PER_DOCUMENT + values * PER_SPARSE_VALUE)
        m, d = min(self.rows.width, values) if m is None else m, self.daughters[at]
        fixed = count * PER_DOCUMENT + values * PER_VALUE
        return float(fixed + m * d * (size + BESIDE[base]))

    def features(self, at: int) -> int:
        """How many features the documents of an inner node use."""
        used = np.zeros(self.rows.width, bool)
        used[self.documents(at).columns] = True
        return int(np.count_nonzero(used))


ARRAYS = ("first", "member", "order", "starts", "below")
PARTS = ("starts", "columns", "values")


class Nodes(Lessons):
    """The lessons of a tree's inner nodes, and the tree they are of."""

    def __init__(self, rows: Rows, places: Places, shape: Shape) -> None:
        members: Any = places.nodes_of().tocsc()
        members.sort_indices()
        below = np.concatenate([places.daughters(int(v)) for v in shape.order])
        super().__init__(
            rows, members.indptr, members.indices, shape.order, shape.starts, below
        )
        self.places, self.shape = places, shape

    def name(self, at: int) -> str:
        """What an inner node is called, in a message."""
        names, node = self.places.tree.nodes, int(self.order[at])
        return repr(names[node]) if node < len(names) else "above all roots"
