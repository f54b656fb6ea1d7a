"""An index is filled: its folder locked, segments made there, and put in service."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from classmark.index.background import clear
from classmark.index.building import Setup
from classmark.index.merging import Part
from classmark.index.segments import Segment
from classmark.index.snapshots import Snapshot, commit, locked, sweep


def fill_index(
    folder: Path, setup: Setup, fill: Callable[[], Sequence[Segment]], aside: str = ""
) -> Snapshot:
    """Put the segments that ``fill`` makes in service, instead of what is there.

    Nobody else changes the folder meanwhile, and readers see all of it or nothing.

    aside : a working folder in it that is kept until then, when all of them go.
    """
    with locked(folder):
        sweep(folder, aside)
        clear(folder)
        parts = [Part(segment, None) for segment in fill() if segment.n_items]
        return commit(folder, parts, _settings(setup))


def _settings(setup: Setup) -> dict[str, Any]:
    fields = None if setup.fields is None else list(setup.fields)
    return {
        "analyzer": str(setup.analyzer),
        "fields": fields,
        "positions": setup.positions,
    }
