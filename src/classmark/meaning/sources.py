"""Where vectors of texts come from: a model, a program, a server, or the user's file.

A source turns texts into vectors and says which vectors they are: its name, a digest of
what makes them, and how many numbers each has. No source looks for the network, but a
``VectorServer`` asks the one address that it is given.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from hashlib import blake2b, sha256
from pathlib import Path
from typing import Any, NamedTuple, Protocol, Self, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from classmark.problems import Mistake

Vectors = NDArray[np.float32]
KEY = 16  # bytes of a text's digest
OWN = "own vectors"
PROBE = "The catalogue of the library lists every book by its subject."


@runtime_checkable
class TextEncoder(Protocol):
    """Anything that turns a list of texts into vectors, shape (texts, numbers)."""

    def encode(self, texts: list[str], /) -> ArrayLike:
        """Return one row of numbers for each text."""


class MeaningFacts(NamedTuple):
    """Which vectors they are: what models remember of them."""

    name: str
    digest: str
    dimension: int

    def __str__(self) -> str:
        return f"{self.name} ({self.dimension} numbers, digest {self.digest[:12]})"


class MeaningSource(ABC):
    """Texts become vectors, each of ``dimension`` numbers.

    name : what people call it;  digest : of everything that makes the vectors;
    weight : the length that suits its vectors beside words of length 1.
    """

    name: str
    digest: str
    dimension: int
    weight: float = 0.5

    def encode(self, texts: Iterable[str]) -> Vectors:
        """Return the vectors of texts, shape (texts, dimension), float32."""
        if isinstance(texts, str):
            raise Mistake("texts is one string: give a list of texts")
        listed = list(texts)
        for number, text in enumerate(listed):
            if not isinstance(text, str):
                raise Mistake(f"texts, number {number}: {text!r} is no string")
        if not listed:
            return np.empty((0, self.dimension), np.float32)
        vectors = np.asarray(self._vectors(listed), np.float32)
        if vectors.shape != (len(listed), self.dimension):
            raise Mistake(
                f"{self.name} gave vectors of shape {vectors.shape} for {len(listed)} "
                f"texts: {(len(listed), self.dimension)} is needed"
            )
        if not np.isfinite(vectors).all():
            bad = int(np.argmin(np.isfinite(vectors).all(axis=1)))
            raise Mistake(
                f"{self.name}: the vector of {listed[bad][:40]!r} has a value that is "
                "not finite: look into the model"
            )
        return vectors

    @property
    def facts(self) -> MeaningFacts:
        """Which vectors these are."""
        return MeaningFacts(self.name, self.digest, self.dimension)

    @abstractmethod
    def _vectors(self, texts: list[str]) -> ArrayLike:
        """Return the vectors of one text or more."""

    def __repr__(self) -> str:
        return f"{type(self).__name__}({str(self.facts)!r})"

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        """Return itself: nothing in it changes, and weights are large."""
        return self


def source_from(meaning: TextEncoder | MeaningSource) -> MeaningSource:
    """Return a source as it is; wrap anything else that encodes texts."""
    if isinstance(meaning, MeaningSource):
        return meaning
    if isinstance(meaning, str | type) or not isinstance(meaning, TextEncoder):
        raise Mistake(
            f"meaning is {meaning!r}: give an object with encode(texts), such as "
            "StaticVectors.packaged()"
        )
    return EncoderVectors(meaning)


def require_same(source: MeaningSource, facts: MeaningFacts, place: str) -> None:
    """Refuse a source that makes other vectors than those remembered."""
    if source.digest != facts.digest or source.dimension != facts.dimension:
        raise Mistake(
            f"{place} was made with the vectors of {facts}, not with those of "
            f"{source.facts}: give the former, or make it anew with the latter"
        )


def text_key(text: str) -> bytes:
    """The digest by which a text is known where vectors are stored.

    >>> text_key("a hive").hex()[:8]
    '5e8ed23e'
    """
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=KEY).digest()


def unit_rows(vectors: ArrayLike) -> Vectors:
    """Divide each row by its length, x / ‖x‖; a row of zeros stays.

    >>> unit_rows([[3.0, 4.0], [0.0, 0.0]]).round(1).tolist()
    [[0.6000000238418579, 0.800000011920929], [0.0, 0.0]]
    """
    rows = np.asarray(vectors, np.float64)
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    units = np.divide(rows, lengths, out=np.zeros_like(rows), where=lengths > 0)
    return np.asarray(units, np.float32)


class EncoderVectors(MeaningSource):
    """Vectors of any object that has ``encode(list of texts)``.

    digest : which model it is. None: of the name and of the vector of one sentence,
    to about one digit, as a model may give the last digits differently elsewhere.

    >>> class Length:
    ...     def encode(self, texts):
    ...         return [[1.0, len(text)] for text in texts]
    >>> EncoderVectors(Length()).encode(["bee"]).tolist()
    [[1.0, 3.0]]
    """

    def __init__(
        self, model: TextEncoder, name: str | None = None, digest: str | None = None
    ) -> None:
        self.model = model
        self.name = type(model).__name__ if name is None else name
        self.dimension, own = probed(self.name, model.encode([PROBE]))
        self.digest = own if digest is None else digest

    def _vectors(self, texts: list[str]) -> ArrayLike:
        return self.model.encode(texts)


def probed(name: str, encoded: ArrayLike) -> tuple[int, str]:
    """The dimension of a vector, and a digest of it that small errors do not change.

    sha256 of the name and of round(√d · x / ‖x‖), whose numbers are about 1.
    """
    vector = np.asarray(encoded, np.float64)
    if vector.ndim != 2 or len(vector) != 1 or not vector.size:
        raise Mistake(
            f"{name} gave shape {vector.shape} for one text: encode must return one "
            "row of numbers for each text"
        )
    coarse = np.round(unit_rows(vector) * np.sqrt(vector.size)).astype(np.int16)
    return vector.size, sha256(name.encode() + b"\0" + coarse.tobytes()).hexdigest()


class OwnVectors(MeaningSource):
    """Vectors that the user has made, by document.

    ids, vectors : as ``read_vectors`` gives them, shape (documents, numbers);  texts :
    of documents, by id: by its text a vector is recognised. A text that is none of them
    has no vector, and is refused.

    >>> own = OwnVectors(["d1"], [[1.0, 0.0]], {"d1": "A hive of bees"})
    >>> own.encode(["A hive of bees"]).tolist()
    [[1.0, 0.0]]
    """

    def __init__(
        self,
        ids: Sequence[str],
        vectors: ArrayLike,
        texts: Mapping[str, str],
        name: str = OWN,
    ) -> None:
        table = np.asarray(vectors)
        if table.ndim != 2 or table.dtype.kind not in "iuf" or not table.size:
            raise Mistake(
                f"{name}: vectors of shape {table.shape} and type {table.dtype}: give "
                "numbers, one row of them for each id"
            )
        if len(ids) != len(table):
            raise Mistake(f"{name}: {len(ids)} ids for {len(table)} vectors")
        if len(set(ids)) < len(ids):
            raise Mistake(f"{name}: an id is there twice: give each document one row")
        if missing := [id_ for id_ in texts if id_ not in set(ids)]:
            raise Mistake(
                f"{name}: document {missing[0]} has no vector ({len(missing)} of "
                f"{len(texts)} documents): add it to the file of vectors"
            )
        self.name, self.dimension = name, table.shape[1]
        self.table = table.astype(np.float32)
        numbers = {id_: row for row, id_ in enumerate(ids)}
        self.rows = {text_key(text): numbers[id_] for id_, text in texts.items()}
        every = sha256("\0".join(ids).encode() + self.table.tobytes())
        self.digest = every.hexdigest()

    def _vectors(self, texts: list[str]) -> ArrayLike:
        rows = [self.rows.get(text_key(text)) for text in texts]
        if None in rows:
            text = texts[rows.index(None)]
            raise Mistake(
                f"{self.name} has no vector for the text {text[:40]!r}: add the "
                "document to the file of vectors, or use a source that can encode it"
            )
        return self.table[np.array(rows, np.int64)]


def digest_of(paths: Iterable[Path], *besides: str) -> str:
    """sha256 of files' contents, in this order, and of what else makes the vectors."""
    total = sha256()
    for path in paths:
        with path.open("rb") as file:
            while block := file.read(1 << 20):
                total.update(block)
    total.update("\0".join(besides).encode())
    return total.hexdigest()
