"""Laws of going down: whatever the tree, the documents and the labels."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from classmark.hierarchies.top_down import TopDownClassifier
from classmark.taxonomy.tree import Taxonomy


@st.composite
def collections(draw):
    """Draw a tree or graph, documents, and labels at leaves and inner nodes."""
    rng = np.random.default_rng(draw(st.integers(0, 10_000)))
    size = draw(st.integers(3, 14))
    edges = [(int(rng.integers(0, max(1, v // 2))), v) for v in range(1, size)]
    if draw(st.booleans()):
        more = [(int(rng.integers(0, v)), v) for v in range(2, size)]
        edges += more[: draw(st.integers(0, 3))]
    n = draw(st.integers(2, 25))
    y = [rng.integers(0, size, rng.integers(1, 3)).tolist() for _ in range(n)]
    X = np.round(rng.random((n, 8)) * (rng.random((n, 8)) < 0.6), 2)
    return Taxonomy(edges), X, y


BASES = st.sampled_from(["svm", "logistic", "naive-bayes"])


@given(collections(), BASES)
def test_a_ranking_is_every_leaf_once_by_probability(collection, base):
    tree, X, y = collection
    model = TopDownClassifier(tree, base, n_jobs=1).fit(X, y)
    scores = model.decision_function(X)
    for line, row in zip(model.rank(X), scores, strict=True):
        place = [model.classes_.index(label) for label in line]
        assert sorted(place) == list(range(len(model.classes_)))
        ranked = row[place]
        assert (ranked[1:] <= ranked[:-1]).all()


@given(collections(), BASES, st.integers(1, 6))
def test_the_first_few_are_the_head_of_the_ranking(collection, base, top):
    tree, X, y = collection
    model = TopDownClassifier(tree, base, beam=None, n_jobs=1).fit(X, y)
    ranked = model.rank(X)
    assert model.rank(X, k=top) == [line[:top] for line in ranked]
    assert model.predict(X) == [line[0] for line in ranked]
    assert model.set_params(beam=30).predict(X) == [line[0] for line in ranked]


@given(collections(), BASES)
def test_categories_with_documents_come_before_those_without(collection, base):
    tree, X, y = collection
    model = TopDownClassifier(tree, base, n_jobs=1).fit(X, y)
    known = np.flatnonzero(model.places_.sizes)
    seen = {model.classes_[at] for at in known}
    for line in model.rank(X):
        assert set(line[: len(seen)]) == seen


@given(collections(), st.sampled_from([1.0, 8.0, 100.0]))
def test_a_greedy_descent_does_not_see_the_scale(collection, scale):
    tree, X, y = collection
    model = TopDownClassifier(tree, n_jobs=1).fit(X, y)
    found = model.predict(X)
    assert model.set_params(scale=scale).predict(X) == found
    margins = model.margins(X)
    for i, label in enumerate(found):
        assert margins[i].max() == margins[i, model.classes_.index(label)]
