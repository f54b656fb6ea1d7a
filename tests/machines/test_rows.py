"""Rows that workers have answer as rows at hand do."""

import numpy as np
import pytest

from benchmarks.synthetic_rows import SyntheticRows, synthetic_rows
from classmark.arrays import stack, take
from classmark.examples.problem import mean_of
from classmark.machines.portion import (
    Indexed,
    SavedRows,
    of_index,
    packed,
    shares,
    unpacked,
)
from classmark.machines.rows import SpreadRows
from classmark.problems import Mistake
from classmark.ranking import top
from classmark.solvers.cutting_planes import linear
from classmark.storage import save

WIDTH = 500
PARTS = [
    SyntheticRows(1, 300, WIDTH, 12, 9),
    SyntheticRows(2, 0, WIDTH),
    SyntheticRows(3, 211, WIDTH, 12),
]


@pytest.fixture(scope="module")
def spread(started):
    return SpreadRows(started(2), PARTS)


@pytest.fixture(scope="module")
def here():
    return stack([synthetic_rows(part) for part in PARTS])


def test_scores_are_those_of_rows_at_hand_bit_for_bit(two, here):
    spread = SpreadRows(two, PARTS)
    weights = np.random.default_rng(0).normal(size=WIDTH)
    assert np.array_equal(spread.product(weights), linear([here]).product(weights))


def test_it_has_the_length_the_width_and_the_mean(spread, here):
    assert (len(spread), spread.width, spread.nnz) == (*here.shape, here.nnz)
    assert spread.sizes == [300, 0, 211]
    np.testing.assert_allclose(spread.mean, mean_of(here), rtol=1e-12, atol=1e-15)


def test_sums_are_those_of_rows_at_hand(spread, here):
    c = np.random.default_rng(1).normal(size=len(here))
    c[::3] = 0.0
    expected = linear([here]).back(c)
    np.testing.assert_allclose(spread.back(c), expected, rtol=1e-11, atol=1e-13)


@pytest.mark.parametrize("rows", [[], [0], [510, 3, 299, 300, 3], list(range(511))])
def test_rows_come_in_the_order_given(spread, here, rows):
    found, expected = spread.take(rows), take(here, np.array(rows, np.int64))
    for name in ("starts", "columns", "values", "width"):
        assert np.array_equal(getattr(found, name), getattr(expected, name))


@pytest.mark.parametrize("k", [1, 7, 511, 9999])
def test_the_best_are_merged_ties_by_number(spread, here, k):
    found, values = spread.top(np.zeros(WIDTH), k, hidden=[0, 305])
    expected = np.setdiff1d(np.arange(511), [0, 305])[:k]
    assert np.array_equal(found, expected)
    assert not values.any()
    weights = np.zeros(WIDTH)
    weights[:3] = 1.0
    found, values = spread.top(weights, k)
    exact = linear([here]).product(weights)
    assert np.array_equal(found, top(exact, k))
    assert np.array_equal(values, exact[found])


def test_all_hidden_leaves_nothing(spread):
    found, scores = spread.top(np.ones(WIDTH), 3, hidden=np.arange(511))
    assert len(found) == len(scores) == 0


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (lambda s: s.product(np.zeros(3)), "give 500 numbers, one a feature"),
        (lambda s: s.back(np.zeros(3)), "give 511 numbers, one a row"),
        (lambda s: s.take([511]), "from 0 to 510"),
        (lambda s: s.take([-1]), "from 0 to 510"),
        (lambda s: s.top(np.zeros(WIDTH), 0), "at least one row"),
        (lambda s: s.top(np.zeros(WIDTH), 1, hidden=[600]), "hidden: give row"),
    ],
)
def test_what_does_not_fit_is_refused(spread, wrong, message):
    with pytest.raises(Mistake, match=message):
        wrong(spread)


def test_parts_of_several_widths_are_refused(two):
    with pytest.raises(Mistake, match="have 20, 30 columns"):
        SpreadRows(two, [SyntheticRows(1, 2, 20), SyntheticRows(1, 2, 30)])


