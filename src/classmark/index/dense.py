"""DenseIndex: the documents whose vectors of meaning are nearest to a query's, exactly.

All vectors are read, block by block: a block becomes float32 in the processor's cache
and is multiplied with all queries at once. That finds every document whose product may
be among the k best, given how far a float32 sum can be off; these few are multiplied
again in float64. So the answer is that of float64 throughout, ties by number.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from classmark.arrays import Array, Bools, Floats, Ints, ranges
from classmark.meaning.models import required
from classmark.meaning.sources import TextEncoder, source_from, unit_rows
from classmark.meaning.vector_file import VectorFile
from classmark.problems import Mistake
from classmark.progress import track
from classmark.ranking import Ranking, rank
from classmark.storage import Generations, open_folder, save

BLOCK = 2048  # documents multiplied together: 3 MB at 384 numbers, in float32
HALF = np.float32(2.0**112)  # what widened half precision is short of
_BITS = np.int32(
    -0x70000001
)  # sign, exponent and fraction, less the copies of the sign


def widen(halves: NDArray[np.float16], room: NDArray[np.int32]) -> NDArray[np.float32]:
    """Half precision as float32 times 2⁻¹¹², written to ``room``; the values are exact.

    Exponents have another bias, 127 in place of 15, and are left as they are: moving
    the bits takes a fifth of the time that NumPy's conversion takes.

    >>> halves = np.array([[0.5, -1.25, 0.0, 6e-8]], np.float16)
    >>> (widen(halves, np.empty((1, 4), np.int32)) * HALF == halves).all()
    np.True_
    """
    bits = room[: len(halves)]
    np.copyto(bits, halves.view("<i2"))
    np.left_shift(bits, 13, out=bits)
    np.bitwise_and(bits, _BITS, out=bits)
    return bits.view(np.float32)


def _multiplied(queries: Array, block: Array) -> Array:
    """All products, shape (queries, documents).

    For one query row by row: that is as fast as a product of matrices, and does not
    wait for threads of the library behind NumPy while other work has the processors.
    """
    if len(queries) == 1:
        return np.asarray(np.vecdot(block, queries))[np.newaxis]
    return np.asarray(queries @ block.T)


class _Nearest:
    """Collects the positions whose score may be among the ``k`` best, block by block.

    slack : what two scores may be off together.
    """

    def __init__(self, k: int, slack: float) -> None:
        self.k, self.slack, self.bar = k, slack, -np.inf
        self.at, self.scores = np.empty(0, np.int64), np.empty(0, np.float32)

    def add(self, scores: Array, first: int) -> None:
        """Look at the scores of the next positions, from ``first`` on."""
        near = np.flatnonzero(scores >= self.bar)
        if not len(near):
            return
        self.at = np.concatenate([self.at, near + first])
        self.scores = np.concatenate([self.scores, scores[near]])
        if len(self.at) > 2 * self.k:
            worst = np.partition(self.scores, -self.k)[-self.k]
            self.bar = float(worst) - self.slack
            stay = self.scores >= self.bar
            self.at, self.scores = self.at[stay], self.scores[stay]


class DenseIndex:
    """Documents by number, each with a vector; the ``k`` nearest to a query by cosine.

    vectors : shape (vectors, dimension). Half precision is used where it lies, mapped
    or not, and must have rows of unit length, as those of a ``VectorFile`` have; of
    all else the rows are divided by their lengths.  rows : the vector of each document,
    shape (documents,), −1 for none: such a document is never near; None: document i
    has vector i.  source : makes the vectors of queries.

    facts : which vectors the documents have, where that is known.

    Threads may share it.

    >>> dense = DenseIndex([[1.0, 0.0], [3.0, 4.0], [0.0, 1.0]])
    >>> items, cosines = dense.find([0.0, 2.0], k=2)
    >>> items.tolist(), cosines.round(3).tolist()
    ([2, 1], [1.0, 0.8])
    """

    def __init__(
        self,
        vectors: ArrayLike,
        rows: ArrayLike | None = None,
        *,
        source: TextEncoder | None = None,
    ) -> None:
        table = np.asanyarray(vectors)
        if table.ndim != 2 or table.dtype.kind not in "iuf" or not table.shape[1]:
            raise Mistake(
                f"vectors of shape {table.shape} and type {table.dtype}: give numbers, "
                "one row of them for each document"
            )
        self.table: Array = table if table.dtype == np.float16 else unit_rows(table)
        self.rows = None if rows is None else np.asarray(rows, np.int64)
        if self.rows is not None and self.rows.max(initial=-1) >= len(table):
            raise Mistake(f"rows: {self.rows.max()} is none of {len(table)} vectors")
        self.source = None if source is None else source_from(source)
        self.facts = None if self.source is None else self.source.facts
        self.dimension = table.shape[1]
        self.n_items = len(table if self.rows is None else self.rows)

    @classmethod
    def of(
        cls,
        texts: Sequence[str],
        meaning: TextEncoder,
        *,
        queries: TextEncoder | None = None,
    ) -> Self:
        """Index texts, document i being the i-th.

        meaning : makes their vectors; those of a ``VectorFile`` are used where they
        lie, and a text that is not in it is never near.  queries : makes the vectors
        of queries, where the model reads these with another prefix than documents.
        """
        source = source_from(meaning)
        encoder = source if queries is None else source_from(queries)
        if isinstance(source, VectorFile):
            index = cls(source.table, source.rows(texts), source=encoder)
        else:
            index = cls(source.encode(texts), source=encoder)
        index.facts = source.facts
        return index

    def __len__(self) -> int:
        return self.n_items

    def encode(self, queries: Sequence[str]) -> Array:
        """Return the vectors of queries, shape (queries, dimension).

        Several words, all in capitals, are read in small letters: documents are not
        written so, and most tables of tokens tell the two apart.
        """
        if self.source is None:
            raise Mistake("vectors were given without their source: give it (source=…)")
        return self.source.encode(
            [q.lower() if q.isupper() and len(q.split()) > 1 else q for q in queries]
        )

    def find(
        self, query: ArrayLike, k: int = 10, members: Bools | None = None
    ) -> tuple[Ints, Floats]:
        """Return the ``k`` documents nearest to a vector, and their cosines.

        members : which documents may be answers, shape (documents,); None: all. A
        vector of length 0 (no word of the query has one) is near to none.
        """
        ranking = self.find_many(np.asarray(query)[np.newaxis], k, members)
        return ranking.items, np.asarray(ranking.scores, np.float64)

    def find_many(
        self, queries: ArrayLike, k: int = 10, members: Bools | None = None
    ) -> Ranking:
        """Return the nearest documents of many vectors, (queries, dimension)."""
        units = self._units(queries)
        real = np.flatnonzero(units.any(axis=1))
        allowed = self._allowed(members)
        n = self.n_items if allowed is None else len(allowed)
        k = min(k, n)
        if k < 1 or not len(real):
            return rank([], [], [])
        slack = 2.0 * (self.dimension + 4) * 2.0**-24
        nearest = [_Nearest(k, slack) for _ in real]
        factors = units[real].astype(np.float32) * self._scale
        room = np.empty((min(BLOCK, n), self.dimension), np.int32)
        for first in range(0, n, BLOCK):
            last = min(first + BLOCK, n)
            chosen = slice(first, last) if allowed is None else allowed[first:last]
            scores = _multiplied(factors, self._block(chosen, room))
            for each, row in zip(nearest, scores, strict=True):
                each.add(row, first)
        candidates = [e.at if allowed is None else allowed[e.at] for e in nearest]
        return self._ranked(units, dict(zip(real.tolist(), candidates, strict=True)), k)

    def cosines(self, query: ArrayLike, items: Ints) -> Floats:
        """Return the cosine of a vector and each of some documents; 0 without vector.

        In float64; a document's is the same whichever others are asked for.
        """
        unit = self._units(np.asarray(query)[np.newaxis])[0]
        return self._products(unit, np.asarray(items, np.int64))

    def approximate(self, folder: Path | str | None = None) -> ApproximateIndex:
        """Return an index that finds most of the nearest without reading all vectors.

        folder : where its graph lies and is extended by new vectors; None: in memory.
        """
        return ApproximateIndex(self, folder)

    @property
    def _scale(self) -> np.float32:
        return HALF if self.table.dtype == np.float16 else np.float32(1.0)

    def _units(self, queries: ArrayLike) -> Floats:
        vectors = np.asarray(queries, np.float64)
        if vectors.ndim != 2 or vectors.shape[1] != self.dimension:
            raise Mistake(
                f"query of {vectors.shape[-1]} numbers: those of the documents have "
                f"{self.dimension}: encode it by the same source"
            )
        lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
        return np.asarray(vectors / np.where(lengths > 0.0, lengths, 1.0))

    def _allowed(self, members: Bools | None) -> Ints | None:
        if members is None:
            return self._present
        mask = np.asarray(members, np.bool_)
        if mask.shape != (self.n_items,):
            raise Mistake(f"members of shape {mask.shape}: give {self.n_items}, each")
        if self.rows is not None:
            mask = mask & (self.rows >= 0)
        return np.flatnonzero(mask)

    @cached_property
    def _present(self) -> Ints | None:
        """The documents that have a vector; None: all."""
        if self.rows is None or self.rows.min(initial=0) >= 0:
            return None
        return np.flatnonzero(self.rows >= 0)

    def _block(self, items: slice | Ints, room: NDArray[np.int32]) -> Array:
        rows = items if self.rows is None else self.rows[items]
        block = self.table[rows]
        return widen(block, room) if block.dtype == np.float16 else block

    def _products(self, unit: Floats, items: Ints) -> Floats:
        rows = items if self.rows is None else self.rows[items]
        products, there = np.zeros(len(rows)), np.flatnonzero(rows >= 0)
        for first in range(0, len(there), BLOCK):
            some = there[first : first + BLOCK]
            block = self.table[rows[some]].astype(np.float64)
            products[some] = (block * unit).sum(axis=1)
        return products

    def _ranked(self, units: Floats, candidates: dict[int, Ints], k: int) -> Ranking:
        """Multiply each query's candidates in float64, and order the best ``k``."""
        queries, items, scores = [], [], []
        for query, numbers in candidates.items():
            values = self._products(units[query], numbers)
            best = np.lexsort((numbers, -values))[:k]
            queries.append(np.full(len(best), query))
            items.append(numbers[best])
            scores.append(values[best])
        return Ranking(*map(np.concatenate, (queries, items, scores)))


