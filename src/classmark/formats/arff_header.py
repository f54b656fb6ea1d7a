"""What does the header of an ARFF file declare?"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from classmark.formats.pairs import NUMBER
from classmark.problems import UnreadableFile

if TYPE_CHECKING:
    from collections.abc import Iterator

QUOTED = r"'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\""
NAME = re.compile(rf"({QUOTED}|[^\s{{'\"][^\s{{]*)\s*(.*)", re.DOTALL)
VALUE = re.compile(rf"\s*({QUOTED}|[^,]*?)\s*(?:,|$)")
NUMERIC = frozenset({"numeric", "real", "integer"})
PLAIN = re.compile(NUMBER.decode())


@dataclass(frozen=True, slots=True)
class Attribute:
    """A name, and its values where they are listed (``{0,1}``); else a number."""

    name: str
    values: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Header:
    """The relation's name and its attributes, in order."""

    relation: str
    attributes: tuple[Attribute, ...]

    @property
    def first_not_zero(self) -> str:
        """The first attribute whose first listed value is not 0, or nothing."""
        odd = (a.name for a in self.attributes if a.values and float(a.values[0]))
        return next(odd, "")


def read_header(path: str, numbered: Iterator[tuple[int, str]]) -> Header:
    """Read up to and with ``@data``; what follows stays in the iterator."""
    relation = ""
    attributes: dict[str, Attribute] = {}
    for number, line in numbered:
        text = line.strip()
        if not text or text.startswith("%"):
            continue
        word, _, rest = text.replace("\t", " ").partition(" ")
        if word.lower() == "@data":
            return Header(relation, tuple(attributes.values()))
        if word.lower() == "@relation":
            relation = unquoted(rest.strip())
        elif word.lower() == "@attribute":
            attribute = _attribute(path, number, rest.strip())
            if attribute.name in attributes:
                raise UnreadableFile(
                    path, number, f"attribute {attribute.name!r} is there twice"
                )
            attributes[attribute.name] = attribute
        else:
            raise UnreadableFile(
                path, number, f"{word[:40]!r}: @relation, @attribute or @data expected"
            )
    raise UnreadableFile(path, None, "no @data line: is this an ARFF file?")


def _attribute(path: str, number: int, text: str) -> Attribute:
    match = NAME.fullmatch(text)
    if match is None:
        raise UnreadableFile(path, number, "@attribute needs a name and a type")
    name, kind = unquoted(match[1]), match[2].strip()
    if kind.lower().split(" ")[0] in NUMERIC:
        return Attribute(name)
    if kind.startswith("{") and kind.endswith("}"):
        values = tuple(unquoted(value) for value in _listed(kind[1:-1]))
        if values and all(PLAIN.fullmatch(value) for value in values):
            return Attribute(name, values)
    raise UnreadableFile(
        path,
        number,
        f"attribute {name!r} of type {kind[:40]!r}: only numbers and lists of numbers "
        "such as {0,1} can be read: turn it into 0/1 attributes first",
    )


def _listed(text: str) -> Iterator[str]:
    at = 0
    while at < len(text):
        match = VALUE.match(text, at)
        if match is None:
            yield ""
            return
        yield match[1]
        at = match.end()


def unquoted(text: str) -> str:
    r"""Take the quotes of a name away.

    >>> unquoted(r"'it\'s'"), unquoted("plain")
    ("it's", 'plain')
    """
    if len(text) >= 2 and text[0] in "'\"" and text[-1] == text[0]:
        return re.sub(r"\\(.)", r"\1", text[1:-1], flags=re.DOTALL)
    return text
