"""Search a project or an index folder, and show where each hit answers the query."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any, NamedTuple

from classmark.arrays import Floats
from classmark.index.asking import BOOLEAN
from classmark.index.feedback import Feedback, feedback_from
from classmark.index.models import Prior
from classmark.index.query_language import (
    Belief,
    MalformedQuery,
    Node,
    parse,
    positive_texts,
)
from classmark.index.search import Explanation, TermScore, log_prior
from classmark.language import N_, _
from classmark.machines.files import is_one
from classmark.problems import Mistake, refusal, worded
from classmark.validation import require_k
from classmark.workbench.search import index as indexing
from classmark.workbench.search.clicks import log_impression
from classmark.workbench.search.filters import (
    Facet,
    Narrowing,
    SearchFilters,
    narrowing,
)
from classmark.workbench.search.hits import DocumentHit, snippet, snippet_of
from classmark.workbench.search.links import chances
from classmark.workbench.store.store import title_of

if TYPE_CHECKING:
    from classmark.corpus.documents import Document
    from classmark.index.fusion import HybridHit
    from classmark.index.index import Index
    from classmark.index.search import Hit
    from classmark.machines.cluster import Machines
    from classmark.machines.searching import SpreadIndex
    from classmark.workbench.project import Project
    from classmark.workbench.search.hybrid import Fused, IndexVectors


MODELS = (
    "bm25", "robertson", "atire", "bm25+", "bm25l", "jm", "dirichlet", "kl", "pl2",
    "inl2", "dph", "lgd", "spl", "cosine", "bim", BOOLEAN,
)  # fmt: skip
FEEDBACK = ("rocchio", "rm3", "information")
OPTIONS = {
    "model": "--model",
    "fields": "--weight",
    "feedback": "--feedback",
    "prior": "--prior",
    "k": "-k",
}
NO_FILTERS = SearchFilters()
SHOWN_TERMS = 10  # of a word with * or ?, in the parts of a score
MEANING = "(meaning)"  # among the parts of a score
NO_TERMS = N_("no word of the query is searched for: they are stop words, or signs")


@dataclass(frozen=True, slots=True)
class SearchResults:
    """The hits, best first, and what else to say.

    ranker : the learned ranker that ordered them, if one did;  impression : the number
    of the list in the log, None: it is not logged;  meaning : whether it counted
    beside words;  total : how many documents the query describes and the filters leave,
    None where it was not counted;  facets : their most frequent categories;  meant :
    the query as it may be meant, empty where its words are there;  marks, order : in an
    experiment, where each hit comes from, and what was mixed.
    """

    hits: tuple[DocumentHit, ...]
    notes: tuple[str, ...] = ()
    ranker: int | None = None
    impression: int | None = None
    meaning: bool = False
    total: int | None = None
    facets: tuple[Facet, ...] = ()
    meant: str = ""
    marks: tuple[str | int, ...] = ()
    order: str = ""

    @property
    def note(self) -> str:
        """What else to say, in a line."""
        return "; ".join(self.notes)


@dataclass(frozen=True, slots=True)
class QueryOptions:
    """How to search, as typed: the model, its parameters, feedback, a prior.

    parameters : ``name=value`` each;  weights : ``field=number`` each, 1 where not
    given;  feedback : ``rm3`` or ``rm3:terms=10``;  prior :
    ``pagerank`` or ``pagerank:weight``;  explain : take scores apart, None where they
    are sums;  ranker : the number of a learned ranker, or ``none``; None: the one in
    service;  hybrid : how meaning counts beside words: ``no``, ``auto``, ``weight``,
    ``ranks`` or a number; None: as the settings say;  filters : which documents may be
    answers;  page : 1, 2, …, of ``k`` documents each.
    """

    model: str | None = None
    parameters: Sequence[str] = ()
    k: int = 10
    feedback: str | None = None
    prior: str | None = None
    explain: bool | None = False
    weights: Sequence[str] = ()
    ranker: str | None = None
    hybrid: str | None = None
    filters: SearchFilters = NO_FILTERS
    page: int = 1

    @property
    def depth(self) -> int:
        """How many documents are ranked: this page and those before."""
        return self.k * self.page

    def for_index(self, fields: Sequence[str], prior: Prior | None) -> dict[str, Any]:
        """The same as ``Index.question`` and ``Index.ask`` take it."""
        options = named_values(self.parameters, worded("--set"))
        for name in options:
            if name in OPTIONS:
                raise refusal(
                    "%(remedy)s %(name)s: %(name)s is no parameter: use %(remedy2)s",
                    remedy=worded("--set"),
                    name=name,
                    remedy2=worded(OPTIONS[name]),
                )
        if self.weights:
            weights = named_values(self.weights, worded("--weight"), "title=2")
            for name, weight in weights.items():
                if isinstance(weight, str):
                    where = f"{worded('--weight')} {name}={weight}"
                    raise refusal("%(where)s: give a number, 0 or more", where=where)
            options["fields"] = dict.fromkeys(fields, 1.0) | weights
        if self.feedback is not None:
            options["feedback"] = feedback_of(self.feedback)
        if prior is not None:
            options["prior"] = prior
        return options


def named_values(
    texts: Sequence[str], where: str, example: str = "k1=0.9"
) -> dict[str, Any]:
    """Read ``name=value`` each: numbers where they are, else words.

    >>> named_values(["k1=0.9", "variant=bm25l"], "--set")
    {'k1': 0.9, 'variant': 'bm25l'}
    """
    values: dict[str, Any] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals or not name.strip() or not value.strip():
            raise refusal(
                "%(where)s %(text)r: write name=value, as in %(example)s",
                where=where,
                text=text,
                example=example,
            )
        values[name.strip()] = number_in(value.strip())
    return values


def feedback_of(text: str) -> Feedback:
    """Read ``rm3`` or ``rm3:terms=10,documents=5``."""
    name, _, rest = text.partition(":")
    values = named_values(rest.split(",") if rest else (), worded("--feedback"))
    return feedback_from(name, values)


def number_in(text: str) -> float | str:
    """Read a number where there is one, else the word itself."""
    try:
        return int(text) if text.isdecimal() else float(text)
    except ValueError:
        return text


class ProjectIndex:
    """One generation of a project's index, its rankers, and what links say.

    Threads may share it, each with a project of its own.

    memory : where the postings of a field, decoded, fit it, they are kept decoded; 0,
    for one query, reads the lists of its words and no others.
    """

    def __init__(self, project: Project, memory: str | int = "1GB") -> None:
        self.index = indexing.open_project_index(project, memory)
        self._lock = Lock()
        self._cache: dict[str | int, Any] = {}

    def is_current(self, project: Project) -> bool:
        """Whether the index in service is still this one."""
        current = project.index.current()
        return current is not None and int(current.name) == self.index.generation

    def cached(self, key: str | int, make: Callable[[], Any]) -> Any:
        """A value that is made when it is first asked for, by one thread."""
        with self._lock:
            if key not in self._cache:
                self._cache[key] = make()
            return self._cache[key]

    def chances(self, project: Project) -> Floats | None:
        """The PageRank of each item of the index; None where nothing links."""
        links: Floats | None = self.cached(
            "links", lambda: chances(project, self.index)
        )
        return links

    def vectors(self, project: Project) -> IndexVectors | None:
        """The vectors of its documents; None where the project has no source."""
        from classmark.workbench.search.hybrid import VectorCache

        cache: VectorCache = self.cached("vectors", VectorCache)
        with self._lock:
            return cache.get(project, self.index)


def search_in(
    project: Project,
    query: str,
    options: QueryOptions,
    opened: ProjectIndex | None = None,
    *,
    machines: Machines | None = None,
    narrow: Narrowing | None = None,
) -> SearchResults:
    """Search the documents of a project, in the order of a ranker if one orders.

    opened : the index, if it is open; None: it is opened for this query.  machines :
    who searches, if not this process; the hits are the same.  narrow : what the filters
    leave, if that was looked up.
    """
    opened = opened or ProjectIndex(project, memory=0)
    index, number = opened.index, None
    if options.ranker is not None or project.rankers.current() is not None:
        from classmark.workbench.search.rankers import ranker_for, rerank

        number = ranker_for(project, query, options)
    narrow = narrow or narrowing(project, opened, query, options.filters)
    stale = indexing.is_stale(project)
    notes = [indexing.stale_note()] if stale else _notes(index, query)
    meaning = False
    if number is None:
        hits, parts, meaning, more = _ask_project(
            project, opened, query, options, Asking(narrow, machines)
        )
        notes += more
    elif machines is not None:
        raise refusal(
            "ranker %(number)s reads the index on one machine: leave --workers "
            "and --on out, or give --ranker none",
            number=number,
        )
    else:
        require_k(options.k, "document")
        hits, parts, note = rerank(project, opened, query, number, options, narrow)
        notes.append(note)
    hits = hits[options.depth - options.k :]
    here = project.store.contents([hit.id for hit in hits])
    hits = [hit for hit in hits if hit.id in here]  # some may be deleted since
    documents = {hit.id: project.store.document(hit.id) for hit in hits}
    first = options.depth - options.k + 1
    shown = _shown(index, query, hits, documents, parts, first)
    return SearchResults(shown, tuple(notes), number, meaning=meaning)


def search_index(
    folder: Path,
    query: str,
    options: QueryOptions,
    *,
    machines: Machines | None = None,
) -> SearchResults:
    """Search an index of a file; titles and texts are read from the file again.

    machines : who searches, if not this process; the hits are the same.
    """
    if options.prior is not None:
        raise refusal("--prior needs the links of a project: import the file into one")
    if options.ranker is not None:
        raise refusal("--ranker needs the rankers of a project: import the file there")
    if options.hybrid not in {None, "no"}:
        raise refusal("--hybrid needs the vectors of a project: import the file there")
    index = indexing.open_index(folder, memory=0)
    everything = Asking(Narrowing(NO_FILTERS, None), machines)
    hits, parts = _ask(index, query, options, None, everything)
    documents, note = _read_again(folder, {hit.id for hit in hits})
    notes = [note] if note else _notes(index, query)
    return SearchResults(_shown(index, query, hits, documents, parts), tuple(notes))


def log_results(
    project: Project,
    query: str,
    results: SearchResults,
    options: QueryOptions,
    who: str = "",
) -> SearchResults:
    """Log the hits as an impression; return the results with its number."""
    shown = [(hit.id, float(hit.score or 0.0)) for hit in results.hits]
    ranker = name_of_order(results, options.model)
    number = log_impression(
        project, query, shown, marks=results.marks, ranker=ranker, who=who
    )
    return replace(results, impression=number)


def name_of_order(results: SearchResults, model: str | None = None) -> str:
    """What ordered the hits, as the log of searches has it."""
    if results.order or results.ranker is not None:
        return results.order or f"ranker {results.ranker}"
    return (model or "bm25") + ("+meaning" if results.meaning else "")


class Asking(NamedTuple):
    """What a query is asked of: what filters leave, by machines or in this process."""

    narrow: Narrowing
    machines: Machines | None = None


Answered = tuple[Sequence["Hit | HybridHit"], dict[str, dict[str, float]]]


def fused_for(
    project: Project,
    hybrid: str | None,
    look_up: Callable[[], IndexVectors | None],
) -> tuple[Fused | None, tuple[str, ...]]:
    """What words are fused with, None for words alone; and what to say of that.

    hybrid : as typed;  look_up : gives the vectors of the documents. A project that has
    no source of vectors loads nothing.
    """
    settings = project.settings
    wish = settings.search.hybrid if hybrid is None else hybrid
    if wish == "no" or (wish == "auto" and not settings.meaning.remembered):
        return None, ()
    from classmark.workbench.search.hybrid import fused_with

    return fused_with(project, hybrid, look_up)


def _ask_project(
    project: Project,
    opened: ProjectIndex,
    query: str,
    options: QueryOptions,
    asking: Asking,
) -> tuple[*Answered, bool, tuple[str, ...]]:
    """The hits and their parts, whether meaning counted, and what to say of it."""
    prior = links_prior(project, opened, options.prior)
    look_up = partial(opened.vectors, project)
    fused, notes = fused_for(project, options.hybrid, look_up)
    if fused is not None:
        both = fused, asking
        try:
            return *_ask_both(opened.index, query, options, prior, both), True, notes
        except Mistake as problem:
            if fused.required:
                raise
            from classmark.workbench.search.hybrid import alone

            notes = (alone(problem),)
    answered = _ask(opened.index, query, options, prior, asking)
    return *answered, False, notes


def _ask_both(
    index: Index,
    query: str,
    options: QueryOptions,
    prior: Prior | None,
    both: tuple[Fused, Asking],
) -> Answered:
    """The hits by words and meaning; parts : also what meaning adds to each."""
    from classmark.index.fusion import HybridQuestion

    require_k(options.k, "document")
    _parsed(query)
    if options.model == BOOLEAN:
        raise refusal(
            "the model boolean scores nothing: choose another, or words alone"
        )
    (fused, asking), index_options = both, options.for_index(index.fields, prior)
    narrow = asking.narrow
    with _searching(index, asking) as searching:
        question = HybridQuestion.of(
            index, query, fused.dense, fused.weight,
            None if searching is index else searching.question,
            model=options.model, **index_options,
        )  # fmt: skip
        if narrow.members is not None:
            near = narrow.members
            near = near if question.members is None else near & question.members
            words = narrow.apply(question.words)
            question = replace(question, words=words, members=near)
        hits, names = question.answer(options.depth), _names(index, query)
        if options.explain is False:
            return hits, {}
        return hits, {
            hit.id: {MEANING: hit.meaning} | _parts(question.explain(hit), names)
            for hit in hits
        }


def _searching(
    index: Index, asking: Asking
) -> AbstractContextManager[Index | SpreadIndex]:
    """What is asked for words: the index itself, or the same on machines."""
    if asking.machines is None:
        return nullcontext(index)
    from classmark.machines.searching import SpreadIndex

    return SpreadIndex(asking.machines, index.path)


def _ask(
    index: Index,
    query: str,
    options: QueryOptions,
    prior: Prior | None,
    asking: Asking,
) -> Answered:
    """Return the hits and, if that is asked for, what each term adds to each."""
    require_k(options.k, "document")
    index_options = options.for_index(index.fields, prior)
    tree = _parsed(query)
    narrow = asking.narrow
    with _searching(index, asking) as searching:
        if options.model == BOOLEAN or isinstance(tree, Belief):
            if options.explain:
                raise refusal(
                    "%(remedy)s takes a score apart: use a model that adds parts",
                    remedy=worded("--explain"),
                )
            model, k = options.model, options.depth
            if narrow.members is not None:
                k = len(narrow.members)
            hits = searching.ask(query, k, model=model, **index_options)
            return [h for h in hits if narrow.leaves(h.number)][: options.depth], {}
        question = searching.question(query, options.model, **index_options)
        hits = narrow.apply(question).answer(options.depth)
        if options.explain is False:
            return hits, {}
        names = _names(index, query)
        return hits, {
            hit.id: _parts(question.explain(hit.number), names) for hit in hits
        }


def _parsed(query: str) -> Node:
    tree = parse(query)
    if tree is None:
        raise MalformedQuery(query, 0, _("there is no word in it: enter some words"))
    return tree


def _names(index: Index, query: str) -> Callable[[TermScore], str]:
    """How a part of a score is called: by its field, where it was scored alone."""
    several = len(index.fields) > 1
    shown = {
        pattern: f"{pattern} = {', '.join(terms[:SHOWN_TERMS])}"
        + (f" and {len(terms) - SHOWN_TERMS} more" * (len(terms) > SHOWN_TERMS))
        for pattern, terms in index.expand(query).items()
    }

    def name(part: TermScore) -> str:
        term = shown.get(part.term, part.term)
        return f"{part.field}:{term}" if several and part.field else term

    return name


def _parts(
    explanation: Explanation, name: Callable[[TermScore], str]
) -> dict[str, float]:
    parts = {name(part): part.part for part in explanation.parts if part.part}
    return parts | ({_("(document)"): explanation.own} if explanation.own else {})


def _shown(
    index: Index,
    query: str,
    hits: Sequence[Hit | HybridHit],
    documents: Mapping[str, Document],
    parts: Mapping[str, Mapping[str, float]],
    first: int = 1,
) -> tuple[DocumentHit, ...]:
    analyzer = index.analyzer
    terms = {term for text in positive_texts(parse(query)) for term in analyzer(text)}
    terms.update(*index.expand(query).values())
    shown = []
    for rank, hit in enumerate(hits, first):
        document = documents.get(hit.id)
        title = "" if document is None else title_of(document)
        text = () if document is None else snippet_of(document, terms, analyzer)
        heading = snippet(title or hit.id, terms, analyzer, whole=True)
        mine = parts.get(hit.id, {})
        one = DocumentHit(rank, hit.id, title, hit.score, mine, text, heading)
        words, meaning = getattr(hit, "words", None), getattr(hit, "meaning", None)
        shown.append(replace(one, words=words, meaning=meaning))
    return tuple(shown)


def _notes(index: Index, query: str) -> list[str]:
    """What to say of a query's words: none is searched for, or a wildcard fits none."""
    wildcards = index.expand(query)
    notes = [] if index.terms(query) or wildcards else [_(NO_TERMS)]
    none = N_("no word of the index fits %(pattern)s")
    if index.analyzer.stem:
        none = N_(
            "no word of the index fits %(pattern)s, whose words are stems: write fewer "
            "letters"
        )
    return notes + [
        _(none, pattern=pattern) for pattern, terms in wildcards.items() if not terms
    ]


