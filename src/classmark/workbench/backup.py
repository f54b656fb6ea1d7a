"""Keep a copy of a project in one file, taken while others work, and bring it back.

``.zip``: the store, with people and tokens, the settings and the models in service;
``.jsonl``: all but people, tokens and models, as lines of text that any program reads.
An index is not kept: it is built again.
"""

from __future__ import annotations

import os
import shutil
import tempfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path, PurePosixPath
from zipfile import ZIP_DEFLATED, BadZipFile, ZipFile

from classmark.formats.text_files import LIMITS, replacing, writing
from classmark.problems import Mistake, UnreadableFile
from classmark.progress import track
from classmark.storage import Generations, sync_folder
from classmark.workbench.embedded import Embedded
from classmark.workbench.project import STORE, Project, create
from classmark.workbench.replaying import require_replayed
from classmark.workbench.settings import (
    FILE,
    StoreSettings,
    read_settings,
    settings_text,
)
from classmark.workbench.store import Store
from classmark.workbench.views import Cell, Table
from classmark.workbench.whole import copy_rows, fill_from, settings_in, write_whole

ENDINGS = (".zip", ".jsonl")
LINES = "store.jsonl"
GENERATIONS = ("models", "live")


def back_up(project: Project, path: Path) -> Table:
    """Write a project, as it is at one moment, to a new file; others may go on."""
    if path.exists():
        raise Mistake(f"{path} is already there: choose another name or remove it")
    if path.suffix not in ENDINGS:
        raise Mistake(f"{path}: end its name in {' or '.join(ENDINGS)}")
    if path.suffix == ".jsonl":
        with writing(path) as file:
            write_whole(project.store, project.settings, file)
        note = "without people, tokens and models; classmark restore brings it back"
    else:
        with replacing(path) as beside, _gathered(project) as folder:
            _pack(folder, beside)
        note = "with hashed passwords: keep it safe; classmark restore brings it back"
    _sync(path)
    row: dict[str, Cell] = {"file": str(path), "bytes": path.stat().st_size}
    return Table("Backup", [row], note)


def restore(path: Path, folder: Path, store: StoreSettings | None = None) -> Table:
    """Make a new project directory of a backup. store : where its store is to be."""
    if not path.is_file():
        raise Mistake(f"{path} is not there: give a file of classmark backup")
    with tempfile.TemporaryDirectory() as temporary:
        beside = Path(temporary)
        if path.suffix == ".zip":
            _unpack(path, beside)
            fill = _from_folder(beside)
        else:
            (beside / FILE).write_text(settings_in(path), encoding="utf-8")

            def fill(target: Store, _: Path) -> None:
                fill_from(target, path)

        settings = replace(read_settings(beside), store=store or StoreSettings())
        create(folder, settings, _checking(fill))
    with Project(folder) as project:
        counts = project.store.counts()
    note = "an index is built again with classmark index"
    return Table(f"Restored {folder}", [dict(counts)], note)


def _checking(fill: Callable[[Store, Path], None]) -> Callable[[Store, Path], None]:
    def filled(store: Store, folder: Path) -> None:
        fill(store, folder)
        require_replayed(store)

    return filled


def _from_folder(folder: Path) -> Callable[[Store, Path], None]:
    """What fills a store from an unpacked backup, and brings its models."""

    def fill(target: Store, place: Path) -> None:
        if (folder / LINES).exists():
            fill_from(target, folder / LINES)
        else:
            with Store(folder / STORE) as source:
                copy_rows(source, target)
        for name in GENERATIONS:
            if (folder / name).is_dir():
                shutil.copytree(folder / name, place / name, dirs_exist_ok=True)
                sync_folder(place / name)

    return fill


@contextmanager
def _gathered(project: Project) -> Iterator[Path]:
    """A folder with the parts of a backup.

    The models come first, so that none has learned what the store does not have yet.
    """
    with tempfile.TemporaryDirectory(dir=project.folder, prefix=".backup-") as name:
        folder = Path(name)
        with project.store.transaction():  # nobody drops a model meanwhile
            for which in (project.models, project.lives):
                _link_current(which, folder / which.folder.name)
        settings = replace(project.settings, store=StoreSettings())
        (folder / FILE).write_text(settings_text(settings), encoding="utf-8")
        engine = project.store.engine
        if isinstance(engine, Embedded):
            engine.copy_to(folder / STORE)
        else:
            with writing(folder / LINES) as file:
                write_whole(project.store, project.settings, file)
        yield folder


def _link_current(which: Generations, place: Path) -> None:
    current = which.current()
    if current is not None:
        shutil.copytree(current, place / current.name, copy_function=_link)
        (place / "CURRENT").write_text(f"{current.name}\n", encoding="utf-8")


def _link(source: str, target: str) -> None:
    """Have a file, which nobody ever changes, under one more name."""
    try:
        os.link(source, target)
    except OSError:  # a file system without links
        shutil.copy2(source, target)


def _sync(path: Path) -> None:
    with path.open("rb") as file:
        os.fsync(file.fileno())
    sync_folder(path.parent)


def _pack(folder: Path, path: Path) -> None:
    files = sorted(found for found in folder.rglob("*") if found.is_file())
    with ZipFile(
        path, "w", ZIP_DEFLATED, compresslevel=1, strict_timestamps=False
    ) as z:
        for file in track(files, f"writing {path}"):
            z.write(file, file.relative_to(folder).as_posix())


def _unpack(path: Path, folder: Path) -> None:
    """Take out what belongs to a backup; every byte is checked by its checksum."""
    try:
        with ZipFile(path) as packed:
            size = sum(info.file_size for info in packed.infolist())
            if size > (1 << 20) + LIMITS.ratio * path.stat().st_size:
                raise UnreadableFile(path, None, "it would grow too far: give another")
            for name in track(packed.namelist(), f"reading {path}"):
                if not _belongs(PurePosixPath(name)):
                    raise UnreadableFile(
                        path, None, f"{name!r} is no part of a backup: give one"
                    )
                packed.extract(name, folder)
    except (BadZipFile, zlib.error, EOFError, NotImplementedError) as problem:
        raise UnreadableFile(
            path, None, f"damaged ({problem}): take another backup"
        ) from problem
    if not (folder / FILE).exists():
        raise UnreadableFile(path, None, "no backup of a project: give one")


def _belongs(name: PurePosixPath) -> bool:
    """Whether a name is one that a backup has.

    >>> _belongs(PurePosixPath("models/000001/W.npy"))
    True
    >>> _belongs(PurePosixPath("models/../../x"))
    False
    """
    if str(name) in {FILE, STORE, LINES}:
        return True
    return name.parts[:1] in {(one,) for one in GENERATIONS} and ".." not in name.parts
