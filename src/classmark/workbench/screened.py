"""How a screening is told: in words, as a curve, and as a trial run."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from classmark.examples.screening import Progress, Rule
from classmark.problems import Mistake
from classmark.validation import generator
from classmark.workbench.vectors import collection_of
from classmark.workbench.views import Cell, Evaluated, Table

if TYPE_CHECKING:
    from classmark.evaluation.screening import Simulated
    from classmark.workbench.project import Project
    from classmark.workbench.screening import Status

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


def advice(progress: Progress) -> str:
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
    project: Project, category: str, rule: Rule, runs: int = 5, seed: int = 0
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


def _table(category: str, found: list[Simulated], rule: Rule) -> Table:
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


def _left(progress: Progress) -> str:
    left = progress.remaining
    if left is None:
        return "how many are left is not known before some documents are drawn"
    more = "no" if left.estimate == 0 else f"about {left.estimate:,}"
    span = f"{share(left.level)} interval {left.low:,}–{left.high:,}"
    return f"{more} more to find ({span})"


def _saved(progress: Progress) -> str:
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
