"""Learning to rank: rows are (query, document) pairs, one score orders each query."""

from __future__ import annotations

from classmark.ltr.judged import normalise_per_query
from classmark.ltr.listwise import LambdaMART, ListNet, PairwiseLogistic
from classmark.ltr.selection import (
    Importance,
    Selected,
    importance,
    select_over_queries,
)
from classmark.ltr.svm import PointwiseSVM, RankingSVM

__all__ = [
    "Importance",
    "LambdaMART",
    "ListNet",
    "PairwiseLogistic",
    "PointwiseSVM",
    "RankingSVM",
    "Selected",
    "importance",
    "normalise_per_query",
    "select_over_queries",
]
