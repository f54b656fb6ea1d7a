"""Backing off: at 95 % precision, who is placed at a leaf, higher up, or nowhere?

Run with ``CLASSMARK_DATA=DIR python benchmarks/bench_backing_off.py [--json FILE]
[--only SET ...]``. On each hierarchical collection, by the flat ranker that is smoothed
along the tree and by the top-down classifier: temperature, assurance and threshold are
fitted on scores of training documents by models that learned from the other folds; what
is reported are the documents of the test part (of LSHTC: the validation part), which
nothing was fitted on.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from classmark.arrays import rows_from, take
from classmark.corpus.documents import cross_validate, folds
from classmark.hierarchies.back_off import BackOff
from classmark.hierarchies.flat import owners_of
from classmark.hierarchies.held_out import fitted
from classmark.hierarchies.taxonomy_ranker import TaxonomyRanker
from classmark.hierarchies.top_down import TopDownClassifier
from reproductions.tree_sets import SETS, hierarchical_set

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
    classes, rows = owners_of(here.y, len(here.y))[0], rows_from(here.rows)
    found = []
    for method, learner in learners(here.taxonomy, classes).items():
        parts = list(folds(len(rows), FOLDS, random_state=0))
        shared = (learner, rows, here.y, classes)
        _, held_out = cross_validate(fold_scores, parts, shared)
        asked = fitted(learner, here.rows, here.y).scores(here.asked, classes)
        best = [classes[at] for at in asked.argmax(axis=1)]
        right = [own in true for own, true in zip(best, here.truth, strict=True)]
        for guard in GUARDS:
            placing = BackOff(here.taxonomy, precision, guard)
            placing.fit(held_out, here.y, classes)
            seen, kept = placing.held_out_, placing.measure(asked, here.truth)
            found.append(
                {
                    "collection": name,
                    "method": method,
                    "confidence": guard,
                    "P@1": sum(right) / len(right),
                    "asked": kept.documents,
                    "precision": kept.precision,
                    "leaf": kept.leaf,
                    "inner": kept.inner,
                    "left": kept.left,
                    "held-out precision": seen.precision,
                    "held-out placed": seen.leaf + seen.inner,
                }
            )
            print(" | ".join(_cell(value) for value in found[-1].values()), flush=True)
    return found


def _cell(value) -> str:
    return f"{value:.3f}" if isinstance(value, float) else str(value)


def main() -> None:
    """Measure, print a row each, and write the rows where asked to."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--only", nargs="*", default=("library", *SETS))
    parser.add_argument("--precision", type=float, default=0.95)
    options = parser.parse_args()
    rows = [row for name in options.only for row in measure(name, options.precision)]
    if options.json:
        options.json.write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
