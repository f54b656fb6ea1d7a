"""PreferenceRanker: the objective of the paper, in every form of supervision."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV

from classmark import PreferenceGraph, PreferenceRanker, Rocchio
from classmark.preferences.graph import decompose
from classmark.problems import Mistake


def problem(seed=0, n=40, d=8, k=5, grades=1):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    Y = rng.integers(0, grades + 1, (n, k)) * (rng.random((n, k)) < 0.5)
    return X, Y.astype(float)


def objective(X, Y, W, loss, C):
    """½‖w‖² + C Σ slack, group by group, as printed."""
    value = 0.5 * (W**2).sum()
    names = {"dom": ["domination"], "dme": ["dominated"], "dis": ["disagreement"]}
    names["dom-dme"] = names["dom"] + names["dme"]
    for x, y in zip(X, Y, strict=True):
        graph = PreferenceGraph(len(y), levels=y.astype(int))
        for name in names[loss]:
            for group in decompose(graph, name):
                gaps = [1 - x @ (W[u] - W[v]) for u, v in group]
                value += C * max(0.0, *gaps)
    return value


@pytest.mark.parametrize("loss", ["dis", "dom", "dme", "dom-dme"])
@pytest.mark.parametrize("grades", [1, 2])
def test_the_objective_is_that_of_the_paper(loss, grades):
    X, Y = problem(grades=grades)
    ranker = PreferenceRanker(loss, C=0.3).fit(X, Y)
    assert ranker.duality_gap_ <= 1e-3
    value = objective(X, Y, ranker.coef_, loss, 0.3)
    assert ranker.objective_ == pytest.approx(value)
    assert np.allclose(ranker.decision_function(X), X @ ranker.coef_.T)


def test_all_shapes_of_the_same_supervision_agree():
    X, Y = problem(1)
    graphs = [PreferenceGraph.multilabel(5, np.flatnonzero(y)) for y in Y]
    listed = [PreferenceGraph(5, graph.edges()) for graph in graphs]
    lists = [np.flatnonzero(y) for y in Y]
    fitted = [
        PreferenceRanker(C=0.5, tol=1e-5).fit(data, supervision).objective_
        for data, supervision in [
            (X, Y),
            (sparse.csr_matrix(X), sparse.csr_matrix(Y)),
            (X, list(lists)),
            (X, graphs),
            (X, listed),
        ]
    ]
    assert np.allclose(fitted, fitted[0], rtol=5e-5)


def test_a_function_is_a_mapping_too():
    X, Y = problem(2)
    how = {"tol": 1e-4, "center": None}
    own = PreferenceRanker(lambda graph: decompose(graph, "domination"), **how)
    named = PreferenceRanker("dom", **how)
    assert own.fit(X, Y).objective_ == pytest.approx(
        named.fit(X, Y).objective_, rel=2e-4
    )


def test_weight_two_is_twice_the_cost():
    X, _ = problem(3, n=6)
    once = [PreferenceGraph(5, [(0, 1), (2, 1)])] * 6 + [
        PreferenceGraph(5, [(0, 1)])
    ] * 6
    doubled = [PreferenceGraph(5, [(0, 1, 2.0), (2, 1)])] * 6
    a = PreferenceRanker("dis", tol=1e-6).fit(np.vstack([X, X]), once)
    b = PreferenceRanker("dis", tol=1e-6).fit(X, doubled)
    assert np.allclose(a.coef_, b.coef_, atol=1e-3)


@pytest.mark.compiled_only
def test_relabelling_permutes_the_answer():
    X, Y = problem(4)
    order = np.array([3, 1, 4, 0, 2])
    plain = PreferenceRanker(tol=1e-7, max_iter=5000).fit(X, Y)
    moved = PreferenceRanker(tol=1e-7, max_iter=5000).fit(X, Y[:, order])
    assert np.allclose(moved.coef_, plain.coef_[order], atol=5e-3)


def test_two_labels_are_a_binary_svm():
    """One label over the other: w_0 − w_1 is the SVM's vector, with C doubled."""
    from sklearn.svm import LinearSVC

    X, _ = problem(5)
    y = (X[:, 0] + 0.3 * X[:, 1] > 0).astype(int)
    Y = np.column_stack([1 - y, y])
    ours = PreferenceRanker("dom", C=0.5, tol=1e-7, max_iter=9000).fit(X, Y)
    theirs = LinearSVC(
        C=1.0, loss="hinge", fit_intercept=False, tol=1e-10, max_iter=100_000
    ).fit(X, y)
    difference = ours.coef_[1] - ours.coef_[0]
    assert np.allclose(difference, theirs.coef_.ravel(), atol=5e-3)


