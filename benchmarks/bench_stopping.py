"""How much is read until a screening stops at 80, 90 and 95 %, by two rules of proof.

Run with ``OMP_NUM_THREADS=1 python benchmarks/bench_stopping.py --data DIR``. Library,
Reuters, Debian packages and newsgroups; a category is looked for, from one document on.
Beside the rule of ``measures.stopping`` stands the rule before it (bets that knew the
target, a tenth of random draws, twice the patience), in the same loop with the same
examples, and the least that any rule with this error must read. Share and patience were
chosen on every other category of the library and of Reuters; those reported are the
other ones, the Debian tags of ``bench_screening.py``, and all newsgroups.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import time
from collections import Counter
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from bench_screening import BANDS, NEVER
from bench_stream import table
from scipy.stats import hypergeom

from classmark.arrays import Rows, rows_from
from classmark.datasets import load
from classmark.examples.screening import TARGETS, Reading, Screening, StoppingRule
from classmark.measures import documents_read
from classmark.measures.stopping import least_reading, missing_total, most_relevant
from classmark.validation import generator
from classmark.weighting.vectorizer import Vectorizer

ERROR = 0.05
SETS = {
    "library": (10, (0.03, 0.1)),
    "reuters-21578": (50, (0.0055, 0.075)),
    "debian-debtags": (100, (0.0, 0.0)),
    "20newsgroups-bydate": (100, (0.0, 1.0)),
}


class EarlierScreening(Screening):
    """Stops by the rule before: one bet for all totals, made when likely ones ran dry.

    θ = (¼ + hits)/(1 + expected hits) of a round, at the least total that misses the
    target; the product of θ (relevant) or (1 − θp)/(1 − p) (not).
    """

    @property
    def chance(self) -> float:
        """Were the target missed, one would ever see this at most so often."""
        n_relevant = int(self.relevant.sum())
        least = missing_total(n_relevant, self.rule.target)
        if least > n_relevant + self.unread:
            return 0.0
        draws, rounds = self.draws, self._rounds()
        missing = np.floor(draws.n_found / self.rule.target + 1e-9) + 1 - draws.n_found
        chance = np.minimum(missing / draws.unread, 1.0)
        expected = np.cumsum(chance) - chance
        hits = np.cumsum(draws.hits) - draws.hits
        opens = np.diff(rounds, prepend=0) != 0
        first = np.maximum.accumulate(np.where(opens, np.arange(len(opens)), 0))
        hits, expected = hits - hits[first], expected - expected[first]
        theta = np.minimum((0.25 + hits) / (1 + expected), 1)
        p = np.clip((least - draws.n_found) / draws.unread, 0.0, 1.0)
        with np.errstate(divide="ignore"):
            missed = np.log1p(-theta * p) - np.log1p(-p)
            steps = np.where(draws.hits, np.log(theta), missed)[rounds > 0]
        return min(1.0, math.exp(-float(steps.sum())))

    def _rounds(self) -> Any:
        hit, random = self.relevant, self.drawn
        likely = np.cumsum(~random) - ~random
        likely_hits = np.where(hit & ~random, np.arange(len(hit)), -1)
        last = np.maximum.accumulate(np.concatenate([[-1], likely_hits]))[:-1]
        since = likely - np.where(last < 0, 0, likely[last] + 1)
        found = np.cumsum(hit) - hit
        missing = np.floor(found / self.rule.target + 1e-9) + 1 - found
        unread = self.documents - np.arange(len(hit))
        dry = (since >= self.rule.patience * unread / missing)[random]
        rounds = np.zeros(int(random.sum()), np.int64)
        rounds[dry] = np.unique(last[random][dry], return_inverse=True)[1] + 1
        return rounds


class Trial(NamedTuple):
    """One screening: shares of the documents read, and what came of it."""

    read: float
    recall: float
    reached: float
    seconds: float


RULES = {
    "earlier": (EarlierScreening, {"share": 0.1, "patience": 1.0}),
    "now": (Screening, {}),
}


def trial(
    X: Rows, truth: Any, run: int, rule: str, options: tuple[float, int]
) -> Trial:
    """Screen until the rule says stop; options : target and batch."""
    make, more = RULES[rule]
    seed = int(generator(run).choice(np.flatnonzero(truth)))
    began = time.process_time()
    screening = make(
        X, [seed], random_state=run,
        rule=StoppingRule(options[0], ERROR, options[1], **more),
    )  # fmt: skip
    while not screening.stop:
        shown = screening.next()
        screening.answer(shown.documents, truth[shown.documents], shown.random)
    total, order = int(truth.sum()), screening.relevant
    whole = np.concatenate([order, np.ones(total - int(order.sum()), bool)])
    reached = documents_read(whole, options[0]) / len(truth)
    spent = time.process_time() - began
    return Trial(len(order) / len(truth), int(order.sum()) / total, reached, spent)


def topics(name: str, data: Path | None) -> tuple[Rows, dict[str, Any]]:
    """The vectors of a set, and the relevant documents of the categories reported."""
    dataset = load(name, None if name == "library" else data)
    texts, labels = [], []
    for part in (dataset.train, dataset.test):
        for text, own in zip(part.texts, part.labels, strict=True) if part else ():
            if own:
                texts.append(text)
                labels.append(set(own))
    X = Vectorizer("words|lower", "log-tfidf").fit_transform(texts).astype(np.float32)
    counts = Counter(label for own in labels for label in own)
    bands = BANDS if name == "debian-debtags" else (SETS[name][1],)
    chosen = [
        label
        for label, count in sorted(counts.items())
        if any(low <= count / len(texts) <= high for low, high in bands)
    ]
    if name in ("library", "reuters-21578"):
        chosen = chosen[1::2]
    truth = {label: np.array([label in own for own in labels]) for label in chosen}
    return rows_from(X), truth


def made_up(hidden: float, run: int, target: float) -> tuple[bool, bool]:
    """Screen 600 made-up documents, 100 relevant, some of them unlikely for ever.

    Returns whether it stopped too early, and whether the bound was ever too high.
    """
    random, n, many = np.random.default_rng(run), 600, 100
    relevant = np.arange(n) < many
    scores = random.normal(size=n) + 4 * relevant
    concealed = int(hidden * many)
    scores[:concealed] = random.normal(size=concealed) - 1
    likely, order = np.argsort(-scores), random.permutation(n)
    reading, broken = Reading(n, StoppingRule(target, ERROR, 20)), False
    while not reading.stop:
        count = min(20, n - len(reading))
        drawn = reading.draws_wanted(count)
        first = likely[~reading.read[likely]][: count - drawn]
        closed = reading.read.copy()
        closed[first] = True
        documents = np.concatenate([first, order[~closed[order]][:drawn]])
        flags = np.arange(len(documents)) >= len(first)
        reading.answer(documents, relevant[documents], flags)
        found = int(reading.relevant.sum())
        most = most_relevant(reading.totals, found, ERROR)
        broken |= most < many
    return int(reading.relevant.sum()) < target * many - 1e-9, broken


def oracle(X: Rows, truth: Any, target: float, batch: int) -> float:
    """The share read by who knows all answers, and proves the target with one look.

    Likely documents are read in the order of a screening without draws; then, at the
    best moment, as many are drawn as a hypergeometric test needs, with the median hits.
    """
    seed = int(generator(0).choice(np.flatnonzero(truth)))
    rule = StoppingRule(target, ERROR, batch, 0.0, NEVER)
    screening, total, n = Screening(X, [seed], rule=rule), int(truth.sum()), len(truth)
    while int(screening.relevant.sum()) < total:
        shown = screening.next()
        screening.answer(shown.documents, truth[shown.documents], shown.random)
    n_found, best = np.cumsum(screening.relevant), 1.0
    for read in range(2 * batch, len(n_found), batch):
        found, unread = int(n_found[read - 1]), n - read
        for drawn in range(batch, unread, batch):
            hits = round((total - found) * drawn / unread)
            left = missing_total(found + hits, target) - found
            if left <= unread and hypergeom(unread, left, drawn).cdf(hits) <= ERROR:
                best = min(best, (read + drawn) / n)
                break
    return best


def coverage(screenings: int) -> list[dict[str, Any]]:
    """How often the promise was broken, by the target and what is hidden."""
    rows = []
    for target in TARGETS:
        for hidden in (0.0, 0.1, 0.25):
            trials = [made_up(hidden, run, target) for run in range(screenings)]
            early, broken = np.mean(trials, axis=0)
            rows.append(
                {
                    "target": f"{target:.0%}",
                    "never likely": f"{hidden:.0%}",
                    "screenings": screenings,
                    "stopped too early": f"{early:.2%}",
                    "bound ever too high": f"{broken:.2%}",
                }
            )
            print(table(rows[-1:]), flush=True)
    return rows


def row(name: str, target: float, trials: dict[str, list[Trial]], least: float) -> Any:
    """Means over the screenings of a set."""
    means = {rule: np.mean(list(some), axis=0) for rule, some in trials.items()}
    early = {
        rule: sum(one.recall < target - 1e-9 for one in some)
        for rule, some in trials.items()
    }
    return {
        "set": name,
        "target": f"{target:.0%}",
        "screenings": len(trials["now"]),
        "reached at": f"{means['now'][2]:.3f}",
        "least": f"{least:.3f}",
        "earlier": f"{means['earlier'][0]:.3f}",
        "now": f"{means['now'][0]:.3f}",
        "recall": f"{means['now'][1]:.3f}",
        "too early": f"{early['earlier']}, {early['now']}",
    }


def main() -> None:
    """Screen, print, write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=os.environ.get("CLASSMARK_DATA"))
    parser.add_argument("--sets", default=",".join(SETS))
    parser.add_argument("--runs", type=int, default=1, help="examples a category")
    parser.add_argument("--coverage", type=int, default=0, help="made-up screenings")
    parser.add_argument("--oracle", action="store_true", help="of the library")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    data = None if options.data is None else Path(options.data)
    if options.coverage:
        print(table(coverage(options.coverage)))
        return
    if options.oracle:
        X, truths = topics("library", data)
        for target in TARGETS:
            shares = [oracle(X, truth, target, 10) for truth in truths.values()]
            print(f"{target:.0%}: an oracle reads {np.mean(shares):.3f}", flush=True)
        return
    rows = []
    for name in options.sets.split(","):
        X, truths = topics(name, data)
        for target in TARGETS:
            asked = target, SETS[name][0]
            trials = {
                rule: [
                    trial(X, truth, run, rule, asked)
                    for truth in truths.values()
                    for run in range(options.runs)
                ]
                for rule in RULES
            }
            least = [
                least_reading(int(t.sum()), target, ERROR) for t in truths.values()
            ]
            rows.append(row(name, target, trials, float(np.mean(least))))
            print(table(rows[-1:]), flush=True)
    print(f"\n{table(rows)}")
    if options.json:
        options.json.write_text(json.dumps(rows, indent=2) + "\n")


if __name__ == "__main__":
    main()
