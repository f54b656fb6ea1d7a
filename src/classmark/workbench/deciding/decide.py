"""An expert decides on a document, at the command line or at the desk; it is logged."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from classmark.formats.records import PRIMARY as PRIMARY_GRADE
from classmark.formats.records import SECONDARY, THRESHOLD, Record
from classmark.language import _
from classmark.problems import Mistake, refusal, worded
from classmark.workbench.results import Logged
from classmark.workbench.store.log import (
    ASSIGN,
    LABELS,
    NOTE,
    PREFER,
    PRIMARY,
    REJECT,
    REMOVE,
    SETTLE,
    SKIP,
    UNSURE,
    Act,
    whoami,
)
from classmark.workbench.store.undo import undo

if TYPE_CHECKING:
    from classmark.workbench.project import Project
    from classmark.workbench.store.store import Store
    from classmark.workbench.team.desk import Desk


UNTRAINED = "live"  # the model, where it has only learned decision by decision


@dataclass(frozen=True, slots=True)
class Decision:
    """What an expert says of one document at once.

    primary : labels that stand above its other ones;  reject : not these;  unsure :
    neither nor;  remove : take back what was said of these;  over : (winner, loser)
    pairs;  aside : leave the document for later.
    """

    assign: tuple[str, ...] = ()
    primary: tuple[str, ...] = ()
    reject: tuple[str, ...] = ()
    unsure: tuple[str, ...] = ()
    remove: tuple[str, ...] = ()
    over: tuple[tuple[str, str], ...] = ()
    aside: bool = False
    note: str = ""


class Seen(NamedTuple):
    """The model, and where it had put a category, when the expert decided."""

    model: str = ""
    rank: int | None = None
    score: float | None = None


def decide(
    project: Project,
    document: str,
    decision: Decision,
    seen: Mapping[str, Seen] | None = None,
    who: str = "",
    *,
    together: bool = False,
) -> Logged:
    """Log a decision, all of it or nothing.

    seen : category → what the expert saw; None asks the model in service. together :
    its other acts are within its first, and so undone with it.
    """
    store = project.store
    store.require_document(document)
    if seen is None:
        seen = what_the_model_says(project, document, named(decision))
    acts = list(_acts(document, decision, seen))
    _require_clear(decision, acts)
    with store.transaction():
        new = {*decision.assign, *decision.primary, *decision.unsure}
        compared = {n for pair in decision.over for n in pair}
        new |= {name for name in compared if not store.is_threshold(name)}
        store.require_open(sorted(new))
        numbers = store.judge(acts[:1] if together else acts, who or whoami())
        rest = [act._replace(within=numbers[0]) for act in acts[len(numbers) :]]
        numbers += store.judge(rest, who or whoami())
    return Logged(tuple(numbers), f"{document}: {_words(acts)}")


def what_the_model_says(
    project: Project, document: str, names: set[str]
) -> dict[str, Seen]:
    """Rank and score of categories for a document, by the model in service, if any.

    A category that the model does not know, or does not rank, has neither.
    """
    model = project.model()
    if model is None or not names:
        return {}
    name = project.model_name or UNTRAINED
    text = project.text_of(Record(project.store.document(document)))
    return {
        id_: Seen(name, *(standing or (None, None)))
        for id_, standing in model.standings(text, names).items()
    }


def pair_of(text: str, ids: Collection[str]) -> tuple[str, str]:
    """Read «winner:loser»; ids may hold colons themselves, one may be the threshold.

    >>> pair_of("a:b:c", {"a:b", "c"}), pair_of("a:b:threshold", {"a:b", "c"})
    (('a:b', 'c'), ('a:b', 'threshold'))
    """
    parts, ids = text.split(":"), {*ids, THRESHOLD}
    cuts = [(":".join(parts[:at]), ":".join(parts[at:])) for at in range(1, len(parts))]
    matches = [cut for cut in cuts if cut[0] in ids and cut[1] in ids]
    if len(matches) == 1:
        return matches[0]
    if len(cuts) == 1:
        return cuts[0]
    raise refusal(
        "--over %(text)s: give two categories of the project, or one and the word "
        "threshold, as winner:loser (this reads as %(n)s pairs)",
        text=text,
        n=len(matches),
    )


def _require_clear(decision: Decision, acts: Sequence[Act]) -> None:
    """Refuse a decision that says nothing, or contradicts itself."""
    act_on: dict[str | None, str] = {}
    for act in acts:
        name, other = act.category, act.other
        if other is None and act_on.setdefault(name, act.act) != act.act:
            raise refusal(
                "category %(name)r: %(act_on)s and %(act)s contradict each "
                "other: choose one",
                name=name,
                act_on=act_on[name],
                act=act.act,
            )
        if other is not None and name == other:
            raise refusal(
                "%(name)r cannot be preferred to itself: remove this preference",
                name=name,
            )
        if (other, name) in decision.over:
            raise refusal(
                "%(name)r over %(other)r and the contrary contradict each "
                "other: choose one",
                name=name,
                other=other,
            )
    if decision.aside and len(acts) > 1:
        raise refusal("a document cannot be postponed and decided at once: choose one")
    if not acts:
        raise refusal(
            "nothing was decided: %(remedy)s",
            remedy=worded(
                "say --assign, --primary, --reject, --unsure, --remove, --over "
                "or --aside"
            ),
        )


def named(decision: Decision) -> set[str]:
    """The categories that a decision is about."""
    return {
        *decision.assign, *decision.primary, *decision.reject, *decision.unsure,
        *decision.remove, *(winner for winner, _ in decision.over),
    }  # fmt: skip


def _acts(document: str, decision: Decision, seen: Mapping[str, Seen]) -> Iterator[Act]:
    note, unseen = decision.note, Seen()
    for act, names, grade in (
        (REMOVE, decision.remove, None),
        (ASSIGN, decision.assign, SECONDARY),
        (PRIMARY, decision.primary, PRIMARY_GRADE),
        (REJECT, decision.reject, None),
        (UNSURE, decision.unsure, None),
    ):
        for name in dict.fromkeys(names):
            if act != ASSIGN or name not in decision.primary:
                yield Act(document, act, name, grade, *seen.get(name, unseen), note)
    for winner, loser in dict.fromkeys(decision.over):
        view = seen.get(winner, unseen)
        yield Act(document, PREFER, winner, 1.0, *view, note, loser)
    if decision.aside:
        yield Act(document, UNSURE, note=note)


def _words(acts: list[Act]) -> str:
    return ", ".join(
        f"{act.act} {act.category} over {act.other}"
        if act.other
        else f"{act.act} {act.category}"
        if act.category
        else "postponed"
        for act in acts
    )


SAID = """
SELECT j.seq, j.who, j.at, j.act,
  coalesce(c.id, CASE WHEN j.act IN ('prefer', 'retract') THEN 'threshold' ELSE '' END),
  coalesce(o.id, CASE WHEN j.act IN ('prefer', 'retract') THEN 'threshold' ELSE '' END),
  j.note
