"""Collections to search in tests, and the papers' scores of them."""

import math

import numpy as np

from classmark.arrays import rows_from
from classmark.index.postings import field_of

NAMES = [f"t{i:03d}" for i in range(400)]


def counts_of(seed, n, width, density=0.2):
    """Draw counts: Zipf-like columns, some repeated terms, some empty documents."""
    rng = np.random.default_rng(seed)
    chance = np.minimum(density * 3 / (1 + np.arange(width)) ** 0.7, 0.9)
    present = rng.random((n, width)) < chance * rng.choice([0.3, 1.0, 2.0], (n, 1))
    return present * rng.geometric(0.5, (n, width))


def field_from(counts, alive=None):
    return field_of(rows_from(counts), NAMES[: counts.shape[1]], alive=alive)


class Paper:
    """One matching document and one query, scored as each model's paper prints it.

    counts : of the documents alive;  query : {term: how often it is asked for};  p :
    parameters.
    """

    def __init__(self, counts, query, item, p):
        self.counts, self.item, self.p = counts, item, p
        self.n, self.tokens = len(counts), counts.sum()
        self.length, self.average = counts[item].sum(), self.tokens / self.n
        self.df = {t: (counts[:, t] > 0).sum() for t in query}
        self.cf = {t: counts[:, t].sum() for t in query}
        self.tf = {t: counts[item, t] for t in query}
        self.known = {t: w for t, w in query.items() if self.df[t]}
        self.k1, self.b = p.get("k1", 1.2), p.get("b", 0.75)

    def score(self, model):
        of_term = getattr(self, model.replace("+", "_plus") + "_of", None)
        if of_term is None:
            return getattr(self, model)()
        return sum(w * of_term(t) for t, w in self.known.items() if self.tf[t])

    def _okapi(self, t, idf, top, delta=0.0):
        norm = self.k1 * (1 - self.b + self.b * self.length / self.average)
        return idf * (top * self.tf[t] / (self.tf[t] + norm) + delta)

    def bm25_of(self, t):
        return self._okapi(t, self.idf_of(t), 1.0)

    def robertson_of(self, t):
        odds = (self.n - self.df[t] + 0.5) / (self.df[t] + 0.5)
        return self._okapi(t, math.log(odds), self.k1 + 1)

    def atire_of(self, t):
        return self._okapi(t, math.log(self.n / self.df[t]), self.k1 + 1)

    def bm25_plus_of(self, t):
        idf = math.log((self.n + 1) / self.df[t])
        return self._okapi(t, idf, self.k1 + 1, self.p.get("delta", 1.0))

    def bm25l_of(self, t):
        delta = self.p.get("delta", 0.5)
        c = self.tf[t] / (1 - self.b + self.b * self.length / self.average)
        idf = math.log((self.n + 1) / (self.df[t] + 0.5))
        return idf * (self.k1 + 1) * (c + delta) / (self.k1 + c + delta)

    def bim_of(self, t):
        p, u = self.p.get("p", 0.5), (self.df[t] + 0.5) / (self.n + 1)
        return math.log(p / (1 - p) * (1 - u) / u)

    def jm(self):
        """Return the log-likelihood less what a document without the terms has."""
        lam, total = self.p.get("lambda", 0.1), 0.0
        for t, w in self.known.items():
            everywhere = lam * self.cf[t] / self.tokens
            here = (1 - lam) * self.tf[t] / self.length + everywhere
            total += w * (math.log(here) - math.log(everywhere))
        return total

    def _smoothed(self, t):
        mu = self.p.get("mu", 2000.0)
        return (self.tf[t] + mu * self.cf[t] / self.tokens) / (self.length + mu)

    def dirichlet(self):
        """Return the log-likelihood less that of the collection."""
        return sum(
            w * (math.log(self._smoothed(t)) - math.log(self.cf[t] / self.tokens))
            for t, w in self.known.items()
        )

    def kl(self):
        """Return −KL(query ‖ document)."""
        total = sum(self.known.values())
        shares = {t: w / total for t, w in self.known.items()}
        return -sum(p * math.log(p / self._smoothed(t)) for t, p in shares.items())

    def _tfn(self, t):
        c = self.p.get("c", 1.0)
        return self.tf[t] * math.log2(1 + c * self.average / self.length)

    def pl2_of(self, t):
        x, mean = self._tfn(t), self.cf[t] / self.n
        bits = x * math.log2(x / mean) + (mean + 1 / (12 * x) - x) * math.log2(math.e)
        return (bits + 0.5 * math.log2(2 * math.pi * x)) / (x + 1)

    def inl2_of(self, t):
        x = self._tfn(t)
        return x / (x + 1) * math.log2((self.n + 1) / (self.df[t] + 0.5))

    def dph_of(self, t):
        tf, f = self.tf[t], self.tf[t] / self.length
        if f == 1:
            return 0.0
        bits = tf * math.log2(tf * self.average / self.length * self.n / self.cf[t])
        bits += 0.5 * math.log2(2 * math.pi * tf * (1 - f))
        return (1 - f) ** 2 / (tf + 1) * bits

    def lgd_of(self, t):
        lam = self.df[t] / self.n
        return -math.log(lam / (lam + self._tfn(t)))

    def spl_of(self, t):
        lam, x = self.df[t] / self.n, self._tfn(t)
        if lam == 1:
            return math.log(1 + x)
        return -math.log((lam ** (x / (x + 1)) - lam) / (1 - lam))

    def cosine(self):
        columns = range(self.counts.shape[1])
        df = [(self.counts[:, t] > 0).sum() for t in columns]
        idf = [math.log((1 + self.n) / (1 + d)) + 1 for d in df]
        document = [self.counts[self.item, t] * idf[t] for t in columns]
        asked = [self.known.get(t, 0.0) * idf[t] for t in columns]
        product = sum(a * b for a, b in zip(document, asked, strict=True))
        return product / math.hypot(*document) / math.hypot(*asked)

    def tf_of(self, t):
        return self.tf[t]

    def idf_of(self, t):
        return math.log(1 + (self.n - self.df[t] + 0.5) / (self.df[t] + 0.5))

    def tfidf_of(self, t):
        return self.tf[t] * (math.log((1 + self.n) / (1 + self.df[t])) + 1)

    def inquery_of(self, t):
        tf = self.tf[t] / (self.tf[t] + 0.5 + 1.5 * self.length / self.average)
        idf = math.log((self.n + 0.5) / self.df[t]) / math.log(self.n + 1)
        return 0.6 * tf * idf


def paper_ranking(model, counts, alive, query, p):
    """Return every matching document alive with its score, best first."""
    living = np.flatnonzero(alive)
    kept = counts[living]
    found = []
    for place, item in enumerate(living):
        if any(kept[place, t] for t in query):
            score = Paper(kept, query, place, p).score(model)
            found.append((score, int(item)))
    return sorted(found, key=lambda pair: (-pair[0], pair[1]))
