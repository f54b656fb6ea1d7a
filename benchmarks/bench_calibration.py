"""Do the probabilities come true? On the test parts of collections.

CLASSMARK_DATA=DIR python benchmarks/bench_calibration.py [--by-category [SET ...]]

Without an option: the learners and features on two collections. With --by-category: one
curve for all categories, and the categories' own offsets beside it, on the sets where
the shrinkage was chosen and on others; --kappa tries other shrinkages. Tied: how often
two of a document's first five categories, the second at least 5 % likely, have one
probability; AvgP of the order by scores, and by probabilities.
"""

from __future__ import annotations

import argparse
import time

import numpy as np

from classmark.arrays import take
from classmark.corpus.documents import folds
from classmark.datasets import load
from classmark.measures import calibration_error
from classmark.measures.categories import per_document, rank_relevant
from classmark.preferences.labels import labels_from
from classmark.rankers.calibration import (
    KAPPA,
    METHODS,
    Calibrator,
    held_out_scores,
)
from classmark.rankers.text_ranker import learner
from classmark.text import usual_analyzer
from classmark.validation import generator
from classmark.weighting.vectorizer import Vectorizer
from classmark.workbench.learning.unfitted import new_ranker
from classmark.workbench.settings import LearningSettings
from reproductions.tree_sets import weighted


class Raw(Calibrator):
    """The scores as they are."""

    def standing(self, scores):
        """Leave the scores."""
        return scores


class Common(Calibrator):
    """One curve for all categories, without offsets."""

    def _learned_offsets(self, *_):
        """None."""
        return np.zeros(0), 0.0


class Margin(Calibrator):
    """The distance to the best other category."""

    def standing(self, scores):
        """s_r − max of s over the others."""
        best = scores.argmax(axis=1)
        every, second = np.arange(len(scores)), scores.copy()
        second[every, best] = -np.inf
        found = scores - scores[every, best][:, np.newaxis]
        found[every, best] = scores[every, best] - second.max(axis=1)
        return found


class Standard(Calibrator):
    """Each document's scores with mean 0 and variance 1."""

    def standing(self, scores):
        """Standardise within the document."""
        spread = scores.std(axis=1, keepdims=True)
        return (scores - scores.mean(axis=1, keepdims=True)) / spread


FEATURES = {
    "raw": Raw,
    "margin": Margin,
    "standardised": Standard,
    "standing": Calibrator,
}
SETS = {
    "library": ("plm", "rocchio", "perceptron"),
    "reuters-21578": ("plm", "rocchio"),
}
ABSTAIN = 0.8


LANGUAGES = {"annif-makupalat": "finnish"}


def usual_vectorizer(language="english", usual=None):
    """As a new project in a language has it."""
    usual = usual or LearningSettings()
    return Vectorizer(
        usual_analyzer(language),
        usual.weighting,
        characters=usual.characters,
        first_line=usual.first_line,
    )


def labelled(data, part):
    """Texts and label numbers of the documents with labels."""
    numbers = data.label_numbers(part)
    kept = [i for i, row in enumerate(numbers) if row]
    return [part.texts[i] for i in kept], [numbers[i] for i in kept]


def measured(probabilities, scores, truth):
    """ECE of all pairs and of the best category; what abstention leaves."""
    every, best = np.arange(len(scores)), scores.argmax(axis=1)
    top, right = probabilities[every, best], truth[every, best]
    sure = top >= ABSTAIN
    return (
        calibration_error(probabilities, truth),
        calibration_error(top, right),
        probabilities.sum(axis=1).mean(),
        truth.sum(axis=1).mean(),
        sure.mean(),
        right[sure].mean(),
    )


def log_loss(kind, scores, labels):
    """Cross-entropy per document of held-out scores, calibrated by folds."""
    truth = labels.to_scipy().toarray() > 0
    found = np.empty(scores.shape)
    for train, test in folds(len(scores), 5, random_state=1):
        calibrator = kind().fit(scores[train], take(labels, train))
        found[test] = calibrator.transform(scores[test])
    return -np.log(np.where(truth, found, 1 - found)).sum(axis=1).mean()


def show_features(held_out, scores, truth):
    """Print what each feature would give, chosen by the first figure alone."""
    for name, kind in FEATURES.items():
        found = kind().fit(*held_out).transform(scores)
        ece, best, *_ = measured(found, scores, truth)
        loss = log_loss(kind, *held_out)
        print(f"    {name:13} log loss by folds {loss:.3f}; test: {ece:.4f} {best:.4f}")


DESIGN = {  # where the shrinkage was chosen: name, split, documents to learn from
    "library": ("library", None, None),
    "pypi-topics": ("pypi-topics", None, None),
    "reuters-21578": ("reuters-21578", None, None),
    "reuters-21578, 1,000": ("reuters-21578", None, 1000),
    "stackex cs": ("stackex", "cs", None),
    "stackex cs, 1,500": ("stackex", "cs", 1500),
}
JUDGE = {
    "annif-makupalat": ("annif-makupalat", None, None),
    "debian-debtags, 6,000": ("debian-debtags", None, 6000),
    "stackex cooking": ("stackex", "cooking", None),
    "rcv1-v2-topics": ("rcv1-v2-topics", "tokens", None),
}
RARE = 10  # decisions, at most
DRAWS = 20


