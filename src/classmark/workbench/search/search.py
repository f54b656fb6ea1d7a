"""Search a project or an index folder, and show where a text answers."""

from __future__ import annotations

import json
import re
from collections.abc import Container, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any, NamedTuple

from classmark.arrays import Floats
from classmark.corpus.documents import Document
from classmark.index.asking import BOOLEAN
from classmark.index.feedback import Feedback, feedback_from
from classmark.index.index import Index
from classmark.index.query_language import (
    Belief,
    Group,
    MalformedQuery,
    Node,
    Phrase,
    Word,
    parse,
)
from classmark.index.search import Explanation, Prior, log_prior
from classmark.machines.files import is_one
from classmark.problems import Mistake
from classmark.text.analyzer import Analyzer
from classmark.text.tokens import words
from classmark.workbench.search.index import (
    SOURCE,
    is_stale,
    open_index,
    open_project_index,
    read_given,
)
from classmark.workbench.search.links import chances

if TYPE_CHECKING:
    from classmark.index.search import Hit
    from classmark.ltr.reranker import Reranker
    from classmark.machines.cluster import Machines
    from classmark.machines.searching import SpreadIndex
    from classmark.workbench.project import Project


WIDTH = 26
_RUN = re.compile(r"\w+")
_BLANKS = re.compile(r"\s+")


class Piece(NamedTuple):
    """Some text; hit : it is a word that answers the query."""

    text: str
    hit: bool = False


def snippet(text: str, terms: Container[str], analyzer: Analyzer) -> str:
    """Return the part of a text with most of the terms, each marked by asterisks.

    >>> snippet("A hive of bees.", {"bee"}, Analyzer())
    'A hive of *bees*.'
    """
    pieces = cut_out(text, terms, analyzer)
    return "".join(f"*{each.text}*" if each.hit else each.text for each in pieces)


def cut_out(text: str, terms: Container[str], analyzer: Analyzer) -> list[Piece]:
    """Return the part of a text with most of the terms, in pieces."""
    runs = list(_RUN.finditer(text))
    hits = list(_hits(runs, terms, analyzer))
    first = _best_start(hits)
    last = min(first + WIDTH, len(runs))
    if first >= last:
        return [Piece(" ".join(text.split()))]
    found = _marked(text, runs, first, last, {place for place, _ in hits})
    before = [Piece("… ")] if first else []
    return [*before, *found, *([Piece(" …")] if last < len(runs) else [])]


def in_whole(text: str, terms: Container[str], analyzer: Analyzer) -> list[Piece]:
    """Return a whole text, a title, in pieces.

    >>> [piece.text for piece in in_whole("Of bees", {"bee"}, Analyzer()) if piece.hit]
    ['bees']
    """
    runs = list(_RUN.finditer(text))
    hits = {place for place, _ in _hits(runs, terms, analyzer)}
    return _marked(text, runs, 0, len(runs), hits)


def _hits(
    runs: list[re.Match[str]], terms: Container[str], analyzer: Analyzer
) -> Iterator[tuple[int, str]]:
    """Yield the places of words that become one of the terms, and the term."""
    term_of: dict[str, str] = {}
    for place, run in enumerate(runs):
        word = run[0]
        if word not in term_of:
            found = analyzer.terms(words(word))
            term_of[word] = next((term for term in found if term in terms), "")
        if term_of[word]:
            yield place, term_of[word]


def _best_start(hits: list[tuple[int, str]]) -> int:
    """Return where the window with most different terms begins, a few words early."""
    best, most, low = 0, (0, 0), 0
    for high, (place, _) in enumerate(hits):
        while hits[low][0] + WIDTH - 4 <= place:
            low += 1
        window = hits[low : high + 1]
        size = (len({term for _, term in window}), len(window))
        if size > most:
            best, most = hits[low][0], size
    return max(0, best - 4)


