"""The documents of a project as vectors, kept from one command to the next."""

from __future__ import annotations

import json
import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeVar

import numpy as np

from classmark import storage
from classmark.arrays import PARTS, Floats, Rows, keep_columns, rows_from, rows_in
from classmark.corpus.documents import Document
from classmark.corpus.runs import RUN
from classmark.examples.problem import Collection
from classmark.formats.records import Record
from classmark.language import _
from classmark.problems import DamagedFolder, refusal, worded
from classmark.progress import track
from classmark.text import fold
from classmark.weighting.vectorizer import Vectorizer
from classmark.workbench.meaning import require_vectors

if TYPE_CHECKING:
    from classmark.machines.cluster import Machines
    from classmark.text import Analyzer
    from classmark.workbench.project import Project


FORMAT, VERSION = "classmark vectors", 1
WORDS, RUNS = "like", "screen"  # folders: words alone, and all that training reads
WEIGHTING = "log-tfidf"
KEPT = 1
_RUN = re.compile(r"[^\W_]+")
STATE = """
SELECT count(*), coalesce(max(number), 0),
  (SELECT coalesce(max(seq), 0) FROM events
   WHERE what IN ('imported', 'documents changed'))
FROM documents
"""


R = TypeVar("R", bound=Rows | Collection)


class Vectors(NamedTuple, Generic[R]):
    """The vectors, the document of each row, and what makes texts such vectors.

    rows : float32, one a document in order of arrival: its words, of unit length, and
    behind them its meaning, where the project has a source of vectors; at hand, or
    spread over machines, which have some each.
    """

    rows: R
    ids: list[str]
    vectorizer: Vectorizer

    @property
    def n_words(self) -> int:
        """How many columns are words and runs; those behind them are of meaning."""
        return len(self.vectorizer.vocabulary_)

    @property
    def first_run(self) -> int:
        """The first column that is a run of characters inside words."""
        return bisect_left(self.vectorizer.vocabulary_.terms, RUN)

    def words(self, rows: Rows) -> Rows:
        """Rows without the columns of meaning."""
        if rows.width == self.n_words:
            return rows
        return keep_columns(rows, np.arange(self.n_words))

    def lengths(self, rows: Rows) -> Floats:
        """‖x‖ of each row, shape (n,): 1, or √(1 + weight²) with meaning; 1 if empty.

        A row has words if its first column is one, and meaning if its last is.
        """
        block, squares = self.vectorizer.meaning_, np.ones(len(rows))
        if block is not None:
            full = np.flatnonzero(np.diff(rows.starts))
            has_words = rows.columns[rows.starts[full]] < self.n_words
            has_meaning = rows.columns[rows.starts[full + 1] - 1] >= self.n_words
            squares[full] = has_words + block.weight**2 * has_meaning
        return np.sqrt(squares)


DocumentVectors = Vectors[Rows]
AnyVectors = Vectors[Rows] | Vectors[Collection]


def spread_vectors(project: Project, machines: Machines | None) -> AnyVectors:
    """All documents of a project as vectors, each machine having some of them."""
    if machines is None:
        return vectors_of(project)
    from classmark.machines.portion import SavedRows, shares
    from classmark.machines.rows import SpreadRows

    machines.require_folder(project.folder)
    if not are_saved(project):
        vectors_of(project)
    saved, folder = _saved(project), _generations(project).current()
    if saved is None or folder is None:
        raise refusal(
            "documents were added to %(folder)s meanwhile: try again",
            folder=project.folder,
        )
    ids = storage.unpack_strings(saved.arrays["ids"], saved.arrays["ids_ends"])
    where = str(folder.absolute())
    sources = [
        SavedRows(where, FORMAT, VERSION, *share)
        for share in shares(len(ids), machines.workers)
    ]
    rows: Collection = SpreadRows(machines, sources)
    return Vectors(rows, ids, _vectorizer(project, saved))


def vectors_of(project: Project, reading: str = WORDS) -> DocumentVectors:
    """All documents of a project as vectors; made anew when documents changed.

    reading : ``WORDS``, or ``RUNS``: with runs of characters and first lines again, as
    the settings of learning say.
    """
    return saved_vectors(project, reading) or _written(project, reading)


def saved_vectors(project: Project, reading: str = WORDS) -> DocumentVectors | None:
    """The vectors that were made before; None where documents changed since."""
    saved = _saved(project, reading)
    if saved is None:
        return None
    arrays = saved.arrays
    in_memory = {name: np.array(arrays[name]) for name in PARTS}
    return DocumentVectors(
        rows_in(in_memory, "", saved.settings["width"]),
        storage.unpack_strings(arrays["ids"], arrays["ids_ends"]),
        _vectorizer(project, saved),
    )


def are_saved(project: Project) -> bool:
    """Whether the vectors were made before, of the documents there are now."""
    folder = _generations(project).current()
    if folder is None:
        return False
    settings = storage.saved_settings(folder, FORMAT, VERSION)
    return bool(settings.get("state") == state_of(project))