FROM judgments AS j LEFT JOIN categories AS c ON c.number = j.category
LEFT JOIN categories AS o ON o.number = j.other
WHERE j.document = ? AND j.seq > ? AND j.act {} ORDER BY j.seq
"""
DECIDES = "NOT IN ('skip', 'note', 'settle', 'replace')"
BRING_BACK = """
SELECT max(u.seq) FROM judgments AS u JOIN judgments AS t ON t.seq = u.undoes
WHERE u.who = ?1 AND u.act = 'undo' AND t.act <> 'undo' AND u.within IS NULL
AND NOT EXISTS (SELECT 1 FROM undone WHERE seq = u.seq)
AND u.seq > coalesce((SELECT max(seq) FROM judgments
  WHERE who = ?1 AND act <> 'undo' AND within IS NULL), 0)
"""
WRITTEN = "SELECT at, document FROM judgments WHERE seq BETWEEN ? AND ? ORDER BY seq"
KEEPS_ASIDE = """
SELECT seq FROM judgments WHERE document = ? AND act = 'unsure' AND category IS NULL
AND document IN (SELECT document FROM aside)
AND seq NOT IN (SELECT seq FROM undone) ORDER BY seq
"""


class LoggedAct(NamedTuple):
    """An act on a document, as it is shown: who said what, and when."""

    number: int
    who: str
    at: str
    act: str
    category: str = ""
    other: str = ""
    note: str = ""


class Conflict(Mistake):
    """Somebody decided on the document meanwhile; nothing was written.

    theirs : what was said since, oldest first;  yours : what was to be written.
    """

    def __init__(
        self, document: str, theirs: tuple[LoggedAct, ...], yours: Decision
    ) -> None:
        who = ", ".join(dict.fromkeys(act.who for act in theirs))
        super().__init__(
            _(
                "%(document)s: %(who)s decided on it meanwhile: look at both "
                "decisions, and say which holds",
                document=document,
                who=who,
            )
        )
        self.document, self.theirs, self.yours = document, theirs, yours


@dataclass(frozen=True, slots=True)
class SavedDecision:
    """What was written, and which document is next; None: no more.

    number : of its first act, by which all of it is undone;  at : when, as logged.
    """

    number: int
    at: str
    said: str
    next: str | None
    document: str = ""
    numbers: tuple[int, ...] = ()

    @property
    def words(self) -> str:
        """As it is shown after a save."""
        return f"saved #{self.number} · {self.at[11:19]}"


def next_for(desk: Desk, who: str = "", after: str | None = None) -> str | None:
    """The next document for somebody to decide on, in the order they chose.

    Others are not given it meanwhile. None: nothing waits for them.
    """
    return desk.queues.next_for(who, after)


def decide_on(
    desk: Desk,
    document: str,
    decision: Decision,
    seen: Mapping[str, Seen] | None,
    who: str,
    version: int | None = None,
) -> SavedDecision:
    """Write a decision; it is on disk when this returns, and is learned soon.

    seen : category → what was shown of it; None: as the sheet laid out for ``who`` has
    it. version : of that sheet; where anybody has said something of the document
    since, a ``Conflict`` is raised and nothing is written; None: written anyhow.
    """
    names = named(decision)
    if seen is None:
        shown = desk.sheets.seen(document, who)
        seen = shown | what_the_model_says(desk, document, names - shown.keys())

    def write(project: Project) -> Logged:
        if theirs := acts_since(project.store, document, version):
            raise Conflict(document, theirs, decision)
        return decide(project, document, decision, seen, who, together=True)

    saved = _saved(desk, who, desk.write(write), names)
    if desk.followed.waits(
        document
    ):  # no label was said: it is theirs again at the end
        desk.queues.skip(document, who)
    return saved


def skip_for(desk: Desk, document: str, who: str) -> SavedDecision:
    """Leave a document for later: it goes to the end of this person's queue."""
    saved = _say(desk, Act(document, SKIP), who, "skipped")
    desk.queues.skip(document, who)
    return saved


