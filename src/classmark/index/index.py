"""Index: a folder of documents that can be searched, and changed while it is read."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, Self

import numpy as np

from classmark.arrays import Ints
from classmark.index.asking import QueryContext, ask, question, warn_of_language
from classmark.index.build import TEXT, Changes, Given, Setup, build_segments, entries
from classmark.index.feedback import feedback_from
from classmark.index.merge import Merger
from classmark.index.models import Memo
from classmark.index.search import BaseSearcher, Explanation, Hit, Question, Searcher
from classmark.index.segment import Segment, SegmentPart
from classmark.index.snapshot import (
    IndexCheck,
    Lock,
    Snapshot,
    StoredField,
    check,
    clear_aside,
    commit,
    open_snapshot,
    sweep,
)
from classmark.problems import Mistake
from classmark.text import Analyzer, analyzer_from, words
from classmark.validation import byte_size


def fill_index(
    folder: Path, setup: Setup, fill: Callable[[], Sequence[Segment]], aside: str = ""
) -> Snapshot:
    """Put the segments that ``fill`` makes in service, instead of what is there.

    Nobody else changes the folder meanwhile, and readers see all of it or nothing.

    aside : a working folder in it that is kept until then, when all of them go.
    """
    with Lock(folder):
        sweep(folder, aside)
        clear_aside(folder)
        parts = [SegmentPart(segment, None) for segment in fill() if segment.n_items]
        settings = {
            "analyzer": str(setup.analyzer),
            "fields": None if setup.fields is None else list(setup.fields),
            "positions": setup.positions,
        }
        return commit(folder, parts, settings)


_PER_ID = 100  # bytes, about, of an id kept as a string
_WORDS = 1 << 16  # words of queries whose terms are remembered


class OpenIndex(ABC):
    """A generation of an index, read here or on many machines: texts in, documents out.

    path : its folder;  analyzer : that made the terms.
    """

    path: Path
    _memory: int

    def __len__(self) -> int:
        return sum(part.kept() for part in self._snapshot.parts)

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and self.number(name) is not None

    def __repr__(self) -> str:
        return f"{type(self).__name__}({str(self.path)!r}, {len(self)} documents)"

    @property
    def generation(self) -> int:
        """The number of the generation that is read."""
        return self._snapshot.number

    @property
    def fields(self) -> list[str]:
        """The names of the fields."""
        return self._snapshot.fields()

    @property
    def has_positions(self) -> bool:
        """Whether token positions are stored."""
        return bool(self._snapshot.settings["positions"])

    def ids(self) -> Iterator[str]:
        """Yield the ids of all documents, in order."""
        for part in self._snapshot.parts:
            yield from part.ids()

    def id(self, number: int) -> str:
        """Return the id of a document by its number."""
        at = int(np.searchsorted(self._bases, number, side="right")) - 1
        return self._snapshot.parts[at].segment.ids[number - int(self._bases[at])]

    def number(self, name: str) -> int | None:
        """Return the number of a document by its id; None: it is not there."""
        for base, part in zip(self._bases.tolist(), self._snapshot.parts, strict=True):
            number = part.segment.ids.find(name)
            if number is not None and (part.alive is None or part.alive[number]):
                return int(base) + number
        return None

    def numbers(self, documents: Sequence[Any] | Ints) -> Ints:
        """Return the numbers of documents by their ids, or numbers as they are."""
        numbers = [self.number(d) if isinstance(d, str) else d for d in documents]
        if None in numbers:
            missing = documents[numbers.index(None)]
            raise Mistake(
                f"document {missing!r} is not in the index: give an id it has"
            )
        return np.array(numbers, np.int64)

    def names(self) -> Callable[[int], str]:
        """Return a fast map from number to id: a list, unless it were too long."""
        if _PER_ID * self._snapshot.n_items > self._memory // 4:
            return self.id
        ids = [part.segment.ids for part in self._snapshot.parts]
        return [name for some in ids for name in some].__getitem__

    def _read(self, snapshot: Snapshot) -> None:
        """Read a generation from now on."""
        self._snapshot = snapshot
        self.analyzer = Analyzer.parse(snapshot.settings["analyzer"])
        self._query_terms = Memo(lambda word: self.analyzer.terms([word])[0], _WORDS)
        sizes = [part.segment.n_items for part in snapshot.parts]
        self._bases = np.cumsum([0, *sizes])[: len(sizes)]

    @property
    @abstractmethod
    def searcher(self) -> BaseSearcher:
        """What answers queries of analysed terms."""

    @abstractmethod
    def ask(self, query: str, k: int = 10, **options: Any) -> list[Hit]:
        """Answer a query as people type it."""

    @abstractmethod
    def close(self) -> None:
        """Let go of what is held; the end of a ``with`` does so too."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def terms(self, query: str) -> list[str]:
        """Return the terms of a query, analysed as the documents were."""
        if not isinstance(query, str):
            raise Mistake(f"query is {type(query).__name__}: give a string")
        term_of = self._query_terms
        return [term for word in words(query) if (term := term_of[word])]

    def search(
        self, query: str, k: int = 10, model: str = "bm25", **options: Any
    ) -> list[Hit]:
        """Return the best ``k`` documents for a text, best first; ties by number.

        query : words, a title, a whole document: every word counts, and nothing in it
            is an operator. What people type, as in ``title:"wind tunnel" -drag``, is
            for ``ask``. The model "boolean" needs operators, and gives it to ``ask``.
        options : parameters, ``fields`` and ``prior``, as ``Searcher.search`` takes
            them; ``feedback``: "rocchio", "rm3" or "information", or one with its
            parameters, by which the first documents lend the text their words.
        """
        if model == "boolean":
            return self.ask(query, k, model=model, **options)
        feedback = options.pop("feedback", None)
        terms = self.terms(query)
        if any(sign in query for sign in ":#*"):
            warn_of_language(query, self.fields)
        if feedback is not None:
            how = options.pop("fields", None), options.pop("prior", None)
            question = self.searcher.question(terms, ((model, options), *how))
            return question.with_feedback(feedback_from(feedback)).answer(k)
        return self.searcher.search(terms, k, model, **options)

    def search_many(
        self, queries: Sequence[str], k: int = 10, model: str = "bm25", **options: Any
    ) -> list[list[Hit]]:
        """Return what ``search`` does for each of many queries."""
        alone = "prior" in options or "feedback" in options
        if model == "boolean" or len(self.fields) > 1 or alone:
            return [self.search(query, k, model, **options) for query in queries]
        terms_by_query = [self.terms(query) for query in queries]
        return self.searcher.search_many(terms_by_query, k, model, **options)

    def search_vector(
        self, weights: Mapping[str, float], k: int = 10, *, every: bool = False
    ) -> list[Hit]:
        """Return the documents with the largest dot product with ``weights``.

        weights : analysed term → weight, any sign; documents are unit tf·idf vectors.
        every : documents that share no term with ``weights`` are ranked too.
        """
        return self.searcher.search_vector(weights, k, every=every)

    def explain(
        self, query: str, name: str, model: str = "bm25", **options: Any
    ) -> Explanation:
        """Return what each term adds to the score of the document with this id."""
        (number,) = self.numbers([name]).tolist()
        return self.searcher.explain(self.terms(query), number, model, **options)


