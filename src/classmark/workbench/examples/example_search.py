"""A search by example in memory: it learns, ranks documents, and explains."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from classmark.arrays import Floats, Ints, Rows, stack
from classmark.corpus.runs import shown
from classmark.examples.auto import QueryPart
from classmark.examples.problem import some
from classmark.examples.query import ExampleQuery
from classmark.examples.screening import RecallPoint, StopForecast
from classmark.formats.records import Record
from classmark.language import N_, _, decimal, joined, percent
from classmark.problems import refusal, worded
from classmark.ranking import top
from classmark.validation import require_k
from classmark.workbench.examples import searches
from classmark.workbench.examples.searches import (
    FOR,
    BasketItem,
    Mark,
    MarkAct,
    StoredSearch,
    learned,
)
from classmark.workbench.examples.vectors import (
    AnyVectors,
    rows_of_texts,
    vectors_of,
    words_behind,
)
from classmark.workbench.search.hits import DocumentHit, snippet_of
from classmark.workbench.store.store import title_of

if TYPE_CHECKING:
    from classmark.corpus.documents import Document
    from classmark.workbench.project import Project

REASONS = 5
HEAVIEST = 12
READ = 100  # so many of the best are read for the words behind their terms
OWN = "own"
MEANING = "(meaning)"  # among words: the part that vectors of meaning have
JUDGED = {*FOR, *searches.AGAINST}
NO_WEIGHTS = N_("the query has no weights, so all score alike: %(remedy)s")
NO_WORDS = N_("a query with the kernel %(kernel)s has no weights of words")
CUT = N_("cut to %(terms)s of %(total)s terms: %(share)s of the first %(k)s are kept")
PRECISION = N_(
    "average precision on judged documents %(before)s before, %(after)s after"
)


@dataclass(frozen=True, slots=True)
class ExampleRanking:
    """The documents that a learned query ranks best, and the query.

    method, C : how it was learned;  examples, yes, no : from how many;  nonzero : how
    many terms have a weight, or documents under a kernel;  query : its heaviest words;
    documents : how many were ranked;  params : how else it was learned, those chosen;
    meaning : its share of the query, ‖w of meaning‖² / ‖w‖², 0 for words alone;
    averaged : the queries that "auto" has chosen, and their shares.
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
    hits: Sequence[DocumentHit]
    notes: Sequence[str] = ()
    params: Mapping[str, Any] = field(default_factory=dict)
    meaning: float = 0.0
    averaged: Sequence[QueryPart] = ()

    @property
    def learned(self) -> str:
        """How it was learned: the method and what was chosen."""
        return learned(self.method, self.C, self.params, self.averaged)

    def as_json(self) -> dict[str, Any]:
        """The same as programs read it."""
        values = asdict(replace(self, hits=()))
        del values["hits"]
        notes, hits = values.pop("notes"), [hit_as_json(hit) for hit in self.hits]
        values["averaged"] = [part._asdict() for part in self.averaged]
        return {**values, "found": hits, "notes": notes}


def hit_as_json(hit: DocumentHit) -> dict[str, Any]:
    """A hit of a search by example as programs read it."""
    names = {"id": hit.id, "title": hit.title, "score": hit.score}
    return {"rank": hit.rank, **names, "why": dict(hit.parts), "mark": hit.mark}


class WordPart(NamedTuple):
    """A term's part of a score: its weight in the query times that in the document.

    Meaning is one of them: its value is the length of the document's vector, its weight
    that of the query in the vector's direction.
    """

    term: str
    word: str
    weight: float
    value: float
    part: float


@dataclass(frozen=True, slots=True)
class ScoreReasons:
    """Every term's part of a document's score, the greatest first; they add up."""

    id: str
    title: str
    score: float
    parts: Sequence[WordPart]

    @property
    def has_meaning(self) -> bool:
        """Whether meaning has a part in it."""
        return any(part.term == MEANING for part in self.parts)


