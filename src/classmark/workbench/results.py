"""What is shown: plain values that a terminal, a page or JSON can print."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import isfinite
from pathlib import Path
from typing import Any, NamedTuple

from classmark.language import N_, _

Cell = str | int | float | None
HEADINGS = (
    N_("what"), N_("value"), N_("before"), N_("after"), N_("order"), N_("rank"),
    N_("id"), N_("title"), N_("probability"), N_("times the mean"), N_("links in"),
    N_("links out"), N_("category"), N_("weight"),
)  # fmt: skip # keys of rows that pages show as they are


@dataclass(frozen=True, slots=True)
class Column:
    """How people see a column of a table; programs see its key and plain values.

    name : its key in the rows;  heading : in plain words, the key if empty;  format :
    of its numbers, as in ".1%";  best : "least" or "greatest", the value to mark;
    meaning : a few words for those who ask for every column;  brief : whether it is
    shown to the others;  wrap : whether long texts go on in the next line, uncut.
    """

    name: str
    heading: str = ""
    format: str = ""
    best: str = ""
    meaning: str = ""
    brief: bool = True
    wrap: bool = False


FACTS = (Column("what"), Column("value", wrap=True))  # of a list of facts


@dataclass(frozen=True, slots=True)
class Table:
    """Rows under a title; every row has the same keys, the columns.

    columns : how some of them are shown, the most important first; those it does not
    name come after them, as they are;  plural : what the columns are.
    """

    title: str
    rows: Sequence[Mapping[str, Cell]]
    note: str = ""
    columns: Sequence[Column] = ()
    plural: str = "columns"

    def facts(self) -> dict[str, object]:
        """What a program reads of it: how people see the columns is left out."""
        return {"title": self.title, "rows": list(self.rows), "note": self.note}


class WorkResult(NamedTuple):
    """What came of some work: in words, and by name, for programs."""

    said: str
    facts: Mapping[str, Any]


def as_result(table: Table, facts: Mapping[str, Any] | None = None) -> WorkResult:
    """A table as the result of a job, with more facts; said : or else its note."""
    facts = facts or {}
    said = facts.get("said") or table.note
    return WorkResult(said, {**facts, "table": table.facts()})


@dataclass(frozen=True, slots=True)
class Revoted:
    """How often close calls are voted on again, on held-out documents.

    delta, ratio, votes : Δ, R and t of ``RareCategoryReranker``;  asked_again : the
    share of the documents;  detected, detected_after : how many categories are the best
    of some document, before and after the votes.
    """

    delta: float
    ratio: float
    votes: int
    asked_again: float
    detected: int
    detected_after: int


@dataclass(frozen=True, slots=True)
class NamesTried:
    """Whether names of categories count beside what is learned, and what they add.

    count : how many names;  words, runs : the weights of their words and of the runs of
    characters inside them;  before, after : average precision of held-out documents
    without and with them.
    """

    used: bool
    count: int
    words: float
    runs: float
    before: float
    after: float


@dataclass(frozen=True, slots=True)
class Trained:
    """A model that was put in service.

    calibrated_on : how many decisions its probabilities rest on; None without any.
    strategy, why : what was picked for the tree of categories, and the reason;
    flat_bytes : what a weight for every category and feature would take;
    complexity_ratio : of the tree's decisions to a flat one's, None without a tree;
    pruned : inner categories that are passed over;  live : whether it learns from every
    decision, and if not, ``later`` says why;  base : what decides at the nodes, None
    where there are none;  rare : what the votes on rare categories change, if asked;
    loss, center, prior, noise : beside C what was given or chosen, None for other
    learners;  names : what names of categories add, None where they were not tried;
    members : of an ensemble, each learner with what it counts.
    """

    model: str
    learner: str
    documents: int
    categories: int
    features: int
    C: float | None
    gap: float | None
    seconds: float
    calibrated_on: int | None = None
    strategy: str = "plain"
    why: str = ""
    flat_bytes: int = 0
    complexity_ratio: float | None = None
    pruned: tuple[str, ...] = ()
    live: bool = False
    later: str = ""
    base: str | None = None
    rare: Revoted | None = None
    loss: str | None = None
    center: float | None = None
    prior: float | None = None
    noise: float | None = None
    names: NamesTried | None = None
    members: tuple[tuple[str, float], ...] = ()


@dataclass(frozen=True, slots=True)
class Explained:
    """A suggested category as people read it: its path, and the words behind it.

    probability : None where the model is not calibrated;  calibrated_on : how many
    decisions it rests on;  belongs : whether the score is above the category's
    threshold, None where the model has none;  words, meaning : how much of its lead
    over the average category comes from either, None where the model knows words alone
    or no reasons are asked for;  name : which of the category's names the text has, and
    what it adds.
    """

    category: str
    path: tuple[str, ...]
    rank: int
    score: float
    favour: Mapping[str, float] = field(default_factory=dict)
    against: Mapping[str, float] = field(default_factory=dict)
    probability: float | None = None
    calibrated_on: int | None = None
    belongs: bool | None = None
    words: float | None = None
    meaning: float | None = None
    name: tuple[str, float] | None = None


def belonging(belongs: bool | None) -> str:
    """Whether a category belongs to a document, in words; "" where it is not known.

    >>> belonging(True), belonging(False), belonging(None)
    ('belongs', "doesn't belong", '')
    """
    return "" if belongs is None else _("belongs") if belongs else _("doesn't belong")


@dataclass(frozen=True, slots=True)
class Place:
    """Where a document was put: a "leaf", an "inner" category, or "left" to the expert.

    A category that "belongs" has a score above its threshold; there may be several.
    category, path : None and empty where it is left;  probability : None where the
    model is not calibrated.
    """

    kind: str
    category: str | None
    path: tuple[str, ...]
    probability: float | None


@dataclass(frozen=True, slots=True)
class Evaluated:
    """Measures as a table, and the plot's file; None: nothing was drawn.

    rare : the file of how often categories are right, and chosen; None if not asked;
    facts : the measures by name, for programs, where they are more than the table.
    """

    table: Table
    plot: Path | None
    rare: Path | None = None
    facts: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Learned:
    """What was learned at once: documents taught, re-visits made, seconds.

    apart : documents that were not, being set apart for testing.
    """

    documents: int
    revisits: int
    seconds: float
    apart: int = 0


@dataclass(frozen=True, slots=True)
class Logged:
    """What was written to the judgment log: the numbers given, and in words.

    learned : what was learned from it at once; None where the model only learns when
    it is trained, and then ``later`` says why.
    """

    numbers: tuple[int, ...]
    said: str
    learned: Learned | None = None
    later: str = ""


def plain(value: Any) -> Any:
    """What a program reads: named tuples as dictionaries, arrays as lists, NaN as None.

    >>> plain({1: (0.5, float("nan")), "plot": Path("a.svg")})
    {'1': [0.5, None], 'plot': 'a.svg'}
    """
    if hasattr(value, "_asdict"):
        return plain(value._asdict())
    if isinstance(value, Mapping):
        return {str(name): plain(part) for name, part in value.items()}
    if isinstance(value, list | tuple):
        return [plain(part) for part in value]
    if hasattr(value, "tolist"):
        return plain(value.tolist())
    if isinstance(value, float) and not isfinite(value):
        return None
    return str(value) if isinstance(value, Path) else value


def in_percent(probability: float) -> str:
    """A probability as it is shown; nothing is impossible, and nothing certain.

    >>> in_percent(0.874), in_percent(0.002), in_percent(0.999)
    ('87 %', 'under 1 %', 'over 99 %')
    """
    whole = round(100 * probability)
    return f"{whole} %" if 0 < whole < 100 else "over 99 %" if whole else "under 1 %"