def links_prior(
    project: Project, opened: ProjectIndex, text: str | None
) -> Prior | None:
    """Make ``pagerank[:weight]`` the prior of the index's documents."""
    if text is None:
        return None
    name, _, weight = text.partition(":")
    size = number_in(weight) if weight else 1.0
    if name != "pagerank" or isinstance(size, str):
        where = f"{worded('--prior')} {text!r}"
        raise refusal("%(where)s: write pagerank, or pagerank:0.5", where=where)
    links = opened.chances(project)
    if links is None:
        where = f"{worded('--prior')} {name}"
        raise refusal(
            "%(where)s: no document of %(folder)s links to one",
            where=where,
            folder=project.folder,
        )
    return log_prior(links, float(size))


def _read_again(folder: Path, ids: set[str]) -> tuple[dict[str, Document], str]:
    """Read some documents of the file an index was made of."""
    source = folder / indexing.SOURCE
    if not ids or not source.is_file():
        return {}, ""
    facts = json.loads(source.read_text(encoding="utf-8"))
    path = facts["path"]
    if is_one(path) and not Path(path).exists():
        return {}, _(
            "%(path)s is not there any more: no titles and texts are shown", path=path
        )
    documents: dict[str, Document] = {}
    for record in indexing.read_given(path, facts["format"]):
        if record.id in ids:
            documents[record.id] = record.document
            if len(documents) == len(ids):
                break
    return documents, ""
