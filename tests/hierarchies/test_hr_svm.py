"""HR-SVM, against the same problem as one large binary SVM."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.svm import LinearSVC

from classmark.hierarchies.flat import HierarchicalSVM
from classmark.problems import Mistake
from classmark.taxonomy.tree import Taxonomy

TREE = Taxonomy(
    [("r", "a"), ("r", "b"), ("a", 1), ("a", 2), ("b", 3), ("b", "c"), ("c", 4)]
)
FOREST = Taxonomy([("a", 1), ("a", 2), ("b", 3), ("b", 4)])


def _collection(n=40, features=8, seed=0):
    random = np.random.default_rng(seed)
    at = random.integers(4, size=n)
    X = random.normal(size=(4, features))[at] + 0.7 * random.normal(size=(n, features))
    return X / np.linalg.norm(X, axis=1, keepdims=True), (at + 1).tolist()


def _optimum(tree, X, y, C):
    """w_leaf = Σ u_v over its path: one SVM over (document, leaf), ½ Σ ‖u_v‖²."""
    above = [{leaf, *tree.ancestors(leaf)} | {"top"} for leaf in tree.leaves]
    nodes = sorted({v for path in above for v in path}, key=str)
    if len(tree.roots) == 1:
        nodes.remove("top")
    wide, signs = [], []
    constant = np.column_stack([X, np.ones(len(X))])
    for leaf, path in zip(tree.leaves, above, strict=True):
        wide.append(np.kron([float(v in path) for v in nodes], constant))
        signs += [1 if label == leaf else -1 for label in y]
    svm = LinearSVC(
        C=C, loss="hinge", fit_intercept=False, tol=1e-8, max_iter=10**6, random_state=0
    )
    rows = np.vstack(wide)
    u = svm.fit(rows, signs).coef_[0]
    short = np.maximum(0.0, 1.0 - np.array(signs) * (rows @ u))
    return 0.5 * u @ u + C * short.sum()


@pytest.mark.parametrize("tree", [TREE, FOREST])
@pytest.mark.parametrize("C", [0.1, 1.0])
def test_it_comes_to_the_optimum_of_the_whole_problem(tree, C):
    X, y = _collection()
    model = HierarchicalSVM(tree, C, max_iter=60, tol=1e-5).fit(X, y)
    best = _optimum(tree, X, y, C)
    assert best * (1 - 1e-3) <= model.objective_curve_[-1] <= best * (1 + 5e-3)


@pytest.mark.parametrize("threads", [1, 2])
def test_the_objective_falls_with_every_round(threads):
    X, y = _collection(n=60)
    model = HierarchicalSVM(TREE, 0.5, max_iter=12, tol=1e-9, n_jobs=threads).fit(X, y)
    assert len(model.objective_curve_) == model.n_iter_ > 3
    assert (np.diff(model.objective_curve_) <= 1e-12).all()


def test_categories_are_inner_nodes_several_or_without_documents():
    X = np.repeat(np.eye(3), 4, axis=0)
    y = [[1, 3]] * 4 + ["c"] * 4 + [2] * 4
    model = HierarchicalSVM(TREE, C=10.0).fit(X, y)
    assert model.predict(np.eye(3)[[1, 2]]) == ["c", 2]
    assert set(model.rank(np.eye(3), k=2)[0]) == {1, 3}
    assert sorted(map(str, model.classes_)) == ["1", "2", "3", "4", "c"]
    assert model.score(X, y) == 1.0


def test_scikit_learn_can_clone_it():
    assert clone(HierarchicalSVM(TREE, 3.0)).get_params()["C"] == 3.0


def test_mistakes_name_the_remedy():
    X, y = _collection()
    with pytest.raises(Mistake, match="max_iter is 0: give a whole number from 1"):
        HierarchicalSVM(TREE, max_iter=0).fit(X, y)
    with pytest.raises(Mistake, match=r"memory='0\.5kB': use a TopDown"):
        HierarchicalSVM(TREE, memory="0.5kB").fit(X, y)
    with pytest.raises(Mistake, match="X has 40 rows, y 1 entries"):
        HierarchicalSVM(TREE).fit(X, [1])
    with pytest.raises(Mistake, match="not a category of the taxonomy"):
        HierarchicalSVM(TREE).fit(X, [9] * 40)
