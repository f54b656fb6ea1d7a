"""The query language: words, "phrases", field:word, +word, -word, AND OR NOT ( ).

Parts that follow each other are a list: each may be there, one with + must, one with -
(or NOT) must not. OR joins parts of a list, AND binds more tightly, NOT most. Inquery's
#and #or #not #sum #wsum #max #combine take words and each other. AND, OR and NOT are
written in capitals; signs that stand before no word say nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from dataclasses import field as declared
from math import inf
from typing import NamedTuple, NoReturn
from unicodedata import combining, east_asian_width

from classmark.language import N_, _, joined
from classmark.problems import Mistake, refusal

OPERATORS = ("and", "or", "not", "sum", "wsum", "max", "combine")
RESERVED = ("AND", "OR", "NOT")
WORD = re.compile(r'[^\s()"+\-#:][^\s()"]*')
FIELD = re.compile(r"(\w[\w.\-]*):(?=[^\s)+\-#:])")


@dataclass(frozen=True)
class Leaf:
    """A text as typed, in a field, or in any; ``at`` is where the query has it."""

    text: str
    field: str = ""
    at: int = declared(default=0, compare=False, repr=False)


class Word(Leaf):
    """One word."""


class Phrase(Leaf):
    """Words that stand side by side."""


@dataclass(frozen=True)
class Not:
    """All documents but those of a part."""

    part: Node


@dataclass(frozen=True)
class Parts:
    """At least two parts, joined by an operator."""

    parts: tuple[Node, ...]


class And(Parts):
    """Documents in all parts."""


class Or(Parts):
    """Documents in any part."""


@dataclass(frozen=True)
class Clause:
    """A part of a group: it may be (""), must be ("+") or must not be there ("-")."""

    part: Node
    sign: str = ""


@dataclass(frozen=True)
class Group:
    """Parts one after another, two or more: all that must be, or else any."""

    clauses: tuple[Clause, ...]


@dataclass(frozen=True)
class Belief:
    """One of Inquery's operators over words and operators; "wsum" has weights."""

    name: str
    parts: tuple[Node, ...]
    weights: tuple[float, ...] = ()
    at: int = declared(default=0, compare=False, repr=False)


Node = Leaf | Not | Parts | Group | Belief


DEEPEST = 50
SHOWN = 70
_BELIEF = re.compile(r"#(\w+)\s*\(")
_BLANK = re.compile(r"\s+")
_SIGN = re.compile(r"[+\-](?=[^\s)+\-:])")
_NUMBER = re.compile(r"\d+(?:\.\d*)?(?:[eE][+\-]?\d+)?", re.ASCII)
_PART = N_("a word, a phrase or (")
_UNCLOSED = N_('the closing " is missing: write it, or leave the opening one out')
_CLOSES_NOTHING = N_("there is no ( for this ): write one, or leave this out")


