"""Learn which nodes are better removed: each node of six taxonomies is tried.

Writes src/classmark/hierarchies/meta.json. A node's removal is tried on the documents
of its parent, each judged by classifiers that did not see it (``hierarchies.meta``,
linear SVMs, three folds); all documents, and random halves. The target is Φ(gain /
√(changed + 1)): how sure it is that the removal helped.

    python benchmarks/train_meta_pruner.py            (needs CLASSMARK_DATA)
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np

from classmark.arrays import keep_columns, rows_from
from classmark.corpus.counting import statistics
from classmark.datasets import load
from classmark.hierarchies.meta import NAMES, judge_meta, learn_meta, try_nodes
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


def tried(name):
    """Try every node that decides something, with all documents and with halves."""
    tree, rows, labels = training_part(name)
    trials = try_nodes(tree, rows, labels, whole=name not in HALVES_ONLY)
    print(f"{name}: {len(trials)} nodes, {np.sum(trials.gain > 0)} better without")
    sys.stdout.flush()
    return trials


def rounded(learned):
    """The classifier as JSON, six digits after the point."""
    facts = learned.facts()
    bias = round(facts.pop("bias"), 6)
    parts = {
        part: {name: round(x, 6) for name, x in values.items()}
        for part, values in facts.items()
    }
    return {**parts, "bias": bias}


def main() -> None:
    """Try, learn, judge each set by the others, write."""
    parts = {name: tried(name) for name in SETS}
    without, figures = {}, {}
    for name in SETS:
        others = {other: part for other, part in parts.items() if other != name}
        meta = learn_meta(others)
        without[name] = rounded(meta)
        figures[name] = judge_meta(meta, parts[name])
        print(name, figures[name])
    facts = {
        "made by": "benchmarks/train_meta_pruner.py",
        "learned on": {name: len(part) for name, part in parts.items()},
        "features": list(NAMES),
        "foretold by the other sets": figures,
        "all": rounded(learn_meta(parts)),
        "without": without,
    }
    WHERE.write_text(json.dumps(facts, indent=1, ensure_ascii=False) + "\n", "utf-8")


if __name__ == "__main__":
    main()