def _marked(
    text: str, runs: list[re.Match[str]], first: int, last: int, hits: set[int]
) -> list[Piece]:
    """Return the words from first to last in pieces, blanks as one."""
    start = 0 if first == 0 else runs[first].start()
    end = len(text) if last == len(runs) else runs[last].start()
    pieces, at = [], start
    for place in sorted(hits & set(range(first, last))):
        run = runs[place]
        pieces += [Piece(text[at : run.start()]), Piece(run[0], hit=True)]
        at = run.end()
    pieces.append(Piece(text[at:end]))
    line = [Piece(_BLANKS.sub(" ", each.text), each.hit) for each in pieces]
    line[0] = Piece(line[0].text.lstrip(), line[0].hit)
    line[-1] = Piece(line[-1].text.rstrip(), line[-1].hit)
    return [each for each in line if each.text]


OPTIONS = {
    "model": "--model",
    "fields": "--weight",
    "feedback": "--feedback",
    "prior": "--prior",
    "k": "-k",
}


@dataclass(frozen=True, slots=True)
class Wish:
    """How to search, as typed: the model, its parameters, feedback, a prior.

    parameters : ``name=value`` each;  weights : ``field=number`` each, 1 where not
    given;  feedback : ``rm3`` or ``rm3:terms=10``;  prior :
    ``pagerank`` or ``pagerank:weight``;  ranker : the number of a learned ranker, or
    ``none``; None: the one in service.
    """

    model: str | None = None
    parameters: Sequence[str] = ()
    k: int = 10
    feedback: str | None = None
    prior: str | None = None
    explain: bool = False
    weights: Sequence[str] = ()
    ranker: str | None = None


def options_of(
    fields: Sequence[str], wish: Wish, prior: Prior | None
) -> dict[str, Any]:
    """Return how to search, as ``Index.question`` and ``Index.ask`` take it."""
    options = named_values(wish.parameters, "--set")
    for name in options:
        if name in OPTIONS:
            raise Mistake(f"--set {name}: {name} is no parameter: use {OPTIONS[name]}")
    if wish.weights:
        options["fields"] = _weights(fields, wish.weights)
    if wish.feedback is not None:
        options["feedback"] = feedback_of(wish.feedback)
    if prior is not None:
        options["prior"] = prior
    return options


def named_values(texts: Sequence[str], where: str) -> dict[str, Any]:
    """Read ``name=value`` each: numbers where they are, else words.

    >>> named_values(["k1=0.9", "variant=bm25l"], "--set")
    {'k1': 0.9, 'variant': 'bm25l'}
    """
    found: dict[str, Any] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals or not name.strip() or not value.strip():
            example = "title=2" if where == "--weight" else "k1=0.9"
            raise Mistake(f"{where} {text!r}: write name=value, as in {example}")
        found[name.strip()] = number_in(value.strip())
    return found


def feedback_of(text: str) -> Feedback:
    """Read ``rm3`` or ``rm3:terms=10,documents=5``."""
    name, _, rest = text.partition(":")
    values = named_values(rest.split(",") if rest else (), "--feedback")
    return feedback_from(name, values)


def number_in(text: str) -> float | str:
    """Read a number where there is one, else the word itself."""
    try:
        return int(text) if text.isdecimal() else float(text)
    except ValueError:
        return text


def _weights(fields: Sequence[str], texts: Sequence[str]) -> dict[str, float]:
    named = named_values(texts, "--weight")
    for name, weight in named.items():
        if isinstance(weight, str):
            raise Mistake(f"--weight {name}={weight}: give a number, 0 or more")
    return dict.fromkeys(fields, 1.0) | named


class Searchable:
    """One generation of a project's index, its rankers, and what links say.

    Threads may share it, each with a project of its own.

    memory : where the postings of a field, decoded, fit it, they are kept decoded; 0,
    for one query, reads the lists of its words and no others.
    """

    def __init__(self, project: Project, memory: str | int = "1GB") -> None:
        self.index = open_project_index(project, memory)
        self._opening = Lock()
        self._rankers: dict[int, Reranker] = {}
        self._chances: tuple[Floats | None] | None = None

    def is_current(self, project: Project) -> bool:
        """Whether the index in service is still this one."""
        current = project.index.current()
        return current is not None and int(current.name) == self.index.generation

    def ranker_in_service(self, project: Project) -> tuple[int, Reranker] | None:
        """The learned ranker that orders answers, and its number; None: none does."""
        current = project.rankers.current()
        if current is None:
            return None
        number = int(current.name)
        return number, self.ranker(project, number)

    def ranker(self, project: Project, number: int) -> Reranker:
        """A learned ranker by its number."""
        with self._opening:
            if number not in self._rankers:
                from classmark.workbench.search.rankers import open_ranker

                self._rankers[number] = open_ranker(project, number)
            return self._rankers[number]

    def chances(self, project: Project) -> Floats | None:
        """The PageRank of each item of the index; None where nothing links."""
        with self._opening:
            if self._chances is None:
                self._chances = (chances(project, self.index),)
            return self._chances[0]


