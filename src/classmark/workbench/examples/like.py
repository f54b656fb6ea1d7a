"""Search by example from ids, files, a category or weights; its results as files."""

from __future__ import annotations

import csv
import json
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from classmark.examples.problem import products
from classmark.formats import guess_format, read_records
from classmark.formats.citations import write_bibtex, write_ris
from classmark.formats.records import Reference
from classmark.formats.text_files import open_bytes, whole_text, writing
from classmark.formats.weights import QueryWeights, read_weights, write_weights
from classmark.problems import Mistake
from classmark.ranking import top
from classmark.sparse import Rows
from classmark.workbench.examples.example_search import (
    HEAVIEST,
    REASONS,
    Liked,
    Likes,
    Liking,
    Reader,
    Reasons,
    require_count,
    require_terms,
    title_of,
)
from classmark.workbench.examples.searches import (
    Mark,
    Search,
    add_marks,
    begin_search,
    change_settings,
    list_searches,
    open_search,
    standing_marks,
)
from classmark.workbench.examples.vectors import (
    Collection,
    SpreadCollection,
    collection_of,
    spread_collection,
)
from classmark.workbench.results import Cell, Table

if TYPE_CHECKING:
    from collections.abc import Mapping

    from classmark.index.index import Index
    from classmark.machines.cluster import Machines
    from classmark.machines.examples import Offline
    from classmark.workbench.project import Project
    from classmark.workbench.store.store import Store


def ids_of(texts: Iterable[str], store: Store, option: str) -> tuple[str, ...]:
    """Read ids with commas between them; an id may hold commas itself.

    option : where they were given, for what is told of an empty list.
    """
    found: dict[str, None] = {}
    for text in texts:
        whole = store.run("SELECT 1 FROM documents WHERE id = ?", (text,)).fetchone()
        ids = [text] if whole else [part.strip() for part in text.split(",")]
        found |= dict.fromkeys(id_ for id_ in ids if id_)
        if not any(ids):
            raise Mistake(f"{option} is empty: give ids, as in {option} a1,a7,b3")
    return tuple(found)


def marks_of_category(store: Store, category: str) -> list[Mark]:
    """Documents assigned to a category as examples, those rejected from it as no."""
    store.number_of(category)
    acts = {"assign": "example", "primary": "example", "reject": "no"}
    marks = [
        Mark(document, "no" if acts[said[category][0]] == "no" else "example")
        for document, said in store.standing().items()
        if category in said and said[category][0] in acts
    ]
    if all(mark.act == "no" for mark in marks):
        raise Mistake(
            f"no document is assigned to category {category!r}: assign some, or give "
            "--examples"
        )
    return marks


def texts_of(project: Project, files: Sequence[Path]) -> dict[str, str]:
    """Name → text of each example in files: records where the format is known.

    A file whose name tells no format is one example, its text as it is.
    """
    found: dict[str, str] = {}
    for path in files:
        if not path.exists():
            raise Mistake(f"--file {path}: no such file")
        if path.suffix == ".pdf":
            raise Mistake(f"--file {path}: take its text out first, and give that")
        if _is_plain(path):
            with open_bytes(path) as stream:
                texts = {str(path): whole_text(stream, str(path))}
        else:
            texts = {
                f"{path}:{record.id}": project.text_of(record)
                for record in read_records(path)
            }
        if not any(text.strip() for text in texts.values()):
            raise Mistake(f"--file {path}: there is no text in it")
        found |= texts
    return found


def _is_plain(path: Path) -> bool:
    if path.is_dir():
        return False
    try:
        guess_format(path)
    except Mistake:
        return True
    return False


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


LITTLE = "1MB"  # of postings kept decoded here, where machines read them
STALE = "documents were imported since: classmark index brings the index up to date"


def like_in_index(
    folder: Path, given: Given, k: int = 10, *, machines: Machines | None = None
) -> Likes:
    """Rank the documents of an index in a folder of its own.

    machines : learn from all documents, not from their mean alone, each machine having
    some; every method will do.
    """
    from classmark.workbench.search.index import open_index

    if machines is None:
        return _found(open_index(folder), given, k)
    from classmark.machines.examples import Offline

    _asked(given)
    index = open_index(folder, LITTLE)
    return replace(_found(index, given, k, Offline(index, machines)), search="index")


def like_online(project: Project, given: Given, k: int = 10) -> Likes:
    """Rank the documents of a project by its index; nothing is kept of it."""
    from classmark.workbench.search.index import is_stale, open_project_index

    index = open_project_index(project)
    found = _found(index, given, k)
    liked = [
        replace(each, title=title_of(project.store.document(each.id)))
        for each in found.found
    ]
    notes = [STALE] if is_stale(project) else []
    return replace(found, found=liked, notes=notes)


