"""Which loader reads this collection?"""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from classmark.datasets.dataset import CATALOG, known, where
from classmark.problems import Mistake

if TYPE_CHECKING:
    from classmark.datasets.dataset import Dataset

LOADERS = {
    "library": ("library", "load_library"),
    "reuters": ("texts", "load_reuters"),
    "newsgroups": ("texts", "load_newsgroups"),
    "rcv1": ("texts", "load_rcv1"),
    "mulan": ("multilabel", "load_mulan"),
    "vectors": ("multilabel", "load_named_vectors"),
    "libsvm": ("multilabel", "load_libsvm"),
    "debtags": ("texts", "load_debtags"),
    "pypi": ("texts", "load_pypi"),
    "makupalat": ("texts", "load_makupalat"),
    "wikispeedia": ("texts", "load_wikispeedia"),
    "lshtc": ("lshtc", "load_lshtc"),
    "cranfield": ("retrieval", "load_cranfield"),
    "cacm": ("retrieval", "load_cacm"),
    "adi": ("retrieval", "load_adi"),
    "npl": ("retrieval", "load_npl"),
    "beir": ("retrieval", "load_beir"),
    "nfcorpus": ("retrieval", "load_nfcorpus"),
    "letor": ("retrieval", "load_letor"),
    "sogou": ("retrieval", "load_sogou"),
    "obp": ("retrieval", "load_obp"),
    "edges": ("graphs", "load_edges"),
    "polblogs": ("graphs", "load_polblogs"),
}
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
    from dataclasses import replace

    module, function = LOADERS[family]
    if not folder.exists():
        raise Mistake(f"{folder} is not there: give the folder of the collection")
    read = getattr(import_module(f"classmark.datasets.{module}"), function)
    dataset: Dataset = replace(read(folder, split), name=name)
    return dataset
