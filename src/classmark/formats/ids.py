"""Has this id been seen: one set of ids per file, and a clear refusal."""

from __future__ import annotations

from classmark.problems import UnreadableFile


class Ids:
    """The ids of one collection, each allowed once.

    >>> ids = Ids()
    >>> ids.new("a", "notes.jsonl", 1)
    'a'
    """

    def __init__(self) -> None:
        self.seen: set[str] = set()

    def new(self, name: str, path: str, line: int | None) -> str:
        """Return the id, or raise when it is empty or was there before."""
        if not name or name.isspace():
            raise UnreadableFile(path, line, "an empty id: give every document one")
        if name in self.seen:
            raise UnreadableFile(
                path, line, f"id {name!r} is there a second time: make ids unique"
            )
        self.seen.add(name)
        return name
