"""Retrieval models as their papers print them: one scalar function per formula.

The letters: ``tf`` how often the term occurs in the document, ``length`` the tokens of
the document, ``average`` their mean, ``n`` the documents, ``df`` those with the term,
``cf`` the term's occurrences in all of them.
"""

from __future__ import annotations

import math

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
