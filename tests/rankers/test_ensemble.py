"""Ensembles: one ranker that is the weighted sum of several, as preferences say."""

import numpy as np
import pytest

from classmark.arrays import rows_from, take
from classmark.datasets import load
from classmark.measures import category_ranking
from classmark.preferences.labels import labels_from
from classmark.problems import Mistake
from classmark.rankers.ensemble import (
    EnsembleRanker,
    preference_weights,
    scored_by_each,
)
from classmark.rankers.linear import LogLinearRanker, Rocchio
from classmark.rankers.preference import PreferenceRanker
from classmark.rankers.text_ranker import TextRanker
from classmark.weighting.vectorizer import Vectorizer


@pytest.fixture(scope="module")
def library():
    train, test = (getattr(load("library"), part) for part in ("train", "test"))
    vectorizer = Vectorizer().fit(train.texts)
    names = sorted(
        {label for part in (train, test) for y in part.labels for label in y}
    )
    number = {name: at for at, name in enumerate(names)}
    return [
        (
            vectorizer.transform(part.texts),
            labels_from(
                [[number[n] for n in y] for y in part.labels],
                len(part.texts),
                len(names),
            ),
        )
        for part in (train, test)
    ]


def members():
    return [PreferenceRanker(C=0.3), LogLinearRanker(C=30.0, solver="dual"), Rocchio()]


def precision(ranker, X, labels):
    return category_ranking(ranker.decision_function(X), labels)["average_precision"]


def test_an_ensemble_is_the_weighted_sum_of_its_rankers(library):
    (X, Y), (T, _) = library
    shares = [0.5, 0.0, 2.0]
    made = EnsembleRanker(members(), shares).fit(X, Y)
    by_hand = sum(
        share * ranker.fit(X, Y).decision_function(T)
        for share, ranker in zip(shares, members(), strict=True)
    )
    np.testing.assert_allclose(made.decision_function(T), by_hand, atol=1e-4)
    evidence = made.evidence(T[:1], 0)
    lead = by_hand[0, 0] - by_hand[0].mean()
    assert evidence.total == pytest.approx(lead, abs=1e-4)


def test_thresholds_of_rankers_are_summed_too(library):
    (X, Y), (T, _) = library
    rankers = [PreferenceRanker(C=0.3, prior=0.5), Rocchio()]
    made = EnsembleRanker(rankers, [2.0, 1.0]).fit(X, Y)
    assert made.thresholds_ is not None
    each = np.tensordot([2.0, 1.0], made.scores_of_each(T), 1)
    np.testing.assert_allclose(made.decision_function(T), each, atol=1e-4)


def test_shares_are_learned_on_documents_the_rankers_have_not_seen(library):
    (X, Y), (T, L) = library
    made = EnsembleRanker(members()).fit(X, Y)
    each = [precision(ranker, T, L) for ranker in made.rankers_]
    assert (made.shares_ >= 0).all()
    assert precision(made, T, L) >= max(each) - 0.01
    assert precision(made, T, L) > min(each)
    again = made.fresh()
    assert list(again.shares) == made.shares_.tolist()
    np.testing.assert_array_equal(again.fit(X, Y).shares_, made.shares_)


def test_a_ranker_that_guesses_counts_nothing(library):
    (X, Y), _ = library
    rows, half = rows_from(X), len(Y) // 2
    part = np.arange(half), np.arange(half, len(Y))
    (scores,) = scored_by_each(part, [Rocchio()], rows, Y)
    truth = take(Y, part[1])
    weights = preference_weights(np.stack([scores, -scores]), truth)
    assert weights[0] > 0
    assert weights[1] == 0
    no_use = preference_weights(-scores[np.newaxis], truth)
    assert no_use.tolist() == [0.0]


def test_weights_do_not_depend_on_the_units_of_scores(library):
    (X, Y), _ = library
    rows, half = rows_from(X), len(Y) // 2
    part = np.arange(half), np.arange(half, len(Y))
    scores = scored_by_each(part, [Rocchio(), members()[1]], rows, Y)
    truth = take(Y, part[1])
    once = preference_weights(scores, truth)
    scaled = preference_weights(scores * np.array([8.0, 0.25])[:, None, None], truth)
    np.testing.assert_allclose(scaled * [8.0, 0.25], once, rtol=1e-3, atol=1e-6)


def test_few_documents_count_each_ranker_by_its_deviation():
    X, y = np.eye(4), [[0], [1], [2], [3]]
    made = EnsembleRanker([Rocchio(), Rocchio(beta=32.0)]).fit(X, y)
    spread = made.scores_of_each(X).std(axis=(1, 2))
    np.testing.assert_allclose(made.shares_, 1 / spread)


def test_it_is_saved_as_one_ranker(tmp_path):
    train = load("library").train
    names = sorted({label for own in train.labels for label in own})
    numbers = [[names.index(label) for label in own] for own in train.labels]
    made = TextRanker.fit(
        Vectorizer(), EnsembleRanker(members()), train.texts, numbers, names
    )
    made.save(tmp_path / "model")
    opened = TextRanker.open(tmp_path / "model")
    text = "A hive of honey bees"
    assert opened.suggest(text, k=3) == made.suggest(text, k=3)


@pytest.mark.parametrize(
    ("rankers", "shares", "message"),
    [
        ([], None, "rankers is to be a list"),
        (["plm"], None, "rankers is to be a list"),
        ([PreferenceRanker(C=1.0, kernel="rbf")], None, "has a kernel"),
        ([Rocchio()], [1.0, 2.0], "give 1 numbers"),
        ([Rocchio()], [-1.0], "none below 0"),
    ],
)
def test_what_cannot_be_joined_is_refused(rankers, shares, message):
    with pytest.raises(Mistake, match=message):
        EnsembleRanker(rankers, shares).fit(np.eye(2), [[0], [1]])
