"""Where the relevant labels stand: compiled loops over dense rows of scores."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from classmark.compiled import compiled

if TYPE_CHECKING:
    from numpy.typing import NDArray

FEW = 32  # up to here counting once per label is faster than a search per score


@compiled
def relevant_ranks(
    scores: NDArray[Any],
    starts: NDArray[np.int64],
    columns: NDArray[np.uint32],
    ordered: NDArray[np.uint32],
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Rank of each relevant label, and how many irrelevant ones are not below it.

    scores : (n, k);  starts : (n + 1,);  columns : (m,) relevant labels, increasing in
    each document;  ordered : (m,) the same labels, best first. Both results are (m,),
    in the sequence of ``ordered``: rank among all labels, the first being 1, ties by
    label index; number of irrelevant labels with a score at least as high.
    """
    ranks = np.empty(len(columns), np.int64)
    above = np.empty(len(columns), np.int64)
    for i in range(len(scores)):
        first, last = starts[i], starts[i + 1]
        if last - first <= FEW:
            _by_counting(scores[i], ordered[first:last], ranks[first:], above[first:])
        else:
            _by_searching(
                scores[i],
                columns[first:last],
                ordered[first:last],
                ranks[first:],
                above[first:],
            )
    return ranks, above


@compiled
def _by_counting(
    s: NDArray[Any],
    ordered: NDArray[np.uint32],
    ranks: NDArray[np.int64],
    above: NDArray[np.int64],
) -> None:
    """One pass over the scores per relevant label: O(k·|Y|), in vector instructions."""
    m, k = len(ordered), len(s)
    for p in range(m):
        y = ordered[p]
        t = s[y]
        not_below = 0
        tied_behind = 0
        for j in range(y):
            not_below += s[j] >= t
        for j in range(y + 1, k):
            not_below += s[j] >= t
        for j in range(y + 1, k):
            tied_behind += s[j] == t
        ranks[p] = 1 + not_below - tied_behind
        relevant = p
        while relevant + 1 < m and s[ordered[relevant + 1]] == t:
            relevant += 1
        above[p] = not_below - relevant


@compiled
def _by_searching(
    s: NDArray[Any],
    columns: NDArray[np.uint32],
    ordered: NDArray[np.uint32],
    ranks: NDArray[np.int64],
    above: NDArray[np.int64],
) -> None:
    """One search among the relevant labels per score: O(k log|Y|)."""
    m, k = len(ordered), len(s)
    t = s[ordered]
    beats = np.zeros(m + 1, np.int64)
    reaches = np.zeros(m + 1, np.int64)
    begin = 0
    for gap in range(m + 1):
        end = int(columns[gap]) if gap < m else k
        for j in range(begin, end):
            if s[j] >= t[m - 1]:
                low = _first_reached(t, s[j])
                reaches[low] += 1
                beats[_first_beaten(t, ordered, s[j], j, low)] += 1
        begin = end + 1
    beaten = 0
    reached = 0
    for p in range(m):
        beaten += beats[p]
        reached += reaches[p]
        ranks[p] = p + 1 + beaten
        above[p] = reached


@compiled
def _first_reached(t: NDArray[Any], score: float) -> int:
    """Return the first place whose score (they decrease) is not above ``score``."""
    low, high = 0, len(t)
    while low < high:
        middle = (low + high) // 2
        if t[middle] <= score:
            high = middle
        else:
            low = middle + 1
    return low


@compiled
def _first_beaten(
    t: NDArray[Any], ordered: NDArray[np.uint32], score: float, label: int, low: int
) -> int:
    """Return the first place from ``low`` that ``label`` stands before."""
    high = len(t)
    while low < high:
        middle = (low + high) // 2
        if t[middle] < score or ordered[middle] > label:
            high = middle
        else:
            low = middle + 1
    return low
