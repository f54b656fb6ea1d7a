"""Texts with little to go by are not taken for sure things."""

from copy import copy

import numpy as np
import pytest

from classmark.rankers.calibration import Calibrator
from classmark.rankers.preference import PreferenceRanker
from classmark.rankers.text_ranker import TextRanker
from classmark.weighting.vectorizer import Vectorizer


@pytest.fixture(scope="module")
def model():
    """Texts of thirty words, four of which tell their category four times in five."""
    random = np.random.default_rng(1)
    texts, labels = [], []
    for at in range(240):
        category = at % 8
        shown = category if random.random() < 0.8 else random.integers(8)
        told = [f"topic{shown}word{random.integers(6)}" for _ in range(4)]
        noise = [f"noise{random.integers(400)}" for _ in range(26)]
        texts.append(" ".join([*told, *noise]))
        labels.append([category])
    vectorizer, ranker = Vectorizer(characters=4), PreferenceRanker()
    names = [f"c{c}" for c in range(8)]
    fitted = TextRanker.fit(vectorizer, ranker, texts, labels, names)
    return fitted.calibrate(texts, labels), texts, labels


def test_one_word_is_less_sure_than_by_its_score_alone(model):
    ranker, _, _ = model
    X = ranker.vectorizer.rows(["topic3word2"])
    scores = ranker.ranker.decision_function(X)
    rash = ranker.probabilities(scores)[0]
    sober = ranker.suggest("topic3word2", 8)
    assert sober[0].category == "c3"
    assert sober[0].probability < rash.max() - 0.1
    order = [suggestion.category for suggestion in sober]
    ranked = np.argsort(-ranker.ordered_by(scores)[0], kind="stable")
    assert order == [ranker.categories[c] for c in ranked]


def test_texts_of_the_usual_length_stay_as_they_are(model):
    ranker, texts, _ = model
    long = " ".join(texts[:2])
    X = ranker.vectorizer.rows([long])
    scores = ranker.ranker.decision_function(X)
    assert ranker.suggest(long, 1)[0].probability == pytest.approx(
        ranker.probabilities(scores).max()
    )


def test_without_a_word_it_is_the_common_rate(model):
    ranker, _, _ = model
    assert ranker.suggest("unheard", 1)[0].probability == pytest.approx(1 / 8)


def test_saved_and_opened_it_is_as_sober(model):
    calibrator = model[0].calibrator
    opened = Calibrator.from_arrays(*calibrator.to_arrays())
    chances = np.array([[0.9, 0.2]])
    np.testing.assert_array_equal(
        opened.usual_text_.sobered(chances, [5]),
        calibrator.usual_text_.sobered(chances, [5]),
    )
    assert (opened.usual_text_.sobered(chances, [5]) != chances).all()


def test_one_that_knows_no_lengths_changes_nothing(model):
    ranker, _, _ = model
    learned = ranker.calibrator
    old = copy(learned)
    old.usual_text_ = None
    other = TextRanker(ranker.vectorizer, ranker.ranker, ranker.categories)
    other.calibrator = old
    X = ranker.vectorizer.rows(["topic3word2"])
    scores = ranker.ranker.decision_function(X)
    np.testing.assert_array_equal(
        other.probabilities(scores, X=X), learned.transform(scores)
    )
