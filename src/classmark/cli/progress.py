"""Progress and agreement on the command line."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from classmark.cli.options import HERE, AllColumns, AsJson, open_project

if TYPE_CHECKING:
    from classmark.workbench.results import Cell, Table
    from classmark.workbench.team.agreement import Agreed, Disagreement
    from classmark.workbench.team.progress import Progress

Folder = Annotated[Path, typer.Argument(metavar="[DIR]", help="The project.")]


def progress(
    folder: Folder = HERE, everything: AllColumns = False, as_json: AsJson = False
) -> None:
    """Say how far the work is, whether suggestions get better, and whether to stop."""
    from classmark.cli.output import say, show_json, show_table, tell
    from classmark.workbench.team.progress import progress as progress_of

    with open_project(folder) as project:
        state = progress_of(project)
    if as_json:
        more = {"waiting": state.waiting, "saved": state.saved}
        show_json(without_nan(asdict(state) | more))
        return
    for line in _sentences(state):
        tell(line)
    if state.steps:
        say()
        show_table(_steps(state), everything=everything)


def agreement(
    folder: Folder = HERE,
    top: Annotated[int, typer.Option("-n", min=0, help="Disagreements shown.")] = 20,
    everything: AllColumns = False,
    as_json: AsJson = False,
) -> None:
    """Say how far people agree, and on which documents they differ."""
    from classmark.cli.output import show_json, show_table, tell
    from classmark.workbench.team.agreement import agreement as agreement_of
    from classmark.workbench.team.agreement import disagreements

    with open_project(folder) as project:
        agreed, differing = agreement_of(project), disagreements(project)
    if as_json:
        documents = [each.document for each in differing]
        show_json(without_nan(asdict(agreed)) | {"disagreements": documents})
        return
    if not agreed.documents:
        tell("no document was read by two people yet: decide on one that another has")
        return
    tell(_alphas(agreed))
    show_table(_pairs(agreed), everything=everything)
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


def _sentences(state: Progress) -> list[str]:
    """The state of the work, in sentences."""
    from classmark.workbench.team.plots import number, percent

    left = f"{state.waiting:,} wait, {state.aside:,} set aside"
    lines = [f"{state.decided:,} of {state.documents:,} documents decided; {left}"]
    if state.whole is None or state.recent is None or state.hint is None:
        few = f"{state.measured} decided with suggestions in view"
        return [*lines, f"nothing is measured yet: {few}, ten are needed"]
    lines.append(
        f"{number(state.recent.effort)} categories looked at per document over the "
        f"last {state.recent.documents}, {number(state.whole.effort)} over all "
        f"{state.measured:,}; the first suggestion was right in "
        f"{percent(state.recent.first)}"
    )
    if state.saved is not None:
        lines.append(
            f"{percent(state.saved)} of looking saved against a list with the most "
            f"used first ({number(state.popular)})"
        )
    hint = state.hint
    lines.append(
        f"{'you may stop' if hint.stop else 'go on'}: with 95 % confidence the first "
        f"suggestion is wrong in at most {percent(hint.most)} of the documents, "
        f"{hint.wrong_at_most:,} of those that wait"
    )
    return lines


def _steps(state: Progress) -> Table:
    from classmark.workbench.results import Table

    rows: list[dict[str, Cell]] = without_nan([asdict(step) for step in state.steps])
    note = "on documents decided before they were learned; upto: decisions measured"
    return Table("Over time", rows, note)


def _alphas(agreed: Agreed) -> str:
    values = {"MASI": agreed.masi, "Jaccard": agreed.jaccard, "main": agreed.nominal}
    alphas = ", ".join(f"{name} {value:.3f}" for name, value in values.items())
    return (
        f"{agreed.documents:,} documents read by two or more of "
        f"{', '.join(agreed.people)}\nKrippendorff's α: {alphas}"
    )


def _pairs(agreed: Agreed) -> Table:
    from classmark.workbench.results import Table

    rows: list[dict[str, Cell]] = without_nan([asdict(pair) for pair in agreed.pairs])
    note = (
        "same: documents with the same labels; alike: mean share in common; kappa: "
        "label by label; kappa_main: over the main category of so many documents"
    )
    return Table("Cohen's κ", rows, note)


def _differing(disagreements: list[Disagreement], many: int) -> Table:
    from classmark.workbench.results import Table

    rows: list[dict[str, Cell]] = [
        {
            "document": each.document,
            "people": ", ".join(each.people),
            "over": ", ".join(each.over),
        }
        for each in disagreements
    ]
    note = "settle them in the workbench: Progress, Agreement"
    return Table(f"Not settled: {many:,}", rows, note)
