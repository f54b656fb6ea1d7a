"""Backing off: at 95 % precision, who is placed at a leaf, higher up, or nowhere?

Run with ``CLASSMARK_DATA=DIR python benchmarks/bench_backing_off.py [--by-time]
[--json FILE] [--only SET ...]``. On each hierarchical collection, by the flat ranker
that is smoothed along the tree and by the top-down classifier: temperature, assurance
and threshold are fitted on scores of training documents by models that learned from the
other folds; what
is reported are the documents of the test part (of LSHTC: the validation part), which
nothing was fitted on.

--by-time: is the promise kept on documents of a later time? Learned from earlier ones,
with folds at random and with folds by arrival, without and with an allowance for drift:

reuters-21578       stories before and after 8 April 1987 (ModApté); the tree is a root
                    with the topics
20newsgroups-bydate posts of each group by date; the order within a group is that of its
                    article numbers
annif-makupalat     links made before 2016, and since
debian-debtags      packages that an earlier list of tags has, 6,000 of them, and 3,000
                    of those that came since; the order among the former is no order of
                    time
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import numpy as np
from scipy.stats import binom

from classmark.arrays import rows_from, take
from classmark.corpus.documents import cross_validate, folds, folds_by_arrival
from classmark.datasets import load
from classmark.datasets.dataset import where
from classmark.hierarchies.back_off import BackOff
from classmark.hierarchies.flat import owners_of
from classmark.hierarchies.held_out import fitted
from classmark.hierarchies.taxonomy_ranker import TaxonomyRanker
from classmark.hierarchies.top_down import TopDownClassifier
from classmark.taxonomy.tree import Taxonomy
from classmark.validation import generator
from classmark.weighting.vectorizer import Vectorizer
from classmark.workbench.learning.train import CONFIDENCE, DRIFT
from reproductions.tree_sets import SETS, WEIGHTING, HierarchicalSet, hierarchical_set

FOLDS = 5
GUARDS = (None, 0.9)  # the share as it is; its lower bound with this confidence


def learners(taxonomy, classes) -> dict:
    """The flat ranker and the top-down classifier, as they are by default."""
    return {
        "flat, smoothed along the tree": TaxonomyRanker(taxonomy, classes),
        "top-down": TopDownClassifier(taxonomy, n_jobs=1),
    }


def fold_scores(part, base, rows, y, classes):
    """Scores of a fold's documents by a classifier that learned from the others."""
    learn, ask = part
    model = fitted(base, take(rows, learn), [y[i] for i in learn])
    return model.scores(take(rows, ask).to_scipy(), classes)


def measure(name: str, precision: float) -> list[dict]:
    """One row a learner and guard."""
    here = hierarchical_set(name)
    rules = {f"guard {guard}": ("random", guard, 1.0) for guard in GUARDS}
    return measured(here, precision, rules)


def measured(here: HierarchicalSet, precision: float, rules: dict) -> list[dict]:
    """One row a learner and rule: how folds are made, the confidence, the drift."""
    classes, rows = owners_of(here.y, len(here.y))[0], rows_from(here.rows)
    parts = {
        "random": list(folds(len(rows), FOLDS, random_state=0)),
        "arrival": list(folds_by_arrival([str(own[0]) for own in here.y], FOLDS)),
    }
    found = []
    for method, learner in learners(here.taxonomy, classes).items():
        shared = (learner, rows, here.y, classes)
        held_out = {
            order: cross_validate(fold_scores, parts[order], shared)[1]
            for order in dict.fromkeys(order for order, *_ in rules.values())
        }
        asked = fitted(learner, here.rows, here.y).scores(here.asked, classes)
        best = [classes[at] for at in asked.argmax(axis=1)]
        right = [own in true for own, true in zip(best, here.truth, strict=True)]
        for rule, (order, guard, drift) in rules.items():
            placing = BackOff(here.taxonomy, precision, guard, drift)
            placing.fit(held_out[order], here.y, classes)
            seen, kept = placing.held_out_, placing.measure(asked, here.truth)
            placed = round((kept.leaf + kept.inner) * kept.documents)
            n_right = round(kept.precision * placed)
            found.append(
                {
                    "collection": here.name,
                    "method": method,
                    "rule": rule,
                    "P@1": sum(right) / len(right),
                    "asked": kept.documents,
                    "placed": placed,
                    "precision": kept.precision,
                    "chance of no more": float(binom.cdf(n_right, placed, precision)),
                    "leaf": kept.leaf,
                    "inner": kept.inner,
                    "left": kept.left,
                    "held-out precision": seen.precision,
                    "held-out placed": seen.leaf + seen.inner,
                }
            )
            print(" | ".join(_cell(value) for value in found[-1].values()), flush=True)
    return found


