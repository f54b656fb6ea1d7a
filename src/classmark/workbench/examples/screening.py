"""Screening: read until a share of the relevant documents is found.

A screening is a search of the kind ``screen``: its rule and the random order of its
draws are in the settings, its answers are marks. Whatever stops in between, it goes on
from the marks.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from classmark.arrays import Bools, Floats, take
from classmark.examples.screening import (
    Reading,
    RecallPoint,
    Screening,
    StoppingRule,
)
from classmark.formats.citations import standard_column
from classmark.language import _, ngettext, whole
from classmark.problems import refusal
from classmark.validation import generator
from classmark.workbench.examples import searches
from classmark.workbench.examples.duplicates import hidden_in, list_duplicates
from classmark.workbench.examples.example_search import ExampleRanking, OpenSearch
from classmark.workbench.examples.like import SearchStart, begin, ids_of
from classmark.workbench.examples.searches import FOR, Mark, MarkAct, StoredSearch
from classmark.workbench.examples.vectors import (
    RUNS,
    DocumentVectors,
    text_rows,
    vectors_of,
)
from classmark.workbench.results import Cell, Evaluated, Table
from classmark.workbench.search.hits import DocumentHit, snippet_of
from classmark.workbench.store.store import title_of

if TYPE_CHECKING:
    from classmark.evaluation.screening import Simulated
    from classmark.examples.screening import ScreeningProgress
    from classmark.workbench.examples.example_search import SearchView
    from classmark.workbench.project import Project
    from classmark.workbench.store.store import Store


BATCH = 10  # documents that are shown to people at once
ABSTRACT = 5000  # letters of a document that are shown
REPORTS = "reports"
LATER = """
SELECT id FROM documents WHERE number >
  (SELECT number FROM documents ORDER BY number LIMIT 1 OFFSET ?)
