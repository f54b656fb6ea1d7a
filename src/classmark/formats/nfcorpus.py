"""NFCorpus in its own layout: an id, a tab, the text [Boteva16].

``*.docs`` and ``*.queries`` are read here, ``*.qrel`` by ``trec.read_qrels``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from classmark.corpus.document import Document
from classmark.formats.ids import Ids
from classmark.formats.record import Record
from classmark.formats.text_files import lines
from classmark.problems import UnreadableFile

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


def read_nfcorpus(path: Path | str) -> Iterator[Record]:
    """Yield the documents or queries of a file; an empty file is refused.

    Some copies of the collection hold empty files in place of large ones.
    """
    ids = Ids()
    for line, text in lines(path):
        name, tab, body = text.partition("\t")
        if not tab:
            raise UnreadableFile(path, line, "no tab: give an id, a tab, the text")
        body = body.strip()
        fields = {"body": body} if body else {}
        yield Record(Document(ids.new(name.strip(), str(path), line), fields))
    if not ids.seen:
        raise UnreadableFile(path, None, "empty: fetch the file again, it is lacking")
