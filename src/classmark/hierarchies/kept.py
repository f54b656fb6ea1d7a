"""A trained tree on disk: one folder of arrays that are mapped, not read."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from classmark.hierarchies.descending.trained import NAMES, Trained, read_only
from classmark.hierarchies.places import Places
from classmark.problems import Mistake
from classmark.sparse import Rows
from classmark.storage import (
    open_folder,
    pack_strings,
    save,
    sync_folder,
    unpack_strings,
)
from classmark.taxonomy.tree import Dummy, Taxonomy

FORMAT, VERSION = "classmark-top-down", 1
AGAIN = "model-again"  # beside a model that it is to replace


class Kept(NamedTuple):
    """What a folder holds.

    taxonomy : as it was given, without dummy leaves;  settings : the classifier's.
    """

    taxonomy: Taxonomy
    places: Places
    trained: Trained
    settings: dict[str, Any]


def keep(folder: Path, kept: Kept) -> None:
    """Write a new folder; it appears whole or not at all."""
    tree, documents = kept.places.tree, kept.places.documents
    number = {node: at for at, node in enumerate(tree.nodes)}
    edges = [(number[u], number[v]) for u, v in tree.edges]
    arrays = kept.trained.named | {
        "edges": np.array(edges, np.int64).reshape(-1, 2),
        "labels_starts": documents.starts,
        "labels_columns": documents.columns,
    }
    arrays["nodes"], arrays["nodes_ends"] = pack_strings(
        [json.dumps(_written(node), ensure_ascii=False) for node in tree.nodes]
    )
    facts = {"dropped": kept.trained.dropped, "given": len(kept.taxonomy)}
    save(folder, FORMAT, VERSION, arrays, {**kept.settings, **facts})


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
