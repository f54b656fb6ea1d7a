"""LogLinearRanker: what it takes, what it leaves behind, what it refuses."""

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import minimize
from sklearn.base import clone

from classmark.preferences.graph import NAMES, PreferenceGraph, decompose
from classmark.preferences.losses import loss_from
from classmark.problems import Mistake
from classmark.rankers.linear import LogLinearRanker
from classmark.rankers.text_ranker import TextRanker
from classmark.weighting.vectorizer import Vectorizer

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
    assert LogLinearRanker(solver="boosting", max_iter=1000).get_params()["C"] == "auto"


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


def products(documents, k):
    """h(x, y): x in the place of y, zeros elsewhere: those used by default."""
    n, d = documents.shape
    rows = [
        sparse.hstack(
            [documents[i] if at == y else sparse.csr_matrix((1, d)) for at in range(k)]
        )
        for i in range(n)
        for y in range(k)
    ]
    return sparse.vstack(rows, "csr")


def shared(documents, k):
    """Features that labels have in common, of either sign: x · a_y, x² · b_y and y."""
    table = np.random.default_rng(5).normal(size=(k, 2)).round(2)
    dense, label = documents.toarray(), np.tile(np.arange(k), documents.shape[0])
    each = np.repeat(dense, k, axis=0)
    sides = each * table[label, :1], each**2 * table[label, 1:], label[:, np.newaxis]
    return np.hstack(sides)


@pytest.mark.parametrize(
    "how", [{}, {"C": 0.5}, {"solver": "boosting"},
            {"solver": "boosting", "C": 2.0, "penalty": "natural"}],
    ids=str,
)  # fmt: skip
@pytest.mark.parametrize("name", NAMES)
def test_products_of_words_and_labels_are_the_features_by_default(name, how):
    labels = Y.copy()
    labels[:, 0], labels[:, 1] = 1, 0  # every document has a preference
    plain = LogLinearRanker(name, max_iter=25, **how).fit(X, labels)
    own = LogLinearRanker(name, max_iter=25, features=products, **how).fit(X, labels)
    assert own.weights_.shape == (24, 1)
    assert np.allclose(own.weights_.reshape(4, 6), plain.coef_, atol=1e-6)
    assert own.loss_curve_ == pytest.approx(plain.loss_curve_)
    assert np.allclose(own.decision_function(X), plain.decision_function(X), atol=1e-6)
    assert (own.rank(X, k=2) == plain.rank(X, k=2)).all()
    ours, theirs = own.evidence(X[:1], 2), plain.evidence(X[:1], 2)
    assert ours.parts.sum() == pytest.approx(theirs.parts.sum())


@pytest.mark.parametrize("name", NAMES)
def test_shared_features_reach_the_optimum_of_a_general_solver(name):
    ranker = LogLinearRanker(name, C=0.7, features=shared, tol=1e-8).fit(X, Y)
    H, loss = shared(sparse.csr_matrix(X), 4), loss_from(Y, name)

    def objective(weights):
        prices = loss.prices(np.ascontiguousarray((H @ weights).reshape(-1, 4)))
        return 0.5 * weights @ weights + 0.7 * prices.losses.sum()

    best = minimize(objective, np.zeros(H.shape[1]), options={"gtol": 1e-6})
    assert ranker.objective_ == pytest.approx(best.fun, rel=1e-6)
    assert np.allclose(np.ravel(ranker.weights_), best.x, atol=1e-3)
    sum_of_parts = ranker.evidence(X[:1], 1).parts.sum()
    scores = ranker.decision_function(X[:1])[0]
    assert sum_of_parts == pytest.approx(scores[1] - scores.mean())
    boosted = LogLinearRanker(
        name, solver="boosting", max_iter=40, features=shared
    ).fit(X, Y)
    assert (np.diff(boosted.loss_curve_) < 0).all()
    price = loss.prices(boosted.decision_function(X)).losses.sum()
    assert boosted.loss_curve_[-1] == pytest.approx(price)


def test_features_that_do_not_fit_are_named_and_a_function_is_not_saved(tmp_path):
    with pytest.raises(Mistake, match="made 20 rows of 20 documents and 4 labels"):
        LogLinearRanker(features=lambda documents, _: documents).fit(X, Y)
    with pytest.raises(Mistake, match="features is 'words'"):
        LogLinearRanker(features="words").fit(X, Y)
    ranker = LogLinearRanker(features=shared).fit(X, Y)
    assert clone(ranker).get_params()["features"] is shared
    with pytest.raises(Mistake, match="X has 5 features"):
        ranker.decision_function(X[:, :5])
    ranker.features = products
    with pytest.raises(Mistake, match="made 24 columns, and 13 in fit"):
        ranker.decision_function(X)
    texts = ["bees hum", "tea time"]
    trained = TextRanker.fit(
        Vectorizer(), LogLinearRanker(features=products), texts, [[0], [1]], ["a", "b"]
    )
    best = trained.suggest("bees", k=1)[0]
    assert best.category == "a"
    assert best.favour[0][0].startswith("h")
    assert best.favour[0][1] > 0
    with pytest.raises(Mistake, match="features is a function, which cannot be saved"):
        trained.save(tmp_path / "model")
