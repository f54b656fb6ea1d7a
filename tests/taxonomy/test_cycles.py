"""Cycles among categories, and quickly that there are none."""

from graphlib import CycleError, TopologicalSorter

import numpy as np
import pytest

from classmark.taxonomy.cycles import CyclicGraph, has_cycle
from classmark.taxonomy.tree import Taxonomy


def sorts(upper, lower, size):
    parents = {v: upper[lower == v].tolist() for v in range(size)}
    try:
        TopologicalSorter(parents).prepare()
    except CycleError:
        return True
    return False


def test_a_cycle_is_seen_wherever_it_is():
    rng = np.random.default_rng(0)
    seen = []
    for _ in range(300):
        size = int(rng.integers(1, 9))
        upper, lower = rng.integers(size, size=(2, rng.integers(0, 9)))
        seen.append(has_cycle(upper, lower, size))
        assert seen[-1] == sorts(upper, lower, size)
    assert 50 < sum(seen) < 250


def test_a_long_cycle_is_named_by_its_first_categories():
    ring = [(f"c{n}", f"c{(n + 1) % 30}") for n in range(30)]
    with pytest.raises(CyclicGraph, match=r"'c\d+' → .* … \(\d+ more\)"):
        Taxonomy([("r", "c0"), *ring, ("r", "c5")])


def test_several_parents_are_no_cycle():
    diamond = [("r", "a"), ("r", "b"), ("a", "d"), ("b", "d")]
    assert Taxonomy(diamond).parents("d") == ["a", "b"]
