"""Search a project, or the index of a file, and show why each document is found."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from classmark.corpus.document import Document
from classmark.formats import read_records
from classmark.index.asking import BOOLEAN, ask, question
from classmark.index.directory import Index
from classmark.index.explaining import Explanation
from classmark.index.feedback import Feedback, feedback_from
from classmark.index.language import MalformedQuery, parse
from classmark.index.priors import Prior, log_prior
from classmark.index.tree import Belief, Group, Node, Phrase, Word
from classmark.problems import Mistake
from classmark.workbench.index_folders import SOURCE, open_index
from classmark.workbench.indexing import is_stale
from classmark.workbench.reranking import ranker_for, rerank
from classmark.workbench.searchable import Searchable
from classmark.workbench.snippets import snippet

if TYPE_CHECKING:
    from classmark.index.searching import Hit
    from classmark.workbench.project import Project

__all__ = ["Answered", "Found", "MalformedQuery", "Wish", "search_in", "search_index"]

SIZE = 80
STALE = "documents were imported since: classmark index brings the index up to date"
NO_TERMS = "no word of the query is searched for: they are stop words, or signs"
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
    project: Project, query: str, wish: Wish, held: Searchable | None = None
) -> Found:
    """Search the documents of a project, in the order of a ranker if one orders.

    held : what was opened before; None: it is opened now.
    """
    held = held or Searchable(project)
    index, ordered = held.index, ranker_for(project, held, query, wish)
    if ordered is None:
        prior = None if wish.prior is None else _links_prior(project, held, wish.prior)
        hits, parts = _searched(index, query, wish, prior)
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


def search_index(folder: Path, query: str, wish: Wish) -> Found:
    """Search an index of a file; titles and texts are read from the file again."""
    if wish.prior is not None:
        raise Mistake("--prior needs the links of a project: import the file into one")
    if wish.ranker is not None:
        raise Mistake("--ranker needs the rankers of a project: import the file there")
    index = open_index(folder)
    hits, parts = _searched(index, query, wish, None)
    documents, note = _read_again(folder, {hit.id for hit in hits})
    note = note or _said_nothing(index, query)
    return Found(_shown(index, query, hits, documents, parts), note)


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
        found[name.strip()] = _number(value.strip())
    return found


def feedback_of(text: str) -> Feedback:
    """Read ``rm3`` or ``rm3:terms=10,documents=5``."""
    name, _, rest = text.partition(":")
    values = named_values(rest.split(",") if rest else (), "--feedback")
    return feedback_from(name, values)


def _number(text: str) -> float | str:
    try:
        return int(text) if text.isdecimal() else float(text)
    except ValueError:
        return text


def _searched(
    index: Index, query: str, wish: Wish, prior: Prior | None
) -> tuple[list[Hit], dict[str, dict[str, float]]]:
    """Return the hits and, if wished, what each term adds to each."""
    _require_some(wish.k)
    options = _options(index, wish, prior)
    tree = parse(query)
    if tree is None:
        raise MalformedQuery(query, 0, "there is no word in it: write what to look for")
    if wish.model == BOOLEAN or isinstance(tree, Belief):
        if wish.explain:
            raise Mistake("--explain takes a score apart: use a model that adds parts")
        return ask(index, query, wish.k, wish.model, **options), {}
    asked = question(index, query, wish.model, **options)
    hits = asked.answer(wish.k)
    if not wish.explain:
        return hits, {}
    several = len(index.fields) > 1
    return hits, {hit.id: _told(asked.explain(hit.number), several) for hit in hits}


def _require_some(k: int) -> None:
    if k < 1:
        raise Mistake(f"k is {k}: ask for at least one document")


def _options(index: Index, wish: Wish, prior: Prior | None) -> dict[str, Any]:
    """Return how to search, as ``question`` and ``ask`` take it."""
    options = named_values(wish.parameters, "--set")
    for name in options:
        if name in OPTIONS:
            raise Mistake(f"--set {name}: {name} is no parameter: use {OPTIONS[name]}")
    if wish.weights:
        options["fields"] = _weights(index, wish.weights)
    if wish.feedback is not None:
        options["feedback"] = feedback_of(wish.feedback)
    if prior is not None:
        options["prior"] = prior
    return options


def _weights(index: Index, texts: Sequence[str]) -> dict[str, float]:
    named = named_values(texts, "--weight")
    for name, weight in named.items():
        if isinstance(weight, str):
            raise Mistake(f"--weight {name}={weight}: give a number, 0 or more")
    return dict.fromkeys(index.fields, 1.0) | named


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
    size = _number(weight) if weight else 1.0
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
    path = Path(facts["path"])
    if not path.exists():
        return {}, f"{path} is not there any more: no titles and texts are shown"
    found: dict[str, Document] = {}
    for record in read_records(path, facts["format"]):
        if record.id in wanted:
            found[record.id] = record.document
            if len(found) == len(wanted):
                break
    return found, ""
