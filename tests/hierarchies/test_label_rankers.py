"""Classifiers of the tree in the place of a linear ranker."""

import numpy as np
import pytest

from classmark.hierarchies.flat import FlatClassifier, NodeRanker
from classmark.hierarchies.top_down import TopDownClassifier, TopDownRanker
from classmark.problems import Mistake
from classmark.ranking import rank_of
from classmark.taxonomy.tree import Taxonomy
from classmark.workbench.learning.models import PresentRanker

TREE = Taxonomy(
    [("r", "a"), ("r", "b"), ("a", "a1"), ("a", "a2"), ("b", "b1"), ("b", "b2")]
)
NAMES = ["b2", "a", "a2", "b1", "a1"]  # an inner category among them, in any order


@pytest.fixture
def drawn():
    rng = np.random.default_rng(3)
    labels = [[int(label)] for label in rng.integers(5, size=60)]
    labels[7], labels[8] = [0, 2], []
    X = rng.random((60, 8)) * (rng.random((60, 8)) < 0.5)
    for row, own in zip(X, labels, strict=True):
        row[own] += 1.0
    return X, labels


@pytest.mark.parametrize("base", ["svm", "logistic", "naive-bayes"])
def test_scores_by_label_are_those_of_the_classifier_by_name(drawn, base):
    X, labels = drawn
    ranker = TopDownRanker(TREE, NAMES, base, n_jobs=1).fit(X, labels)
    known = [i for i, own in enumerate(labels) if own]
    named = [[NAMES[c] for c in labels[i]] for i in known]
    other = TopDownClassifier(TREE, base, n_jobs=1).fit(X[known], named)
    place = [other.classes_.index(name) for name in NAMES]
    assert np.array_equal(
        ranker.decision_function(X), other.decision_function(X)[:, place]
    )
    for row in X[:5, None]:
        best = ranker.best(row, 3)
        scores = ranker.decision_function(row)[0]
        assert [NAMES[label] for label, _ in best] == other.rank(row, 3)[0]
        assert [score for _, score in best] == pytest.approx(
            [scores[label] for label, _ in best]
        )
    parts = ranker.evidence(X[:1], 2).parts
    assert np.array_equal(parts, other.evidence(X[:1], "a2").parts)


def test_ranks_are_places_among_all_scores(drawn):
    X, labels = drawn
    few = [[c for c in own if c != 3] for own in labels]
    ranker = TopDownRanker(TREE, NAMES, n_jobs=1).fit(X, few)
    for row in X[:, None]:
        scores = ranker.decision_function(row)[0]
        standings = ranker.ranks(row, range(5))
        assert standings[3] is None  # no document has it
        for label in (0, 1, 2, 4):
            assert standings[label] == (rank_of(scores, label), scores[label])


def test_ranks_of_categories_merged_and_left_out_since(drawn):
    X, labels = drawn
    ranker = TopDownRanker(TREE, NAMES, n_jobs=1).fit(X, labels)
    present = PresentRanker(ranker, [[4], [2, 0], [1]])
    for row in X[:, None]:
        scores = present.decision_function(row)[0]
        expected = [(rank_of(scores, c), scores[c]) for c in range(3)]
        assert present.ranks(row, range(3)) == expected


def test_labels_may_be_fewer_than_leaves_and_more(drawn):
    X, labels = drawn
    few = [[0] if own else [] for own in labels]
    ranker = TopDownRanker(TREE, ["b2", "a"], n_jobs=1).fit(X, few)
    scores = ranker.decision_function(X)
    assert scores.shape == (60, 2)
    assert np.isneginf(scores[:, 1]).all()  # no document is at a itself
    assert np.isfinite(scores[:, 0]).all()
    assert [label for label, _ in ranker.best(X[:1], 5)] == [0]
    assert not len(ranker.evidence(X[:1], 1).parts)


def test_a_pruned_tree_keeps_every_label(drawn):
    X, labels = drawn
    chain = Taxonomy([*TREE.edges, ("r", "c"), ("c", "d"), ("d", "e")])
    ranker = TopDownRanker(chain, NAMES, prune="bound", n_jobs=1).fit(X, labels)
    assert {"c", "d"} <= set(ranker.pruned_)
    assert np.isfinite(ranker.decision_function(X)).all()
    assert ranker.classifier_.taxonomy.is_leaf("e")


def test_what_cannot_be_is_refused(drawn):
    X, _ = drawn
    with pytest.raises(Mistake, match="no document has a label"):
        TopDownRanker(TREE, NAMES).fit(X, [[]] * 60)
    with pytest.raises(Mistake, match="use classifier_"):
        _ = TopDownRanker(TREE, NAMES).coef_


@pytest.mark.parametrize("base", ["svm", "logistic", "naive-bayes"])
def test_one_node_over_all_labels_is_the_flat_classifier(drawn, base):
    X, labels = drawn
    single = [own[0] if own else 1 for own in labels]
    ranker = NodeRanker(base).fit(X, [[label] for label in single])
    other = FlatClassifier(base).fit(X, single)
    assert np.allclose(
        ranker.decision_function(X), other.decision_function(X), atol=0.05
    )
    assert ranker.kept_as == ("node", {"C": 1.0, "base": base})


def test_a_label_without_documents_is_last_and_spoils_no_scale(drawn):
    X, labels = drawn
    matrix = np.zeros((60, 6))
    for i, own in enumerate(labels):
        matrix[i, own] = 1.0
    scores = NodeRanker("logistic").fit(X, matrix).decision_function(X)
    assert (scores[:, 5] < scores[:, :5].min(axis=1)).all()
    assert scores.min() > -1e3


def test_a_leaf_without_documents_is_never_among_the_best(drawn):
    X, labels = drawn
    few = [[c for c in own if c != 4] for own in labels]
    ranker = TopDownRanker(TREE, NAMES, n_jobs=1).fit(X, few)
    found = ranker.best(X[:1], 5)
    assert sorted(label for label, _ in found) == [0, 1, 2, 3]
    assert min(score for _, score in found) > -1e3
    assert np.isneginf(ranker.decision_function(X)[:, 4]).all()
