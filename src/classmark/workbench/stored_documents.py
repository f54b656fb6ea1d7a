"""The documents of a project's store, read in stretches by whoever has to index them.

A worker opens the store itself: a file that its machine has, or PostgreSQL's server.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from hashlib import blake2b
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from classmark.corpus.documents import Document
from classmark.formats.records import Record
from classmark.workbench.index_folders import with_anchor
from classmark.workbench.settings import StoreSettings
from classmark.workbench.store import Store

if TYPE_CHECKING:
    from classmark.index.build import Setup
    from classmark.index.snapshot import Snapshot
    from classmark.machines.cluster import Machines
    from classmark.workbench.project import Project

Digests = dict[str, int]
FACTS = (
    "SELECT count(*), coalesce(max(number), 0), coalesce(sum(length(fields)), 0) "
    "FROM documents"
)
NUMBERS = "SELECT number FROM documents ORDER BY number"
STRETCH = (
    "SELECT id, fields FROM documents WHERE number >= ? AND number < ? ORDER BY number"
)


class Stretch(NamedTuple):
    """Documents ``low`` to before ``high`` of a store, by their numbers there."""

    path: Path
    server: StoreSettings | None
    low: int
    high: int


@dataclass
class Stored:
    """All documents of a store."""

    store: Store

    @cached_property
    def facts(self) -> tuple[int, int, int]:
        """How many documents there are, the last number, and characters of all."""
        count, last, total = self.store.run(FACTS).fetchone()
        return int(count), int(last), int(total)

    @property
    def total(self) -> int:
        """Characters of all documents."""
        return self.facts[2]

    @property
    def fingerprint(self) -> str:
        """Another where documents came or went; changed ones are found by digests."""
        server = self.store.server
        where = ["", ""] if server is None else [server.url, server.schema]
        facts = json.dumps([str(self.store.path.absolute()), *where, *self.facts[:2]])
        return blake2b(facts.encode(), digest_size=16).hexdigest()

    def cut(self, size: int) -> list[tuple[Stretch]]:
        """Cut into stretches of so many documents as have about ``size`` characters."""
        count, last, total = self.facts
        some = max(count * size // max(total, 1), 1)
        rows = enumerate(self.store.run(NUMBERS))
        lows = [int(number) for at, (number,) in rows if at % some == 0]
        path, server = self.store.path.absolute(), self.store.server
        edges = pairwise([*lows, last + 1])
        return [(Stretch(path, server, low, high),) for low, high in edges]


def read_stretch(stretch: Stretch, said: Mapping[str, str]) -> Iterator[Record]:
    """Yield documents of a store, with what links say of them."""
    with Store(stretch.path, server=stretch.server) as store:
        for id_, fields in store.run(STRETCH, (stretch.low, stretch.high)):
            yield Record(with_anchor(Document(id_, json.loads(fields)), said))


def digest_of(document: Document) -> int:
    """Return a number that is another as soon as the fields of a document are."""
    texts = json.dumps(list(document.fields.items()), ensure_ascii=False)
    content = texts.encode(errors="surrogatepass")
    return int.from_bytes(blake2b(content, digest_size=8).digest(), "little")


def build_on(
    machines: Machines,
    project: Project,
    setup: Setup,
    said: Mapping[str, str],
    after: Digests,
    shards: int | None,
) -> Snapshot:
    """Index all documents on machines; ``after`` gets the digest of each."""
    from classmark.machines.indexing import Building

    stored = Stored(project.store)
    building = Building(
        machines, project.index.folder, stored, setup, read_stretch, digest_of
    )
    snapshot = building.build(shards, said)
    after |= building.digests
    return snapshot
