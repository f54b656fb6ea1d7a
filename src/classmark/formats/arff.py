"""ARFF files of Mulan and MEKA: multi-label examples, sparse or dense.

Labels are those of a Mulan XML file, those named, or, as MEKA has it, the first n (or
the last, where n < 0) attributes, by ``-C n`` in the relation's name.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING
from xml.sax.saxutils import quoteattr

import numpy as np

from classmark.arrays import Bools
from classmark.formats.records import Examples, together
from classmark.formats.svmlight import NUMBER, BadToken, Pairs, parse_pairs, rows_of
from classmark.formats.text_files import LIMITS, lines, open_bytes, writing
from classmark.problems import Mistake, UnreadableFile
from classmark.progress import track
from classmark.sparse import Rows, keep_columns
from classmark.taxonomy.category import Category, taxonomy_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from xml.etree.ElementTree import Element


SPACE = "http://mulan.sourceforge.net/labels"


def read_mulan_labels(path: Path | str) -> list[Category]:
    """Read the labels in the file's order; a label inside another is below it.

    DTDs and entities are refused.
    """
    from xml.etree.ElementTree import ParseError

    from defusedxml.common import DefusedXmlException
    from defusedxml.ElementTree import fromstring

    with open_bytes(path) as stream:
        text = stream.read(LIMITS.line)
    try:
        root = fromstring(text, forbid_dtd=True)
    except DefusedXmlException as error:
        raise UnreadableFile(
            path, None, f"XML with a DTD or entities is refused ({error})"
        ) from error
    except (ParseError, ValueError, LookupError) as error:
        line = getattr(error, "position", (None,))[0]
        raise UnreadableFile(path, line, f"not XML: {error}") from error
    categories: dict[str, Category] = {}
    waiting: list[tuple[Element, str]] = [(child, "") for child in root][::-1]
    while waiting:
        element, parent = waiting.pop()
        name = element.get("name")
        if element.tag.rpartition("}")[2] != "label" or not name or name in categories:
            raise UnreadableFile(
                path, None, f"<label> with a name of its own is needed, not {name!r}"
            )
        categories[name] = Category(name, parents=(parent,) if parent else ())
        waiting.extend([(child, name) for child in element][::-1])
    return list(categories.values())


def write_mulan_labels(categories: Iterable[Category], path: Path | str) -> None:
    """Write labels; a category is nested in its first parent."""
    listed = list(categories)
    tree = taxonomy_of(listed)
    for category in listed:
        if len(category.parents) > 1:
            raise Mistake(f"{category.id!r} has several parents: Mulan nests in one")
    with writing(path) as out:
        out.write(f'<?xml version="1.0" encoding="utf-8"?>\n<labels xmlns="{SPACE}">\n')
        waiting = [(root, False) for root in tree.roots][::-1]
        while waiting:
            name, closing = waiting.pop()
            if closing:
                out.write("</label>\n")
                continue
            out.write(f"<label name={quoteattr(name)}>")
            waiting.append((name, True))
            waiting.extend([(child, False) for child in tree.children(name)][::-1])
        out.write("</labels>\n")


QUOTED = r"'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\""
NAME = re.compile(rf"({QUOTED}|[^\s{{'\"][^\s{{]*)\s*(.*)", re.DOTALL)
NOMINAL = re.compile(rf"\s*({QUOTED}|[^,]*?)\s*(?:,|$)")
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
        match = NOMINAL.match(text, at)
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


BLOCK = 4096
VALUE = re.compile(NUMBER.decode())
MEKA = re.compile(r"-C\s+(-?\d{1,9})\b")


def read_arff(
    path: Path | str,
    labels: Path | str | Sequence[str] | None = None,
    *,
    encoding: str = "utf-8",
) -> Examples:
    """Read a file: attributes that are labels become labels, the rest columns.

    labels : a Mulan XML file, or the names of the label attributes; by default MEKA's
    ``-C n`` decides. Raises ``UnreadableFile``, with the line, for missing values
    (``?``), instance weights, and attributes that are neither numbers nor names of
    numbers such as {0,1}.
    """
    numbered = iter(lines(path, encoding))
    header = read_header(str(path), numbered)
    names = _label_names(path, header, labels)
    table = _Table(str(path), header, frozenset(names))
    return together(table.blocks(numbered))


def _label_names(
    path: Path | str, header: Header, labels: Path | str | Sequence[str] | None
) -> list[str]:
    if isinstance(labels, str | Path):
        names = [category.id for category in read_mulan_labels(labels)]
    elif labels is not None:
        names = list(labels)
    else:
        return _meka_names(path, header)
    attribute_names = {attribute.name for attribute in header.attributes}
    for name in names:
        if name not in attribute_names:
            raise UnreadableFile(path, None, f"the label {name!r} is not an attribute")
    return names


def _meka_names(path: Path | str, header: Header) -> list[str]:
    match = MEKA.search(header.relation)
    if match is None:
        raise UnreadableFile(
            path,
            None,
            "which attributes are labels is not said (no -C n in the relation): give "
            "labels=, a Mulan XML file or their names",
        )
    count, names = int(match[1]), [a.name for a in header.attributes]
    if abs(count) > len(names):
        raise UnreadableFile(path, None, f"-C {count}, but {len(names)} attributes")
    return names[:count] if count >= 0 else names[count:]


@dataclass
class _Table:
    """The rows below ``@data``, as examples."""

    path: str
    header: Header
    labels: frozenset[str]

    def __post_init__(self) -> None:
        self.odd = self.header.first_not_zero
        self.is_label = np.array(
            [a.name in self.labels for a in self.header.attributes], bool
        )

    def blocks(self, numbered: Iterator[tuple[int, str]]) -> Iterator[Examples]:
        """Yield blocks of rows, and at least one, however empty."""
        tokens: list[bytes] = []
        lengths: list[int] = []
        at: list[int] = []
        for number, line in track(numbered, f"reading {self.path}"):
            text = line.strip()
            if text and not text.startswith("%"):
                row = self._tokens(number, text)
                tokens.extend(row)
                lengths.append(len(row))
                at.append(number)
            if len(lengths) == BLOCK:
                yield self._examples(tokens, lengths, at)
                tokens, lengths, at = [], [], []
        yield self._examples(tokens, lengths, at)

    def _tokens(self, number: int, text: str) -> list[bytes]:
        """Return the row as ``attribute value`` tokens."""
        if text.startswith("{"):
            inside, brace, rest = text[1:].partition("}")
            if not brace or rest.strip():
                raise UnreadableFile(
                    self.path, number, "one {…} a line is needed, without weight"
                )
            self._refuse_sparse(number)
            return [part.strip().encode() for part in inside.split(",") if inside]
        values = [part.strip().strip("'\"") for part in text.split(",")]
        if len(values) != len(self.header.attributes):
            raise UnreadableFile(
                self.path,
                number,
                f"{len(values)} values for {len(self.header.attributes)} attributes",
            )
        return [f"{at} {value}".encode() for at, value in enumerate(values)]

    def _refuse_sparse(self, number: int) -> None:
        """In sparse rows what is left out is the first value: it must be 0."""
        if self.odd:
            raise UnreadableFile(
                self.path,
                number,
                f"sparse rows, but the first value of attribute {self.odd!r} is not 0: "
                "list 0 first",
            )

    def _examples(
        self, tokens: list[bytes], lengths: list[int], at: list[int]
    ) -> Examples:
        attributes = self.header.attributes
        try:
            rows = rows_of(
                self._checked(parse_pairs(tokens, b" ")), lengths, len(attributes)
            )
        except BadToken as bad:
            row = int(np.searchsorted(np.cumsum(lengths), bad.at, side="right"))
            raise UnreadableFile(self.path, at[row], _explained(bad, tokens)) from None
        is_label = self.is_label
        return Examples(
            keep_columns(rows, np.flatnonzero(~is_label)),
            tuple(_present(rows, is_label, attributes)),
            feature_names=_names(attributes, ~is_label),
            label_names=_names(attributes, is_label),
            lines=tuple(at),
        )

    def _checked(self, pairs: Pairs) -> Pairs:
        beyond = pairs.indices >= len(self.header.attributes)
        if beyond.any():
            at = int(np.argmax(beyond))
            raise BadToken(
                at, f"attribute {pairs.indices[at]} is not declared: counted from 0"
            )
        strange = self.is_label[pairs.indices] & (pairs.values != 0)
        strange &= pairs.values != 1
        if strange.any():
            at = int(np.argmax(strange))
            raise BadToken(at, f"{pairs.values[at]:g} for a label: 0 or 1 is needed")
        return pairs


def _explained(bad: BadToken, tokens: list[bytes]) -> str:
    if tokens[bad.at].endswith(b"?"):
        return "a missing value (?): fill it in or remove the row"
    return bad.problem


def _names(attributes: Sequence[Attribute], mask: Iterable[bool]) -> tuple[str, ...]:
    return tuple(
        a.name for a, selected in zip(attributes, mask, strict=True) if selected
    )


def _present(
    rows: Rows, is_label: Bools, attributes: Sequence[Attribute]
) -> Iterator[tuple[str, ...]]:
    for at in range(len(rows)):
        columns = rows.row(at)[0]
        yield tuple(attributes[column].name for column in columns[is_label[columns]])


def write_arff(examples: Examples, path: Path | str, *, relation: str) -> None:
    """Write sparse ARFF, labels first, with MEKA's ``-C n`` in the relation's name.

    Needs ``label_names``; features without names are called Att1, Att2, ….
    """
    names = examples.label_names
    features = examples.feature_names or tuple(
        f"Att{at + 1}" for at in range(examples.rows.width)
    )
    if len({*names, *features}) < len(names) + len(features):
        raise Mistake("names of labels and features must all differ: rename some")
    number = {name: at for at, name in enumerate(names)}
    with writing(path) as out:
        out.write(f"@relation {quoted(f'{relation}: -C {len(names)}')}\n\n")
        out.writelines(f"@attribute {quoted(name)} {{0,1}}\n" for name in names)
        out.writelines(f"@attribute {quoted(name)} numeric\n" for name in features)
        out.write("\n@data\n")
        for at in track(range(len(examples)), f"writing {path}", len(examples)):
            out.write(_row(examples, at, number))


def quoted(name: str) -> str:
    r"""Quote a name of an ARFF header.

    >>> print(quoted("it's"))
    'it\'s'
    """
    if any(sign in name for sign in "\n\r") or not name:
        raise Mistake(f"{name!r} cannot be a name: it is empty or has a line break")
    escaped = name.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"


def _row(examples: Examples, at: int, number: dict[str, int]) -> str:
    unknown = [label for label in examples.labels[at] if label not in number]
    if unknown:
        raise Mistake(f"labels, row {at}: {unknown[0]!r} is not among label_names")
    present = sorted(number[label] for label in examples.labels[at])
    columns, values = examples.rows.row(at)
    parts = [f"{label} 1" for label in present]
    parts += [
        f"{column + len(number)} {text.removesuffix('.0')}"
        for column, text in zip(columns, values.astype(str).tolist(), strict=True)
    ]
    return "{" + ",".join(parts) + "}\n"