"""


class ScreeningSearch(OpenSearch):
    """A screening in memory; what it shows stays until all of it is answered."""

    vectors: DocumentVectors

    def __init__(
        self, project: Project, search: StoredSearch, vectors: DocumentVectors
    ) -> None:
        super().__init__(project, search, vectors)
        self.learn()

    def next_batch(self, count: int | None) -> list[Mark]:
        """The documents to read next, by all that was answered."""
        batch = zip(
            *(part.tolist() for part in self.screening.next(count)), strict=True
        )
        return [
            Mark(
                self.ids[number],
                "skip",
                "random" if drawn else "likely",
                rank,
                None if np.isnan(score) else score,
            )
            for rank, (number, drawn, score) in enumerate(batch, start=1)
        ]

    def next_shown(self, undone: Sequence[Mark] = ()) -> list[Mark] | None:
        """What is to be shown from now on; None: what is shown already.

        undone : marks that were taken back; their documents are shown again, first.
        """
        shown = shown_in(self.search)
        again = {
            mark.document: mark
            for mark in undone
            if mark.document not in self.marks and mark.origin != "given"
        }
        if again:
            rest = [mark for mark in shown if mark.document not in again]
            return [*again.values(), *rest]
        answered = all(mark.document in self.marks for mark in shown)
        left = len(self.ids) - len(self.marks)
        return self.next_batch(BATCH) if answered and left else None

    def write_shown(self, shown: Sequence[Mark]) -> None:
        """Remember what is shown, so that an answer knows why it was."""
        rows = [[mark.document, mark.origin, mark.score] for mark in shown]
        self.search = searches.change_settings(
            self.project.store, self.search, shown=rows
        )

    def note(self, acts: Mapping[str, MarkAct]) -> None:
        """Write answers; the next batch learns from them."""
        log_answers(self.project.store, self.search, acts, self.who)

    def take_in(self, acts: Mapping[str, MarkAct]) -> None:
        """Know what was written."""
        if acts.keys() & self.marks.keys() or acts.keys() - self.place.keys():
            self.learn()  # a mark is another one, or of a hidden duplicate
        else:
            marks = searches.current_marks(self.project.store, self.search)
            self._answer([mark for mark in marks if mark.document in acts])

    def learn(self) -> None:
        """Answer everything anew from the marks."""
        texts, rows = self.texts, self.vectors.rows
        marks = searches.current_marks(self.project.store, self.search)
        hidden = hidden_in(self.search, {mark.document for mark in marks})
        ids = self.vectors.ids[: int(self.search.settings["documents"])]
        self.ids = [id_ for id_ in ids if id_ not in hidden]
        self.place = {id_: at for at, id_ in enumerate(self.ids)}
        if len(self.ids) < len(rows):
            rows = take(rows, [self.row[id_] for id_ in self.ids])
        self.screening = Screening(
            rows,
            examples=text_rows(self.project, self.vectors, texts) if texts else None,
            rule=StoppingRule(**self.search.settings["rule"]),
            random_state=int(self.search.settings["order"]),
        )
        self.marks = {}
        self._answer(marks)

    def found(self, k: int = 10) -> ExampleRanking:
        """The relevant documents in the order they were found."""
        del k
        return screened(self.project, self.search.name)

    def view(self, k: int) -> SearchView:
        """The screening as it is shown, with what is to be read now."""
        del k
        status = status_of(self.project, self.search)
        shown = [each for each in shown_in(self.search) if each.document in self.row]
        if not self.words:
            self._read_examples()
        scored = [(mark.document, mark.score) for mark in shown]
        hits = self.hits(scored, self.query_weights(), whole=ABSTRACT)
        *lines, advice = words(status)
        return self._view(
            "screening",
            len(self.ids) - len(self.marks),
            [replace(hit, origin=m.origin) for hit, m in zip(hits, shown, strict=True)],
            status=tuple(lines),
            advice=advice,
            stop=status.progress.stop,
            target=status.progress.target,
            stops=status.progress.stops,
            curve=recall_points(status),
        )

    def query_weights(self) -> Floats:
        """The weights of the learned query, its bias left out, shape (terms,)."""
        self.screening.learn()
        weights = getattr(self.screening.query, "coef_", None)
        if weights is None:
            return np.zeros(self.vectors.rows.width)
        return np.asarray(weights, np.float64)

    def _answer(self, marks: Sequence[Mark]) -> None:
        numbers = [self.place[mark.document] for mark in marks]
        self.screening.answer(numbers, *flags_of(marks))
        self.marks |= {mark.document: mark.act for mark in marks}


def shown_in(search: StoredSearch) -> list[Mark]:
    """The documents that a screening shows, as marks that are still to be made."""
    return [
        Mark(id_, "skip", origin, rank, score)
        for rank, (id_, origin, score) in enumerate(search.settings["shown"], start=1)
    ]


def later_documents(store: Store, search: StoredSearch) -> list[str]:
    """The documents that came after a screening had begun."""
    last = int(search.settings["documents"]) - 1
    return [id_ for (id_,) in store.run(LATER, (last,))]


def log_answers(
    store: Store, search: StoredSearch, acts: Mapping[str, MarkAct], who: str = ""
) -> None:
    """Log answers by document, in the order in which these were shown."""
    marks = [*shown_in(search), *searches.current_marks(store, search)]
    shown = {mark.document: mark for mark in marks}
    if not acts.keys() <= shown.keys():
        late = acts.keys() & set(later_documents(store, search))
        if late:
            raise refusal(
                "document %(id)r was added after the screening began: start another",
                id=min(late),
            )
    answers = [
        shown.get(id_, Mark(id_, act))._replace(act=act) for id_, act in acts.items()
    ]
    answers.sort(key=lambda mark: mark.rank or 0)
    searches.add_marks(store, search, answers, who)


def flags_of(marks: Sequence[Mark]) -> tuple[list[bool | None], list[bool]]:
    """Of each mark, whether it says relevant (None: skipped), and was drawn."""
    answers = [None if mark.act == "skip" else mark.act in FOR for mark in marks]
    return answers, [mark.origin == "random" for mark in marks]


@dataclass(frozen=True, slots=True)
class ScreeningStatus:
    """How far a screening is.

    later : documents that came after it had begun;  duplicates : how many are hidden.
    """

    search: str
    progress: ScreeningProgress
    reading: Reading
    later: int = 0
    duplicates: int = 0


def recall_points(status: ScreeningStatus, points: int = 60) -> tuple[RecallPoint, ...]:
    """The recall curve of a screening by all that is known now, at most so many points.

    What was found by then, over all that is found now with those that are estimated to
    be left, and over the most that there can be.
    """
    progress = status.progress
    left = 0 if progress.remaining is None else progress.remaining.estimate
    at = np.linspace(0, progress.read, min(points, progress.read) + 1).astype(int)
    n_found = np.concatenate([[0], np.cumsum(status.reading.relevant)])[at]
    estimated = n_found / max(progress.found + left, 1)
    proved = n_found / max(progress.found, 1) * progress.recall_bound
    rows = zip(at.tolist(), estimated.tolist(), proved.tolist(), strict=True)
    return tuple(RecallPoint(*row) for row in rows)


def set_target(
    project: Project, target: float, name: str | None = None
) -> ScreeningStatus:
    """Aim at another share from now on; what was proved stays proved."""
    search = _open(project, name)
    return status_of(project, change_target(project.store, search, target))


def change_target(store: Store, search: StoredSearch, target: float) -> StoredSearch:
    """Write another target; what is shown already stays."""
    rule = replace(StoppingRule(**search.settings["rule"]), target=target)
    return searches.change_settings(store, search, rule=asdict(rule))


def start_screening(project: Project, start: SearchStart) -> ScreeningStatus:
    """Begin a screening of all documents that the project has now."""
    return status_of(project, begin(project, start, vectors_of(project, RUNS)))


def read_next(
    project: Project, name: str | None = None, count: int | None = None
) -> list[DocumentHit]:
    """The documents to read next, by all that was answered; the same until then."""
    search = ScreeningSearch(project, _open(project, name), vectors_of(project, RUNS))
    shown = search.next_batch(count)
    search.write_shown(shown)
    hits = []
    for rank, mark in enumerate(shown, start=1):
        document = project.store.document(mark.document)
        text = snippet_of(document, (), search.analyzer, whole=ABSTRACT)
        title = title_of(document)
        origin = mark.origin
        hits.append(
            DocumentHit(rank, document.id, title, mark.score, {}, text, origin=origin)
        )
    return hits


def source_of(facts: Mapping[str, str]) -> str:
    """Authors, year and journal, as far as they are known.

    >>> source_of({"Authors": "Moss, G", "year": "1987", "doi": "10.1/x"})
    'Moss, G. 1987'
    """
    known = {standard_column(name).casefold(): text for name, text in facts.items()}
    return ". ".join(known[n] for n in ("authors", "year", "journal") if known.get(n))


def mark(
    project: Project, name: str | None, typed: Mapping[MarkAct, Sequence[str]]
) -> ScreeningStatus:
    """Log answers, in the order in which their documents were shown.

    typed : act → ids, with commas between them. A document may be marked anew: the
    last mark holds.
    """
    search, store = _open(project, name), project.store
    acts: dict[str, MarkAct] = {}
    for act, texts in typed.items():
        for id_ in ids_of(texts, f"--{act}", store):
            if acts.setdefault(id_, act) != act:
                raise refusal("document %(id)r is marked twice: mark it once", id=id_)
    if not acts:
        raise refusal("nothing is marked: give ids with --yes, --no or --skip")
    log_answers(store, search, acts)
    return status_of(project, search)


def undo(
    project: Project, name: str | None = None
) -> tuple[list[Mark], ScreeningStatus]:
    """Take back what this user marked last, all of one command."""
    search = _open(project, name)
    return searches.undo_marks(project.store, search), status_of(project, search)


def status(project: Project, name: str | None = None) -> ScreeningStatus:
    """How far a screening is; without a name, the one used last."""
    return status_of(project, _open(project, name))


def status_of(project: Project, search: StoredSearch) -> ScreeningStatus:
    """How far a screening is."""
    marks = searches.current_marks(project.store, search)
    rule = StoppingRule(**search.settings["rule"])
    hidden = len(hidden_in(search, {mark.document for mark in marks}))
    reading = Reading(int(search.settings["documents"]) - hidden, rule)
    reading.answer(range(len(marks)), *flags_of(marks))
    later = len(later_documents(project.store, search))
    return ScreeningStatus(search.name, reading.progress(), reading, later, hidden)


def duplicates(project: Project, name: str | None = None) -> Table:
    """The records that a screening hides, because others are the same."""
    search = _open(project, name)
    hidden = hidden_in(search, searches.acts_by_document(project.store, search))
    return list_duplicates(project, hidden, search.name)


def list_screenings(project: Project) -> Table:
    """Every screening, the one used last first."""
    rows: list[dict[str, Cell]] = [
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
        for search in searches.list_searches(project.store, searches.SCREEN)
        for progress in [status_of(project, search).progress]
    ]
    note = "" if rows else "none yet: classmark screen start --examples a1 begins one"
    return Table("Screenings", rows, note)


def screened(
    project: Project, name: str | None = None, *, everything: bool = False
) -> ExampleRanking:
    """The relevant documents in the order they were found; or all that were read.

    The place in the order is the rank, and its inverse the score.
    """
    acts = ("example", "yes", "no", "skip") if everything else FOR
    return marked_documents(project, _open(project, name), acts)


def marked_documents(
    project: Project, search: StoredSearch, acts: Sequence[str]
) -> ExampleRanking:
    """The documents of a search that have one of these marks, in their order."""
    store = project.store
    marks = searches.acts_by_document(store, search)
    counts = Counter(marks.values())
    chosen = [(id_, act) for id_, act in marks.items() if act in acts]
    hits = [
        DocumentHit(rank, id_, title_of(store.document(id_)), 1 / rank, mark=act)
        for rank, (id_, act) in enumerate(chosen, start=1)
    ]
    documents = int(search.settings.get("documents", len(marks)))
    return ExampleRanking(
        search.name, search.kind, None, counts["example"], counts["yes"],
        counts["no"], 0, {}, documents, hits,
    )  # fmt: skip


def _open(project: Project, name: str | None) -> StoredSearch:
    return searches.open_search(project.store, name, searches.SCREEN)


def _counts(progress: ScreeningProgress) -> str:
    return _(
        "%(found)s relevant found; %(read)s of %(all)s documents read (%(share)s), "
        "%(drawn)s of them drawn at random",
        found=whole(progress.found),
        read=whole(progress.read),
        all=whole(progress.documents),
        share=share(progress.read / max(progress.documents, 1)),
        drawn=whole(progress.drawn),
    )


def words(status: ScreeningStatus) -> list[str]:
    """The counts, the estimates, and the advice as the last line.

    >>> share(0.05), share(0.951)
    ('5 %', '95.1 %')
    """
    progress = status.progress
    counts = _counts(progress)
    bound = _(
        "recall: at least %(least)s, with %(confidence)s confidence, however often you "
        "check",
        least=share(progress.recall_bound, down=True),
        confidence=share(1 - progress.error),
    )
    left = progress.remaining
    if left is None:
        more = _("the number left is unknown until some documents have been drawn")
        lines = [counts, more, bound]
    else:
        more = _(
            "about %(n)s more to find (%(level)s interval %(low)s–%(high)s)",
            n=whole(left.estimate),
            level=share(left.level),
            low=whole(left.low),
            high=whole(left.high),
        )
        recall = progress.found / max(progress.found + left.estimate, 1)
        unread = progress.unread / max(progress.documents, 1)
        saved = _(
            "estimated recall %(recall)s; work saved over sampling so far %(saved)s",
            recall=share(recall),
            saved=share(unread - (1 - recall)),
        )
        lines = [counts, more, bound, saved]
    lines.append(stops_in_words(progress))
    return [*lines, *_left_out(status), advice(progress)]


def _left_out(status: ScreeningStatus) -> Iterator[str]:
    """The documents that the counts leave out."""
    skipped, hidden, later = status.progress.skipped, status.duplicates, status.later
    if skipped:
        yield _("%(n)s skipped, not counted here", n=whole(skipped))
    if hidden:
        yield ngettext(
            "%(n)s duplicate is hidden", "%(n)s duplicates are hidden", hidden
        )
    if later:
        yield _("%(n)s newer documents are not part of it", n=whole(later))


def stops_in_words(progress: ScreeningProgress) -> str:
    """How much reading is left to each target."""
    parts = [
        _("%(share)s: about %(n)s more to read", share=share(s.target), n=whole(s.more))
        if s.more
        else _("%(share)s: proved", share=share(s.target))
        for s in progress.stops
    ]
    return _("stop at %(targets)s", targets=", ".join(parts))


def advice(progress: ScreeningProgress) -> str:
    """Whether to go on, and why."""
    target, error = share(progress.target), share(progress.error)
    if progress.stop and progress.unread == 0:
        return _("stop: everything is read")
    if progress.stop:
        return _(
            "stop: %(target)s of the relevant documents are found. Screenings that "
            "stop by this rule miss their target in at most %(error)s of all cases",
            target=target,
            error=error,
        )
    if progress.phase == "proving":
        return _(
            "go on: the likely documents are exhausted; random ones now have to show "
            "that %(target)s of the relevant documents are found (risk of an error now "
            "%(risk)s, allowed %(error)s)",
            target=target,
            risk=share(progress.chance),
            error=error,
        )
    return _(
        "go on: it is too early to say that %(target)s of the relevant documents are "
        "found",
        target=target,
    )


def draw_status(status: ScreeningStatus, folder: Path) -> Path:
    """Draw the recall by the estimate against the documents read."""
    from classmark.evaluation.screening import draw_curves

    progress, flags = status.progress, status.reading.relevant
    left = 0 if progress.remaining is None else progress.remaining.estimate
    if not flags.any():
        raise refusal(
            "no relevant document has been found yet: there is no curve to show"
        )
    curve = _curve(flags, int(flags.sum()) + left)
    path = folder / REPORTS / f"screen-{'-'.join(status.search.split('/'))}.svg"
    draw_curves(
        {"found, of those estimated": curve},
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

    if runs < 1:
        raise refusal("runs is %(runs)s: make at least one", runs=runs)
    vectors, store = vectors_of(project, RUNS), project.store
    store.number_of(category)
    labels = store.labels()
    truth = np.array([category in labels.get(id_, {}) for id_ in vectors.ids])
    if not truth.any():
        raise refusal("no document is in category %(name)r: assign some", name=category)
    begins = generator(seed).choice(np.flatnonzero(truth), runs).tolist()
    simulated = {
        f"run {run + 1}": simulate(
            vectors.rows, truth, [first], rule=rule, random_state=run
        )
        for run, first in enumerate(begins)
    }
    path = project.folder / REPORTS / f"screen-try-{category.replace('/', '-')}.svg"
    draw_curves(
        {name: _curve(run.order, run.relevant) for name, run in simulated.items()},
        path,
        f"{category}: {int(truth.sum()):,} of {len(truth):,} documents",
        documents=len(truth),
        target=rule.target,
        stops={
            name: (1 - run.saved_at_stop, run.recall) for name, run in simulated.items()
        },
    )
    return Evaluated(_table(category, list(simulated.values()), rule), path)


def _curve(relevant: Bools, total: int) -> Floats:
    """The recall after each document read, of ``total`` relevant ones."""
    from classmark.measures import recall_curve

    unseen = np.ones(total - int(relevant.sum()), bool)
    return recall_curve(np.concatenate([relevant, unseen]))[: len(relevant) + 1]


def _table(category: str, simulated: list[Simulated], rule: StoppingRule) -> Table:
    rows: list[dict[str, Cell]] = [
        {
            "run": number,
            f"WSS@{100 * rule.target:g}": run.saved,
            "read at stop": run.stopped,
            "share read": 1 - run.saved_at_stop,
            "recall at stop": run.recall,
            "promised": run.bound,
        }
        for number, run in enumerate(simulated, start=1)
    ]
    early = sum(run.recall < rule.target - 1e-9 for run in simulated)
    note = (
        f"{simulated[0].relevant:,} of {simulated[0].documents:,} documents are "
        f"relevant; {early} of {len(simulated)} stopped below the target (at most "
        f"{share(rule.error)} of all would)"
    )
    return Table(f"Screening for {category}, tried out", rows, note)


def share(value: float, *, down: bool = False) -> str:
    """In percent, with a decimal where it says something; down : never rounded up."""
    tenths = 1000 * value
    tenths = np.floor(tenths + 1e-9) if down else np.round(tenths)
    return f"{tenths / 10:.1f}".removesuffix(".0") + " %"
