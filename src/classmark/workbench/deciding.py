"""An expert decides: labels, primary ones, rejections, doubts and preferences."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from math import inf
from typing import TYPE_CHECKING, NamedTuple

from classmark.arrays import Floats
from classmark.formats.records import PRIMARY as PRIMARY_GRADE
from classmark.formats.records import SECONDARY, Record
from classmark.problems import Mistake
from classmark.workbench.categories import require_open
from classmark.workbench.log import (
    ASSIGN,
    PREFER,
    PRIMARY,
    REJECT,
    REMOVE,
    UNSURE,
    Act,
    whoami,
)
from classmark.workbench.views import Logged

if TYPE_CHECKING:
    from classmark.corpus.documents import Document
    from classmark.workbench.project import Project


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
    found = store.document(document)
    _require_clear(decision)
    if seen is None:
        seen = what_the_model_says(project, found, named(decision))
    acts = list(_acts(document, decision, seen))
    with store.transaction():
        new = {*decision.assign, *decision.primary, *decision.unsure}
        require_open(store, sorted(new | {n for pair in decision.over for n in pair}))
        for name in (*decision.reject, *decision.remove):
            store.number_of(name)
        numbers = store.judge(acts[:1] if together else acts, who or whoami())
        rest = [act._replace(within=numbers[0]) for act in acts[len(numbers) :]]
        numbers += store.judge(rest, who or whoami())
    return Logged(tuple(numbers), f"{document}: {_words(acts)}")


def what_the_model_says(
    project: Project, document: Document, names: Iterable[str]
) -> dict[str, Seen]:
    """Rank and score of categories for a document, by the model in service, if any.

    A category that the model does not know, or does not rank, has neither.
    """
    model = project.model()
    if model is None:
        return {}
    folder = project.models.current()
    name = UNTRAINED if folder is None else folder.name
    scores = model.scores([project.text_of(Record(document))])[0]
    wanted = set(names)
    column = {id_: at for at, id_ in enumerate(model.categories) if id_ in wanted}
    return {
        id_: Seen(name, rank_of(scores, column[id_]), float(scores[column[id_]]))
        if id_ in column and scores[column[id_]] > -inf
        else Seen(name)
        for id_ in wanted
    }


def rank_of(scores: Floats, column: int) -> int:
    """The place of a column, best first; ties by column, as everywhere.

    >>> import numpy as np
    >>> rank_of(np.array([2.0, 5.0, 2.0]), 2)
    3
    """
    own = scores[column]
    return 1 + int((scores > own).sum() + (scores[:column] == own).sum())


def pairs_of(project: Project, texts: Iterable[str]) -> tuple[tuple[str, str], ...]:
    """Read each «winner:loser»."""
    said = list(texts)
    known = {c.id for c in project.store.categories()} if said else set()
    return tuple(pair_of(text, known) for text in said)


def pair_of(text: str, known: set[str]) -> tuple[str, str]:
    """Read «winner:loser»; ids may hold colons themselves.

    >>> pair_of("a:b:c", {"a:b", "c"})
    ('a:b', 'c')
    """
    parts = text.split(":")
    cuts = [(":".join(parts[:at]), ":".join(parts[at:])) for at in range(1, len(parts))]
    found = [cut for cut in cuts if cut[0] in known and cut[1] in known]
    if len(found) == 1:
        return found[0]
    if len(cuts) == 1:
        return cuts[0]
    raise Mistake(
        f"--over {text}: give two categories of the project as winner:loser"
        + (f"; this reads as {len(found)} pairs" if found else "")
    )


def _require_clear(decision: Decision) -> None:
    """Refuse a decision that says nothing, or too much."""
    said = any([_require_one_each(decision), _require_order(decision)])
    if decision.aside and said:
        raise Mistake("a document set aside takes no other decision: say one of them")
    if not (decision.aside or said):
        raise Mistake(
            "nothing was decided: say --assign, --primary, --reject, --unsure, "
            "--remove, --over or --aside"
        )


def _require_one_each(decision: Decision) -> bool:
    """Refuse two acts on one category; return whether there is any."""
    where: dict[str, str] = {}
    for act, names in _grouped(decision):
        for name in names:
            if where.setdefault(name, act) != act:
                raise Mistake(
                    f"category {name!r}: {where[name]} and {act} contradict each "
                    "other: say one of them"
                )
    return bool(where)


def _require_order(decision: Decision) -> bool:
    """Refuse preferences that contradict each other; return whether there are any."""
    for winner, loser in decision.over:
        if winner == loser:
            raise Mistake(f"{winner!r} cannot be above itself: drop this preference")
        if (loser, winner) in decision.over:
            raise Mistake(
                f"{winner!r} over {loser!r} and the contrary contradict each other: "
                "say one of them"
            )
    return bool(decision.over)


def _grouped(decision: Decision) -> tuple[tuple[str, tuple[str, ...]], ...]:
    assigned = tuple(n for n in decision.assign if n not in decision.primary)
    return (
        (REMOVE, decision.remove),
        (ASSIGN, assigned),
        (PRIMARY, decision.primary),
        (REJECT, decision.reject),
        (UNSURE, decision.unsure),
    )


def named(decision: Decision) -> set[str]:
    """The categories that a decision is about."""
    return {
        *decision.assign, *decision.primary, *decision.reject, *decision.unsure,
        *decision.remove, *(winner for winner, _ in decision.over),
    }  # fmt: skip


def _acts(document: str, decision: Decision, seen: Mapping[str, Seen]) -> Iterator[Act]:
    grades = {ASSIGN: SECONDARY, PRIMARY: PRIMARY_GRADE}
    for act, names in _grouped(decision):
        for name in dict.fromkeys(names):
            what = seen.get(name, Seen())
            yield Act(document, act, name, grades.get(act), *what, decision.note)
    for winner, loser in dict.fromkeys(decision.over):
        what = seen.get(winner, Seen())
        yield Act(document, PREFER, winner, 1.0, *what, decision.note, loser)
    if decision.aside:
        yield Act(document, UNSURE, note=decision.note)


def _words(acts: list[Act]) -> str:
    return ", ".join(
        f"{act.act} {act.category} over {act.other}"
        if act.other
        else f"{act.act} {act.category}"
        if act.category
        else "set aside"
        for act in acts
    )