def test_small_balanced_costs_rank_as_means_do():
    """With every dual at its bound, w_r is a mean of documents: Rocchio's direction."""
    rng = np.random.default_rng(6)
    X = np.abs(rng.standard_normal((60, 12))) * (rng.random((60, 12)) < 0.4)
    X[:, :4] += 2 * np.eye(4)[np.arange(60) % 4]
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    Y = np.eye(4)[np.arange(60) % 4]
    tiny = PreferenceRanker("svm", C=1e-4, class_weight="balanced").fit(X, Y)
    for r in range(4):
        mean = X[Y[:, r] == 1].mean(axis=0) - X[Y[:, r] == 0].mean(axis=0)
        cosine = (
            mean @ tiny.coef_[r] / np.linalg.norm(mean) / np.linalg.norm(tiny.coef_[r])
        )
        assert cosine > 0.999
    agree = tiny.rank(X)[:, 0] == Rocchio().fit(X, Y).rank(X)[:, 0]
    assert agree.mean() > 0.9


def test_svm_ranks_by_distance_to_the_thresholds():
    X, Y = problem(7)
    ranker = PreferenceRanker("svm").fit(X, Y)
    assert np.allclose(
        ranker.decision_function(X), X @ ranker.coef_.T - ranker.thresholds_
    )


def test_scikit_learn_may_clone_and_search_it():
    X, Y = problem(8)
    assert clone(PreferenceRanker(C=3.0)).get_params()["C"] == 3.0
    grid = GridSearchCV(PreferenceRanker(), {"C": [0.01, 1.0]}, cv=3).fit(X, Y)
    assert grid.best_params_["C"] in (0.01, 1.0)


@pytest.mark.parametrize(
    ("parameters", "said"),
    [
        ({"loss": "best"}, "dom-dme"),
        ({"C": 0}, "C is 0"),
        ({"tol": -1}, "tol is -1"),
        ({"class_weight": "fair"}, "balanced"),
        ({"n_jobs": 0}, "n_jobs"),
    ],
)
def test_bad_parameters_are_named(parameters, said):
    with pytest.raises(Mistake, match=said):
        PreferenceRanker(**parameters).fit(*problem())


def test_svm_needs_labels_not_edges():
    with pytest.raises(Mistake, match="thresholds"):
        PreferenceRanker("svm").fit([[1.0]], [PreferenceGraph(2, [(0, 1)])])


@pytest.mark.parametrize("loss", ["dom", "svm"])
def test_the_linear_kernel_is_the_linear_ranker(loss):
    X, Y = problem(9, n=25)
    plain = PreferenceRanker(loss, 1.0, tol=1e-6).fit(X, Y)
    through = PreferenceRanker(loss, 1.0, tol=1e-6, kernel="linear").fit(X, Y)
    assert through.objective_ == pytest.approx(plain.objective_, rel=1e-5)
    other = np.random.default_rng(0).standard_normal((5, 8))
    assert np.allclose(
        through.decision_function(other), plain.decision_function(other), atol=2e-2
    )


def test_kernels_find_what_no_line_can():
    """Which of two labels is the sign of a product: only a kernel can rank that."""
    X = np.random.default_rng(1).choice([-1.0, 1.0], (60, 2))
    Y = np.eye(2)[(X[:, 0] * X[:, 1] > 0).astype(int)]
    for kernel in ("polynomial", "rbf", lambda A, B: (A @ B.T).toarray() ** 2):
        ranker = PreferenceRanker(C=10.0, kernel=kernel).fit(X, Y)
        assert (ranker.rank(X)[:, 0] == Y.argmax(axis=1)).all()
    assert PreferenceRanker(C=10.0).fit(X, Y).score(X, Y) < 1.0


def test_kernels_that_are_none_are_told():
    X, Y = problem(10, n=6)
    with pytest.raises(Mistake, match="'cubic' is not known"):
        PreferenceRanker(kernel="cubic").fit(X, Y)
    with pytest.raises(Mistake, match="positive semi-definite"):
        PreferenceRanker(kernel=lambda A, B: -(A @ B.T).toarray()).fit(X, Y)
    with pytest.raises(Mistake, match="not symmetric"):
        PreferenceRanker(kernel=lambda *_: np.triu(np.ones((6, 6)))).fit(X, Y)
    with pytest.raises(Mistake, match="no parts by feature"):
        PreferenceRanker(kernel="rbf").fit(X, Y).evidence(X[:1], 0)


@pytest.mark.compiled_only
def test_a_path_reaches_the_optimum_of_each_cost():
    X, Y = problem(11)
    rankers = list(PreferenceRanker(tol=1e-4).path(X, Y, [1.0, 0.1, 10.0]))
    assert [ranker.C for ranker in rankers] == [0.1, 1.0, 10.0]
    for ranker in rankers:
        alone = PreferenceRanker(C=ranker.C, tol=1e-4).fit(X, Y)
        assert ranker.objective_ == pytest.approx(alone.objective_, rel=3e-4)
    assert sum(ranker.n_iter_ for ranker in rankers) > 0
