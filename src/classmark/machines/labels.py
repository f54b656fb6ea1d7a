"""Very many labels: blocks of them are learned on many machines."""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Sequence
from contextlib import nullcontext
from itertools import accumulate
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeGuard

import numpy as np

from classmark.arrays import (
    Array,
    Rows,
    keep_columns,
    ranges,
    rows_from,
    rows_in,
    stack,
)
from classmark.estimator import TINY
from classmark.index.snapshot import try_lock
from classmark.preferences.labels import levels_from, relevant
from classmark.problems import Mistake
from classmark.progress import spread, spread_by, spreader
from classmark.rankers.preference import PreferenceRanker
from classmark.storage import (
    is_intact,
    make_folder,
    open_folder,
    remove_unfinished,
    save,
    written_beside,
)
from classmark.validation import byte_size

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

    from classmark.progress import Spreader


DOCUMENTS, BLOCK, VERSION = "classmark-documents", "classmark-labels", 1
CHUNK = 1 << 22  # weights looked at together
NOISE = 16.0  # machine epsilons, times a label's largest weight: what is no weight

Span = tuple[int, int]


def keep_documents(folder: Path, rows: Rows, levels: Rows) -> None:
    """Write what all blocks learn from; nothing where it is there and whole."""
    place = folder / "documents"
    if is_intact(place, lambda: open_folder(place, DOCUMENTS, VERSION)):
        return
    arrays = rows.arrays("rows") | levels.arrays("levels")
    widths = {"rows": rows.width, "levels": levels.width}
    _keep(place, DOCUMENTS, arrays, widths)


def learn_block(span: Span, folder: str, parameters: dict[str, Any]) -> None:
    """Learn the labels from the first of ``span`` up to, not with, the second."""
    saved = open_folder(Path(folder) / "documents", DOCUMENTS, VERSION)
    rows, levels = (
        rows_in(saved.arrays, name, saved.settings[name]) for name in ("rows", "levels")
    )
    ranker = PreferenceRanker(**parameters)
    share = _share(levels, span) if ranker.class_weight else 1.0
    ranker.set_params(C=share * parameters["C"])
    ranker.fit(rows, keep_columns(levels, np.arange(*span)))
    seconds, objective, dual = ranker.trace_[-1]
    thresholds = {"thresholds": np.asarray(ranker.thresholds_)}
    facts = {"objective": objective, "dual": dual, "passes": ranker.n_iter_}
    arrays = _sparse(ranker).arrays() | thresholds
    _keep(_place(folder, span), BLOCK, arrays, facts | {"seconds": seconds})


def together_dense(blocks: Sequence[Rows]) -> Array:
    """The weights of all labels, shape (features, labels), the blocks side by side."""
    ends = _ends(blocks)
    whole = np.empty((len(blocks[0]), ends[-1]), blocks[0].values.dtype)
    for block, low, high in zip(blocks, ends, ends[1:], strict=False):
        whole[:, low:high] = block.to_scipy().toarray()
    return whole


def together_sparse(blocks: Sequence[Rows]) -> csr_matrix:
    """The same as a csr matrix; beside it one block is in memory."""
    from scipy.sparse import csr_matrix

    ends = _ends(blocks)
    lengths = sum((np.diff(block.starts) for block in blocks), start=np.int64(0))
    starts = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    small = max(int(starts[-1]), ends[-1]) < 2**31
    columns = np.empty(starts[-1], np.int32 if small else np.int64)
    values = np.empty(starts[-1], blocks[0].values.dtype)
    place = starts[:-1].copy()
    for block, low in zip(blocks, ends, strict=False):
        here = np.diff(block.starts)
        to = ranges(place, here)
        columns[to] = block.columns.astype(columns.dtype) + low
        values[to] = block.values
        place += here
    shape = (len(place), ends[-1])
    return csr_matrix((values, columns, starts.astype(columns.dtype)), shape=shape)


def _ends(blocks: Sequence[Rows]) -> list[int]:
    """The first label of each block, and where the last one ends."""
    return [0, *accumulate(block.width for block in blocks)]


