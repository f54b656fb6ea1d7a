"""ARFF files of Mulan and MEKA: multi-label examples, sparse or dense.

Labels are those of a Mulan XML file, those named, or, as MEKA has it, the first n (or
the last, where n < 0) attributes, by ``-C n`` in the relation's name.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path

import numpy as np

from classmark.arrays import Bools, keep_columns
from classmark.formats.records import Examples, together
from classmark.formats.svmlight import NUMBER, BadToken, Pairs, TokenBlock, value_texts
from classmark.formats.taxonomies import read_mulan_labels
from classmark.formats.text_files import FilePlace, lines, writing
from classmark.problems import Mistake, UnreadableFile
from classmark.progress import track

QUOTED = r"'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\""
NAME = re.compile(rf"({QUOTED}|[^\s{{'\"][^\s{{]*)\s*(.*)", re.DOTALL)
NOMINAL = re.compile(rf"\s*({QUOTED}|[^,]*?)\s*(?:,|$)")
NUMERIC = frozenset({"numeric", "real", "integer"})
PLAIN = re.compile(NUMBER.decode())


Attributes = dict[str, tuple[str, ...]]  # name → numbers listed, or () for any number


def _header(
    file: FilePlace, numbered: Iterator[tuple[int, str]]
) -> tuple[str, Attributes]:
    """Read the relation's name and the attributes, up to and with ``@data``."""
    relation = ""
    attributes: Attributes = {}
    for _, line in numbered:
        word, _, rest = line.strip().replace("\t", " ").partition(" ")
        if word.lower() == "@data":
            return relation, attributes
        if word.lower() == "@relation":
            relation = unquoted(rest.strip())
        elif word.lower() == "@attribute":
            name, values = _attribute(file, rest.strip())
            if name in attributes:
                file.refuse(f"attribute {name!r} is there twice")
            attributes[name] = values
        else:
            file.refuse(f"{word[:40]!r}: @relation, @attribute or @data expected")
    raise UnreadableFile(file.path, None, "no @data line: is this an ARFF file?")


def _attribute(file: FilePlace, text: str) -> tuple[str, tuple[str, ...]]:
    match = NAME.fullmatch(text)
    if match is None:
        file.refuse("@attribute needs a name and a type")
    name, kind = unquoted(match[1]), match[2].strip()
    if kind.lower().split(" ")[0] in NUMERIC:
        return name, ()
    is_list = kind.startswith("{") and kind.endswith("}")
    listed = NOMINAL.finditer(kind[1:-1]) if is_list else ()
    values = tuple(unquoted(m[1]) for m in listed if m.start() < len(kind) - 2)
    if not values or not all(PLAIN.fullmatch(value) for value in values):
        file.refuse(
            f"attribute {name!r} of type {kind[:40]!r}: only numbers and lists of "
            "numbers such as {0,1} can be read: turn it into 0/1 attributes first"
        )
    return name, values


def unquoted(text: str) -> str:
    r"""Take the quotes of a name away.

    >>> unquoted(r"'it\'s'"), unquoted("plain")
    ("it's", 'plain')
    """
    if len(text) >= 2 and text[0] in "'\"" and text[-1] == text[0]:
        return re.sub(r"\\(.)", r"\1", text[1:-1], flags=re.DOTALL)
    return text


BLOCK = 4096
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
    file = lines(path, encoding, blank=False)
    numbered = (pair for pair in file if not pair[1].lstrip().startswith("%"))
    relation, attributes = _header(file, numbered)
    if isinstance(labels, str | Path):
        labels = [category.id for category in read_mulan_labels(labels)]
    elif labels is None:
        match = MEKA.search(relation)
        if match is None:
            FilePlace(path).refuse(
                "which attributes are labels is not said (no -C n in the relation): "
                "give labels=, a Mulan XML file or their names"
            )
        count, names = int(match[1]), list(attributes)
        if abs(count) > len(names):
            FilePlace(path).refuse(f"-C {count}, but {len(names)} attributes")
        labels = names[:count] if count >= 0 else names[count:]
    for name in labels:
        if name not in attributes:
            FilePlace(path).refuse(f"the label {name!r} is not an attribute")
    return together(_examples(file, numbered, attributes, set(labels)))


def _examples(
    file: FilePlace,
    numbered: Iterator[tuple[int, str]],
    attributes: Attributes,
    labels: set[str],
) -> Iterator[Examples]:
    """Yield blocks of the rows below ``@data``, and at least one, however empty."""
    names = np.array(list(attributes), object)
    is_label = np.array([name in labels for name in names], bool)
    not_zero = [name for name, values in attributes.items() if values]
    not_zero = [name for name in not_zero if float(attributes[name][0])]
    rows = iter(track(numbered, f"reading {file.path}"))
    block = None
    while block is None or len(block.lines) == BLOCK:
        block = TokenBlock(file.path)
        for number, line in islice(rows, BLOCK):
            block.add(number, _tokens(file, line.strip(), len(names), not_zero))
        vectors = block.rows(
            lambda pairs: (_checked(pairs, is_label), len(names)), b" "
        )
        columns = (vectors.row(at)[0] for at in range(len(vectors)))
        yield Examples(
            keep_columns(vectors, np.flatnonzero(~is_label)),
            tuple(tuple(names[row[is_label[row]]]) for row in columns),
            feature_names=tuple(names[~is_label]),
            label_names=tuple(names[is_label]),
            lines=tuple(block.lines),
        )


def _tokens(file: FilePlace, text: str, width: int, not_zero: list[str]) -> list[bytes]:
    """Return a row as ``attribute value`` tokens.

    not_zero : attributes whose first value is not 0, which sparse rows leave out.
    """
    if text.startswith("{"):
        inside, brace, rest = text[1:].partition("}")
        if not brace or rest.strip():
            file.refuse("one {…} a line is needed, without weight")
        if not_zero:
            file.refuse(
                f"sparse rows, but the first value of attribute {not_zero[0]!r} is not "
                "0: list 0 first"
            )
        return [part.strip().encode() for part in inside.split(",") if inside]
    values = [part.strip().strip("'\"") for part in text.split(",")]
    if len(values) != width:
        file.refuse(f"{len(values)} values for {width} attributes")
    return [f"{at} {value}".encode() for at, value in enumerate(values)]


def _checked(pairs: Pairs, is_label: Bools) -> Pairs:
    beyond = pairs.indices >= len(is_label)
    if beyond.any():
        at = int(np.argmax(beyond))
        raise BadToken(
            at, f"attribute {pairs.indices[at]} is not declared: counted from 0"
        )
    strange = is_label[pairs.indices] & (pairs.values != 0) & (pairs.values != 1)
    if strange.any():
        at = int(np.argmax(strange))
        raise BadToken(at, f"{pairs.values[at]:g} for a label: 0 or 1 is needed")
    return pairs


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
            labels = examples.labels[at]
            unknown = [label for label in labels if label not in number]
            if unknown:
                raise Mistake(
                    f"labels, row {at}: {unknown[0]!r} is not among label_names"
                )
            parts = [f"{label} 1" for label in sorted(number[n] for n in labels)]
            values = value_texts(examples.rows, at).items()
            parts += [f"{column + len(number)} {text}" for column, text in values]
            out.write("{" + ",".join(parts) + "}\n")


def quoted(name: str) -> str:
    r"""Quote a name of an ARFF header.

    >>> print(quoted("it's"))
    'it\'s'
    """
    if any(sign in name for sign in "\n\r") or not name:
        raise Mistake(f"{name!r} cannot be a name: it is empty or has a line break")
    escaped = name.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"
