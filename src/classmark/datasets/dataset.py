"""Dataset: a collection with its parts, labels, queries and links."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple
from zlib import crc32

from classmark.arrays import Floats, Ints

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from scipy.sparse import csr_matrix

    from classmark.corpus.document import Document
    from classmark.taxonomy.category import Category
    from classmark.taxonomy.tree import Taxonomy


class Link(NamedTuple):
    """From one document to another, and the words that point there."""

    source: str
    target: str
    anchor: str = ""


class Session(NamedTuple):
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
class Part:
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
    sessions: list[Session] | None = None
    impressions: Impressions | None = None

    def __len__(self) -> int:
        return len(self.ids)


class Documents:
    """The documents of a collection, read anew each time they are asked for.

    >>> from classmark.corpus.document import Document
    >>> [document.id for document in Documents(lambda: [Document("a")])]
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
    train: Part = field(default_factory=Part)
    test: Part = field(default_factory=Part)
    validation: Part | None = None
    label_names: list[str] = field(default_factory=list)
    feature_names: list[str] = field(default_factory=list)
    tree: Callable[[], Taxonomy] | None = None
    queries: Mapping[str, str] = field(default_factory=dict)
    qrels: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    documents: Iterable[Document] = ()
    links: Sequence[Link] = ()
    about: Callable[[], Part] | None = None

    @cached_property
    def taxonomy(self) -> Taxonomy | None:
        """The tree of the labels, read when first asked for; None without one."""
        return None if self.tree is None else self.tree()

    @cached_property
    def descriptions(self) -> Part:
        """What is said about categories: ``ids`` name them, ``texts`` or ``X`` say it.

        Empty where the set says nothing; inner categories may be described too.
        """
        return Part() if self.about is None else self.about()

    def label_numbers(self, part: Part) -> list[list[int]]:
        """The labels of a part as numbers, positions in ``label_names``."""
        number = {name: at for at, name in enumerate(self.label_names)}
        return [[number[name] for name in labels] for labels in part.labels]


def names_in(*parts: Part) -> list[str]:
    """Every label of the parts, sorted."""
    return sorted({name for part in parts for row in part.labels for name in row})


def said_of(categories: Iterable[Category]) -> Part:
    """Names, scope notes and synonyms of categories, as their descriptions.

    >>> from classmark.taxonomy.category import Category
    >>> said_of([Category("q", label="Bees", synonyms=("honey",))]).texts
    ['Bees honey']
    """
    part = Part()
    for category in categories:
        said = (category.label, category.note, *category.synonyms)
        part.ids.append(category.id)
        part.texts.append(" ".join(text for text in said if text))
    return part


def in_test(key: str) -> bool:
    """Whether a document goes to the test part where a set has no split of its own.

    One in three does, by the checksum of a key: the same on every machine, and all
    documents of one key together.

    >>> [in_test(key) for key in ("a", "b", "c")]
    [True, False, True]
    """
    return crc32(key.encode()) % 3 == 0
