"""How good is the order of each query?"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from classmark.arrays import Floats
from classmark.measures.names import Measure, parse_for
from classmark.measures.retrieval import COMPUTED, JudgedRun
from classmark.rankers.ltr.judged import numbers, query_numbers
from classmark.ranking import rank


def order_measured(
    scores: ArrayLike, y: ArrayLike, qid: Any, measures: Sequence[str | Measure]
) -> dict[str, Floats]:
    """Values of each measure, (queries,), queries by when they first appear.

    A grade above 0 is relevant; a query without any counts 0. Of equal scores the row
    given first stands first.

    >>> order_measured([1.0, 2.0], [1, 0], ["q", "q"], ["map", "ndcg@1"])
    {'map': array([0.5]), 'ndcg@1': array([0.])}
    """
    parsed = parse_for(measures, list(COMPUTED))
    grades = np.asarray(y)
    grades = np.maximum(numbers(grades, len(grades), "y"), 0.0)
    query = query_numbers(qid, len(grades))
    rows = np.arange(len(grades))
    found = rank(query, rows, scores)
    ideal = rank(query, rows, grades)
    names = tuple(map(str, range(int(query.max(initial=-1)) + 1)))
    run = JudgedRun(names, found, grades[found.items], ideal, grades[ideal.items])
    return {
        str(name): COMPUTED[measure.name](run, measure.cutoff)
        for name, measure in zip(measures, parsed, strict=True)
    }
