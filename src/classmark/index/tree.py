"""The tree of a query: it prints as it may be typed, and is read back the same."""

from __future__ import annotations

import re
from dataclasses import dataclass
from dataclasses import field as declared
from math import isfinite

from classmark.problems import Mistake

OPERATORS = ("and", "or", "not", "sum", "wsum", "max", "combine")
RESERVED = ("AND", "OR", "NOT")
WORD = re.compile(r'[^\s()"+\-#:][^\s()"]*')
FIELD = re.compile(r"(\w[\w.\-]*):(?=[^\s)+\-#:])")


@dataclass(frozen=True)
class Word:
    """One word as typed, in a field, or in any; ``at`` is where the query has it.

    >>> print(Word("bees", "title"))
    title:bees
    """

    text: str
    field: str = ""
    at: int = declared(default=0, compare=False, repr=False)

    def __post_init__(self) -> None:
        _require_field(self.field)
        bare = not self.field and (self.text in RESERVED or FIELD.match(self.text))
        if bare or not WORD.fullmatch(self.text):
            raise Mistake(f"{self.text!r} is not a word of a query: make it a phrase")

    def __str__(self) -> str:
        return f"{_prefix(self.field)}{self.text}"


@dataclass(frozen=True)
class Phrase:
    """Words that stand side by side.

    >>> print(Phrase("honey bees"))
    "honey bees"
    """

    text: str
    field: str = ""
    at: int = declared(default=0, compare=False, repr=False)

    def __post_init__(self) -> None:
        _require_field(self.field)
        if '"' in self.text:
            raise Mistake(f"phrase {self.text!r} holds a quotation mark: leave it out")

    def __str__(self) -> str:
        return f'{_prefix(self.field)}"{self.text}"'


@dataclass(frozen=True)
class Not:
    """All documents but those of a part."""

    part: Node

    def __str__(self) -> str:
        return f"NOT {_wrapped(self.part, (Word, Phrase, Not, Belief))}"


@dataclass(frozen=True)
class And:
    """Documents in all of at least two parts."""

    parts: tuple[Node, ...]

    def __post_init__(self) -> None:
        _require_two(self.parts)

    def __str__(self) -> str:
        inner = (Word, Phrase, Not, Belief)
        return " AND ".join(_wrapped(part, inner) for part in self.parts)


@dataclass(frozen=True)
class Or:
    """Documents in any of at least two parts."""

    parts: tuple[Node, ...]

    def __post_init__(self) -> None:
        _require_two(self.parts)

    def __str__(self) -> str:
        inner = (Word, Phrase, Not, Belief, And)
        return " OR ".join(_wrapped(part, inner) for part in self.parts)


@dataclass(frozen=True)
class Clause:
    """A part of a group: it may be (""), must be ("+") or must not be there ("-")."""

    part: Node
    sign: str = ""

    def __str__(self) -> str:
        if self.sign:
            return f"{self.sign}{_wrapped(self.part, (Word, Phrase, Belief))}"
        return _wrapped(self.part, (Word, Phrase, Belief, And, Or))


@dataclass(frozen=True)
class Group:
    """Parts one after another, two or more: all that must be, or else any.

    >>> print(Group((Clause(Word("bees")), Clause(Word("wasps"), "-"))))
    bees -wasps
    """

    clauses: tuple[Clause, ...]

    def __post_init__(self) -> None:
        _require_two(self.clauses)

    def __str__(self) -> str:
        return " ".join(map(str, self.clauses))


@dataclass(frozen=True)
class Belief:
    """One of Inquery's operators over words and operators; "wsum" has weights.

    >>> print(Belief("wsum", (Word("hive"), Word("bee")), (2.0, 0.5)))
    #wsum(2 hive 0.5 bee)
    """

    name: str
    parts: tuple[Node, ...]
    weights: tuple[float, ...] = ()
    at: int = declared(default=0, compare=False, repr=False)

    def __post_init__(self) -> None:
        if self.name not in OPERATORS:
            known = ", ".join(f"#{name}" for name in OPERATORS)
            raise Mistake(f"operator #{self.name} is not known: use one of {known}")
        if not self.parts or (self.name == "not" and len(self.parts) > 1):
            need = "one part" if self.name == "not" else "at least one part"
            raise Mistake(f"operator #{self.name} needs {need}")
        if self.name == "wsum":
            _require_weights(self.weights, len(self.parts))
        elif self.weights:
            raise Mistake(f"operator #{self.name} takes no weights: use #wsum")

    def __str__(self) -> str:
        parts = list(map(str, self.parts))
        if self.weights:
            numbers = (repr(weight).removesuffix(".0") for weight in self.weights)
            parts = [f"{n} {p}" for n, p in zip(numbers, parts, strict=True)]
        return f"#{self.name}({' '.join(parts)})"


Node = Word | Phrase | Not | And | Or | Group | Belief


def _prefix(name: str) -> str:
    return f"{name}:" if name else ""


def _wrapped(part: Node, plain: tuple[type, ...]) -> str:
    return str(part) if isinstance(part, plain) else f"({part})"


def _require_field(name: str) -> None:
    if name and not re.fullmatch(r"\w[\w.\-]*", name):
        raise Mistake(f"field {name!r} cannot be typed in a query: rename it")


def _require_two(parts: tuple[object, ...]) -> None:
    if len(parts) < 2:
        raise Mistake(f"{len(parts)} parts: a list of parts has two or more")


def _require_weights(weights: tuple[float, ...], parts: int) -> None:
    usable = all(weight >= 0.0 and isfinite(weight) for weight in weights)
    if len(weights) != parts or not usable or not 0.0 < sum(weights) < float("inf"):
        raise Mistake(
            "operator #wsum needs a weight before each part, 0 or more, not all 0"
        )