def _share(levels: Rows, span: Span) -> float:
    """By how much "balanced" over all labels is dearer than over those of a block."""
    size = np.bincount(relevant(levels).columns, minlength=levels.width)
    block_sizes = size[slice(*span)]
    if not block_sizes.any():
        return 1.0
    return float(size[size > 0].mean() / block_sizes[block_sizes > 0].mean())


def _sparse(ranker: PreferenceRanker) -> Rows:
    """The weights by feature, without what is rounding."""
    weights = np.asarray(ranker.weights_)
    largest = np.maximum(weights.max(axis=0), -weights.min(axis=0))
    least = NOISE * np.finfo(weights.dtype).eps * largest
    step = max(1, CHUNK // weights.shape[1])
    blocks = (weights[at : at + step] for at in range(0, len(weights), step))
    return stack([rows_from(np.where(np.abs(w) > least, w, 0)) for w in blocks])


def _place(folder: str, span: Span) -> Path:
    return Path(folder) / "block-{:08d}-{:08d}".format(*span)


def _is_learned(folder: str, span: Span) -> bool:
    block = _place(folder, span)
    return is_intact(block, lambda: open_folder(block, BLOCK, VERSION))


def _keep(
    place: Path, format_: str, arrays: dict[str, Array], facts: dict[str, Any]
) -> None:
    """Write a folder whole; of two that write the same at once, one is kept."""
    if not place.exists():
        with written_beside(place) as beside:
            save(beside, format_, VERSION, arrays, facts)


LARGEST, SMALLEST = 256, 16  # labels in a block, where memory allows
PARTS = 16  # blocks that there are at least, where they are not too small
PROCESS = 2.5e8  # bytes of a worker that has learned nothing yet
USED = 0.75  # of a worker's memory


def fit_blocks(
    machines: Spreader | None,
    ranker: PreferenceRanker,
    X: Any,
    Y: Any,
    folder: Path,
    block: int | None = None,
) -> PreferenceRanker:
    """Fit a ranker with the loss "svm" by blocks of labels, each a task.

    As ``ranker.fit(X, Y)``, up to ``tol``: under "svm" each label has a problem of its
    own, in which every document is for it or against it, so that the objectives of the
    blocks sum up to that of all labels, and so do the gaps.

    machines : who learns; None: who was brought by ``spread_by``, or this process.
    folder : one that all machines see; finished blocks are kept there, and the same
    call goes on with the others. It is left as it is in the end: remove it.
    block : labels learned together; None for what the machines' memory allows, 256 at
    most. Weights that take more than the ranker's ``memory`` are a sparse matrix.
    """
    if tied := _tied(ranker):
        raise Mistake(tied)
    machines = machines or spreader()
    rows = rows_from(X)
    levels = levels_from(Y, len(rows))
    if not len(rows) or not levels.width:
        raise Mistake("there is nothing to learn: give documents with labels")
    size = block_size(ranker, rows, levels.width, machines) if block is None else block
    if size < 1:
        raise Mistake(f"block is {block}: give 1 label or more, or None")
    spans = [
        (low, min(low + size, levels.width)) for low in range(0, levels.width, size)
    ]
    parameters = ranker.kept_as[1] | {"n_jobs": 1}
    lock = try_lock(folder)
    if lock is None:
        raise Mistake(
            f"{folder}: another training is at work here: wait for its end, or give "
            "another folder"
        )
    with lock:
        working = _claimed(folder, _fingerprint(rows, levels, parameters, size))
        if machines is not None:
            machines.require_folder(working)
        keep_documents(working, rows, levels)
        left = [span for span in spans if not _is_learned(str(working), span)]
        with nullcontext() if machines is None else spread_by(machines):
            spread(learn_block, left, [str(working), parameters], "blocks of labels")
        return _settled(ranker, spans, str(working))


def has_blocks(ranker: Any) -> TypeGuard[PreferenceRanker]:
    """Whether the labels of a ranker can be learned apart."""
    return not _tied(ranker)


def _tied(ranker: Any) -> str:
    """Why labels cannot be learned apart, and what to do; nothing where they can."""
    if type(ranker) is not PreferenceRanker:
        return (
            f"{type(ranker).__name__} cannot be learned by blocks of labels: use "
            'PreferenceRanker(loss="svm"), or a top-down strategy'
        )
    if ranker.thresholds == "common":
        return "one threshold for all ties labels together: use thresholds='category'"
    if ranker.loss != "svm":
        return (
            f"loss {ranker.loss!r} ties labels together (one slack for several "
            'labels of a document), so they cannot be learned apart: use "svm" '
            "(--loss svm), or a top-down strategy"
        )
    if ranker.kernel is not None:
        return "with a kernel, labels are learned together: use kernel=None"
    return ""


def block_size(
    ranker: PreferenceRanker, rows: Rows, labels: int, machines: Spreader | None
) -> int:
    """How many labels are learned together: up to 256, as far as memory allows.

    A label takes its dense weights, their sparse copy, and a dual for each document; a
    worker takes 0.25 GB, and the documents twice.
    """
    item, width = rows.values.itemsize, rows.width + 1
    most = min(LARGEST, max(SMALLEST, -(-labels // PARTS)))
    most = min(most, int(byte_size(ranker.memory) // (width * item)))
    memory = 0 if machines is None else machines.memory
    if memory:
        each = width * (2 * item + 4) + 1.2 * len(rows) * (item + 4)
        fixed = PROCESS + 2 * rows.nnz * (item + 4) + 64 * len(rows)
        most = min(most, int((USED * memory - fixed) // each))
        if most < 1:
            raise Mistake(
                f"a worker has {memory / 1e9:.2g} GB: to learn a label of {len(rows)} "
                f"documents and {rows.width} features it needs "
                f"{(fixed + each) / USED / 1e9:.2g} GB"
            )
    if most < 1:
        raise Mistake(
            f"memory is {ranker.memory!r}: the weights of one label need "
            f"{width * item / 1e6:.2g} MB"
        )
    return most


def _claimed(folder: Path, name: str) -> Path:
    """The working folder of this task; those of others are removed."""
    for other in folder.glob("labels-*"):
        if other.name != name:
            shutil.rmtree(other)
    working = folder / name
    make_folder(working)
    remove_unfinished(working)
    return working


def _fingerprint(
    rows: Rows, levels: Rows, parameters: dict[str, Any], size: int
) -> str:
    digest = hashlib.blake2b(digest_size=12)
    for array in (*rows.arrays().values(), *levels.arrays().values()):
        digest.update(str(array.dtype).encode())
        digest.update(np.ascontiguousarray(array).data)
    settings = sorted(parameters.items())
    digest.update(repr((rows.width, levels.width, size, settings)).encode())
    return f"labels-{digest.hexdigest()}"


def _settled(
    ranker: PreferenceRanker, spans: list[Span], working: str
) -> PreferenceRanker:
    """Put what the blocks have learned into the ranker, as ``fit`` leaves it."""
    saved = [open_folder(_place(working, span), BLOCK, VERSION) for span in spans]
    blocks = [
        rows_in(each.arrays, "", high - low)
        for each, (low, high) in zip(saved, spans, strict=True)
    ]
    size = len(blocks[0]) * spans[-1][1] * blocks[0].values.itemsize
    dense = size <= byte_size(ranker.memory)
    weights: Any = together_dense(blocks) if dense else together_sparse(blocks)
    ranker.weights_ = weights
    ranker.store_ = "dense" if dense else "sparse"
    ranker.thresholds_ = np.concatenate([each.arrays["thresholds"] for each in saved])
    facts = [each.settings for each in saved]
    objective, dual, seconds = (
        float(sum(fact[name] for fact in facts))
        for name in ("objective", "dual", "seconds")
    )
    ranker.objective_ = objective
    ranker.duality_gap_ = (objective - dual) / max(objective, TINY)
    ranker.n_iter_ = int(max(fact["passes"] for fact in facts))
    ranker.trace_ = [(seconds, objective, dual)]
    ranker.problem_ = ranker.live_ = None
    return ranker
