"""The nearest vectors, against all products in float64, sorted."""

import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from classmark import DenseIndex, EncoderVectors, Mistake, VectorFile
from classmark.index import dense as dense_module
from classmark.index.dense import HALF, widen
from classmark.meaning.sources import unit_rows


def brute_force(table, query, k, allowed=None):
    """All products in float64, sorted by (−product, number)."""
    (unit,) = np.asarray([query]) / np.linalg.norm([query], axis=1, keepdims=True)
    products = (np.asarray(table, np.float64) * unit).sum(axis=1)
    numbers = np.arange(len(table)) if allowed is None else np.flatnonzero(allowed)
    best = sorted(numbers.tolist(), key=lambda i: (-products[i], i))[:k]
    return best, products[best].tolist()


def halves(n, dimension, seed=0):
    return unit_rows(np.random.default_rng(seed).normal(size=(n, dimension))).astype(
        np.float16
    )


@pytest.fixture
def small_blocks(monkeypatch):
    monkeypatch.setattr(dense_module, "BLOCK", 7)


def test_every_half_widens_to_its_value_exactly():
    bits = np.arange(1 << 16, dtype=np.uint16)
    every = bits[(bits & 0x7C00) != 0x7C00].view(np.float16).reshape(1, -1)
    wide = widen(every, np.empty(every.shape, np.int32)) * HALF
    assert np.array_equal(wide, every.astype(np.float32))


@pytest.mark.usefixtures("small_blocks")
@pytest.mark.parametrize("k", [0, 1, 3, 10, 50, 99])
def test_the_nearest_are_those_of_all_products_sorted(k):
    table, query = halves(50, 16), np.random.default_rng(1).normal(size=16)
    items, cosines = DenseIndex(table).find(query, k)
    assert (items.tolist(), cosines.tolist()) == brute_force(table, query, k)


@pytest.mark.usefixtures("small_blocks")
@settings(max_examples=60)
@given(
    hnp.arrays(np.int8, st.tuples(st.integers(1, 40), st.just(3)),
               elements=st.integers(-1, 1)),
    st.integers(1, 12),
    st.data(),
)  # fmt: skip
def test_ties_go_to_the_lower_number_whatever_is_allowed(vectors, k, data):
    allowed = data.draw(hnp.arrays(np.bool_, len(vectors)))
    index, query = DenseIndex(vectors), [1.0, -1.0, 1.0]
    items, cosines = index.find(query, k, allowed)
    expected = brute_force(unit_rows(vectors), query, k, allowed)
    assert (items.tolist(), cosines.tolist()) == expected


def test_scores_that_float32_cannot_tell_apart_are_in_the_order_of_float64():
    rng = np.random.default_rng(3)
    table = unit_rows(np.ones((4000, 64)) + rng.normal(size=(4000, 64)) * 1e-4)
    query = rng.normal(size=64) * 0.01 + 1.0
    items, cosines = DenseIndex(table).find(query, 25)
    assert (items.tolist(), cosines.tolist()) == brute_force(table, query, 25)


def test_many_queries_are_answered_as_each_alone():
    table, queries = halves(3000, 24), np.random.default_rng(2).normal(size=(9, 24))
    queries[4] = 0.0
    index = DenseIndex(table)
    ranking = index.find_many(queries, 5)
    for number, query in enumerate(queries):
        items, cosines = ranking.of(number)
        alone = index.find(query, 5)
        assert np.array_equal(items, alone[0])
        assert np.array_equal(cosines, alone[1])
    assert not len(ranking.of(4)[0])


@pytest.mark.usefixtures("small_blocks")
def test_documents_may_share_a_vector_or_have_none():
    table, rows = halves(20, 8), np.array([3, -1, 3, 19, 0, 7, -1, 2, 5])
    query = np.random.default_rng(5).normal(size=8)
    index = DenseIndex(table, rows)
    items, cosines = index.find(query, 9)
    expected = brute_force(table[rows], query, 9, rows >= 0)
    assert (items.tolist(), cosines.tolist()) == expected
    assert np.array_equal(index.cosines(query, items), cosines)
    assert index.cosines(query, np.array([1, 6])).tolist() == [0.0, 0.0]
    some = np.arange(9) % 2 == 0
    items, _ = index.find(query, 9, some)
    assert items.tolist() == brute_force(table[rows], query, 9, some & (rows >= 0))[0]


