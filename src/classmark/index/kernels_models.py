"""One model among all by its number: what a query fixes, what a document, what a term.

A model's score is Σ over query terms of ``part`` + the document's part. ``part`` takes
two constants of the term (``constants``; the query's weight is in them) and one number
of the document (``feature``). ``world`` is N, Σcf, mean length, then the parameters.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from classmark.compiled import compiled
from classmark.index.formulas import (
    LOG2_E,
    belief_idf,
    dph,
    half_idf,
    inl2,
    lgd,
    lucene_idf,
    pl2,
    plain_idf,
    plus_idf,
    relative_length,
    relevance_weight,
    saturation,
    second_normalisation,
    seen_gain,
    shifted_saturation,
    smooth_idf,
    spl,
    unseen_factor,
)

LUCENE, ROBERTSON, ATIRE, PLUS, BM25L, BIM, JM, DIRICHLET, KL = range(9)
PL2, INL2, DPH, LGD, SPL, COSINE, TF, IDF, TFIDF, INQUERY = range(9, 19)
N, TOKENS, MEAN, FIRST, SECOND, THIRD = range(6)


class Scoring(NamedTuple):
    """What the sum of the parts of a query's terms is made of.

    code, world : the model and its parameters;  x : one number per item;  items, counts
    : postings;  spans, a, b : where each term's list is in them, and its constants.
    """

    code: int
    world: Any
    x: Any
    items: Any
    counts: Any
    spans: Any
    a: Any
    b: Any


class Final(NamedTuple):
    """What makes a score of a sum of parts: sum + scale · extra + offset.

    alive, extra : empty, or one entry per item; items that are not alive have no score.
    """

    alive: Any
    extra: Any
    scale: float
    offset: float


class Heap(NamedTuple):
    """The best items so far and their scores, the worst on top."""

    items: Any
    scores: Any


@compiled
def feature(code: int, length: float, world: Any) -> float:
    """Return the one number of a document that its term parts need."""
    x = 1.0
    if code <= PLUS:
        x = world[FIRST] * relative_length(length, world[MEAN], world[SECOND])
    elif code == BM25L:
        x = relative_length(length, world[MEAN], world[SECOND])
    elif code == JM:
        x = 1.0 / max(length, 1.0)
    elif code == DPH:
        x = length
    elif code in (PL2, INL2, LGD, SPL):
        x = second_normalisation(length, world[MEAN], world[FIRST])
    elif code == INQUERY:
        x = 0.5 + 1.5 * length / world[MEAN]
    return x


@compiled
def features(code: int, lengths: Any, world: Any, out: Any) -> None:
    """Fill in the feature of every document."""
    for d in range(len(lengths)):
        out[d] = feature(code, float(lengths[d]), world)


@compiled
def document_parts(code: int, lengths: Any, world: Any, out: Any) -> None:
    """Fill in what each document scores whatever it contains, per query weight 1."""
    for d in range(len(lengths)):
        out[d] = 0.0
        if code in (DIRICHLET, KL):
            out[d] = unseen_factor(float(lengths[d]), world[FIRST])


@compiled
def rarity(code: int, df: float, world: Any) -> float:
    """Return the factor of a term in models that have one, else 1."""
    n, k1, factor = world[N], world[FIRST], 1.0
    if code in (LUCENE, IDF):
        factor = lucene_idf(df, n)
    elif code == ROBERTSON:
        factor = (k1 + 1.0) * relevance_weight(df, n, 0.5)
    elif code == ATIRE:
        factor = (k1 + 1.0) * plain_idf(df, n)
    elif code == PLUS:
        factor = (k1 + 1.0) * plus_idf(df, n)
    elif code == BM25L:
        factor = (k1 + 1.0) * half_idf(df, n)
    elif code == BIM:
        factor = relevance_weight(df, n, world[FIRST])
    elif code == INL2:
        factor = half_idf(df, n) * LOG2_E
    elif code in (COSINE, TFIDF):
        factor = smooth_idf(df, n)
    elif code == INQUERY:
        factor = 0.6 * belief_idf(df, n)
    return factor


@compiled
def second_constant(code: int, df: float, cf: float, world: Any) -> float:
    """Return the other number of a term, for the models that have two."""
    second = df / world[N]
    if code == PLUS:
        second = plus_idf(df, world[N]) * world[THIRD]
    elif code == JM:
        second = (1.0 - world[FIRST]) / world[FIRST] * world[TOKENS] / cf
    elif code in (DIRICHLET, KL):
        second = world[TOKENS] / (world[FIRST] * cf)
    elif code == PL2:
        second = cf / world[N]
    elif code == DPH:
        second = world[MEAN] * world[N] / cf
    elif code == LGD:
        second = world[N] / df
    return float(second)


@compiled
def constants(
    code: int, weights: Any, df: Any, cf: Any, world: Any, a: Any, b: Any
) -> tuple[float, float]:
    """Fill in both constants of the query's terms, their weights included.

    weights : how much each term is asked for;  df, cf : their statistics, df ≥ 1.
    Returns how often the document's part counts, and what is added to every score.
    """
    total, square, offset = 0.0, 0.0, 0.0
    for i in range(len(weights)):
        a[i] = weights[i] * rarity(code, df[i], world)
        b[i] = second_constant(code, df[i], cf[i], world)
        if code == PLUS:
            b[i] *= weights[i]
        total += weights[i]
        square += a[i] * a[i]
    if code == COSINE and square > 0.0:
        for i in range(len(weights)):
            a[i] *= rarity(code, df[i], world) / math.sqrt(square)
    if code == KL and total != 0.0:
        for i in range(len(weights)):
            share = weights[i] / total
            a[i] = share
            if share > 0.0:
                offset += share * math.log(cf[i] / (world[TOKENS] * share))
    return (total if code == DIRICHLET else 1.0), offset


@compiled
def part(code: int, tf: float, x: float, a: float, b: float, world: Any) -> float:
    """Return one term's part of a document's score."""
    if code in (LUCENE, ROBERTSON, ATIRE, INQUERY):
        y = saturation(tf, x)
    elif code == PLUS:
        return a * saturation(tf, x) + b
    elif code == BM25L:
        y = shifted_saturation(tf, x, world[FIRST], world[THIRD])
    elif code in (JM, DIRICHLET, KL):
        y = seen_gain(b * tf * x)
    elif code == LGD:
        y = lgd(b * tf * x)
    elif code == PL2:
        y = pl2(tf * x, b)
    elif code == INL2:
        y = inl2(tf * x)
    elif code == DPH:
        y = dph(tf, x, b)
    elif code == SPL:
        y = spl(tf * x, b)
    else:
        y = 1.0 if code in (BIM, IDF) else tf * x
    return a * y


@compiled
def part_at(scoring: Any, t: int, j: int) -> float:
    """Return the part of term ``t`` at posting ``j``; a zero is not −0.0."""
    code, a, b, x = scoring.code, scoring.a[t], scoring.b[t], scoring.x
    tf, d = float(scoring.counts[j]), scoring.items[j]
    return part(code, tf, x[d], a, b, scoring.world) + 0.0


@compiled
def final_score(final: Any, d: int, total: float) -> float:
    """Return the score of item ``d`` whose parts add up to ``total``."""
    if len(final.extra):
        total += final.scale * final.extra[d]
    return float(total + final.offset)


@compiled
def is_dead(final: Any, d: int) -> bool:
    """Say whether item ``d`` was deleted."""
    return len(final.alive) > 0 and not final.alive[d]


@compiled
def score_items(code: int, world: Any, terms: Any, tf: Any, x: Any, out: Any) -> None:
    """Fill in what all terms of a query add to the scores of some items.

    terms : (a, b), the terms' constants;  tf : how often each term occurs in each item,
    shape (terms, items);  x : the items' features, shape (items,).
    """
    a, b = terms
    for d in range(len(x)):
        out[d] = 0.0
        for i in range(len(a)):
            if tf[i, d] > 0.0:
                out[d] += part(code, tf[i, d], x[d], a[i], b[i], world)
