"""Rankers over words and meaning: the same learning, saved and opened, explained."""

import numpy as np
import pytest

import classmark as cm
from classmark.problems import Mistake

TEXTS = [
    "bees and honey", "a hive of bees", "the queen of the swarm", "honeycomb and wax",
    "roads and cars", "a car on the road", "the lorry at the crossing", "a bridge",
]  # fmt: skip
LABELS = [[0], [0], [0], [0], [1], [1], [1], [1]]
TOPIC = "honeycomb wax bees hive queen swarm honey apiary beekeeper"


class Topics:
    """Two numbers of a text: how much of it is about bees, how much is not."""

    def encode(self, texts):
        words = [text.split() for text in texts]
        about = [sum(word in TOPIC.split() for word in own) for own in words]
        both = zip(about, words, strict=True)
        return [[n, len(own) - n] for n, own in both]


class OtherTopics(Topics):
    """The same under another name, as another model would have."""


def trained(ranker, **meaning):
    return cm.TextRanker.fit(
        cm.Vectorizer(**meaning), ranker, TEXTS, LABELS, ["bees", "roads"]
    )


RANKERS = [
    cm.Rocchio(), cm.PreferenceRanker(), cm.PreferenceRanker(center=3.0),
    cm.LogLinearRanker(C=1.0), cm.MMP(), cm.CategoryPerceptron(),
]  # fmt: skip


@pytest.mark.parametrize("ranker", RANKERS, ids=repr)
def test_every_ranker_sees_words_that_it_was_not_taught(ranker):
    words = trained(ranker).scores(["my apiary"])[0]
    assert words[0] == words[1]
    both = trained(ranker, meaning=Topics()).scores(["my apiary"])[0]
    assert both[0] > both[1]


def test_a_saved_ranker_needs_its_vectors_and_refuses_others(tmp_path):
    model = trained(cm.PreferenceRanker(), meaning=Topics())
    model.save(tmp_path / "model")
    opened = cm.TextRanker.open(tmp_path / "model", meaning=Topics())
    unseen = [*TEXTS, "my apiary"]
    np.testing.assert_array_equal(opened.scores(unseen), model.scores(unseen))
    opened.save(tmp_path / "again")
    with pytest.raises(
        Mistake, match=r"with the vectors of Topics .*open it with them"
    ):
        cm.TextRanker.open(tmp_path / "model")
    with pytest.raises(Mistake, match="give the former, or make it anew"):
        cm.TextRanker.open(tmp_path / "again", meaning=OtherTopics())


def test_a_ranker_of_words_alone_takes_no_vectors(tmp_path):
    trained(cm.Rocchio()).save(tmp_path / "model")
    cm.TextRanker.open(tmp_path / "model")
    with pytest.raises(Mistake, match="fitted on words alone"):
        cm.TextRanker.open(tmp_path / "model", meaning=Topics())


@pytest.mark.parametrize("text", ["honey of my apiary", "apiary", "a road"])
def test_a_score_is_parted_into_words_and_meaning(text):
    model = trained(cm.PreferenceRanker(), meaning=Topics())
    scores = model.scores([text])[0]
    parts = model.score_parts(text, "bees")
    assert sum(parts) == pytest.approx(scores[0] - scores.mean())
    W, X = model.ranker.coef_, model.vectorizer.transform([text]).toarray()[0]
    width = len(model.vectorizer.vocabulary_)
    own = X * (W[0] - W.mean(axis=0))
    assert parts.words == pytest.approx(own[:width].sum())
    assert parts.meaning == pytest.approx(own[width:].sum())
    if text == "apiary":
        assert parts.words == 0 < parts.meaning
    with pytest.raises(Mistake, match="'ships' is not ranked"):
        model.score_parts(text, "ships")


def test_suggestions_show_words_and_no_columns_of_meaning():
    model = trained(cm.PreferenceRanker(), meaning=Topics())
    first = model.suggest("honey of my apiary", k=1)[0]
    assert first.category == "bees"
    assert {word for word, _ in first.favour} == {"honey"}
    assert model.suggest("apiary", k=1)[0].favour == ()


def test_words_alone_have_no_part_of_meaning():
    parts = trained(cm.PreferenceRanker()).score_parts("honey", "bees")
    assert parts.words > 0 == parts.meaning


def test_a_model_with_meaning_is_calibrated():
    model = trained(cm.PreferenceRanker(), meaning=Topics()).calibrate(TEXTS, LABELS)
    assert all(0 <= s.probability <= 1 for s in model.suggest("my apiary"))


def test_a_query_by_examples_and_clusters_see_both():
    X = cm.Vectorizer(meaning=Topics()).fit(TEXTS).rows([*TEXTS, "my apiary"])
    query = cm.ExampleQuery().fit(
        cm.Vectorizer(meaning=Topics()).fit(TEXTS).rows(TEXTS[:1]), X
    )
    best = query.rank(X)[:5]
    assert 8 in best
    clusters = cm.SphericalKMeans(2, random_state=0).fit_predict(X)
    assert clusters[8] == clusters[1]


def test_a_model_with_meaning_does_not_go_on_decision_by_decision():
    model = trained(cm.PreferenceRanker(), meaning=Topics())
    with pytest.raises(Mistake, match="fit one of words alone"):
        cm.LiveTextRanker.start(model, [str(number) for number in range(8)])
