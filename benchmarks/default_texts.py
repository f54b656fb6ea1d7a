"""From texts to rankings, each with its own vectors: what a user of either would have.

Run with ``OMP_NUM_THREADS=1 python benchmarks/default_texts.py PART [--json FILE]``,
PART being design or judge: the sets of defaults.py that have texts, cut as there.

Classmark : ``Vectorizer.usual()`` and ``PreferenceRanker()``; Finnish is analysed as
    such, as in a project that says so;
scikit-learn : ``TfidfVectorizer(sublinear_tf=True)`` and LinearSVC, one against the
    rest, with the best of five prices by three folds.

In defaults.py all see the same vectors; here these are a part of what is compared.
Seconds are processor time of the final training, without the vectors.
"""

from __future__ import annotations

import argparse
import json
import warnings
from pathlib import Path
from typing import Any

from defaults import (
    DESIGN,
    JUDGE,
    LEARNED,
    MADE_UP,
    drawn,
    labelled,
    ours,
    peers,
    row_of,
    table,
    with_grid,
    with_vectorizer,
)
from text_defaults import LANGUAGE

import classmark as cm
from classmark.text import Analyzer


def contest(name: str, split: str | None) -> list[dict[str, Any]]:
    """Both on one set; nothing where it has no texts."""
    from sklearn.feature_extraction.text import TfidfVectorizer

    dataset, rows, labels = drawn(name, split, LEARNED)
    if not dataset.train.texts:
        return []
    analyzer = Analyzer(LANGUAGE.get(name, "english"))
    vectorizers = {
        "Classmark": cm.Vectorizer.usual(analyzer=analyzer),
        "scikit-learn": TfidfVectorizer(sublinear_tf=True),
    }
    tasks = {
        contestant: labelled(
            f"{name} {split or ''}".strip(),
            with_vectorizer(vectorizer, rows, []),
            tuple(labels),
        )
        for contestant, vectorizer in vectorizers.items()
    }
    first, second = tasks.values()
    cm.PreferenceRanker().fit(first.X[:20], first.Y[:20])  # kernels compiled
    svc = with_grid(second, "LinearSVC", *peers()["LinearSVC"])
    svc["contestant"] = "scikit-learn"
    return [row_of(first, "Classmark", ours()), svc]


def main() -> None:
    """Run a part, print a table, write the rows."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("part", choices=["design", "judge"])
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    rows: list[dict[str, Any]] = []
    for name, split in JUDGE if options.part == "judge" else DESIGN:
        if name != MADE_UP:
            rows += contest(name, split)
        if options.json:
            options.json.write_text(json.dumps(rows, indent=1) + "\n")
    print(table(rows))


if __name__ == "__main__":
    main()
