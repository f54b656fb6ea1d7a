"""The preference learning problem by its dual: layered, listed, or both.

docs/mathematics.md, sections 4 to 6, derives dual and steps from the preferences.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from classmark.arrays import Array, Bools, Csr, Floats, Ints, Rows, ranges
from classmark.estimator import TINY
from classmark.preferences.graph import Groups
from classmark.problems import Mistake, TooLittleMemory
from classmark.solvers.ascent import Dual
from classmark.solvers.kernels_dual import (
    coefficients,
    explicit_pass,
    implicit_pass,
    listed_scores,
    private_values,
    rebuild,
    square_and_dot,
)
from classmark.solvers.kernels_groups import compact
from classmark.validation import byte_size


class Center:
    """w₀ of ½‖w − w₀‖², sparse, shape (features, labels); zero unless given.

    With a good guess as the center, few documents need few changes; with many, the
    margins decide. shares : None, or (labels,), s such that without one of its
    documents, x, the prototype p of a label would have the direction of p − s · x.
    """

    def __init__(
        self, weights: Csr | None = None, shares: Floats | None = None
    ) -> None:
        self.shares = shares
        self._places = np.empty(0, np.int64)
        self._known = np.empty(0)
        if weights is not None:
            lengths = np.diff(weights.indptr)
            rows = np.repeat(np.arange(weights.shape[0]), lengths)
            self._places = rows * weights.shape[1] + weights.indices
            self._known = weights.data

    def add_to(self, W: Floats) -> None:
        """W += w₀."""
        W.reshape(-1)[self._places] += self._known

    def values(self, W: Floats, total: float, tau: Floats) -> tuple[float, float]:
        """½‖W − w₀‖², and the dual value Σα − ⟨W − w₀, w₀⟩ − ½‖W − w₀‖², given Σα.

        tau : the thresholds, whose penalty ½‖τ‖² is part of both.
        """
        norm, dot = square_and_dot(W.reshape(-1), self._places, self._known)
        square = float(self._known @ self._known)
        half, penalty = 0.5 * norm - dot + 0.5 * square, 0.5 * float(tau @ tau)
        return half + penalty, total - (dot - square) - half - penalty


CODES = {"dis": (0,), "dom": (1,), "dme": (2,), "dom-dme": (1, 2), "svm": (3,)}
(SVM,) = CODES["svm"]
THRESHOLDS = ("common", "category")


SHARE = 8  # of what is in use, one part more is had when more room is needed
SPARE = 4  # duals per document there is room for at first
LARGEST = 2**32  # places in a pool


class Caps(NamedTuple):
    """C per label for the documents that list it, and for the others (svm)."""

    listed: Floats
    rest: Floats


class Layers(NamedTuple):
    """Labels by level, as the kernels take them.

    codes : kinds of groups;  starts, labels, levels : of each document those listed;
    caps, rest_caps : what a slack costs, by label;  absent : columns of W that no label
    has, which are in no group;  widest : the most labels listed of a document;
    noise : see ``ImplicitDual``;  self_scores : what a document has in the center's
    scores of the labels listed, or none.
    """

    codes: Ints
    starts: Ints
    labels: Array
    levels: Array
    caps: Floats
    rest_caps: Floats
    absent: Ints
    widest: int
    noise: float
    self_scores: Array


class Duals(NamedTuple):
    """Duals as the kernels take them: pairs (label, alpha), found by slots.

    slots : (kinds, slots, 3), where a slot's pairs begin, how many there are, and how
    many there is room for;  own : (documents, 3), the same of the labels against their
    thresholds;  used : (1,), the end of all pairs.
    """

    slots: Array
    own: Array
    label: Array
    alpha: Array
    used: Ints


class Edges(NamedTuple):
    """Listed groups as the kernels take them: document → groups → edges, and caps."""

    group_starts: Ints
    edge_starts: Ints
    winners: Array
    losers: Array
    caps: Floats


@dataclass(slots=True)
class Pool:
    """Room for the duals of some documents: pairs (label, alpha) per slot."""

    documents: Ints
    label: Array
    alpha: Array
    used: Ints


class ImplicitDual(Dual):
    """min ½‖w − w₀‖² + Σ_g cap_g ξ_g over the groups of a loss, by its dual.

    rows : documents (n, features);  levels : Rows (n, labels) of levels 1, 2, …, and −1
    for labels that are compared with none;
    loss : "dis", "dom", "dme", "dom-dme" or "svm" [AiolliSebastianiSperduti08];
    caps : what a slack costs;  center : w₀, zero unless given;  thresholds : None, or
    "common" or "category": w has thresholds ``tau`` too, one or one per label, and the
    groups of "svm" are added, each listed label over its threshold, each other below;
    noise : each document has a feature √noise of its own. Its weights are as good as
    slacks paid for by their squares, ½ v²/noise for each label, before those of the
    groups, cap · ξ; with large caps the loss is the squared hinge. Then, too, where the
    center has ``shares``, a document's margins are measured by the center without it.

    Several threads share W without locks. Each owns its documents' duals, so these stay
    feasible; before a gap is computed W is computed anew from them, so it is exact.
    """

    def __init__(  # noqa: PLR0913 (what a solver is asked)
        self,
        rows: Rows,
        levels: Rows,
        loss: str,
        caps: Caps,
        *,
        threads: int = 1,
        center: Center | None = None,
        thresholds: str | None = None,
        noise: float = 0.0,
    ) -> None:
        if loss not in CODES:
            raise Mistake(f"loss {loss!r} is not known: use {', '.join(CODES)}")
        self.rows, self.levels, self.thresholds = rows, levels, thresholds
        codes = CODES[loss] + ((SVM,) if thresholds and loss != "svm" else ())
        self.codes = np.array(codes, np.int64)
        self.tau = np.zeros(
            {"category": levels.width, "common": 1, None: 0}[thresholds]
        )
        self.caps, self.rest_caps = caps.listed, caps.rest
        self.n_documents = len(rows)
        self.center = center or Center()
        self.W = np.zeros((rows.width, levels.width), rows.values.dtype)
        self.center.add_to(self.W)
        self.absent, self.share = np.empty(0, np.int64), SHARE
        self.widest = int(np.diff(levels.starts).max(initial=0))
        compared = int((self.codes != SVM).sum())  # kinds of labels over labels
        self.slots = np.zeros((compared, levels.nnz, 3), np.uint32)
        owners = len(rows) if SVM in self.codes else 0
        self.own = np.zeros((owners, 3), np.uint32)
        self.naps = np.zeros((len(rows), 2), np.uint8)
        self.costs = np.zeros(len(rows), np.float32)
        self.noise, self.self_scores = float(noise), np.empty(0, np.float32)
        if noise and self.center.shares is not None:
            self.self_scores = self._self_scores(self.center.shares)
        self.without_words = np.flatnonzero((np.diff(rows.starts) == 0) & (noise == 0))
        self.pools = [self._pool(part, threads) for part in range(threads)]

    def visit(self, order: Array) -> None:
        """Learn from some documents, by the first pool's thread."""
        self._visit_pool(self.pools[0], order, learn=True)

    def arrays(self, pool: Pool) -> tuple[tuple[Array, ...], Layers, Duals]:
        """Rows, layers and the duals of a pool, as the kernels take them."""
        rows, levels = self.rows, self.levels
        layers = Layers(
            self.codes, levels.starts, levels.columns, levels.values, self.caps,
            self.rest_caps, self.absent, max(1, self.widest), self.noise,
            self.self_scores,
        )  # fmt: skip
        duals = Duals(self.slots, self.own, pool.label, pool.alpha, pool.used)
        return (rows.starts, rows.columns, rows.values), layers, duals

    def share_one_pool(self) -> None:
        """Let one thread own all documents from now on; W is to be settled."""
        if len(self.pools) == 1:
            return
        offset, slots = 0, self._all_slots()
        for pool in self.pools:
            mine = self._slots_of(pool)
            slots[mine, 0] += np.uint32(offset)
            offset += int(pool.used[0])
        self._take_slots(slots)
        parts = [(p.label[: p.used[0]], p.alpha[: p.used[0]]) for p in self.pools]
        label, alpha = (np.concatenate(part) for part in zip(*parts, strict=True))
        documents = np.arange(self.n_documents)
        self.pools = [Pool(documents, label, alpha, np.array([offset]))]

    def raise_caps(self, factor: float) -> None:
        """Multiply every C, by 1 or more once there are duals: they stay feasible."""
        self.caps = self.caps * factor
        self.rest_caps = self.rest_caps * factor
        self.naps[:] = 0

    def _self_scores(self, shares: Floats) -> Array:
        """What a document has in the center's scores of its labels, (labels listed,).

        ⟨p, x⟩ less ⟨p′, x⟩, p′ = (p − s x) ‖p‖/‖p − s x‖: W is the center.
        """
        rows, levels = self.rows, self.levels
        scores, counts = np.empty(levels.nnz), np.diff(levels.starts)
        arrays = rows.starts, rows.columns, rows.values
        listed_scores(arrays, levels.starts, levels.columns, self.W, scores)
        square = np.repeat(squares(rows), counts)
        share, length = shares[levels.columns], _lengths(self.W)[levels.columns]
        rest = length**2 - 2.0 * share * scores + share**2 * square
        without = (scores - share * square) * length / np.sqrt(np.maximum(rest, TINY))
        return (scores - np.clip(without, 0.0, scores)).astype(np.float32)

    def values(self) -> tuple[float, float]:
        """½‖w − w₀‖², and the dual value."""
        return _with_private(
            self.center.values(self.W, self.total(), self.tau), self.private()
        )

    def private(self) -> tuple[float, float]:
        """½ noise Σ a², and Σ a · self, a being the coefficients of documents."""
        squares = dots = 0.0
        for pool in self.pools if self.noise or len(self.self_scores) else ():
            _, layers, duals = self.arrays(pool)
            width = self.W.shape[1]
            square, dot = private_values(pool.documents, layers, duals, width)
            squares, dots = squares + square, dots + dot
        return 0.5 * self.noise * squares, dots

    def total(self) -> float:
        """Σα; an empty document's groups have slack 1 whatever w: α = cap at once.

        Not those against thresholds, which an empty document moves.
        """
        total, empty = 0.0, self.without_words
        if len(empty):
            self._visit_pool(
                self.pools[0], empty, learn=False, codes=self.codes[self.codes != SVM]
            )
            total = float(self.costs[empty].sum())
        return total + sum(float(pool.alpha.sum(dtype=float)) for pool in self.pools)

    def coefficients(self) -> Floats:
        """Document i's part in w_r is coefficients[i, r] · x_i, shape (n, labels)."""
        out = np.zeros((self.n_documents, self.levels.width))
        for pool in self.pools:
            _, layers, duals = self.arrays(pool)
            for document in pool.documents:
                coefficients(document, layers, duals, out[document], np.empty(0))
        return out

    def settle(self) -> None:
        """Compute W anew from the duals, if several threads have been at it."""
        if len(self.pools) == 1:
            return
        self.W[:], self.tau[:] = 0.0, 0.0
        self.center.add_to(self.W)
        parts, k = len(self.pools), self.W.shape[1]
        ends = [part * k // parts for part in range(parts + 1)]

        def rebuild_labels(span: tuple[int, int]) -> None:
            for pool in self.pools:
                arrays = self.arrays(pool)
                rebuild(pool.documents, *arrays, (self.W, self.tau), *span)

        with ThreadPoolExecutor(parts) as threads:
            list(threads.map(rebuild_labels, pairwise(ends)))

    def _pool(self, part: int, threads: int) -> Pool:
        documents = np.arange(part, self.n_documents, threads)
        size = SPARE * len(self.codes) * len(documents) + self._most()
        if size > LARGEST:
            raise Mistake(
                f"a document has {self.widest:,} of {self.levels.width:,} labels, more "
                "than can be compared with all others: take labels from it, or have it "
                "in several documents"
            )
        small = np.uint16 if self.levels.width <= 2**16 else np.uint32
        return Pool(
            documents,
            np.zeros(size, small),
            np.zeros(size, self.rows.values.dtype),
            np.zeros(1, np.int64),
        )

    def _most(self) -> int:
        """The most room that the duals of one document can need."""
        k = self.levels.width
        return 2 * len(self.codes) * (1 + self.widest) * (k + k // 4)

    def _make_room(self, pool: Pool) -> None:
        """Close the gaps; where that gains too little, take some more memory."""
        slots = self._all_slots()
        mine = self._slots_of(pool)
        order = np.argsort(slots[:, 0] if mine is None else slots[mine, 0])
        order = order if mine is None else mine[order]
        pool.used[0] = compact(order, slots, pool.label, pool.alpha)
        self._take_slots(slots, mine)
        spare = pool.used[0] // (2 * self.share) + self._most()
        if pool.used[0] + spare > len(pool.label):
            size = int(pool.used[0]) + int(pool.used[0]) // self.share + self._most()
            if size > LARGEST:
                raise Mistake(
                    "the duals need too many places: use a smaller C, or center"
                )
            pool.label.resize(size, refcheck=False)
            pool.alpha.resize(size, refcheck=False)

    def _slots_of(self, pool: Pool) -> Ints | None:
        """Which of all the slots are the pool's; None: all of them."""
        if len(self.pools) == 1:
            return None
        documents, starts = pool.documents, self.levels.starts
        parts, n_slots, _ = self.slots.shape
        listed = ranges(starts[documents], starts[documents + 1] - starts[documents])
        each = [listed + part * n_slots for part in range(parts)]
        own = parts * n_slots + documents[: len(self.own)]  # all, or none has any
        return np.concatenate([*each, own])

    def _all_slots(self) -> Array:
        """All slots as one array, a copy where labels have thresholds."""
        slots = self.slots.reshape(-1, 3)
        return np.concatenate([slots, self.own]) if len(self.own) else slots

    def _take_slots(self, slots: Array, which: Ints | None = None) -> None:
        """Have the slots of such an array; which : those that were changed."""
        if not len(self.own):
            return
        each = np.arange(len(slots)) if which is None else which
        end = len(slots) - len(self.own)
        listed, own = each[each < end], each[each >= end]
        self.slots.reshape(-1, 3)[listed] = slots[listed]
        self.own[own - end] = slots[own]

    def _visit(self, order: Array, *, learn: bool) -> float:
        """Let every pool's thread visit its own documents; what pays is woken up."""
        if len(self.pools) == 1:
            self._visit_pool(self.pools[0], order, learn=learn)
        else:
            visit = partial(self._visit_pool, learn=learn)
            parts = len(self.pools)
            shares = [order[order % parts == part] for part in range(parts)]
            with ThreadPoolExecutor(parts) as threads:
                list(threads.map(visit, self.pools, shares))
        return float(self.costs.sum(dtype=np.float64))

    def _visit_pool(
        self, pool: Pool, order: Array, *, learn: bool, codes: Ints | None = None
    ) -> None:
        begin = 0
        while begin < len(order):
            rows, layers, duals = self.arrays(pool)
            if codes is not None:
                layers = layers._replace(codes=codes)
            begin = implicit_pass(
                order, begin, rows, layers, duals, (self.W, self.tau), self.naps,
                self.costs, learn,
            )  # fmt: skip
            if begin < len(order):
                self._make_room(pool)


def squares(rows: Rows) -> Floats:
    """‖x_i‖² of each row."""
    owner = np.repeat(np.arange(len(rows)), np.diff(rows.starts))
    weights = rows.values.astype(np.float64) ** 2
    return np.bincount(owner, weights, len(rows)).astype(np.float64)


def _lengths(W: Floats) -> Floats:
    """The length of each column."""
    return np.asarray(np.sqrt(np.einsum("jr,jr->r", W, W, dtype=np.float64)))


def _with_private(
    values: tuple[float, float], *parts: tuple[float, float]
) -> tuple[float, float]:
    """Primal penalty and dual value, with those of the documents' own features."""
    half, dual = values
    for penalty, gain in parts:
        half, dual = half + penalty, dual + gain - penalty
    return half, dual


class ExplicitDual(Dual):
    """min ½‖w − w₀‖² + Σ_g cap_g ξ_g, the groups of each document given as edges.

    rows : documents (n, features);  groups : per document, groups of (init, term);
    caps : C per group, in the same order, documents one after the other;
    shared : W and thresholds of another problem, which has added w₀ already.

    An edge may name the item n_labels, the threshold: its row is the constant 1 in
    place of x, and its weight, ``tau``, is part of w: one, (1,), or, if that is what is
    shared, one per label, (n_labels,): then it is the threshold of the other end.
    noise : as of ``ImplicitDual``.
    """

    def __init__(  # noqa: PLR0913 (what a solver is asked)
        self,
        rows: Rows,
        n_labels: int,
        groups: Sequence[Groups],
        caps: Floats,
        center: Center | None = None,
        shared: tuple[Floats, Floats] | None = None,
        *,
        noise: float = 0.0,
    ) -> None:
        self.rows, self.n_documents, self.noise = rows, len(rows), float(noise)
        self.center = center or Center()
        if shared is None:
            shared = np.zeros((rows.width, n_labels), rows.values.dtype), np.zeros(1)
            self.center.add_to(shared[0])
        self.W, self.tau = shared
        self.squares = squares(rows) + noise
        self.costs = np.zeros(len(rows))
        flat = [group for document in groups for group in document]
        pairs = np.array([e for group in flat for e in group], np.uint32).reshape(-1, 2)
        documents, lists = (np.cumsum([0, *map(len, part)]) for part in (groups, flat))
        self.has_threshold = bool((pairs == n_labels).any())
        if len(self.tau) == n_labels:
            pairs = pairs + np.where(pairs == n_labels, pairs[:, ::-1], 0)
        winners, losers = np.ascontiguousarray(pairs.T.astype(np.uint32))
        self.edges = Edges(documents, lists, winners, losers, caps)
        self.alpha = np.zeros(len(pairs))

    def raise_caps(self, factor: float) -> None:
        """Multiply every C, by 1 or more once there are duals: they stay feasible."""
        self.edges = self.edges._replace(caps=self.edges.caps * factor)

    def values(self) -> tuple[float, float]:
        """½‖w − w₀‖², and the dual value."""
        return _with_private(
            self.center.values(self.W, self.total(), self.tau), self.private()
        )

    def private(self) -> tuple[float, float]:
        """½ noise Σ a², a being the coefficients of documents, and 0."""
        if not self.noise:
            return 0.0, 0.0
        return 0.5 * self.noise * float((self.coefficients() ** 2).sum()), 0.0

    def total(self) -> float:
        """Σα."""
        return float(self.alpha.sum())

    def rebase(self, W: Floats, tau: Floats) -> None:
        """Go on with larger weights, which hold the present ones."""
        before, after = self.W.shape[1], W.shape[1]
        for items in (self.edges.winners, self.edges.losers):
            items[items >= before] += np.uint32(after - before)
        self.W, self.tau = W, tau

    def coefficients(self) -> Floats:
        """Document i's part in w_r is coefficients[i, r] · x_i, shape (n, labels)."""
        return self.parts()[:, : self.W.shape[1]]

    def parts(self) -> Floats:
        """The coefficients, and what each adds to tau, (n, labels + thresholds)."""
        out = np.zeros((self.n_documents, self.W.shape[1] + len(self.tau)))
        edges = self.edges
        group = np.repeat(np.arange(len(edges.caps)), np.diff(edges.edge_starts))
        document = np.searchsorted(edges.group_starts, group, side="right") - 1
        np.add.at(out, (document, edges.winners), self.alpha)
        np.add.at(out, (document, edges.losers), -self.alpha)
        return out

    def _visit(self, order: Array, *, learn: bool) -> float:
        rows = self.rows.starts, self.rows.columns, self.rows.values
        explicit_pass(
            order, rows, self.squares, self.edges, self.alpha, (self.W, self.tau),
            self.costs, self.noise, learn,
        )  # fmt: skip
        return float(self.costs.sum())


class CompositeDual(Dual):
    """The sum of an implicit and an explicit problem over the same weights.

    min ½‖w − w₀‖² + Σ_g cap_g ξ_g, where the groups g of some documents follow from
    layers and those of the others are listed: only these pay for listing.

    implicit, explicit : problems that hold the same array W, w₀ of the first;
    is_listed : bool (n,), which of all documents the second has, in their order.
    """

    def __init__(
        self,
        implicit: ImplicitDual,
        explicit: ExplicitDual,
        is_listed: Bools,
    ) -> None:
        self.implicit, self.explicit = implicit, explicit
        self.is_listed = is_listed
        self.n_documents = len(is_listed)
        self.W, self.tau = implicit.W, explicit.tau
        self.has_threshold = explicit.has_threshold
        self._number = np.where(
            is_listed, np.cumsum(is_listed) - 1, np.cumsum(~is_listed) - 1
        )

    def _visit(self, order: Array, *, learn: bool) -> float:
        listed, number = self.is_listed[order], self._number[order]
        seen = self.implicit._visit(number[~listed], learn=learn)  # noqa: SLF001
        return seen + self.explicit._visit(number[listed], learn=learn)  # noqa: SLF001

    def settle(self) -> None:
        """Make W exactly what the duals of both parts stand for."""
        if len(self.implicit.pools) > 1:
            self.implicit.settle()
            listed, k = self.explicit, self.W.shape[1]
            parts = listed.parts()
            self.W += listed.rows.to_scipy().T @ parts[:, :k]
            if self.implicit.thresholds:
                self.tau += parts[:, k:].sum(axis=0)

    def raise_caps(self, factor: float) -> None:
        """Multiply every C, by 1 or more once there are duals: they stay feasible."""
        self.implicit.raise_caps(factor)
        self.explicit.raise_caps(factor)

    def values(self) -> tuple[float, float]:
        """½‖w − w₀‖², and the dual value."""
        total = self.implicit.total() + self.explicit.total()
        values = self.implicit.center.values(self.W, total, self.tau)
        return _with_private(values, self.implicit.private(), self.explicit.private())

    def coefficients(self) -> Floats:
        """Document i's part in w_r is coefficients[i, r] · x_i, shape (n, labels)."""
        out = np.zeros((self.n_documents, self.W.shape[1]))
        out[~self.is_listed] = self.implicit.coefficients()
        out[self.is_listed] = self.explicit.coefficients()
        return out


LOG = logging.getLogger(__name__)


def fits(rows: Rows, n_labels: int, memory: str | float, *, sparse: bool) -> bool:
    """Whether dense weights take no more than ``memory``; log where they would.

    sparse : whether sparse weights can do the work; else that is a mistake.
    """
    size = rows.width * n_labels * rows.values.itemsize
    if size <= byte_size(memory):
        return True
    message = (
        f"{rows.width} features × {n_labels} labels need {size / 1e9:.3g} GB of "
        f"weights, more than memory={memory!r}"
    )
    if not sparse:
        remedy = "use loss='dom' without kernel and thresholds, or allow more"
        raise TooLittleMemory(f"{message}: {remedy}")
    LOG.info("%s: they are kept sparse", message)
    return False
