import numpy as np
import pytest
from scipy import sparse
from sklearn import metrics

from classmark.measures import (
    accuracy_bound,
    classification,
    contingency,
    hierarchical_f,
    tree_induced_error,
)
from classmark.problems import Mistake
from classmark.taxonomy import Taxonomy

PEERS = {
    "F1": metrics.f1_score,
    "Precision": metrics.precision_score,
    "Recall": metrics.recall_score,
}


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("average", ["micro", "macro"])
@pytest.mark.parametrize("name", PEERS)
def test_one_label_a_document_equals_scikit_learn(name, average, seed):
    rng = np.random.default_rng(seed)
    truth, predicted = rng.integers(0, 9, size=(2, 60)) ** 2 // 6
    expected = PEERS[name](truth, predicted, average=average, zero_division=0)
    asked = f"{name}({average})"
    assert classification(truth, predicted)[asked] == pytest.approx(expected)
    lists = truth.tolist(), [[label] for label in predicted.tolist()]
    assert classification(*lists)[asked] == pytest.approx(expected)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("average", ["micro", "macro"])
@pytest.mark.parametrize("name", PEERS)
def test_many_labels_equal_scikit_learn(name, average, seed):
    rng = np.random.default_rng(seed)
    truth, predicted = (rng.random((2, 30, 6)) < 0.3).astype(int)
    truth[:, 4] = predicted[:, 4] = 0  # occurs nowhere: left out of the mean
    labels = [0, 1, 2, 3, 5]
    expected = PEERS[name](
        truth, predicted, labels=labels, average=average, zero_division=0
    )
    result = classification(truth, sparse.csr_array(predicted))
    assert result[f"{name}({average})"] == pytest.approx(expected)
    assert result["Accuracy"] == metrics.accuracy_score(truth, predicted)
    assert result["Detected"] == 5


def test_counts():
    counts = contingency([[0, 1], [], [2]], [[1], [], [0, 2]], n_labels=4)
    assert counts.right.tolist() == [0, 1, 1, 0]
    assert counts.assigned.tolist() == [1, 1, 1, 0]
    assert counts.wanted.tolist() == [1, 1, 1, 0]
    assert counts.exact.tolist() == [False, True, False]


def test_the_accuracy_bound_bounds_the_accuracy():
    rng = np.random.default_rng(0)
    for _ in range(50):
        truth, predicted = rng.integers(0, 6, size=(2, 40))
        priors = np.bincount(truth, minlength=6) / 40
        counts = np.bincount(predicted, minlength=6)
        accuracy = np.mean(truth == predicted)
        assert accuracy <= accuracy_bound(priors, counts) + 1e-12 <= 1 + 1e-12
    assert accuracy_bound(priors, 40 * priors) == pytest.approx(1)
    assert accuracy_bound([0.5, 0.3, 0.2], [10, 0, 0]) == pytest.approx(0.5)


def test_mistakes_are_named():
    with pytest.raises(Mistake, match="predicted has 1 documents, truth 2"):
        classification([0, 1], [0])
    with pytest.raises(Mistake, match="truth holds no document"):
        classification([], [])
    with pytest.raises(Mistake, match=r"priors add up to 0\.9"):
        accuracy_bound([0.5, 0.4], [1, 1])
    with pytest.raises(Mistake, match="one number a label in both"):
        accuracy_bound([0.5, 0.5], [1, 1, 1])
    with pytest.raises(Mistake, match="how often each label was predicted"):
        accuracy_bound([0.5, 0.5], [0, 0])


TREE = [("all", "life"), ("all", "arts"), ("life", "bees"), ("life", "ants")]
TREE += [("arts", "music"), ("all", "maps")]


def paths(tree, *, root):
    """For each leaf the numbers of the nodes on its path."""
    return [
        [tree.number(node) for node in tree.path(leaf)][0 if root else 1 :]
        for leaf in tree.leaves
    ]


def test_tree_error_is_the_path_length():
    tree = Taxonomy(TREE)
    truth, predicted = np.random.default_rng(0).integers(0, 4, size=(2, 50))
    expected = np.mean(
        [
            tree.distance(tree.leaves[u], tree.leaves[v])
            for u, v in zip(truth, predicted, strict=True)
        ]
    )
    for root in (True, False):
        error = tree_induced_error(truth, predicted, paths(tree, root=root))
        assert error == pytest.approx(expected)


def test_hierarchical_f_counts_the_nodes_of_the_paths():
    tree = Taxonomy(TREE)
    bees, ants, music, maps = (
        tree.leaves.index(name) for name in ("bees", "ants", "music", "maps")
    )
    above = paths(tree, root=False)
    result = hierarchical_f(
        [bees, bees, bees, music], [ants, music, maps, music], above
    )
    assert result == pytest.approx({"precision": 3 / 7, "recall": 3 / 8, "f1": 6 / 15})
    several = hierarchical_f([[bees, ants]], [[bees]], above)
    assert several == pytest.approx({"precision": 1, "recall": 2 / 3, "f1": 0.8})


def test_hierarchical_mistakes_are_named():
    with pytest.raises(Mistake, match="ancestors has 1 rows, but label 1 occurs"):
        hierarchical_f([0], [1], [[0]])
    with pytest.raises(Mistake, match="give the same documents"):
        hierarchical_f([0], [0, 0], [[0]])
    with pytest.raises(Mistake, match="one label index a document"):
        tree_induced_error([[0, 1]], [[0]], [[0], [1]])
