"""Clusters and near-duplicates of rows that have words and meaning."""

import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score

import classmark as cm
from classmark.clusters.agglomerative import Agglomerative, near_duplicates
from classmark.clusters.kmeans import SphericalKMeans, name_clusters
from oracles import clusters as slow

BEES = ["a hive hums", "honeycomb and wax", "the apiary", "queen swarm"]
ROADS = ["asphalt", "the lorry stops", "crossing lights", "a paved lane"]
TEXTS = BEES + ROADS
TOPICS = [0] * len(BEES) + [1] * len(ROADS)


class Subjects:
    """Two numbers of a text: about bees or about roads."""

    def encode(self, texts):
        return [[1.0, 0.1] if text in BEES else [0.1, 1.0] for text in texts]


def rows(weight=1.0):
    vectorizer = cm.Vectorizer(meaning=Subjects(), meaning_weight=weight)
    return vectorizer.fit_transform(TEXTS), vectorizer.get_feature_names_out()


@pytest.mark.parametrize(
    "model", [SphericalKMeans(2), Agglomerative(2)], ids=["k-means", "agglomerative"]
)
def test_texts_without_a_word_in_common_are_clustered_by_meaning(model):
    X, _ = rows()
    assert adjusted_rand_score(model.fit_predict(X), TOPICS) == 1.0
    words = cm.Vectorizer().fit_transform(TEXTS)
    assert (words @ words.T).toarray() == pytest.approx(np.eye(len(TEXTS)), abs=1e-6)


def test_clusters_are_named_by_words_alone():
    X, names = rows()
    named = name_clusters(X, np.array(TOPICS), names)
    assert all(named)
    assert not any("meaning" in term for terms in named for term in terms)
    words = {
        term for text in BEES for term in cm.Vectorizer().fit([text]).vocabulary_.terms
    }
    assert set(named[0]) <= words


@pytest.mark.parametrize("threshold", [0.3, 0.45, 0.9])
@pytest.mark.parametrize("seed", range(5))
def test_near_duplicates_over_both_are_those_of_brute_force(seed, threshold):
    chance = np.random.default_rng(seed)
    words = chance.poisson(0.4, (40, 12)).astype(float)
    words[20:] = words[chance.integers(0, 20, 20)]
    meaning = chance.normal(size=(40, 5))
    X = np.hstack([words, meaning])
    unit = X / np.linalg.norm(X, axis=1, keepdims=True)
    expected = np.arange(len(X))
    slow.link(unit, threshold, expected)
    assert adjusted_rand_score(near_duplicates(X, threshold), expected) == 1.0


def test_the_same_words_of_another_meaning_are_no_duplicates():
    X = np.array([[1.0, 0.0, 1.0], [1.0, 0.0, -1.0], [1.0, 0.0, 1.0]])
    assert near_duplicates(X[:, :2]).tolist() == [0, 0, 0]
    assert near_duplicates(X).tolist() == [0, 1, 0]
