"""Names of categories as evidence, and trees that part nothing, on Annif's Makupalat.

Run with ``OMP_NUM_THREADS=1 python benchmarks/bench_names.py --data DIR [--json FILE]``
(extra ``skos``): Finnish link descriptions, the classes of YKL with their Finnish names
and synonyms. Each row is one training as ``classmark train`` does it with the settings
as they are (analysis of Finnish), measured on the test part by the measures of Annif's
``eval``. «one root» puts all classes under one category, as a scheme that was exported
with its name does, «strays» twelve of them below another, «tree» is YKL's own. An
ensemble is of the members that it has by default (three gigabytes each). Held-out
rankings decide on names, so each training with names takes one more fifth.

With ``--few 2000`` other learners learn from the first 2,000 documents, and are
measured on the validation part.
"""

from __future__ import annotations

import argparse
import json
import time
from dataclasses import replace
from pathlib import Path

import numpy as np

from classmark.datasets import load
from classmark.evaluation.evaluate import LabelledTexts
from classmark.formats.taxonomies import read_categories
from classmark.ranking import top
from classmark.taxonomy.category import Category, taxonomy_of
from classmark.text import usual_analyzer
from classmark.validation import generator
from classmark.weighting.vectorizer import Vectorizer
from classmark.workbench.learning import fit
from classmark.workbench.learning.evaluate import annif_measures
from classmark.workbench.learning.train import with_what_is_beside
from classmark.workbench.settings import LearningSettings

STRAYS = 12
ROWS = (
    ("flat", "no"), ("flat", "auto"), ("one root", "no"), ("strays", "no"),
    ("one root and strays", "no"), ("tree", "no"), ("tree", "yes"),
    ("flat", "auto", "ensemble"), ("one root", "auto", "ensemble"),
    ("tree", "auto", "ensemble"),
)  # fmt: skip
FEW = tuple(
    ("flat", names, learner)
    for learner in ("rocchio", "loglinear", "plm", "mmp", "perceptron")
    for names in ("no", "auto")
)


def vocabulary(kind: str, categories: list[Category]) -> list[Category]:
    """The categories without their tree, or with another, or as they are."""
    if kind == "tree":
        return categories
    root = ("root",) if kind.startswith("one root") else ()
    flat = [replace(category, parents=root) for category in categories]
    if kind.endswith("strays"):
        random = generator(0)
        for at in random.choice(len(flat), STRAYS, replace=False).tolist():
            other = flat[(at + len(flat) // 3) % len(flat)]
            flat[at] = replace(flat[at], parents=(other.id,))
    return [Category("root", "All"), *flat] if root else flat


def measured(
    data: Path, few: int | None, kind: str, names: str, learner: str = "plm"
) -> dict[str, object]:
    """Train on a vocabulary, with names or without; measure on the test part."""
    dataset = load("annif-makupalat", data)
    file = next((data / "annif-makupalat").glob("ykl*.ttl"))
    categories = vocabulary(kind, read_categories(file, languages=("fi",)))
    known = {category.id for category in categories}
    train, test = dataset.train, dataset.validation if few else dataset.test
    used = {label for part in (train, test) for own in part.labels for label in own}
    categories += [Category(label) for label in sorted(used - known)]
    leaves = set(taxonomy_of(categories).leaves)
    ids = [each.id for each in categories if each.id in used or each.id in leaves]
    number = {id_: at for at, id_ in enumerate(ids)}
    labels = [[number[label] for label in own] for own in train.labels[:few]]
    task = fit.task_of(LabelledTexts(list(train.texts[:few]), labels, ids), categories)
    learning = LearningSettings(names=names, learner=learner, memory="8GB")
    vectorizer = Vectorizer(
        str(usual_analyzer("finnish")), "log-tfidf", characters=4, first_line=2
    )
    started = time.process_time()
    fitted = fit.fit(task, vectorizer, learning)
    model = with_what_is_beside(fitted, task, learning, range(len(labels)))
    seconds = time.process_time() - started
    best = top(model.scores(list(test.texts)), 10).tolist()
    run = {str(i): {ids[c]: -float(at) for at, c in enumerate(row)}
           for i, row in enumerate(best)}  # fmt: skip
    right = {str(i): dict.fromkeys(own, 1) for i, own in enumerate(test.labels) if own}
    weights = getattr(getattr(model.ranker, "names", None), "weights", ())
    return {
        "vocabulary": kind, "names": names, "learner": learner,
        "strategy": fitted.strategy.name,
        **annif_measures(run, right), "seconds": round(seconds),
        "weights": [round(weight, 2) for weight in weights],
    }  # fmt: skip


def main() -> None:
    """Print a row for each training."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--few", type=int, help="learn from so many of the documents")
    parser.add_argument("--rows", type=int, nargs="*", help="these alone, from 0")
    asked = parser.parse_args()
    rows, plan = [], FEW if asked.few else ROWS
    for at in range(len(plan)) if asked.rows is None else asked.rows:
        rows.append(measured(asked.data, asked.few, *plan[at]))
        print(rows[-1], flush=True)
    if asked.json:
        asked.json.write_text(json.dumps(rows, indent=1), encoding="utf-8")


if __name__ == "__main__":
    np.seterr(all="raise", under="ignore")
    main()
