"""PreferenceRanker, document by document: shapes, settings, and what goes on from."""

import itertools

import numpy as np
import pytest
from scipy.sparse import csr_matrix
from sklearn.base import clone

from classmark import PreferenceGraph, PreferenceRanker
from classmark.problems import Mistake
from classmark.solvers import preference_live
from oracles import live as slow

MAPPINGS = ["dis", "dom", "dme", "dom-dme"]
K = 3


def collection(seed=0, n=24, d=6):
    """Documents around a direction per label, and their labels as lists."""
    rng = np.random.default_rng(seed)
    truth = rng.standard_normal((d, K))
    X = rng.standard_normal((n, d))
    Y = [np.flatnonzero(scores > 0.8).tolist() for scores in X @ truth]
    return X, Y


def indicator(Y, k=K):
    dense = np.zeros((len(Y), k))
    for row, labels in enumerate(Y):
        dense[row, labels] = 1.0
    return dense


def graphs(Y):
    return [PreferenceGraph.multilabel(K, labels) for labels in Y]


def value(ranker, X, Y):
    """Compute the primal objective of a ranker's weights, edge by edge."""
    tau = 0.0 if ranker.thresholds_ is None else ranker.thresholds_[0]
    return slow.objective(ranker.weights_, tau, X, Y, ranker.loss, ranker.C or 1.0)


@pytest.mark.parametrize("loss", MAPPINGS)
def test_one_by_one_with_visits_meets_the_batch(loss):
    X, Y = collection()
    batch = PreferenceRanker(loss, 1.0, tol=1e-5).fit(X, indicator(Y))
    ranker = PreferenceRanker(loss, revisits=50)
    for part in (slice(0, 5), slice(5, 24)):
        ranker.partial_fit(X[part], Y[part], n_labels=K)
    assert ranker.revisits_ == 19 * 50
    assert ranker.revisit(20_000) == 20_000
    assert value(ranker, X, graphs(Y)) == pytest.approx(batch.objective_, rel=1e-3)
    assert np.allclose(ranker.decision_function(X), X @ ranker.weights_)


def test_a_function_as_mapping_is_heeded():
    """Its groups, not those of dom, whether labels or graphs are given."""

    def alone(graph):
        return [[edge] for edge in graph.edges()]

    X, Y = collection()
    rankers = [
        PreferenceRanker("dis").partial_fit(X, graphs(Y)),
        PreferenceRanker(alone).partial_fit(X, graphs(Y)),
        PreferenceRanker(alone).partial_fit(X, Y, n_labels=K),
        PreferenceRanker(alone, 1.0, tol=1e-5).fit(X, graphs(Y)),
    ]
    for ranker in rankers[:3]:
        ranker.revisit(5000)
        assert np.allclose(ranker.weights_, rankers[3].weights_, atol=0.02)


@pytest.mark.parametrize("shape", [list, indicator, graphs])
def test_every_shape_of_labels_teaches_the_same(shape):
    X, Y = collection()
    known = PreferenceRanker(revisits=5).partial_fit(X, Y, n_labels=K)
    other = PreferenceRanker(revisits=5).partial_fit(csr_matrix(X), shape(Y), K)
    assert np.array_equal(known.weights_, other.weights_)


def test_all_columns_of_an_indicator_are_labels():
    """Also those that no document has yet: they compete from the first one on."""
    for Y in (indicator([[0]], 4), [PreferenceGraph.multilabel(4, [0])]):
        ranker = PreferenceRanker(C=10.0).partial_fit(np.ones((1, 1)), Y)
        assert ranker.weights_[0].tolist() == pytest.approx([0.75] + [-0.25] * 3)


def test_documents_and_labels_may_widen_and_narrow():
    ranker = PreferenceRanker(revisits=0)
    ranker.partial_fit(np.ones((1, 2)), [[0]], n_labels=2)
    ranker.partial_fit(np.eye(4), [[1], [3], [], [0, 1, 2, 3]])
    assert ranker.weights_.shape == (4, 4)
    ranker.partial_fit(np.ones((1, 1)), [[2]])
    assert ranker.weights_.shape == (4, 4)
    assert ranker.decision_function(np.ones((2, 3))).shape == (2, 4)
    wide = ranker.decision_function(np.ones((1, 9)))
    assert np.allclose(wide, ranker.weights_.sum(axis=0))
    assert ranker.rank(np.ones((1, 4)), k=2).shape == (1, 2)


def test_empty_rows_and_labels_teach_nothing():
    ranker = PreferenceRanker().partial_fit(np.zeros((2, 3)), [[0], [1]], n_labels=2)
    ranker.partial_fit(np.ones((2, 3)), [[], [0, 1]])
    ranker.partial_fit(np.empty((0, 3)), [])
    assert not ranker.weights_.any()
    assert len(ranker.live_) == 4


def test_grades_and_unsure_labels():
    X = np.ones((1, 1))
    graded = PreferenceRanker("dis", C=9.0).partial_fit(X, np.array([[5.0, 0, 2.0]]))
    graded.revisit(200)
    assert (-np.diff(graded.weights_[0, [0, 2, 1]])).tolist() == pytest.approx([1, 1])
    unsure = PreferenceGraph(3, levels=np.array([1, -1, 0]))
    ranker = PreferenceRanker(C=9.0).partial_fit(X, [unsure])
    assert ranker.weights_[0].tolist() == [0.5, 0.0, -0.5]


def test_the_threshold_is_taken_off():
    graph = PreferenceGraph.against_threshold(2, [0])
    ranker = PreferenceRanker("dis", C=9.0).partial_fit(np.ones((1, 1)), [graph])
    ranker.revisit(500)
    assert ranker.decision_function(np.ones((1, 1)))[0].tolist() == pytest.approx(
        [1, -1], abs=1e-6
    )


