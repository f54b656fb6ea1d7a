"""Very many labels: blocks of them are learned on many machines."""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeGuard

import numpy as np

from classmark.machines.label_block import (
    Span,
    is_learned,
    keep_documents,
    learn_block,
    opened,
    together_dense,
    together_sparse,
)
from classmark.preferences.levels import levels_from
from classmark.problems import Mistake
from classmark.rankers.preference import PreferenceRanker
from classmark.solvers.dual.ascent import TINY
from classmark.solvers.sparse.store import bytes_in
from classmark.sparse import Rows, rows_from
from classmark.spreading import spread, spread_by, spreader
from classmark.storage import make_folder

if TYPE_CHECKING:
    from classmark.spreading import Spreader

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
    """Fit a ranker with the mapping "svm" by blocks of labels, each a task.

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
    parameters = ranker.get_params(deep=False) | {"n_jobs": 1}
    with _alone(folder):
        working = _claimed(folder, _fingerprint(rows, levels, parameters, size))
        if machines is not None:
            machines.require_folder(working)
        keep_documents(working, rows, levels)
        left = [span for span in spans if not is_learned(span, str(working))]
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
            'PreferenceRanker(mapping="svm"), or a top-down strategy'
        )
    if ranker.mapping != "svm":
        return (
            f"mapping {ranker.mapping!r} ties labels together (one slack for several "
            'labels of a document), so they cannot be learned apart: use "svm" '
            "(--cost svm), or a top-down strategy"
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
    most = min(most, int(bytes_in(ranker.memory) // (width * item)))
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


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """Let nobody else learn in the folder: whoever begins removes what others left."""
    import fcntl

    make_folder(folder)
    with (folder / ".lock").open("ab") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise Mistake(
                f"{folder}: another training is at work here: wait for its end, or "
                "give another folder"
            ) from None
        yield


def _claimed(folder: Path, name: str) -> Path:
    """The working folder of this task; those of others are removed."""
    for other in folder.glob("labels-*"):
        if other.name != name:
            shutil.rmtree(other)
    working = folder / name
    make_folder(working)
    for unfinished in working.glob(".*.writing"):
        shutil.rmtree(unfinished)
    return working


def _fingerprint(
    rows: Rows, levels: Rows, parameters: dict[str, Any], size: int
) -> str:
    digest = hashlib.blake2b(digest_size=12)
    for each in (rows, levels):
        for array in (each.starts, each.columns, each.values):
            digest.update(str(array.dtype).encode())
            digest.update(np.ascontiguousarray(array).data)
    said = sorted(parameters.items())
    digest.update(repr((rows.width, levels.width, size, said)).encode())
    return f"labels-{digest.hexdigest()}"


def _settled(
    ranker: PreferenceRanker, spans: list[Span], working: str
) -> PreferenceRanker:
    """Put what the blocks have learned into the ranker, as ``fit`` leaves it."""
    blocks = opened(spans, working)
    width, kind = len(blocks[0].starts) - 1, blocks[0].values.dtype
    dense = width * spans[-1][1] * kind.itemsize <= bytes_in(ranker.memory)
    weights: Any = together_dense(blocks) if dense else together_sparse(blocks)
    ranker.weights_ = weights
    ranker.store_ = "dense" if dense else "sparse"
    ranker.thresholds_ = np.concatenate([block.thresholds for block in blocks])
    facts = [block.facts for block in blocks]
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
