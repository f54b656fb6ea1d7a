"""Search on the desk: one box, every model, the words that match, and why."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from classmark.index.asking import BOOLEAN
from classmark.index.query_language import Belief, parse
from classmark.problems import Mistake
from classmark.workbench.search.clicks import log_click, log_impression
from classmark.workbench.search.index import index_project, is_stale
from classmark.workbench.search.rankers import ranker_for
from classmark.workbench.search.search import (
    STALE,
    Answered,
    Found,
    MalformedQuery,
    Piece,
    Wish,
    cut_out,
    in_whole,
    search_in,
)

if TYPE_CHECKING:
    from classmark.index.index import Index
    from classmark.workbench.project import Project
    from classmark.workbench.search.search import Searchable
    from classmark.workbench.team.desk import Desk
    from classmark.workbench.team.jobs import Job


__all__ = [
    "MODELS",
    "Hit",
    "Hits",
    "MalformedQuery",
    "Standing",
    "Wish",
    "click",
    "find",
    "make_index",
    "standing",
    "warm",
]

INDEXING = "index"
MODELS = (
    "bm25", "robertson", "atire", "bm25+", "bm25l", "jm", "dirichlet", "kl", "pl2",
    "inl2", "dph", "lgd", "spl", "cosine", "bim", BOOLEAN,
)  # fmt: skip
FEEDBACK = ("rocchio", "rm3", "information")
MOST = 100  # hits that are shown at most
READ = 20_000
PARTS = 8


@dataclass(frozen=True, slots=True)
class Hit:
    """A document that was found.

    title, text : in pieces, the words that match marked;  parts : what each term, or
    feature, adds to the score, the greatest first, ``rest`` the others together.
    """

    rank: int
    id: str
    score: float
    title: tuple[Piece, ...]
    text: tuple[Piece, ...]
    parts: tuple[tuple[str, float], ...] = ()
    rest: float = 0.0


@dataclass(frozen=True, slots=True)
class Hits:
    """What was found; impression : its number in the log, None: nothing is kept."""

    hits: tuple[Hit, ...]
    note: str = ""
    impression: int | None = None
    ranker: int | None = None


@dataclass(frozen=True, slots=True)
class Standing:
    """How searching stands: what is indexed, what is in service, what is kept.

    log : no, anonymous or named;  ranker : the learned ranker in service, if any.
    """

    ready: bool
    stale: bool
    documents: int
    fields: tuple[str, ...]
    positions: bool
    ranker: int | None
    rankers: tuple[int, ...]
    log: str


def standing(desk: Desk) -> Standing:
    """How searching stands."""
    project, rankers = desk.project, desk.project.rankers
    current, log = rankers.current(), project.settings.search.log
    number = None if current is None else int(current.name)
    known = tuple(rankers.numbers())
    if project.index.current() is None:
        return Standing(False, False, 0, (), False, number, known, log)
    index = desk.shelf.searchable(desk).index
    return Standing(
        True, is_stale(project), len(index), tuple(index.fields), index.has_positions,
        number, known, log,
    )  # fmt: skip


def find(desk: Desk, query: str, wish: Wish, who: str = "") -> Hits:
    """Search; what is shown is kept where the settings say so."""
    if wish.k > MOST:
        raise Mistake(f"k is {wish.k}: ask for at most {MOST} documents at once")
    project, held = desk.project, desk.shelf.searchable(desk)
    wish = replace(wish, explain=_explains(project, held, query, wish))
    found = search_in(project, query, wish, held)
    hits = tuple(_hit(project, held.index, each, found) for each in found.answers)
    ranker = found.answers[0].ranker if found.answers else None
    number = None
    if hits and project.settings.search.is_logged():
        shown = [(each.id, each.score) for each in found.answers]
        name = wish.model or "bm25" if ranker is None else f"ranker {ranker}"
        with desk.writing() as writing:
            number = log_impression(writing, query, shown, ranker=name, who=who)
    note = found.note.replace(STALE, "").strip("; ")
    return Hits(hits, note, number, ranker)


def warm(desk: Desk) -> None:
    """Open the index and load what searches it, before somebody waits for it."""
    if desk.project.index.current() is None:
        return
    held = desk.shelf.searchable(desk)
    field = held.index.field(held.index.fields[0]) if held.index.fields else None
    if field is not None and field.n_terms:
        word = field.term(int(field.df.argmax()))
        search_in(desk.project, word, Wish(k=1), held)


def click(desk: Desk, impression: int, document: str) -> None:
    """Keep that a document was opened from a list."""
    with desk.writing() as project:
        log_click(project.store, impression, document)


def make_index(desk: Desk, who: str = "", *, positions: bool | None = None) -> Job:
    """Index the documents, or what changed of them, as a job."""

    def work(project: Project) -> str:
        row = index_project(project, positions=positions).rows[0]
        return (
            f"{row['documents']:,} documents are indexed: {row['added']:,} new, "
            f"{row['replaced']:,} changed, {row['deleted']:,} gone"
        )

    return desk.jobs.start(INDEXING, work, who)


def _explains(project: Project, held: Searchable, query: str, wish: Wish) -> bool:
    """Whether the scores are sums that can be taken apart."""
    if wish.model == BOOLEAN or isinstance(parse(query), Belief):
        return False
    ordered = ranker_for(project, held, query, wish)
    return ordered is None or not ordered.ranker.trees


def _hit(project: Project, index: Index, each: Answered, found: Found) -> Hit:
    document = project.store.document(each.id)
    fields = document.fields.items()
    body = "\n".join(text for name, text in fields if name != "title")[:READ]
    sizes = sorted(each.parts.items(), key=lambda part: -abs(part[1]))
    return Hit(
        each.rank,
        each.id,
        each.score,
        tuple(in_whole(each.title or each.id, found.terms, index.analyzer)),
        tuple(cut_out(body, found.terms, index.analyzer)),
        tuple(sizes[:PARTS]),
        sum(part for _, part in sizes[PARTS:]),
    )