MERGING = ("commit", "background", "demand")
#: With so many segments a commit waits for the thread that merges them.
CROWD = 64


class Index(OpenIndex):
    """An inverted file on disk; open one with ``Index.build`` or ``Index.open``.

    What is read is one generation: the last committed when the index was opened, or by
    this very object since. ``add``, ``replace`` and ``delete`` are seen by nobody until
    ``commit``; one object at a time may have such changes.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     index = Index.build(folder, [("a", "A bee"), ("b", "Hives of bees")])
    ...     index.add([("c", "Wasps")])
    ...     len(index), len(index.commit()), list(index.ids())
    (2, 3, ['a', 'b', 'c'])
    """

    _fields: dict[str, StoredField]
    _searcher: Searcher | None
    _changes: Changes | None = None
    _is_closed = False

    def __init__(
        self, path: Path, snapshot: Snapshot, memory: int, merging: str = "commit"
    ) -> None:
        if merging not in MERGING:
            raise Mistake(f"merging is {merging!r}: use one of {', '.join(MERGING)}")
        self.path, self.merging, self._memory = path, merging, memory
        self._show(snapshot)

    @classmethod
    def build(
        cls,
        path: Path | str,
        documents: Iterable[Given],
        memory: str | int = "512MB",
        analyzer: Analyzer | str | None = None,
        *,
        fields: Sequence[str] | None = None,
        positions: bool = False,
    ) -> Index:
        """Index documents in a folder; an index that is there is replaced, as a whole.

        documents : (id, text) pairs, mappings with ``id`` and fields, or Documents.
        memory : what the build may add to the process, whatever the collection's size
            (beside one text and, while merging, one term's list).
        analyzer : an Analyzer or its description; the usual one if None.
        fields : which fields to index, all of them if None.
        positions : keep the places of tokens, for phrases.
        """
        folder = Path(path)
        setup = Setup(
            analyzer_from(analyzer),
            None if fields is None else tuple(fields),
            positions,
            byte_size(memory),
        )
        stream = entries(documents, setup.fields)
        snapshot = fill_index(
            folder, setup, lambda: build_segments(stream, setup, folder)
        )
        return cls(folder, snapshot, setup.memory)

    @classmethod
    def open(
        cls, path: Path | str, memory: str | int = "1GB", *, merging: str = "commit"
    ) -> Index:
        """Open an index.

        memory : where the postings of a field, decoded, fit it, they are kept decoded.
        merging : who merges the segments that changes leave: "commit" does, the
            "background" (a thread, started by commits, ended by ``close``), or nobody
            until ``merge`` is called, on "demand". The answers are the same.
        """
        folder = Path(path)
        return cls(folder, open_snapshot(folder), byte_size(memory), merging)

    def field(self, name: str | None = None) -> StoredField:
        """Return a field, for reading; the only one there is if none is named."""
        names = self.fields
        if name is None:
            if len(names) > 1:
                raise Mistake(f"the index has fields {', '.join(names)}: name one")
            name = names[0] if names else TEXT
        elif name not in names and names:
            available = ", ".join(names) or "none"
            raise Mistake(f"field {name!r} is not in the index: it has {available}")
        if name not in self._fields:
            self._fields[name] = StoredField(self._snapshot, name, self._memory)
        return self._fields[name]

    def ask(self, query: str, k: int = 10, **options: Any) -> list[Hit]:
        """Answer a query as people type it: words, "phrases", field:word, +word, -word.

        AND, OR, NOT, parentheses, #operators (see ``classmark.index.query_language``).
        Without any of them the answer is that of ``search``. A query that cannot be
        read is refused with a caret below the place (``MalformedQuery``).

        options : ``model``, ``feedback`` and what ``search`` takes: see
            ``classmark.index.asking``.
        """
        return ask(self.searcher, context_of(self, query), k, **options)

    def question(
        self, query: str, model: str | None = None, **options: Any
    ) -> Question:
        """Make a query as people type it ready: to be answered, and explained."""
        return question(self.searcher, context_of(self, query), model, **options)

    def expand(self, query: str) -> dict[str, list[str]]:
        """Return the terms that each word with * or ? of a query stands for."""
        return context_of(self, query).expansions()

    @property
    def searcher(self) -> Searcher:
        """What answers queries over the generation that is read."""
        if self._searcher is None:
            names = self.fields or [TEXT]
            fields = {name: self.field(name) for name in names}
            self._searcher = Searcher(fields, names=self.names())
        return self._searcher

    def check(self) -> IndexCheck:
        """Read every byte of what is in service on disk, and verify it."""
        return check(self.path)

    def _show(self, snapshot: Snapshot) -> None:
        """Read another generation from now on."""
        self._read(snapshot)
        self._fields = {}
        self._searcher = None

    @cached_property
    def _merger(self) -> Merger:
        """What merges segments of the generation that is read, and of later ones."""
        return Merger(self.path, self._snapshot, self._room // 4)

    @property
    def _room(self) -> int:
        """Bytes that changes may take."""
        return max(self._memory, byte_size("64MB"))

    def add(self, documents: Iterable[Given]) -> None:
        """Add documents whose ids are new; ``commit`` makes them seen."""
        changes = self._begin()
        changes.add(entries(documents, changes.setup.fields))

    def replace(self, documents: Iterable[Given]) -> None:
        """Add documents in place of those with the same ids, if there are any.

        The new ones are numbered after all others.
        """
        changes = self._begin()
        changes.replace(entries(documents, changes.setup.fields))

    def delete(self, ids: Iterable[str]) -> None:
        """Delete documents by their ids."""
        if isinstance(ids, str):
            raise Mistake(f"ids is the string {ids!r}: give a list of ids")
        self._begin().delete(ids)

    def commit(self) -> Self:
        """Put the changes in service: whole and durable, or not at all.

        What the background has merged is read from now on, too; if it failed, that is
        said here, and the changes wait for the next ``commit``.
        """
        self._merger.complain()
        if self._changes is not None:
            if len(self._changes.parts) > CROWD:
                self._merger.wait()
            tidy = None if self.merging == "commit" else self._merger.taken_up
            with self._merger.mutex:
                self._merger.newest = self._changes.commit(tidy)
                self._end()
        if self._merger.newest is not self._snapshot:
            self._show(self._merger.newest)
        self._go_on()
        return self

    def discard(self) -> Self:
        """Forget the changes that are not committed."""
        if self._changes is not None:
            with self._merger.mutex:
                self._changes.discard()
                self._end()
                self._merger.publish()
            self._go_on()
        return self

    def merge(self) -> Self:
        """Make one segment of all, without deleted documents, and commit."""
        self._merger.stop()
        self._begin().merge()
        return self.commit()

    def close(self) -> None:
        """End the merging in the background, and forget what was not committed.

        The index can still be read. If the merging failed, that is said here.
        """
        self._is_closed = True
        try:
            self.discard()
        finally:
            self._merger.stop()
        self._merger.complain()

    def _begin(self) -> Changes:
        if self._is_closed:
            raise Mistake(f"{self.path} was closed: open the index again to change it")
        if self._changes is None:
            with self._merger.mutex:
                base = self._merger.newest
                self._changes = Changes(self.path, self._room, base)
                self._merger.may_publish = False
                clear_aside(self.path)  # its lock must not seem another process's
        return self._changes

    def _end(self) -> None:
        self._changes = None
        self._merger.may_publish = True

    def _go_on(self) -> None:
        if self.merging == "background" and not self._is_closed:
            self._merger.start()


def context_of(index: Index, query: str) -> QueryContext:
    """Return a query with the fields, analyzer and positions it is read by."""
    fields = {name: each.field for name, each in index.searcher.fields.items()}
    return QueryContext(query, fields, index.analyzer, index.has_positions)
