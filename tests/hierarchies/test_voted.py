"""Votes in service say what the re-ranker says."""

import numpy as np
import pytest

from classmark.arrays import rows_from
from classmark.hierarchies.rerank import RareCategoryReranker, VotedRanker, Votes
from classmark.preferences.labels import labels_from
from classmark.problems import Mistake
from classmark.rankers.calibration import fitted_scale
from classmark.rankers.linear import Rocchio


@pytest.fixture
def drawn():
    rng = np.random.default_rng(5)
    y = rng.choice(4, size=200, p=[0.7, 0.2, 0.07, 0.03])
    X = rng.random((200, 12)) * (rng.random((200, 12)) < 0.6)
    X[np.arange(200), y] += 0.4
    return X, y


def votes_of(X, y, ranker):
    rows, labels = rows_from(X), labels_from(y, len(y), 4)
    scores = ranker.decision_function(X)
    return Votes(rows, labels, fitted_scale(scores, labels))


def test_close_calls_are_turned_as_the_reranker_turns_them(drawn):
    X, y = drawn
    reranker = RareCategoryReranker(Rocchio(), delta=0.1, ratio=2.0).fit(X, y)
    base = reranker.base_
    votes = votes_of(X, y, base)
    same = Votes(votes.rows, votes.labels, reranker.scale_)
    order = [reranker.classes_.tolist().index(label) for label in range(4)]
    numbers = np.argsort(order)
    turned = VotedRanker(base, same, numbers).decision_function(X)
    before = base.decision_function(X)
    changed = (turned != before).any(axis=1)
    assert 0 < changed.sum() < 100
    assert np.array_equal(np.sort(turned, axis=1), np.sort(before, axis=1))
    sizes = same.sizes[numbers]
    first, second = before.argmax(axis=1), turned.argmax(axis=1)
    assert (sizes[first[changed]] >= 2 * sizes[second[changed]]).all()


def test_categories_that_came_later_are_not_voted_on(drawn):
    X, y = drawn
    base = Rocchio().fit(X, labels_from(y, 200, 4))
    votes = votes_of(X, y, base)
    unknown = VotedRanker(base, votes, [-1] * 4)
    assert np.array_equal(unknown.decision_function(X), base.decision_function(X))


def test_kept_votes_are_the_same(drawn):
    X, y = drawn
    base = Rocchio().fit(X, labels_from(y, 200, 4))
    votes = votes_of(X, y, base)
    again = Votes.from_arrays(*votes.to_arrays())
    found = [
        VotedRanker(base, one, range(4)).decision_function(X) for one in (votes, again)
    ]
    assert np.array_equal(*found)
    evidence = VotedRanker(base, votes, range(4)).evidence(X[:1], 2)
    assert np.array_equal(evidence.parts, base.evidence(X[:1], 2).parts)


def test_it_is_not_to_be_fitted(drawn):
    X, y = drawn
    base = Rocchio().fit(X, labels_from(y, 200, 4))
    with pytest.raises(Mistake, match="fitted"):
        VotedRanker(base, votes_of(X, y, base), range(4)).fit(X, y)
    one = base.decision_function(X)[:, :1]
    votes = votes_of(X, y, base)
    assert votes.revoted(rows_from(X), one, np.array([0]))[0] is one
