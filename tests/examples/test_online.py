"""Queries by examples over an index: the same as over its vectors."""

import numpy as np
import pytest

from classmark import ExampleQuery, Index, Vectorizer
from classmark.examples.query import Online
from classmark.index.vectors import mean_vector, vectors_of
from classmark.problems import Mistake

WORDS = [f"word{i}" for i in range(60)]


@pytest.fixture(scope="module")
def texts():
    """Documents of two topics and of none."""
    rng = np.random.default_rng(1)
    said = {}
    for number in range(120):
        topic = WORDS[:6] if number < 15 else WORDS[6:12] if number < 40 else WORDS
        own = [*rng.choice(topic, 5), *rng.choice(WORDS, 10)]
        said[f"d{number}"] = " ".join(own)
    return said


@pytest.fixture(scope="module")
def index(texts, tmp_path_factory):
    """An index of them, some deleted."""
    folder = tmp_path_factory.mktemp("index")
    made = Index.build(folder, [*texts.items(), ("gone", "word1 word2")])
    made.delete(["gone"])
    return made.commit()


def test_vectors_and_their_mean_are_the_vectorizers(texts, index):
    vectorizer = Vectorizer(index.analyzer, "tfidf")
    X = vectorizer.fit_transform(texts.values()).toarray()
    field = next(iter(index.searcher.fields.values()))
    column = [field.field.number(term) for term in vectorizer.get_feature_names_out()]
    numbers = [index.number("d7"), index.number("d3"), index.number("d7")]
    ours = vectors_of(field, numbers).to_scipy().toarray()[:, column]
    assert np.allclose(ours, X[[7, 3, 7]])
    assert np.allclose(mean_vector(field)[column], X.mean(axis=0))


@pytest.mark.parametrize("method", ["auto", "rocchio", "centroid", "one-class"])
def test_what_is_found_is_what_the_whole_query_ranks_first(texts, index, method):
    vectorizer = Vectorizer(index.analyzer, "tfidf")
    X = vectorizer.fit_transform(texts.values())
    query = ExampleQuery(method).fit(X[:3], mean=np.asarray(X.mean(axis=0)).ravel())
    scores = query.decision_function(X)
    wanted = [f"d{i}" for i in np.argsort(-scores, kind="stable") if i > 2][:10]
    found = Online(index).find(["d0", "d1", "d2"], k=10, method=method)
    assert found.ids == wanted
    assert np.allclose(found.scores, np.sort(scores[3:])[::-1][:10])
    assert sum(int(name[1:]) < 15 for name in found.ids) >= 8


def test_rejected_documents_push_their_words_down(index):
    plain = Online(index).find(["d0"], k=30)
    told = Online(index).find(["d0"], k=30, rejected=[plain.ids[5]])
    assert plain.ids[5] not in told.ids
    assert told.weights != plain.weights


def test_a_cut_query_has_so_many_terms(index):
    assert len(Online(index).find(["d0", "d1"], terms=4).weights) == 4


def test_mistakes_are_named(index):
    with pytest.raises(Mistake, match="'nobody' is not in the index"):
        Online(index).find(["nobody"])
    with pytest.raises(Mistake, match="balanced reads the whole collection"):
        Online(index).find(["d0"], method="balanced")
    with pytest.raises(Mistake, match="at least one example"):
        Online(index).find([])
