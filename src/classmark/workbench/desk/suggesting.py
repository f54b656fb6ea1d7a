"""Which categories for a text, or for many, asked of the ranker in memory?"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from classmark.problems import Mistake
from classmark.workbench.suggesting import suggest

if TYPE_CHECKING:
    from classmark.workbench.desk.desk import Desk
    from classmark.workbench.views import Explained

MOST = 1000  # categories for a text


def suggest_for(
    desk: Desk,
    text: str,
    k: int = 5,
    terms: int = 5,
    min_probability: float | None = None,
) -> list[Explained]:
    """The best categories for a text, with path and evidence; see ``suggest``."""
    if k > MOST:
        raise Mistake(f"k is {k}: ask for at most {MOST} categories")
    return suggest(desk.project, text, k, terms, min_probability)


def suggest_many(
    desk: Desk,
    texts: Iterable[str],
    k: int = 5,
    terms: int = 0,
    min_probability: float | None = None,
) -> list[list[Explained]]:
    """The best categories for each of some texts, in their order."""
    return [suggest_for(desk, text, k, terms, min_probability) for text in texts]
