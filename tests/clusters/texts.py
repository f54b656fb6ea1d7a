"""Made-up documents with known topics."""

import numpy as np
from scipy.sparse import csr_matrix


def topics(n=120, k=4, width=60, seed=0):
    """Counts of words, (n, width), and the topic of each document."""
    rng = np.random.default_rng(seed)
    own = np.arange(n) % k
    chances = np.full((k, width), 0.3)
    for topic in range(k):
        chances[topic, topic :: 2 * k] = 4.0
    counts = rng.poisson(chances[own] * rng.uniform(0.5, 2.0, (n, 1)))
    counts[:, -1] += 1
    return csr_matrix(counts.astype(float)), own
