"""What others offer for a labelled stream, each behind the two calls a replay makes."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import csr_matrix, vstack

from classmark.arrays import Rows

EVERY, EARLY = 500, (16, 32, 64, 128, 256)


class Retrained:
    """One-vs-rest LinearSVC, trained again on everything at every 500th document.

    Before the first 500, at 16, 32, 64, 128 and 256.
    """

    def __init__(self) -> None:
        self.X: list[csr_matrix] = []
        self.Y: list[csr_matrix] = []
        self.W = self.bias = np.zeros(0)

    def partial_fit(self, X: Rows, Y: Rows, n_labels: int) -> Any:
        """Keep the document; at some, train all labels anew."""
        from sklearn.svm import LinearSVC

        self.X.append(X.to_scipy())
        self.Y.append(Y.to_scipy())
        if len(self.X) % EVERY and len(self.X) not in EARLY:
            return self
        seen, labels = vstack(self.X).astype(np.float64), vstack(self.Y).toarray()
        self.W = np.zeros((seen.shape[1], n_labels))
        self.bias = np.full(n_labels, -1e9)
        for label in np.flatnonzero(labels.any(axis=0) & ~labels.all(axis=0)):
            model = LinearSVC().fit(seen, labels[:, label])
            self.W[:, label], self.bias[label] = model.coef_[0], model.intercept_[0]
        self.bias[labels.all(axis=0)] = 0.0
        return self

    def decision_function(self, X: Rows) -> np.ndarray:
        """Scores of the last training; labels it had no document of come last."""
        if not self.W.size:
            return np.zeros((len(X), self.Y[0].shape[1]))
        return X.to_scipy() @ self.W + self.bias


class ManySGD:
    """One SGDClassifier.partial_fit per label, the defaults."""

    def __init__(self, loss: str) -> None:
        self.loss = loss
        self.models: list[Any] = []

    def partial_fit(self, X: Rows, Y: Rows, n_labels: int) -> Any:
        """One step of every label."""
        from sklearn.linear_model import SGDClassifier

        if not self.models:
            self.models = [SGDClassifier(loss=self.loss) for _ in range(n_labels)]
        one, own = X.to_scipy().astype(np.float64), Y.to_scipy().toarray()
        for label, model in enumerate(self.models):
            model.partial_fit(one, own[:, label], classes=[0, 1])
        return self

    def decision_function(self, X: Rows) -> np.ndarray:
        """Scores of all labels."""
        rows = X.to_scipy().astype(np.float64)
        return np.stack([model.decision_function(rows) for model in self.models], 1)


class VowpalWabbit:
    """A probabilistic label tree; its list of labels, best first, is the ranking."""

    def __init__(self, n_labels: int) -> None:
        from vowpalwabbit import Workspace

        self.k = n_labels
        said = f"--plt {n_labels} --top_k {n_labels} --loss_function logistic -b 22"
        self.model = Workspace(f"{said} --quiet")
        self.words = ""

    def partial_fit(self, X: Rows, Y: Rows, n_labels: int) -> Any:
        """Learn the document that was just ranked: its line is written already."""
        del n_labels
        words = self.words or written(X)
        self.model.learn(f"{','.join(map(str, Y.row(0)[0]))} | {words}")
        return self

    def decision_function(self, X: Rows) -> np.ndarray:
        """Minus the place of each label; those not listed come last."""
        self.words = written(X)
        listed = self.model.predict(f"| {self.words}")
        scores = np.full((1, self.k), -float(self.k))
        scores[0, listed] = -np.arange(len(listed))
        return scores


def written(X: Rows) -> str:
    """A document as a line of Vowpal Wabbit's."""
    columns, values = X.row(0)
    return " ".join(f"{c}:{v:.6g}" for c, v in zip(columns, values, strict=True))


def vowpal_wabbit(n_labels: int) -> VowpalWabbit | None:
    """The peer, or nothing, told."""
    try:
        return VowpalWabbit(n_labels)
    except ImportError as problem:
        print(f"Vowpal Wabbit left out: {problem}", flush=True)
        return None
