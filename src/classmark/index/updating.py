"""Documents are added, replaced and deleted; a commit makes it so for all readers.

New documents become a new segment, deleted ones are only marked. So that segments do
not pile up, they are merged: let the level of a segment be ⌊log₈ documents⌋; when the
newest eight segments or more are all of a level or below, they become one. A document
is so written again once for each power of eight, and there are at most seven segments
of each level [ONeil96]. A segment of which half the documents are deleted is written
again without them. A commit does so, or a thread (``classmark.index.background``), or
nobody until all is merged on demand.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from classmark.index.building import Setup, build_segment
from classmark.index.documents import Entry
from classmark.index.merging import Part, merge_segments
from classmark.index.segments import Segment
from classmark.index.snapshots import Lock, Snapshot, commit, new_segment, open_snapshot
from classmark.problems import Mistake
from classmark.storage import Generations
from classmark.text.analysis import Analyzer

FANOUT = 8
#: Texts wait in memory until they take this share of what there is.
SHARE = 4


@dataclass
class Changes:
    """What is to be committed: segments, marks, and documents not yet in a segment.

    memory : bytes that may be used;  base : the generation that is changed; where
    another process has moved on since, that of the process.
    """

    path: Path
    memory: int
    base: Snapshot
    parts: list[Part] = field(default_factory=list)
    waiting: dict[str, Entry] = field(default_factory=dict)
    size: int = 0

    def __post_init__(self) -> None:
        self._lock = Lock(self.path)
        try:
            if open_number(self.path) != self.base.number:
                self.base = open_snapshot(self.path)
            self.setup = setup_of(self.base, self.memory)
        except BaseException:
            self._lock.free()
            raise
        self.parts = list(self.base.parts)

    def add(self, stream: Iterable[Entry]) -> None:
        """Take new documents in; refuse an id that is there."""
        for entry in stream:
            if entry.id in self.waiting or self._find(entry.id) is not None:
                raise Mistake(
                    f"document {entry.id!r} is already there: replace it, or delete it "
                    "first (documents given before it are added)"
                )
            self._wait(entry)

    def replace(self, stream: Iterable[Entry]) -> None:
        """Take documents in, instead of those with the same ids, if there are any."""
        for entry in stream:
            self._remove(entry.id)
            self._wait(entry)

    def delete(self, ids: Iterable[str]) -> None:
        """Delete documents; an unknown id is refused before anything is done."""
        wanted = list(dict.fromkeys(ids))
        for name in wanted:
            if name not in self.waiting and self._find(name) is None:
                raise Mistake(f"document {name!r} is not there: nothing was deleted")
        for name in wanted:
            self._remove(name)

    def merge(self) -> None:
        """Make one segment of all."""
        self._flush()
        if len(self.parts) > 1 or any(p.alive is not None for p in self.parts):
            self._merge(slice(0, len(self.parts)))

    def commit(
        self, tidy: Callable[[list[Part]], list[Part]] | None = None
    ) -> Snapshot:
        """Write everything, put it in service, and let others change the index.

        tidy : what becomes of the segments; None: they are merged as the policy says.
        """
        self._flush()
        if tidy is not None:
            self.parts = tidy(self.parts)
        self.parts = [part for part in self.parts if part.kept()]
        while tidy is None and (found := to_merge(self.parts)) is not None:
            self._merge(found)
        snapshot = commit(self.path, self.parts, self.base.settings)
        self.discard()
        return snapshot

    def discard(self) -> None:
        """Forget what was not committed."""
        self.parts, self.waiting, self.size = [], {}, 0
        self._lock.free()

    def _wait(self, entry: Entry) -> None:
        self.waiting[entry.id] = entry
        self.size += entry.size() + 256
        if self.size > self.setup.memory // SHARE:
            self._flush()

    def _find(self, name: str) -> tuple[int, int] | None:
        """Return the segment and the number in it of a document that is alive."""
        for at, (segment, alive) in enumerate(self.parts):
            number = segment.ids.find(name)
            if number is not None and (alive is None or alive[number]):
                return at, number
        return None

    def _remove(self, name: str) -> None:
        """Delete a document if it is there."""
        if self.waiting.pop(name, None) is not None:
            return
        found = self._find(name)
        if found is None:
            return
        at, number = found
        segment, alive = self.parts[at]
        if alive is None:
            alive = np.ones(segment.n_items, np.bool_)
        elif any(alive is part.alive for part in self.base.parts):
            alive = alive.copy()  # readers keep theirs
        alive[number] = False
        self.parts[at] = Part(segment, alive)

    def _flush(self) -> None:
        """Make a segment of the waiting documents."""
        if not self.waiting:
            return
        entries = iter(list(self.waiting.values()))
        self.waiting, self.size = {}, 0
        segment = build_segment(entries, self.setup, lambda: new_segment(self.path))
        self.parts.append(Part(segment, None))

    def _merge(self, which: slice) -> None:
        """Replace some neighbouring segments by one."""
        folder = new_segment(self.path)
        merge_segments(
            self.parts[which],
            folder,
            positions=self.setup.positions,
            memory=self.setup.memory // 4,
        )
        self.parts[which] = [Part(Segment(folder), None)]


def setup_of(snapshot: Snapshot, memory: int) -> Setup:
    """Return how the documents of a generation were indexed."""
    settings = snapshot.settings
    analyzer = Analyzer.parse(settings["analyzer"])
    return Setup(analyzer, settings["fields"], settings["positions"], memory)


def to_merge(parts: Sequence[Part]) -> slice | None:
    """Say which neighbours are to become one next; None: all is in order."""
    for at, part in enumerate(parts):
        if 2 * part.kept() <= part.segment.n_items:
            return slice(at, at + 1)
    many = newest_to_merge([part.kept() for part in parts])
    return slice(len(parts) - many, len(parts)) if many else None


def newest_to_merge(sizes: list[int]) -> int:
    """Say how many of the newest segments are to become one; 0: none.

    >>> newest_to_merge([500, 9, 3, 2, 2, 1, 1, 1, 1, 1])
    8
    >>> newest_to_merge([500, 9, 3, 2, 2, 1])
    0
    """
    levels = [(max(size, 1).bit_length() - 1) // 3 for size in sizes]
    for level in sorted(set(levels)):
        run = 0
        while run < len(levels) and levels[-1 - run] <= level:
            run += 1
        if run >= FANOUT:
            return run
    return 0


def open_number(path: Path) -> int:
    """Return the number of the generation in service, 0 before the first."""
    current = Generations(path).current()
    return 0 if current is None else int(current.name)