class Letters:
    def encode(self, texts):
        return [[1.0, text.count("a"), text.count("b")] for text in texts]


def test_vectors_of_a_file_are_used_where_they_lie(tmp_path):
    stored = VectorFile(tmp_path / "vectors", EncoderVectors(Letters()))
    stored.compute(["b", "a", "ab"])
    index = DenseIndex.of(["a", "ab", "not stored", "b"], stored)
    assert index.table is stored.table
    assert index.rows.tolist() == [1, 2, -1, 0]
    (vector,) = index.encode(["aaa"])
    assert index.find(vector, 4)[0].tolist() == [0, 1, 3]


def test_a_damaged_vector_is_noticed_when_the_index_is_made(tmp_path):
    stored = VectorFile(tmp_path / "vectors", EncoderVectors(Letters()))
    stored.compute(["a", "b"])
    path = tmp_path / "vectors" / "vectors"
    path.write_bytes(b"\x01" + path.read_bytes()[1:])
    with pytest.raises(Mistake, match="checksum"):
        DenseIndex.of(["b", "a"], VectorFile(tmp_path / "vectors"))


def test_queries_may_have_an_encoder_of_their_own():
    class Other:
        def encode(self, texts):
            return [[0.0, 0.0, 1.0] for _ in texts]

    index = DenseIndex.of(["a", "bb"], Letters(), queries=Other())
    assert index.find(index.encode(["a"])[0], 1)[0].tolist() == [1]


def test_a_query_in_capitals_is_read_in_small_letters_unless_it_is_one_word():
    index = DenseIndex.of(["a"], Letters())
    queries = ["AB BA", "ab ba", "AB", "Ab BA"]
    assert index.encode(queries).tolist() == [
        [1, 2, 2],
        [1, 2, 2],
        [1, 0, 0],
        [1, 0, 1],
    ]


@pytest.mark.parametrize(
    ("act", "message"),
    [
        (lambda: DenseIndex([1.0, 2.0]), "one row"),
        (lambda: DenseIndex([[1.0]], [0, 1]), "rows: 1 is none of 1"),
        (lambda: DenseIndex([[1.0, 0.0]]).find([1.0]), "query of 1 numbers"),
        (lambda: DenseIndex([[1.0]]).find([1.0], 1, np.ones(2, bool)), "members"),
        (lambda: DenseIndex([[1.0]]).encode(["a"]), "source"),
    ],
)
def test_mistakes_say_what_to_give(act, message):
    with pytest.raises(Mistake, match=message):
        act()


def test_without_its_package_the_approximate_index_is_refused(monkeypatch):
    monkeypatch.setitem(sys.modules, "usearch.index", None)
    with pytest.raises(Mistake, match=r"pip install 'classmark\[approximate\]'"):
        DenseIndex([[1.0, 0.0]]).approximate()


def test_the_approximate_index_finds_most_and_scores_exactly(tmp_path):
    pytest.importorskip("usearch.index")
    table = halves(3000, 32)
    queries = np.random.default_rng(4).normal(size=(20, 32))
    exact, folder = DenseIndex(table), tmp_path / "graph"
    DenseIndex(table[:2000]).approximate(folder)
    near = exact.approximate(folder)  # the other thousand is added
    assert len(near.graph) == 3000
    common = 0
    for query in queries:
        items, cosines = near.find(query, 10)
        assert np.array_equal(exact.cosines(query, items), cosines)
        common += len(set(items.tolist()) & set(exact.find(query, 10)[0].tolist()))
    assert common > 0.85 * 200
    some = np.arange(3000) % 7 == 0
    assert np.array_equal(near.find(query, 5, some), exact.find(query, 5, some))
    with pytest.raises(Mistake, match="other vectors"):
        DenseIndex(table[:10]).approximate(folder)


def test_the_approximate_index_gives_documents_that_share_a_vector():
    pytest.importorskip("usearch.index")
    near = DenseIndex(halves(30, 8), [4, 9, 4, -1]).approximate()
    items, cosines = near.find(near.table[4], 3)
    assert items.tolist()[:2] == [0, 2]
    assert cosines[0] == cosines[1]
