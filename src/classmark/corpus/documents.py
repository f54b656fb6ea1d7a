"""Document: an id and named fields of text."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Document:
    r"""One text with a name.

    ``fields`` keeps its order; ``title`` and ``body`` are the usual two, others
    (creator, abstract, anchor…) are kept as they come.

    >>> Document("r1", {"title": "Bees", "body": "A hive."}).text
    'Bees\nA hive.'
    """

    id: str
    fields: Mapping[str, str] = field(default_factory=dict)

    @property
    def title(self) -> str:
        """The title, or nothing."""
        return self.fields.get("title", "")

    @property
    def text(self) -> str:
        """All fields, one below the other."""
        return "\n".join(value for value in self.fields.values() if value)