def note_on(desk: Desk, document: str, text: str, who: str) -> SavedDecision:
    """Write a note on a document; it teaches nothing and moves nothing."""
    if not text.strip():
        raise refusal("the note is empty: write something")
    return _say(desk, Act(document, NOTE, note=text.strip()), who, "noted")


def undo_for(desk: Desk, who: str, number: int | None = None) -> SavedDecision:
    """Take back an act with all that was said with it; without a number, the last."""
    logged = desk.write(lambda project: undo(project, number, who))
    return _saved(desk, who, logged, taken_back=True)


def redo_for(desk: Desk, who: str) -> SavedDecision:
    """Bring back what this person undid last, until they decide something else."""

    def write(project: Project) -> Logged:
        (last,) = project.store.run(BRING_BACK, (who,)).fetchone()
        if last is None:
            raise refusal(
                "%(who)s has nothing to redo: only what was just undone can be redone",
                who=who,
            )
        return undo(project, int(last), who)

    return _saved(desk, who, desk.write(write), taken_back=True)


def version_of(store: Store, document: str) -> int:
    """The number of the last act on a document; 0 where there is none."""
    (last,) = store.run(
        "SELECT coalesce(max(seq), 0) FROM judgments WHERE document = ? "
        "AND act NOT IN ('skip', 'note', 'settle', 'replace')",
        (document,),
    ).fetchone()
    return int(last)


