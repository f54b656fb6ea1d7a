"""A search by example: learned, marked, ranked, explained."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from textwrap import shorten
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from classmark.arrays import Array, Floats, Ints
from classmark.examples.problem import some
from classmark.examples.query import ExampleQuery
from classmark.formats.records import Record
from classmark.problems import Mistake
from classmark.ranking import top
from classmark.sparse import Rows, stack
from classmark.workbench.examples.searches import (
    Mark,
    Said,
    Search,
    add_marks,
    redo_marks,
    require_documents,
    standing_marks,
    undo_marks,
)
from classmark.workbench.examples.vectors import (
    Collection,
    SpreadCollection,
    collection_of,
    rows_of_texts,
    words_behind,
)

if TYPE_CHECKING:
    from classmark.corpus.documents import Document
    from classmark.workbench.project import Project


REASONS = 5
HEAVIEST = 12
READ = 100  # so many of the best are read for the words behind their terms
TITLE = 80


@dataclass(frozen=True, slots=True)
class Liked:
    """A document that was found; why : word → its part of the score, greatest first.

    mark : what was said of it in this search, or nothing.
    """

    rank: int
    id: str
    title: str
    score: float
    why: Mapping[str, float] = field(default_factory=dict)
    mark: str = ""


@dataclass(frozen=True, slots=True)
class Likes:
    """What a query found, best first, and what the query is.

    method, C : how it was learned;  examples, yes, no : from how many;  nonzero : how
    many terms have a weight;  query : its heaviest words;  documents : how many were
    ranked.
    """

    search: str
    method: str
    C: float | None
    examples: int
    yes: int
    no: int
    nonzero: int
    query: Mapping[str, float]
    documents: int
    found: Sequence[Liked]
    notes: Sequence[str] = ()


class Part(NamedTuple):
    """A term's part of a score: its weight in the query times that in the document."""

    term: str
    word: str
    weight: float
    value: float
    part: float


@dataclass(frozen=True, slots=True)
class Reasons:
    """Every term's part of a document's score, the greatest first; they add up."""

    id: str
    title: str
    score: float
    parts: Sequence[Part]


class Reader:
    """Reads documents for whoever asks what a query found in them."""

    def __init__(
        self, project: Project, collection: Collection | SpreadCollection
    ) -> None:
        self.project, self.collection = project, collection
        self.row = {id_: row for row, id_ in enumerate(collection.ids)}
        self.terms = collection.vectorizer.vocabulary_.terms
        self.words: dict[str, str] = {}

    def found(
        self,
        scores: Floats,
        weights: Floats,
        k: int,
        marks: Mapping[str, str],
    ) -> list[Liked]:
        """The best k documents by their scores; those of -inf are left out."""
        best = [int(row) for row in top(scores, k) if scores[row] > -np.inf]
        rows, found = some(self.collection.rows, best), []
        for rank, row in enumerate(best, start=1):
            id_ = self.collection.ids[row]
            document = self.project.store.document(id_)
            words = self.read(document) if rank <= READ else self.words
            columns, values = rows.row(rank - 1)
            parts = weights[columns] * values
            why = {
                self._word(int(columns[at]), words): float(parts[at])
                for at in top(parts, REASONS)
                if parts[at] > 0
            }
            score, mark = float(scores[row]), marks.get(id_, "")
            found.append(Liked(rank, id_, title_of(document), score, why, mark))
        return found

    def reasons(self, id_: str, weights: Floats) -> Reasons:
        """Every term's part of the score of one document."""
        document = self.project.store.document(id_)
        words = self.read(document)
        columns, values = some(self.collection.rows, [self.row[id_]]).row(0)
        parts = [
            Part(
                self.terms[column],
                self._word(column, words),
                float(weights[column]),
                float(value),
                float(weights[column] * value),
            )
            for column, value in zip(columns.tolist(), values.tolist(), strict=True)
        ]
        score = sum(part.part for part in parts)
        told = sorted((p for p in parts if p.part), key=lambda p: -abs(p.part))
        return Reasons(id_, title_of(document), score, told)

    def heaviest(self, weights: Floats) -> dict[str, float]:
        """The heaviest words of a query, of either sign."""
        return {
            self._word(int(column), self.words): float(weights[column])
            for column in top(np.abs(weights), HEAVIEST)
            if weights[column]
        }

    def learn_words(self, text: str) -> dict[str, str]:
        """Remember which words the terms of a text were; return those of this text."""
        own = words_behind(text, self.collection.vectorizer.analyzer_)
        self.words |= {term: w for term, w in own.items() if term not in self.words}
        return own

    def read(self, document: Document) -> dict[str, str]:
        """Remember the words of a document; return them by their terms."""
        return self.learn_words(self.project.text_of(Record(document)))

    def _word(self, column: int, words: Mapping[str, str]) -> str:
        term = self.terms[column]
        return words.get(term) or self.words.get(term, term)


