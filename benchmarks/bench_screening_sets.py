"""WSS@95 of the default against ASReview's two recipes, on topics of six sets.

``OMP_NUM_THREADS=1 python benchmarks/bench_screening_sets.py --data DIR`` takes topics
that 1 to 5.5 % of a set's documents have (at most 2,500 documents, drawn once), orders
them by a hash of their names, and reads every second one: with ``--design`` those on
which the text analysis was chosen, else the others. Each screening begins with one
relevant document; 10 are read between two lessons. Peers: tf·idf of words and pairs,
LinearSVC (``bench_screening.PeerQuery``); tf·idf of words without stop words, naive
Bayes with alpha 3.822 and classes balanced at 1.2. Both show the most certain first.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
from collections import Counter
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from bench_screening import NEVER, PeerQuery
from bench_stream import table

from classmark.arrays import Rows, rows_from
from classmark.datasets import load
from classmark.evaluation.screening import simulate
from classmark.examples.query import RelevanceQuery
from classmark.examples.screening import StoppingRule
from classmark.meaning.models import StaticVectors
from classmark.validation import generator
from classmark.weighting.vectorizer import Vectorizer

SETS = (
    "debian-debtags", "20newsgroups-bydate", "reuters-21578", "rcv1-v2-topics",
    "nfcorpus", "pypi-topics",
)  # fmt: skip
RCV1 = "neuralclassifier-rcv1_dev.json"  # the texts that are at hand, as tokens
BAND, FEWEST = (0.01, 0.055), 25
STEMS = "words|lower|stop(english)|snowball(english)"
RULE = StoppingRule(batch=10, share=0.0, patience=NEVER)


class BayesQuery(PeerQuery):
    """Multinomial naive Bayes as ASReview sets it up."""

    def _learn(self):
        from scipy.sparse import vstack
        from sklearn.naive_bayes import MultinomialNB

        if self.no is None:
            return super()._learn()
        y = np.repeat([1, 0], [self.yes.shape[0], self.no.shape[0]])
        prices = np.where(y, 1.2 * (y == 0).sum() / y.sum(), 1.0)
        rows = vstack([self.yes, self.no]).tocsr()
        bayes = MultinomialNB(alpha=3.822).fit(rows, y, sample_weight=prices)
        self.weights = bayes.feature_log_prob_[1] - bayes.feature_log_prob_[0]
        return self


class Method(NamedTuple):
    """How texts become rows, and what learns from them."""

    rows: Callable[[list[str]], Any]
    query: Callable[[], Any] = RelevanceQuery


def ours(analyzer: str, price: float | None = None, **beside: Any) -> Method:
    """Our query on our rows; price : its C, where it is not the usual one."""
    return Method(
        lambda texts: Vectorizer(analyzer, "log-tfidf", **beside).fit_transform(texts),
        RelevanceQuery if price is None else partial(RelevanceQuery, C=price),
    )


def peer(query: Callable[[], Any], **how: Any) -> Method:
    """A peer on scikit-learn's rows."""

    def rows(texts: list[str]) -> Any:
        from sklearn.feature_extraction.text import TfidfVectorizer

        return TfidfVectorizer(**how).fit_transform(texts)

    return Method(rows, query)


READING: dict[str, Any] = {"characters": 4, "first_line": 2}
WITH_MEANING = Method(
    lambda texts: Vectorizer(
        STEMS, "log-tfidf", meaning=StaticVectors.packaged(), **READING
    ).fit_transform(texts)
)
METHODS = {
    "ASReview, SVM": peer(
        PeerQuery, ngram_range=(1, 2), sublinear_tf=True, max_df=0.95
    ),
    "ASReview, naive Bayes": peer(BayesQuery, stop_words="english"),
    "words|lower": ours("words|lower"),
    "stems": ours(STEMS),
    "the default": ours(STEMS, **READING),
    "and static vectors": WITH_MEANING,
}
VARIANTS = {
    "the default": ours(STEMS, **READING),
    "without stems and stop words": ours("words|lower", **READING),
    "without stems": ours("words|lower|stop(english)", **READING),
    "C .1": ours(STEMS, 0.1, **READING),
    "C .01": ours(STEMS, 0.01, **READING),
    "with pairs of words": ours(STEMS, ngram_range=(1, 2), **READING),
}