def test_no_parts_are_refused(two):
    with pytest.raises(Mistake, match="at least one part"):
        SpreadRows(two, [])


def test_a_saved_folder_is_read_in_ranges(two, here, tmp_path):
    names = ("starts", "columns", "values")
    arrays = {name: getattr(here, name) for name in names}
    save(tmp_path / "x", "rows", 1, arrays, {"width": WIDTH})
    sources = [SavedRows(str(tmp_path / "x"), "rows", 1, *s) for s in shares(511, 7)]
    spread = SpreadRows(two, sources)
    weights = np.random.default_rng(0).normal(size=WIDTH)
    assert spread.sizes == [73] * 7
    assert np.array_equal(spread.product(weights), linear([here]).product(weights))


def test_a_folder_that_is_not_there_is_told(two, tmp_path):
    with pytest.raises(Mistake, match="nowhere"):
        SpreadRows(two, [SavedRows(str(tmp_path / "nowhere"), "rows", 1, 0, 3)])


def test_duals_come_back_exactly_and_are_small():
    duals = np.random.default_rng(0).choice([0.0, 0.3, 0.1234], 10_000)
    sent = packed(duals, 0.3)
    assert np.array_equal(unpacked(sent, 0.3), duals)
    assert len(sent.full) == len(sent.free) == 1250
    assert np.array_equal(unpacked(packed(duals[:3], 0.0), 0.0), duals[:3])


@pytest.fixture(scope="module")
def index(tmp_path_factory):
    from classmark.index.index import Index

    random = np.random.default_rng(4)
    words = np.array([f"w{i}" for i in range(60)])
    texts = [
        (f"d{i}", " ".join(random.choice(words, random.integers(1, 30))))
        for i in range(90)
    ]
    index = Index.build(tmp_path_factory.mktemp("index") / "i", texts[:50])
    index.merging = "demand"
    index.add([*texts[50:], ("empty", "")])
    index.commit()
    index.delete(["d3", "d60"])
    return index.commit()


@pytest.mark.parametrize("parts", [1, 2, 7])
def test_documents_of_an_index_are_its_unit_vectors(two, index, parts):
    from classmark.index.models import Prepared
    from classmark.index.vectors import mean_vector, vectors_of

    (name,) = index.fields
    sources = of_index(index, name, parts)
    assert all(isinstance(source, Indexed) for source in sources)
    spread = SpreadRows(two, sources)
    field = Prepared(index.field())
    living = np.flatnonzero(field.field.alive)
    expected = vectors_of(field, living)
    assert len(spread) == len(index) == 89
    found = spread.take(np.arange(89))
    for part in ("starts", "columns", "values"):
        assert np.array_equal(getattr(found, part), getattr(expected, part))
    np.testing.assert_allclose(spread.mean, mean_vector(field), rtol=1e-12)


def test_made_rows_are_unit_sorted_and_of_their_seed():
    one, again, other = (
        synthetic_rows(SyntheticRows(s, 200, 20_000, 40, 50)) for s in (5, 5, 6)
    )
    assert np.array_equal(one.values, again.values)
    assert not np.array_equal(one.columns[:50], other.columns[:50])
    matrix = one.to_scipy()
    np.testing.assert_allclose(matrix.multiply(matrix).sum(axis=1), 1.0, rtol=1e-5)
    assert (np.diff(one.columns.astype(int))[np.diff(_owner(one)) == 0] > 0).all()
    alike = (matrix @ matrix.T).toarray()
    assert alike[:50, :50].mean() > 1.5 * alike[50:, 50:].mean()


def _owner(rows):
    return np.repeat(np.arange(len(rows)), np.diff(rows.starts))


def test_a_collection_that_workers_cannot_hold_is_refused(two, monkeypatch):
    monkeypatch.setattr(two, "memory", 200_000_000)
    message = r"about 0.38 GB on each of 2 workers, which may take 0.2 GB: use more"
    with pytest.raises(Mistake, match=message):
        SpreadRows(two, [SyntheticRows(1, 370_000, 1000), SyntheticRows(2, 10, 1000)])
    assert len(SpreadRows(two, PARTS)) == 511
