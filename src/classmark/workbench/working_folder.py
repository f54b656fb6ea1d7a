"""Where does a training keep what is finished? In a folder that no other removes."""

from __future__ import annotations

import fcntl
import os
import shutil
import time
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO, Self

from classmark.storage import make_folder

LOCK = ".lock"  # held by whoever uses the folder it is in
SECONDS = 0.05  # to wait for somebody who is just removing it


class WorkingFolder:
    """The working folders of trainings, by name; of these the one that is claimed.

    Others may be at work beside it: what is in use is left alone. What was left by
    trainings that are no more is removed, unless it is gone on with.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._claimed: tuple[Path, BinaryIO] | None = None

    def claim(self, name: str) -> Path:
        """Return the folder of this name; it stays as long as it is held."""
        place = self.folder / name
        make_folder(place)
        while (file := _locked(place, fcntl.LOCK_SH)) is None:
            time.sleep(SECONDS)
            make_folder(place)
        self._claimed = place, file
        for other in self.folder.iterdir():
            if other.is_dir() and other.name != name:
                _remove(other)
        return place

    def remove(self) -> None:
        """Remove what was claimed: it is not needed any more."""
        if self._claimed is not None:
            place = self._claimed[0]
            self._free()
            _remove(place)
        with suppress(OSError):  # others are at work in it
            self.folder.rmdir()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._free()

    def _free(self) -> None:
        if self._claimed is not None:
            self._claimed[1].close()
            self._claimed = None


def _locked(place: Path, how: int) -> BinaryIO | None:
    """Lock a folder; None where others do not allow it, or removed it meanwhile."""
    with suppress(FileNotFoundError, BlockingIOError):
        file = (place / LOCK).open("a+b")
        try:
            fcntl.flock(file, how | fcntl.LOCK_NB)
            if os.path.samestat(os.fstat(file.fileno()), (place / LOCK).stat()):
                return file
        except BaseException:
            file.close()
            raise
        file.close()
    return None


def _remove(place: Path) -> None:
    """Remove a folder that nobody uses."""
    if (file := _locked(place, fcntl.LOCK_EX)) is not None:
        with file:
            shutil.rmtree(place, ignore_errors=True)
