"""Progress and agreement on the command line."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from classmark.cli.commands import HERE, AllColumns, AsJson

if TYPE_CHECKING:
    from classmark.workbench.desk.agreement import Agreed, Disagreement
    from classmark.workbench.desk.progress import Progress
    from classmark.workbench.views import Cell, Table

Folder = Annotated[Path, typer.Argument(metavar="[DIR]", help="The project.")]


def progress(
    folder: Folder = HERE, everything: AllColumns = False, as_json: AsJson = False
) -> None:
    """Say how far the work is, whether suggestions get better, and whether to stop."""
    from classmark.cli.output import say, show_json, show_table, tell
    from classmark.workbench.desk.desk import Desk
    from classmark.workbench.desk.progress import progress as found_in

    with Desk(folder) as desk:
        found = found_in(desk)
    if as_json:
        more = {"waiting": found.waiting, "saved": found.saved}
        show_json(without_nan(asdict(found) | more))
        return
    for line in _told(found):
        tell(line)
    if found.steps:
        say()
        show_table(_steps(found), everything=everything)


def agreement(
    folder: Folder = HERE,
    top: Annotated[int, typer.Option("-n", min=0, help="Disagreements shown.")] = 20,
    everything: AllColumns = False,
    as_json: AsJson = False,
) -> None:
    """Say how far people agree, and on which documents they differ."""
    from classmark.cli.output import show_json, show_table, tell
    from classmark.workbench.desk.agreement import agreement as found_in
    from classmark.workbench.desk.agreement import disagreements
    from classmark.workbench.desk.desk import Desk

    with Desk(folder) as desk:
        found, differing = found_in(desk), disagreements(desk)
    if as_json:
        documents = [each.document for each in differing]
        show_json(without_nan(asdict(found)) | {"disagreements": documents})
        return
    if not found.documents:
        tell("no document was read by two people yet: decide on one that another has")
        return
    tell(_alphas(found))
    show_table(_pairs(found), everything=everything)
    if differing and top:
        table = _differing(differing[-top:], len(differing))
        show_table(table, everything=everything)


def without_nan(value: Any) -> Any:
    """Plain values with None for what is not defined.

    >>> without_nan({"kappa": float("nan"), "pairs": (1.0,)})
    {'kappa': None, 'pairs': [1.0]}
    """
    if isinstance(value, dict):
        return {name: without_nan(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [without_nan(each) for each in value]
    return None if value != value else value  # noqa: PLR0124  only NaN differs from itself


def _told(found: Progress) -> list[str]:
    """The state of the work, in sentences."""
    from classmark.workbench.desk.panels import number
    from classmark.workbench.desk.plots import percent

    left = f"{found.waiting:,} wait, {found.aside:,} set aside"
    lines = [f"{found.decided:,} of {found.documents:,} documents decided; {left}"]
    if found.whole is None or found.recent is None or found.hint is None:
        few = f"{found.measured} decided with suggestions in view"
        return [*lines, f"nothing is measured yet: {few}, ten are needed"]
    lines.append(
        f"{number(found.recent.effort)} categories looked at per document over the "
        f"last {found.recent.documents}, {number(found.whole.effort)} over all "
        f"{found.measured:,}; the first suggestion was right in "
        f"{percent(found.recent.first)}"
    )
    if found.saved is not None:
        lines.append(
            f"{percent(found.saved)} of looking saved against a list with the most "
            f"used first ({number(found.popular)})"
        )
    hint = found.hint
    lines.append(
        f"{'you may stop' if hint.stop else 'go on'}: with 95 % confidence the first "
        f"suggestion is wrong in at most {percent(hint.most)} of the documents, "
        f"{hint.wrong_at_most:,} of those that wait"
    )
    return lines


def _steps(found: Progress) -> Table:
    from classmark.workbench.views import Table

    rows: list[dict[str, Cell]] = without_nan([asdict(step) for step in found.steps])
    note = "on documents decided before they were learned; upto: decisions measured"
    return Table("Over time", rows, note)


def _alphas(found: Agreed) -> str:
    values = {"MASI": found.masi, "Jaccard": found.jaccard, "main": found.nominal}
    told = ", ".join(f"{name} {value:.3f}" for name, value in values.items())
    return (
        f"{found.documents:,} documents read by two or more of "
        f"{', '.join(found.people)}\nKrippendorff's α: {told}"
    )


def _pairs(found: Agreed) -> Table:
    from classmark.workbench.views import Table

    rows: list[dict[str, Cell]] = without_nan([asdict(pair) for pair in found.pairs])
    note = (
        "same: documents with the same labels; alike: mean share in common; kappa: "
        "label by label; kappa_main: over the main category of so many documents"
    )
    return Table("Cohen's κ", rows, note)


def _differing(found: list[Disagreement], many: int) -> Table:
    from classmark.workbench.views import Table

    rows: list[dict[str, Cell]] = [
        {
            "document": each.document,
            "people": ", ".join(each.people),
            "over": ", ".join(each.over),
        }
        for each in found
    ]
    note = "settle them in the workbench: Progress, Agreement"
    return Table(f"Not settled: {many:,}", rows, note)