FORMAT, VERSION = "classmark vector graph", 1
SPARE = 2  # so many times k are looked for, as some may be of documents that are gone


class ApproximateIndex(DenseIndex):
    """A DenseIndex that walks a graph of near vectors to most of the nearest.

    The graph is that of [MalkovYashunin20], by the package usearch. Cosines are as
    exact as ever, and where ``members`` are named all of them are looked at; but a
    document that the walk does not come by is missing.

    folder : where the graph lies; vectors that it lacks are added. None: in memory.
    """

    def __init__(self, exact: DenseIndex, folder: Path | str | None = None) -> None:
        super().__init__(exact.table, exact.rows, source=exact.source)
        self.facts = exact.facts
        usearch = required("usearch.index", "Approximate indexes", "approximate")
        self.graph: Any = usearch.Index(
            ndim=self.dimension, metric="ip", dtype="f16", multi=False
        )
        stored = None if folder is None else Generations(Path(folder))
        if stored is not None:
            self._load(stored.current())
        if len(self.graph) < len(self.table):
            self._extend()
            if stored is not None:
                self._store(stored)

    def find_many(
        self, queries: ArrayLike, k: int = 10, members: Bools | None = None
    ) -> Ranking:
        """Return most of the nearest documents of many vectors."""
        if members is not None:
            return super().find_many(queries, k, members)
        units = self._units(queries)
        real = np.flatnonzero(units.any(axis=1)).tolist()
        many = min(SPARE * k, len(self.graph))
        if many < 1 or not real:
            return rank([], [], [])
        candidates = {}
        for query in real:
            near = self.graph.search(units[query].astype(np.float32), many).keys
            candidates[query] = self._documents(near.astype(np.int64))
        return self._ranked(units, candidates, k)

    @property
    def _digest(self) -> str:
        return "" if self.facts is None else self.facts.digest

    def _load(self, folder: Path | None) -> None:
        """Read the graph in service, if there is one."""
        if folder is None:
            return
        saved = open_folder(folder, FORMAT, VERSION)
        facts = saved.settings
        if facts["digest"] != self._digest or facts["vectors"] > len(self.table):
            raise Mistake(
                f"{folder.parent} has a graph of other vectors: remove it, and it is "
                "made anew"
            )
        self.graph.load(saved.arrays["graph"].tobytes())

    def _store(self, stored: Generations) -> None:
        place, content = stored.next(), np.frombuffer(self.graph.save(), np.uint8)
        facts = {"digest": self._digest, "vectors": len(self.table)}
        save(place, FORMAT, VERSION, {"graph": content}, facts)
        stored.put_in_service(place)
        stored.drop_old(1)

    def _extend(self) -> None:
        """Add the vectors that are not yet in the graph."""
        blocks = range(len(self.graph), len(self.table), BLOCK)
        for first in track(blocks, "graph of vectors", len(blocks)):
            block = np.asarray(self.table[first : first + BLOCK], np.float32)
            self.graph.add(np.arange(first, first + len(block)), block)

    def _documents(self, rows: Ints) -> Ints:
        """The documents that have some of the vectors."""
        if self.rows is None:
            return rows
        order, ordered = self._by_row
        low = np.searchsorted(ordered, rows)
        sizes = np.searchsorted(ordered, rows, side="right") - low
        return order[ranges(low, sizes)]

    @cached_property
    def _by_row(self) -> tuple[Ints, Ints]:
        order = np.argsort(np.asarray(self.rows), kind="stable")
        return order, np.asarray(self.rows)[order]
