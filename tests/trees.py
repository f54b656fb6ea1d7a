"""Made-up documents on small trees: one that misleads, one that helps."""

import numpy as np

from classmark.taxonomy.tree import Taxonomy

MISLEADING = Taxonomy(
    [
        ("r", "a"),
        ("r", "b"),
        *(("a", at) for at in (0, 1)),
        *(("b", at) for at in (2, 3)),
    ]
)


def confusing(n=400, seed=0):
    """0 and 2 look alike from above, as do 1 and 3: groups a and b mix them up.

    Every leaf has a rare word of its own, which a classifier over all leaves can use;
    one over {0, 1} and {2, 3} has to tell unions apart that share most words.
    """
    rng = np.random.default_rng(seed)
    leaf = rng.integers(0, 4, n)
    angle = np.pi / 2 * np.array([0, 2, 1, 3])[leaf] + rng.normal(0, 0.35, n)
    return np.column_stack([np.cos(angle), np.sin(angle)]), leaf.tolist()


def helpful(n=120, seed=1):
    """Twelve leaves in three clear groups; few documents for so many features."""
    rng = np.random.default_rng(seed)
    leaf = rng.integers(0, 12, n)
    X = rng.random((n, 40)) * (rng.random((n, 40)) < 0.4)
    X[np.arange(n), leaf] += 0.5
    X[np.arange(n), 20 + leaf // 4] += 3.0
    tree = Taxonomy(
        [("r", f"g{g}") for g in range(3)] + [(f"g{at // 4}", at) for at in range(12)]
    )
    return tree, X, leaf.tolist()
