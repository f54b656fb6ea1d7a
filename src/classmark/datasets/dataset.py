"""Known collections: where they are, how they are loaded, and what they hold.

They are listed in ``catalog.json``, beside this file.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from importlib import import_module
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple
from zlib import crc32

from classmark.arrays import Floats, Ints
from classmark.problems import Mistake

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

    from classmark.corpus.documents import Document
    from classmark.formats.records import Examples
    from classmark.taxonomy.category import Category
    from classmark.taxonomy.tree import Taxonomy


@dataclass(frozen=True, slots=True)
class Source:
    """One file to download.

    address : https;  name : where it goes in the collection's folder (archives are
    unpacked there);  sha256 : its checksum, or "" where none is published: then the
    first download is pinned.
    """

    address: str
    name: str
    sha256: str = ""


@dataclass(frozen=True, slots=True)
class PublicCollection:
    """A public collection.

    sources : what ``classmark data get`` downloads; none where the publisher asks you
    to come to ``page`` (then use ``--from``).  family : the loader.  splits : what
    ``load`` takes as ``split``, the default first ("" stands for None).
    """

    name: str
    what: str
    family: str
    licence: str
    splits: tuple[str, ...] = ()
    page: str = ""
    sources: tuple[Source, ...] = ()


def _known(name: str, row: dict[str, Any]) -> PublicCollection:
    sources = tuple(Source(**source) for source in row.pop("sources", ()))
    splits = tuple(row.pop("splits", ()))
    return PublicCollection(name, sources=sources, splits=splits, **row)


FOLDER = Path(str(files("classmark.datasets")))
CATALOG = {
    name: _known(name, row)
    for name, row in json.loads((FOLDER / "catalog.json").read_text("utf-8")).items()
}


def known(name: str) -> PublicCollection:
    """Return what is known of a collection, or say which there are.

    >>> known("cranfield").what
    '1,400 abstracts, 225 queries'
    """
    if name not in CATALOG:
        raise Mistake(
            f"{name!r} is not a known collection: give one of {', '.join(CATALOG)}"
        )
    return CATALOG[name]


VARIABLE = "CLASSMARK_DATA"


def user_cache() -> Path:
    """Where ``classmark data get`` puts collections."""
    home = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return Path(home) / "classmark" / "data"


def where(name: str, path: Path | str | None = None) -> Path:
    """Find the folder (or file) of a collection.

    Looked at in this order: ``path`` and the folder of that name in it; the folder in
    ``CLASSMARK_DATA``; the folder in the user's cache.
    """
    folder = find(name, path)
    if folder is not None:
        return folder
    places = _places(name, path)
    raise Mistake(
        f"the files of {name!r} are not there (looked in "
        f"{', '.join(str(place) for place in places)}): set {VARIABLE} to the folder "
        f"that holds {name}/, give path=, or run: classmark data get {name}"
    )


def find(name: str, path: Path | str | None = None) -> Path | None:
    """Find the folder (or file) of a collection, or None; see :func:`where`."""
    return next((place for place in _places(name, path) if place.exists()), None)


def _places(name: str, path: Path | str | None) -> list[Path]:
    if path is not None:
        return [Path(path) / name, Path(path)]
    data_folder = os.environ.get(VARIABLE)
    return [*([Path(data_folder) / name] if data_folder else []), user_cache() / name]


def one_of(folder: Path, *patterns: str) -> Path:
    """Return the first file or folder in ``folder`` that fits a pattern.

    Raises a ``Mistake`` naming the folder and the patterns.
    """
    match = any_of(folder, *patterns)
    if match is None:
        raise Mistake(
            f"{folder} holds no {' or '.join(patterns)}: check the folder, or fetch "
            "the collection again with classmark data get"
        )
    return match


def any_of(folder: Path, *patterns: str) -> Path | None:
    """Return the first file or folder in ``folder`` that fits a pattern, or None."""
    paths = (path for pattern in patterns for path in sorted(folder.glob(pattern)))
    return next(paths, None)


def chosen_split(split: str | None, *splits: str) -> str:
    """Return the split, by default the first; another one is a ``Mistake``."""
    if split is None:
        return splits[0]
    if split not in splits:
        *first, last = map(repr, splits)
        raise Mistake(f"split={split!r}: there are {', '.join(first)} and {last}")
    return split


def json_rows(path: Path, **kinds: type) -> Iterator[list[Any]]:
    """Yield the values of some keys on each line of JSONL, of the types needed."""
    from classmark.formats.jsonl import json_lines

    rows = json_lines(path)
    for _, row in rows:
        for key, kind in kinds.items():
            if not isinstance(row.get(key), kind):
                rows.refuse(f"{key!r} is needed, a {kind.__name__}")
        yield [row[key] for key in kinds]


class Link(NamedTuple):
    """From one document to another, and the words that point there."""

    source: str
    target: str
    anchor: str = ""


class ClickSession(NamedTuple):
    """One result list: the query, what was shown, best first, and what was clicked."""

    query: str
    shown: tuple[str, ...]
    clicked: tuple[bool, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Impressions:
    """Single items shown with known probability: arrays of one length.

    items : the number of the item;  positions : 1 is the first place;
    clicks : 0 or 1;  propensities : the probability with which it was shown there.
    """

    items: Ints
    positions: Ints
    clicks: Ints
    propensities: Floats

    def __len__(self) -> int:
        return len(self.items)


@dataclass(frozen=True, slots=True, eq=False)
class DatasetPart:
    """The examples of one part of a collection.

    ids : a name for each;  texts : empty where the set comes as vectors;
    labels : for each the names of its labels;  X : vectors, shape (n, features);
    qids, grades : of learning-to-rank rows;  sessions, impressions : of click logs.
    """

    ids: list[str] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)
    labels: list[list[str]] = field(default_factory=list)
    X: csr_matrix | None = None
    qids: list[str] | None = None
    grades: Floats | None = None
    sessions: list[ClickSession] | None = None
    impressions: Impressions | None = None

    def __len__(self) -> int:
        return len(self.ids)

    def add(self, name: str, text: str, labels: Iterable[str]) -> None:
        """Add one text with its labels."""
        self.ids.append(name)
        self.texts.append(text)
        self.labels.append(list(labels))


def part_of(
    examples: Examples, *, width: int | None = None, prefix: str = ""
) -> DatasetPart:
    """Turn examples into a part; rows without a name are numbered from 1."""
    rows = examples.rows
    return DatasetPart(
        ids=[f"{prefix}{number}" for number in range(1, len(examples) + 1)],
        labels=[list(labels) for labels in examples.labels],
        X=rows.with_width(width or rows.width).to_scipy(),
    )


class CollectionDocuments:
    """The documents of a collection, read anew each time they are asked for.

    >>> from classmark.corpus.documents import Document
    >>> [document.id for document in CollectionDocuments(lambda: [Document("a")])]
    ['a']
    """

    def __init__(self, read: Callable[[], Iterable[Document]]) -> None:
        self._read = read

    def __iter__(self) -> Iterator[Document]:
        return iter(self._read())


@dataclass(frozen=True, eq=False)
class Dataset:
    """A known collection.

    label_names : every label that ``labels`` of the parts may hold; their order is the
    order of label numbers.  queries : id → text;  qrels : query → document → grade.
    tree, about : read the taxonomy, and what is said about categories, when asked.
    """

    name: str
    train: DatasetPart = field(default_factory=DatasetPart)
    test: DatasetPart = field(default_factory=DatasetPart)
    validation: DatasetPart | None = None
    label_names: list[str] = field(default_factory=list)
    feature_names: list[str] = field(default_factory=list)
    tree: Callable[[], Taxonomy] | None = None
    queries: Mapping[str, str] = field(default_factory=dict)
    qrels: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    documents: Iterable[Document] = ()
    links: Sequence[Link] = ()
    about: Callable[[], DatasetPart] | None = None

    @cached_property
    def taxonomy(self) -> Taxonomy | None:
        """The tree of the labels, read when first asked for; None without one."""
        return None if self.tree is None else self.tree()

    @cached_property
    def descriptions(self) -> DatasetPart:
        """What is said about categories: ``ids`` name them, ``texts`` or ``X`` say it.

        Empty where the set says nothing; inner categories may be described too.
        """
        return DatasetPart() if self.about is None else self.about()

    def label_numbers(self, part: DatasetPart) -> list[list[int]]:
        """The labels of a part as numbers, positions in ``label_names``."""
        number = {name: at for at, name in enumerate(self.label_names)}
        return [[number[name] for name in labels] for labels in part.labels]


def names_in(*parts: DatasetPart) -> list[str]:
    """Every label of the parts, sorted."""
    return sorted({name for part in parts for row in part.labels for name in row})


def descriptions_of(categories: Iterable[Category]) -> DatasetPart:
    """Names, scope notes and synonyms of categories, as their descriptions.

    >>> from classmark.taxonomy.category import Category
    >>> descriptions_of([Category("q", label="Bees", synonyms=("honey",))]).texts
    ['Bees honey']
    """
    described = {
        category.id: " ".join(
            filter(None, (category.label, category.note, *category.synonyms))
        )
        for category in categories
    }
    return DatasetPart(ids=list(described), texts=list(described.values()))


def in_test(key: str) -> bool:
    """Whether a document goes to the test part where a set has no split of its own.

    One in three does, by the checksum of a key: the same on every machine, and all
    documents of one key together.

    >>> [in_test(key) for key in ("a", "b", "c")]
    [True, False, True]
    """
    return crc32(key.encode()) % 3 == 0


MODULES = {
    "library": ("library",),
    "texts": (
        "reuters", "newsgroups", "rcv1", "debtags", "pypi", "makupalat", "wikispeedia",
        "edges", "polblogs",
    ),
    "vectors": ("mulan", "mediamill", "vectors", "libsvm", "lshtc"),
    "retrieval": (
        "cranfield", "cacm", "adi", "npl", "beir", "nfcorpus", "letor", "sogou", "obp",
    ),
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
    for entry in CATALOG.values():
        part = name.removeprefix(f"{entry.name}-")
        if part != name and part in entry.splits and split in (None, part):
            name, split = entry.name, part
            break
    entry = known(name)
    if entry.family == "library" and path is None:
        path = FOLDER / "library"
    return _read(entry.family, where(name, path), split or None, name)


def _read(family: str, folder: Path, split: str | None, name: str) -> Dataset:
    if not folder.exists():
        raise Mistake(f"{folder} is not there: give the folder of the collection")
    module = import_module(f"classmark.datasets.{LOADERS[family]}")
    dataset: Dataset = getattr(module, f"load_{family}")(folder, split)
    return replace(dataset, name=name)