@dataclass(frozen=True, slots=True)
class SearchView:
    """A search by example as it is shown to people.

    screening : it goes for nearly all, by a rule;  examples, against : what it learned
    from;  words : the heaviest of the query, of ``terms`` in all;  documents : how many
    are ranked;  status : how far it is, a line each;  advice : whether to go on;
    stop : it may stop;  version : the last mark that is in it;  meaning : its share of
    the query, 0 for words alone;  averaged : the queries that "auto" has chosen, and
    their shares;  target, stops, curve : of a screening, the share
    wanted, how much is to be read to several shares, and the recall so far.
    """

    number: int
    name: str
    screening: bool
    learned: str
    examples: tuple[BasketItem, ...]
    against: tuple[BasketItem, ...]
    words: tuple[tuple[str, float], ...]
    terms: int
    documents: int
    hits: tuple[DocumentHit, ...]
    status: tuple[str, ...] = ()
    advice: str = ""
    stop: bool = False
    notes: tuple[str, ...] = ()
    version: int = 0
    meaning: float = 0.0
    averaged: tuple[QueryPart, ...] = ()
    target: float | None = None
    stops: tuple[StopForecast, ...] = ()
    curve: tuple[RecallPoint, ...] = ()


class Explainer:
    """Shows documents with the words that make their scores.

    row : of each document;  words : term → a word that became it;  marks : document →
    the act that holds, if a search has marks.
    """

    def __init__(self, project: Project, vectors: AnyVectors) -> None:
        self.project, self.vectors = project, vectors
        self.row = {id_: row for row, id_ in enumerate(vectors.ids)}
        self.terms = vectors.vectorizer.vocabulary_.terms
        self.first_run = vectors.first_run
        self.analyzer = vectors.vectorizer.analyzer_
        self.words: dict[str, str] = {}
        self.marks: dict[str, MarkAct] = {}

    def best(
        self, scores: Floats, weights: Floats, k: int, *, snippets: bool = False
    ) -> list[DocumentHit]:
        """The best k documents by their scores; those of -inf are left out."""
        rows = [int(row) for row in top(scores, k) if scores[row] > -np.inf]
        scored = [(self.vectors.ids[row], float(scores[row])) for row in rows]
        return self.hits(scored, weights, snippets=snippets)

    def hits(
        self,
        scored: Sequence[tuple[str, float | None]],
        weights: Floats,
        *,
        snippets: bool = False,
        whole: int = 0,
    ) -> list[DocumentHit]:
        """Documents with scores and the words behind; whole : letters of the text."""
        rows = some(self.vectors.rows, [self.row[id_] for id_, _ in scored])
        hits = []
        for rank, (id_, score) in enumerate(scored, start=1):
            document = self.project.store.document(id_)
            words = self.read(document) if rank <= READ else self.words
            columns, values = rows.row(rank - 1)
            parts, meaning = self._sides(columns, weights[columns] * values)
            of_words = np.where(columns[: len(parts)] < self.first_run, parts, 0.0)
            best = [at for at in top(of_words, REASONS) if of_words[at] > 0]
            why = {self._word(int(columns[at]), words): float(parts[at]) for at in best}
            if meaning.sum() > 0:
                why[MEANING] = float(meaning.sum())
            terms = {self.terms[columns[at]] for at in best}
            shows = snippets or whole
            text = snippet_of(document, terms, self.analyzer, whole) if shows else ()
            mark, title = self.marks.get(id_, ""), title_of(document)
            hits.append(DocumentHit(rank, id_, title, score, why, text, mark=mark))
        return hits

    def heaviest(self, weights: Floats) -> dict[str, float]:
        """The heaviest words of a query, of either sign."""
        return {
            self._word(int(column), self.words): float(weights[column])
            for column in top(np.abs(weights[: self.first_run]), HEAVIEST)
            if weights[column]
        }

    def n_weighted(self, weights: Floats) -> int:
        """How many words have a weight in a query."""
        return int(np.count_nonzero(weights[: self.first_run]))

    def meaning_share(self, weights: Floats) -> float:
        """The share of meaning in a query, ‖w of meaning‖² / ‖w‖²; 0 for words alone.

        It is what a document just like the query owes to it.
        """
        meaning, total = weights[len(self.terms) :], float(weights @ weights)
        return float(meaning @ meaning) / total if total else 0.0

    def learn_words(self, text: str) -> dict[str, str]:
        """Remember which words the terms of a text were; return those of this text."""
        words = words_behind(text, self.analyzer)
        for term, word in words.items():
            self.words.setdefault(term, word)
        return words

    def read(self, document: Document) -> dict[str, str]:
        """Remember the words of a document; return them by their terms."""
        return self.learn_words(self.project.text_of(Record(document)))

    def _sides(self, columns: NDArray[Any], parts: Floats) -> tuple[Floats, Floats]:
        """What belongs to the words of a row, and to its meaning."""
        n = int(np.count_nonzero(columns < len(self.terms)))
        return parts[:n], parts[n:]

    def _word(self, column: int, words: Mapping[str, str]) -> str:
        term = self.terms[column]
        return words.get(term) or self.words.get(term, shown(term))


