"""Weightings against scikit-learn and against the formulas, written out."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from sklearn.feature_extraction.text import TfidfTransformer

from classmark.arrays import rows_from
from classmark.corpus.counting import statistics
from classmark.problems import Mistake
from classmark.weighting import vectorizer
from classmark.weighting.vectorizer import WEIGHTINGS, weigh

COUNTS = arrays(np.float64, (7, 5), elements=st.integers(0, 4).map(float))


def weighted(counts, weighting, *, train=None, **settings):
    train = counts if train is None else train
    rows = rows_from(counts)
    known = statistics(rows_from(train))
    return weigh(rows, known, weighting, **settings).to_scipy().toarray()


@given(COUNTS, COUNTS, st.booleans(), st.sampled_from(["l2", None]))
def test_tfidf_is_scikit_learns(train, test, sublinear, norm):
    theirs = TfidfTransformer(norm=norm, sublinear_tf=sublinear).fit(train)
    name = "log-tfidf" if sublinear else "tfidf"
    for X in (train, test):
        ours = weighted(X, name, train=train, norm=norm)
        np.testing.assert_allclose(ours, theirs.transform(X).toarray(), atol=1e-6)


@given(COUNTS, st.floats(0.0, 1.0))
def test_pivoted_is_spec_1_written_out(counts, slope):
    ours = weighted(counts, "pivoted", norm=None, slope=slope)
    m, df, u = len(counts), (counts > 0).sum(0), (counts > 0).sum(1)
    want = np.zeros_like(counts)
    for i, l in zip(*np.nonzero(counts), strict=True):  # noqa: E741 - the paper's letter
        tf = counts[i, l]
        average_tf = counts[i].sum() / u[i]
        damped = (1 + np.log(tf)) / (1 + np.log(average_tf))
        length = (1 - slope) + slope * u[i] / u.mean()
        want[i, l] = damped / length * np.log(m / df[l])
    np.testing.assert_allclose(ours, want, rtol=2e-6, atol=1e-7)


@given(COUNTS)
def test_the_simple_weightings(counts):
    lengths = np.maximum(counts.sum(1, keepdims=True), 1)
    want = {
        "binary": counts > 0,
        "count": counts,
        "tf": counts / lengths,
        "log": np.where(counts > 0, 1 + np.log(np.maximum(counts, 1)), 0),
    }
    for name, dense in want.items():
        ours = weighted(counts, name, norm=None)
        np.testing.assert_allclose(ours, dense, rtol=1e-6)


@given(COUNTS, st.sampled_from(WEIGHTINGS), st.integers(1, 12))
def test_rows_are_unit_vectors_or_empty_whatever_the_block(counts, name, size):
    whole = weighted(counts, name)
    norms = np.sqrt((whole**2).sum(1))
    assert ((abs(norms - 1) < 1e-5) | (norms == 0)).all()
    before, vectorizer._BLOCK = vectorizer._BLOCK, size  # noqa: SLF001 - blocks must not show
    try:
        np.testing.assert_array_equal(weighted(counts, name), whole)
    finally:
        vectorizer._BLOCK = before  # noqa: SLF001


def test_the_counts_are_kept_unless_given_away():
    rows = rows_from(np.array([[3.0, 4.0]], np.float32))
    known = statistics(rows)
    weigh(rows, known, "count")
    assert rows.values.tolist() == [3.0, 4.0]
    weigh(rows, known, "count", into=rows.values)
    np.testing.assert_allclose(rows.values, [0.6, 0.8])


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"weighting": "bm26"}, "weighting is 'bm26'.*'pivoted'"),
        ({"norm": "l1"}, "norm is 'l1'"),
        ({"slope": 1.5}, "slope is 1.5"),
        ({"slope": float("nan")}, "slope is nan"),
    ],
)
def test_mistakes(settings, message):
    rows = rows_from([[1.0]])
    with pytest.raises(Mistake, match=message):
        weigh(rows, statistics(rows), **settings)


def test_statistics_of_another_vocabulary_are_refused():
    with pytest.raises(Mistake, match="2 columns, the statistics 1"):
        weigh(rows_from([[1.0, 1.0]]), statistics(rows_from([[1.0]])))
