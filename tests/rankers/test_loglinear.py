"""LogLinearRanker: what it takes, what it leaves behind, what it refuses."""

import numpy as np
import pytest
from sklearn.base import clone

from classmark.preferences.graph import NAMES, PreferenceGraph, decompose
from classmark.preferences.losses import loss_from
from classmark.problems import Mistake
from classmark.rankers.linear import LogLinearRanker

RNG = np.random.default_rng(11)
X = np.abs(RNG.normal(size=(20, 6))) * (RNG.random((20, 6)) < 0.6)
Y = (RNG.random((20, 4)) < 0.4).astype(int)


@pytest.mark.parametrize("solver", ["lbfgs", "boosting"])
@pytest.mark.parametrize("name", NAMES)
def test_the_curve_ends_at_the_loss_of_the_weights(name, solver):
    ranker = LogLinearRanker(name, solver=solver, max_iter=15).fit(X, Y)
    price = loss_from(Y, name).prices(ranker.decision_function(X)).losses.sum()
    assert ranker.loss_curve_[-1] == pytest.approx(price)
    assert len(ranker.loss_curve_) == ranker.n_iter_ <= 15
    assert (np.diff(ranker.loss_curve_) < 0).all()
    assert ranker.objective_ == pytest.approx(price)
    assert ranker.coef_.shape == (4, 6)


def test_the_curve_is_of_the_loss_without_its_penalty():
    ranker = LogLinearRanker(C=0.5).fit(X, Y)
    price = loss_from(Y).prices(ranker.decision_function(X)).losses.sum()
    size = 0.5 * (ranker.coef_**2).sum()
    assert ranker.loss_curve_[-1] == pytest.approx(price)
    assert ranker.objective_ == pytest.approx(size + 0.5 * price)


def test_labels_graphs_and_an_own_decomposition_give_the_same_weights():
    graphs = [PreferenceGraph.multilabel(4, np.flatnonzero(row)) for row in Y]
    edges = [PreferenceGraph(4, graph.edges()) for graph in graphs]
    lists = [np.flatnonzero(row).tolist() for row in Y]
    wanted = LogLinearRanker(C=1.0).fit(X, Y).coef_
    for given in (graphs, edges, lists):
        assert np.allclose(LogLinearRanker(C=1.0).fit(X, given).coef_, wanted)
    own = LogLinearRanker(lambda graph: decompose(graph, "domination"), C=1.0)
    assert np.allclose(own.fit(X, Y).coef_, wanted)
    single = LogLinearRanker(C=1.0).fit(X.astype(np.float32), Y)
    assert np.allclose(single.coef_, wanted, atol=1e-4)


def test_a_contradiction_between_documents_is_split():
    graphs = [PreferenceGraph(2, [(0, 1)]), PreferenceGraph(2, [(1, 0)])]
    scores = (
        LogLinearRanker(C=1.0).fit([[1.0], [1.0]], graphs).decision_function([[1.0]])
    )
    assert scores.ravel() == pytest.approx([0.0, 0.0])


def test_clone_keeps_every_parameter():
    given = LogLinearRanker(
        "dominated",
        solver="boosting",
        max_iter=7,
        C=2.0,
        tol=0.1,
        penalty="natural",
        smoothing=0.5,
    )
    assert clone(given).get_params() == given.get_params()
    assert LogLinearRanker(solver="boosting", max_iter=1000).get_params()["C"] is None


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"solver": "newton"}, "solver 'newton' is not known"),
        ({"penalty": "l1"}, "penalty 'l1' is not known"),
        ({"C": 0.0}, r"C is 0\.0: give more than 0"),
        ({"solver": "boosting", "C": 1.0}, "cannot minimise the l2 penalty"),
        ({"max_iter": 0}, "max_iter is 0"),
        ({"loss": "svm"}, "loss 'svm' is not known"),
    ],
)
def test_mistakes_are_named(parameters, message):
    with pytest.raises(Mistake, match=message):
        LogLinearRanker(**parameters).fit(X, Y)


def test_as_many_rows_as_labels():
    with pytest.raises(Mistake, match="Y has 19 rows, X has 20"):
        LogLinearRanker().fit(X, Y[:-1])
