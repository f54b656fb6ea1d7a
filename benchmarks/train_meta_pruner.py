"""Learn which nodes are better removed: each node of six taxonomies is tried.

Writes src/classmark/hierarchies/meta.json. A node's removal is tried on the documents
of its parent, each judged by classifiers that did not see it (``hierarchies.pruning``,
linear SVMs, three folds); all documents, and random halves. The target is Φ(gain /
√(changed + 1)): how sure it is that the removal helped.

    python benchmarks/train_meta_pruner.py            (needs CLASSMARK_DATA)
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from scipy.special import ndtr
from sklearn.linear_model import LogisticRegression

from classmark.arrays import keep_columns, rows_from, take
from classmark.corpus.counting import statistics
from classmark.datasets import load
from classmark.hierarchies.held_out import Removals
from classmark.hierarchies.places import places_of
from classmark.hierarchies.pruning import NAMES, Described, MetaClassifier
from classmark.weighting.vectorizer import Vectorizer, weigh

SETS = {
    "library": None,
    "rcv1-v2-topics": "tokens",
    "pypi-topics": None,
    "wikispeedia": None,
    "lshtc1-dryrun": "task2",
    "annif-makupalat": None,
}
HALVES_ONLY = {"annif-makupalat"}
PENALTY = 3.0
WHERE = Path(__file__).parent.parent / "src/classmark/hierarchies/meta.json"


def training_part(name):
    """Return the tree, unit rows (1 + ln tf, idf) and categories of a set."""
    data = load(name, split=SETS[name])
    part, tree = data.train, data.taxonomy
    if part.X is None:
        rows = rows_from(Vectorizer(weighting="log-tfidf").fit_transform(part.texts))
    else:
        counts = rows_from(part.X)
        counts = keep_columns(counts, np.unique(counts.columns))
        rows = weigh(counts, statistics(counts), "log-tfidf")
    return tree, rows, [[c for c in own if c in tree] for own in part.labels]


def samples(name, n: int) -> Iterator[np.ndarray]:
    """Yield numbers of documents: all, and two random halves."""
    if name not in HALVES_ONLY:
        yield np.arange(n)
    order = np.random.default_rng(0).permutation(n)
    yield from (np.sort(order[: n // 2]), np.sort(order[n // 2 :]))


def tried(name):
    """Return features, gains and changes of every node that decides something."""
    tree, rows, labels = training_part(name)
    found, gains, changes = [], [], []
    for which in samples(name, len(rows)):
        documents = Removals(
            places_of(tree, [labels[i] for i in which]), take(rows, which)
        )
        trials, described = documents, Described(documents)
        for v in trials.removable():
            p = trials.parent(v)
            if min(len(documents.daughters[v]), len(documents.daughters[p])) < 2:
                continue
            if not len(documents.at(v)):
                continue
            removal = trials.attempt(v)
            found.append(described.features(v, p))
            gains.append(removal.gain)
            changes.append(removal.changed)
    print(f"{name}: {len(found)} nodes, {np.sum(np.array(gains) > 0)} better without")
    sys.stdout.flush()
    return np.array(found), np.array(gains), np.array(changes)


def fit_meta(features, targets, trust, penalty=1.0) -> MetaClassifier:
    """Logistic regression on standardised features.

    Minimises Σ trust · (−t ln p − (1 − t) ln(1 − p)) + penalty/2 ‖weights‖². A target t
    in [0, 1], how sure it is that the removal helped, is a positive example of weight t
    and a negative one of weight 1 − t.
    """
    x = np.asarray(features, np.float64)
    mean, scale = x.mean(axis=0), x.std(axis=0)
    scale[scale == 0] = 1.0
    standard = (x - mean) / scale
    model = LogisticRegression(C=1 / penalty, tol=1e-10, max_iter=10_000)
    model.fit(
        np.vstack([standard, standard]),
        np.repeat([1, 0], len(x)),
        sample_weight=np.concatenate([trust * targets, trust * (1 - targets)]),
    )
    return MetaClassifier(mean, scale, model.coef_[0], float(model.intercept_[0]))


def to_facts(learned: MetaClassifier) -> dict:
    """The classifier as JSON: each number beside the name of its feature."""
    arrays = {
        "mean": learned.mean,
        "scale": learned.scale,
        "weights": learned.weights,
    }
    named = {
        part: {name: round(float(x), 6) for name, x in zip(NAMES, values, strict=True)}
        for part, values in arrays.items()
    }
    return {**named, "bias": round(learned.bias, 6)}


def learn(parts):
    """Fit on the nodes of several sets, each set with the same weight."""
    x = np.concatenate([features for features, _, _ in parts])
    gain = np.concatenate([gains for _, gains, _ in parts])
    changed = np.concatenate([changes for _, _, changes in parts])
    target = ndtr(gain / np.sqrt(changed + 1.0))
    trust = changed / (changed + 5.0)
    each = np.concatenate(
        [np.full(len(t), 1.0 / max(1.0, np.sum(c / (c + 5.0)))) for t, _, c in parts]
    )
    return fit_meta(x, target, trust * each * 100.0, PENALTY)


def area(scores, better) -> float | None:
    """Return the area under the ROC curve, ties counted half; None of one kind."""
    a, b = scores[better], scores[~better]
    if not len(a) or not len(b):
        return None
    wins = (a[:, None] > b).mean() + 0.5 * (a[:, None] == b).mean()
    return round(float(wins), 3)


def judged(meta, part):
    """Say how well a set is foretold: accuracy and area over clear cases, gains."""
    features, gains, changes = part
    clear = np.abs(gains) >= np.maximum(1.0, np.sqrt(changes))
    p, better = meta.probability(features), gains > 0
    return {
        "nodes": len(gains),
        "clear": int(clear.sum()),
        "clearly better without": int((clear & better).sum()),
        "accuracy": round(float(((p > 0.5) == better)[clear].mean()), 3),
        "area": area(p[clear], better[clear]),
        "gain, all removed": float(gains.sum()),
        "gain, bold": float(gains[p > 0.5].sum()),
        "gain, conservative": float(gains[p > 0.7].sum()),
        "gain, best possible": float(gains[gains > 0].sum()),
    }


def main() -> None:
    """Try, learn, judge each set by the others, write."""
    parts = {name: tried(name) for name in SETS}
    without, figures = {}, {}
    for name in SETS:
        others = [part for other, part in parts.items() if other != name]
        meta = learn(others)
        without[name] = to_facts(meta)
        figures[name] = judged(meta, parts[name])
        print(name, figures[name])
    facts = {
        "made by": "benchmarks/train_meta_pruner.py",
        "learned on": {name: len(part[1]) for name, part in parts.items()},
        "features": list(NAMES),
        "foretold by the other sets": figures,
        "all": to_facts(learn(list(parts.values()))),
        "without": without,
    }
    WHERE.write_text(json.dumps(facts, indent=1, ensure_ascii=False) + "\n", "utf-8")


if __name__ == "__main__":
    main()