class MalformedQuery(Mistake):
    """A query that cannot be read: ``line`` for a terminal, and the place by a caret.

    >>> print(MalformedQuery("bees AND", 8, "a word is missing"))
    query, character 9: a word is missing
      bees AND
              ^
    """

    def __init__(self, query: str, at: int, problem: str) -> None:
        self.query, self.at, self.problem = query, at, problem
        self.line = _(
            "query, character %(at)s: %(problem)s", at=at + 1, problem=problem
        )
        first = max(0, at - SHOWN // 2) if len(query) > SHOWN else 0
        seen, before = query[first : first + SHOWN], query[first:at]
        line = "".join(c if c.isprintable() else " " for c in seen)
        blank = sum(_width(c) if c.isprintable() else 1 for c in before)
        caret = f"{' ' * blank}^"
        super().__init__(joined(self.line, f"  {line}", f"  {caret}", by="\n"))


class Token(NamedTuple):
    """A piece of a query: "word", "phrase", "belief", "end" or itself, and where."""

    kind: str
    text: str
    field: str
    at: int


def parse(query: str) -> Node | None:
    """Read a query; None where there is nothing in it.

    >>> parse("honey OR bees")
    Or(parts=(Word(text='honey', field=''), Word(text='bees', field='')))
    """
    if not isinstance(query, str):
        raise refusal("query is %(name)s: give a string", name=type(query).__name__)
    parser = _Parser(query)
    if parser.next.kind == "end":
        return None
    tree = parser.group()
    if parser.next.kind != "end":
        parser.refuse(_(_CLOSES_NOTHING))
    return tree


class _Parser:
    """A query, the token that is next, and how deep we are."""

    def __init__(self, query: str) -> None:
        self.query = query
        self.tokens: list[Token] = []
        at = 0
        while at < len(query):
            token, at = _token(query, at)
            self.tokens += [] if token is None else [token]
        self.tokens.append(Token("end", "", "", len(query)))
        self.place, self.depth = 0, 0

    @property
    def next(self) -> Token:
        return self.tokens[self.place]

    def take(self) -> Token:
        token = self.next
        self.place += 1
        return token

    def refuse(self, problem: str, at: int | None = None) -> NoReturn:
        raise MalformedQuery(self.query, self.next.at if at is None else at, problem)

    def deeper(self) -> None:
        self.depth += 1
        if self.depth > DEEPEST:
            self.refuse(
                _(
                    "more than %(deepest)s levels: write a flatter query",
                    deepest=DEEPEST,
                )
            )

    def group(self) -> Node:
        """Read parts until a ) or the end."""
        clauses = [self.clause()]
        while self.next.kind not in (")", "end"):
            clauses.append(self.clause())
        if len(clauses) > 1:
            return Group(tuple(clauses))
        only = clauses[0]
        return Not(only.part) if only.sign == "-" else only.part

    def clause(self) -> Clause:
        first = self.next
        if first.kind not in ("+", "-"):
            part = self.either()
            if first.kind == "NOT" and isinstance(part, Not):
                return Clause(part.part, "-")
            return Clause(part)
        self.take()
        part = self.atom()
        if self.next.kind not in ("AND", "OR"):
            return Clause(part, first.kind)
        if first.kind == "+":
            self.refuse(
                _("+ and AND or OR side by side: write +( … ) around the latter")
            )
        return Clause(self.either(Not(part)))

    def either(self, first: Node | None = None) -> Node:
        parts = [self.both(first)]
        while self.next.kind == "OR":
            self.take()
            parts.append(self.both())
        return Or(tuple(parts)) if len(parts) > 1 else parts[0]

    def both(self, first: Node | None = None) -> Node:
        parts = [self.negated() if first is None else first]
        while self.next.kind == "AND":
            self.take()
            parts.append(self.negated())
        return And(tuple(parts)) if len(parts) > 1 else parts[0]

    def negated(self) -> Node:
        if self.next.kind not in ("NOT", "-"):
            return self.atom()
        self.take()
        self.deeper()
        part = Not(self.negated())
        self.depth -= 1
        return part

    def atom(self) -> Node:
        token = self.next
        if token.kind == "(":
            self.take()
            self.deeper()
            if self.next.kind == ")":
                self.refuse(
                    _(
                        "%(part)s is expected between ( and ), or leave both out",
                        part=_(_PART),
                    )
                )
            inner = self.group()
            self.close(token.at, "(")
            return inner
        if token.kind == "belief":
            return self.belief()
        if token.kind not in ("word", "phrase"):
            self.refuse(self.lack())
        self.take()
        kind = Word if token.kind == "word" else Phrase
        return kind(token.text, token.field, token.at)

    def lack(self) -> str:
        """Return a message: the missing part, and how to mend the query."""
        token = self.tokens[self.place - 1].kind if self.place else ""
        if self.next.kind == ")" and not token:
            return _CLOSES_NOTHING
        lack = N_(
            "%(part)s is expected after %(token)s: write one, or leave %(token)s out"
        )
        if self.next.kind in ("AND", "OR") and token in ("", "("):
            token = self.next.kind
            lack = N_(
                "%(part)s is expected before %(token)s: write one, or leave "
                "%(token)s out"
            )
        return _(lack, part=_(_PART), token=token)

    def close(self, at: int, opened: str) -> None:
        if self.next.kind != ")":
            self.refuse(
                _(
                    "the ) of this %(opened)s is missing: write it, or leave "
                    "%(opened)s out",
                    opened=opened,
                ),
                at,
            )
        self.take()
        self.depth -= 1

    def belief(self) -> Node:
        opened = self.take()
        self.deeper()
        parts: list[Node] = []
        weights: list[float] = []
        while self.next.kind not in (")", "end"):
            if opened.text == "wsum":
                weights.append(self.weight())
            parts.append(self.believed(opened.text))
        self.close(opened.at, f"#{opened.text}(")
        if not parts or (opened.text == "not" and len(parts) > 1):
            need = _("one part") if opened.text == "not" else _("at least one part")
            self.refuse(
                _("operator #%(text)s needs %(need)s", text=opened.text, need=need),
                opened.at,
            )
        if weights and not 0.0 < sum(weights) < inf:
            self.refuse(
                _(
                    "operator #wsum needs a weight before each part, 0 or more, not "
                    "all 0"
                ),
                opened.at,
            )
        return Belief(opened.text, tuple(parts), tuple(weights), opened.at)

    def weight(self) -> float:
        token = self.next
        if token.kind != "word" or token.field or not _NUMBER.fullmatch(token.text):
            self.refuse(_("a weight (a number) is expected before each part of #wsum"))
        self.take()
        return float(token.text)

    def believed(self, name: str) -> Node:
        token = self.next
        if token.kind == "belief":
            return self.belief()
        if token.kind != "word":
            self.refuse(
                _("a word or an operator is expected within #%(name)s( … )", name=name)
            )
        self.take()
        return Word(token.text, token.field, token.at)


def _token(query: str, at: int) -> tuple[Token | None, int]:
    """Read one token, if signs and blanks say anything, and where to go on."""
    if blank := _BLANK.match(query, at):
        return None, blank.end()
    if query[at] in "()":
        return Token(query[at], query[at], "", at), at + 1
    if belief := _BELIEF.match(query, at):
        if belief[1] not in OPERATORS:
            operators = ", ".join(f"#{name}" for name in OPERATORS)
            raise MalformedQuery(
                query,
                at,
                _(
                    "#%(belief)s is not known: use one of %(operators)s",
                    belief=belief[1],
                    operators=operators,
                ),
            )
        return Token("belief", belief[1], "", at), belief.end()
    if query[at] in "+-#:":
        is_sign = _SIGN.match(query, at) and (not at or query[at - 1] not in "+-#:")
        if is_sign and (query[at + 1] != "#" or _BELIEF.match(query, at + 1)):
            return Token(query[at], query[at], "", at), at + 1
        return None, at + 1
    return _words(query, at)


def _words(query: str, at: int) -> tuple[Token, int]:
    """Read a word or a phrase, with its field."""
    name, start = "", at
    if named := FIELD.match(query, at):
        name, start = named[1], named.end()
        if query[start] == "(":
            raise MalformedQuery(
                query,
                start,
                _('a word or a "phrase" is expected right after %(name)s:', name=name),
            )
    if query[start] == '"':
        end = query.find('"', start + 1)
        if end < 0:
            raise MalformedQuery(query, start, _(_UNCLOSED))
        return Token("phrase", query[start + 1 : end], name, at), end + 1
    match = WORD.match(query, start)
    text = match[0] if match else query[start]
    kind = text if text in RESERVED and not name else "word"
    return Token(kind, text, name, at), start + len(text)


def _width(character: str) -> int:
    if combining(character):
        return 0
    return 2 if east_asian_width(character) in "WF" else 1


def leaves_of(node: Node | None) -> Iterator[Leaf]:
    """Yield the words and phrases of a query that may or must be there."""
    if isinstance(node, Leaf):
        yield node
    elif isinstance(node, Group):
        for clause in node.clauses:
            if clause.sign != "-":
                yield from leaves_of(clause.part)
    else:
        for part in getattr(node, "parts", ()):
            yield from leaves_of(part)


def positive_texts(node: Node | None) -> list[str]:
    """Return what a query says, words that must not be there left out."""
    return [leaf.text for leaf in leaves_of(node)]
