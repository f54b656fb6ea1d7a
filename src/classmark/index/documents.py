"""What may be indexed: pairs, mappings and documents, all read as an id and fields."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence, Sized
from typing import Any, NamedTuple

from classmark.corpus.document import Document
from classmark.problems import Mistake
from classmark.progress import track

#: The field of a document that is only an id and a text.
TEXT = "text"
Given = tuple[str, str] | Mapping[str, Any] | Document


class Entry(NamedTuple):
    """A document to be indexed: its id and its fields, which are strings."""

    id: str
    fields: Mapping[str, str]

    def size(self) -> int:
        """Characters, about; four times as many where not all are ASCII."""
        texts = self.fields.values()
        return sum(len(text) * (1 if text.isascii() else 4) for text in texts)


def entries(
    documents: Iterable[Given], fields: Sequence[str] | None
) -> Iterator[Entry]:
    """Yield the documents as entries; refuse what is not one, by its place.

    fields : which fields are indexed; without, all of them.

    >>> list(entries([("a", "A bee"), {"id": "b", "title": "Hives"}], None))
    [Entry(id='a', fields={'text': 'A bee'}), Entry(id='b', fields={'title': 'Hives'})]
    """
    if isinstance(documents, str | bytes | Mapping):
        kind = type(documents).__name__
        raise Mistake(f"documents is one {kind}: give a list of documents")
    total = len(documents) if isinstance(documents, Sized) else None
    for row, document in enumerate(track(documents, "indexing", total)):
        name, texts = _parts(document, row)
        if not isinstance(name, str) or not name:
            raise Mistake(
                f"documents, row {row}: the id is {name!r}: give a string, not empty"
            )
        if fields is not None:
            texts = {field: texts[field] for field in fields if field in texts}
        for field, text in texts.items():
            if not isinstance(text, str):
                raise Mistake(
                    f"documents, row {row} ({name!r}): field {field!r} is "
                    f"{type(text).__name__}: give a string, or name the fields to "
                    "index (fields=[...])"
                )
        yield Entry(name, texts)


def _parts(document: Given, row: int) -> tuple[Any, Mapping[str, Any]]:
    """Take a document apart."""
    if isinstance(document, tuple | list) and len(document) == 2:
        return document[0], {TEXT: document[1]}
    if isinstance(document, Document):
        return document.id, document.fields
    if isinstance(document, Mapping) and "id" in document:
        return document["id"], {f: v for f, v in document.items() if f != "id"}
    raise Mistake(
        f"documents, row {row}: {type(document).__name__} is not a document: give "
        "(id, text), a mapping with 'id' and fields, or a Document"
    )


def batches(stream: Iterable[Entry], size: int) -> Iterator[list[Entry]]:
    """Group documents so that each group has about so many characters."""
    batch: list[Entry] = []
    held = 0
    for entry in stream:
        batch.append(entry)
        held += entry.size() + 64
        if held >= size:
            yield batch
            batch, held = [], 0
    if batch:
        yield batch
