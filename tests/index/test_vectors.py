"""Are lists laid out as runs the same lists, and do they give the same products?"""

from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from classmark.arrays import rows_from
from classmark.index import kernels_vectors as fast
from classmark.index.index import Index
from classmark.index.kernels_models import Heap
from classmark.index.postings import field_of
from classmark.index.search import Searcher
from classmark.problems import Mistake
from oracles import vectors as slow
from oracles.searched import NAMES, counts_of, field_from

seeds = st.integers(0, 2**32 - 1)


def wide_field(seed, n, alive=None):
    """Draw a field of many items, with counts of all kinds."""
    rng = np.random.default_rng(seed)
    matrix = sparse.random(n, 9, min(0.6, 300 / n), "csr", rng=rng)
    kinds = [[1, 1, 1, 2, 3, 4, 9, 70, 65_535], [1, 2, 3], [5, 6]]
    matrix.data[:] = rng.choice(kinds[seed % 3], matrix.nnz)
    return field_of(rows_from(matrix), NAMES[:9], alive=alive)


def vector_of(seed, n=9):
    rng = np.random.default_rng(seed)
    return {NAMES[t]: float(rng.normal()) for t in rng.permutation(n)}


def by_lists(field):
    """Return a searcher that reads lists as they are."""
    searcher = Searcher(field)
    searcher.products.__dict__["runs"] = None
    return searcher


def laid(room, order, lists):
    """Lay lists out by a room's kernels."""
    n = len(lists.items)
    slots, runs = np.zeros(2 * n, np.uint16), np.zeros((n, 3), np.uint16)
    edges = np.zeros((len(order) + 1, 2), np.int64)
    used, n_runs = room.lay_runs(order, tuple(lists), slots, runs, edges)
    return slots[:used], runs[:n_runs], edges


@settings(max_examples=12)
@given(seeds, st.sampled_from([30, 65_536, 70_000]))
def test_runs_are_laid_and_added(seed, n):
    lists = wide_field(seed, n).whole
    order = np.random.default_rng(seed).permutation(9)
    ours, theirs = laid(fast, order, lists), laid(slow, order, lists)
    for mine, plain in zip(ours, theirs, strict=True):
        np.testing.assert_array_equal(mine, plain)
    slots, runs, edges = ours
    acc, other = np.zeros(65_536), np.zeros(65_536)
    for (at, first), (_, last) in pairwise(edges):
        ahead = fast.add_runs(0.3, slots, runs, 0, acc, at, first, last)
        assert ahead == slow.add_runs(0.3, slots, runs, 0, other, at, first, last)
    np.testing.assert_array_equal(acc, other)


@settings(max_examples=12)
@given(seeds, st.sampled_from([30, 70_000]), st.booleans(), st.sampled_from([0, 4]))
def test_the_best_are_found_in_runs(seed, n, every, k):
    rng, lists = np.random.default_rng(seed), wide_field(seed, n).whole
    runs = laid(fast, np.arange(9), lists)
    x, alive = rng.uniform(0.1, 1, n), rng.random(n if seed % 2 else 0) < 0.7
    places, weights = np.array([1, 2, 5, 8], np.uint32), rng.normal(size=4)
    answers = []
    for room in (fast, slow):
        items, scores = np.zeros(k, np.int64), np.zeros(k)
        acc = np.full(n, -0.0)
        query, rule = (weights, places), (x, alive, every)
        m = room.find_in_runs(query, runs, rule, acc, Heap(items, scores))
        answers.append((m, items[:m].tolist(), scores[:m].tolist()))
        assert np.signbit(acc).all()
        assert not acc.any()
    assert answers[0] == answers[1]


@given(seeds, st.sampled_from([0, 3, 2047, 2048, 5_000_000]))
def test_places_are_arranged(seed, limit):
    rng = np.random.default_rng(seed)
    places = rng.integers(-1, limit + 1 + limit // 9, 40)
    weights = rng.normal(size=40) * (rng.random(40) < 0.8)
    answers = []
    for room in (fast, slow):
        keys, kept = np.zeros((2, 40), np.uint32), np.zeros((2, 40), np.int64)
        n = room.arrange(places, weights, limit, keys, kept)
        answers.append((keys[0, :n].tolist(), kept[0, :n].tolist()))
    assert answers[0] == answers[1]


@settings(max_examples=12)
@given(seeds, st.sampled_from([50, 70_000]), st.booleans(), st.booleans())
def test_runs_and_lists_agree_to_the_last_bit(seed, n, every, deleted):
    alive = np.random.default_rng(seed).random(n) < 0.7 if deleted else None
    field = wide_field(seed, n, alive)
    ours, plain, vector = Searcher(field), by_lists(field), vector_of(seed)
    hits = ours.search_vector(vector, 40, every=every)
    assert ours.products.runs is not None
    assert hits == plain.search_vector(vector, 40, every=every)


def test_the_order_of_the_terms_changes_nothing():
    searcher, vector = Searcher(field_from(counts_of(3, 200, 20))), vector_of(4, 20)
    backwards = dict(reversed(vector.items()))
    assert searcher.search_vector(vector, 99) == searcher.search_vector(backwards, 99)


def test_a_vector_is_made_ready_once():
    searcher, vector = Searcher(field_from(counts_of(3, 200, 20))), vector_of(4, 20)
    ready = searcher.weigh(vector | {"absent": 1.0, NAMES[2]: 0.0})
    assert len(ready.places) == 19
    for k in (3, 100):
        for every in (False, True):
            assert searcher.search_vector(ready, k, every=every) == (
                searcher.search_vector(vector | {NAMES[2]: 0.0}, k, every=every)
            )
    other = Searcher(field_from(counts_of(3, 200, 20)))
    with pytest.raises(Mistake, match="another index"):
        other.search_vector(ready)


def test_large_counts_and_little_memory_leave_the_lists_alone(tmp_path):
    large = Searcher(field_of(rows_from([[65_536.0, 1.0], [2.0, 0.0]]), ["a", "b"]))
    assert large.products.runs is None
    assert [hit.number for hit in large.search_vector({"a": 1.0, "b": -1.0})] == [1, 0]
    documents = [(f"d{i}", f"w{i} w{i % 7} w{i % 3}") for i in range(99)]
    Index.build(tmp_path / "index", documents)
    roomy = Index.open(tmp_path / "index")
    tight = Index.open(tmp_path / "index", memory=4_000)
    vector = {f"w{i}": (-1.0) ** i / (1 + i) for i in range(50)} | {"w\n1": 2.0}
    assert roomy.searcher.products.runs is not None
    assert tight.searcher.products.runs is None
    assert tight.field().whole is not None
    assert roomy.search_vector(vector, 99) == tight.search_vector(vector, 99)


def test_threads_share_products():
    searcher = Searcher(field_from(counts_of(5, 300, 20)))
    vectors = [vector_of(seed, 20) for seed in range(60)]
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(searcher.search_vector, vectors))
    assert found == [searcher.search_vector(vector) for vector in vectors]
