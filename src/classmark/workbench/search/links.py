"""Rank documents, or the pages of a list of links, by who points to them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from classmark.arrays import Floats
from classmark.formats.text_files import lines
from classmark.language import _, joined, whole
from classmark.links.pagerank import graph_of, graph_of_edges, pagerank
from classmark.problems import UnreadableFile, refusal
from classmark.progress import track
from classmark.ranking import top
from classmark.validation import require_k
from classmark.workbench.results import Cell, Table

if TYPE_CHECKING:
    from classmark.arrays import Rows
    from classmark.index.index import Index
    from classmark.workbench.project import Project


LINKS = "SELECT id, links FROM documents ORDER BY number"


@dataclass(frozen=True, slots=True)
class LinkReader:
    """Who follows the links: how steadily, from where (ids; all, if none), and how."""

    damping: float = 0.85
    home: Sequence[str] = ()
    method: str = "power"


class LinkedDocument(NamedTuple):
    """A document's id and its links."""

    id: str
    links: Sequence[tuple[str, str]]


def rank_documents(project: Project, reader: LinkReader, n: int = 20) -> Table:
    """Rank the documents of a project by their links to each other."""
    require_k(n, "page")
    pages = _pages(project)
    A, ids = graph_of(pages)
    if A.nnz == 0:
        raise refusal(
            "%(name)s: none of its %(n)s documents links to another: import "
            "documents with links, or give the links, one a line",
            name=project.settings.name,
            n=whole(len(ids)),
        )
    n_links = sum(len({to for to, _ in page.links}) for page in pages)
    rows = [
        {**row, "title": project.store.document(str(row["id"])).title}
        for row in _ranked(A, ids, reader, n)
    ]
    title = _("Documents of %(name)s by links", name=project.settings.name)
    return Table(title, rows, _note(A, n_links))


def chances(project: Project, index: Index) -> Floats | None:
    """Return the PageRank of each item of an index; None where nothing links."""
    A, ids = graph_of(_pages(project))
    if A.nnz == 0:
        return None
    ranks = np.ones(index.searcher.n_items)
    for id_, chance in zip(ids, pagerank(A).tolist(), strict=True):
        number = index.number(id_)
        if number is not None:
            ranks[number] = chance
    return ranks


def _pages(project: Project) -> list[LinkedDocument]:
    rows = project.store.run(LINKS)
    return [LinkedDocument(id_, json.loads(links)) for id_, links in rows]


def rank_edges(path: Path, reader: LinkReader, n: int = 20) -> Table:
    """Rank the pages of a file of ``source target`` lines; ``#`` begins a comment."""
    return rank_links(track(_edges(path), f"reading {path}"), reader, n, path)


def rank_links(
    links: Iterable[tuple[str, str]],
    reader: LinkReader,
    n: int = 20,
    path: Path = Path("links"),
) -> Table:
    """Rank the pages of some links, (source, target) each; path : where they are."""
    require_k(n, "page")
    A, ids = graph_of_edges(links)
    if A.nnz == 0:
        raise UnreadableFile(
            path, None, _("no link: give a source and a target a line")
        )
    return Table(f"Pages of {path.name} by links", _ranked(A, ids, reader, n), _note(A))


def _edges(path: Path) -> Iterator[tuple[str, str]]:
    file = lines(path, blank=False)
    for _line, line in file:
        if line.startswith("#"):
            continue
        cells = line.split("\t") if "\t" in line else line.split()
        ends = [cell.strip() for cell in cells]
        if len(ends) != 2 or not all(ends):
            raise file.refusal(
                "%(n)s cells: a link is a source and a target, with a tab or "
                "blanks between",
                n=whole(len(ends)),
            )
        yield ends[0], ends[1]


def _ranked(
    A: Rows, ids: list[str], reader: LinkReader, n: int
) -> list[dict[str, Cell]]:
    home = None
    if reader.home:
        if unknown := [id_ for id_ in reader.home if id_ not in ids]:
            page = unknown[0]
            raise refusal(
                "there is no page %(page)r to personalise for: give its id",
                page=page,
            )
        home = np.isin(ids, reader.home) / len(set(reader.home))
    x = pagerank(A, reader.damping, home, reader.method)
    incoming = np.bincount(A.columns, minlength=len(ids))
    best = top(x, n)
    return [
        {
            "rank": place,
            "id": ids[page],
            "probability": float(x[page]),
            "times the mean": float(x[page] * len(ids)),
            "links in": int(incoming[page]),
            "links out": int(A.starts[page + 1] - A.starts[page]),
        }
        for place, page in enumerate(best.tolist(), 1)
    ]


def _note(A: Rows, n_links: int | None = None) -> str:
    dangling = int((np.diff(A.starts) == 0).sum())
    note = _(
        "%(links)s links between %(pages)s pages, %(without)s of them without links",
        links=whole(A.nnz),
        pages=whole(len(A)),
        without=whole(dangling),
    )
    outside = 0 if n_links is None else n_links - A.nnz
    if not outside:
        return note
    return joined(note, _("%(n)s links lead elsewhere", n=whole(outside)))
