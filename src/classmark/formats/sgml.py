"""Old SGML, read as text: elements by their tags, no DTD, no entities of its own."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from classmark.formats.text_files import LIMITS, Limits
from classmark.problems import UnreadableFile

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

ENTITY = re.compile(r"&(lt|gt|amp|quot|apos|#\d{1,7}|#[xX][0-9a-fA-F]{1,6});")
NAMED = {"lt": "<", "gt": ">", "amp": "&", "quot": '"', "apos": "'"}
CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")
TAG = re.compile(r"<(/?)([A-Za-z][\w.-]*+)([^<>]*+)>")
DECLARATION = re.compile(
    r"<!\s*+(ENTITY|ELEMENT|ATTLIST|NOTATION|DOCTYPE[^<>\[]*+\[)", re.IGNORECASE
)


def plain(text: str) -> str:
    """Decode the five entities and numbers, once; control characters become spaces.

    >>> plain("A&amp;P &lt;GAP> &#2;&unknown;")
    'A&P <GAP>  &unknown;'
    """
    return CONTROL.sub(" ", ENTITY.sub(_decoded, text)) if text else ""


def _decoded(match: re.Match[str]) -> str:
    name = match[1]
    if name in NAMED:
        return NAMED[name]
    code = int(f"0{name[1:]}", 16) if name[1] in "xX" else int(name[1:])
    unusable = code > 0x10FFFF or 0xD800 <= code <= 0xDFFF
    return " " if unusable else chr(code)


def refuse_declarations(text: str, path: str, line: int) -> None:
    """Refuse entity declarations and internal subsets; a bare DOCTYPE may stand.

    >>> refuse_declarations('<!DOCTYPE lewis SYSTEM "lewis.dtd">', "a.sgm", 1)
    """
    if "<!" in text and DECLARATION.search(text):
        raise UnreadableFile(
            path, line, "declares entities: remove the declaration, none is expanded"
        )


def elements(
    lines: Iterable[tuple[int, str]], name: str, path: str, limits: Limits = LIMITS
) -> Iterator[tuple[int, str, str]]:
    """Yield (line, opening tag, content) of each outermost ``<name …>``.

    An element begins on a line of its own; between them only blank lines, a DOCTYPE and
    comments may stand.
    """
    opening = re.compile(rf"\s*<{name}(\s[^<>]*)?>", re.IGNORECASE)
    closing = f"</{name}>".lower()
    start, tag, size = 0, "", 0
    held: list[str] = []
    for number, line in lines:
        refuse_declarations(line, path, number)
        rest = line
        if not tag:
            match = opening.match(line)
            if match is None:
                _refuse_stray(line, name, path, number)
                continue
            start, tag, held, size = number, match[0], [], 0
            rest = line[match.end() :]
        end = rest.lower().find(closing)
        held.append(rest if end < 0 else rest[:end])
        size += len(rest)
        if size > limits.line:
            raise UnreadableFile(
                path, start, f"<{name}> is not closed: add </{name}>, or raise limits"
            )
        if end >= 0:
            yield start, tag, "".join(held)
            tag = ""
            _refuse_stray(rest[end + len(closing) :], name, path, number)
    if tag:
        raise UnreadableFile(path, start, f"<{name}> is not closed: add </{name}>")


def _refuse_stray(text: str, name: str, path: str, line: int) -> None:
    text = text.strip()
    if text and not (text.startswith("<!") and text.endswith(">")):
        raise UnreadableFile(
            path, line, f"{text:.40} stands outside <{name}>: remove it"
        )


def inside(text: str, name: str) -> str | None:
    """Return what stands between ``<name>`` and ``</name>``, or None.

    >>> inside("<TITLE>Bees</TITLE>", "TITLE")
    'Bees'
    """
    start = text.find(f"<{name}>")
    if start < 0:
        return None
    start += len(name) + 2
    end = text.find(f"</{name}>", start)
    return text[start : end if end >= 0 else len(text)]
