"""Folders of texts: one file per document, subfolders as labels.

A zip or tar of such a folder is read the same way, without unpacking it.
"""

from __future__ import annotations

import re
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from classmark.corpus.document import Document
from classmark.formats.archive import Entry, entries
from classmark.formats.ids import Ids
from classmark.formats.record import SECONDARY, Record
from classmark.formats.text_files import LIMITS, Limits, whole_text
from classmark.problems import UnreadableFile

if TYPE_CHECKING:
    from collections.abc import Iterator

BLANK_LINE = re.compile(r"\r?\n[ \t]*\r?\n")


def read_text_folder(
    path: Path | str,
    *,
    labels: bool = True,
    suffix: str = ".txt",
    encoding: str = "utf-8",
    limits: Limits = LIMITS,
) -> Iterator[Record]:
    """Yield one record per file with the suffix; others are passed over.

    The id is the path inside the folder without the suffix; with ``labels`` the
    subfolder is the label (``bees/wild/a.txt`` has the label ``bees/wild``). Links that
    leave the folder are refused.
    """
    ids = Ids()
    for entry in _files(path, limits):
        if entry.name.endswith(suffix) and PurePosixPath(entry.name).name != suffix:
            name = ids.new(entry.name.removesuffix(suffix), entry.where, None)
            folder = str(PurePosixPath(name).parent)
            body = _text(entry, encoding, limits)
            given = {folder: SECONDARY} if labels and folder != "." else {}
            yield Record(Document(name, {"body": body}), given)


def _files(path: Path | str, limits: Limits) -> Iterator[Entry]:
    if not Path(path).exists():
        raise UnreadableFile(path, None, "no such folder: give the path of a folder")
    return entries(path, limits)


def _text(entry: Entry, encoding: str, limits: Limits) -> str:
    with entry.open() as stream:
        return whole_text(stream, entry.where, encoding, limits)


def read_newsgroups(
    path: Path | str, *, headers: bool = True, limits: Limits = LIMITS
) -> Iterator[Record]:
    """Yield the messages of 20 Newsgroups folders, ``group/number`` in latin-1.

    ``path`` is one part (``20news-bydate-train``) or the folder of several. The id is
    ``group/number``, with the part before it when there are several; the label is the
    group, ``meta["part"]`` the part. Without ``headers`` all up to the first blank
    line is left out.
    """
    ids = Ids()
    for entry in _files(path, limits):
        parts = PurePosixPath(entry.name).parts
        if len(parts) not in {2, 3} or any(part.startswith(".") for part in parts):
            raise UnreadableFile(
                entry.where, None, "not at group/number: give the folder of the groups"
            )
        body = _text(entry, "latin-1", limits)
        yield Record(
            Document(
                ids.new(entry.name, entry.where, None),
                {"body": body if headers else without_headers(body)},
            ),
            {parts[-2]: SECONDARY},
            {"part": parts[0] if len(parts) == 3 else _part(path)},
        )


def _part(path: Path | str) -> str:
    return Path(path).resolve().name


def without_headers(message: str) -> str:
    r"""Return a message after its first blank line; all of it when there is none.

    >>> without_headers("Subject: bees\n\nThey swarm.")
    'They swarm.'
    """
    blank = BLANK_LINE.search(message)
    return message[blank.end() :] if blank else message
