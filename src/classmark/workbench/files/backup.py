"""Backup and restore of a project, as .zip or JSON lines.

``.zip``: the store, with people and tokens, the settings, the models and the ranker
of searches in service, and users' own vectors of meaning; of others, which are computed
again, only which they are;
``.jsonl``: all but people, tokens, models and vectors, as lines of text that any
program reads.
Its first line has the settings, each other one a row of a table, the last one how many
rows there were and a checksum, so that a file that was cut off or changed is not taken
for whole. An index is not kept: it is built again.
"""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
import tempfile
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import replace
from itertools import groupby
from math import isfinite
from pathlib import Path, PurePosixPath
from typing import IO, Any
from zipfile import ZIP_DEFLATED, BadZipFile, ZipFile

from classmark.formats.text_files import LIMITS, lines, replacing, writing
from classmark.language import _
from classmark.problems import DamagedFolder, UnreadableFile, refusal
from classmark.progress import track
from classmark.storage import sync_folder
from classmark.workbench.meaning import FOLDER as VECTORS
from classmark.workbench.meaning import parts_of_backup
from classmark.workbench.project import STORE, Project, create
from classmark.workbench.results import Cell, Table
from classmark.workbench.settings import FILE, StoreSettings, read_settings
from classmark.workbench.settings_file import settings_text
from classmark.workbench.store.log import as_json, require_replayed
from classmark.workbench.store.schema import VERSION, table_names
from classmark.workbench.store.sqlite import Embedded
from classmark.workbench.store.store import Store

PEOPLE = ("users", "tokens")
TABLES = tuple(name for name in table_names() if name not in PEOPLE)
NAMES = {"all_documents": "documents"}  # of tables, in a file of lines
IN_STORE = {name: table for table, name in NAMES.items()}
JSON_COLUMNS = {
    "fields", "meta", "links", "synonyms", "parents", "changes", "detail", "settings",
    "shown",
}  # fmt: skip
FORMAT = 1
WHAT = "classmark project"
Row = tuple[Any, ...]


def columns_of(store: Store, table: str) -> tuple[str, ...]:
    """The names of a table's columns."""
    cursor = store.run(f"SELECT * FROM {table} LIMIT 0")  # noqa: S608 (one of TABLES)
    return tuple(name for name, *_ in cursor.description)


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


def write_project(project: Project, file: IO[str]) -> int:
    """Write the project as it is at one moment; return how many rows."""
    store, settings = project.store, _settings_of_backup(project)
    head = {"what": WHAT, "version": FORMAT, "format": VERSION, "settings": settings}
    crc = _put(file, head, 0)
    count = 0
    with store.snapshot():
        for table in TABLES:
            names = columns_of(store, table)
            for row in track(rows_in(store, table), f"writing {table}"):
                values = zip(names, row, strict=True)
                line = {name: _to_json(name, value) for name, value in values}
                crc = _put(file, {"in": NAMES.get(table, table), **line}, crc)
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
            raise DamagedFolder(
                _("%(path)s is of a newer format: upgrade classmark", path=path)
            )
        return str(head["settings"])
    raise UnreadableFile(path, 1, _("not a backup of a project: choose one"))


def fill_from(store: Store, path: Path) -> None:
    """Put what a file holds into a store that has only its tables; all or nothing."""
    columns = {table: set(columns_of(store, table)) for table in TABLES}
    with store.transaction():
        rows = (
            _row_of(path, number, row, columns) for number, row in _checked_rows(path)
        )
        for (table, names), group in groupby(rows, key=lambda row: row[:2]):
            try:
                store.engine.fill(table, names, (values for *_, values in group))
            except sqlite3.IntegrityError as problem:
                raise UnreadableFile(
                    path,
                    None,
                    _(
                        "%(table)s: %(problem)s: the file was changed: download it "
                        "again",
                        table=table,
                        problem=problem,
                    ),
                ) from problem


def _put(file: IO[str], value: Mapping[str, Any], crc: int) -> int:
    text = as_json(value)
    file.write(text + "\n")
    return zlib.crc32(text.encode(), crc)


