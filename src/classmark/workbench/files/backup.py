"""Backup and restore of a project, as .zip or JSON lines.

The first line has the settings, each other one a row of a table, the last one how many
rows there were and a checksum, so that a file that was cut off or changed is not taken
for whole. People and their tokens are left out.

``.zip``: the store, with people and tokens, the settings and the models in service;
``.jsonl``: all but people, tokens and models, as lines of text that any program reads.
An index is not kept: it is built again.
"""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
import tempfile
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from itertools import groupby
from math import isfinite
from pathlib import Path, PurePosixPath
from typing import IO, TYPE_CHECKING, Any
from zipfile import ZIP_DEFLATED, BadZipFile, ZipFile

from classmark.formats.text_files import LIMITS, lines, replacing, writing
from classmark.problems import DamagedFolder, Mistake, UnreadableFile
from classmark.progress import track
from classmark.storage import Generations, sync_folder
from classmark.workbench.project import STORE, Project, create
from classmark.workbench.results import Cell, Table
from classmark.workbench.settings import (
    FILE,
    StoreSettings,
    read_settings,
    settings_text,
)
from classmark.workbench.store.database import Embedded
from classmark.workbench.store.log import as_json
from classmark.workbench.store.replay import require_replayed
from classmark.workbench.store.schema import VERSION
from classmark.workbench.store.store import Store

if TYPE_CHECKING:
    from classmark.workbench.settings import Settings


TABLES = (
    "documents", "categories", "judgments", "undone", "lessons", "events", "searches",
    "marks", "impressions", "clicks",
)  # fmt: skip
PEOPLE = ("users", "tokens")
JSON_COLUMNS = {
    "fields", "meta", "links", "synonyms", "parents", "changes", "detail", "settings",
    "shown",
}  # fmt: skip
FORMAT = 1
WHAT = "classmark project"
Row = tuple[Any, ...]


def columns_of(store: Store, table: str) -> tuple[str, ...]:
    """The names of a table's columns."""
    found = store.run(f"SELECT * FROM {table} LIMIT 0")  # noqa: S608 (one of TABLES)
    return tuple(name for name, *_ in found.description)


def rows_in(store: Store, table: str) -> Iterator[Row]:
    """The rows of a table, by number; within a snapshot, all of one moment."""
    first = columns_of(store, table)[0]
    yield from store.engine.stream(f"SELECT * FROM {table} ORDER BY {first}")  # noqa: S608 (one of TABLES)


def copy_rows(source: Store, target: Store) -> None:
    """Copy everything, people too, into a store that has only its tables."""
    with source.snapshot(), target.transaction():
        for table in (*TABLES, *PEOPLE):
            rows = track(rows_in(source, table), f"copying {table}")
            target.engine.fill(table, columns_of(source, table), rows)


def write_whole(store: Store, settings: Settings, file: IO[str]) -> int:
    """Write the project as it is at one moment; return how many rows."""
    said = settings_text(replace(settings, store=StoreSettings()))
    head = {"what": WHAT, "version": FORMAT, "format": VERSION, "settings": said}
    crc = _put(file, head, 0)
    count = 0
    with store.snapshot():
        for table in TABLES:
            names = columns_of(store, table)
            for row in track(rows_in(store, table), f"writing {table}"):
                values = zip(names, row, strict=True)
                told = {name: _told(name, value) for name, value in values}
                crc = _put(file, {"in": table, **told}, crc)
                count += 1
    _put(file, {"end": count, "crc32": crc}, 0)
    return count


def settings_in(path: Path) -> str:
    """The settings that a file has in its first line."""
    for number, text in lines(path):
        head = _object(path, number, text)
        if head.get("what") != WHAT or not isinstance(head.get("settings"), str):
            break
        if max(head.get("version", 0) - FORMAT, head.get("format", 0) - VERSION) > 0:
            raise DamagedFolder(f"{path} is of a newer format: upgrade classmark")
        return str(head["settings"])
    raise UnreadableFile(
        path, 1, "not a project written by classmark backup: give such a file"
    )


def fill_from(store: Store, path: Path) -> None:
    """Put what a file holds into a store that has only its tables; all or nothing."""
    known = {table: set(columns_of(store, table)) for table in TABLES}
    with store.transaction():
        named = (
            _placed(path, number, row, known) for number, row in _checked_rows(path)
        )
        for (table, names), group in groupby(named, key=lambda found: found[:2]):
            try:
                store.engine.fill(table, names, (values for *_, values in group))
            except sqlite3.IntegrityError as problem:
                raise UnreadableFile(
                    path, None, f"{table}: {problem}: it was changed: fetch it again"
                ) from problem


def _put(file: IO[str], value: Mapping[str, Any], crc: int) -> int:
    text = as_json(value)
    file.write(text + "\n")
    return zlib.crc32(text.encode(), crc)


def _told(name: str, value: Any) -> Any:
    """A value as JSON has it; JSON in a column as itself, if it comes back the same."""
    if isinstance(value, float) and not isfinite(value):
        return {"number": repr(value)}
    if name in JSON_COLUMNS and isinstance(value, str):
        try:
            inside = json.loads(value)
            if not isinstance(inside, str) and as_json(inside) == value:
                return inside
        except ValueError:
            return value
    return value


def _meant(name: str, value: Any) -> Any:
    """The value that was told.

    >>> _meant("score", _told("score", float("-inf")))
    -inf
    >>> _meant("fields", _told("fields", '{"title":"Bees"}'))
    '{"title":"Bees"}'
    """
    if name in JSON_COLUMNS and value is not None and not isinstance(value, str):
        return as_json(value)
    return float(value["number"]) if isinstance(value, dict) else value


def _checked_rows(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """The rows between the first and the last line, if the last one agrees."""
    crc = count = 0
    end: dict[str, Any] = {}
    for number, text in track(lines(path), f"reading {path}"):
        found = _object(path, number, text)
        if end:
            raise UnreadableFile(path, number, "more after the end: fetch it again")
        if "end" in found:
            end = found
            continue
        crc = zlib.crc32(text.encode(), crc)
        if number > 1:
            count += 1
            yield number, found
    if (end.get("end"), end.get("crc32")) != (count, crc):
        raise UnreadableFile(
            path, None, "it is not whole, or was changed: fetch it again"
        )


def _placed(
    path: Path, number: int, row: dict[str, Any], known: Mapping[str, set[str]]
) -> tuple[str, tuple[str, ...], Row]:
    table = row.pop("in", None)
    if table not in known or not row.keys() <= known[table]:
        raise UnreadableFile(path, number, f"no row of {table!r}: fetch it again")
    try:
        values = tuple(_meant(name, value) for name, value in row.items())
    except (KeyError, TypeError, ValueError):
        values = (dict,)
    if not all(
        value is None or isinstance(value, str | int | float) for value in values
    ):
        raise UnreadableFile(path, number, "a value is none: fetch the file again")
    return str(table), tuple(row), values


def _object(path: Path, number: int, text: str) -> dict[str, Any]:
    try:
        found = json.loads(text)
    except ValueError as problem:
        raise UnreadableFile(path, number, f"not JSON ({problem})") from problem
    if not isinstance(found, dict):
        raise UnreadableFile(path, number, "not an object: fetch the file again")
    return found


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
