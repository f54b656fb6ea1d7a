"""Retrieval models, slowly: each from its paper, a document and a term at a time."""

import math

NAMES = ["bm25", "robertson", "atire", "bm25+", "bm25l", "bim", "jm", "dirichlet"]
NAMES += ["kl", "pl2", "inl2", "dph", "lgd", "spl", "cosine", "tf", "idf", "tfidf"]
NAMES += ["inquery"]


def lucene_idf(df, n):
    return math.log(1 + (n - df + 0.5) / (df + 0.5))


def relevance_weight(df, n, p):
    u = (df + 0.5) / (n + 1)
    return math.log(p * (1 - u) / (u * (1 - p)))


def plain_idf(df, n):
    return -math.log(df / n)


def smooth_idf(df, n):
    return 1 - math.log((1 + df) / (1 + n))


def plus_idf(df, n):
    return math.log(n + 1) - math.log(df)


def half_idf(df, n):
    return math.log(n + 1) - math.log(df + 0.5)


def relative_length(length, average, b):
    return (1 - b) + b * (length / average)


def saturation(tf, norm):
    return 1 - norm / (tf + norm)


def shifted_saturation(tf, ratio, k1, delta):
    c = tf / ratio
    return (c + delta) / (k1 + c + delta)


def unseen_factor(length, mu):
    return math.log(mu) - math.log(length + mu)


def seen_gain(odds):
    return math.log1p(odds)


def second_normalisation(length, average, c):
    return math.log2(1 + c * average / length)


def pl2(tfn, mean):
    poisson = tfn * math.log2(tfn / mean) + 0.5 * math.log2(2 * math.pi * tfn)
    poisson += (mean + 1 / (12 * tfn) - tfn) * math.log2(math.e)
    return poisson / (tfn + 1)


def inl2(tfn):
    return 1 - 1 / (tfn + 1)


def dph(tf, length, rate):
    f = tf / length
    if f == 1:
        return 0.0
    inside = tf * math.log2(f * rate) + 0.5 * math.log2(2 * math.pi * tf * (1 - f))
    return (1 - f) ** 2 / (tf + 1) * inside


def lgd(ratio):
    return math.log1p(ratio)


def spl(tfn, rate):
    if rate == 1:
        return math.log1p(tfn)
    power = rate ** (tfn / (tfn + 1))
    return math.log(1 - rate) - math.log(power - rate)


def belief_idf(df, n):
    return math.log((n + 0.5) / df) / math.log(n + 1)


def feature(code, length, world):
    _, _, mean, first, second, _ = world
    name = NAMES[code]
    if name in {"bm25", "robertson", "atire", "bm25+"}:
        return first * relative_length(length, mean, second)
    if name in {"pl2", "inl2", "lgd", "spl"}:
        return second_normalisation(length, mean, first)
    return {
        "bm25l": relative_length(length, mean, second),
        "jm": 1 / length,
        "dph": length,
        "inquery": 0.5 + 1.5 * length / mean,
    }.get(name, 1.0)


def features(code, lengths, world, out):
    out[:] = [feature(code, length, world) for length in lengths]


def document_part(code, length, world):
    if NAMES[code] in {"dirichlet", "kl"}:
        return unseen_factor(length, world[3])
    return 0.0


def document_parts(code, lengths, world, out):
    out[:] = [document_part(code, length, world) for length in lengths]


def rarity(code, df, world):
    n, first = world[0], world[3]
    return {
        "bm25": lucene_idf(df, n),
        "idf": lucene_idf(df, n),
        "robertson": (first + 1) * relevance_weight(df, n, 0.5),
        "atire": (first + 1) * plain_idf(df, n),
        "bm25+": (first + 1) * plus_idf(df, n),
        "bm25l": (first + 1) * half_idf(df, n),
        "bim": relevance_weight(df, n, first) if 0 < first < 1 else 0.0,
        "inl2": half_idf(df, n) / math.log(2),
        "cosine": smooth_idf(df, n),
        "tfidf": smooth_idf(df, n),
        "inquery": 0.6 * belief_idf(df, n),
    }.get(NAMES[code], 1.0)


def second_constant(code, df, cf, world):
    n, tokens, mean, first, _, third = world
    return {
        "bm25+": plus_idf(df, n) * third,
        "jm": (1 - first) / first / (cf / tokens),
        "dirichlet": 1 / (first * cf / tokens),
        "kl": 1 / (first * cf / tokens),
        "pl2": cf / n,
        "dph": mean / (cf / n),
        "lgd": n / df,
    }.get(NAMES[code], df / n)


def constants(code, weights, df, cf, world, a, b):
    name, total = NAMES[code], sum(weights)
    factors = [rarity(code, d, world) for d in df]
    a[:] = [w * f for w, f in zip(weights, factors, strict=True)]
    b[:] = [second_constant(code, d, c, world) for d, c in zip(df, cf, strict=True)]
    if name == "bm25+":
        b *= weights
    if name == "cosine":
        a[:] = a * factors / math.sqrt(sum(a**2))
    if name == "kl":
        a[:] = [w / total for w in weights]
        pairs = [(share, c / world[1]) for share, c in zip(a, cf, strict=True)]
        return 1.0, sum(share * math.log(p / share) for share, p in pairs)
    return (total if name == "dirichlet" else 1.0), 0.0


def part(code, tf, x, a, b, world):
    name = NAMES[code]
    if name == "bm25+":
        return a * saturation(tf, x) + b
    if name in {"bm25", "robertson", "atire", "inquery"}:
        return a * saturation(tf, x)
    if name in {"jm", "dirichlet", "kl", "lgd"}:
        return a * math.log1p(b * tf * x)
    return (
        a
        * {
            "bm25l": lambda: shifted_saturation(tf, x, world[3], world[5]),
            "pl2": lambda: pl2(tf * x, b),
            "inl2": lambda: inl2(tf * x),
            "dph": lambda: dph(tf, x, b),
            "spl": lambda: spl(tf * x, b),
            "bim": lambda: 1.0,
            "idf": lambda: 1.0,
        }.get(name, lambda: tf * x)()
    )


def score_items(code, world, terms, tf, x, out):
    for d in range(len(x)):
        out[d] = sum(
            part(code, tf[i][d], x[d], a, b, world)
            for i, (a, b) in enumerate(zip(*terms, strict=True))
            if tf[i][d]
        )
