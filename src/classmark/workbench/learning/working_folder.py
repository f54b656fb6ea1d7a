"""Where a training keeps what it has finished, so that one that was killed goes on."""

from __future__ import annotations

import os
import shutil
import time
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

from classmark.storage import locked_file, make_folder

WORKING = ".training"  # among the models: what a training has finished so far
LOCK = ".lock"  # held by whoever uses the folder it is in
SECONDS = 0.05  # to wait for somebody who is just removing it


class WorkingFolder(ExitStack):
    """The working folders of trainings, by name; of these the one that is claimed.

    Others may be at work beside it: what is in use is left alone. What was left by
    trainings that are no more is removed, unless it is gone on with.
    """

    def __init__(self, folder: Path) -> None:
        super().__init__()
        self.folder = folder
        self._claimed: Path | None = None

    def claim(self, name: str) -> Path:
        """Return the folder of this name; it stays as long as it is held."""
        self._claimed = place = self.folder / name
        make_folder(place)
        while (file := _locked(place, shared=True)) is None:
            time.sleep(SECONDS)
            make_folder(place)
        self.enter_context(file)
        for other in self.folder.iterdir():
            if other.is_dir() and other.name != name:
                _remove(other)
        return place

    def remove(self) -> None:
        """Remove what was claimed: it is not needed any more."""
        self.close()
        if self._claimed is not None:
            _remove(self._claimed)
        with suppress(OSError):  # others are at work in it
            self.folder.rmdir()


def _locked(place: Path, *, shared: bool) -> Any:
    """Lock a folder; None where others do not allow it, or removed it meanwhile."""
    with suppress(FileNotFoundError), ExitStack() as closing:
        if (file := locked_file(place / LOCK, shared=shared)) is not None:
            closing.enter_context(file)
            if os.path.samestat(os.fstat(file.fileno()), (place / LOCK).stat()):
                closing.pop_all()
                return file
    return None


def _remove(place: Path) -> None:
    """Remove a folder that nobody uses."""
    if (file := _locked(place, shared=False)) is not None:
        with file:
            shutil.rmtree(place, ignore_errors=True)
