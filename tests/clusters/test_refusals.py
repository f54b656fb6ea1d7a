"""What clusters refuse, in one line that names the remedy."""

import numpy as np
import pytest

from classmark.clusters.agglomerative import Agglomerative, near_duplicates
from classmark.clusters.kmeans import (
    SoftMixture,
    SphericalKMeans,
    choose_n_clusters,
    name_clusters,
)
from classmark.problems import Mistake

X = np.eye(4)


@pytest.mark.parametrize(
    ("model", "what"),
    [
        (SphericalKMeans("2"), "n_clusters is '2' for 4 documents: give a whole"),
        (SphericalKMeans(2.5), "n_clusters is 2.5 for 4 documents: give a whole"),
        (SphericalKMeans(None), "n_clusters is None for 4 documents: give a whole"),
        (SphericalKMeans(True), "n_clusters is True for 4 documents: give a whole"),
        (SphericalKMeans(2, n_init="2"), "n_init is '2': give a whole number"),
        (SphericalKMeans(2, tol="2"), "tol is '2': give a number"),
        (SoftMixture("2"), "n_components is '2' for 4 documents: give a whole"),
        (SoftMixture(2, max_iter=2.5), "max_iter is 2.5: give a whole number"),
        (SoftMixture(2, alpha="2"), "alpha is '2': give a number"),
        (SoftMixture(2, scale="2"), "scale is '2': give a number, or None"),
        (Agglomerative("2"), "n_clusters is '2': give a whole number"),
        (Agglomerative(threshold="2"), "threshold is '2': give a number"),
        (Agglomerative(2, limit="2"), "limit is '2': give a whole number"),
        (Agglomerative(2, micro="2"), "micro is '2': give a whole number"),
    ],
)
def test_parameters_that_are_no_numbers(model, what):
    with pytest.raises(Mistake, match=what):
        model.fit(X)


@pytest.mark.parametrize("candidates", [3, ["x"], "23", [2.5], [], [1]])
def test_candidates_are_a_list_of_whole_numbers(candidates):
    with pytest.raises(
        Mistake, match=r"candidates are .* give a list of whole numbers"
    ):
        choose_n_clusters(X, candidates)


def test_labels_names_and_thresholds():
    for labels in (list("abcd"), [0, 1, 1, -1]):
        with pytest.raises(Mistake, match="labels are to be whole numbers from 0"):
            name_clusters(X, labels, list("abcd"))
    with pytest.raises(Mistake, match="k is '2'"):
        name_clusters(X, [0, 1, 1, 1], list("abcd"), k="2")
    with pytest.raises(Mistake, match=r"threshold is '0\.5'"):
        near_duplicates(X, "0.5")


def test_scores_are_those_of_the_documents_fitted():
    rows = np.random.default_rng(0).random((20, 6))
    means = SphericalKMeans(3).fit(rows)
    assert means.score(rows) == pytest.approx(means.objective_)
    assert means.score(rows[:5]) < means.score(rows)
    soft = SoftMixture(3, alpha=0.01).fit(rows)
    prior = 0.01 * soft.log_terms_.sum()
    assert 20 * soft.score(rows) == pytest.approx(soft.log_posterior_ - prior)
