"""Documents are indexed on many machines, as one machine indexes them: bit for bit.

Each worker inverts some of the documents; what they made is merged to one segment, or
to as many as are wanted. Finished parts stay in a working folder in the index, named by
what is indexed and how, until the index is in service: who is interrupted and begins
again goes on.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from hashlib import blake2b
from pathlib import Path
from typing import Any, Protocol

from classmark import __version__
from classmark.index.building import Setup
from classmark.index.filling import fill_index
from classmark.index.ids import TwinIds
from classmark.index.segments import Segment
from classmark.index.sharding import require_shards, shard_pieces
from classmark.index.snapshots import PARTS, Snapshot, new_segment
from classmark.machines.cluster import Machines
from classmark.machines.partitions import place_of
from classmark.machines.parts import (
    SEGMENT,
    Built,
    Digest,
    Job,
    Merge,
    Notes,
    Read,
    Task,
    build_part,
    check_ids,
    count_part,
    merge_part,
    write_whole,
)
from classmark.problems import Mistake, UnreadableFile
from classmark.progress import track

#: Bytes of text in a part: at least, at most; and how many parts there are at most.
SMALLEST, LARGEST, MOST = 1 << 20, 256 << 20, 512
#: Bytes of a worker that has done nothing yet, and the least that a build may have.
IDLE, LEAST = 192 << 20, 32 << 20
SIZE, SAID = "size.json", "said.json"


class Inputs(Protocol):
    """What is to be indexed; it can be cut into sources of about so many bytes.

    fingerprint : another as soon as the documents, or where they are cut, may be.
    """

    @property
    def total(self) -> int:
        """Bytes of all."""

    @property
    def fingerprint(self) -> str:
        """Its mark."""

    def cut(self, size: int) -> Sequence[Sequence[Any]]:
        """Return the sources of each part, in order."""


def memory_for(memory: int, limit: int) -> int:
    """Return what a build may take on a worker.

    memory : what it may take anywhere;  limit : of the worker, 0 if it has none. Half
    of what the limit leaves beside an idle worker: Dask stops workers well below it.

    >>> memory_for(512_000_000, 0), memory_for(512_000_000, 600_000_000)
    (512000000, 199336704)
    """
    if not limit:
        return memory
    return min(memory, max((limit - IDLE) // 2, LEAST))


def part_size(total: int, workers: int, memory: int) -> int:
    """Return how many bytes of text a part is to have.

    256 MB; fewer where there would be less than four parts for a worker, or where the
    worker has not the memory; more where there would be more than 512 parts.
    """
    share = -(-total // (4 * max(workers, 1)))
    return max(min(max(share, SMALLEST), LARGEST, memory), -(-total // MOST))


@dataclass
class Building:
    """An index in the making on machines.

    read, digest : as in ``Job``;  digests : of each document, in order, once built.
    """

    machines: Machines
    to: Path
    inputs: Inputs
    setup: Setup
    read: Read
    digest: Digest | None = None
    digests: dict[str, int] = field(default_factory=dict, init=False)

    def build(
        self, shards: int | None = None, said: Mapping[str, str] | None = None
    ) -> Snapshot:
        """Build it, and put it in service; ``shards`` segments, or one.

        said : what links say of documents; None: it is found in their records.
        """
        wanted = require_shards(shards)
        to = self.to.absolute()

        def fill() -> list[Segment]:
            self.machines.require_folder(to)
            self.job.folder.mkdir(exist_ok=True)
            _tidy(self.job.folder)
            built = self._built() if said is None else self._parts("plain", said)
            for folder, _ in built:
                self.digests |= Notes.read(folder).digests
            return self._placed(self._merged(built, wanted), to)

        return fill_index(to, self.setup, fill, self.job.folder.name)

    @cached_property
    def job(self) -> Job:
        """What the tasks share."""
        setup, to = self.setup, self.to.absolute()
        facts = [str(setup.analyzer), setup.fields, setup.positions]
        text = json.dumps([__version__, self.inputs.fingerprint, *facts])
        name = blake2b(text.encode(), digest_size=12).hexdigest()
        memory = memory_for(setup.memory, self.machines.memory)
        here = replace(setup, memory=memory)
        return Job(to / f"{PARTS}{name}", here, self.read, self.digest)

    @cached_property
    def _sources(self) -> Sequence[Sequence[Any]]:
        """What the parts are made of: cut as before, where some are there."""
        file = self.job.folder / SIZE
        if file.exists():
            return self.inputs.cut(int(json.loads(file.read_text(encoding="utf-8"))))
        workers, memory = self.machines.workers, self.job.setup.memory
        size = part_size(self.inputs.total, workers, memory)
        write_whole(file, json.dumps(size))
        return self.inputs.cut(size)

    def _built(self) -> list[tuple[Path, Built]]:
        """Build all parts; where links say something, once more with that."""
        file = self.job.folder / SAID
        if not file.exists():
            found = self._parts("plain", {})
            said = _joined(Notes.read(folder) for folder, _ in found)
            if not said:
                return found
            write_whole(file, json.dumps(said))
            for folder, _ in found:
                shutil.rmtree(folder)
        return self._parts("said", json.loads(file.read_text(encoding="utf-8")))

    def _parts(self, name: str, said: Mapping[str, str]) -> list[tuple[Path, Built]]:
        tasks = [
            Task(number, f"{name}-{number:06d}", sources)
            for number, sources in enumerate(self._sources)
        ]
        try:
            found = dict(self._spread(build_part, tasks, [self.job, said]))
        except TwinIds as problem:
            counted = self._spread(count_part, tasks[: problem.part], [self.job])
            raise _twins(problem, sum(n for _, n in counted)) from problem
        return [(self.job.folder / t.name, found[t.number]) for t in tasks]

    def _merged(self, built: list[tuple[Path, Built]], shards: int) -> list[Path]:
        """Merge the parts to the segments that are wanted."""
        full = [(at / SEGMENT, one.documents) for at, one in built if one.documents]
        if len(full) <= 1 == shards or not full:
            return [folder for folder, _ in full]
        fields = list(dict.fromkeys(f for _, one in built for f in one.fields))
        marks = "".join(one.mark for _, one in built)
        mark = blake2b(marks.encode(), digest_size=8).hexdigest()
        tasks = [
            Merge(f"shard-{mark}-{shards:06d}-{number:06d}", pieces, fields)
            for number, pieces in enumerate(shard_pieces(full, shards))
        ]
        try:
            if shards > 1:
                list(self._spread(check_ids, [[folder for folder, _ in full]], []))
            for _ in self._spread(merge_part, tasks, [self.job]):
                pass
        except TwinIds as problem:
            raise self._twin(problem, [one.documents for _, one in built]) from problem
        return [self.job.folder / task.name for task in tasks]

    def _spread(
        self, work: Any, tasks: Sequence[Any], shared: Sequence[Any]
    ) -> Iterator[tuple[int, Any]]:
        done = self.machines.spread(work, tasks, shared)
        return iter(track(done, "parts of the index", len(tasks)))

    def _placed(self, folders: Sequence[Path], to: Path) -> list[Segment]:
        found = []
        for folder in folders:
            segment = Segment(folder)
            segment.move(new_segment(to))
            found.append(segment)
        return found

    def _twin(self, problem: TwinIds, sizes: list[int]) -> Mistake:
        """Say where the second document with an id is, as who reads its file does."""
        first, second = (
            self._place(number, sizes) for number in (problem.before, problem.number)
        )
        if first is None or second is None or first[0] != second[0]:
            return problem
        told = f"id {problem.name!r} is there a second time: make ids unique"
        return UnreadableFile(*second, told)

    def _place(self, number: int, sizes: list[int]) -> tuple[str, int | None] | None:
        """Return the file of a document, and its line; None: it is of no file."""
        for sources, size in zip(self._sources, sizes, strict=True):
            if number < size:
                return place_of(sources, number)
            number -= size
        raise IndexError(number)


def _joined(notes: Iterable[Notes]) -> dict[str, str]:
    """Join what the links of all parts say."""
    said: dict[str, list[str]] = {}
    for each in notes:
        for target, words in each.said.items():
            said.setdefault(target, []).append(words)
    return {target: "\n".join(words) for target, words in said.items()}


def _twins(problem: TwinIds, before: int) -> TwinIds:
    return TwinIds(problem.name, problem.before + before, problem.number + before)


def _tidy(folder: Path) -> None:
    """Remove what lost workers left unfinished."""
    for left in folder.glob(".*.writing"):
        if left.is_dir():
            shutil.rmtree(left, ignore_errors=True)
        else:
            left.unlink(missing_ok=True)
