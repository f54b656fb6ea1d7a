"""Defaults against experts with a grid: which constants, chosen on what, judged where.

Run with ``OMP_NUM_THREADS=1 python benchmarks/defaults.py PART [--json FILE]``:

explore : our settings over the *design* sets, on which constants may be chosen, beside
    LinearSVC with its grid; a table of the best of them.
choose  : from the JSON of ``explore`` (``--tried FILE``), one setting for all design
          sets, and what each would have got had it been left out of the choice.
design  : every contestant on the design sets.
judge   : every contestant on the *judge* sets, which no constant was chosen on. Once a
          release; the table is published whatever it says (docs/benchmarks.md).

The two lists are fixed below. A set on which the judged default has lost may be
designed on afterwards: then it is a design set, and sets not looked at take its place
(annif-makupalat, for wikispeedia and the sections of Debian packages). Contestants:
scikit-learn's LinearSVC, LogisticRegression, ComplementNB and SGDClassifier, one
against the rest, each as constructed and with the best of five prices by three folds of
the training documents (mean AvgP); ours as constructed. All see the same unit vectors,
(1 + ln tf) · idf. Large sets are cut, by a seed, to 3,000 documents to learn and 2,000
to test; labels without a training document are left out. Seconds are processor time of
the final training, one thread; those of a grid are of all its trainings.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import csr_matrix

import classmark as cm
from classmark.arrays import rows_from
from classmark.corpus.counting import statistics
from classmark.corpus.documents import folds
from classmark.datasets import Dataset
from classmark.measures import category_ranking
from classmark.preferences.labels import labels_from
from classmark.rankers.auto import SEVERAL
from classmark.validation import generator
from classmark.weighting.vectorizer import weigh

LEARNED, TESTED = 3000, 2000  # documents at most
MADE_UP = "made-up"
DESIGN = (
    ("library", None),
    ("reuters-21578", "modapte"),
    ("pypi-topics", None),
    ("mulan-tmc2007", None),
    ("yahoo", "arts"),
    ("stackex", "cs"),
    ("debian-debtags", None),
    ("lshtc1-dryrun", "task2"),
    ("annif-makupalat", None),
    (MADE_UP, "1, 24"),
    (MADE_UP, "1, 10"),
    (MADE_UP, "1, 4"),
)
JUDGE = (
    ("mulan-bibtex", None),
    ("mulan-medical", None),
    ("yahoo", "business"),
    ("yahoo", "education"),
    ("stackex", "cooking"),
    ("rcv1-v2-topics", "tokens"),
    ("20newsgroups-bydate", None),
    ("wikispeedia", None),
    ("debian-debtags", "sections"),
    (MADE_UP, "2, 24"),
)
AUTO = "auto"  # the ranker as constructed, among the settings explored
OURS = "ours"  # each of the settings explored
SHOWN = 6  # settings in the table of ``explore``, the best in the mean
MEASURES = ("average_precision", "one_error", "coverage")
SETTING = ("loss", "price", "center", "prior", "noise")


class Problem(NamedTuple):
    """Documents to learn and to test, (n, features), with their labels, (n, k).

    labels : the number that each label has in the set;  said : what is said of
    categories, (those described, features).
    """

    name: str
    X: csr_matrix
    Y: csr_matrix
    X_test: csr_matrix
    Y_test: csr_matrix
    labels: np.ndarray
    said: csr_matrix

    @property
    def shape(self) -> dict[str, float]:
        """What a rule may look at: sizes, and means per document and per label."""
        n, d = self.X.shape
        k = self.Y.shape[1]
        return {
            "documents": n,
            "features": d,
            "labels": k,
            "labels_per_document": self.Y.nnz / n,
            "words_per_document": self.X.nnz / n,
            "documents_per_label": self.Y.nnz / k,
        }


def made_up(seed: int, drawn_labels: float, learned: int) -> tuple[Any, Any]:
    """Word counts (n, 500) and labels (n, 983): bookmarks and their tags, in shape.

    A document has one to three of 60 topics. A topic prefers 40 labels and 25 words;
    labels and words follow a power law beside it. Four of five labels and three of four
    words are of a document's topics; words and labels drawn twice count once: of 24
    labels drawn 20 are left, of 20 words 17.
    """
    n = learned + TESTED
    random = generator(seed)
    topics, k, d = 60, 983, 500

    def popular(size: int, power: float) -> np.ndarray:
        weights = (np.arange(size) + 3.0) ** -power
        return random.permutation(weights / weights.sum())

    label_share, word_share = popular(k, 0.9), popular(d, 0.6)
    own_labels, own_words = (
        np.array([random.choice(size, some, False, share) for _ in range(topics)])
        for size, some, share in ((k, 40, label_share), (d, 25, word_share))
    )
    topic_share = popular(topics, 0.7)

    def drawn(own: Any, share: Any, mean: float, topical: float) -> list[np.ndarray]:
        rows = []
        for mine in mixtures:
            size = 1 + random.poisson(mean - 1)
            of_topic = random.random(size) < topical
            place = (own.shape[1] * random.random(size) ** 1.5).astype(np.int64)
            some = own[random.choice(mine, size), place]
            rest = random.choice(len(share), size, p=share)
            rows.append(np.where(of_topic, some, rest))
        return rows

    mixtures = [
        random.choice(topics, 1 + random.integers(3), p=topic_share) for _ in range(n)
    ]
    return tuple(
        _matrix(rows, size)
        for rows, size in (
            (drawn(own_words, word_share, 20.0, 0.75), d),
            (drawn(own_labels, label_share, drawn_labels, 0.8), k),
        )
    )


def _matrix(rows: list[np.ndarray], width: int) -> csr_matrix:
    """Rows of ones where a row has a number, however often."""
    starts = np.cumsum([0, *map(len, rows)])
    columns = np.concatenate(rows)
    ones = np.ones(len(columns))
    counts = csr_matrix((ones, columns, starts), shape=(len(rows), width))
    counts.sum_duplicates()
    counts.data[:] = 1.0
    return counts


def problem(
    name: str,
    split: str | None,
    weighting: str = "log-tfidf",
    norm: str | None = "l2",
    learned: int = LEARNED,
) -> Problem:
    """A set as all contestants see it; or with other weights, or other documents."""
    if name == MADE_UP:
        seed, each = (split or "").split(",")
        counts, Y = made_up(int(seed), float(each), learned)
        parts = [(counts[a:b], Y[a:b]) for a, b in ((0, learned), (learned, None))]
        rows = parts[0][0], parts[1][0], counts[:0]
        vectors = _weighted(*rows, weighting=weighting, norm=norm)
        return labelled(f"{name} {split}", vectors, (parts[0][1], parts[1][1]))
    dataset, rows, labels = drawn(name, split, learned)
    said = dataset.descriptions
    if dataset.train.texts:
        vectorizer = cm.Vectorizer(weighting=weighting, norm=norm)
        vectors = with_vectorizer(vectorizer, rows, said.texts)
    else:
        said = dataset.train.X[:0] if said.X is None else said.X
        vectors = _weighted(*rows, said, weighting=weighting, norm=norm)
    return labelled(f"{name} {split or ''}".strip(), vectors, tuple(labels))


def drawn(name: str, split: str | None, learned: int) -> tuple[Dataset, list, list]:
    """A set, texts or counts of documents to learn and to test, and their labels."""
    random = generator(0)
    dataset = cm.datasets.load(name, split=split)
    tested = dataset.test if dataset.test.ids else dataset.validation
    k, rows, labels = len(dataset.label_names), [], []
    for part, most in ((dataset.train, learned), (tested, TESTED)):
        Y = labels_from(dataset.label_numbers(part), len(part.ids), k).to_scipy()
        has = np.flatnonzero(np.diff(Y.indptr))
        has = np.sort(random.permutation(has)[:most])
        labels.append(Y[has])
        rows.append([part.texts[i] for i in has] if part.texts else part.X[has])
    return dataset, rows, labels


def with_vectorizer(vectorizer: Any, rows: list, said: list[str]) -> Any:
    """Texts to learn, to test and about categories, by what learns from the first."""
    first = vectorizer.fit_transform(rows[0])
    about = vectorizer.transform(said) if said else first[:0]
    return first, vectorizer.transform(rows[1]), about


def _weighted(*parts: Any, weighting: str, norm: str | None) -> Any:
    """Counts as weighted rows, by the document frequencies of the first part."""
    known = statistics(rows_from(parts[0]))
    return tuple(
        weigh(rows_from(part), known, weighting, norm=norm).to_scipy() for part in parts
    )


def labelled(name: str, vectors: Any, labels: tuple[Any, Any]) -> Problem:
    """Without labels and words that no training document has."""
    Y, Y_test = (csr_matrix(each, dtype=np.float64) for each in labels)
    X, X_test, said = (csr_matrix(each, dtype=np.float32) for each in vectors)
    used = np.flatnonzero(np.bincount(Y.indices, minlength=Y.shape[1]))
    words = np.flatnonzero(np.bincount(X.indices, minlength=X.shape[1]))
    Y, Y_test = Y[:, used], Y_test[:, used]
    X, X_test, said = X[:, words], X_test[:, words], said[:, words]
    for each in (Y, Y_test):
        each.data[:] = 1.0
    tested = np.flatnonzero(np.diff(Y_test.indptr))
    return Problem(name, X, Y, X_test[tested], Y_test[tested], used, said)


def measured(scores: np.ndarray, Y: csr_matrix) -> dict[str, float]:
    """AvgP, one-error and coverage."""
    values = category_ranking(scores, labels_from(Y, *Y.shape))
    return {name: float(values[name]) for name in MEASURES}


Fit = Callable[[csr_matrix, csr_matrix], Callable[[csr_matrix], np.ndarray]]


def peer(make: Callable[..., Any], **params: Any) -> Fit:
    """One scikit-learn learner, one against the rest."""
    from sklearn.multiclass import OneVsRestClassifier

    def fit(X: csr_matrix, Y: csr_matrix) -> Callable[[csr_matrix], np.ndarray]:
        model = OneVsRestClassifier(make(**params))
        model.fit(X.astype(np.float64), Y.astype(np.int64))
        if hasattr(model.estimators_[0], "decision_function"):
            return lambda new: model.decision_function(new.astype(np.float64))
        # log-odds: as probabilities, many of which round to 1, they would tie
        return lambda new: np.column_stack(
            [_log_odds(each, new.astype(np.float64)) for each in model.estimators_]
        )

    return fit


def _log_odds(binary: Any, X: csr_matrix) -> np.ndarray:
    """How much more likely the label is than not, of one naive Bayes model."""
    if not hasattr(binary, "predict_joint_log_proba"):  # every document has the label
        return np.full(X.shape[0], np.inf)
    joint = binary.predict_joint_log_proba(X)
    return joint[:, 1] - joint[:, 0]


def peers() -> dict[str, tuple[Callable[..., Any], str, tuple[float, ...]]]:
    """Learners, the parameter of their grid, and its values."""
    from sklearn.linear_model import LogisticRegression, SGDClassifier
    from sklearn.naive_bayes import ComplementNB
    from sklearn.svm import LinearSVC

    def logistic(C: float = 1.0) -> Any:
        return LogisticRegression(C=C, solver="liblinear")

    def descent(alpha: float = 1e-4) -> Any:
        return SGDClassifier(alpha=alpha, random_state=0)

    return {
        "LinearSVC": (LinearSVC, "C", (0.03, 0.1, 0.3, 1.0, 3.0)),
        "LogisticRegression": (logistic, "C", (0.3, 1.0, 3.0, 10.0, 30.0)),
        "ComplementNB": (ComplementNB, "alpha", (0.01, 0.03, 0.1, 0.3, 1.0)),
        "SGDClassifier": (descent, "alpha", (1e-6, 1e-5, 3e-5, 1e-4, 3e-4)),
    }


def best_of_grid(
    task: Problem, make: Callable[..., Any], name: str, values: tuple[float, ...]
) -> float:
    """The value with the highest AvgP over three folds of the training documents."""
    precision = dict.fromkeys(values, 0.0)
    for learned, out in folds(task.X.shape[0], 3, random_state=0):
        Y = task.Y[learned]
        used = np.flatnonzero(np.bincount(Y.indices, minlength=Y.shape[1]))
        truth = task.Y[out][:, used]
        asked = np.flatnonzero(np.diff(truth.indptr))
        for value in values:
            score = peer(make, **{name: value})(task.X[learned], Y[:, used])
            found = measured(score(task.X[out][asked]), truth[asked])
            precision[value] += found["average_precision"]
    return max(precision, key=precision.__getitem__)


def ours(**params: Any) -> Fit:
    """The preference ranker."""

    def fit(X: csr_matrix, Y: csr_matrix) -> Callable[[csr_matrix], np.ndarray]:
        ranker = cm.PreferenceRanker(**params).fit(X, Y)
        return ranker.decision_function

    return fit


def row_of(task: Problem, contestant: str, fit: Fit, **facts: Any) -> dict[str, Any]:
    """Train, rank the test documents, measure; say so on the way."""
    started = time.process_time()
    score = fit(task.X, task.Y)
    seconds = time.process_time() - started
    found = measured(score(task.X_test), task.Y_test)
    row = {"set": task.name, "contestant": contestant, **facts, "seconds": seconds}
    print(f"{json.dumps(row | found)}", file=sys.stderr, flush=True)
    return row | found


def contest(
    task: Problem, *, grids: bool = True, against: list[str] | None = None
) -> Iterator[dict[str, Any]]:
    """Every contestant on one set; or ours and the peers named."""
    cm.PreferenceRanker().fit(task.X[:20], task.Y[:20])  # kernels compiled
    yield row_of(task, "Classmark", ours())
    for name, (make, parameter, values) in peers().items():
        if against and name not in against:
            continue
        yield row_of(task, name, peer(make))
        if grids:
            yield with_grid(task, name, make, parameter, values)


def with_grid(
    task: Problem,
    name: str,
    make: Callable[..., Any],
    parameter: str,
    values: tuple[float, ...],
) -> dict[str, Any]:
    """A learner with the best of its grid."""
    started = time.process_time()
    value = best_of_grid(task, make, parameter, values)
    spent = time.process_time() - started
    fit = peer(make, **{parameter: value})
    facts = {parameter: value, "grid_seconds": spent}
    return row_of(task, f"{name}, grid", fit, **facts)


def explore(task: Problem, losses: list[str] | None) -> Iterator[dict[str, Any]]:
    """LinearSVC with its grid, every setting tried, and ``auto`` on one set.

    losses : None, or the only ones tried, beside nothing else.
    """
    if not losses:
        yield with_grid(task, "LinearSVC", *peers()["LinearSVC"])
    for setting in tried_settings():
        if not losses or setting["loss"] in losses:
            yield explored(task, setting)
    if not losses:
        yield row_of(task, AUTO, ours())


def tried_settings() -> Iterator[dict[str, Any]]:
    """What ``explore`` tries; price : of all groups of a label of a document.

    A prior is for sets with 1.5 labels a document or more; others have none, nor has
    the loss svm, which learns a threshold for each label.
    """
    tried = [
        ("dom", *each) for each in product((0.1, 0.3, 1.0), (0, 5), (0, 0.3), (0,))
    ]
    tried += [
        ("dom", *each, 0.3, noise)
        for noise, *each in product((1.0, 2.0, 3.0), (0.3, 1.0), (1.4, 3.0, 6.0))
    ]
    tried += [("dom", 0.3, 3.0, 0, 2.0), ("dme", 1.0, 5, 0.3, 0)]
    tried += [("dis", 1.0, *each) for each in ((0, 0.3, 0), (5, 0.3, 0), (5, 0.3, 2.0))]
    tried += [
        (loss, price, 3.0, 0.3, 2.0)
        for loss, price in product(("svm", "dme"), (0.03, 0.1, 0.3, 1.0))
    ]
    tried += [("svm", price, 5, 0, 0) for price in (0.1, 0.3, 1.0)]
    for setting in tried:
        yield dict(zip(SETTING, setting, strict=True))


def explored(task: Problem, setting: dict[str, Any]) -> dict[str, Any]:
    """One of our settings on one set."""

    def fit(X: csr_matrix, Y: csr_matrix) -> Callable[[csr_matrix], np.ndarray]:
        own = Y.nnz / Y.shape[0]
        others = Y.shape[1] - own
        share = {"dis": 1 / others, "dme": own / others}.get(setting["loss"], 1.0)
        how = {name: setting[name] or None for name in SETTING if name != "price"}
        if own < SEVERAL or setting["loss"] == "svm":
            how["prior"] = None
        ranker = cm.PreferenceRanker(**how, C=setting["price"] * share, tol=1e-2)
        return ranker.fit(X, Y).decision_function

    return row_of(task, OURS, fit, **setting)


Precision = dict[str, float]  # AvgP by set


def precision_of(rows: list[dict[str, Any]], contestant: str) -> Precision:
    """AvgP of a contestant on each set."""
    mine = (row for row in rows if row["contestant"] == contestant)
    return {row["set"]: row["average_precision"] for row in mine}


def settings_of(rows: list[dict[str, Any]]) -> dict[str, Precision]:
    """AvgP of each setting explored on each set."""
    by: dict[str, Precision] = {}
    for row in rows:
        if row["contestant"] == OURS:
            setting = ", ".join(f"{name} {row[name]}" for name in SETTING)
            by.setdefault(setting, {})[row["set"]] = row["average_precision"]
    return by


def table_of_settings(rows: list[dict[str, Any]]) -> str:
    """LinearSVC with its grid, the best settings for all sets, auto, the best for each.

    What is best for each set is so on its test documents: no choice can count on it.
    """
    sets = list(dict.fromkeys(row["set"] for row in rows))
    by = settings_of(rows)
    ranked = sorted(by, key=lambda one: -sum(by[one].values()))
    best = {each: max(own[each] for own in by.values()) for each in sets}
    lines = {"LinearSVC, grid": precision_of(rows, "LinearSVC, grid")}
    lines |= {one: by[one] for one in ranked[:SHOWN]}
    lines |= {f"`{AUTO}`": precision_of(rows, AUTO)}
    lines |= {f"the best of {len(by)} for each set": best}
    lines = {name: own for name, own in lines.items() if own}
    head = " | ".join(("setting", *sets, "mean"))
    return "\n".join(
        [f"| {head} |", "|---" * (len(sets) + 2) + "|"]
        + [
            f"| {name} | "
            + " | ".join(f"{own[each]:.3f}" for each in sets)
            + f" | {np.mean([own[each] for each in sets]):.4f} |"
            for name, own in lines.items()
        ]
    )


def choose(rows: list[dict[str, Any]]) -> str:
    """The best setting for all sets, for each set that of all others, and ``auto``.

    Best is the highest mean AvgP. A set left out has had no say in its setting.
    """
    sets = list(dict.fromkeys(row["set"] for row in rows))
    auto, by = precision_of(rows, AUTO), settings_of(rows)

    def best(judges: list[str]) -> str:
        return max(by, key=lambda one: sum(by[one][each] for each in judges))

    lines = [
        f"For all: {best(sets)}",
        "",
        "| left out | chosen by the others | AvgP | auto | best | by |",
    ]
    lines.append("|---|---|---|---|---|---|")
    for each in sets:
        one, own = best([other for other in sets if other != each]), best([each])
        values = (by[one][each], auto[each], by[own][each])
        cells = " | ".join([*(f"{value:.3f}" for value in values), own])
        lines.append(f"| {each} | {one} | {cells} |")
    return "\n".join(lines)


def table(rows: list[dict[str, Any]]) -> str:
    """AvgP, one-error, coverage and seconds by contestant: means, then set by set."""
    names = list(dict.fromkeys(row["contestant"] for row in rows))
    sets = list(dict.fromkeys(row["set"] for row in rows))
    by = {(row["set"], row["contestant"]): row for row in rows}
    lines = [
        "| contestant | AvgP | one-error | coverage | seconds |",
        "|---|---|---|---|---|",
    ]
    for name in names:
        mine = [by[each, name] for each in sets]
        means = [np.mean([row[m] for row in mine]) for m in (*MEASURES, "seconds")]
        lines.append(
            f"| {name} | {means[0]:.4f} | {means[1]:.4f} | {means[2]:.2f} | "
            f"{means[3]:.2f} |"
        )
    lines += [
        "",
        "| AvgP | " + " | ".join(names) + " |",
        "|---" * (1 + len(names)) + "|",
    ]
    for each in sets:
        cells = [f"{by[each, name]['average_precision']:.3f}" for name in names]
        lines.append(f"| {each} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def main() -> None:
    """Run a part, print a table, write the rows."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("part", choices=["explore", "choose", "design", "judge"])
    parser.add_argument("--sets", nargs="*", help="only those whose name begins so")
    parser.add_argument("--no-grids", action="store_true")
    parser.add_argument("--against", nargs="*", help="only these peers")
    parser.add_argument("--losses", nargs="*", help="of explore: only these")
    parser.add_argument("--learned", type=int, default=LEARNED, help="documents")
    parser.add_argument("--tried", type=Path, help="of choose: what explore wrote")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    if options.part == "choose":
        print(choose(json.loads(options.tried.read_text())))
        return
    rows: list[dict[str, Any]] = []
    for name, split in JUDGE if options.part == "judge" else DESIGN:
        if options.sets and not any(
            f"{name} {split}".startswith(s) for s in options.sets
        ):
            continue
        task = problem(name, split, learned=options.learned)
        print(f"{task.name}: {json.dumps(task.shape)}", file=sys.stderr, flush=True)
        if options.part == "explore":
            rows += explore(task, options.losses)
        else:
            rows += contest(task, grids=not options.no_grids, against=options.against)
        if options.json:
            options.json.write_text(json.dumps(rows, indent=1) + "\n")
    print(table_of_settings(rows) if options.part == "explore" else table(rows))


if __name__ == "__main__":
    main()