def title_of(document: Document) -> str:
    """The title, or how the text begins.

    >>> from classmark.corpus.documents import Document
    >>> title_of(Document("d", {"body": "A hive."}))
    'A hive.'
    """
    return document.title or shorten(document.text, TITLE, placeholder=" …")


def require_count(k: int) -> int:
    """The number of documents asked for, once it is known to be one."""
    if k < 1:
        raise Mistake(f"k is {k}: ask for at least one document")
    return k


def require_terms(terms: int) -> int:
    """The number of terms to keep, once it is known to be one."""
    if terms < 1:
        raise Mistake(f"terms is {terms}: keep at least one")
    return terms


@dataclass(frozen=True, slots=True)
class Loss:
    """How a ranking changed: terms kept of how many, and the share of the top k kept.

    before, after : average precision on the judged documents; None without any.
    """

    kept: int
    of: int
    k: int
    share: float
    before: float | None = None
    after: float | None = None

    def __str__(self) -> str:
        said = (
            f"cut to {self.kept:,} of {self.of:,} terms: {self.share:.0%} of the whole "
            f"query's first {self.k} are kept"
        )
        if self.before is None or self.after is None:
            return said
        return (
            f"{said}; average precision on the judged documents "
            f"{self.before:.3f} before, {self.after:.3f} after"
        )


def share_kept(whole: Array, cut: Array, k: int) -> float:
    """The share of the best k by one that are among the best k by the other.

    >>> share_kept(np.array([3.0, 2.0, 1.0]), np.array([3.0, 1.0, 2.0]), 2)
    0.5
    """
    both = np.intersect1d(top(whole, k), top(cut, k))
    return len(both) / max(1, min(k, len(whole)))


def precision_on(scores: Array, judged: Mapping[int, int]) -> float | None:
    """Average precision among judged documents [ManningRaghavanSchutze08].

    None where not both kinds are judged.

    >>> precision_on(np.array([0.9, 0.5, 0.1]), {0: 1, 1: 0, 2: 1})
    0.8333333333333333
    """
    if len(set(judged.values())) < 2:
        return None
    run = {str(row): float(scores[row]) for row in judged}
    grades = {str(row): float(grade) for row, grade in judged.items()}
    from classmark.measures.retrieval import retrieval

    return retrieval({"q": run}, {"q": grades}, ["map"])["map"]


FOR, AGAINST = ("example", "yes"), ("no",)
EMPTY = "the query has no weights, so all score alike: give more examples, or --method"