def texts_of(name: str, data: Path) -> tuple[list[str], list[set[str]]]:
    """Texts and labels of a set."""
    if name == "rcv1-v2-topics":
        with (data / name / RCV1).open() as file:
            rows = [json.loads(line) for line in file]
        texts = [" ".join(row["doc_token"]) for row in rows]
        return texts, [set(row["doc_label"]) for row in rows]
    dataset = load(name, data)
    if name == "nfcorpus":
        documents = list(dataset.documents)
        labels: dict[str, set[str]] = {each.id: set() for each in documents}
        for query, grades in dataset.qrels.items():
            for id_, grade in grades.items():
                if grade > 0 and id_ in labels:
                    labels[id_].add(query)
        return [each.text for each in documents], list(labels.values())
    parts = [part for part in (dataset.train, dataset.test) if part is not None]
    pairs = [
        (text, set(own))
        for part in parts
        for text, own in zip(part.texts, part.labels, strict=True)
        if own
    ]
    size = min(2500, len(pairs))
    chosen = np.sort(np.random.default_rng(0).choice(len(pairs), size, replace=False))
    return [pairs[at][0] for at in chosen], [pairs[at][1] for at in chosen]


def topics_of(name: str, labels: list[set[str]], design: bool, most: int) -> list[str]:
    """Every second topic, in the order of a hash."""
    counts = Counter(label for own in labels for label in own)
    low, high = (share * len(labels) for share in BAND)
    fit = [each for each, n in counts.items() if low <= n <= high and n >= FEWEST]
    fit.sort(key=lambda each: hashlib.md5((name + each).encode()).hexdigest())  # noqa: S324 (an order)
    return fit[0 if design else 1 :: 2][:most]


def saved(rows: Rows, truth: Any, query: Any, run: int) -> float:
    """WSS@95 of one screening from one example."""
    seed = generator(run).choice(np.flatnonzero(truth), 1)
    trial = simulate(
        rows, truth, seed, rule=RULE, query=query, random_state=run, to_stop=False
    )
    return trial.saved


def main() -> None:
    """Screen, and print a table a set and the means."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=os.environ.get("CLASSMARK_DATA"))
    parser.add_argument("--design", action="store_true", help="the design topics")
    parser.add_argument("--variants", action="store_true", help="of the default alone")
    parser.add_argument("--topics", type=int, default=5, help="at most so many a set")
    parser.add_argument("--runs", type=int, default=3, help="examples a topic")
    parser.add_argument("--sets", nargs="*", default=SETS)
    parser.add_argument("--methods", nargs="*", help="these alone")
    options = parser.parse_args()
    methods = VARIANTS if options.variants else METHODS
    methods = {name: methods[name] for name in options.methods or methods}
    means: list[dict[str, Any]] = []
    for name in options.sets:
        texts, labels = texts_of(name, Path(options.data))
        topics = topics_of(name, labels, options.design, options.topics)
        truths = [np.array([topic in own for own in labels]) for topic in topics]
        values = {}
        for method, (read, query) in methods.items():
            rows = rows_from(read(texts).astype(np.float32))
            values[method] = [
                float(
                    np.mean([saved(rows, t, query, at) for at in range(options.runs)])
                )
                for t in truths
            ]
        shown = [
            {"topic": topic, **{m: f"{v[at]:.3f}" for m, v in values.items()}}
            for at, topic in enumerate(topics)
        ]
        print(f"{name}, {len(texts):,} documents\n{table(shown)}\n", flush=True)
        row = {method: f"{np.mean(each):.3f}" for method, each in values.items()}
        means.append({"set": name, **row})
    print(table(means))


if __name__ == "__main__":
    main()
