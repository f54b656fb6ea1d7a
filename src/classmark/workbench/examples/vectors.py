"""The documents of a project as vectors, kept from one command to the next."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from classmark.corpus.documents import Document
from classmark.examples import problem as elsewhere
from classmark.formats.records import Record
from classmark.problems import DamagedFolder, Mistake
from classmark.progress import track
from classmark.sparse import Rows
from classmark.storage import (
    Generations,
    SavedFolder,
    open_folder,
    pack_strings,
    save,
    saved_settings,
    unpack_strings,
)
from classmark.text.tokens import fold
from classmark.weighting.vectorizer import Vectorizer

if TYPE_CHECKING:
    from pathlib import Path

    from classmark.machines.cluster import Machines
    from classmark.text.analyzer import Analyzer
    from classmark.workbench.project import Project


FORMAT, VERSION = "classmark vectors", 1
FOLDER = "like"
WEIGHTING = "log-tfidf"
KEPT = 1
_RUN = re.compile(r"[^\W_]+")
STATE = """
SELECT count(*), coalesce(max(number), 0),
  (SELECT coalesce(max(seq), 0) FROM events WHERE what = 'imported')
FROM documents
"""


class DocumentVectors(NamedTuple):
    """The vectors, the document of each row, and what makes texts such vectors.

    rows : float32, one a document in order of arrival, unit length.
    """

    rows: Rows
    ids: list[str]
    vectorizer: Vectorizer


class SpreadVectors(NamedTuple):
    """The same with rows that machines have; what texts become is at hand."""

    rows: elsewhere.Collection
    ids: list[str]
    vectorizer: Vectorizer


def spread_vectors(project: Project, machines: Machines) -> SpreadVectors:
    """All documents of a project as vectors, each machine having some of them."""
    from classmark.machines.portion import SavedRows, shares
    from classmark.machines.rows import SpreadRows

    machines.require_folder(project.folder)
    generations, state = Generations(project.folder / FOLDER), state_of(project)
    current = generations.current()
    if current is None or _saved(current, state) is None:
        vectors_of(project)
        current = generations.current()
    saved = None if current is None else _saved(current, state)
    if current is None or saved is None:
        raise Mistake(f"documents came to {project.folder} meanwhile: repeat this")
    ids = unpack_strings(saved.arrays["ids"], saved.arrays["ids_ends"])
    where = str(current.absolute())
    sources = [
        SavedRows(where, FORMAT, VERSION, *share)
        for share in shares(len(ids), machines.workers)
    ]
    vectorizer = Vectorizer.from_arrays(saved.arrays, saved.settings["vectorizer"])
    return SpreadVectors(SpreadRows(machines, sources), ids, vectorizer)


def vectors_of(project: Project) -> DocumentVectors:
    """All documents of a project as vectors; made anew when documents changed."""
    vectors = saved_vectors(project)
    if vectors is not None:
        return vectors
    generations, state = Generations(project.folder / FOLDER), state_of(project)
    vectors = _computed(project)
    folder = generations.next()
    folder.parent.mkdir(exist_ok=True)
    _save(vectors, folder, state)
    generations.put_in_service(folder)
    generations.drop_old(KEPT)
    return vectors


def saved_vectors(project: Project) -> DocumentVectors | None:
    """The vectors that were made before; None where documents changed since."""
    current = Generations(project.folder / FOLDER).current()
    saved = None if current is None else _saved(current, state_of(project))
    if saved is None:
        return None
    arrays = saved.arrays
    starts, columns, values = (
        np.array(arrays[name]) for name in ("starts", "columns", "values")
    )
    return DocumentVectors(
        Rows(starts, columns, values, saved.settings["width"]),
        unpack_strings(arrays["ids"], arrays["ids_ends"]),
        Vectorizer.from_arrays(arrays, saved.settings["vectorizer"]),
    )


def are_saved(project: Project) -> bool:
    """Whether the vectors were made before, of the documents there are now."""
    current = Generations(project.folder / FOLDER).current()
    if current is None:
        return False
    return bool(saved_settings(current).get("state") == state_of(project))


def words_behind(text: str, analyzer: Analyzer) -> dict[str, str]:
    """Term → the first word of a text that became it: what people recognise.

    Words are told apart by a pattern here, which is quick; of scripts without blanks
    the terms are not in the answer, and are shown as they are.

    >>> from classmark.text.analyzer import Analyzer
    >>> words_behind("Libraries lend books", Analyzer())["librari"]
    'libraries'
    """
    tokens = list(dict.fromkeys(_RUN.findall(fold(text))))
    terms = analyzer.terms(tokens)
    return dict(zip(reversed(terms), reversed(tokens), strict=True))


def rows_of_texts(
    project: Project,
    vectors: DocumentVectors | SpreadVectors,
    texts: Mapping[str, str],
) -> Rows:
    """The vectors of texts by name; each must share a word with the documents."""
    rows = vectors.vectorizer.rows(texts.values())
    empty = np.diff(rows.starts) == 0
    if empty.any():
        raise Mistake(
            f"example {list(texts)[int(np.argmax(empty))]}: none of its words is in "
            f"the documents of {project.folder}: give another"
        )
    return rows


def state_of(project: Project) -> dict[str, Any]:
    """What the vectors depend on."""
    text = project.settings.text
    return {
        "documents": list(project.store.run(STATE).fetchone()),
        "analyzer": text.analyzer,
        "fields": list(text.fields),
        "weighting": WEIGHTING,
    }


def _computed(project: Project) -> DocumentVectors:
    ids: list[str] = []

    def texts() -> Iterator[str]:
        rows = project.store.run("SELECT id, fields FROM documents ORDER BY number")
        for id_, fields in track(rows, "reading the documents"):
            ids.append(id_)
            yield project.text_of(Record(Document(id_, json.loads(fields))))

    if not project.store.run("SELECT 1 FROM documents LIMIT 1").fetchone():
        raise Mistake(
            f"{project.folder} has no documents: import some (classmark import FILE)"
        )
    vectorizer = Vectorizer(project.settings.text.analyzer, WEIGHTING)
    X = vectorizer.fit_transform(texts())
    rows = Rows(
        X.indptr.astype(np.int64), X.indices.astype(np.uint32), X.data, X.shape[1]
    )
    return DocumentVectors(rows, ids, vectorizer)


def _save(vectors: DocumentVectors, folder: Path, state: dict[str, Any]) -> None:
    arrays, settings = vectors.vectorizer.to_arrays()
    blob, ends = pack_strings(vectors.ids)
    rows = vectors.rows
    arrays |= {"starts": rows.starts, "columns": rows.columns, "values": rows.values}
    arrays |= {"ids": blob, "ids_ends": ends}
    described = {"state": state, "vectorizer": settings, "width": rows.width}
    save(folder, FORMAT, VERSION, arrays, described)


def _saved(folder: Path, state: dict[str, Any]) -> SavedFolder | None:
    """Open the saved arrays; None where they are of another state."""
    try:
        saved = open_folder(folder, FORMAT, VERSION)
    except DamagedFolder as problem:
        raise DamagedFolder(
            f"{problem}; here it is enough to remove {folder.parent}: it is made anew "
            "from the documents"
        ) from problem
    return saved if saved.settings["state"] == state else None