__all__ = [
    "Answered",
    "Found",
    "MalformedQuery",
    "Wish",
    "search_in",
    "search_index",
]

SIZE = 80
STALE = "documents were imported since: classmark index brings the index up to date"
NO_TERMS = "no word of the query is searched for: they are stop words, or signs"


@dataclass(frozen=True, slots=True)
class Answered:
    """A document that was found.

    parts : what each term, or feature, adds to its score;  ranker : the learned ranker
    that ordered the answer, if one did.
    """

    rank: int
    score: float
    id: str
    title: str
    snippet: str
    parts: Mapping[str, float] = field(default_factory=dict)
    ranker: int | None = None


@dataclass(frozen=True, slots=True)
class Found:
    """The answers, and what else to say; terms : what was looked for, analysed."""

    answers: list[Answered]
    note: str = ""
    terms: frozenset[str] = frozenset()


def search_in(
    project: Project,
    query: str,
    wish: Wish,
    held: Searchable | None = None,
    *,
    machines: Machines | None = None,
) -> Found:
    """Search the documents of a project, in the order of a ranker if one orders.

    held : what was opened before; None: it is opened now, for this query.  machines :
    who searches, if not this process; the answers are the same.
    """
    held = held or Searchable(project, memory=0)
    index, ordered = held.index, None
    if wish.ranker is not None or project.rankers.current() is not None:
        from classmark.workbench.search.rankers import ranker_for, rerank

        ordered = ranker_for(project, held, query, wish)
    if ordered is None:
        prior = None if wish.prior is None else _links_prior(project, held, wish.prior)
        with _searching(index, machines) as opened:
            hits, parts = _searched(opened, query, wish, prior)
    elif machines is not None:
        raise Mistake(
            f"ranker {ordered.number} reads the index on one machine: leave --workers "
            "and --on out, or give --ranker none"
        )
    else:
        _require_some(wish.k)
        hits, parts = rerank(project, held, query, ordered, wish)
    documents = {hit.id: project.store.document(hit.id) for hit in hits}
    answers = _shown(index, query, hits, documents, parts)
    notes = [STALE if is_stale(project) else _said_nothing(index, query)]
    if ordered is not None:
        answers = [replace(each, ranker=ordered.number) for each in answers]
        notes.append(ordered.said)
    said = "; ".join(note for note in notes if note)
    return Found(answers, said, asked_terms(index, query))


def search_index(
    folder: Path, query: str, wish: Wish, *, machines: Machines | None = None
) -> Found:
    """Search an index of a file; titles and texts are read from the file again.

    machines : who searches, if not this process; the answers are the same.
    """
    if wish.prior is not None:
        raise Mistake("--prior needs the links of a project: import the file into one")
    if wish.ranker is not None:
        raise Mistake("--ranker needs the rankers of a project: import the file there")
    index = open_index(folder, memory=0)
    with _searching(index, machines) as opened:
        hits, parts = _searched(opened, query, wish, None)
    documents, note = _read_again(folder, {hit.id for hit in hits})
    note = note or _said_nothing(index, query)
    return Found(_shown(index, query, hits, documents, parts), note)


@contextmanager
def _searching(
    index: Index, machines: Machines | None
) -> Iterator[Index | SpreadIndex]:
    """Return what searches: the index itself, or machines that read it."""
    if machines is None:
        yield index
        return
    from classmark.machines.searching import SpreadIndex

    with SpreadIndex(machines, index.path) as spread:
        yield spread


