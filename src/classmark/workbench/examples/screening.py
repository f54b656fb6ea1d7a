"""Screening: read until a share of the relevant documents is found.

A screening is a search of the kind ``screen``: its rule and the random order of its
draws are in the settings, its answers are marks, on the disk before they are
acknowledged. Whatever stops in between, it goes on from the marks.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from secrets import randbits
from typing import TYPE_CHECKING

import numpy as np

from classmark.examples.screening import (
    Reading,
    Screening,
    ScreeningProgress,
    StoppingRule,
)
from classmark.problems import Mistake
from classmark.sparse import Rows, rows_from
from classmark.validation import generator
from classmark.workbench.examples.example_search import Liked, Likes, title_of
from classmark.workbench.examples.like import ids_of, marks_of_category, texts_of
from classmark.workbench.examples.searches import (
    Mark,
    Said,
    Search,
    Standing,
    add_marks,
    begin_search,
    change_settings,
    list_searches,
    open_search,
    standing_marks,
    undo_marks,
)
from classmark.workbench.examples.vectors import (
    Collection,
    collection_of,
    rows_of_texts,
)
from classmark.workbench.results import Cell, Evaluated, Table

if TYPE_CHECKING:
    from classmark.evaluation.screening import Simulated
    from classmark.workbench.project import Project


KIND = "screen"
NAME = "screening-{}"
RELEVANT = ("example", "yes")


@dataclass(frozen=True, slots=True)
class Begun:
    """What a screening begins with; category : its documents, and those rejected.

    texts : by name, of one's own;  no : ids of what is known not to be relevant;
    who : begins it, the user of this process if nobody is named.
    """

    examples: tuple[str, ...] = ()
    files: tuple[Path, ...] = ()
    category: str | None = None
    texts: Mapping[str, str] = field(default_factory=dict)
    no: tuple[str, ...] = ()
    who: str = ""


@dataclass(frozen=True, slots=True)
class ToRead:
    """A document to be read; origin : ``likely``, or drawn at ``random``."""

    rank: int
    id: str
    title: str
    origin: str
    score: float | None


def begin(
    project: Project,
    begun: Begun,
    rule: StoppingRule,
    name: str | None,
    collection: Collection,
) -> Search:
    """Begin a screening of the documents of a collection."""
    store = project.store
    texts = {**texts_of(project, begun.files), **begun.texts}
    rows_of_texts(project, collection, texts)
    settings = {
        "rule": asdict(rule),
        "order": randbits(53),
        "documents": len(collection.ids),
        "texts": texts,
        "shown": [],
    }
    with store.transaction():
        if name is None:
            name = NAME.format(len(list_searches(store, KIND)) + 1)
        search = begin_search(store, name, settings, kind=KIND, who=begun.who)
        marks = [
            Mark(id_, "example") for id_ in ids_of(begun.examples, store, "--examples")
        ]
        if begun.category is not None:
            known = {mark.document for mark in marks}
            found = marks_of_category(store, begun.category)
            marks += [mark for mark in found if mark.document not in known]
        marks += [Mark(id_, "no") for id_ in begun.no]
        add_marks(store, search, marks, begun.who)
    return search


def next_batch(
    project: Project, screening: Screening, ids: Sequence[str], count: int | None
) -> list[ToRead]:
    """The documents to read next, as they are shown."""
    batch = screening.next(count)
    return [
        ToRead(
            rank,
            ids[document],
            title_of(project.store.document(ids[document])),
            "random" if by_chance else "likely",
            None if score != score else score,  # noqa: PLR0124, NaN
        )
        for rank, (document, by_chance, score) in enumerate(
            zip(*(part.tolist() for part in batch), strict=True), start=1
        )
    ]


def keep_shown(project: Project, search: Search, shown: Sequence[ToRead]) -> Search:
    """Remember what is shown, so that an answer knows why it was."""
    kept = [[each.id, each.origin, each.score] for each in shown]
    settings = {**search.settings, "shown": kept}
    return change_settings(project.store, search, settings)


def note(
    project: Project, search: Search, acts: Mapping[str, Said], who: str = ""
) -> list[Mark]:
    """Log answers by document; return them as they were logged."""
    store = project.store
    seen = {
        id_: Mark(id_, "skip", origin, rank, score)
        for rank, (id_, origin, score) in enumerate(search.settings["shown"], start=1)
    }
    seen |= {s.mark.document: s.mark for s in standing_marks(store, search)}
    unseen = set(acts) - set(seen)
    if unseen:
        _require_within(project, search, unseen)
    marks = [
        seen.get(id_, Mark(id_, act))._replace(act=act) for id_, act in acts.items()
    ]
    marks.sort(key=lambda mark: mark.rank or 0)
    add_marks(store, search, marks, who)
    return marks


def rule_of(search: Search) -> StoppingRule:
    """What a screening wants."""
    return StoppingRule(**search.settings["rule"])


def flags_of(marks: Iterable[Mark]) -> tuple[list[bool | None], list[bool]]:
    """Of each mark, whether it says relevant (None: skipped), and was drawn."""
    said = list(marks)
    answers = [None if m.act == "skip" else m.act in RELEVANT for m in said]
    return answers, [mark.origin == "random" for mark in said]


def opened(
    project: Project, search: Search, collection: Collection
) -> tuple[Screening, list[str]]:
    """The screening as its marks have it, and the ids of its documents."""
    many = int(search.settings["documents"])
    ids = collection.ids[:many]
    texts = list(search.settings["texts"].values())
    screening = Screening(
        _first(collection.rows, many),
        examples=rows_from(collection.vectorizer.transform(texts)) if texts else None,
        rule=rule_of(search),
        random_state=int(search.settings["order"]),
    )
    said = [found.mark for found in standing_marks(project.store, search)]
    number = {id_: at for at, id_ in enumerate(ids)}
    screening.answer([number[mark.document] for mark in said], *flags_of(said))
    return screening, ids


def _first(rows: Rows, count: int) -> Rows:
    end = int(rows.starts[count])
    return Rows(
        rows.starts[: count + 1], rows.columns[:end], rows.values[:end], rows.width
    )


def _require_within(project: Project, search: Search, ids: set[str]) -> None:
    """Refuse documents that came after the screening had begun."""
    collection = collection_of(project)
    late = ids & set(collection.ids[int(search.settings["documents"]) :])
    if late:
        raise Mistake(
            f"document {min(late)!r} came after screening {search.name!r} had begun, "
            "which does not cover it: begin another with classmark screen start"
        )


__all__ = [
    "KIND",
    "Begun",
    "Status",
    "StoppingRule",
    "ToRead",
    "answered",
    "list_screenings",
    "mark",
    "read_next",
    "start",
    "status",
    "undo",
]


@dataclass(frozen=True, slots=True)
class Status:
    """Where a screening stands; later : documents that came after it had begun."""

    search: str
    progress: ScreeningProgress
    reading: Reading
    later: int = 0


def start(
    project: Project, begun: Begun, rule: StoppingRule, name: str | None = None
) -> Status:
    """Begin a screening of all documents that the project has now."""
    search = begin(project, begun, rule, name, collection_of(project))
    return status(project, search.name)


def read_next(
    project: Project, name: str | None = None, count: int | None = None
) -> list[ToRead]:
    """The documents to read next, by all that was answered; the same until then."""
    search = _open(project, name)
    screening, ids = opened(project, search, collection_of(project))
    shown = next_batch(project, screening, ids, count)
    keep_shown(project, search, shown)
    return shown


def mark(
    project: Project, name: str | None, said: Mapping[Said, Sequence[str]]
) -> Status:
    """Log answers, in the order in which their documents were shown.

    said : act → ids, with commas between them. A document may be marked anew: the last
    word holds.
    """
    search, store = _open(project, name), project.store
    acts: dict[str, Said] = {}
    for act, texts in said.items():
        for id_ in ids_of(texts, store, f"--{act}"):
            if acts.setdefault(id_, act) != act:
                raise Mistake(f"document {id_!r}: {acts[id_]} and {act}: say one")
    if not acts:
        raise Mistake("nothing is said: give ids with --yes, --no or --skip")
    note(project, search, acts)
    return status(project, search.name)


def undo(project: Project, name: str | None = None) -> tuple[list[Mark], Status]:
    """Take back what this user marked last, all of one command."""
    search = _open(project, name)
    back = undo_marks(project.store, search)
    return back, status(project, search.name)


def status(project: Project, name: str | None = None) -> Status:
    """Where a screening stands."""
    search = _open(project, name)
    said = [found.mark for found in standing_marks(project.store, search)]
    reading = Reading(int(search.settings["documents"]), rule_of(search))
    reading.answer(range(len(said)), *flags_of(said))
    now = len(project.store.ids())
    later = now - int(search.settings["documents"])
    return Status(search.name, reading.progress(), reading, later)


def list_screenings(project: Project) -> Table:
    """Every screening, the one used last first."""
    rows: list[dict[str, Cell]] = []
    for search in list_searches(project.store, KIND):
        progress = status(project, search.name).progress
        rows.append(
            {
                "screening": search.name,
                "documents": progress.documents,
                "read": progress.read,
                "found": progress.found,
                "recall at least": progress.recall_bound,
                "phase": progress.phase,
                "begun": search.created,
                "by": search.who,
            }
        )
    note = "" if rows else "none yet: classmark screen start --examples a1 begins one"
    return Table("Screenings", rows, note)


def answered(
    project: Project, name: str | None = None, *, everything: bool = False
) -> Likes:
    """The relevant documents in the order they were found; or all that were read."""
    search = _open(project, name)
    standing = standing_marks(project.store, search)
    wanted = [s for s in standing if everything or s.mark.act in RELEVANT]
    acts = [s.mark.act for s in standing]
    found = [_liked(project, rank, one) for rank, one in enumerate(wanted, start=1)]
    return Likes(
        search.name, KIND, None, acts.count("example"), acts.count("yes"),
        acts.count("no"), 0, {}, int(search.settings["documents"]), found,
    )  # fmt: skip


def _liked(project: Project, rank: int, one: Standing) -> Liked:
    """The place in the order is the rank, and its inverse the score."""
    title = title_of(project.store.document(one.mark.document))
    return Liked(rank, one.mark.document, title, 1 / rank, mark=one.mark.act)


def _open(project: Project, name: str | None) -> Search:
    return open_search(project.store, name, KIND)


REPORTS = "reports"


def words(status: Status) -> list[str]:
    """What there is to know, a line each, the advice last.

    >>> share(0.05), share(0.951)
    ('5 %', '95.1 %')
    """
    progress = status.progress
    read = progress.read / max(progress.documents, 1)
    found = (
        f"{progress.found:,} relevant found; {progress.read:,} of "
        f"{progress.documents:,} documents read ({share(read)}), {progress.drawn:,} of "
        "them drawn at random"
    )
    bound = (
        f"recall: at least {share(progress.recall_bound, down=True)}, with "
        f"{share(1 - progress.error)} confidence, however often you look"
    )
    lines = [found, _left(progress), bound]
    if progress.remaining is not None:
        lines.append(_saved(progress))
    if progress.skipped:
        lines.append(f"{progress.skipped:,} skipped: nothing here speaks of them")
    if status.later:
        lines.append(f"{status.later:,} documents came later: they are not part of it")
    return [*lines, advice(progress)]


def advice(progress: ScreeningProgress) -> str:
    """Whether to go on, and why."""
    wish = f"{share(progress.target)} of the relevant documents"
    if progress.stop and progress.unread == 0:
        return "stop: everything is read"
    if progress.stop:
        return (
            f"stop: {wish} are found. Screenings that stop by this rule have missed "
            f"that target in at most {share(progress.error)} of all cases"
        )
    if progress.phase == "proving":
        return (
            f"go on: likely documents find no more; random ones are now to show that "
            f"{wish} are found (chance of an error by now {share(progress.chance)}, "
            f"wanted {share(progress.error)})"
        )
    return f"go on: it is too early to say that {wish} are found"


def draw_status(status: Status, folder: Path) -> Path:
    """Draw the recall by the estimate against the documents read."""
    from classmark.evaluation.screening import draw_curves
    from classmark.measures import recall_curve

    progress, flags = status.progress, status.reading.relevant
    left = 0 if progress.remaining is None else progress.remaining.estimate
    if not flags.any():
        raise Mistake("no relevant document is found yet: there is no curve to draw")
    curve = recall_curve(np.concatenate([flags, np.ones(left, bool)]))
    path = folder / REPORTS / f"screen-{'-'.join(status.search.split('/'))}.svg"
    draw_curves(
        {"found, of those estimated": curve[: len(flags) + 1]},
        path,
        f"{status.search}: {progress.found:,} found",
        documents=progress.documents,
        target=progress.target,
    )
    return path


def try_out(
    project: Project, category: str, rule: StoppingRule, runs: int = 5, seed: int = 0
) -> Evaluated:
    """Screen for a category whose documents are known, each time from one of them."""
    from classmark.evaluation.screening import draw_curves, simulate
    from classmark.measures import recall_curve

    if runs < 1:
        raise Mistake(f"runs is {runs}: make at least one")
    collection, store = collection_of(project), project.store
    store.number_of(category)
    labels = store.labels()
    truth = np.array([category in labels.get(id_, {}) for id_ in collection.ids])
    if not truth.any():
        raise Mistake(f"no document is assigned to category {category!r}: assign some")
    random = generator(seed)
    begins = random.choice(np.flatnonzero(truth), runs)
    found = [
        simulate(collection.rows, truth, [first], rule=rule, random_state=run)
        for run, first in enumerate(begins.tolist())
    ]
    path = project.folder / REPORTS / f"screen-try-{category.replace('/', '-')}.svg"
    curves = {
        f"run {run}": recall_curve(
            np.concatenate([one.order, np.ones(_unseen(one), bool)])
        )[: len(one.order) + 1]
        for run, one in enumerate(found, start=1)
    }
    stops = {
        f"run {run}": (1 - one.saved_at_stop, one.recall)
        for run, one in enumerate(found, start=1)
    }
    draw_curves(
        curves, path, f"{category}: {int(truth.sum()):,} of {len(truth):,} documents",
        documents=len(truth), target=rule.target, stops=stops,
    )  # fmt: skip
    return Evaluated(_table(category, found, rule), path)


def _table(category: str, found: list[Simulated], rule: StoppingRule) -> Table:
    rows: list[dict[str, Cell]] = [
        {
            "run": run,
            f"WSS@{100 * rule.target:g}": one.saved,
            "read at stop": one.stopped,
            "share read": 1 - one.saved_at_stop,
            "recall at stop": one.recall,
            "promised": one.bound,
        }
        for run, one in enumerate(found, start=1)
    ]
    early = sum(one.recall < rule.target - 1e-9 for one in found)
    note = (
        f"{found[0].relevant:,} of {found[0].documents:,} documents are relevant; "
        f"{early} of {len(found)} stopped below the target (at most "
        f"{share(rule.error)} of all would)"
    )
    return Table(f"Screening for {category}, tried out", rows, note)


def _unseen(one: Simulated) -> int:
    return one.relevant - int(one.order.sum())


def _left(progress: ScreeningProgress) -> str:
    left = progress.remaining
    if left is None:
        return "how many are left is not known before some documents are drawn"
    more = "no" if left.estimate == 0 else f"about {left.estimate:,}"
    span = f"{share(left.level)} interval {left.low:,}–{left.high:,}"
    return f"{more} more to find ({span})"


def _saved(progress: ScreeningProgress) -> str:
    left = progress.remaining.estimate if progress.remaining is not None else 0
    recall = progress.found / max(progress.found + left, 1)
    unread = progress.unread / max(progress.documents, 1)
    return (
        f"recall by the estimate {share(recall)}; work saved over sampling so far "
        f"{share(unread - (1 - recall))}"
    )


def share(value: float, *, down: bool = False) -> str:
    """In percent, with a decimal where it says something; down : never rounded up."""
    tenths = 1000 * value
    tenths = np.floor(tenths + 1e-9) if down else np.round(tenths)
    return f"{tenths / 10:.1f}".removesuffix(".0") + " %"
