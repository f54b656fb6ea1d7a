"""Words and meaning in one order: whose vectors they are, and how both are fused.

Which stored vector is that of which document of an index is looked up by the texts, and
stored beside the index: to read every text takes seconds where there are a million.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from itertools import chain
from typing import TYPE_CHECKING, Any, NamedTuple
from zlib import crc32

import numpy as np

from classmark.index.dense import DenseIndex
from classmark.index.fusion import dense_index
from classmark.language import _, whole
from classmark.problems import Mistake, refusal, worded
from classmark.storage import Generations, make_folder, open_folder, save
from classmark.workbench.meaning import document_texts, vectors_folder

if TYPE_CHECKING:
    from classmark.index.index import Index
    from classmark.meaning.vector_file import VectorFile
    from classmark.workbench.project import Project
    from classmark.workbench.settings import SearchSettings

FORMAT, VERSION = "classmark vectors by document", 1
FOLDER, GRAPH = "vectors", "graph"  # beside the index's generations, the vectors
NO, AUTO, WEIGHT, RANKS = "no", "auto", "weight", "ranks"
MOST_MISSING = 0.1  # of the documents may lack a vector for ``auto`` to fuse
PATIENCE = 20  # times what a look-up took, until the next
FUSED, ALONE = "ranked by words and meaning", "ranked by words alone"
NEARLY = "; by meaning, most of the nearest are looked at, not all"


class Fusion(NamedTuple):
    """How meaning is to count beside words.

    weight : of meaning; None: by reciprocal ranks;  required : whether words alone are
    no answer;  missing : the share of documents that may lack a vector.
    """

    weight: float | None
    required: bool
    missing: float = 1.0


def fusion_from(text: str | None, settings: SearchSettings) -> Fusion | None:
    """Read ``no``, ``auto``, ``weight``, ``ranks`` or a weight; None for words alone.

    text : as typed; None: as the settings have it, which words alone may answer, too.

    >>> from classmark.workbench.settings import SearchSettings
    >>> fusion_from("1.5", SearchSettings())
    Fusion(weight=1.5, required=True, missing=1.0)
    """
    name = settings.hybrid if text is None else text
    if name == NO:
        return None
    if name == AUTO:
        return Fusion(settings.meaning_weight, False, MOST_MISSING)
    if name in {WEIGHT, RANKS}:
        weight = settings.meaning_weight if name == WEIGHT else None
        return Fusion(weight, text is not None)
    try:
        weight = float(name)
    except ValueError:
        weight = -1.0
    if not 0.0 <= weight < np.inf:
        raise refusal(
            "%(remedy)s %(name)r: write %(no)s, %(auto)s, %(weight)s, %(ranks)s, "
            "or what meaning counts, as 2",
            remedy=worded("--hybrid"),
            name=name,
            no=NO,
            auto=AUTO,
            weight=WEIGHT,
            ranks=RANKS,
        )
    return Fusion(weight, required=True)


class IndexVectors(NamedTuple):
    """The vectors of an index's documents, and how many of these have none."""

    dense: DenseIndex
    documents: int
    missing: int

    @property
    def usable(self) -> DenseIndex | None:
        """The vectors, if some document has one."""
        return self.dense if self.missing < self.documents else None

    @property
    def note(self) -> str:
        """How many documents have no vector yet, and the remedy; "": none."""
        if not self.missing:
            return ""
        return _(
            "%(missing)s of %(n)s documents have no vector yet: %(remedy)s",
            missing=whole(self.missing),
            n=whole(self.documents),
            remedy=worded("classmark meaning compute computes what is missing"),
        )


def index_vectors(project: Project, index: Index) -> IndexVectors | None:
    """The stored vectors of an index's documents; None for words alone."""
    vectors = project.meaning()
    if vectors is None:
        return None
    rows = _stored_rows(project, index, vectors)
    if rows is None:
        texts = chain.from_iterable(document_texts(project))
        dense = dense_index(index, texts, vectors)
        _store_rows(project, index, vectors, dense)
    else:
        dense = DenseIndex(vectors.table, rows, source=vectors)
    if project.settings.search.approximate:
        dense = dense.approximate(vectors.folder / GRAPH)
    absent, alive = np.asarray(dense.rows) < 0, index.searcher.alive
    if len(alive):
        absent = absent[alive]
    return IndexVectors(dense, len(absent), int(absent.sum()))


