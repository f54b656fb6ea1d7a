"""Find more like these: begin a search or go on with one, say yes and no, rank."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from classmark.examples.problem import products
from classmark.formats.weights import QueryWeights, read_weights
from classmark.problems import Mistake
from classmark.sparse import Rows
from classmark.workbench.by_example import Liking
from classmark.workbench.examples import ids_of, marks_of_category, texts_of
from classmark.workbench.likes import Liked, Likes, Reader, Reasons, require_count
from classmark.workbench.searches import (
    Mark,
    Search,
    add_marks,
    begin_search,
    change_settings,
    list_searches,
    open_search,
    standing_marks,
)
from classmark.workbench.vectors import (
    Collection,
    SpreadCollection,
    collection_of,
    spread_collection,
)
from classmark.workbench.views import Cell, Table

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from classmark.machines.cluster import Machines
    from classmark.workbench.project import Project
    from classmark.workbench.store import Store

__all__ = [
    "Given",
    "Liked",
    "Likes",
    "Liking",
    "Reasons",
    "like",
    "list_likes",
    "open_liking",
    "rank_by_file",
    "weights_of",
]

NAME = "search-{}"


@dataclass(frozen=True, slots=True)
class Given:
    """What is said at once, as typed: ids with commas between them, files, a category.

    category : documents assigned to it are examples, those rejected from it are not
    wanted;  method, C : how the search learns from now on, where it is to change (a
    method given without a C brings its own);  terms : this once, only so many of the
    query's heaviest.
    """

    examples: tuple[str, ...] = ()
    files: tuple[Path, ...] = ()
    category: str | None = None
    yes: tuple[str, ...] = ()
    no: tuple[str, ...] = ()
    undo: bool = False
    redo: bool = False
    method: str | None = None
    C: float | None = None
    terms: int | None = None

    @property
    def begins(self) -> bool:
        """Whether examples are given."""
        return bool(self.examples or self.files or self.category is not None)


def like(
    project: Project,
    given: Given | None = None,
    name: str | None = None,
    k: int = 10,
    *,
    everything: bool = False,
    machines: Machines | None = None,
) -> Likes:
    """Learn from what is given, and rank the documents of a project."""
    liking = open_liking(project, given, name, machines=machines)
    return liking.rank(k, everything=everything)


def open_liking(
    project: Project,
    given: Given | None = None,
    name: str | None = None,
    *,
    machines: Machines | None = None,
) -> Liking:
    """A search with what is given taken in: all of it is kept, or nothing.

    Examples without a name begin a new search; without examples and a name it is the
    one begun or marked last. What is learned depends on what holds alone, not on how
    it came about.

    machines : have the documents' vectors and learn from them, each some; the ranking
    is the same up to the solver's tolerance.
    """
    given, store = given or Given(), project.store
    if not given.begins:
        open_search(store, name)
    collection = _collection(project, machines)
    with store.transaction():
        search = _search_for(store, given, name)
        search = _with_settings(project, search, given)
        _add_examples(store, search, given)
        liking = Liking(project, search, collection, given.terms)
        if given.undo:
            liking.undo()
        if given.redo:
            liking.redo()
        if given.yes or given.no:
            yes = ids_of(given.yes, store, "--yes")
            liking.mark(yes, ids_of(given.no, store, "--no"), warm=False)
    return liking


def list_likes(project: Project) -> Table:
    """Every search by examples, the one used last first."""
    rows: list[dict[str, Cell]] = []
    for search in list_searches(project.store):
        marks = standing_marks(project.store, search)
        acts = Counter(found.mark.act for found in marks)
        rows.append(
            {
                "search": search.name,
                "method": str(search.settings.get("method", "auto")),
                "examples": acts["example"] + len(search.settings.get("texts", {})),
                "yes": acts["yes"],
                "no": acts["no"],
                "begun": search.created,
                "by": search.who,
            }
        )
    note = "" if rows else "none yet: classmark like --examples a1,a7,b3 begins one"
    return Table("Searches by examples", rows, note)


def weights_of(liking: Liking) -> QueryWeights:
    """The query that was learned, term by term."""
    vectorizer, weights = liking.collection.vectorizer, liking.weights
    terms = liking.reader.terms
    return QueryWeights(
        str(vectorizer.analyzer_),
        vectorizer.weighting,
        str(vectorizer.norm),
        liking.query.method_,
        liking.query.C_,
        {terms[at]: float(weights[at]) for at in np.flatnonzero(weights).tolist()},
    )


def rank_by_file(
    project: Project,
    path: Path,
    k: int = 10,
    *,
    everything: bool = False,
    machines: Machines | None = None,
) -> Likes:
    """Rank the documents of a project by weights that were learned elsewhere."""
    query = read_weights(path)
    collection = _collection(project, machines)
    reader = Reader(project, collection)
    weights = np.zeros(collection.rows.width)
    column = {term: at for at, term in enumerate(reader.terms)}
    known = {term: w for term, w in query.weights.items() if term in column}
    weights[[column[term] for term in known]] = list(known.values())
    scores = _scores(collection, weights)
    k = len(scores) if everything else require_count(k)
    found = reader.found(scores, weights, k, {})
    return Likes(
        str(path), query.method, query.C, 0, 0, 0, len(known),
        reader.heaviest(weights), len(scores), found, _notes(query, known, collection),
    )  # fmt: skip


def _collection(
    project: Project, machines: Machines | None
) -> Collection | SpreadCollection:
    if machines is None:
        return collection_of(project)
    return spread_collection(project, machines)


def _scores(collection: Collection | SpreadCollection, weights: Any) -> Any:
    if isinstance(collection.rows, Rows):
        return np.asarray(collection.rows.to_scipy() @ weights)
    return products([collection.rows]).product(weights)


def _notes(
    query: QueryWeights,
    known: Mapping[str, float],
    collection: Collection | SpreadCollection,
) -> list[str]:
    """What to know of weights that come from elsewhere."""
    notes = []
    if len(known) < len(query.weights):
        missing = len(query.weights) - len(known)
        notes.append(
            f"{missing:,} of its {len(query.weights):,} terms are in no document here"
        )
    vectorizer = collection.vectorizer
    for what, theirs, ours in (
        ("analyzer", query.analyzer, str(vectorizer.analyzer_)),
        ("weighting", query.weighting, vectorizer.weighting),
    ):
        if theirs != ours:
            notes.append(
                f"its {what} is {theirs}, this project's {ours}: terms and weights may "
                "not fit"
            )
    return notes


def _search_for(store: Store, given: Given, name: str | None) -> Search:
    """The search that is meant; examples begin it where it is not there."""
    names = {search.name for search in list_searches(store)}
    if not given.begins or name in names:
        return open_search(store, name)
    if name is None:
        (last,) = store.run("SELECT coalesce(max(number), 0) FROM searches").fetchone()
        name = NAME.format(last + 1)
    return begin_search(store, name)


def _with_settings(project: Project, search: Search, given: Given) -> Search:
    if given.C is not None and not 0 < given.C < np.inf:
        raise Mistake(f"C is {given.C}: give a number above 0")
    said: dict[str, Any] = {} if given.C is None else {"C": given.C}
    if given.method is not None:
        said = {"method": given.method, "C": given.C}
    texts = texts_of(project, given.files)
    if not said and not texts:
        return search
    together = {**search.settings.get("texts", {}), **texts}
    settings = {**search.settings, **said, "texts": together}
    return change_settings(project.store, search, settings)


def _add_examples(store: Store, search: Search, given: Given) -> None:
    """Log the examples; of a category only what the search has not marked yet."""
    marks = [
        Mark(id_, "example") for id_ in ids_of(given.examples, store, "--examples")
    ]
    if given.category is not None:
        known = {found.mark.document for found in standing_marks(store, search)}
        known |= {mark.document for mark in marks}
        wanted = marks_of_category(store, given.category)
        marks += [mark for mark in wanted if mark.document not in known]
    if marks:
        add_marks(store, search, marks)
