"""Where are the known collections, and how are they laid out?"""

from classmark.datasets.dataset import (
    CATALOG,
    Dataset,
    Documents,
    Known,
    Link,
    Part,
    Session,
    load,
    where,
)

__all__ = [
    "CATALOG",
    "Dataset",
    "Documents",
    "Known",
    "Link",
    "Part",
    "Session",
    "load",
    "where",
]