def _state(project: Project, index: Index, vectors: VectorFile) -> dict[str, Any]:
    """What the rows depend on; keys : which text each vector is of, in their order."""
    keys = vectors.folder / "keys"
    return {
        "generation": index.generation,
        "digest": vectors.digest,
        "vectors": len(vectors),
        "keys": crc32(keys.read_bytes()) if keys.exists() else 0,
        "fields": list(project.settings.text.fields),
    }


def _stored_rows(project: Project, index: Index, vectors: VectorFile) -> Any:
    """The row of each document's vector, if it was stored for what there is now."""
    folder = Generations(project.index.folder / FOLDER).current()
    if folder is None:
        return None
    saved = open_folder(folder, FORMAT, VERSION)
    is_current = saved.settings == _state(project, index, vectors)
    return saved.arrays["rows"] if is_current else None


def _store_rows(
    project: Project, index: Index, vectors: VectorFile, dense: DenseIndex
) -> None:
    """Store the rows for the next command, where this user may write."""
    generations = Generations(project.index.folder / FOLDER)
    if not os.access(project.index.folder, os.W_OK):
        return
    make_folder(generations.folder)
    place, rows = generations.next(), np.asarray(dense.rows)
    save(place, FORMAT, VERSION, {"rows": rows}, _state(project, index, vectors))
    generations.put_in_service(place)
    generations.drop_old(1)


class VectorCache:
    """The vectors of one index, looked up again where missing ones may have come."""

    def __init__(self) -> None:
        self._cached: IndexVectors | None = None
        self._key: tuple[Any, ...] = ()
        self._size, self._next = 0, 0.0

    def get(self, project: Project, index: Index) -> IndexVectors | None:
        """As :func:`index_vectors`; while many come, not anew for each of them."""
        vectors = project.meaning()
        if vectors is None:
            return None
        settings = project.settings
        key = settings.meaning, settings.text.fields, settings.search.approximate
        size, cached = vectors.size, self._cached
        if cached is not None and self._key == key:
            grown = cached.missing and size != self._size
            if not grown or time.monotonic() < self._next:
                return cached
        begin = time.monotonic()
        self._cached = index_vectors(project, index)
        end = time.monotonic()
        self._key, self._size = key, size
        self._next = end + PATIENCE * (end - begin)
        return self._cached


class Fused(NamedTuple):
    """Vectors to be fused with words, and how; notes : what to say of it."""

    dense: DenseIndex
    weight: float | None
    required: bool
    notes: tuple[str, ...]


def fused_with(
    project: Project,
    wish: str | None,
    look_up: Callable[[], IndexVectors | None],
) -> tuple[Fused | None, tuple[str, ...]]:
    """What words are fused with, None for words alone; and what to say of that.

    wish : as typed;  look_up : gives the documents' vectors. What was asked for by name
    and cannot be done is refused.
    """
    fusion = fusion_from(wish, project.settings.search)
    has_source = project.settings.meaning.source != "none"
    if fusion is None or (fusion.missing < 1.0 and not has_source):
        return None, ()
    try:
        fused = to_be_fused(project, fusion, look_up)
    except Mistake as problem:
        if fusion.required:
            raise
        return None, (alone(problem),)
    return fused, fused.notes


def alone(problem: Mistake) -> str:
    """Why words alone rank."""
    return f"{ALONE}: {getattr(problem, 'line', None) or problem}"


def to_be_fused(
    project: Project, fusion: Fusion, look_up: Callable[[], IndexVectors | None]
) -> Fused:
    """The vectors to be fused with words, or an error with its remedy."""
    vectors, choose = project.meaning(), worded("(classmark meaning set SOURCE)")
    if vectors is not None and vectors.imported:
        raise refusal(
            "the vectors are your own, and a query has none: choose others %(choose)s",
            choose=choose,
        )
    found = look_up()
    if found is None:
        raise refusal(
            "the project has no source of vectors: choose one %(choose)s",
            choose=choose,
        )
    most = min(fusion.missing * found.documents, found.documents - 1)
    if found.missing and found.missing > most:
        raise Mistake(found.note)
    how = FUSED + (NEARLY if project.settings.search.approximate else "")
    notes = (how, *([found.note] if found.missing else []))
    return Fused(found.dense, fusion.weight, fusion.required, notes)


def has_vectors(project: Project) -> bool:
    """Whether some vectors are stored that a query can be compared with.

    Their source is not opened: it may be a server that does not answer.
    """
    settings = project.settings.meaning
    if settings.source in {"none", "own"}:
        return False
    keys = vectors_folder(project.folder, settings) / "keys"
    return keys.exists() and keys.stat().st_size > 0
