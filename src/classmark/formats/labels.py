"""Files of names: one label, or one feature, a line."""

from __future__ import annotations

from typing import TYPE_CHECKING

from classmark.formats.text_files import lines, writing
from classmark.problems import Mistake, UnreadableFile

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path


def read_names(path: Path | str, *, encoding: str = "utf-8") -> list[str]:
    """Read names, the first line naming number 0; empty lines at the end are no names.

    Raises ``UnreadableFile`` for an empty line between names and for a name met twice.
    """
    names: dict[str, int] = {}
    empty = 0
    for number, line in lines(path, encoding):
        name = line.strip()
        if not name:
            empty = empty or number
            continue
        if empty:
            raise UnreadableFile(path, empty, "no name on this line: remove or fill it")
        if name in names:
            raise UnreadableFile(
                path, number, f"{name!r} is already on line {names[name]}: rename one"
            )
        names[name] = number
    return list(names)


def write_names(names: Iterable[str], path: Path | str) -> None:
    """Write one name a line."""
    listed = list(names)
    for at, name in enumerate(listed):
        if not name or name != name.strip() or "\n" in name or "\r" in name:
            raise Mistake(
                f"names, number {at}: {name!r} is empty, has a line break or blanks "
                "around it"
            )
    if len(set(listed)) < len(listed):
        twice = next(name for name in listed if listed.count(name) > 1)
        raise Mistake(f"names: {twice!r} is there twice: names must differ")
    with writing(path) as out:
        out.writelines(f"{name}\n" for name in listed)
