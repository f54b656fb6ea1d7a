"""Do the probabilities come true? ECE on the test parts of two collections.

CLASSMARK_DATA=DIR python benchmarks/bench_calibration.py
"""

from __future__ import annotations

import time

import numpy as np

from classmark.arrays import take
from classmark.corpus.documents import folds
from classmark.datasets import load
from classmark.measures import calibration_error
from classmark.preferences.labels import labels_from
from classmark.rankers.calibration import METHODS, Calibrator, held_out_scores
from classmark.rankers.text_ranker import learner
from classmark.weighting.vectorizer import Vectorizer
from classmark.workbench.learning.train import new_ranker
from classmark.workbench.settings import LearningSettings, TextSettings


class Raw(Calibrator):
    """The scores as they are."""

    def standing(self, scores):
        """Leave the scores."""
        return scores


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


def main():
    """Print one row per collection, learner and method."""
    print(
        "collection     learner    method    all    best   promised/kept  sure  right"
    )
    for name, learners in SETS.items():
        data = load(name)
        vectorizer = Vectorizer(TextSettings().analyzer, LearningSettings().weighting)
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
