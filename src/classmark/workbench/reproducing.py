"""Compute a published result again, and write down what came out.

The programs that do so stand beside ``src`` in the source repository.
"""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

from classmark.problems import Mistake
from classmark.workbench.results import Table

REPORTS = Path("reports")


@dataclass(frozen=True, slots=True)
class Reproduced:
    """The table, the claims that hold or do not, and the files written."""

    table: Table
    claims: list[str]
    facts: Path
    plot: Path


def reproduce_result(
    name: str, data: Path | None = None, facts: Path | None = None
) -> Reproduced:
    """Compute it, write all values to a JSON file and the plot beside it.

    facts : the JSON file; without it, NAME.json in ./reports.
    """
    target = REPORTS / f"{name}.json" if facts is None else facts
    if target.suffix != ".json":
        raise Mistake(f"--json {target}: give a file whose name ends in .json")
    found = reproductions().reproduce(name, data)
    plot = target.with_suffix(".svg")
    target.parent.mkdir(parents=True, exist_ok=True)
    kept = {"name": name, "title": found.title, "note": found.note} | dict(found.facts)
    text = json.dumps(kept, ensure_ascii=False, indent=1)
    target.write_text(text + "\n", encoding="utf-8")
    found.draw(plot)
    table = Table(found.title, found.rows, found.note)
    return Reproduced(table, found.claims, target, plot)


def reproductions() -> Any:
    """Import the programs that compute published results again."""
    checkout = Path(__file__).parents[3]
    if str(checkout) not in sys.path and (checkout / "reproductions").is_dir():
        sys.path.append(str(checkout))
    try:
        return import_module("reproductions")
    except ModuleNotFoundError as problem:
        if problem.name != "reproductions":
            raise
        raise Mistake(
            "reproductions are in the source repository, not in the package: clone it "
            "and run make reproduce NAME=… there"
        ) from problem
