"""TokenTable: which tokens have been seen, and how often in each document?"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from classmark.arrays import Array, Bools, Ints
from classmark.corpus.pages import zeros
from classmark.problems import Mistake
from classmark.text.tokens import fold, kinds

BATCH = 1 << 18
CHUNK = 3 << 18
_ROOM = 1 << 15
_SLICE = 1 << 12
_MOST = 1 << 32
_TAIL = "\n" * 72


@dataclass(frozen=True, slots=True)
class Chunk:
    """Counts of tokens in some documents, columns in order of first occurrence.

    A token that occurs more than 255 times in a document has several entries there.

    starts : int64, shape (documents + 1,);  columns : uint32;  counts : uint8, shape
    (entries,).
    """

    starts: Ints
    columns: NDArray[np.uint32]
    counts: NDArray[np.uint8]


@dataclass(frozen=True, slots=True)
class Batch:
    """Some documents as bytes: where each ends, and whether it is all ASCII.

    buffer : uint8, with more newlines at its end than a pass reads ahead;
    ends : int64, shape (documents,);  plain : bool, shape (documents,).
    """

    buffer: NDArray[np.uint8]
    ends: Ints
    plain: Bools


class TokenTable:
    """Tokens numbered as they come, and counted by a compiled pass over UTF-8 bytes.

    dropped : tokens that have the first numbers and are not counted.

    >>> table = TokenTable()
    >>> [chunk.counts.tolist() for chunk in table.chunks(["A bee, a hive", "Hive"])]
    [[2, 1, 1, 1]]
    >>> table.tokens()
    ['a', 'bee', 'hive']
    """

    def __init__(self, dropped: Iterable[str] = ()) -> None:
        self._slots = zeros(2 * _ROOM, np.uint32)
        self._known = zeros(_ROOM, np.uint64)
        self._last = zeros(_ROOM, np.uint64)
        self._offsets = zeros(_ROOM, np.uint64)
        self._arena = zeros(8 * _ROOM, np.uint8)
        self._state = np.zeros(6, np.int64)
        self._edges, self._keys = zeros(0, np.uint32), zeros(0, np.uint64)
        self._drop(list(dropped))

    def __len__(self) -> int:
        from classmark.corpus.kernels import TOKENS

        return int(self._state[TOKENS])

    def tokens(self, first: int = 0, last: int | None = None) -> list[str]:
        """Return the tokens numbered from ``first`` to before ``last``, in order."""
        from classmark.corpus.kernels import ARENA

        last = len(self) if last is None else last
        offsets, end = self._offsets, int(self._state[ARENA])
        low = int(offsets[first]) if first < len(self) else end
        high = int(offsets[last]) if last < len(self) else end
        return self._arena[low:high].tobytes().decode().split("\n")[:-1]

    def slices(self, first: int = 0) -> Iterator[list[str]]:
        """Yield the tokens from ``first`` on, some thousands at a time."""
        for low in range(first, len(self), _SLICE):
            yield self.tokens(low, min(low + _SLICE, len(self)))

    def chunks(self, texts: Iterable[str]) -> Iterator[Chunk]:
        """Count documents; yield their counts, about a million entries at a time."""
        from classmark.corpus.kernels import BASE, ENTRIES

        stops: list[Ints] = []
        columns, counts = np.empty(0, np.uint32), np.empty(0, np.uint8)
        for batch in map(_encoded, _batches(texts)):
            used, most = int(self._state[ENTRIES]), len(batch.buffer) // 2 + 1
            if used + most > len(columns):
                if used:
                    yield _chunk(stops, columns[:used], counts[:used])
                    self._state[BASE] += used
                    self._state[ENTRIES] = used = 0
                stops = []
                columns = zeros(max(CHUNK, 2 * most), np.uint32)
                counts = zeros(len(columns), np.uint8)
            stops.append(self._count(batch, columns, counts))
        if stops:
            used = int(self._state[ENTRIES])
            yield _chunk(stops, columns[:used], counts[:used])
            self._state[BASE] += used
            self._state[ENTRIES] = 0

    def sequences(self, texts: Iterable[str]) -> Iterator[Chunk]:
        """Number documents token by token; yield one entry, of count 1, for each.

        Tokens that are dropped have their entries too: an entry's place in its row is
        the place of the token in the text.
        """
        for batch in map(_encoded, _batches(texts)):
            with np.errstate(over="ignore"):
                firsts = self._find(batch)
                tokens = self._keys[: firsts[-1]]
                self._number(batch, tokens)
            columns = tokens.astype(np.uint32)
            yield Chunk(firsts, columns, np.ones(len(columns), np.uint8))

    def _drop(self, tokens: list[str]) -> None:
        """Give tokens, before all others, numbers without counts."""
        from classmark.corpus.kernels import DROPPED, ENTRIES

        batch = _encoded([" ".join(tokens)])
        room = len(batch.buffer)
        self._count(batch, np.empty(room, np.uint32), np.empty(room, np.uint8))
        self._last[:] = 0
        self._state[ENTRIES], self._state[DROPPED] = 0, len(self)

    def _count(
        self, batch: Batch, columns: NDArray[np.uint32], counts: NDArray[np.uint8]
    ) -> Ints:
        """Count one batch into the chunk; return where its documents end there."""
        from classmark.corpus.kernels import ENTRIES, count_tokens

        rows = np.empty(len(batch.ends) + 1, np.int64)
        rows[0] = self._state[ENTRIES]
        # Only where kernels run as plain Python does numpy mind that hashes overflow.
        with np.errstate(over="ignore"):
            firsts = self._find(batch)
            tokens = self._keys[: firsts[-1]]
            self._number(batch, tokens)
        count_tokens(tokens, firsts, self._last, columns, counts, rows, self._state)
        return rows[1:]

    def _number(self, batch: Batch, keys: NDArray[np.uint64]) -> None:
        """Turn the keys of the tokens that were found into their numbers."""
        from classmark.corpus.kernels import number_tokens

        while not number_tokens(
            batch.buffer,
            _words(batch.buffer),
            self._edges,
            keys,
            self._slots,
            self._known,
            self._offsets,
            self._arena,
            _words(self._arena),
            self._state,
        ):
            self._grow()

    def _find(self, batch: Batch) -> Ints:
        """Find the tokens of a batch; return the first of each document."""
        from classmark.text.kernels import find_tokens

        most = len(batch.buffer) // 2 + 1
        if most > len(self._keys):
            self._edges, self._keys = zeros(2 * most, np.uint32), zeros(most, np.uint64)
        firsts = np.empty(len(batch.ends) + 1, np.int64)
        find_tokens(
            batch.buffer,
            _words(batch.buffer),
            batch.ends,
            batch.plain,
            kinds(),
            self._edges,
            self._keys,
            firsts,
        )
        return firsts

    def _grow(self) -> None:
        """Make room for twice as many tokens, or twice as many bytes."""
        from classmark.corpus.kernels import ARENA, fill_slots

        used = len(self)
        if used < len(self._known):
            self._arena = _longer(self._arena, int(self._state[ARENA]))
            return
        size = 2 * len(self._slots)
        del self._slots
        self._slots = zeros(size, np.uint32)
        fill_slots(self._known, self._slots)
        self._known = _longer(self._known, used)
        self._last = _longer(self._last, used)
        self._offsets = _longer(self._offsets, used)


def _words(buffer: NDArray[np.uint8]) -> NDArray[np.uint64]:
    """View the eight bytes from each place on as one number."""
    return np.ndarray(len(buffer) - 7, np.uint64, buffer, strides=(1,))


def _longer(array: Array, used: int) -> Array:
    longer = zeros(2 * len(array), array.dtype)
    longer[:used] = array[:used]
    return longer


def _batches(texts: Iterable[str]) -> Iterator[list[str]]:
    """Group documents so that each group has about a million characters."""
    batch: list[str] = []
    size = 0
    for text in texts:
        batch.append(text)
        size += len(text)
        if size >= BATCH:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


def _encoded(texts: list[str]) -> Batch:
    """Write documents to one buffer, each closed by a newline.

    The case of texts that are all ASCII is left to the pass.
    """
    plain = [text.isascii() for text in texts]
    if all(plain):
        sizes = list(map(len, texts))
        encoded = "\n".join([*texts, _TAIL]).encode()
    else:
        parts = [
            (text if is_plain else _folded(text)).encode(errors="surrogatepass")
            for text, is_plain in zip(texts, plain, strict=True)
        ]
        sizes = list(map(len, parts))
        encoded = b"\n".join([*parts, _TAIL.encode()])
    if len(encoded) >= _MOST:
        raise Mistake("a text has more than four thousand million bytes: part it")
    ends = np.cumsum(np.array(sizes, np.int64) + 1)
    return Batch(np.frombuffer(encoded, np.uint8), ends, np.array(plain, np.bool_))


def _folded(text: str) -> str:
    """Fold line by line, which is the same, and quicker where lines are all ASCII."""
    return "\n".join(map(fold, text.split("\n")))


def _chunk(
    stops: list[Ints],
    columns: NDArray[np.uint32],
    counts: NDArray[np.uint8],
) -> Chunk:
    return Chunk(np.concatenate([np.zeros(1, np.int64), *stops]), columns, counts)
