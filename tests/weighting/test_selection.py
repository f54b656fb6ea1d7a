"""Which terms are kept, against loops and scikit-learn."""

import numpy as np
import pytest
from scipy.sparse import csr_array

from classmark.arrays import rows_from
from classmark.corpus.counting import statistics
from classmark.problems import Mistake
from classmark.weighting.selection import frequent_terms, select_features


@pytest.fixture(params=range(4))
def problem(request):
    rng = np.random.default_rng(request.param)
    X = rng.random((40, 60)) * (rng.random((40, 60)) < 0.2)
    Y = (rng.random((40, 5)) < 0.3).astype(int)
    return X, Y


def rocchio_union(X, Y, most):
    chosen = set()
    for label in range(Y.shape[1]):
        inside = Y[:, label] > 0
        weights = 16 * X[inside].mean(0) - 4 * X[~inside].mean(0)
        best = sorted(range(len(weights)), key=lambda t: -weights[t])[:most]
        chosen |= {t for t in best if weights[t] > 0}
    return sorted(chosen)


@pytest.mark.parametrize(("per_label", "fraction", "most"), [(3, 0.0, 3), (2, 0.1, 6)])
def test_rocchio_selection_is_the_loop(problem, per_label, fraction, most):
    X, Y = problem
    want = rocchio_union(X, Y, most)
    lists = [np.flatnonzero(row).tolist() for row in Y]
    for labels in (Y, csr_array(Y), lists):
        kept = select_features(csr_array(X), labels, per_label, fraction)
        assert kept.tolist() == want


def test_by_default_a_hundred_terms_a_label_or_a_fortieth():
    rng = np.random.default_rng(0)
    X = rng.random((4, 8000))
    kept = select_features(X, [[0], [1], [], []])
    weights = [16 * X[i] - 4 * np.delete(X, i, axis=0).mean(axis=0) for i in range(2)]
    want = set(np.argsort(-weights[0])[:200]) | set(np.argsort(-weights[1])[:200])
    assert kept.tolist() == sorted(want)
    assert len(select_features(X[:, :300], [[0], [], [], []])) == 100


def test_a_label_of_all_or_no_documents():
    X = np.array([[1.0, 0.0], [0.0, 2.0]])
    assert select_features(X, np.array([[1, 0], [1, 0]])).tolist() == [0, 1]


def test_frequent_terms():
    counts = np.array(
        [[5.0, 1.0, 1.0, 0.0], [0.0, 1.0, 1.0, 1.0], [0.0, 1.0, 0.0, 1.0]]
    )
    known = statistics(rows_from(counts))
    assert frequent_terms(known).tolist() == [0, 1, 2, 3]
    assert frequent_terms(known, at_least=2).tolist() == [1, 2, 3]
    assert frequent_terms(known, at_least=2, at_most=2).tolist() == [2, 3]
    assert frequent_terms(known, max_features=3).tolist() == [0, 1, 2]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: select_features([[1.0]], [[0]], per_label=-1), "per_label is -1"),
        (lambda: select_features([[1.0]], [[0]], fraction=2.0), "fraction 2.0"),
        (lambda: select_features([[1.0]], [[0], [0]]), "Y has 2 rows"),
    ],
)
def test_mistakes(call, message):
    with pytest.raises(Mistake, match=message):
        call()


def test_a_fraction_of_the_positive_terms_of_each_label():
    """Label 0 has positive weights for 80 terms, 1 for 20: of each a tenth."""
    X = np.zeros((2, 100))
    X[0, :80], X[1, 80:] = np.arange(80, 0, -1), np.arange(20, 0, -1)
    chosen = select_features(X, [[0], [1]], 0, 0.1, of="positive")
    assert chosen.tolist() == [*range(8), 80, 81]
    assert len(select_features(X, [[0], [1]], 0, 0.1)) == 20
    with pytest.raises(Mistake, match="of is 'some': use 'all' or 'positive'"):
        select_features(X, [[0], [1]], of="some")
