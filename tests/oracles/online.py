"""The slow, obvious version of each kernel of solvers.online."""

import numpy as np


def perceptron_pass(starts, columns, values, label_starts, labels, W, U, t):
    """One binary perceptron per topic, dense, each topic on its own."""
    n, (d, k) = len(starts) - 1, W.shape
    X = np.zeros((n, d))
    Y = -np.ones((n, k))
    for i in range(n):
        X[i, columns[starts[i] : starts[i + 1]]] = values[starts[i] : starts[i + 1]]
        Y[i, labels[label_starts[i] : label_starts[i + 1]]] = 1
    mistakes = 0
    for r in range(k):
        for i in range(n):
            if Y[i, r] * (X[i] @ W[:, r]) <= 0:
                W[:, r] += Y[i, r] * X[i]
                U[:, r] += (t + i) * Y[i, r] * X[i]
                mistakes += 1
    return mistakes
