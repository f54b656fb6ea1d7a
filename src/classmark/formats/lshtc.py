"""LSHTC: the large-scale hierarchical text classification challenges' files.

Vectors are LIBSVM lines, from the second challenge on with several labels
(``12, 7 5:1``); feature 0 is internal and left out. ``cat_hier.txt`` holds paths from
the root to a leaf, later parent–child pairs: both are chains of categories.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from classmark.formats.examples import Examples
from classmark.formats.svmlight import read_svmlight
from classmark.formats.text_files import lines
from classmark.problems import Mistake, UnreadableFile
from classmark.sparse import keep_columns
from classmark.taxonomy.tree import Taxonomy

if TYPE_CHECKING:
    from pathlib import Path


def read_lshtc(path: Path | str, *, width: int | None = None) -> Examples:
    """Read document vectors, or ``classDescr.txt``, whose labels are the categories.

    Feature number f becomes column f − 1; width : the number of columns, feature 0 not
    counted.
    """
    inside = None if width is None else width + 1
    examples = read_svmlight(path, first_index=0, width=inside)
    rows = examples.rows
    return Examples(
        keep_columns(rows, np.arange(min(1, rows.width), rows.width)), examples.labels
    )


def read_hierarchy(path: Path | str) -> Taxonomy:
    """Read ``cat_hier.txt``: each category is below the one before it in its line."""
    edges: dict[tuple[str, str], int] = {}
    nodes: dict[str, None] = {}
    for number, line in lines(path):
        chain = line.split()
        if len(chain) == 1:
            raise UnreadableFile(
                path, number, "one category alone: give a path, or a parent and a child"
            )
        nodes.update(dict.fromkeys(chain))
        for at in range(1, len(chain)):
            edges.setdefault((chain[at - 1], chain[at]), number)
    try:
        return Taxonomy(edges, nodes=nodes)
    except Mistake as mistake:
        raise UnreadableFile(path, None, str(mistake)) from mistake