BY_TIME = ("reuters-21578", "20newsgroups-bydate", "annif-makupalat", "debian-debtags")
TIME_RULES = {
    "random": ("random", CONFIDENCE, 1.0),
    "by arrival": ("arrival", CONFIDENCE, 1.0),
    f"by arrival, drift {DRIFT:g}": ("arrival", CONFIDENCE, DRIFT),
}


def by_time(name: str) -> HierarchicalSet:
    """Documents to learn from, in order of arrival, and later ones to ask."""
    data = load(name)
    early, late = (
        list(zip(*part, strict=True)) for part in _early_and_late(name, data)
    )
    tree = data.taxonomy or Taxonomy([("all", topic) for topic in data.label_names])
    if len(tree.roots) > 1:
        tree = Taxonomy([*(("all", root) for root in tree.roots), *tree.edges])
    early, late = (
        [
            (text, own)
            for text, names in part
            if (own := [n for n in names if n in tree])
        ]
        for part in (early, late)
    )
    weigh = Vectorizer(weighting=WEIGHTING)
    rows = rows_from(weigh.fit_transform([text for text, _ in early]))
    asked = weigh.rows([text for text, _ in late])
    y, truth = ([own for _, own in part] for part in (early, late))
    return HierarchicalSet(name, tree, rows, y, asked, truth)


def _early_and_late(name: str, data) -> list[tuple[list, list]]:
    """Texts and labels of the documents to learn from, and of those to ask."""
    parts = [data.train, data.test]
    ids, texts, labels = (
        [value for part in parts for value in getattr(part, field)]
        for field in ("ids", "texts", "labels")
    )
    n = len(data.train.ids)
    early, late = list(range(n)), list(range(n, len(ids)))
    if name == "annif-makupalat":
        since = data.validation
        late += range(len(ids), len(ids) + len(since.ids))
        texts, labels = texts + since.texts, labels + since.labels
    elif name == "20newsgroups-bydate":
        early.sort(key=lambda at: int(ids[at].rsplit("/", 1)[1]))
    elif name == "debian-debtags":
        text = (where(name) / "tags-current").read_text("utf-8")
        before = {line.partition(":")[0].strip() for line in text.splitlines()}
        every = np.array([at for at in range(len(ids)) if labels[at]])
        known = np.array([ids[at] in before for at in every])
        early, late = (
            np.sort(generator(0).permutation(every[which])[:most]).tolist()
            for which, most in ((known, 6000), (~known, 3000))
        )
    return [
        ([texts[at] for at in part], [labels[at] for at in part])
        for part in (early, late)
    ]


def _cell(value) -> str:
    return f"{value:.3f}" if isinstance(value, float) else str(value)


def main() -> None:
    """Measure, print a row each, and write the rows where asked to."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--by-time", action="store_true")
    parser.add_argument("--only", nargs="*")
    parser.add_argument("--precision", type=float, default=0.95)
    options = parser.parse_args()
    if options.by_time:
        found = (
            measured(by_time(name), options.precision, TIME_RULES)
            for name in options.only or BY_TIME
        )
    else:
        names = options.only or ("library", *SETS)
        found = (measure(name, options.precision) for name in names)
    rows = [row for each in found for row in each]
    if options.json:
        options.json.write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
