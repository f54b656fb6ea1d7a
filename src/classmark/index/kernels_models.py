"""Retrieval models: formulas as papers print them, and one model among all by number.

The letters: ``tf`` how often the term occurs in the document, ``length`` the tokens of
the document, ``average`` their mean, ``n`` the documents, ``df`` those with the term,
``cf`` the term's occurrences in all of them.

A model's score is Σ over query terms of ``part`` + the document's part. ``part`` takes
two constants of the term (``constants``; the query's weight is in them) and one number
of the document (``feature``). ``world`` is N, Σcf, mean length, then the parameters.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from classmark.compiled import compiled

LOG2_E = 1.0 / math.log(2.0)


@compiled
def lucene_idf(df: float, n: float) -> float:
    """Rarity that is never negative: ln(1 + (n − df + ½)/(df + ½)) [Kamphuis20].

    >>> round(lucene_idf(1.0, 10.0), 6)
    1.99243
    """
    return math.log(1.0 + (n - df + 0.5) / (df + 0.5))


@compiled
def relevance_weight(df: float, n: float, p: float) -> float:
    """Weight of presence: ln(p/(1−p)) + ln((n − df + ½)/(df + ½)) [RobertsonSparck76].

    p : the probability that a relevant document has the term; ½: nothing is known.

    >>> round(relevance_weight(1.0, 10.0, 0.5), 6)
    1.845827
    """
    return math.log(p / (1.0 - p)) + math.log((n - df + 0.5) / (df + 0.5))


@compiled
def plain_idf(df: float, n: float) -> float:
    """Rarity: ln(n/df), also ATIRE's [SparckJones72].

    >>> round(plain_idf(1.0, 10.0), 6)
    2.302585
    """
    return math.log(n / df)


@compiled
def smooth_idf(df: float, n: float) -> float:
    """Rarity as if one more document held every term [SparckJones72].

    ln((1 + n)/(1 + df)) + 1: the weights of ``Vectorizer``'s default.

    >>> round(smooth_idf(1.0, 9.0), 6)
    2.609438
    """
    return math.log((1.0 + n) / (1.0 + df)) + 1.0


@compiled
def plus_idf(df: float, n: float) -> float:
    """Rarity of BM25+: ln((n + 1)/df) [LvZhai11].

    >>> round(plus_idf(1.0, 9.0), 6)
    2.302585
    """
    return math.log((n + 1.0) / df)


@compiled
def half_idf(df: float, n: float) -> float:
    """Rarity in BM25L [LvZhaiLong11] and InL2 [AmatiRijsbergen02].

    ln((n + 1)/(df + ½))

    >>> round(half_idf(0.5, 9.0), 6)
    2.302585
    """
    return math.log((n + 1.0) / (df + 0.5))


@compiled
def relative_length(length: float, average: float, b: float) -> float:
    """How long beside the mean: 1 − b + b · length/average [Robertson94].

    >>> relative_length(20.0, 10.0, 0.75)
    1.75
    """
    return 1.0 - b + b * length / average


@compiled
def saturation(tf: float, norm: float) -> float:
    """Count that tires: tf/(tf + norm) [Robertson94].

    norm = k1 · (1 − b + b · length/average).

    >>> saturation(3.0, 1.0)
    0.75
    """
    return tf / (tf + norm)


@compiled
def shifted_saturation(tf: float, ratio: float, k1: float, delta: float) -> float:
    """Return BM25L's (c + δ)/(k1 + c + δ) [LvZhaiLong11].

    c = tf / (1 − b + b · length/average): the ratio is that divisor.

    >>> shifted_saturation(1.0, 1.0, 1.5, 0.5)
    0.5
    """
    shifted = tf + delta * ratio
    return shifted / (shifted + k1 * ratio)


@compiled
def unseen_factor(length: float, mu: float) -> float:
    """Share left to the collection, in logarithm: ln(μ/(length + μ)) [ZhaiLafferty04].

    >>> round(unseen_factor(100.0, 100.0), 6)
    -0.693147
    """
    return math.log(mu / (length + mu))


@compiled
def seen_gain(odds: float) -> float:
    """Gain of a seen term over an unseen one: ln(1 + odds) [ZhaiLafferty04].

    Jelinek–Mercer: odds = (1 − λ)/λ · (tf/length) / (cf/Σcf); Dirichlet and KL: odds =
    tf / (μ cf/Σcf).

    >>> round(seen_gain(1.0), 6)
    0.693147
    """
    return math.log(1.0 + odds)


@compiled
def second_normalisation(length: float, average: float, c: float) -> float:
    """What a count is worth at this length: log2(1 + c · average/length).

    The normalised count is tfn = tf times this [AmatiRijsbergen02].

    >>> second_normalisation(10.0, 10.0, 1.0)
    1.0
    """
    return math.log(1.0 + c * average / max(length, 1.0)) * LOG2_E


@compiled
def pl2(tfn: float, mean: float) -> float:
    """Poisson, Laplace, normalisation 2, with mean = cf/n [AmatiRijsbergen02].

    (tfn log2(tfn/mean) + (mean + 1/(12 tfn) − tfn) log2 e + ½ log2(2π tfn)) / (tfn + 1)

    >>> round(pl2(1.0, 0.5), 6)
    0.862313
    """
    surprise = tfn * math.log(tfn / mean) + mean + 1.0 / (12.0 * tfn) - tfn
    surprise += 0.5 * math.log(2.0 * math.pi * tfn)
    return surprise * LOG2_E / (tfn + 1.0)


@compiled
def inl2(tfn: float) -> float:
    """Inverse document frequency, Laplace: tfn/(tfn + 1) [AmatiRijsbergen02].

    Times log2((n + 1)/(df + ½)).

    >>> inl2(3.0)
    0.75
    """
    return tfn / (tfn + 1.0)


@compiled
def dph(tf: float, length: float, rate: float) -> float:
    """Hypergeometric with Popper's normalisation, rate = average · n/cf [Amati07].

    f = tf/length: (1 − f)²/(tf + 1) · (tf log2(f · rate) + ½ log2(2π tf (1 − f))), and
    0 where f = 1.

    >>> round(dph(1.0, 10.0, 40.0), 6)
    1.316147
    """
    f = tf / length
    if f >= 1.0:
        return 0.0
    inside = tf * math.log(f * rate) + 0.5 * math.log(2.0 * math.pi * tf * (1.0 - f))
    return (1.0 - f) * (1.0 - f) / (tf + 1.0) * inside * LOG2_E


@compiled
def lgd(ratio: float) -> float:
    """Log-logistic information: ln(1 + tfn/λ), λ = df/n [ClinchantGaussier10].

    >>> round(lgd(1.0), 6)
    0.693147
    """
    return math.log(1.0 + ratio)


@compiled
def spl(tfn: float, rate: float) -> float:
    """Smoothed power law: −ln((λ^(tfn/(tfn + 1)) − λ)/(1 − λ)) [ClinchantGaussier10].

    rate : λ = df/n; at λ = 1 the limit, ln(1 + tfn).

    >>> round(spl(1.0, 0.25), 6)
    1.098612
    """
    if rate >= 1.0:
        return math.log(1.0 + tfn)
    return -math.log((rate ** (tfn / (tfn + 1.0)) - rate) / (1.0 - rate))


@compiled
def belief_idf(df: float, n: float) -> float:
    """Rarity between 0 and 1: ln((n + ½)/df) / ln(n + 1) [TurtleCroft91].

    >>> round(belief_idf(1.0, 9.0), 6)
    0.977724
    """
    return math.log((n + 0.5) / df) / math.log(n + 1.0)


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
