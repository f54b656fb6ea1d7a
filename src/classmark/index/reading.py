"""What scoring may ask of an index: one field's statistics and decoded postings.

Whatever holds postings (segments on disk seen as one, counts in memory, the weights of
a trained ranker) is searched through this face and no other.
"""

from __future__ import annotations

from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from classmark.arrays import Bools, Ints
from classmark.index.lookup.words import Words


class Lists(NamedTuple):
    """The postings of some terms, decoded: list ``i`` is ``[begins[i], ends[i])``.

    items : uint32, increasing strictly within each list, deleted items allowed;
    counts : uint32, ≥ 1;  begins, ends : int64, one per term asked for.
    """

    items: NDArray[np.uint32]
    counts: NDArray[np.uint32]
    begins: Ints
    ends: Ints


class Field(Protocol):
    """One field of an index: of one segment, or of several seen as one.

    A field never changes: a commit makes a new one. Statistics are those of the items
    that are alive, exactly as a rebuild without the deleted ones would have them.
    """

    @property
    def n_items(self) -> int:
        """Items, deleted ones included: they keep their numbers."""
        ...

    @property
    def n_alive(self) -> int:
        """Items that are not deleted."""
        ...

    @property
    def n_terms(self) -> int:
        """Different terms; their numbers are 0 … n_terms − 1."""
        ...

    @property
    def total_length(self) -> int:
        """Tokens in all items that are alive."""
        ...

    @property
    def alive(self) -> Bools | None:
        """Which items are not deleted, shape (n_items,); None: all."""
        ...

    @property
    def lengths(self) -> NDArray[np.uint32]:
        """Tokens of each item, exact, shape (n_items,)."""
        ...

    @property
    def df(self) -> NDArray[np.uint32]:
        """In how many items alive each term occurs, shape (n_terms,)."""
        ...

    @property
    def cf(self) -> Ints:
        """How often each term occurs in items alive, shape (n_terms,)."""
        ...

    @property
    def whole(self) -> Lists | None:
        """All lists, list ``i`` being term ``i``'s, when they are kept decoded."""
        ...

    @property
    def words(self) -> Words:
        """All terms, by number."""
        ...

    @property
    def room(self) -> int:
        """Bytes that what is made of the lists may take beside them."""
        ...

    def number(self, term: str) -> int | None:
        """Return the number of an analysed term; None: it does not occur."""
        ...

    def term(self, number: int) -> str:
        """Return the analysed term of a number."""
        ...

    def lists(self, numbers: Ints) -> Lists:
        """Decode the lists of some terms, in the order asked for."""
        ...