def _asked(given: Given) -> tuple[list[str], list[str], list[str]]:
    """The examples, and what was said yes and no to."""
    if given.files or given.category is not None or given.undo or given.redo:
        raise Mistake(
            "an online search takes --examples, --yes and --no, documents of the index"
        )
    examples, yes, no = (_ids(some) for some in (given.examples, given.yes, given.no))
    _require_sides([*examples, *yes], no)
    return examples, yes, no


def _found(index: Index, given: Given, k: int, offline: Offline | None = None) -> Likes:
    from classmark.examples.online import TERMS, Online

    examples, yes, no = _asked(given)
    method = given.method or "auto"
    wanted = [*examples, *(id_ for id_ in yes if id_ not in examples)]
    terms = None if given.terms is None else require_terms(given.terms)
    k = require_count(k)
    finder = offline or Online(index)
    if isinstance(finder, Online):
        found = finder.find(wanted, k, no, method, given.C, terms or TERMS)
    else:
        found = finder.find(wanted, k, no, method, given.C, terms)
    names, sizes = list(found.weights), [abs(w) for w in found.weights.values()]
    heaviest = {names[at]: found.weights[names[at]] for at in top(sizes, HEAVIEST)}
    each = zip(found.ids, found.scores, finder.reasons(found, REASONS), strict=True)
    liked = [Liked(i, id_, id_, s, why) for i, (id_, s, why) in enumerate(each, 1)]
    return Likes(
        "online", method, given.C, len(examples), len(yes), len(no),
        len(found.weights), heaviest, len(index) - len({*wanted, *no}), liked,
    )  # fmt: skip


def _require_sides(wanted: list[str], no: list[str]) -> None:
    """Refuse a search without examples, or one that wants what it does not want."""
    if not wanted:
        raise Mistake("an online search learns from examples: give ids with --examples")
    if both := set(wanted) & set(no):
        raise Mistake(f"document {min(both)!r}: yes and no: say one of them")


def _ids(texts: tuple[str, ...]) -> list[str]:
    """Ids with commas between them, each once."""
    parts = [part.strip() for text in texts for part in text.split(",")]
    return list(dict.fromkeys(part for part in parts if part))


ENDINGS = (".csv", ".jsonl", ".run", ".ris", ".bib")
OF_WEIGHTS = (".tsv", ".json")
FORMULAS = ("=", "+", "-", "@", "\t", "\r")  # a spreadsheet would run such cells


def export_likes(likes: Likes, path: Path) -> int:
    """Write the documents found, by the name's ending; return how many.

    ``.csv`` and ``.jsonl`` have all that is shown; ``.run`` is TREC's, the search its
    query; ``.ris`` and ``.bib`` have ids and titles, the rank and score as a note.
    """
    require_target(path)
    match path.suffix:
        case ".csv":
            return _write_csv(likes.found, path)
        case ".jsonl":
            return _write_jsonl(likes.found, path)
        case ".run":
            query = "-".join(likes.search.split())
            scores = {found.id: found.score for found in likes.found}
            from classmark.formats.test_collections import write_run

            return write_run({query: scores}, path)
        case ".ris":
            return write_ris(_references(likes), path)
        case _:
            return write_bibtex(_references(likes), path)


def require_target(path: Path, endings: tuple[str, ...] = ENDINGS) -> None:
    """Refuse a file that is there already, or whose ending names no format."""
    if path.exists():
        raise Mistake(f"{path} is already there: choose another name or remove it")
    if path.suffix not in endings:
        known = ", ".join(endings)
        raise Mistake(f"{path}: its ending names no format: use one of {known}")


def export_weights(liking: Liking, path: Path) -> int:
    """Write the learned query as readable weights; return how many."""
    require_target(path, OF_WEIGHTS)
    return write_weights(weights_of(liking), path)


def _write_csv(found: Sequence[Liked], path: Path) -> int:
    with writing(path) as file:
        writer = csv.writer(file)
        writer.writerow(["rank", "id", "title", "score", "why", "mark"])
        for each in found:
            cells = [each.id, each.title, " ".join(each.why)]
            id_, title, why = (
                f"'{cell}" if cell.startswith(FORMULAS) else cell for cell in cells
            )
            writer.writerow([each.rank, id_, title, repr(each.score), why, each.mark])
    return len(found)


def _write_jsonl(found: Sequence[Liked], path: Path) -> int:
    with writing(path) as file:
        for each in found:
            file.write(json.dumps(asdict(each), ensure_ascii=False) + "\n")
    return len(found)


def _references(likes: Likes) -> list[Reference]:
    return [
        Reference(
            each.id,
            each.title,
            f"{likes.search}: rank {each.rank}, score {each.score:.4g}",
        )
        for each in likes.found
    ]
