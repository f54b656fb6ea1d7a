"""Documents are indexed on many machines, as one machine indexes them: bit for bit.

A part is a folder in a working folder, with a segment and notes. It is there whole or
not at all, and one that is there is not made again; whoever makes the same at the same
time comes too late.

Each worker inverts some of the documents; what they made is merged to one segment, or
to as many as are wanted. Finished parts stay in a working folder in the index, named by
what is indexed and how, until the index is in service: who is interrupted and begins
again goes on.
"""

from __future__ import annotations

import json
import shutil
from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from hashlib import blake2b
from itertools import accumulate
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from classmark import __version__
from classmark.corpus.documents import Document
from classmark.formats.records import Record
from classmark.index.build import (
    SegmentRange,
    Setup,
    build_segment,
    entries,
    merge_pieces,
    refuse_twins,
    require_shards,
    shard_pieces,
)
from classmark.index.index import fill_index
from classmark.index.segment import Segment, TwinIds
from classmark.index.snapshot import PARTS, Snapshot, new_segment
from classmark.links.pagerank import anchors
from classmark.machines.cluster import Machines
from classmark.machines.files import place_of
from classmark.problems import Mistake, UnreadableFile
from classmark.progress import track
from classmark.storage import (
    MANIFEST,
    is_intact,
    remove_unfinished,
    write_whole,
    written_beside,
)

SEGMENT, NOTES = "segment", "notes.json"
Read = Callable[[Any, Mapping[str, str]], Iterator[Record]]
Digest = Callable[[Document], int]


class IndexingJob(NamedTuple):
    """What all parts share: the working folder, how to index, how to read a source.

    read : yields the records of a source, with the anchor texts of links to them;
    digest : a checksum of a document, stored to see whether it has changed.
    """

    folder: Path
    setup: Setup
    read: Read
    digest: Digest | None = None


class PartTask(NamedTuple):
    """A part to be built: its number, its name, and the sources of its documents."""

    number: int
    name: str
    sources: Sequence[Any]


class Built(NamedTuple):
    """Facts of a built part; mark : a digest that changes with any byte of it."""

    documents: int
    fields: tuple[str, ...]
    mark: str


def notes_of(folder: Path) -> dict[str, dict[str, Any]]:
    """Facts of a part's documents that are not in their index.

    said : target → the anchor texts of their links to it;  digests : document id →
    digest, where the job has a ``digest`` function.
    """
    return dict(json.loads((folder / NOTES).read_text(encoding="utf-8")))


def build_part(
    task: PartTask, job: IndexingJob, anchor_texts: Mapping[str, str]
) -> Built:
    """Index the documents of some sources, unless that is done."""
    folder = job.folder / task.name
    is_whole = is_intact(folder, lambda: Segment(folder / SEGMENT))
    if not is_whole or not _is_as_noted(task, job, anchor_texts):
        with written_beside(folder) as beside:
            _build(task, job, anchor_texts, beside)
            if folder.exists() and not _is_as_noted(task, job, anchor_texts):
                shutil.rmtree(folder)
    segment = Segment(folder / SEGMENT)
    manifest = (segment.folder / MANIFEST).read_bytes()
    mark = blake2b(manifest, digest_size=16).hexdigest()
    return Built(segment.n_items, tuple(segment.fields), mark)


def count_part(task: PartTask, job: IndexingJob) -> int:
    """Count the documents of some sources."""
    return sum(1 for _ in _records(task, job, {}))


def merge_part(
    task: tuple[str, Sequence[SegmentRange]], job: IndexingJob, fields: Sequence[str]
) -> None:
    """Merge pieces of parts to one, unless that is done; task : its name and they."""
    name, pieces = task
    folder = job.folder / name
    if not is_intact(folder, lambda: Segment(folder)):
        with written_beside(folder) as beside:
            merge_pieces(pieces, beside, job.setup, fields)


def _build(
    task: PartTask, job: IndexingJob, anchor_texts: Mapping[str, str], beside: Path
) -> None:
    """Build a part beside its place."""
    beside.mkdir()
    digests, links = dict[str, int](), list[tuple[str, str]]()

    def documents() -> Iterator[Document]:
        for record in _records(task, job, anchor_texts):
            links.extend(record.links)
            if job.digest is not None:
                digests[record.id] = job.digest(record.document)
            yield record.document

    stream = entries(documents(), job.setup.fields)

    def place() -> Path:
        if not beside.is_dir():
            raise Mistake(f"{beside} was removed: another build has begun there")
        return new_segment(beside)

    try:
        segment = build_segment(stream, job.setup, place)
    except TwinIds as problem:
        problem.part = task.number
        raise
    segment.move(beside / SEGMENT)
    notes = {"said": anchors(links), "digests": digests}
    write_whole(beside / NOTES, json.dumps(notes))


def _is_as_noted(
    task: PartTask, job: IndexingJob, anchor_texts: Mapping[str, str]
) -> bool:
    """Whether the documents still have the digests in the notes; True without any."""
    if job.digest is None:
        return True
    if not (job.folder / task.name / NOTES).exists():
        return False
    digests = {r.id: job.digest(r.document) for r in _records(task, job, anchor_texts)}
    return digests == notes_of(job.folder / task.name)["digests"]


def _records(
    task: PartTask, job: IndexingJob, anchor_texts: Mapping[str, str]
) -> Iterator[Record]:
    return (
        record for source in task.sources for record in job.read(source, anchor_texts)
    )


#: Bytes of text in a part: at least, at most; and how many parts there are at most.
SMALLEST, LARGEST, MOST = 1 << 20, 256 << 20, 512
#: Bytes of a worker that has done nothing yet, and the least that a build may have.
IDLE, LEAST = 192 << 20, 32 << 20
SIZE, SAID = "size.json", "said.json"