def _to_json(name: str, value: Any) -> Any:
    """A value as JSON has it; JSON in a column as itself, if it comes back the same."""
    if isinstance(value, float) and not isfinite(value):
        return {"number": repr(value)}
    if name in JSON_COLUMNS and isinstance(value, str):
        with suppress(ValueError):
            inside = json.loads(value)
            if not isinstance(inside, str) and as_json(inside) == value:
                return inside
    return value


def _from_json(name: str, value: Any) -> Any:
    """The value that ``_to_json`` wrote.

    >>> _from_json("score", _to_json("score", float("-inf")))
    -inf
    >>> _from_json("fields", _to_json("fields", '{"title":"Bees"}'))
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
        row = _object(path, number, text)
        if end:
            raise UnreadableFile(
                path, number, _("there is more after its end: download it again")
            )
        if "end" in row:
            end = row
            continue
        crc = zlib.crc32(text.encode(), crc)
        if number > 1:
            count += 1
            yield number, row
    if (end.get("end"), end.get("crc32")) != (count, crc):
        raise UnreadableFile(
            path, None, _("it is incomplete or was changed: download it again")
        )


def _row_of(
    path: Path, number: int, row: dict[str, Any], columns: Mapping[str, set[str]]
) -> tuple[str, tuple[str, ...], Row]:
    """The table, the names of its columns and the values of a line."""
    name = row.pop("in", None)
    table = IN_STORE.get(name, name)
    if table not in columns or not row.keys() <= columns[table]:
        raise UnreadableFile(
            path, number, _("not a row of %(table)r: download it again", table=table)
        )
    try:
        values = tuple(_from_json(name, value) for name, value in row.items())
    except (KeyError, TypeError, ValueError):
        values = (dict,)
    if not all(
        value is None or isinstance(value, str | int | float) for value in values
    ):
        raise UnreadableFile(path, number, _("a value is none: fetch the file again"))
    return str(table), tuple(row), values


def _object(path: Path, number: int, text: str) -> dict[str, Any]:
    try:
        row = json.loads(text)
    except ValueError as problem:
        raise UnreadableFile(
            path, number, _("not JSON (%(problem)s)", problem=problem)
        ) from problem
    if not isinstance(row, dict):
        raise UnreadableFile(path, number, _("not an object: fetch the file again"))
    return row


ENDINGS = (".zip", ".jsonl")
LINES = "store.jsonl"  # in a .zip of older versions, from a store on a server
OWNERS = 0o600  # only its owner reads a backup: people and their tokens are in it
FOLDERS = ("models", "live", "rankers", VECTORS)


def require_new(path: Path) -> None:
    """Refuse a file that is there: nothing is written over."""
    if path.exists():
        raise refusal(
            "%(path)s is already there: choose another name or remove it", path=path
        )


def back_up(project: Project, path: Path) -> Table:
    """Write a project, as it is at one moment, to a new file; others may go on."""
    require_new(path)
    if path.suffix not in ENDINGS:
        raise refusal(
            "%(path)s: end its name in %(endings)s",
            path=path,
            endings=" or ".join(ENDINGS),
        )
    if path.suffix == ".jsonl":
        with writing(path, OWNERS) as file:
            write_project(project, file)
        note = (
            "without people, tokens, models and vectors; classmark restore brings it "
            "back"
        )
    else:
        with replacing(path, OWNERS) as beside, _gathered(project) as folder:
            _pack(folder, beside)
        note = "with hashed passwords: keep it safe; classmark restore brings it back"
    with path.open("rb") as written:
        os.fsync(written.fileno())
    sync_folder(path.parent)
    row: dict[str, Cell] = {"file": str(path), "bytes": path.stat().st_size}
    return Table("Backup", [row], note)


def restore(path: Path, folder: Path, store: StoreSettings | None = None) -> Table:
    """Make a new project directory of a backup. store : where its store is to be."""
    if not path.is_file():
        raise refusal(
            "%(path)s is not there: give a file of classmark backup", path=path
        )
    note = "an index is built again with classmark index"
    with tempfile.TemporaryDirectory() as temporary:
        beside = Path(temporary)
        rows = path
        if path.suffix == ".zip":
            _unpack(path, beside)
            rows = beside / LINES
        else:
            (beside / FILE).write_text(settings_in(path), encoding="utf-8")

        def fill(target: Store, place: Path) -> None:
            if rows.exists():
                fill_from(target, rows)
            else:
                with Store(beside / STORE) as source:
                    copy_rows(source, target)
            for name in FOLDERS:
                if (beside / name).is_dir():
                    shutil.copytree(beside / name, place / name, dirs_exist_ok=True)
                    sync_folder(place / name)
            require_replayed(target)

        if rows.exists():
            note = f"without people and tokens: add them with classmark users; {note}"
        settings = replace(read_settings(beside), store=store or StoreSettings())
        settings_file = (beside / FILE).read_text(encoding="utf-8")
        create(folder, settings, fill, settings_file)
    with Project(folder) as project:
        counts = project.store.counts()
    return Table(f"Restored {folder}", [dict(counts)], note)


@contextmanager
def _gathered(project: Project) -> Iterator[Path]:
    """A folder with the parts of a backup.

    The models come first, so that none has learned what the store does not have yet.
    """
    with tempfile.TemporaryDirectory(dir=project.folder, prefix=".backup-") as name:
        folder = Path(name)
        store = project.store  # while nobody writes, nobody drops a model
        with nullcontext() if project.is_archived else store.transaction():
            for generations in (project.models, project.lives, project.rankers):
                place = folder / generations.folder.name
                if (current := generations.current()) is not None:
                    shutil.copytree(current, place / current.name, copy_function=_link)
                    (place / "CURRENT").write_text(f"{current.name}\n", "utf-8")
        for place in parts_of_backup(project):
            beside = folder / VECTORS / place.relative_to(project.folder / VECTORS)
            shutil.copytree(place, beside, copy_function=_link)
        settings = _settings_of_backup(project)
        (folder / FILE).write_text(settings, encoding="utf-8")
        engine = project.store.engine
        if isinstance(engine, Embedded):
            engine.copy_to(folder / STORE)
        else:
            with Store(folder / STORE, create=True) as copy:
                copy_rows(project.store, copy)
        yield folder


def _settings_of_backup(project: Project) -> str:
    """The settings file without the place of the store."""
    settings = replace(project.settings, store=StoreSettings())
    return settings_text(settings, (project.folder / FILE).read_text(encoding="utf-8"))


def _link(source: str, target: str) -> None:
    """Have a file, which nobody ever changes, under one more name.

    Vectors are appended; their keys are packed first, so that none lacks its vector.
    """
    try:
        os.link(source, target)
    except OSError:  # a file system without links
        shutil.copy2(source, target)


def _pack(folder: Path, path: Path) -> None:
    files = sorted(file for file in folder.rglob("*") if file.is_file())
    with ZipFile(
        path, "w", ZIP_DEFLATED, compresslevel=1, strict_timestamps=False
    ) as archive:
        for file in track(files, f"writing {path}"):
            archive.write(file, file.relative_to(folder).as_posix())


def _unpack(path: Path, folder: Path) -> None:
    """Take out what belongs to a backup; every byte is checked by its checksum."""
    try:
        with ZipFile(path) as packed:
            size = sum(info.file_size for info in packed.infolist())
            if size > (1 << 20) + LIMITS.ratio * path.stat().st_size:
                raise UnreadableFile(
                    path,
                    None,
                    _("it would become too large when unpacked: choose another"),
                )
            for name in track(packed.namelist(), f"reading {path}"):
                if not _belongs(PurePosixPath(name)):
                    raise UnreadableFile(
                        path,
                        None,
                        _(
                            "%(name)r is not part of a backup: choose another file",
                            name=name,
                        ),
                    )
                packed.extract(name, folder)
    except (BadZipFile, zlib.error, EOFError, NotImplementedError) as problem:
        raise UnreadableFile(
            path, None, _("damaged (%(problem)s): take another backup", problem=problem)
        ) from problem
    if not (folder / FILE).exists():
        raise UnreadableFile(path, None, _("not a backup of a project: choose one"))


def _belongs(name: PurePosixPath) -> bool:
    """Whether a name is one that a backup has.

    >>> _belongs(PurePosixPath("models/000001/W.npy"))
    True
    >>> _belongs(PurePosixPath("models/../../x"))
    False
    """
    if str(name) in {FILE, STORE, LINES}:
        return True
    return name.parts[0] in FOLDERS and ".." not in name.parts
