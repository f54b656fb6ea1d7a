"""Laws of backing off: thresholds, ways and votes."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from classmark.hierarchies.back_off import Ways, traded, ways_down
from classmark.hierarchies.places import places_of
from classmark.rankers.calibration import posterior
from classmark.taxonomy.tree import Taxonomy

LEAVES = list("12345")
TREE = Taxonomy([("r", "a"), ("r", "b"), ("a", "1"), ("a", "c"), ("c", "2"), ("c", "3"),
                 ("b", "4"), ("b", "5"), ("b", "3")])  # fmt: skip


@st.composite
def judged_ways(draw):
    """Probabilities that fall along ways of different lengths, and how far each is."""
    n = draw(st.integers(1, 8))
    chances = np.full((n, 4), -np.inf)
    right = np.zeros((n, 4), bool)
    for row in range(n):
        length = draw(st.integers(1, 3))
        steps = st.lists(st.integers(1, 9), min_size=length, max_size=length)
        chances[row, 0] = np.inf
        chances[row, 1 : length + 1] = sorted(draw(steps), reverse=True)
        right[row, : draw(st.integers(1, length + 1))] = True
    chances[np.isfinite(chances)] /= 10
    return chances, right


def ended(chances, right, threshold):
    """Placed and right under a threshold, a document at a time."""
    placed = true = 0
    for row, own in zip(chances, right, strict=True):
        steps = [at for at, p in enumerate(row) if np.isfinite(p) and p >= threshold]
        if steps:
            placed, true = placed + 1, true + own[steps[-1]]
    return placed, true


@given(judged_ways(), st.sampled_from([0.5, 0.7, 0.9, 1.0]))
def test_the_threshold_is_the_lowest_that_is_precise_enough(given_ways, precision):
    chances, right = given_ways
    found = traded(chances, right)
    for threshold, sure in zip(*found, strict=True):
        placed, true = ended(chances, right, threshold)
        assert sure == pytest.approx(true / placed)
    lowest = found.lowest(precision)
    tried = np.unique(chances[np.isfinite(chances)])
    enough = []
    for threshold in tried:
        placed, true = ended(chances, right, threshold)
        enough += [threshold] if true / placed >= precision else []
    if not enough:
        assert lowest == np.inf
    else:
        assert ended(chances, right, lowest) == ended(chances, right, min(enough))


@given(judged_ways(), st.floats(0.05, 0.95))
def test_ways_end_where_the_slow_answer_says(given_ways, threshold):
    chances, right = given_ways
    nodes = np.where(chances == -np.inf, -1, np.arange(4))
    ways = Ways(nodes, chances, np.zeros((*chances.shape, 1)))
    ends, sure = ways.ends(threshold)
    placed, true = ended(chances, right, threshold)
    assert (ends >= 0).sum() == placed
    assert sum(right[i, v] for i, v in enumerate(ends) if v >= 0) == true
    assert (sure[ends >= 0] >= threshold).all()
    assert (sure[ends < 0] < threshold).all()


@given(judged_ways(), st.sampled_from([0.6, 0.9, 0.99]))
def test_more_confidence_is_never_less_careful(given_ways, confidence):
    plain, careful = (traded(*given_ways, sure) for sure in (None, confidence))
    assert (careful.sure <= plain.sure + 1e-12).all()


@given(st.lists(st.floats(-5, 5), min_size=5, max_size=5), st.floats(0.1, 5))
def test_ways_fall_from_the_root_to_a_leaf(scores, scale):
    places = places_of(TREE, [LEAVES])
    table = np.array([scores])
    ways = ways_down(places, places.above, np.ones(5), table, scale)
    nodes = [TREE.nodes[v] for v in ways.nodes[0] if v >= 0]
    assert nodes[0] == "r"
    assert TREE.is_leaf(nodes[-1])
    p = dict(zip(places.named, posterior(table, scale)[0], strict=True))
    for upper, node, chance in zip(nodes, nodes[1:], ways.chances[0, 1:], strict=False):
        assert node in TREE.children(upper)
        below = {node, *TREE.descendants(node)} & set(LEAVES)
        assert chance == pytest.approx(sum(p[leaf] for leaf in below))
    assert (np.diff(ways.chances[0, 1 : len(nodes)]) <= 0).all()
