"""Where are the known collections, and how are they laid out?"""

from classmark.datasets.catalog import CATALOG, Known
from classmark.datasets.dataset import Dataset, Documents, Link, Part, Session
from classmark.datasets.loading import load
from classmark.datasets.where import where

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
