"""Project: one directory with settings, a store, models and an index."""

from __future__ import annotations

import getpass
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Self

from classmark.problems import Mistake
from classmark.storage import Generations, sync_folder
from classmark.workbench.settings import FILE, Settings, read_settings, settings_text
from classmark.workbench.store import Store

STORE = "store.sqlite"


class Project:
    """An open project directory; a context manager that closes its store.

    shared : several threads may use it, one at a time.
    """

    def __init__(self, folder: Path, *, shared: bool = False) -> None:
        self.folder = folder
        self.settings = read_settings(folder)
        self.store = Store(folder / STORE, shared=shared, server=self.settings.store)
        self.models = Generations(folder / "models")
        self.lives = Generations(folder / "live")
        self.index = Generations(folder / "index")
        self.rankers = Generations(folder / "rankers")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.store.close()


def create(
    folder: Path,
    settings: Settings,
    fill: Callable[[Store, Path], None] | None = None,
) -> None:
    """Make a new project directory; it appears whole or not at all.

    fill : what puts something into the new store and folder; none, for an empty one.
    """
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise Mistake(f"{folder} is already there and not empty: choose another name")
    folder.parent.mkdir(parents=True, exist_ok=True)
    beside = folder.parent / f".{folder.name}.{os.getpid()}.new"
    beside.mkdir()
    try:
        (beside / "models").mkdir()
        (beside / "index").mkdir()
        (beside / FILE).write_text(settings_text(settings), encoding="utf-8")
        with Store(beside / STORE, create=True, server=settings.store) as store:
            _begin(store, beside, settings, fill)
        sync_folder(beside)
        beside.rename(folder)
    except BaseException:
        shutil.rmtree(beside, ignore_errors=True)
        raise
    sync_folder(folder.parent)


def _begin(
    store: Store,
    folder: Path,
    settings: Settings,
    fill: Callable[[Store, Path], None] | None,
) -> None:
    try:
        if fill is None:
            store.note_event("created", whoami(), name=settings.name)
        else:
            fill(store, folder)
    except BaseException:
        store.engine.discard()
        raise


def whoami() -> str:
    """The name that acts are logged under: CLASSMARK_USER, or the login name."""
    return os.environ.get("CLASSMARK_USER") or getpass.getuser()
