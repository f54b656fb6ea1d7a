"""What readers yield and writers take: records, references, examples, judgments."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from itertools import chain
from types import MappingProxyType
from typing import NamedTuple

from classmark.arrays import Rows, stack
from classmark.corpus.documents import Document
from classmark.language import whole
from classmark.problems import refusal

PRIMARY, SECONDARY = 2.0, 1.0
THRESHOLD = "threshold"  # the word for it in a preference, in a category's place


@dataclass(frozen=True, slots=True)
class Record:
    """A document with what its file said about it.

    labels : category → grade (2 primary, 1 assigned or secondary), in the file's order;
    meta : short facts that are not text to be analysed (split, date, source…);
    links : (target id, anchor text) pairs;
    preferences : (winner, loser) → weight, what the labels do not say; one of the two
        may be ``THRESHOLD``;
    vector : what it means, as numbers that the file's writer has made; empty: none;
    by_name : whether labels are what categories are called, not their ids.
    """

    document: Document
    labels: Mapping[str, float] = field(default_factory=dict)
    meta: Mapping[str, str] = field(default_factory=dict)
    links: tuple[tuple[str, str], ...] = ()
    preferences: Mapping[tuple[str, str], float] = field(default_factory=dict)
    vector: tuple[float, ...] = ()
    by_name: bool = False

    @property
    def id(self) -> str:
        """The document's id."""
        return self.document.id


class Reference(NamedTuple):
    """A document to be cited.

    note : why it is in the list;  facts : what else is known of it, by column;
    ``included`` is "1" or "0" where that was decided.
    """

    id: str
    title: str = ""
    note: str = ""
    facts: Mapping[str, str] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Examples:
    """Sparse vectors with what their file said about them.

    rows : the vectors, shape (n, width), zeros not stored;
    labels : for each row its labels, as written in the file;
    qids : for each row its query, or nothing where the file has none;
    comments : for each row the text after ``#``, or nothing where the file has none;
    lines : for each row the line it stood on, where it comes from a file;
    feature_names, label_names : of all columns and of all labels, where the file says.
    """

    rows: Rows
    labels: tuple[tuple[str, ...], ...]
    qids: tuple[str, ...] = ()
    comments: tuple[str, ...] = ()
    feature_names: tuple[str, ...] = ()
    label_names: tuple[str, ...] = ()
    lines: tuple[int, ...] = field(default=(), compare=False, repr=False)

    def __post_init__(self) -> None:
        for name in ("labels", "qids", "comments"):
            length = len(getattr(self, name))
            if length != len(self.rows) and (length or name == "labels"):
                raise refusal(
                    "%(name)s: %(length)s for %(n)s rows",
                    name=name,
                    length=length,
                    n=whole(len(self.rows)),
                )
        if self.feature_names and len(self.feature_names) != self.rows.width:
            raise refusal(
                "feature_names: %(n)s for %(width)s columns",
                n=whole(len(self.feature_names)),
                width=self.rows.width,
            )

    def __len__(self) -> int:
        return len(self.rows)


def together(blocks: Iterable[Examples]) -> Examples:
    """Put blocks of one file, at least one, one below the other."""
    parts = list(blocks)
    columns: dict[str, tuple[str, ...]] = {}
    for name in ("qids", "comments"):  # lacking in all blocks, they stay empty
        texts = [getattr(part, name) or ("",) * len(part.rows) for part in parts]
        columns[name] = tuple(chain(*texts)) if any(map(any, texts)) else ()
    return Examples(
        stack([part.rows for part in parts]),
        tuple(labels for part in parts for labels in part.labels),
        feature_names=parts[0].feature_names,
        label_names=parts[0].label_names,
        lines=tuple(line for part in parts for line in part.lines),
        **columns,
    )


class Judgment(NamedTuple):
    """How relevant a document is to a query: 0 is not."""

    query: str
    document: str
    grade: float


class Retrieved(NamedTuple):
    """A line of a run: what a system returned for a query, and how sure it was."""

    query: str
    document: str
    score: float
    rank: int
    run: str


def gather(rows: Iterable[Judgment | Retrieved]) -> dict[str, dict[str, float]]:
    """Collect query → document → grade or score, as the measures take them.

    >>> gather([Judgment("q1", "d3", 2.0), Judgment("q1", "d5", 0.0)])
    {'q1': {'d3': 2.0, 'd5': 0.0}}
    """
    gathered: dict[str, dict[str, float]] = {}
    for query, document, number, *_ in rows:
        numbers = gathered.setdefault(query, {})
        if numbers.setdefault(document, number) != number:
            raise refusal(
                "query %(query)r, document %(document)r: both %(numbers)s and "
                "%(number)s: leave one",
                query=query,
                document=document,
                numbers=numbers[document],
                number=number,
            )
    return gathered