def words_behind(text: str, analyzer: Analyzer) -> dict[str, str]:
    """Term → the first word of a text that became it: what people recognise.

    Words are told apart by a pattern here, which is quick; of scripts without blanks
    the terms are not in the answer, and are shown as they are.

    >>> from classmark.text import Analyzer
    >>> words_behind("Libraries lend books", Analyzer())["librari"]
    'libraries'
    """
    tokens = list(dict.fromkeys(_RUN.findall(fold(text))))
    terms = analyzer.terms(tokens)
    return dict(zip(reversed(terms), reversed(tokens), strict=True))


def rows_of_texts(
    project: Project, vectors: AnyVectors, texts: Mapping[str, str]
) -> Rows:
    """The vectors of texts by name; each must have something the documents have."""
    rows = text_rows(project, vectors, texts)
    empty = np.diff(rows.starts) == 0
    if empty.any():
        raise refusal(
            "example %(list)s: none of its words is in the documents of "
            "%(folder)s: give another",
            list=list(texts)[int(np.argmax(empty))],
            folder=project.folder,
        )
    return rows


def text_rows(project: Project, vectors: AnyVectors, texts: Mapping[str, str]) -> Rows:
    """The vectors of texts by name, of words that are in no document too."""
    if (meaning := project.meaning()) is not None:
        has = dict(zip(texts, meaning.has(texts.values()), strict=True))
        if meaning.imported and not all(has.values()):
            missing = next(name for name in has if not has[name])
            raise refusal(
                "example %(missing)s: the vectors of %(folder)s are your own, "
                "and this text has none: give documents as examples, or choose "
                "another source %(remedy)s",
                missing=missing,
                folder=project.folder,
                remedy=worded("(classmark meaning set SOURCE)"),
            )
    return vectors.vectorizer.rows(texts.values())


def state_of(project: Project, reading: str = WORDS) -> dict[str, Any]:
    """What the vectors depend on."""
    text, meaning = project.settings.text, project.meaning()
    state = {
        "documents": list(project.store.run(STATE).fetchone()),
        "analyzer": text.analyzer,
        "fields": list(text.fields),
        "weighting": WEIGHTING,
    }
    if meaning is not None:
        weight = project.settings.meaning.weight or meaning.weight
        state["meaning"] = [meaning.digest, weight]
    return state | _beside(project, reading)


def _beside(project: Project, reading: str) -> dict[str, Any]:
    """What is read beside words, as ``Vectorizer`` takes it."""
    learning = project.settings.learning
    if reading == WORDS:
        return {}
    return {
        "characters": learning.characters,
        "first_line": max(1, learning.first_line),
    }


def _generations(project: Project, reading: str = WORDS) -> storage.Generations:
    return storage.Generations(project.folder / reading)


def _written(project: Project, reading: str) -> DocumentVectors:
    """Make the vectors, and save them as the next generation."""
    ids: list[str] = []

    def texts() -> Iterator[str]:
        rows = project.store.run("SELECT id, fields FROM documents ORDER BY number")
        for id_, fields in track(rows, "reading the documents"):
            ids.append(id_)
            yield project.text_of(Record(Document(id_, json.loads(fields))))

    state = state_of(project, reading)
    if not state["documents"][0]:
        raise refusal(
            "%(folder)s has no documents: import some %(remedy)s",
            folder=project.folder,
            remedy=worded("(classmark import FILE)"),
        )
    read: Iterable[str] = texts()
    if (meaning := project.meaning()) is not None:
        read = list(read)
        require_vectors(project, project.settings.meaning, ids, read)
    vectorizer = Vectorizer(
        project.settings.text.analyzer,
        WEIGHTING,
        meaning=meaning,
        meaning_weight=project.settings.meaning.weight or None,
        **_beside(project, reading),
    )
    rows = rows_from(vectorizer.fit_transform(read))
    arrays, settings = vectorizer.to_arrays()
    blob, ends = storage.pack_strings(ids)
    arrays |= rows.arrays() | {"ids": blob, "ids_ends": ends}
    generations = _generations(project, reading)
    folder = generations.next()
    folder.parent.mkdir(exist_ok=True)
    described = {"state": state, "vectorizer": settings, "width": rows.width}
    storage.save(folder, FORMAT, VERSION, arrays, described)
    generations.put_in_service(folder)
    generations.drop_old(KEPT)
    return DocumentVectors(rows, ids, vectorizer)


def _vectorizer(project: Project, saved: storage.SavedFolder) -> Vectorizer:
    """What made the saved vectors, with the source of its meaning."""
    vectorizer = Vectorizer.from_arrays(saved.arrays, saved.settings["vectorizer"])
    vectorizer.use_meaning(project.meaning())
    return vectorizer


def _saved(project: Project, reading: str = WORDS) -> storage.SavedFolder | None:
    """Open the saved arrays; None where there are none of the documents of now."""
    folder = _generations(project, reading).current()
    if folder is None:
        return None
    try:
        saved = storage.open_folder(folder, FORMAT, VERSION)
    except DamagedFolder as problem:
        raise DamagedFolder(
            _(
                "%(problem)s; here it is enough to remove %(parent)s: it is "
                "made again from the documents",
                problem=problem,
                parent=folder.parent,
            )
        ) from problem
    return saved if saved.settings["state"] == state_of(project, reading) else None
