"""Reference: the id and the title of a document, as lists of references have them."""

from __future__ import annotations

from typing import NamedTuple


class Reference(NamedTuple):
    """A document to be cited;  note : why it is in the list."""

    id: str
    title: str = ""
    note: str = ""
