"""Where are the known collections, and how are they laid out?"""

from classmark.datasets.dataset import (
    CATALOG,
    Dataset,
    Documents,
    Impressions,
    Known,
    Link,
    Part,
    Session,
    Source,
    load,
    where,
)

__all__ = [
    "CATALOG",
    "Dataset",
    "Documents",
    "Impressions",
    "Known",
    "Link",
    "Part",
    "Session",
    "Source",
    "load",
    "where",
]
