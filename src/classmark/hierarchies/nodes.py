"""What inner nodes learn over their daughters: by margins, by odds or by counts.

One node at a time, or all of a tree in threads, the largest first.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from classmark.arrays import (
    Array,
    Floats,
    Ints,
    Rows,
    distinct,
    keep_columns,
    read_only,
    with_constant,
)
from classmark.hierarchies.kernels import leaves_before
from classmark.hierarchies.places import Lessons, Nodes, Shape
from classmark.problems import Mistake, TooLittleMemory
from classmark.progress import track
from classmark.rankers.linear import LinearRanker
from classmark.rankers.preference import PreferenceRanker
from classmark.validation import byte_size


def log_odds(rows: Rows, owners: Rows, alpha: float = 1.0) -> tuple[Floats, Floats]:
    """Count: ln p(f|j), shape (features, d), and ln p(j), (d,) [McCallumNigam98].

    p(f|j) = (α + Σ_i x_if) / (α·features + Σ_i Σ_g x_ig) over the documents i of
    daughter j; p(j) = its documents / those of all. A document of several daughters
    counts in each. Every daughter is to have a document.

    >>> from classmark.arrays import rows_from
    >>> rows, owners = rows_from([[3.0, 0.0], [1.0, 1.0]]), rows_from(np.eye(2))
    >>> np.exp(log_odds(rows, owners)[0]).round(2).tolist()
    [[0.8, 0.5], [0.2, 0.5]]
    """
    if not 0 < alpha < np.inf:
        raise Mistake(f"alpha is {alpha}: give a number greater than 0")
    if rows.nnz and rows.values.min() < 0:
        at = int(np.argmax(rows.values < 0))
        row = int(np.searchsorted(rows.starts, at, side="right")) - 1
        raise Mistake(
            f"X, row {row}: a value is below 0, and naive Bayes counts: use weights of "
            "words that are 0 or more, or base='svm'"
        )
    belongs: Any = owners.to_scipy().copy()
    belongs.data = np.ones(owners.nnz)
    counts = (belongs.T @ rows.to_scipy()).toarray().T.astype(np.float64) + alpha
    sizes = np.bincount(owners.columns, minlength=owners.width)
    whole = counts.sum(axis=0) if len(counts) else np.ones(owners.width)
    weights = np.log(counts) - np.log(whole)
    return weights, np.log(sizes) - np.log(sizes.sum())


BASES = ("svm", "logistic", "naive-bayes")
NOWHERE = -1e9  # the score of a daughter that no document belongs to
PASSES = 1000
FEW = 16  # a vocabulary is gone through if values × this many exceed it


class NodeModel(NamedTuple):
    """The score of daughter j is bias[j] + Σ_f x_f · weights[f, j].

    features : uint32, shape (m,), increasing: the columns that have weights;
    weights : shape (m, d), dense or csr, of the kind of the documents' values;
    bias : (d,).
    """

    features: NDArray[np.uint32]
    weights: Any
    bias: Array

    def scores(self, rows: Rows) -> Floats:
        """Score every daughter, shape (n, d); columns without weights count nothing."""
        scores: Any = keep_columns(rows, self.features).to_scipy() @ self.weights
        dense = scores.toarray() if hasattr(scores, "toarray") else scores
        return np.asarray(dense, np.float64) + self.bias


def fit_node(
    rows: Rows,
    owners: Rows,
    base: str = "svm",
    C: float = 1.0,
    tol: float = 1e-2,
    seed: int = 0,
) -> NodeModel:
    """Learn which daughter a document belongs to, from those that belong to some.

    rows : documents (n, features);  owners : (n, d), an entry where the document
    belongs to daughter j; documents of several daughters and of none may be there.

    "svm": ½‖W‖² + C Σ_i max_s (1 − ⟨w_{y_i} − w_s, x_i⟩)₊ [CrammerSinger01], to a
    relative duality gap of ``tol``. "logistic": ½‖W‖² + C Σ_i −ln p(y_i|x_i), to the
    same gap. In both, the bias is the weight of a constant 1, and a document of several
    daughters puts each of them over all that it is not in.
    "naive-bayes": counts smoothed by α = 1/C; ``tol`` and ``seed`` are not used.

    A daughter without documents has no weights and the bias NOWHERE; where fewer than
    two have documents there is nothing to learn, and no feature is kept.

    >>> from classmark.arrays import rows_from
    >>> rows, owners = rows_from([[0.0, 1.0], [1.0, 0.0]]), rows_from(np.eye(2))
    >>> fit_node(rows, owners, "svm", tol=1e-6).weights.round(3).tolist()
    [[-0.5, 0.5], [0.5, -0.5]]
    """
    require(base, C)
    sizes = np.bincount(owners.columns, minlength=owners.width)
    some = np.flatnonzero(sizes)
    kind = rows.values.dtype
    bias = np.where(sizes > 0, 0.0, NOWHERE).astype(kind)
    if len(some) < 2:
        return NodeModel(np.empty(0, np.uint32), np.empty((0, len(bias)), kind), bias)
    features, compact = in_use(rows)
    labels = owners if len(some) == owners.width else keep_columns(owners, some)
    learned, bias[some] = _learned(base, compact, labels, C, tol, seed)
    if len(some) == owners.width:
        return NodeModel(features, learned, bias)
    weights = np.zeros((len(features), owners.width), kind)
    weights[:, some] = learned
    return NodeModel(features, weights, bias)


def fit_margins(rows: Rows, owners: Rows, ranker: LinearRanker) -> NodeModel:
    """Learn "svm" by a ranker, whose weights may be sparse; all daughters have some."""
    features, compact = in_use(rows)
    weights: Any = ranker.fit(with_constant(compact, 1.0), owners).weights_
    last = weights[-1].toarray() if hasattr(weights, "toarray") else weights[-1]
    return NodeModel(features, weights[:-1], np.ravel(last))


def require(base: str, C: float) -> None:
    """Refuse a learner that is not known, and a C that means nothing."""
    if base not in BASES:
        raise Mistake(f"base {base!r} is not known: use {', '.join(BASES)}")
    if not 0 < C < np.inf:
        raise Mistake(f"C is {C}: give a number greater than 0")


def in_use(rows: Rows) -> tuple[NDArray[np.uint32], Rows]:
    """The columns that have values, increasing, and the rows over these alone."""
    number: Array
    if rows.nnz * FEW < rows.width:
        features, number = np.unique(rows.columns, return_inverse=True)
    else:
        used = np.zeros(rows.width, np.bool_)
        used[rows.columns] = True
        features = np.flatnonzero(used).astype(np.uint32)
        number = (np.cumsum(used, dtype=np.uint32) - 1)[rows.columns]
    columns = number.astype(np.uint32, copy=False)
    return features, Rows(rows.starts, columns, rows.values, len(features))


def _learned(
    base: str, rows: Rows, owners: Rows, C: float, tol: float, seed: int
) -> tuple[Array, Array]:
    """Weights (features, daughters) and bias where every daughter has documents."""
    if base == "naive-bayes":
        weights, bias = log_odds(rows, owners, alpha=1.0 / C)
        kind = rows.values.dtype
        return weights.astype(kind, copy=False), bias.astype(kind, copy=False)
    from classmark.solvers.ascent import ascend
    from classmark.solvers.multinomial import OddsDual
    from classmark.solvers.preference import Caps, ImplicitDual

    full, problem = with_constant(rows, 1.0), None
    if base == "svm":
        ones, caps = np.ones(owners.nnz, np.float32), np.full(owners.width, C)
        levels = Rows(owners.starts, owners.columns, ones, owners.width)
        problem = ImplicitDual(full, levels, "dom", Caps(caps, caps))
    W = ascend(problem or OddsDual(full, owners, C), tol, PASSES, seed).weights
    return W[:-1], W[-1]


WEIGHTS_AT_ONCE = 1 << 20  # weights looked at together
SIXTEEN_BITS = 1 << 16  # daughters that 16 bits can tell apart


class NodeWeights(NamedTuple):
    """A node's weights by feature.

    features : uint32 (m,), increasing;  offsets : uint32 (m + 1,): feature ``p`` has
    the entries offsets[p]:offsets[p + 1];  daughter : uint16 or uint32 (entries,);
    weight : float32 (entries,);  bias, slope : float64 (d,): slope_j is added to all
    weights of daughter j;  lost, whole : Σ w² of what was dropped, and of all.
    """

    features: NDArray[np.uint32]
    offsets: NDArray[np.uint32]
    daughter: Array
    weight: NDArray[np.float32]
    bias: Floats
    slope: Floats
    lost: float
    whole: float


def piece_of(
    features: NDArray[np.uint32],
    weights: Any,
    bias: Array,
    base: str,
    drop: float,
) -> NodeWeights:
    """Keep the weights that are more than ``drop`` times the node's largest.

    weights : shape (m, d), dense or csr. In naive Bayes a daughter has the same weight
    for every feature it has never seen: this is its slope, and only what differs from
    it is kept.

    >>> weights = np.array([[1.0, 0.0], [0.1, -2.0]])
    >>> piece = piece_of(np.array([3, 5], np.uint32), weights, np.zeros(2), "svm", 0.1)
    >>> piece.offsets.tolist(), piece.daughter.tolist(), piece.weight.tolist()
    ([0, 1, 2], [0, 1], [1.0, -2.0])
    """
    m, d = weights.shape
    slope = np.zeros(d)
    if base == "naive-bayes" and m:
        slope = weights.min(axis=0).astype(np.float64)
    least = (
        0.0  # of the weights that are kept; without ``drop`` nothing need be looked at
    )
    if drop:
        sizes = (np.abs(w).max(initial=0.0) for _, _, w in _blocks(weights, slope))
        least = drop * max(sizes, default=0.0)
    small: Any = np.uint16 if d <= SIXTEEN_BITS else np.uint32
    entries = [(np.empty(0, small), np.empty(0, np.float32))]
    counts = np.zeros(m, np.int64)
    lost = whole = 0.0
    for rows, columns, values in _blocks(weights, slope):
        size = np.abs(values)
        chosen = size > least
        squares = size * size
        whole += float(squares.sum())
        lost += float(squares[~chosen].sum())
        counts += np.bincount(rows[chosen], minlength=m)
        entries.append(
            (columns[chosen].astype(small), values[chosen].astype(np.float32))
        )
    daughter, weight = (np.concatenate([part[i] for part in entries]) for i in range(2))
    used = np.arange(m) if base == "naive-bayes" else np.flatnonzero(counts)
    offsets = np.zeros(len(used) + 1, np.uint32)
    np.cumsum(counts[used], out=offsets[1:])
    return NodeWeights(
        features[used], offsets, daughter, weight,
        np.asarray(bias, np.float64), slope, lost, whole,
    )  # fmt: skip


def _blocks(weights: Any, slope: Floats) -> Iterator[tuple[Any, Any, Any]]:
    """Rows, columns and values that are not 0, some rows at a time."""
    step = max(1, WEIGHTS_AT_ONCE // max(1, weights.shape[1]))
    for start in range(0, weights.shape[0], step):
        part = weights[start : start + step]
        if hasattr(part, "tocoo"):
            part = part.tocoo()
            yield part.row + start, part.col, part.data.astype(np.float64)
            continue
        flat = np.ravel(part - slope if slope.any() else part)
        places = np.flatnonzero(flat != 0.0)  # of all numbers the quickest to look at
        rows, columns = np.divmod(places, weights.shape[1])
        yield rows + start, columns, flat[places].astype(np.float64)


@dataclass(frozen=True, slots=True)
class NodeSettings:
    """How nodes learn: ``TopDownClassifier`` explains each."""

    base: str
    C: float
    tol: float
    drop: float
    n_jobs: int
    memory: str | float

    def learned_by(self) -> tuple[Any, ...]:
        """What decides the weights."""
        return self.base, float(self.C), float(self.tol), float(self.drop)


def largest_first(nodes: Nodes) -> list[int]:
    """All inner nodes, by what there is to be done: values × daughters."""
    work = nodes.values * nodes.daughters
    return [int(at) for at in np.argsort(-work, kind="stable")]


class NodeTask(NamedTuple):
    """An inner node that is to learn, the bytes it needs, and whether sparse weights.

    Weights that are kept sparse while a node learns need less.
    """

    at: int
    need: float
    sparse: bool


def learned(
    nodes: Nodes, settings: NodeSettings, order: Sequence[int]
) -> Iterator[tuple[int, NodeWeights]]:
    """Learn nodes in ``n_jobs`` threads; a node waits until its memory is free.

    Yields each number and piece as it is done.
    """
    room: float = byte_size(settings.memory)
    limit = f"memory={settings.memory!r}"
    waiting = [plan(nodes, at, settings.base, room, limit) for at in order][::-1]
    running: dict[Future[NodeWeights], NodeTask] = {}
    with ThreadPoolExecutor(settings.n_jobs) as threads:
        while waiting or running:
            while waiting and len(running) < settings.n_jobs:
                if running and waiting[-1].need > room:
                    break
                lesson = waiting.pop()
                room -= lesson.need
                work = threads.submit(
                    learn_node, nodes, lesson.at, settings, sparse=lesson.sparse
                )
                running[work] = lesson
            for work in wait(running, return_when=FIRST_COMPLETED).done:
                lesson = running.pop(work)
                room += lesson.need
                yield lesson.at, work.result()


def plan(nodes: Nodes, at: int, base: str, room: float, limit: str) -> NodeTask:
    """How a node learns within ``room``; ``limit`` names that limit in a message."""
    need = nodes.need(at, base)
    if need > room:
        need = nodes.need(at, base, m=nodes.features(at))
    if need <= room:
        return NodeTask(at, need, sparse=False)
    lean = nodes.need(at, base, sparse=True)
    if base == "svm" and lean <= room:
        return NodeTask(at, lean, sparse=True)
    least, remedy = need, "use base='svm', whose weights can be kept sparse, "
    if base == "svm":
        least, remedy = min(need, lean), "use fewer features, "
    raise TooLittleMemory(
        f"{limit}: the node {nodes.name(at)} with {nodes.daughters[at]} daughters "
        f"needs about {least / 1e9:.2g} GB to learn: {remedy}or allow more"
    )


def learn_node(
    nodes: Lessons, at: int, settings: NodeSettings, *, sparse: bool
) -> NodeWeights:
    """What one inner node learns."""
    rows, owners = nodes.documents(at), nodes.owners(at)
    base, C, tol, drop = settings.learned_by()
    if not sparse:
        return piece_of(*fit_node(rows, owners, base, C, tol), base, drop)
    from scipy.sparse import csr_matrix  # the same, less a part all daughters share

    some = distinct(owners.columns)
    ranker = PreferenceRanker("dom", C, tol, memory="1B")
    features, fitted, learned = fit_margins(rows, keep_columns(owners, some), ranker)
    parts: Any = (fitted.data, some[fitted.indices], fitted.indptr)
    weights = csr_matrix(parts, shape=(len(features), owners.width))
    bias = np.full(owners.width, NOWHERE)
    bias[some] = learned
    return piece_of(features, weights, bias, base, drop)


DOCUMENTS_AT_ONCE = 256  # documents that go down together
NAMES = (
    "starts", "codes", "bias", "slope", "feature_starts", "features", "entry_starts",
    "offsets", "daughter", "weight",
)  # fmt: skip


NOTHING = np.empty(0)


@dataclass(frozen=True, eq=False)
class TrainedNodes:
    """What all nodes have learned.

    arrays : as ``NAMES`` says; ``kernels`` explains them. None is ever written to.
    dropped : the share of Σ w² that was not kept.
    """

    arrays: tuple[Array, ...]
    dropped: float

    @cached_property
    def widest(self) -> int:
        """The most daughters a node has."""
        return int(np.diff(self.arrays[0]).max())

    @cached_property
    def plain(self) -> tuple[Array, ...]:
        """The arrays as plain ndarrays: those of ``np.memmap`` are slower to index."""
        return tuple(array.view(np.ndarray) for array in self.arrays)

    @cached_property
    def _by_code(self) -> tuple[Ints, Ints]:
        """The inner nodes that have each code among their daughters, and the bounds.

        Codes are numbered from that of the root on, the lowest.
        """
        starts, codes = self.plain[:2]
        owner = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
        order = np.argsort(codes, kind="stable")
        every = np.arange(1 - len(starts), codes.max(initial=-1) + 2)
        return np.searchsorted(codes[order], every), owner[order]

    def mothers(self, code: int) -> list[int]:
        """The inner nodes that have a leaf, or an inner node, among their daughters."""
        bounds, owner = self._by_code
        at = code + len(self.plain[0]) - 1
        mothers: list[int] = owner[bounds[at] : bounds[at + 1]].tolist()
        return mothers

    def above(self, leaves: Sequence[int]) -> Ints:
        """The inner nodes on all ways to some leaves, parents first."""
        n_inner = len(self.plain[0]) - 1
        waiting, ancestors = list(leaves), set[int]()
        while waiting:
            for at in self.mothers(waiting.pop()):
                if at not in ancestors:
                    ancestors.add(at)
                    waiting.append(at - n_inner)
        return np.array(sorted(ancestors), np.int64)

    def before(
        self,
        words: Any,
        scale: float,
        standing: tuple[int, float],
        numbers: Ints,
        moved: Floats = NOTHING,
    ) -> int:
        """How many categories are before one: ``leaves_before``.

        standing : its number and its score.
        """
        target, score = standing
        place = score, numbers, int(target), self.widest, moved
        count: int = leaves_before(*words, self.arrays, scale, *place)  # type: ignore[call-arg]
        return count

    def piece(self, at: int) -> NodeWeights:
        """What inner node ``at`` has learned."""
        starts, _, bias, slope, first, features, entry, offsets, daughter, weight = (
            self.plain
        )
        mine = slice(starts[at], starts[at + 1])
        entries = slice(entry[at], entry[at + 1])
        return NodeWeights(
            features[first[at] : first[at + 1]],
            offsets[first[at] + at : first[at + 1] + at + 1],
            daughter[entries], weight[entries], bias[mine], slope[mine], 0.0, 0.0,
        )  # fmt: skip

    def walk(
        self, kernel: Callable[..., None], rows: Rows, options: tuple[Any, ...],
        out: tuple[Array, ...], threads: int,
    ) -> None:  # fmt: skip
        """Let documents go down, in blocks; the kernel fills the rows of ``out``."""

        def one_block(low: int) -> None:
            high = low + DOCUMENTS_AT_ONCE
            kernel(
                rows.starts[low : high + 1], rows.columns, rows.values, self.arrays,
                *options, *(array[low:high] for array in out),
            )  # fmt: skip

        blocks = range(0, len(rows), DOCUMENTS_AT_ONCE)
        if threads == 1 or len(blocks) < 2:
            for low in track(blocks, "documents", len(blocks)):
                one_block(low)
            return
        with ThreadPoolExecutor(threads) as pool:
            for _ in track(pool.map(one_block, blocks), "documents", len(blocks)):
                pass


def gather(shape: Shape, pieces: Sequence[NodeWeights]) -> TrainedNodes:
    """Put the pieces of all inner nodes, in the order of ``shape``, together."""
    whole = sum(piece.whole for piece in pieces)
    lost = sum(piece.lost for piece in pieces)
    joined: dict[str, Any] = {"starts": shape.starts, "codes": shape.codes}
    for name in ("bias", "slope", "features", "offsets", "daughter", "weight"):
        joined[name] = np.concatenate([getattr(piece, name) for piece in pieces])
    for name, part in (("feature_starts", "features"), ("entry_starts", "weight")):
        lengths = [len(getattr(piece, part)) for piece in pieces]
        joined[name] = np.cumsum([0, *lengths]).astype(np.int64)
    arrays = tuple(joined[name] for name in NAMES)
    return TrainedNodes(read_only(arrays), lost / whole if whole else 0.0)


def train(nodes: Nodes, settings: NodeSettings) -> TrainedNodes:
    """Learn all nodes."""
    order = largest_first(nodes)
    pieces = dict(track(learned(nodes, settings, order), "nodes", len(order)))
    return gather(nodes.shape, [pieces[at] for at in range(len(nodes.shape))])
