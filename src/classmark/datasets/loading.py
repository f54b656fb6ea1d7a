"""Which loader reads this collection?"""

from __future__ import annotations

from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from classmark.datasets.dataset import CATALOG, known, where
from classmark.problems import Mistake

if TYPE_CHECKING:
    from classmark.datasets.dataset import Dataset

MODULES = {
    "library": ("library",),
    "texts": (
        "reuters", "newsgroups", "rcv1", "debtags", "pypi", "makupalat", "wikispeedia",
    ),
    "multilabel": ("mulan", "vectors", "libsvm"),
    "lshtc": ("lshtc",),
    "retrieval": (
        "cranfield", "cacm", "adi", "npl", "beir", "nfcorpus", "letor", "sogou", "obp",
    ),
    "graphs": ("edges", "polblogs"),
}  # fmt: skip
LOADERS = {family: module for module, some in MODULES.items() for family in some}
ANY_OF_THE_KIND = ("beir", "letor", "libsvm", "mulan", "lshtc", "edges")


def load(
    name: str, path: Path | str | None = None, split: str | None = None
) -> Dataset:
    """Load a known collection, or, with ``path``, any of a known kind.

    name : a name of :data:`classmark.datasets.CATALOG`; one with a part, such as
    ``"yahoo-arts"``, is the collection with that split; a kind (``"beir"``,
    ``"letor"``, ``"libsvm"``, ``"mulan"``, ``"lshtc"``, ``"edges"``) reads the folder
    or file at ``path``.
    path : the collection's folder, or the one that holds it; by default that in
    ``CLASSMARK_DATA``, then in the user's cache.
    split : which part or task, where there are several.
    """
    if name in ANY_OF_THE_KIND and name not in CATALOG:
        if path is None:
            raise Mistake(f"{name!r} is a kind of collection: say where with path=")
        return _read(name, Path(path), split, name)
    name, split = _with_part(name, split)
    entry = known(name)
    if entry.family == "library" and path is None:
        from classmark.datasets.library import library_folder

        path = library_folder()
    return _read(entry.family, where(name, path), split or None, name)


def _with_part(name: str, split: str | None) -> tuple[str, str | None]:
    for entry in CATALOG.values():
        part = name.removeprefix(f"{entry.name}-")
        if part != name and part in entry.splits and split in (None, part):
            return entry.name, part
    return name, split


def _read(family: str, folder: Path, split: str | None, name: str) -> Dataset:
    if not folder.exists():
        raise Mistake(f"{folder} is not there: give the folder of the collection")
    module = import_module(f"classmark.datasets.{LOADERS[family]}")
    dataset: Dataset = getattr(module, f"load_{family}")(folder, split)
    return replace(dataset, name=name)