class OpenSearch(Explainer, ABC):
    """What a search by example and a screening in memory have in common.

    Threads take turns with it. Writing and learning are apart, so that nobody's write
    waits for learning: ``note`` then ``take_in``, ``undo_marks`` then ``take_back``.
    texts : examples that are no documents.
    """

    def __init__(
        self, project: Project, search: StoredSearch, vectors: AnyVectors
    ) -> None:
        super().__init__(project, vectors)
        self.search, self.who, self.texts = search, "", search.texts

    def use(self, search: StoredSearch, who: str) -> None:
        """Work for this person from now on; search : as it is stored now."""
        self.search, self.who = search, who

    @abstractmethod
    def learn(self) -> None:
        """Learn from all that holds, from the start."""

    @abstractmethod
    def query_weights(self) -> Floats:
        """The weights of the learned query, shape (terms,)."""

    def take_back(self, marks: Sequence[Mark]) -> None:  # noqa: ARG002 (may be quicker)
        """Unlearn marks that were taken back."""
        self.learn()

    def explain(self, document: str) -> ScoreReasons:
        """Every term's part of a document's score."""
        searches.require_documents(self.project.store, [document])
        stored, weights = self.project.store.document(document), self.query_weights()
        words = self.read(stored)
        columns, values = some(self.vectors.rows, [self.row[document]]).row(0)
        of_words, of_meaning = self._sides(columns, values.astype(np.float64))
        parts = [
            WordPart(
                shown(self.terms[column]),
                self._word(column, words),
                float(weights[column]),
                value,
                float(weights[column] * value),
            )
            for column, value in zip(columns.tolist(), of_words.tolist(), strict=False)
        ]
        if len(of_meaning):
            length = float(np.linalg.norm(of_meaning))
            part = float(weights[columns[len(of_words) :]] @ of_meaning)
            parts.append(WordPart(MEANING, MEANING, part / length, length, part))
        score = sum(part.part for part in parts)
        nonzero = sorted((p for p in parts if p.part), key=lambda p: -abs(p.part))
        return ScoreReasons(document, title_of(stored), score, nonzero)

    def _read_examples(self) -> None:
        """Remember the words of the examples."""
        for id_ in [id_ for id_, act in self.marks.items() if act in FOR][:READ]:
            self.read(self.project.store.document(id_))

    def _view(
        self, learned: str, documents: int, hits: Sequence[DocumentHit], **more: Any
    ) -> SearchView:
        """What is shown of both kinds: the examples, the query and the hits."""
        store, weights = self.project.store, self.query_weights()
        basket = {
            side: tuple(
                BasketItem(id_, title_of(store.document(id_)), act)
                for id_, act in reversed(self.marks.items())
                if act in side
            )
            for side in (FOR, searches.AGAINST)
        }
        texts = [
            BasketItem(name, " ".join(text.split()), OWN)
            for name, text in self.texts.items()
        ]
        return SearchView(
            self.search.number, self.search.name, self.search.kind == searches.SCREEN,
            learned, (*basket[FOR], *texts), basket[searches.AGAINST],
            tuple(self.heaviest(weights).items()),
            self.n_weighted(weights), documents, tuple(hits),
            version=searches.last_mark(store, self.search),
            meaning=self.meaning_share(weights), **more,
        )  # fmt: skip


