"""Click logs: result lists with clicks, and impressions with known propensities."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from classmark.corpus.document import Document
from classmark.datasets.dataset import Dataset, Documents, Impressions, Part, Session
from classmark.datasets.where import one_of
from classmark.formats.delimited import rows
from classmark.formats.text_files import lines
from classmark.problems import Mistake, UnreadableFile

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

CHINESE = "gb18030"


def load_sogou(folder: Path, _split: str | None) -> Dataset:
    """Load the Sogou sample: sessions of ten results, clicked or not.

    Queries and documents (with the field ``url``) are named by their numbers.
    """
    train, test = (_sessions(one_of(folder, f"{n}_data")) for n in ("train", "test"))
    path = one_of(folder, "url_id")
    queries = {number: text for text, number in _named(one_of(folder, "query_id"))}
    return Dataset(
        "clicks-sogou-sample",
        train,
        test,
        queries=queries,
        documents=Documents(
            lambda: (Document(number, {"url": url}) for url, number in _named(path))
        ),
    )


def _named(path: Path) -> Iterator[tuple[str, str]]:
    for number, line in lines(path, CHINESE):
        cells = line.split("\t")
        if len(cells) < 2:
            raise UnreadableFile(path, number, "a text, a tab and a number are needed")
        yield cells[0], cells[1]


def _sessions(path: Path) -> Part:
    sessions = []
    for number, line in lines(path, CHINESE):
        cells = line.split("\t")
        shown = tuple(cells[1].split()) if len(cells) > 2 else ()
        clicks = cells[2].split() if shown else []
        if len(clicks) != len(shown) or not shown or not set(clicks) <= {"0", "1"}:
            raise UnreadableFile(
                path, number, "query, results and as many clicks (0 or 1) are needed"
            )
        sessions.append(Session(cells[0], shown, tuple(c == "1" for c in clicks)))
    ids = [str(number) for number in range(1, len(sessions) + 1)]
    return Part(ids=ids, labels=[[] for _ in ids], sessions=sessions)


def load_obp(folder: Path, split: str | None) -> Dataset:
    """Load the Open Bandit sample: impressions with position, click and propensity.

    split : policy and campaign, ``"random-all"`` (the default), ``"bts-men"``, ….
    """
    policy, _, campaign = (split or "random-all").partition("-")
    if policy not in ("random", "bts") or campaign not in ("all", "men", "women"):
        raise Mistake(f"split={split!r}: give random or bts, a - and all, men or women")
    path = one_of(folder, f"{policy}/{campaign}/{campaign}.csv*")
    table = np.array(list(_impressions(path)), np.float64).reshape(-1, 4)
    items, positions, clicks = (table[:, at].astype(np.int64) for at in range(3))
    ids = [str(number) for number in range(1, len(table) + 1)]
    found = Impressions(items, positions, clicks, table[:, 3].copy())
    return Dataset("obp", Part(ids, [], [[] for _ in ids], impressions=found))


def _impressions(path: Path) -> Iterator[tuple[float, ...]]:
    wanted = ("item_id", "position", "click", "propensity_score")
    table = rows(path)
    _, header = next(table, (1, []))
    places = [header.index(name) for name in wanted if name in header]
    for number, row in table:
        try:
            found = tuple(float(row[place]) for place in places)
        except (IndexError, ValueError):
            found = ()
        if len(found) != len(wanted):
            raise UnreadableFile(
                path, number, f"numbers are needed in {', '.join(wanted)}"
            )
        yield found
