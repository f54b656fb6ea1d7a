"""The demo on a terminal: each step as it is done."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

from classmark.cli.output import (
    say,
    show_evaluated,
    show_json,
    show_suggestions,
    show_table,
    show_trained,
)
from classmark.workbench.demo import Unseen, demonstrate
from classmark.workbench.views import Evaluated, Table, Trained


def run(folder: Path, *, serve: bool, as_json: bool) -> None:
    """Show every step; with ``as_json`` one JSON list of what each step found."""
    if as_json:
        show_json([asdict(step) for step in demonstrate(folder)])
        return
    for step in demonstrate(folder):
        match step:
            case Table():
                show_table(step)
            case Evaluated():
                show_evaluated(step)
            case Trained():
                show_trained(step)
            case Unseen():
                say("A note nobody has classified yet:\n")
                say(f"  {step.text}\n")
                show_suggestions(step.suggestions)
    if serve:
        from classmark.web.serving import serve_project

        serve_project(folder, "127.0.0.1", 8000, say, or_free=True)
        return
    say(f"\nThe project is in {folder}: open it with classmark serve {folder}")