class ExampleSearch(OpenSearch):
    """A search whose query stays in memory between one answer and the next.

    terms_kept : of the query only so many are kept, the heaviest, and its meaning; None
    for all.
    weights : the query's, one a term of the vectors, shape (terms,);  scores :
    shape (documents,).
    """

    query: ExampleQuery
    scores: Floats
    weights: Floats

    def __init__(
        self,
        project: Project,
        search: StoredSearch,
        vectors: AnyVectors | None = None,
        terms: int | None = None,
    ) -> None:
        super().__init__(project, search, vectors or vectors_of(project))
        self.terms_kept = terms
        self.learn()

    def mark(self, yes: Sequence[str] = (), no: Sequence[str] = ()) -> None:
        """Write what was said of some results, then learn from it.

        Learning begins where the last query ended, which is quick and the same up to
        the solver's tolerance.
        """
        acts = searches.acts_of(yes, no)
        with self.project.store.transaction():
            self.note(acts)
        self.take_in(acts)

    def note(self, acts: Mapping[str, MarkAct]) -> None:
        """Write marks; nothing is learned from them yet."""
        searches.require_documents(self.project.store, list(acts))
        shown = self._left()
        marks = [self._mark(id_, act, shown) for id_, act in acts.items()]
        searches.add_marks(self.project.store, self.search, marks, self.who)
        searches.require_example(self.project.store, self.search)

    def take_in(self, acts: Mapping[str, MarkAct]) -> None:
        """Learn from what was written."""
        again = any(self.marks.get(id_) in JUDGED for id_ in acts)
        self.marks |= acts
        if again or len(self.marks) >= len(self.scores):
            self.learn()
            return
        yes, no = self._judged_rows(acts)
        if len(yes) or len(no):
            self.query.partial_fit(yes, no, known=self._at(acts))
            self._steps.append(set(acts))
            self._score()

    def undo(self) -> list[Mark]:
        """Take back what this user marked last; return it."""
        marks = searches.undo_marks(self.project.store, self.search, self.who)
        self.take_back(marks)
        return marks

    def take_back(self, marks: Sequence[Mark]) -> None:
        """Unlearn marks that were taken back."""
        if self._steps and self._steps[-1] == {mark.document for mark in marks}:
            self._steps.pop()
            self.query.undo()
            self.marks = searches.acts_by_document(self.project.store, self.search)
            self._score()
        else:
            self.learn()

    def rank(
        self, k: int = 10, *, everything: bool = False, snippets: bool = False
    ) -> ExampleRanking:
        """The best k documents not marked yet; with ``everything`` all, marked too."""
        require_k(k, "document")
        scores = self.scores if everything else self._left()
        left = int(np.isfinite(scores).sum())
        if not left:
            raise refusal(
                "nothing is left to rank: %(how)s", how=worded("add --all to see them")
            )
        k = left if everything else min(k, left)
        return self._ranking(scores, k, left, snippets=snippets)

    def found(self, k: int = 10) -> ExampleRanking:
        """All that was said yes to and the best k not marked yet, by their scores."""
        require_k(k, "document")
        left = self._left()
        best = [row for row in top(left, k) if left[row] > -np.inf]
        relevant = self._at(id_ for id_, act in self.marks.items() if act in FOR)
        rows = [*best, *relevant]
        scores = np.full_like(self.scores, -np.inf)
        scores[rows] = self.scores[rows]
        return self._ranking(scores, len(rows), int(np.isfinite(left).sum()))

    def _ranking(
        self, scores: Floats, k: int, left: int, *, snippets: bool = False
    ) -> ExampleRanking:
        """The best k by their scores, of ``left`` that are not marked."""
        acts = Counter(self.marks.values())
        notes = [] if self.terms_kept is None else [self._cut_note(k)]
        if not self.has_weights:
            notes.append(joined(self._without(), _("no reasons are shown"), by=": "))
        elif not self.weights.any():
            notes.append(
                _(NO_WEIGHTS, remedy=worded("give more examples, or --method"))
            )
        return ExampleRanking(
            self.search.name, self.query.method_, self.query.C_,
            acts["example"] + len(self.texts), acts["yes"], acts["no"],
            self.n_weighted(self.weights) if self.has_weights else self.query.nonzero_,
            self.heaviest(self.weights), left,
            self.best(scores, self.weights, k, snippets=snippets), tuple(notes),
            self.params, self.meaning_share(self.weights), self.query.parts_,
        )  # fmt: skip

    def view(self, k: int) -> SearchView:
        """The search as it is shown, with the best k documents not marked yet."""
        left = len(self.scores) - len(self.marks)
        parts = self.query.parts_
        how = learned(self.query.method_, self.query.C_, self.params, parts)
        if left <= 0:
            return self._view(how, left, (), averaged=parts)
        ranking = self.rank(k, snippets=True)
        notes = tuple(ranking.notes)
        return self._view(how, left, ranking.hits, notes=notes, averaged=parts)

    @property
    def params(self) -> dict[str, Any]:
        """The parameters of the query that were chosen, besides method and C."""
        return dict(self.search.settings.get("params", {}))

    @property
    def has_weights(self) -> bool:
        """Whether the query is a weight a term, as it is without a kernel."""
        return bool(self.params.get("kernel", "linear") == "linear")

    def require_weights(self) -> None:
        """Refuse what is a matter of terms where the query has a kernel."""
        if not self.has_weights:
            remedy = worded("leave --terms, --explain and --weights")
            what = self._without()
            raise refusal(
                "%(what)s: use the linear one, or %(how)s", what=what, how=remedy
            )

    def explain(self, document: str) -> ScoreReasons:
        """Every term's part of a document's score."""
        self.require_weights()
        return super().explain(document)

    def query_weights(self) -> Floats:
        """The weights of the learned query, shape (terms,); zeros under a kernel."""
        return self.weights

    def _without(self) -> str:
        return _(NO_WORDS, kernel=self.params["kernel"])

    def learn(self) -> None:
        """Learn from all that holds, from the start."""
        self.marks = searches.acts_by_document(self.project.store, self.search)
        P, N = self._judged_rows(self.marks)
        if self.texts:
            P = stack([P, rows_of_texts(self.project, self.vectors, self.texts)])
            for text in self.texts.values():
                self.learn_words(text)
        if not len(P):
            raise refusal(
                "search %(id)r lacks an example: add one", id=self.search.name
            )
        labelled = self._at(id_ for id_, act in self.marks.items() if act in JUDGED)
        if len(labelled) >= len(self.vectors.ids):
            labelled = labelled[:0]  # some rows have to be left unlabelled
        settings = self.search.settings
        self.query = ExampleQuery(
            settings.get("method", "auto"), settings.get("C"), **self.params
        )
        self.query.fit(P, self.vectors.rows, N, known=labelled)
        self._steps: list[set[str]] = []
        self._read_examples()
        self._score()

    def _cut_note(self, k: int) -> str:
        """How cutting the query changed the first k, and the judged documents' order.

        Average precision among judged documents [ManningRaghavanSchutze08] is told
        where both kinds are judged.
        """
        from classmark.measures.retrieval import retrieval

        orders, hidden = (self._whole, self.scores), np.isneginf(self._left())
        whole, cut = (top(np.where(hidden, -np.inf, scores), k) for scores in orders)
        share = len(np.intersect1d(whole, cut)) / max(1, min(k, len(hidden)))
        sizes = map(self.n_weighted, (self.weights, self.query.coef_))
        terms, total = (decimal(size, 0) for size in sizes)
        note = _(CUT, terms=terms, total=total, share=percent(share), k=k)
        judged = {
            str(self.row[id_]): float(act in FOR)
            for id_, act in self.marks.items()
            if act in JUDGED
        }
        if len(set(judged.values())) < 2:
            return note
        runs = ({row: float(scores[int(row)]) for row in judged} for scores in orders)
        means = (retrieval({"q": run}, {"q": judged}, ["map"])["map"] for run in runs)
        before, after = (decimal(mean, 3) for mean in means)
        return joined(note, _(PRECISION, before=before, after=after))

    def _score(self) -> None:
        """Score all documents by the query as it is now."""
        query: Any = self.query
        self._whole = self.scores = self._scores_by(query)
        if self.terms_kept is not None:
            self.require_weights()
            query = self.query.cut(self.terms_kept, of=len(self.terms))
            self.scores = self._scores_by(query)
        self.weights = np.zeros(self.vectors.rows.width)
        if self.has_weights:
            self.weights = np.asarray(query.coef_, np.float64)

    def _scores_by(self, query: Any) -> Floats:
        return np.asarray(query.decision_function(self.vectors.rows), np.float64)

    def _at(self, ids: Iterable[str]) -> Ints:
        """The rows of documents."""
        return np.array([self.row[id_] for id_ in dict.fromkeys(ids)], np.int64)

    def _judged_rows(self, acts: Mapping[str, MarkAct]) -> Iterator[Rows]:
        """The rows of documents that are wanted, and of those that are not."""
        for side in (FOR, searches.AGAINST):
            ids = (id_ for id_, act in acts.items() if act in side)
            yield some(self.vectors.rows, self._at(ids))

    def _left(self) -> Floats:
        """The scores, -inf for what was marked already."""
        scores = self.scores.copy()
        scores[self._at(self.marks)] = -np.inf
        return scores

    def _mark(self, id_: str, act: MarkAct, shown: Floats) -> Mark:
        """A mark with the rank and the score that the document had."""
        row = self.row[id_]
        score = float(self.scores[row])
        if shown[row] == -np.inf:
            return Mark(id_, act, "given", None, score)
        before = (shown > score) | ((shown == score) & (np.arange(len(shown)) < row))
        return Mark(id_, act, "likely", int(before.sum()) + 1, score)
