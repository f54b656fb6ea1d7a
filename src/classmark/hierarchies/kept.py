"""A trained tree on disk: one folder of arrays that are mapped, not read."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from classmark.arrays import Array
from classmark.hierarchies.descending.pieces import MOST, Piece
from classmark.hierarchies.descending.shape import Shape
from classmark.hierarchies.descending.trained import NAMES, Trained, read_only
from classmark.hierarchies.places import Places
from classmark.problems import Mistake
from classmark.sparse import Rows
from classmark.storage import (
    FolderWriter,
    open_folder,
    pack_strings,
    save,
    sync_folder,
    unpack_strings,
)
from classmark.taxonomy.tree import Dummy, Taxonomy

FORMAT, VERSION = "classmark-top-down", 1
PIECEWISE = ("bias", "slope", "features", "offsets", "weight")
AGAIN = "model-again"  # beside a model that it is to replace


class Kept(NamedTuple):
    """What a folder holds.

    taxonomy : as it was given, without dummy leaves;  settings : the classifier's.
    """

    taxonomy: Taxonomy
    places: Places
    trained: Trained
    settings: dict[str, Any]


class Short(NamedTuple):
    """The arrays that grow with the nodes alone, and the share of Σ w² dropped."""

    arrays: dict[str, Array]
    dropped: float


def keep(folder: Path, kept: Kept) -> None:
    """Write a new folder; it appears whole or not at all."""
    arrays = kept.trained.named | _about(kept)
    save(folder, FORMAT, VERSION, arrays, _facts(kept, kept.trained.dropped))


def keep_pieces(
    folder: Path, kept: Kept, shape: Shape, pieces: Iterable[Piece]
) -> None:
    """Write the same from the pieces of all inner nodes, one after the other.

    No more than one piece is in memory; what ``kept`` says is trained is not looked at.
    """
    writer = FolderWriter(folder)
    try:
        sums = _append(writer, shape, pieces)
        for name, array in (_about(kept) | sums.arrays).items():
            writer.put(name, array)
        writer.close(FORMAT, VERSION, _facts(kept, sums.dropped))
    except BaseException:
        writer.discard()
        raise


def _append(writer: FolderWriter, shape: Shape, pieces: Iterable[Piece]) -> Short:
    """Write what is long; return what is short, and the share that was dropped."""
    small = np.dtype(np.uint16 if shape.widest <= MOST else np.uint32)
    features, entries, lost, whole = [0], [0], 0.0, 0.0
    for piece in pieces:
        for name in PIECEWISE:
            writer.append(name, getattr(piece, name))
        writer.append("daughter", piece.daughter.astype(small, copy=False))
        features.append(features[-1] + len(piece.features))
        entries.append(entries[-1] + len(piece.weight))
        lost, whole = lost + piece.lost, whole + piece.whole
    arrays = {
        "starts": shape.starts, "codes": shape.codes,
        "feature_starts": np.array(features, np.int64),
        "entry_starts": np.array(entries, np.int64),
    }  # fmt: skip
    return Short(arrays, lost / whole if whole else 0.0)


def keep_again(folder: Path, kept: Kept) -> None:
    """Put a model in the place of ``folder / "model"``; ``tidy`` ends it if killed."""
    keep(folder / AGAIN, kept)
    (folder / "model").rename(folder / ".model.replaced.writing")
    tidy(folder)


def tidy(folder: Path) -> None:
    """Remove or complete what a process that was killed has left."""
    model, again = folder / "model", folder / AGAIN
    if again.exists() and not model.exists():
        again.rename(model)
    for left in (again, *folder.glob(".*.writing")):
        if left.exists():
            shutil.rmtree(left)
    if model.exists():
        sync_folder(folder)


def open_kept(folder: Path) -> Kept:
    """Open a folder; its arrays are mapped, and read where documents come by.

    Files are compared with their checksums first, which reads each once.
    """
    saved = open_folder(folder, FORMAT, VERSION)
    arrays, settings = saved.arrays, dict(saved.settings)
    texts = unpack_strings(arrays["nodes"], arrays["nodes_ends"])
    nodes = [_read(node) for node in json.loads(f"[{','.join(texts)}]")]
    edges = [(nodes[u], nodes[v]) for u, v in arrays["edges"].tolist()]
    tree = Taxonomy(edges, nodes=nodes)
    columns = np.array(arrays["labels_columns"])
    starts = np.array(arrays["labels_starts"])
    documents = Rows(starts, columns, np.ones(len(columns)), len(tree.leaf_numbers))
    trained = Trained(
        read_only([arrays[name] for name in NAMES]), settings.pop("dropped")
    )
    given = settings.pop("given")
    taxonomy = tree if given == len(nodes) else _without(edges, nodes[:given])
    return Kept(taxonomy, Places(tree, documents), trained, settings)


def _about(kept: Kept) -> dict[str, Array]:
    """The tree and where documents stand in it."""
    tree, documents = kept.places.tree, kept.places.documents
    number = {node: at for at, node in enumerate(tree.nodes)}
    edges = [(number[u], number[v]) for u, v in tree.edges]
    nodes, ends = pack_strings(
        [json.dumps(_written(node), ensure_ascii=False) for node in tree.nodes]
    )
    return {
        "edges": np.array(edges, np.int64).reshape(-1, 2),
        "labels_starts": documents.starts,
        "labels_columns": documents.columns,
        "nodes": nodes,
        "nodes_ends": ends,
    }


def _facts(kept: Kept, dropped: float) -> dict[str, Any]:
    return {**kept.settings, "dropped": dropped, "given": len(kept.taxonomy)}


def _without(edges: list[tuple[Any, Any]], given: list[Any]) -> Taxonomy:
    """The tree of the given nodes alone."""
    kept = set(given)
    return Taxonomy([edge for edge in edges if edge[1] in kept], nodes=given)


def _written(node: Any) -> Any:
    """A category's name as JSON."""
    if isinstance(node, Dummy):
        return {"dummy": _written(node.of)}
    if isinstance(node, tuple):
        return {"tuple": [_written(part) for part in node]}
    if isinstance(node, np.generic):
        return node.item()
    if node is None or isinstance(node, str | int | float):
        return node
    raise Mistake(
        f"taxonomy: the category {node!r} cannot be saved: name categories by text, "
        "numbers or tuples of them"
    )


def _read(written: Any) -> Any:
    if not isinstance(written, dict):
        return written
    if "dummy" in written:
        return Dummy(_read(written["dummy"]))
    return tuple(_read(part) for part in written["tuple"])
