"""Screening to 95 % recall: the reading saved, where the rule stops, a million records.

Run with ``OMP_NUM_THREADS=1 python benchmarks/bench_screening.py --data DIR``: Debian
packages that have tags, a tag with about 1 % of them being what is looked for, from one
relevant package on. Beside it, in the same loop with the same examples and batches, the
recipe of ASReview (tf·idf of words and pairs of words, LinearSVC with C = .11, a
relevant document counting 9.8 times, most certain first). The tags that 0.8 % to 1.25 %
of the packages have were looked at when our query's C and analyzer were chosen; those
reported are the ones on both sides of them (BANDS), which were not.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import resource
import time
from collections import Counter
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from bench_stream import table

from classmark.arrays import Rows, rows_from
from classmark.datasets import load
from classmark.evaluation.screening import Simulated, draw_curves, simulate
from classmark.examples.screening import Screening, StoppingRule
from classmark.measures import paired_t_test, recall_curve
from classmark.validation import generator
from classmark.weighting.vectorizer import Vectorizer

BANDS = ((0.0065, 0.008), (0.0125, 0.0145))
ANALYZER = "words|lower"
BATCH = 100
NEVER = 1e12
RECIPE, ORDER, RULE = "ASReview's recipe", "classmark, order only", "classmark, rule"


class Packages(NamedTuple):
    """The texts as both recipes see them, and the relevant documents of each tag."""

    ours: Rows
    theirs: Rows
    topics: dict[str, Any]


class PeerQuery:
    """LinearSVC as ASReview sets it up."""

    def fit(self, P: Any, U: Any = None, N: Any = None):  # noqa: ARG002
        """Learn; before anything is rejected, the examples are added up."""
        self.yes, self.no = P.to_scipy(), None if N is None else N.to_scipy()
        return self._learn()

    def partial_fit(self, yes: Any = None, no: Any = None):
        """Learn all again, with more."""
        from scipy.sparse import vstack

        if yes is not None:
            self.yes = vstack([self.yes, yes.to_scipy()]).tocsr()
        if no is not None:
            more = no.to_scipy()
            self.no = more if self.no is None else vstack([self.no, more]).tocsr()
        return self._learn()

    def decision_function(self, X: Rows):
        """Scores; the bias changes no order."""
        return np.asarray(X.to_scipy() @ self.weights, float)

    def _learn(self):
        from scipy.sparse import vstack
        from sklearn.svm import LinearSVC

        if self.no is None:
            self.weights = np.asarray(self.yes.sum(axis=0)).ravel()
            return self
        y = np.repeat([1, 0], [self.yes.shape[0], self.no.shape[0]])
        svm = LinearSVC(C=0.11, class_weight={0: 1.0, 1: 9.8}, max_iter=5000)
        self.weights = svm.fit(vstack([self.yes, self.no]).tocsr(), y).coef_[0]
        return self


def packages(data: Path | None) -> Packages:
    """Read the packages that have tags."""
    from sklearn.feature_extraction.text import TfidfVectorizer

    dataset = load("debian-debtags", data)
    texts, labels = [], []
    for part in (dataset.train, dataset.test):
        for text, own in zip(part.texts, part.labels, strict=True):
            if own:
                texts.append(text)
                labels.append(set(own))
    X = Vectorizer(ANALYZER, "log-tfidf").fit_transform(texts).astype(np.float32)
    pairs = TfidfVectorizer(ngram_range=(1, 2), sublinear_tf=True, max_df=0.95)
    theirs = pairs.fit_transform(texts).astype(np.float32)
    counts = Counter(tag for own in labels for tag in own)
    topics = {
        tag: np.array([tag in own for own in labels])
        for tag, count in sorted(counts.items())
        if any(low < count / len(texts) < high for low, high in BANDS)
    }
    return Packages(rows_from(X), rows_from(theirs), topics)


def screened(known: Packages, tag: str, run: int) -> dict[str, Simulated]:
    """One tag, from one example, by every recipe; seconds are printed."""
    truth = known.topics[tag]
    seed = generator(run).choice(np.flatnonzero(truth), 1)
    plain = StoppingRule(batch=BATCH, share=0.0, patience=NEVER)
    settings = {
        RECIPE: (known.theirs, {"rule": plain, "query": PeerQuery, "to_stop": False}),
        ORDER: (known.ours, {"rule": plain, "to_stop": False}),
        RULE: (known.ours, {"rule": StoppingRule(batch=BATCH)}),
    }
    found = {}
    told = [f"{tag} ({int(truth.sum())})"]
    for name, (X, options) in settings.items():
        started = time.process_time()
        one = found[name] = simulate(X, truth, seed, random_state=run, **options)
        spent = time.process_time() - started
        told.append(f"{name}: WSS@95 {one.saved:.3f}, {spent:.0f} s")
    told.append(f"read at stop {1 - one.saved_at_stop:.3f}, recall {one.recall:.3f}")
    print("; ".join(told), flush=True)
    return found


def summary(runs: list[dict[str, Simulated]], tags: int) -> list[dict[str, Any]]:
    """Means over tags with standard errors, and the chance of the difference.

    runs : every tag once, then every tag again, …; a tag's runs are averaged first.
    """
    values = {
        name: np.array([run[name].saved for run in runs]).reshape(-1, tags).mean(axis=0)
        for name in runs[0]
    }
    rows = []
    for name, saved in values.items():
        better, chance = "–", "–"
        if name != RECIPE:
            better = f"{int((saved > values[RECIPE]).sum())} of {tags} tags"
            chance = f"{paired_t_test(saved, values[RECIPE]).p_value:.2g}"
        rows.append(
            {
                "method": name,
                "WSS@95": f"{saved.mean():.3f} ± {_error(saved):.3f}",
                "better in": better,
                "p, paired t": chance,
            }
        )
    return rows


def stops(runs: list[dict[str, Simulated]]) -> dict[str, Any]:
    """Where the rule stopped."""
    found = [run[RULE] for run in runs]
    read = np.array([1 - one.saved_at_stop for one in found])
    recall = np.array([one.recall for one in found])
    return {
        "screenings": len(found),
        "read at stop": f"{read.mean():.3f} ± {_error(read):.3f}",
        "recall at stop": f"{recall.mean():.3f} ± {_error(recall):.3f}",
        "least recall": f"{recall.min():.3f}",
        "below 95 %": int((recall < 0.95 - 1e-9).sum()),
    }


def _error(values: Any) -> float:
    return float(values.std(ddof=1) / np.sqrt(len(values)))


def million(documents: int, terms: int = 60, width: int = 200_000) -> dict[str, Any]:
    """Time the batches of a screening of made-up documents; 1 % is relevant."""
    random = generator(0)
    starts = np.arange(documents + 1, dtype=np.int64) * terms
    columns = np.empty(documents * terms, np.uint32)
    for first in range(0, documents, 10_000):
        part = columns[first * terms : (first + 10_000) * terms].reshape(-1, terms)
        drawn = (width * random.random(part.shape) ** 3).astype(np.uint32)
        drawn.sort(axis=1)
        part[:] = np.minimum(drawn + np.arange(terms, dtype=np.uint32), width - 1)
    values = np.full(documents * terms, 1 / np.sqrt(terms), np.float32)
    truth = np.arange(documents) % 100 == 0
    topic = (width - 50 + np.arange(10)).astype(np.uint32)
    columns.reshape(-1, terms)[truth, -10:] = topic
    rows = Rows(starts, columns, values, width)
    screening = Screening(rows, [0], rule=StoppingRule(batch=100))
    seconds = []
    for _ in range(60):
        started = time.perf_counter()
        shown = screening.next()
        screening.answer(shown.documents, truth[shown.documents], shown.random)
        screening.progress()
        seconds.append(time.perf_counter() - started)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return {
        "documents": documents,
        "values": rows.nnz,
        "rows, MB": round((columns.nbytes + values.nbytes + starts.nbytes) / 2**20),
        "peak of the process, MB": round(peak),
        "a batch of 100, ms, median": round(1000 * float(np.median(seconds))),
        "worst, ms": round(1000 * max(seconds)),
    }


def mean_curve(trials, points=400):
    """The mean recall at evenly spaced shares of documents read, shape (points + 1,).

    A reading that ended keeps its last recall.
    """
    shares = np.linspace(0, 1, points + 1)
    rows = []
    for trial in trials:
        missing = trial.relevant - int(trial.order.sum())
        curve = recall_curve(np.concatenate([trial.order, np.ones(missing, bool)]))
        curve = curve[: len(trial.order) + 1]
        at = np.minimum(np.floor(shares * trial.documents).astype(int), len(curve) - 1)
        rows.append(curve[at])
    return np.asarray(np.mean(rows, axis=0), float)


def main() -> None:
    """Screen, print, draw, write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=os.environ.get("CLASSMARK_DATA"))
    parser.add_argument("--runs", type=int, default=3, help="examples a tag")
    parser.add_argument("--topics", type=int, default=100, help="at most so many tags")
    parser.add_argument("--million", type=int, default=1_000_000)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--plot", type=Path, default=Path("reports/screening.svg"))
    options = parser.parse_args()
    data = None if options.data is None else Path(options.data)
    print(f"{platform.machine()}, Python {platform.python_version()}")
    print(table([million(options.million)]), flush=True)
    known = packages(data)
    tags = list(known.topics)[: options.topics]
    runs = [screened(known, tag, run) for run in range(options.runs) for tag in tags]
    rows = summary(runs, len(tags))
    print(f"\n{table(rows)}\n\n{table([stops(runs)])}")
    curves = {name: mean_curve([run[name] for run in runs]) for name in runs[0]}
    draw_curves(
        curves, options.plot, f"Mean of {len(runs)} screenings, 1 % relevant",
        documents=len(curves[RULE]) - 1, target=0.95,
    )  # fmt: skip
    if options.json:
        kept = {"methods": rows, "stops": stops(runs)}
        options.json.write_text(json.dumps(kept, indent=2) + "\n")


if __name__ == "__main__":
    main()