@pytest.mark.parametrize("loss", MAPPINGS)
@pytest.mark.parametrize("jobs", [1, 2])
def test_after_fit_it_goes_on_from_there(loss, jobs):
    X, Y = collection()
    ranker = PreferenceRanker(loss, 1.0, tol=1e-5, n_jobs=jobs).fit(X[:20], Y[:20])
    ranker.partial_fit(X[20:], Y[20:]).revisit(20_000)
    batch = PreferenceRanker(loss, 1.0, tol=1e-5).fit(X, Y)
    assert value(ranker, X, graphs(Y)) == pytest.approx(batch.objective_, rel=1e-3)


@pytest.mark.parametrize("loss", MAPPINGS)
def test_after_a_fit_on_lists_labels_are_learned_by_the_same_mapping(loss):
    X, Y = collection()
    cyclic = [PreferenceGraph(K, [(0, 1), (1, 2), (2, 0)])] * 4
    ranker = PreferenceRanker(loss, 1.0).fit(X[:4], cyclic)
    ranker.partial_fit(X[4:], Y[4:]).revisit(20_000)
    every = cyclic + graphs(Y[4:])
    batch = PreferenceRanker(loss, 1.0, tol=1e-5).fit(X, every)
    assert value(ranker, X, every) == pytest.approx(batch.objective_, rel=1e-3)


def test_fit_forgets_the_stream():
    X, Y = collection()
    fresh = PreferenceRanker().fit(X, Y)
    ranker = PreferenceRanker().partial_fit(-X, Y).fit(X, Y)
    assert ranker.live_ is None
    assert np.array_equal(ranker.weights_, fresh.weights_)
    assert np.array_equal(ranker.decision_function(X), fresh.decision_function(X))
    with pytest.raises(Mistake, match="call partial_fit first"):
        ranker.revisit()


def test_a_path_does_not_show_an_earlier_stream():
    X, Y = collection()
    ranker = PreferenceRanker().partial_fit(-X, Y)
    for fitted in ranker.path(X, Y, [0.1, 1.0]):
        assert np.allclose(fitted.decision_function(X), X @ fitted.weights_)


def test_clones_know_the_settings_and_nothing_learned():
    X, Y = collection()
    ranker = PreferenceRanker(revisits=7, time_budget=0.5, max_documents=9)
    assert {
        "revisits": 7,
        "time_budget": 0.5,
        "max_documents": 9,
    }.items() <= ranker.get_params().items()
    copied = clone(ranker.set_params(time_budget=None).partial_fit(X, Y))
    assert copied.get_params() == ranker.get_params()
    with pytest.raises(Mistake, match="fit"):
        copied.decision_function(X)
    with pytest.raises(Mistake, match="call partial_fit first"):
        copied.revisit()


def test_keep_bounds_what_is_kept():
    X, Y = collection()
    ranker = PreferenceRanker(max_documents=5, revisits=3).partial_fit(X, Y)
    assert len(ranker.live_) == 5


def test_a_budget_decides_how_many_visits_are_made(monkeypatch):
    X, Y = collection()
    clock = itertools.count(0.0, 0.25)
    monkeypatch.setattr(preference_live.time, "perf_counter", lambda: next(clock))
    ranker = PreferenceRanker(time_budget=1.0, revisits=99).partial_fit(X[:4], Y[:4])
    assert ranker.revisits_ == 4 * 3 * preference_live.AT_ONCE
    replayed = PreferenceRanker(revisits=3 * preference_live.AT_ONCE).partial_fit(
        X[:4], Y[:4]
    )
    assert np.array_equal(ranker.weights_, replayed.weights_)


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"loss": "svm"}, "cannot learn document by document"),
        ({"loss": "none"}, "'none' is not known"),
        ({"kernel": "rbf"}, "with a kernel"),
        ({"center": 1.0}, "center and class_weight need all documents"),
        (
            {"class_weight": "balanced"},
            "center and class_weight need all documents",
        ),
        ({"C": 0.0}, "C is 0.0"),
        ({"max_documents": 0}, "max_documents is 0: give a whole number from 1"),
        ({"revisits": -1}, "revisits is -1: give a whole number from 0"),
        ({"time_budget": -0.1}, "time_budget is -0.1"),
    ],
)
def test_settings_that_do_not_fit_are_named(settings, said):
    X, Y = collection()
    ranker = PreferenceRanker(**settings)
    with pytest.raises(Mistake, match=said):
        ranker.partial_fit(X, Y)
    with pytest.raises(Mistake, match="fit"):
        ranker.decision_function(X)


def test_what_was_fitted_otherwise_cannot_go_on():
    X, Y = collection()
    with pytest.raises(Mistake, match="other than 'svm'"):
        PreferenceRanker("svm").fit(X, Y).partial_fit(X, Y)
    with pytest.raises(Mistake, match="larger memory"):
        PreferenceRanker(memory="1B").fit(X, Y).partial_fit(X, Y)


def test_wrong_documents_change_nothing():
    X, Y = collection()
    ranker = PreferenceRanker().partial_fit(X, Y)
    before = ranker.weights_.copy()
    for wrong, said in (
        ([[0]], "Y has 1 rows, X has 24"),
        ([[0.5]] * 24, "not a label index"),
        (graphs(Y)[:3], "Y has 3 graphs"),
    ):
        with pytest.raises(Mistake, match=said):
            ranker.partial_fit(np.pad(X, ((0, 0), (0, 3))), wrong)
    assert np.array_equal(ranker.weights_, before)
    assert ranker.live_.n_features == 6
