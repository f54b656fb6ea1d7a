"""A trained tree on disk: one folder of arrays that are mapped, not read."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from classmark.hierarchies.descending.trained import NAMES, Trained, read_only
from classmark.hierarchies.places import Places
from classmark.problems import Mistake
from classmark.sparse import Rows
from classmark.storage import open_folder, pack_strings, save, unpack_strings
from classmark.taxonomy.tree import Dummy, Taxonomy

FORMAT, VERSION = "classmark-top-down", 1


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


def open_kept(folder: Path) -> Kept:
    """Open a folder; its arrays are mapped, and read where documents come by.

    Files are compared with their checksums first, which reads each once.
    """
    saved = open_folder(folder, FORMAT, VERSION)
    arrays, settings = saved.arrays, dict(saved.settings)
    texts = unpack_strings(arrays["nodes"], arrays["nodes_ends"])
    nodes = [_read(json.loads(text)) for text in texts]
    edges = [(nodes[u], nodes[v]) for u, v in arrays["edges"].tolist()]
    tree = Taxonomy(edges, nodes=nodes)
    columns = np.array(arrays["labels_columns"])
    starts = np.array(arrays["labels_starts"])
    documents = Rows(starts, columns, np.ones(len(columns)), len(tree.leaf_numbers))
    trained = Trained(
        read_only([arrays[name] for name in NAMES]), settings.pop("dropped")
    )
    given = set(nodes[: settings.pop("given")])
    known = [edge for edge in edges if edge[1] in given]
    taxonomy = Taxonomy(known, nodes=nodes[: len(given)])
    return Kept(taxonomy, Places(tree, documents), trained, settings)


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
