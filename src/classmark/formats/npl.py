"""NPL, also called Vaswani: a number, lines of text, and a line with a slash.

The same layout serves ``doc-text``, ``query-text`` and the judgments ``rlv-ass``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from classmark.corpus.document import Document
from classmark.formats.ids import Ids
from classmark.formats.judged import Judgment
from classmark.formats.record import Record
from classmark.formats.text_files import lines
from classmark.problems import UnreadableFile

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


def _blocks(path: Path | str) -> Iterator[tuple[int, str, list[tuple[int, str]]]]:
    """Yield (line, number, (line, text) pairs) of each block."""
    start, name = 0, ""
    held: list[tuple[int, str]] = []
    ids = Ids()
    for line, text in lines(path, "latin-1"):
        word = text.strip()
        if not name:
            if word.isdecimal():
                start, name, held = line, ids.new(word, str(path), line), []
            elif word:
                raise UnreadableFile(
                    path, line, f"{word:.40} where a number should begin a block"
                )
        elif word == "/":
            yield start, name, held
            name = ""
        else:
            held.append((line, text))
    if name:
        raise UnreadableFile(
            path, start, f"block {name} is not ended: put a line with / after it"
        )


def read_npl(path: Path | str) -> Iterator[Record]:
    """Yield the documents of ``doc-text``, or the queries of ``query-text``."""
    for _, name, held in _blocks(path):
        body = "\n".join(text for _, text in held).strip()
        yield Record(Document(name, {"body": body} if body else {}))


def read_npl_judgments(path: Path | str) -> Iterator[Judgment]:
    """Yield the judgments of ``rlv-ass``: the numbers of the relevant documents."""
    for _, query, held in _blocks(path):
        for line, text in held:
            for word in text.split():
                if not word.isdecimal():
                    raise UnreadableFile(
                        path, line, f"{word:.40} is no document number: mend it"
                    )
                yield Judgment(query, word, 1.0)
