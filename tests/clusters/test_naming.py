"""Clusters are named by what tells them apart; their number follows the texts."""

import numpy as np
import pytest
from sklearn.preprocessing import normalize

from classmark.clusters.kmeans import choose_n_clusters, name_clusters, silhouette
from classmark.problems import Mistake
from clusters.texts import topics


def test_names_are_the_terms_of_the_topic():
    X, own = topics()
    named = name_clusters(X, own, [f"t{c}" for c in range(60)], k=3)
    for topic, terms in enumerate(named):
        assert len(terms) == 3
        assert all(int(term[1:]) % 8 == topic for term in terms)


def test_the_weight_is_the_mean_here_less_the_mean_elsewhere():
    X, own = topics(n=30, k=3)
    unit = normalize(X).toarray()
    weights = unit[own == 1].mean(axis=0) - unit[own != 1].mean(axis=0)
    expected = np.argsort(-weights, kind="stable")[:5]
    named = name_clusters(X, own, [str(c) for c in range(60)])
    assert [int(term) for term in named[1]] == expected.tolist()


def test_one_cluster_is_named_by_its_mean_and_none_by_nothing():
    assert name_clusters([[1.0, 3.0]], [0], ["a", "b"], 1) == [("b",)]
    assert name_clusters([[1.0], [1.0]], [0, 2], ["a"]) == [(), (), ()]


@pytest.mark.parametrize(
    ("labels", "names", "top", "said"),
    [
        ([0], ["a", "b"], 1, "labels are 1 for 2"),
        ([0, 1], ["a"], 1, "feature_names are 1 for 2"),
        ([0, 1], ["a", "b"], 0, "k is 0"),
    ],
)
def test_names_that_cannot_be(labels, names, top, said):
    with pytest.raises(Mistake, match=said):
        name_clusters(np.eye(2), labels, names, top)


def test_silhouette_is_by_hand():
    X, own = topics(n=24, k=3)
    unit = normalize(X).toarray()
    each = []
    for i, x in enumerate(unit):
        rest = [unit[(own == c) & (np.arange(24) != i)].sum(axis=0) for c in range(3)]
        whole = [unit[own == c].sum(axis=0) for c in range(3)]
        near = 1 - x @ rest[own[i]] / np.linalg.norm(rest[own[i]])
        others = [1 - x @ w / np.linalg.norm(w) for w in np.delete(whole, own[i], 0)]
        each.append((min(others) - near) / max(near, min(others)))
    assert silhouette(X, own) == pytest.approx(np.mean(each))


def test_alone_counts_for_nothing():
    assert silhouette(np.eye(2), [0, 1]) == 0.0


@pytest.mark.parametrize("k", [3, 5])
def test_the_number_of_topics_is_found(k):
    X, _ = topics(n=150, k=k)
    assert choose_n_clusters(X) == k


def test_numbers_that_cannot_be():
    with pytest.raises(Mistake, match="candidates are"):
        choose_n_clusters(np.eye(3), [2, 4])
    with pytest.raises(Mistake, match="one cluster"):
        silhouette(np.eye(3), [1, 1, 1])
    with pytest.raises(Mistake, match="labels are 2 for 3"):
        silhouette(np.eye(3), [0, 1])
