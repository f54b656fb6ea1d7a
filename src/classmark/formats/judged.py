"""Judgments and rankings as files hold them: query, document, number."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from classmark.problems import Mistake

if TYPE_CHECKING:
    from collections.abc import Iterable


class Judgment(NamedTuple):
    """How relevant a document is to a query: 0 is not."""

    query: str
    document: str
    grade: float


class Retrieved(NamedTuple):
    """A line of a run: what a system returned for a query, and how sure it was."""

    query: str
    document: str
    score: float
    rank: int
    run: str


def gather(found: Iterable[Judgment | Retrieved]) -> dict[str, dict[str, float]]:
    """Collect query → document → grade or score, as the measures take them.

    >>> gather([Judgment("q1", "d3", 2.0), Judgment("q1", "d5", 0.0)])
    {'q1': {'d3': 2.0, 'd5': 0.0}}
    """
    gathered: dict[str, dict[str, float]] = {}
    for query, document, number, *_ in found:
        numbers = gathered.setdefault(query, {})
        if numbers.setdefault(document, number) != number:
            raise Mistake(
                f"query {query!r}, document {document!r}: both {numbers[document]} and "
                f"{number}: leave one"
            )
    return gathered
