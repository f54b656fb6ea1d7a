"""Merging equals scipy's linkage; large collections go by way of small clusters."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.cluster.hierarchy import fcluster, linkage
from sklearn.metrics import adjusted_rand_score
from sklearn.preprocessing import normalize

from classmark.clusters.agglomerative import Agglomerative, merged
from classmark.clusters.kmeans import unit_rows
from classmark.problems import Mistake
from clusters.texts import topics

LINKAGES = st.sampled_from(["average", "ward"])


def by_scipy(X, how):
    unit = normalize(X)
    unit = unit.toarray() if hasattr(unit, "toarray") else unit
    metric = "cosine" if how == "average" else "euclidean"
    return linkage(unit, how, metric)


@given(st.integers(0, 2**32 - 1), LINKAGES)
def test_trees_and_cuts_are_scipys(seed, how):
    rng = np.random.default_rng(seed)
    X = rng.random((int(rng.integers(2, 40)), 8)) + 0.01
    theirs = by_scipy(X, how)
    model = Agglomerative(1, linkage=how).fit(X)
    assert np.allclose(model.tree_.heights, theirs[:, 2])
    assert (model.tree_.pairs == theirs[:, :2]).all()
    k = int(rng.integers(1, len(X) + 1))
    expected = fcluster(theirs, k, "maxclust")
    assert adjusted_rand_score(model.tree_.cut(k), expected) == 1.0
    height = float(rng.choice(theirs[:, 2])) + 1e-9
    cut = model.tree_.cut_at(height)
    expected = fcluster(theirs, height, "distance")
    assert adjusted_rand_score(cut, expected) == 1.0


@pytest.mark.parametrize("how", ["average", "ward"])
def test_text_heights_are_scipys(how):
    X, own = topics()
    model = Agglomerative(4, linkage=how).fit(X)
    assert np.allclose(model.tree_.heights, by_scipy(X, how)[:, 2])
    if how == "ward":
        assert adjusted_rand_score(own, model.labels_) > 0.9


@pytest.mark.parametrize("how", ["average", "ward"])
def test_groups_merge_as_their_documents_would(how):
    """Whoever begins with the groups of a cut goes on as the whole tree does."""
    X, _ = topics(n=60)
    rows = unit_rows(X).rows
    whole = merged(rows, np.arange(60), how)
    parts = merged(rows, whole.cut(10), how)
    assert np.allclose(parts.heights, whole.heights[-9:])
    assert parts.sizes.sum() == 60


def test_many_documents_become_small_clusters_first():
    X, own = topics(n=200)
    model = Agglomerative(4, limit=100, micro=20).fit(X)
    assert len(model.tree_) == 20
    assert adjusted_rand_score(own, model.labels_) > 0.9


def test_labels_are_numbered_as_they_appear_and_by_height():
    X = np.array([[0.0, 1.0], [1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
    model = Agglomerative(threshold=0.1, linkage="average").fit(X)
    assert model.labels_.tolist() == [0, 1, 0, 2]
    assert Agglomerative(1).fit(X[:1]).labels_.tolist() == [0]


@pytest.mark.parametrize(
    ("model", "said"),
    [
        (Agglomerative(2, threshold=0.5), "give n_clusters or threshold"),
        (Agglomerative(2, linkage="single"), "linkage is 'single'"),
        (Agglomerative(2, limit=2, micro=None), "X has 3 documents, and"),
        (Agglomerative(2, limit=2, micro=9), "micro is 9 for 3 documents"),
        (Agglomerative(4), "n_clusters is 4 for 3 documents"),
        (Agglomerative(threshold=-1.0), "height is -1.0"),
    ],
)
def test_what_cannot_be_is_refused(model, said):
    with pytest.raises(Mistake, match=said):
        model.fit(np.eye(3))
