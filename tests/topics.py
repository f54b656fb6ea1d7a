"""Made-up topics: unit rows, examples, and a collection that hides more of them."""

import numpy as np


def unit(rng, n, width=12, share=0.5):
    """Random unit rows."""
    X = rng.random((n, width)) * (rng.random((n, width)) < share)
    X[:, 0] += 0.1
    return X / np.linalg.norm(X, axis=1, keepdims=True)


def average_precision(scores, relevant):
    """The mean precision at the relevant documents."""
    hits = relevant[np.argsort(-scores, kind="stable")]
    return (np.cumsum(hits) / np.arange(1, len(hits) + 1))[hits].mean()


def topic(rng, n, u, hidden, width=40):
    """Examples of a topic, and a collection that hides some more of them."""
    words = rng.permutation(width)[:6]

    def about(k):
        X = unit(rng, k, width, 0.2)
        X[:, words] += 0.8 * rng.random((k, 6)) * (rng.random((k, 6)) < 0.6)
        return X / np.linalg.norm(X, axis=1, keepdims=True)

    U = np.vstack([about(hidden), unit(rng, u - hidden, width, 0.2)])
    relevant = np.arange(u) < hidden
    return about(n), U, relevant