def _searched(
    index: Index | SpreadIndex, query: str, wish: Wish, prior: Prior | None
) -> tuple[list[Hit], dict[str, dict[str, float]]]:
    """Return the hits and, if wished, what each term adds to each."""
    _require_some(wish.k)
    options = options_of(index.fields, wish, prior)
    tree = parse(query)
    if tree is None:
        raise MalformedQuery(query, 0, "there is no word in it: write what to look for")
    if wish.model == BOOLEAN or isinstance(tree, Belief):
        if wish.explain:
            raise Mistake("--explain takes a score apart: use a model that adds parts")
        return index.ask(query, wish.k, model=wish.model, **options), {}
    asked = index.question(query, wish.model, **options)
    hits = asked.answer(wish.k)
    if not wish.explain:
        return hits, {}
    several = len(index.fields) > 1
    return hits, {hit.id: _told(asked.explain(hit.number), several) for hit in hits}


def _require_some(k: int) -> None:
    if k < 1:
        raise Mistake(f"k is {k}: ask for at least one document")


def _told(explained: Explanation, several: bool) -> dict[str, float]:
    told = {
        f"{part.field}:{part.term}" if several else part.term: part.part
        for part in explained.parts
        if part.part
    }
    return told | ({"(document)": explained.own} if explained.own else {})


def _shown(
    index: Index,
    query: str,
    hits: Sequence[Hit],
    documents: Mapping[str, Document],
    parts: Mapping[str, Mapping[str, float]],
) -> list[Answered]:
    terms = asked_terms(index, query)
    shown = []
    for rank, hit in enumerate(hits, 1):
        document = documents.get(hit.id, Document(hit.id))
        body = "\n".join(t for name, t in document.fields.items() if name != "title")
        seen = snippet(body, terms, index.analyzer) if body else ""
        title = document.title or _short(document.text)
        mine = parts.get(hit.id, {})
        shown.append(Answered(rank, hit.score, hit.id, title, seen, mine))
    return shown


def asked_terms(index: Index, query: str) -> frozenset[str]:
    """The terms that a query asks for, those that must not be there left out."""
    texts = _texts(parse(query))
    return frozenset(term for text in texts for term in index.analyzer(text))


def _said_nothing(index: Index, query: str) -> str:
    """Say so if a query has no word that is searched for."""
    return "" if index.terms(query) else NO_TERMS


def _texts(node: Node | None) -> list[str]:
    """Return what a query says, words that must not be there left out."""
    if node is None:
        return []
    if isinstance(node, Word | Phrase):
        return [node.text]
    if isinstance(node, Group):
        return [t for c in node.clauses if c.sign != "-" for t in _texts(c.part)]
    parts = getattr(node, "parts", ())
    return [text for part in parts for text in _texts(part)]


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= SIZE else f"{line[: SIZE - 2].rsplit(' ', 1)[0]} …"


def _links_prior(project: Project, held: Searchable, text: str) -> Prior:
    """Make ``pagerank[:weight]`` the prior of the index's documents."""
    name, _, weight = text.partition(":")
    size = number_in(weight) if weight else 1.0
    if name != "pagerank" or isinstance(size, str):
        raise Mistake(f"--prior {text!r}: write pagerank, or pagerank:0.5")
    found = held.chances(project)
    if found is None:
        raise Mistake(f"--prior {name}: no document of {project.folder} links to one")
    return log_prior(found, float(size))


def _read_again(folder: Path, wanted: set[str]) -> tuple[dict[str, Document], str]:
    """Read some documents of the file an index was made of."""
    source = folder / SOURCE
    if not wanted or not source.is_file():
        return {}, ""
    facts = json.loads(source.read_text(encoding="utf-8"))
    path = facts["path"]
    if is_one(path) and not Path(path).exists():
        return {}, f"{path} is not there any more: no titles and texts are shown"
    found: dict[str, Document] = {}
    for record in read_given(path, facts["format"]):
        if record.id in wanted:
            found[record.id] = record.document
            if len(found) == len(wanted):
                break
    return found, ""