def acts_since(
    store: Store, document: str, version: int | None
) -> tuple[LoggedAct, ...]:
    """What was said of a document after an act, oldest first; after None, nothing."""
    if version is None:
        return ()
    return tuple(
        LoggedAct(*row) for row in store.run(SAID.format(DECIDES), (document, version))
    )


def _say(desk: Desk, act: Act, who: str, words: str) -> SavedDecision:
    def write(project: Project) -> Logged:
        project.store.require_document(str(act.document))
        numbers = project.store.judge([act], who)
        return Logged(tuple(numbers), f"{act.document}: {words}")

    return _saved(desk, who, desk.write(write), ())


def _saved(
    desk: Desk,
    who: str,
    logged: Logged,
    categories: Iterable[str] | None = None,
    *,
    taken_back: bool = False,
) -> SavedDecision:
    """Tell everybody, and find what is next: after an undo, the same document."""
    numbers = logged.numbers
    rows = desk.store.run(WRITTEN, (numbers[0], numbers[-1])).fetchall()
    documents = list(dict.fromkeys(str(id_) for _, id_ in rows if id_ is not None))
    desk.after_write(documents, who, logged, categories)
    document = documents[0] if documents else ""
    onward = document or None if taken_back else desk.queues.next_for(who, document)
    return SavedDecision(numbers[0], rows[0][0], logged.said, onward, document, numbers)


def settle(
    desk: Desk,
    document: str,
    labels: Mapping[str, bool],
    who: str,
    note: str = "",
    version: int | None = None,
) -> Logged:
    """Say which labels are to stand, after people differed; it is undone as one act.

    labels : category → whether it is primary;  version : as in ``decide_on``; refused
    where anybody has decided on the document since.
    """
    if not labels:
        raise refusal(
            "%(document)s: nothing was chosen: choose the categories that apply",
            document=document,
        )

    def write(project: Project) -> Logged:
        store = project.store
        store.require_document(document)
        if later := acts_since(store, document, version):
            raise refusal(
                "%(document)s: %(who)s has decided on it meanwhile (%(act)s): "
                "look at it again before you settle it",
                document=document,
                who=later[0].who,
                act=later[0].act,
            )
        store.require_open(sorted(labels))
        stood = store.standing(document).get(document, {})
        first = store.append(Act(document, SETTLE, note=note), who)
        numbers = store.judge(_moves(document, labels, stood, first), who)
        for (seq,) in store.run(KEEPS_ASIDE, (document,)).fetchall():
            numbers += undo(project, seq, who, first).numbers
        words = f"{document}: settled, {', '.join(labels)}"
        return Logged((first, *numbers), words)

    logged = desk.write(write)
    desk.after_write([document], who, logged)
    return logged


def _moves(
    document: str,
    labels: Mapping[str, bool],
    stood: Mapping[str, tuple[str, float | None]],
    within: int,
) -> Iterator[Act]:
    """The acts that lead from what stands to what is to stand."""
    for name, is_primary in labels.items():
        act = PRIMARY if is_primary else ASSIGN
        if name not in stood or stood[name][0] != act:
            grade = PRIMARY_GRADE if is_primary else SECONDARY
            yield Act(document, act, name, grade, within=within)
    for name, (act, _grade) in stood.items():
        if act in LABELS and name not in labels:
            yield Act(document, REMOVE, name, within=within)
