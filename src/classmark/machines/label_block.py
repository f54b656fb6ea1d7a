"""A block of labels: learned from all documents, kept as a folder, put with others."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from contextlib import suppress
from itertools import accumulate
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple
from uuid import uuid4

import numpy as np
from numpy.typing import NDArray

from classmark.arrays import Array, Ints
from classmark.preferences.levels import relevant
from classmark.problems import DamagedFolder
from classmark.rankers.preference import PreferenceRanker
from classmark.sparse import Rows, keep_columns
from classmark.storage import Saved, open_folder, save, sync_folder

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

DOCUMENTS, BLOCK, VERSION = "classmark-documents", "classmark-labels", 1
CHUNK = 1 << 22  # weights looked at together
NOISE = 16.0  # machine epsilons, times a label's largest weight: what is no weight

Span = tuple[int, int]


class Learned(NamedTuple):
    """A block as it was kept.

    starts, columns, values : the weights by feature, columns from 0;  thresholds : of
    each label;  facts : objective, dual (at most the optimum), passes, seconds.
    """

    starts: Ints
    columns: NDArray[np.uint32]
    values: Array
    thresholds: Array
    facts: dict[str, float]


def keep_documents(folder: Path, rows: Rows, levels: Rows) -> None:
    """Write what all blocks learn from; nothing where it is there and whole."""
    place = folder / "documents"
    if _is_whole(place, DOCUMENTS):
        return
    arrays = {
        f"{name}_{part}": getattr(each, part)
        for name, each in (("rows", rows), ("levels", levels))
        for part in ("starts", "columns", "values")
    }
    widths = {"rows": rows.width, "levels": levels.width}
    _keep(place, DOCUMENTS, arrays, widths)


def learn_block(span: Span, folder: str, parameters: dict[str, Any]) -> None:
    """Learn the labels from the first of ``span`` up to, not with, the second."""
    saved = open_folder(Path(folder) / "documents", DOCUMENTS, VERSION)
    rows, levels = (_rows_of(saved, name) for name in ("rows", "levels"))
    ranker = PreferenceRanker(**parameters)
    ranker.C *= _share(levels, span) if ranker.class_weight else 1.0
    ranker.fit(rows, keep_columns(levels, np.arange(*span)))
    seconds, objective, dual = ranker.trace_[-1]
    arrays = dict(zip(("starts", "columns", "values"), _sparse(ranker), strict=True))
    arrays["thresholds"] = np.asarray(ranker.thresholds_)
    facts = {"objective": objective, "dual": dual, "passes": ranker.n_iter_}
    _keep(_place(folder, span), BLOCK, arrays, facts | {"seconds": seconds})


def is_learned(span: Span, folder: str) -> bool:
    """Whether a block is there and whole; what is damaged is removed."""
    return _is_whole(_place(folder, span), BLOCK)


def opened(spans: Sequence[Span], folder: str) -> list[Learned]:
    """The blocks, compared with their checksums, and mapped."""
    found = []
    for span in spans:
        saved = open_folder(_place(folder, span), BLOCK, VERSION)
        found.append(Learned(**saved.arrays, facts=saved.settings))
    return found


def together_dense(blocks: Sequence[Learned]) -> Array:
    """The weights of all labels, shape (features, labels), the blocks side by side."""
    from scipy.sparse import csr_matrix

    ends = _ends(blocks)
    height = len(blocks[0].starts) - 1
    whole = np.empty((height, ends[-1]), blocks[0].values.dtype)
    step = max(1, CHUNK // ends[-1])
    for top in range(0, height, step):
        for block, low, high in zip(blocks, ends, ends[1:], strict=False):
            starts = block.starts[top : top + step + 1]
            mine = slice(starts[0], starts[-1])
            columns = block.columns[mine].view(np.int32)
            parts = (block.values[mine], columns, starts - starts[0])
            some = csr_matrix(parts, (len(starts) - 1, high - low))
            whole[top : top + step, low:high] = some.toarray()
    return whole


def together_sparse(blocks: Sequence[Learned]) -> csr_matrix:
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
        to = np.repeat(place - block.starts[:-1], here) + np.arange(block.starts[-1])
        columns[to] = block.columns.astype(columns.dtype) + low
        values[to] = block.values
        place += here
    shape = (len(place), ends[-1])
    return csr_matrix((values, columns, starts.astype(columns.dtype)), shape=shape)


def _ends(blocks: Sequence[Learned]) -> list[int]:
    """Where each block begins, and where the last one ends."""
    return [0, *accumulate(len(block.thresholds) for block in blocks)]


def _rows_of(saved: Saved, name: str) -> Rows:
    starts, columns, values = (
        saved.arrays[f"{name}_{part}"] for part in ("starts", "columns", "values")
    )
    return Rows(starts, columns, values, saved.settings[name])


def _share(levels: Rows, span: Span) -> float:
    """By how much "balanced" over all labels is dearer than over those of a block."""
    size = np.bincount(relevant(levels).columns, minlength=levels.width)
    own = size[slice(*span)]
    if not own.any():
        return 1.0
    return float(size[size > 0].mean() / own[own > 0].mean())


def _sparse(ranker: PreferenceRanker) -> tuple[Array, ...]:
    """The weights by feature, without what is rounding: starts, columns, values."""
    weights = np.asarray(ranker.weights_)
    largest = np.maximum(weights.max(axis=0), -weights.min(axis=0))
    least = NOISE * np.finfo(weights.dtype).eps * largest
    step = max(1, CHUNK // weights.shape[1])
    lengths, columns, values = [], [], []
    for start in range(0, len(weights), step):
        some = weights[start : start + step]
        kept = np.abs(some) > least
        places = np.flatnonzero(kept)
        lengths.append(kept.sum(axis=1))
        columns.append((places % weights.shape[1]).astype(np.uint32))
        values.append(some.reshape(-1)[places])
    starts = np.concatenate([[0], np.cumsum(np.concatenate(lengths))])
    return starts.astype(np.int64), np.concatenate(columns), np.concatenate(values)


def _place(folder: str, span: Span) -> Path:
    return Path(folder) / "block-{:08d}-{:08d}".format(*span)


def _is_whole(place: Path, format_: str) -> bool:
    """Whether a folder is there and whole; what is damaged is removed."""
    if not place.exists():
        return False
    try:
        open_folder(place, format_, VERSION)
    except DamagedFolder:
        shutil.rmtree(place)
        return False
    return True


def _keep(
    place: Path, format_: str, arrays: dict[str, Array], facts: dict[str, Any]
) -> None:
    """Write a folder whole; of two that write the same at once, one is kept."""
    if place.exists():
        return
    beside = place.parent / f".{place.name}.{uuid4().hex}.writing"
    try:
        save(beside, format_, VERSION, arrays, facts)
        with suppress(FileExistsError):
            _rename(beside, place)
    finally:
        shutil.rmtree(beside, ignore_errors=True)


def _rename(beside: Path, place: Path) -> None:
    try:
        beside.rename(place)
    except OSError as problem:
        if place.exists():
            raise FileExistsError from problem
        raise
    sync_folder(place.parent)