class Liking:
    """A search kept open: the query stays warm between one answer and the next.

    terms : of the query only so many are kept, the heaviest; None for all.  who : who
    marks, the user of this process if nobody is named.
    marks : document → what holds of it in this search;  weights : the query's, one a
    term of the collection, shape (terms,);  scores : shape (documents,).
    """

    marks: dict[str, str]
    query: ExampleQuery
    scores: Floats
    weights: Floats

    def __init__(
        self,
        project: Project,
        search: Search,
        collection: Collection | SpreadCollection | None = None,
        terms: int | None = None,
        who: str = "",
    ) -> None:
        if terms is not None:
            require_terms(terms)
        self.project, self.search, self.terms = project, search, terms
        self.who = who
        self.collection = collection or collection_of(project)
        self.reader = Reader(project, self.collection)
        self.texts: dict[str, str] = dict(search.settings.get("texts", {}))
        self.learn()

    def mark(
        self, yes: Sequence[str] = (), no: Sequence[str] = (), *, warm: bool = True
    ) -> None:
        """Keep what was said of some results, then learn from it.

        warm : begin where the last query ended, which is quick and the same up to the
        solver's tolerance; else from the start, as whoever opens the search again.
        """
        said: dict[str, Said] = dict.fromkeys(yes, "yes")
        if both := sorted(said.keys() & set(no)):
            raise Mistake(f"document {both[0]!r}: yes and no: say one of them")
        said |= dict.fromkeys(no, "no")
        if said:
            self.note(said)
            self.take_in(said, warm=warm)

    def note(self, said: Mapping[str, Said]) -> None:
        """Keep what was said of documents; nothing is learned from it yet."""
        require_documents(self.project.store, list(said))
        shown = self._left(everything=False)
        marks = [self._mark(id_, act, shown) for id_, act in said.items()]
        add_marks(self.project.store, self.search, marks, self.who)

    def take_in(self, said: Mapping[str, Said], *, warm: bool = True) -> None:
        """Learn from what was noted."""
        again = any(self.marks.get(id_) in {*FOR, *AGAINST} for id_ in said)
        self.marks |= said
        if again or not warm or len(self.marks) >= len(self.scores):
            self.learn()
            return
        sides = (FOR, AGAINST)
        parts = [self._rows(i for i, a in said.items() if a in side) for side in sides]
        if not any(map(len, parts)):
            return
        self.query.partial_fit(
            *(part if len(part) else None for part in parts), known=self._at(said)
        )
        self._steps.append(set(said))
        self._learned()

    def undo(self) -> list[Mark]:
        """Take back what this user said last; return it."""
        back = undo_marks(self.project.store, self.search, self.who)
        self.take_back(back)
        return back

    def take_back(self, back: Sequence[Mark]) -> None:
        """Unlearn what was taken back."""
        if self._steps and self._steps[-1] == {mark.document for mark in back}:
            self._steps.pop()
            self.query.undo()
            self.marks = self._standing()
            self._learned()
        else:
            self.learn()

    def redo(self) -> list[Mark]:
        """Bring back what was undone last; return it."""
        again = redo_marks(self.project.store, self.search, self.who)
        self.learn()
        return again

    def rank(self, k: int = 10, *, everything: bool = False) -> Likes:
        """The best k documents not marked yet; with ``everything`` all, marked too."""
        require_count(k)
        scores = self._left(everything=everything)
        left = int(np.isfinite(scores).sum())
        if not left:
            raise Mistake(
                f"all {len(scores)} documents are examples or marked: nothing is left "
                "to rank; add --all to see them"
            )
        k = left if everything else min(k, left)
        acts = list(self.marks.values())
        return Likes(
            self.search.name,
            self.query.method_,
            self.query.C_,
            acts.count("example") + len(self.texts),
            acts.count("yes"),
            acts.count("no"),
            int(np.count_nonzero(self.weights)),
            self.reader.heaviest(self.weights),
            left,
            self.reader.found(scores, self.weights, k, self.marks),
            self._notes(k),
        )

    def explain(self, document: str) -> Reasons:
        """Every term's part of a document's score."""
        require_documents(self.project.store, [document])
        return self.reader.reasons(document, self.weights)

    def loss(self, k: int) -> Loss | None:
        """What cutting the query has changed; None where it is whole."""
        if self.terms is None:
            return None
        judged = {
            self.reader.row[id_]: int(act in FOR)
            for id_, act in self.marks.items()
            if act in {*FOR, *AGAINST}
        }
        hidden = ~np.isfinite(self._left(everything=False))
        whole, cut = (
            np.where(hidden, -np.inf, scores) for scores in (self._whole, self.scores)
        )
        return Loss(
            int(np.count_nonzero(self.weights)),
            int(np.count_nonzero(self.query.coef_)),
            k,
            share_kept(whole, cut, k),
            precision_on(self._whole, judged),
            precision_on(self.scores, judged),
        )

    def _notes(self, k: int) -> tuple[str, ...]:
        loss = self.loss(k)
        notes = () if loss is None else (str(loss),)
        if self.weights.any():
            return notes
        return (*notes, EMPTY)

    def learn(self) -> None:
        """Learn from all that holds, from the start."""
        self.marks = self._standing()
        wanted = [id_ for id_, act in self.marks.items() if act in FOR]
        against = [id_ for id_, act in self.marks.items() if act in AGAINST]
        P, N = self._rows(wanted), self._rows(against)
        if self.texts:
            P = stack([P, self._own()])
        if not len(P):
            raise Mistake(
                f"search {self.search.name!r} is left without examples: give "
                "--examples, --file or --category, or say yes to a document"
            )
        kept = self.search.settings
        self.query = ExampleQuery(kept.get("method", "auto"), kept.get("C"))
        self.query.fit(
            P,
            self.collection.rows,
            N if len(N) else None,
            known=self._known([*wanted, *against]),
        )
        self._steps: list[set[str]] = []
        for id_ in wanted[:READ]:
            self.reader.read(self.project.store.document(id_))
        self._learned()

    def _learned(self) -> None:
        """Score all documents by what was learned."""
        used: Any = self.query
        self._whole = self._scored(used)
        self.scores = self._whole
        if self.terms is not None:
            used = self.query.cut(self.terms)
            self.scores = self._scored(used)
        self.weights = np.asarray(used.coef_, np.float64)

    def _scored(self, query: Any) -> Floats:
        scores = query.decision_function(self.collection.rows)
        return np.asarray(scores, np.float64)

    def _standing(self) -> dict[str, str]:
        found = standing_marks(self.project.store, self.search)
        return {each.mark.document: each.mark.act for each in found}

    def _at(self, ids: Iterable[str]) -> Ints:
        """The rows of documents."""
        return np.array([self.reader.row[id_] for id_ in dict.fromkeys(ids)], np.int64)

    def _known(self, ids: Sequence[str]) -> Ints:
        """The rows that are not unlabelled; none, where that would leave none."""
        return self._at(ids if len(ids) < len(self.collection.ids) else ())

    def _rows(self, ids: Iterable[str]) -> Rows:
        return some(self.collection.rows, self._at(ids))

    def _own(self) -> Rows:
        """The vectors of one's own texts, as far as the collection has their words."""
        rows = rows_of_texts(self.project, self.collection, self.texts)
        for text in self.texts.values():
            self.reader.learn_words(text)
        return rows

    def _left(self, *, everything: bool) -> Floats:
        """The scores, -inf for what was marked already."""
        if everything:
            return self.scores
        scores = self.scores.copy()
        scores[self._at(self.marks)] = -np.inf
        return scores

    def _mark(self, id_: str, act: Said, shown: Floats) -> Mark:
        """A mark with the rank and the score that the document had."""
        row = self.reader.row[id_]
        score = float(self.scores[row])
        if shown[row] == -np.inf:
            return Mark(id_, act, "given", None, score)
        before = (shown > score) | ((shown == score) & (np.arange(len(shown)) < row))
        return Mark(id_, act, "likely", int(before.sum()) + 1, score)
