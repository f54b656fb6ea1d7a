"""Are known items added to, and far ones dropped, as the slow versions say?"""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from classmark.index import kernels_pruning as finishing
from classmark.index.kernels_models import Final, Scoring
from oracles import finishing as slow_finishing

WORLD = np.array([50.0, 900.0, 18.0, 0.8, 0.5, 0.5])


def postings(seed, n=60):
    rng = np.random.default_rng(seed)
    items = np.flatnonzero(rng.random(n) < 0.5).astype(np.uint32)
    counts = rng.integers(1, 9, len(items)).astype(np.uint32)
    acc = np.where(rng.random(n) < 0.5, -0.0, rng.normal(size=n))
    return items, counts, rng.uniform(0.2, 4.0, n), acc


@given(st.integers(0, 2**32 - 1), st.floats(0.0, 3.0))
def test_known_items_are_added_to(seed, reach):
    items, counts, x, acc = postings(seed)
    terms, found = (np.array([[0, len(items)]]), np.array([0.7]), np.array([0.3])), []
    scoring = Scoring(0, WORLD, x, items, counts, *terms)
    acc, known = abs(acc), np.flatnonzero(acc).astype(np.uint32)
    acc[acc == 0.0] = -0.0
    final = Final(np.arange(60) % 7 > 0, np.linspace(-1.0, 1.0, 60), 0.5, 0.1)
    for room in (finishing, slow_finishing):
        read, looked, touched = acc.copy(), acc.copy(), np.append(known, known[:1])
        room.add_known(scoring, 0, read)
        room.look_up(scoring, 0, looked, touched[: len(known)])
        np.testing.assert_array_equal(read, looked)
        n = room.keep_near(touched, len(known), read, final, reach)
        found.append((touched[:n].tolist(), read.round(9).tolist()))
    assert found[0] == found[1]
