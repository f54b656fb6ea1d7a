"""Begin searches by example, go on with them, rank by weights."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from itertools import chain, count
from operator import attrgetter
from pathlib import Path
from secrets import randbits
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from classmark.arrays import Rows
from classmark.examples.query import require_effect
from classmark.formats import guess_format, read_records
from classmark.formats.column_names import NOT
from classmark.formats.text_files import open_bytes, whole_text
from classmark.formats.weights import read_weights
from classmark.language import _
from classmark.problems import Mistake, refusal, worded
from classmark.ranking import top
from classmark.workbench.examples import searches
from classmark.workbench.examples.duplicates import duplicates_of
from classmark.workbench.examples.example_search import (
    HEAVIEST,
    REASONS,
    ExampleRanking,
    ExampleSearch,
    Explainer,
)
from classmark.workbench.examples.searches import Mark, MarkAct, StoredSearch
from classmark.workbench.examples.vectors import (
    AnyVectors,
    rows_of_texts,
    spread_vectors,
)
from classmark.workbench.project import Project
from classmark.workbench.results import Cell, Table
from classmark.workbench.search.hits import DocumentHit
from classmark.workbench.store.store import Store, title_of, titles

if TYPE_CHECKING:
    from classmark.examples.screening import StoppingRule
    from classmark.index.index import Index
    from classmark.machines.cluster import Machines

QUICK = "auto"  # learns from any example; whether other methods can is tried at once
LITTLE = "1MB"  # of postings kept decoded here, where machines read them
NAMED = 60  # letters of the name of a search that was given none
MARK_OF: dict[str, MarkAct] = {
    "assign": "example", "primary": "example", "reject": "no",
}  # fmt: skip
FOR_IT = ("assign", "primary")
COLUMNS = {  # of a list of searches: the attribute, its name in the table
    "name": "search", "method": "method", "examples": "examples", "yes": "yes",
    "no": "no", "begun": "begun", "who": "by",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class SearchStart:
    """What a search by example, or a screening, begins with.

    examples, no : ids of documents that are wanted, and not;  texts : examples that are
    no documents, by name;  category : documents assigned to it are examples, those
    rejected from it are not wanted;  name : None for a number;  method, C : how to
    learn, None as before (a method without a C brings its own);  rule : of a screening,
    None for a search;  params : of ``ExampleQuery``, those chosen besides method and C:
    k, sample, kernel, gamma, degree, coef0;  hide : duplicates, from a screening.
    """

    examples: tuple[str, ...] = ()
    no: tuple[str, ...] = ()
    texts: Mapping[str, str] = field(default_factory=dict)
    category: str | None = None
    name: str | None = None
    method: str | None = None
    C: float | None = None
    rule: StoppingRule | None = None
    params: Mapping[str, Any] = field(default_factory=dict)
    hide: bool = True

    @property
    def has_examples(self) -> bool:
        """Whether there is something to learn from."""
        return bool(self.examples or self.texts or self.category is not None)

    def name_from_examples(self, store: Store) -> str:
        """A new name: how the first text, document or category begins."""
        names = [*self.texts.values(), *titles(store, self.examples[:1]).values()]
        name = " ".join([*names, self.category or ""][0].split())[:NAMED].strip()
        taken_names = {row[0] for row in store.run("SELECT name FROM searches")}
        others = (f"{name} ({number})" for number in count(2))
        return next(n for n in chain([name], others) if n not in taken_names)


class Answers(NamedTuple):
    """What is said at once: ids for yes and no, after an undo or a redo."""

    yes: tuple[str, ...] = ()
    no: tuple[str, ...] = ()
    undo: bool = False
    redo: bool = False


def ids_of(
    texts: Iterable[str], option: str, store: Store | None = None
) -> tuple[str, ...]:
    """Read ids with commas between them; an id of the store may hold commas itself.

    option : where they were given, for what is told of an empty list.
    """
    unique: dict[str, None] = {}
    for text in texts:
        ids = [part.strip() for part in text.split(",")]
        if store is not None:
            known_id = "SELECT 1 FROM documents WHERE id = ?"
            ids = [text] if store.run(known_id, (text,)).fetchone() else ids
        if not any(ids):
            raise refusal(
                "%(option)s is empty: give ids, as in %(option)s a1,a7,b3",
                option=option,
            )
        unique |= dict.fromkeys(id_ for id_ in ids if id_)
    return tuple(unique)


def texts_of(project: Project, files: Sequence[Path]) -> dict[str, str]:
    """Name → text of each example in files: records where the format is known.

    A file whose name tells no format is one example, its text as it is.
    """
    if files:
        project.require_texts(_("a text of your own has none of their features"))
    texts_by_name: dict[str, str] = {}
    for path in files:
        if not path.exists():
            raise refusal("--file %(path)s: no such file", path=path)
        if path.suffix == ".pdf":
            raise refusal(
                "--file %(path)s: take its text out first, and give that", path=path
            )
        try:
            format_ = None if path.is_dir() else guess_format(path)
        except Mistake:
            with open_bytes(path) as stream:
                texts = {str(path): whole_text(stream, str(path))}
        else:
            texts = {
                f"{path}:{record.id}": project.text_of(record)
                for record in read_records(path, format_)
            }
        if not any(text.strip() for text in texts.values()):
            raise refusal("--file %(path)s: there is no text in it", path=path)
        texts_by_name |= texts
    return texts_by_name


def begin(
    project: Project, start: SearchStart, vectors: AnyVectors, who: str = ""
) -> StoredSearch:
    """Begin a search or a screening of documents, all of it or nothing."""
    store, rule = project.store, start.rule
    searches.require_documents(store, [*start.examples, *start.no])
    if start.texts:
        rows_of_texts(project, vectors, start.texts)
    with store.transaction():
        if rule is None:
            kind, settings = searches.LIKE, _with_start({}, start)
            last = "SELECT coalesce(max(number), 0) FROM searches"
            name = start.name or f"search-{store.run(last).fetchone()[0] + 1}"
        elif start.params:
            names = ", ".join(start.params)
            raise refusal(
                "a screening does not use %(names)s: leave it out", names=names
            )
        else:
            kind = searches.SCREEN
            number = len(searches.list_searches(store, kind)) + 1
            name = start.name or f"screening-{number}"
            settings = {
                "rule": asdict(rule),
                "order": randbits(53),
                "documents": len(vectors.ids),
                "texts": dict(start.texts),
                "shown": [],
            }
        search = searches.begin_search(store, name, settings, kind=kind, who=who)
        _add_examples(store, search, start, who)
        if rule is not None and isinstance(vectors.rows, Rows) and start.hide:
            marked = searches.acts_by_document(store, search)
            hidden = duplicates_of(project, vectors, marked)
            search = searches.change_settings(store, search, duplicates=hidden)
        if rule is None and (start.params or start.method not in {None, QUICK}):
            ExampleSearch(project, search, vectors)
    return search


def open_example_search(
    project: Project,
    start: SearchStart | None = None,
    answers: Answers | None = None,
    *,
    terms: int | None = None,
    machines: Machines | None = None,
) -> ExampleSearch:
    """A search with what is said taken in: all of it is kept, or nothing.

    Examples without a name, or with a new one, begin a search; without examples and a
    name it is the one begun or marked last. What is learned depends on what holds
    alone, not on how it came about.

    terms : of the query, only so many of the heaviest;  machines : have the documents'
    vectors and learn from them, each some; the ranking is the same up to the solver's
    tolerance.
    """
    start, answers, store = start or SearchStart(), answers or Answers(), project.store
    if machines is not None and start.params.get("kernel", "linear") != "linear":
        raise refusal(
            "a kernel needs all documents on one machine: use the linear "
            "one, or learn without machines"
        )
    if not start.has_examples:
        searches.open_search(store, start.name)
    vectors = spread_vectors(project, machines)
    with store.transaction():
        names = {search.name for search in searches.list_searches(store)}
        if start.has_examples and start.name not in names:
            search = begin(project, start, vectors)
        else:
            search = searches.open_search(store, start.name)
            settings = _with_start(search.settings, start)
            if settings != search.settings:
                search = searches.change_settings(store, search, **settings)
            _add_examples(store, search, start)
        if answers.undo:
            searches.undo_marks(store, search)
        if answers.redo:
            searches.undo_marks(store, search, redo=True)
        opened = ExampleSearch(project, search, vectors, terms)
        if acts := searches.acts_of(answers.yes, answers.no):
            opened.note(acts)
            opened.learn()
    return opened


def list_likes(project: Project) -> Table:
    """Every search by examples, the one used last first."""
    rows: list[dict[str, Cell]] = [
        dict(zip(COLUMNS.values(), attrgetter(*COLUMNS)(search), strict=True))
        for search in searches.summaries(project.store, [searches.LIKE])
    ]
    note = "" if rows else "none yet: classmark like --examples a1,a7,b3 begins one"
    return Table("Searches by examples", rows, note)


def _with_start(settings: Mapping[str, Any], start: SearchStart) -> dict[str, Any]:
    """Settings with the method, C, texts and further parameters that a start has.

    A method brings its own C and parameters, a kernel its own shape.
    """
    if start.C is not None and not 0 < start.C < np.inf:
        raise refusal("C is %(C)s: give a number above 0", C=start.C)
    changes: dict[str, Any] = {} if start.C is None else {"C": start.C}
    if start.method is not None:
        changes = {"method": start.method, "C": start.C}
    method = changes.get("method", settings.get("method", QUICK))
    before = {} if start.method is not None else dict(settings.get("params", {}))
    if "kernel" in start.params:
        before = {name: before[name] for name in before if name in {"k", "sample"}}
    if params := {**before, **start.params}:
        require_effect(method, params)
    if params or settings.get("params"):
        changes["params"] = params
    if start.texts:
        changes["texts"] = {**settings.get("texts", {}), **start.texts}
    return {**settings, **changes}


def _add_examples(
    store: Store, search: StoredSearch, start: SearchStart, who: str = ""
) -> None:
    """Log the examples; of a category only what the search has not marked yet.

    Documents assigned to it are examples; those rejected from it, or assigned to
    «not» and its name, are not wanted.
    """
    marks = [Mark(id_, "example") for id_ in dict.fromkeys(start.examples)]
    marks += [Mark(id_, "no") for id_ in start.no if id_ not in start.examples]
    if start.category is not None:
        marked = {
            *searches.acts_by_document(store, search),
            *(mark.document for mark in marks),
        }
        store.number_of(start.category)
        of_category = [
            Mark(document, MARK_OF[judgments[start.category][0]])
            for document, judgments in store.standing().items()
            if judgments.get(start.category, ("",))[0] in MARK_OF
        ]
        yes = {mark.document for mark in of_category}
        against = f"{NOT} {start.category}"  # the label that «no» was imported as
        of_category += [
            Mark(document, "no")
            for document, judgments in store.standing().items()
            if judgments.get(against, ("",))[0] in FOR_IT and document not in yes
        ]
        if all(mark.act == "no" for mark in of_category):
            raise refusal(
                "no document is in category %(category)r: assign some, or %(remedy)s",
                category=start.category,
                remedy=worded("give --examples"),
            )
        marks += [mark for mark in of_category if mark.document not in marked]
    if marks:
        searches.add_marks(store, search, marks, who)


def rank_by_file(
    project: Project,
    path: Path,
    k: int = 10,
    *,
    everything: bool = False,
    machines: Machines | None = None,
) -> ExampleRanking:
    """Rank the documents of a project by weights that were learned elsewhere."""
    query = read_weights(path)
    vectors = spread_vectors(project, machines)
    explainer = Explainer(project, vectors)
    weights = np.zeros(vectors.rows.width)
    column = {term: at for at, term in enumerate(explainer.terms)}
    shared = {term: w for term, w in query.weights.items() if term in column}
    weights[[column[term] for term in shared]] = list(shared.values())
    if isinstance(vectors.rows, Rows):
        scores = np.asarray(vectors.rows.to_scipy() @ weights)
    else:
        scores = vectors.rows.product(weights)
    hits = explainer.best(scores, weights, len(scores) if everything else k)
    notes, total = [], len(query.weights)
    if missing := total - len(shared):
        notes = [f"{missing:,} of its {total:,} terms are in no document here"]
    analyzer, weighting = vectors.vectorizer.analyzer_, vectors.vectorizer.weighting
    for name, theirs, ours in (
        ("analyzer", query.analyzer, str(analyzer)),
        ("weighting", query.weighting, weighting),
    ):
        if theirs != ours:
            fit = f"its {name} is {theirs}, this project's {ours}"
            notes.append(f"{fit}: terms and weights may not fit")
    if query.meaning:
        notes.append(
            f"of the query {query.meaning:.0%} was meaning, which a file does not "
            "have: words rank alone"
        )
    elif vectors.vectorizer.meaning_ is not None:
        notes.append(f"by the words of {path} alone: meaning does not count here")
    return ExampleRanking(
        str(path), query.method, query.C, 0, 0, 0, len(shared),
        explainer.heaviest(weights), len(scores), hits, notes,
    )  # fmt: skip


def rank_in_index(
    where: Project | Path,
    start: SearchStart,
    answers: Answers,
    k: int = 10,
    *,
    terms: int | None = None,
    machines: Machines | None = None,
) -> ExampleRanking:
    """Rank the documents of an index, a project's or one in a folder of its own.

    Only the examples are read, and nothing is stored.  machines : learn from all
    documents, not from their mean alone, each machine having some; every method will
    do.
    """
    from classmark.workbench.search import index as indexing

    if start.texts or start.category is not None or answers.undo or answers.redo:
        raise refusal(
            "an online search takes --examples, --yes and --no, documents of the index"
        )
    if not start.examples and not answers.yes:
        raise refusal("an online search learns from examples: give ids with --examples")
    if not isinstance(where, Project):
        memory = "1GB" if machines is None else LITTLE
        index = indexing.open_index(where, memory)
        return _online(index, start, answers, k, terms, machines)
    index = indexing.open_project_index(where)
    ranking = _online(index, start, answers, k, terms, machines)
    hits = [
        replace(hit, title=title_of(where.store.document(hit.id)))
        for hit in ranking.hits
    ]
    notes = [indexing.stale_note()] if indexing.is_stale(where) else []
    if where.settings.meaning.remembered:
        notes.append(_("by words alone: an index has no vectors of meaning"))
    return replace(ranking, hits=hits, notes=notes)


def _online(
    index: Index,
    start: SearchStart,
    answers: Answers,
    k: int,
    terms: int | None,
    machines: Machines | None,
) -> ExampleRanking:
    from classmark.examples.query import TERMS, Online

    method, no, params = start.method or "auto", list(answers.no), start.params
    require_effect(method, params)
    if params and (machines is None or "kernel" in params):
        chosen = ", ".join(params if machines is None else ["kernel"])
        raise refusal("an index does not use %(chosen)s: leave it out", chosen=chosen)
    positive = list(dict.fromkeys([*start.examples, *answers.yes]))
    searches.acts_of(positive, no)
    finder: Any = Online(index)
    if machines is not None:
        from classmark.machines.rows import Offline

        finder = Offline(index, machines, params)
    elif terms is None:
        terms = TERMS
    results = finder.find(positive, k, no, method, start.C, terms)
    weights, reasons = results.weights, finder.reasons(results, REASONS)
    names = list(weights)
    heaviest = [names[at] for at in top(list(map(abs, weights.values())), HEAVIEST)]
    hits = [
        DocumentHit(rank, id_, id_, score, why)
        for rank, id_, score, why in zip(
            count(1), results.ids, results.scores, reasons, strict=False
        )
    ]
    return ExampleRanking(
        "online" if machines is None else "index", method, start.C,
        len(start.examples), len(answers.yes), len(no), len(weights),
        {name: weights[name] for name in heaviest},
        len(index) - len({*positive, *no}), hits, params=params,
    )  # fmt: skip
