"""Spherical k-means: the sum of cosines never falls, and is as good as known ones."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_matrix
from sklearn.base import clone
from sklearn.cluster import KMeans
from sklearn.metrics import adjusted_rand_score
from sklearn.preprocessing import normalize

from classmark.clusters import kmeans
from classmark.clusters.kmeans import Met, SphericalKMeans, filled
from classmark.datasets.library import library_records
from classmark.problems import Mistake
from classmark.weighting.vectorizer import Vectorizer
from clusters.texts import topics


def sum_of_cosines(X, labels):
    unit = normalize(X).toarray()
    return sum(np.linalg.norm(unit[labels == c].sum(axis=0)) for c in np.unique(labels))


@given(st.integers(0, 2**32 - 1))
def test_the_sum_never_falls_and_is_that_of_the_labels(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 40))
    X = csr_matrix(rng.random((n, 15)) * (rng.random((n, 15)) < 0.3))
    k = int(rng.integers(1, n + 1))
    model = SphericalKMeans(k, n_init=1, random_state=seed, tol=0.0).fit(X)
    assert (np.diff(model.trace_) >= -1e-9).all()
    assert model.objective_ == pytest.approx(sum_of_cosines(X, model.labels_))
    assert set(model.labels_.tolist()) == set(range(k))


def test_topics_are_found_and_kept_by_predict():
    X, own = topics()
    model = SphericalKMeans(4).fit(X)
    assert adjusted_rand_score(own, model.labels_) == 1.0
    assert (model.predict(3.0 * X) == model.labels_).all()
    lengths = np.sqrt(model.cluster_centers_.multiply(model.cluster_centers_).sum(1))
    assert np.allclose(lengths, 1.0)
    assert model.cluster_centers_.shape == (4, 60)


@pytest.mark.parametrize("k", [3, 7])
def test_as_good_as_kmeans_on_unit_rows(k):
    X, _ = topics(seed=3)
    ours = SphericalKMeans(k, n_init=10).fit(X)
    theirs = KMeans(k, n_init=10, random_state=0).fit(normalize(X))
    assert ours.objective_ >= 0.99 * sum_of_cosines(X, theirs.labels_)


def test_beside_kmeans_on_the_library():
    records = list(library_records())
    own = [next(iter(record.labels)) for record in records]
    X = Vectorizer(weighting="log-tfidf").fit_transform(
        r.document.text for r in records
    )
    k = len(set(own))
    ours = [SphericalKMeans(k, n_init=1, random_state=s).fit(X) for s in range(3)]
    theirs = [KMeans(k, n_init=1, random_state=s).fit(X) for s in range(3)]
    sums = [
        np.mean([sum_of_cosines(X, m.labels_) for m in ms]) for ms in (ours, theirs)
    ]
    assert sums[0] >= 0.99 * sums[1]
    rand = [
        np.mean([adjusted_rand_score(own, m.labels_) for m in ms])
        for ms in (ours, theirs)
    ]
    assert rand[0] >= rand[1] - 0.05


def test_blocks_of_centres_make_no_difference(monkeypatch):
    X, _ = topics()
    whole = SphericalKMeans(7).fit(X)
    monkeypatch.setattr(kmeans, "BLOCK", 3)
    parts = SphericalKMeans(7).fit(X)
    assert parts.labels_.tolist() == whole.labels_.tolist()


def test_an_empty_cluster_takes_what_fits_least():
    met = Met(np.array([0, 0, 0]), np.array([0.9, 0.2, 0.5]), np.zeros(3))
    assert filled(met, 2).tolist() == [0, 1, 0]
    assert filled(met, 3).tolist() == [0, 1, 2]


def test_more_clusters_than_different_documents():
    X = np.array([[1.0, 0.0]] * 4 + [[0.0, 0.0]])
    model = SphericalKMeans(3, n_init=1).fit(X)
    assert len(set(model.labels_.tolist())) == 3
    assert model.objective_ == pytest.approx(4.0)


def test_single_precision_and_the_same_seed_give_the_same():
    X, own = topics()
    single = SphericalKMeans(4).fit(X.astype(np.float32))
    assert adjusted_rand_score(own, single.labels_) == 1.0
    again = clone(single).fit(X.astype(np.float32))
    assert again.labels_.tolist() == single.labels_.tolist()


@pytest.mark.parametrize(
    ("model", "said"),
    [
        (SphericalKMeans(9), "n_clusters is 9 for 3 documents"),
        (SphericalKMeans(0), "n_clusters is 0"),
        (SphericalKMeans(2, n_init=0), "n_init is 0"),
        (SphericalKMeans(2, max_iter=0), "max_iter is 0"),
    ],
)
def test_what_cannot_be_is_refused(model, said):
    with pytest.raises(Mistake, match=said):
        model.fit(np.eye(3))


def test_no_documents_and_other_features_are_refused():
    with pytest.raises(Mistake, match=r"0 sample\(s\)"):
        SphericalKMeans(1).fit(np.empty((0, 3)))
    with pytest.raises(Mistake, match="not fitted"):
        SphericalKMeans(1).predict(np.eye(3))
    with pytest.raises(Mistake, match="X has 2 features"):
        SphericalKMeans(1).fit(np.eye(3)).predict(np.eye(2))