class Inputs(Protocol):
    """The documents to be indexed, which can be cut into sources of about equal size.

    fingerprint : changes whenever the documents, or where they are cut, may change.
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

    read, digest : as in ``IndexingJob``;  digests : of each document, in order, once
    built.
    """

    machines: Machines
    to: Path
    inputs: Inputs
    setup: Setup
    read: Read
    digest: Digest | None = None
    digests: dict[str, int] = field(default_factory=dict, init=False)

    def build(
        self, shards: int | None = None, anchor_texts: Mapping[str, str] | None = None
    ) -> Snapshot:
        """Build it, and put it in service; ``shards`` segments, or one.

        anchor_texts : document id → the text of links to it; None: collected from the
        links of the records.
        """
        n_shards = require_shards(shards)
        to = self.to.absolute()

        def fill() -> list[Segment]:
            self.machines.require_folder(to)
            self.job.folder.mkdir(exist_ok=True)
            remove_unfinished(self.job.folder)
            built = (
                self._built()
                if anchor_texts is None
                else self._parts("plain", anchor_texts)
            )
            for folder, _ in built:
                self.digests |= notes_of(folder)["digests"]
            segments = [Segment(at) for at in self._merged(built, n_shards)]
            for segment in segments:
                segment.move(new_segment(to))
            return segments

        return fill_index(to, self.setup, fill, self.job.folder.name)

    @cached_property
    def job(self) -> IndexingJob:
        """What the tasks share."""
        setup, to = self.setup, self.to.absolute()
        facts = [str(setup.analyzer), setup.fields, setup.positions]
        text = json.dumps([__version__, self.inputs.fingerprint, *facts])
        name = blake2b(text.encode(), digest_size=12).hexdigest()
        memory = memory_for(setup.memory, self.machines.memory)
        here = replace(setup, memory=memory)
        return IndexingJob(to / f"{PARTS}{name}", here, self.read, self.digest)

    @cached_property
    def _sources(self) -> Sequence[Sequence[Any]]:
        """The sources of each part; cut as before if a build was interrupted."""
        file = self.job.folder / SIZE
        if file.exists():
            return self.inputs.cut(int(json.loads(file.read_text(encoding="utf-8"))))
        workers, memory = self.machines.workers, self.job.setup.memory
        size = part_size(self.inputs.total, workers, memory)
        write_whole(file, json.dumps(size))
        return self.inputs.cut(size)

    def _built(self) -> list[tuple[Path, Built]]:
        """Build all parts; where links have anchor texts, build again with those."""
        file = self.job.folder / SAID
        if not file.exists():
            parts = self._parts("plain", {})
            texts: dict[str, list[str]] = {}  # by the target of a link
            for folder, _ in parts:
                for target, words in notes_of(folder)["said"].items():
                    texts.setdefault(target, []).append(words)
            if not texts:
                return parts
            joined = {target: "\n".join(words) for target, words in texts.items()}
            write_whole(file, json.dumps(joined))
            for folder, _ in parts:
                shutil.rmtree(folder)
        return self._parts("said", json.loads(file.read_text(encoding="utf-8")))

    def _parts(
        self, name: str, anchor_texts: Mapping[str, str]
    ) -> list[tuple[Path, Built]]:
        tasks = [
            PartTask(number, f"{name}-{number:06d}", sources)
            for number, sources in enumerate(self._sources)
        ]
        try:
            built = dict(self._spread(build_part, tasks, [self.job, anchor_texts]))
        except TwinIds as problem:
            counted = self._spread(count_part, tasks[: problem.part], [self.job])
            before = sum(n for _, n in counted)
            numbers = (problem.before + before, problem.number + before)
            raise TwinIds(problem.name, *numbers) from problem
        return [(self.job.folder / t.name, built[t.number]) for t in tasks]

    def _merged(self, built: list[tuple[Path, Built]], shards: int) -> list[Path]:
        """Merge the parts to ``shards`` segments."""
        full = [(at / SEGMENT, part.documents) for at, part in built if part.documents]
        if len(full) <= 1 == shards or not full:
            return [folder for folder, _ in full]
        fields = list(dict.fromkeys(f for _, part in built for f in part.fields))
        marks = "".join(part.mark for _, part in built)
        mark = blake2b(marks.encode(), digest_size=8).hexdigest()
        tasks = [
            (f"shard-{mark}-{shards:06d}-{number:06d}", pieces)
            for number, pieces in enumerate(shard_pieces(full, shards))
        ]
        try:
            if shards > 1:
                list(self._spread(refuse_twins, [[folder for folder, _ in full]], []))
            for _ in self._spread(merge_part, tasks, [self.job, fields]):
                pass
        except TwinIds as problem:
            raise self._twin(
                problem, [part.documents for _, part in built]
            ) from problem
        return [self.job.folder / name for name, _ in tasks]

    def _spread(
        self, work: Any, tasks: Sequence[Any], shared: Sequence[Any]
    ) -> Iterator[tuple[int, Any]]:
        done = self.machines.spread(work, tasks, shared)
        return iter(track(done, "parts of the index", len(tasks)))

    def _twin(self, problem: TwinIds, sizes: list[int]) -> Mistake:
        """An error that names the file and line of the second document with an id."""
        ends, places = [0, *accumulate(sizes)], []
        for number in (problem.before, problem.number):
            part = bisect_right(ends, number) - 1
            places.append(place_of(self._sources[part], number - ends[part]))
        first, second = places
        if first is None or second is None or first[0] != second[0]:
            return problem
        message = f"id {problem.name!r} is there a second time: make ids unique"
        return UnreadableFile(*second, message)
