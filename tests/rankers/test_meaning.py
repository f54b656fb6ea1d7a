"""Rankers over words and meaning: the same learning, saved and opened, explained."""

from copy import deepcopy

import numpy as np
import pytest
from sklearn.base import clone

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


class CountingTopics(Topics):
    """The same, with a list of what it has encoded."""

    def __init__(self):
        self.texts = []

    def encode(self, texts):
        self.texts += texts
        return super().encode(texts)


def trained(ranker, **meaning):
    return cm.TextRanker.fit(
        cm.Vectorizer(**meaning), ranker, TEXTS, LABELS, ["bees", "roads"]
    )


RANKERS = [
    cm.Rocchio(), cm.PreferenceRanker(prior=None), cm.PreferenceRanker(C=1.0),
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
    model = trained(cm.PreferenceRanker(prior=None), meaning=Topics())
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


LIVE = [
    cm.PreferenceRanker(), cm.PreferenceRanker(center=3.0), cm.MMP(),
    cm.CategoryPerceptron(),
]  # fmt: skip
IDS = [str(number) for number in range(len(TEXTS))]


def started(ranker, meaning=None):
    return cm.LiveTextRanker.start(trained(ranker, meaning=meaning or Topics()), IDS)


@pytest.mark.parametrize("ranker", LIVE, ids=repr)
def test_a_model_with_meaning_goes_on_decision_by_decision(ranker):
    model = trained(ranker, meaning=Topics())
    before = model.scores([*TEXTS, "my apiary"])
    live = cm.LiveTextRanker.start(model, IDS)
    after = live.model.scores([*TEXTS, "my apiary"])
    np.testing.assert_allclose(after, before, atol=1e-6)
    live.add(["ships"])
    assert live.teach("new", "a frigate in the harbour", [2])
    assert live.suggest("frigate", k=1)[0].category == "ships"
    assert live.teach("new", "a frigate in the harbour", None)
    assert live.vectorizer.statistics_.documents == len(TEXTS)


@pytest.mark.parametrize("ranker", LIVE, ids=repr)
def test_what_is_undone_was_never_taught_to_the_bit(ranker):
    acts = [("a", "honey of the apiary", [0]), ("b", "a lorry of honey", [1])]
    undone, never = (started(clone(ranker)) for _ in range(2))
    undone.teach(*acts[0])
    checkpoint = deepcopy(undone.to_arrays({"upto": 1}))
    undone.teach("wrong", "bees on the bridge", [1])
    undone.teach("0", TEXTS[0], [1])
    undone, facts = cm.LiveTextRanker.from_arrays(checkpoint, meaning=Topics())
    assert facts == {"upto": 1}
    never.teach(*acts[0])
    for live in (undone, never):
        live.teach(*acts[1])
        live.revisit(20)
    assert np.array_equal(undone.dual.W, never.dual.W)
    texts = ["my apiary", "lorry", "bees on the bridge"]
    assert np.array_equal(undone.model.scores(texts), never.model.scores(texts))


def test_from_nothing_words_are_seen_that_were_not_taught():
    live = cm.LiveTextRanker(cm.LiveVectorizer(meaning=Topics()), cm.PreferenceRanker())
    live.add(["bees", "roads"])
    assert len(live.suggest("my apiary")) == 2, "before anything is taught"
    live.teach("1", "a hive of bees", [0])
    live.teach("2", "a lorry at the crossing", [1])
    best = live.suggest("apiary", k=1)[0]
    assert (best.category, best.favour) == ("bees", ())


@pytest.mark.parametrize("ranker", LIVE, ids=repr)
def test_a_saved_live_ranker_needs_its_vectors_and_refuses_others(tmp_path, ranker):
    live, folder = started(ranker), tmp_path / "live"
    live.teach("new", "the apiary of a beekeeper", [0])
    live.save(folder)
    opened, _ = cm.LiveTextRanker.open(folder, meaning=Topics())
    to_rank = cm.LiveTextRanker.open_to_rank(folder, meaning=Topics())
    unseen = [*TEXTS, "my apiary", "words never seen"]
    for model in (opened.model, to_rank):
        np.testing.assert_array_equal(model.scores(unseen), live.model.scores(unseen))
        for text in unseen:
            parts = live.model.score_parts(text, "bees")
            assert model.score_parts(text, "bees") == parts
            assert model.suggest(text) == live.suggest(text)
    for open_it in (cm.LiveTextRanker.open, cm.LiveTextRanker.open_to_rank):
        with pytest.raises(Mistake, match=r"vectors of Topics .*open it with them"):
            open_it(folder)
        with pytest.raises(Mistake, match="give the former, or make it anew"):
            open_it(folder, meaning=OtherTopics())


def test_a_live_ranker_of_words_alone_takes_no_vectors(tmp_path):
    live = cm.LiveTextRanker.start(trained(cm.PreferenceRanker()), IDS)
    live.save(tmp_path / "live")
    for open_it in (cm.LiveTextRanker.open, cm.LiveTextRanker.open_to_rank):
        with pytest.raises(Mistake, match="fitted on words alone"):
            open_it(tmp_path / "live", meaning=Topics())


@pytest.mark.parametrize("ranker", LIVE, ids=repr)
def test_words_that_came_after_the_training_are_words_and_not_meaning(ranker):
    live = started(ranker)
    live.teach("new", "a beekeeper sells mead", [0])
    model, text = live.model, "mead of the apiary"
    X, W = model.vectorizer.transform([text]).toarray()[0], model.ranker.coef_
    own = X * (W[0] - W.mean(axis=0))
    names = model.vectorizer.get_feature_names_out()
    is_meaning = np.array([name.startswith("meaning[") for name in names])
    assert is_meaning.sum() == 2
    assert not is_meaning[-1]
    parts = model.score_parts(text, "bees")
    assert parts.words == pytest.approx(own[~is_meaning].sum())
    assert parts.meaning == pytest.approx(own[is_meaning].sum())
    (first,) = model.suggest(text, k=1)
    assert {word for word, _ in first.favour} <= {"mead"}


def test_a_text_is_encoded_once_however_often_it_is_taught():
    source = CountingTopics()
    live = started(cm.PreferenceRanker(), source)
    source.texts.clear()
    for labels in ([0], [1], [0], [0], None):
        live.teach("new", "a beekeeper sells mead", labels)
        live.revisit(10)
    live.teach("0", TEXTS[0], [1])
    assert source.texts == ["a beekeeper sells mead"]