def rows_of(name, split, most, learning=None):
    """Rows and labels to learn from, rows and truth asked; labelled documents only."""
    data = load(name, split=split)
    parts = []
    for part, cut in ((data.train, most), (data.test, most and 3000)):
        numbers = data.label_numbers(part)
        which = np.flatnonzero([bool(row) for row in numbers])
        if cut and cut < len(which):
            which = np.sort(generator(0).permutation(which)[:cut])
        parts.append((which, [numbers[i] for i in which]))
    (train, lists), (test, truth) = parts
    if data.train.texts:
        weigh = usual_vectorizer(LANGUAGES.get(name, "english"), learning)
        X = weigh.fit_transform([data.train.texts[i] for i in train])
        E = weigh.transform([data.test.texts[i] for i in test])
    else:
        counts = data.train.X[train]
        X, E = weighted(counts), weighted(data.test.X[test], counts)
    k = len(data.label_names)
    return X, labels_from(lists, len(lists), k), E, labels_from(truth, len(truth), k)


def tied(probabilities):
    """How often two of the first five categories of a document are equally likely."""
    first = -np.sort(-probabilities, axis=1)[:, :5]
    shown = first[:, 1:] >= 0.05
    return float((np.diff(first, axis=1) == 0)[shown].mean())


def average_precision(scores, truth):
    """AvgP of an order of categories."""
    ranks = rank_relevant(scores, truth)
    return float(np.nanmean(per_document(ranks)["AP"]))


def errors(found, scores, truth, rare):
    """ECE of all, of the best and of rare categories; Brier score and log-loss."""
    every, best = np.arange(len(scores)), scores.argmax(axis=1)
    certain = np.where(truth, found, 1 - found)
    return (
        calibration_error(found, truth),
        calibration_error(found[every, best], truth[every, best]),
        calibration_error(found[:, rare], truth[:, rare]),
        found[:, rare].sum(),
        ((found - truth) ** 2).sum(axis=1).mean(),
        -np.log(certain).sum(axis=1).mean(),
    )


def by_category(name, source, kappas):
    """Print a row for the common curve and one for each shrinkage."""
    X, Y, E, T = rows_of(*source)
    ranker = new_ranker(LearningSettings())
    scores, truth = ranker.fit(X, Y).decision_function(E), T.to_scipy().toarray() > 0
    size = np.bincount(Y.columns, minlength=Y.width)
    rare = (size > 0) & (size <= RARE)
    held_out = held_out_scores(ranker, X, Y)
    share = size[rare].sum() / len(Y)
    print(
        f"{name}: {len(Y):,} documents, {rare.sum()} of {Y.width} categories rare, "
        f"{truth[:, rare].sum()} labels of them in {len(T):,} asked, "
        f"{share * len(T):.1f} by their share of the documents learned from"
    )
    for kappa in (None, *kappas):
        calibrator = Common() if kappa is None else shrunken(kappa)
        started = time.process_time()
        found = calibrator.fit(*held_out).transform(scores)
        seconds = time.process_time() - started
        order = average_precision(calibrator.shifted(scores), T)
        row = errors(found, scores, truth, rare)
        if kappa is None:
            draws = [
                generator(seed).random(found.shape) < found for seed in range(DRAWS)
            ]
            chance = [calibration_error(found[:, rare], d[:, rare]) for d in draws]
            print(f"    (by chance alone, rare: {np.mean(chance):.5f})")
        named = "common" if kappa is None else f"kappa {kappa:g}"
        print(
            f"    {named:10} all {row[0]:.5f}  best {row[1]:.4f}  rare {row[2]:.5f}"
            f"  promised {row[3]:6.1f}  Brier {row[4]:.4f}  log loss {row[5]:.3f}"
            f"  tied {tied(found):.3f}  AvgP {order:.4f}  {seconds:.2f} s",
            flush=True,
        )


def shrunken(kappa):
    """A calibrator with another shrinkage."""
    calibrator = Calibrator()
    calibrator.kappa = kappa
    return calibrator


def main():
    """Measure what is asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--by-category", nargs="*", metavar="SET")
    parser.add_argument("--kappa", nargs="*", type=float, default=[KAPPA])
    options = parser.parse_args()
    if options.by_category is None:
        learners_and_features()
        return
    sets = DESIGN | JUDGE
    for name in options.by_category or sets:
        by_category(name, sets[name], options.kappa)


def learners_and_features():
    """Print one row per collection, learner and method."""
    print(
        "collection     learner    method    all    best   promised/kept  sure  right"
    )
    for name, learners in SETS.items():
        data = load(name)
        vectorizer = usual_vectorizer()
        texts, lists = labelled(data, data.train)
        X = vectorizer.fit_transform(texts)
        Y = labels_from(lists, len(texts), len(data.label_names))
        asked, wanted = labelled(data, data.test)
        E = vectorizer.transform(asked)
        truth = labels_from(wanted, len(asked), Y.width).to_scipy().toarray() > 0
        for kind in learners:
            plm = kind == "plm"
            ranker = new_ranker(LearningSettings()) if plm else learner(kind)
            started = time.process_time()
            scores = ranker.fit(X, Y).decision_function(E)
            fitted = time.process_time()
            held_out = held_out_scores(ranker, X, Y)
            folded = time.process_time()
            for method in METHODS:
                calibrator = Calibrator(method).fit(*held_out)
                values = measured(calibrator.transform(scores), scores, truth)
                ece, best, promised, kept, sure, right = values
                print(
                    f"{name:15}{kind:11}{method:9}{ece:.4f} {best:.4f}"
                    f"  {promised:.3f}/{kept:.3f}   {sure:.3f} {right:.3f}"
                )
            done = time.process_time()
            show_features(held_out, scores, truth)
            print(
                f"  seconds: fit {fitted - started:.2f}, "
                f"five folds {folded - fitted:.2f}, calibrators {done - folded:.2f}"
            )


if __name__ == "__main__":
    main()
