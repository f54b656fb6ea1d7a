"""A text ranker that is taught, taught anew, and forgets, document by document."""

import numpy as np
import pytest
from sklearn.base import clone

from classmark.preferences.graph import PreferenceGraph
from classmark.problems import Mistake
from classmark.rankers.linear import Rocchio
from classmark.rankers.live_text_ranker import LiveTextRanker
from classmark.rankers.online import MMP, CategoryPerceptron
from classmark.rankers.preference import PreferenceRanker
from classmark.rankers.text_ranker import TextRanker
from classmark.weighting.live import LiveVectorizer
from classmark.weighting.vectorizer import Vectorizer
from meaning.tiny_models import Model

NAMES = ["bees", "bread", "candles"]
TEXTS = {
    "b1": ("honey in the hive", 0),
    "b2": ("a queen bee swarms", 0),
    "d1": ("dough in the oven", 1),
    "d2": ("rye bread and yeast", 1),
    "c1": ("a wick in tallow", 2),
    "c2": ("tallow dips and a flame", 2),
}
WORDS = [word for text, _ in TEXTS.values() for word in text.split()]


@pytest.fixture(params=[None, Model(24)], ids=["words", "meaning"])
def meaning(request):
    """The source of a live ranker's vectors; None for words alone."""
    return request.param


def ranker(meaning=None, **parameters):
    given = {"C": 3.0, "revisits": 0} | parameters
    live = LiveTextRanker(LiveVectorizer(meaning=meaning), PreferenceRanker(**given))
    live.add(NAMES)
    return live


def taught(meaning=None, **parameters):
    live = ranker(meaning, **parameters)
    for id_, (text, label) in TEXTS.items():
        assert live.teach(id_, text, [label])
    return live


def weights(live):
    """Term → weights of all categories."""
    names = live.vectorizer.get_feature_names_out()
    return {
        name: row for name, row in zip(names, live.dual.W, strict=False) if row.any()
    }


def order(live, text):
    return [one.category for one in live.suggest(text)]


def random_text(rng):
    return " ".join(rng.choice(WORDS, rng.integers(1, 8)))


def random_lesson(rng, k):
    kind = rng.integers(5)
    if kind == 0:
        return [int(rng.integers(k))]
    if kind == 1:
        return PreferenceGraph(k, levels=rng.integers(-1, 3, k))
    if kind == 2:
        u, v, w = rng.permutation(k)[:3].tolist()
        return PreferenceGraph(k, [(u, v, 2.0), (v, w), (w, u)])
    if kind == 3:
        label = int(rng.integers(k))
        return PreferenceGraph(k, [(k, label)], thresholds=True)
    return None


def act(live, rng):
    """Do one thing at random."""
    k = len(live.categories)
    match rng.integers(12):
        case 0:
            live.add([f"new {k}"])
        case 1:
            live.show(np.flatnonzero(rng.random(k) < 0.8).tolist())
        case 2:
            live.merge(*rng.permutation(k)[:2].tolist())
        case 3:
            chosen = [id_ for id_ in live.handles if rng.random() < 0.3]
            live.move(chosen, *rng.permutation(k)[:2].tolist())
        case 4 | 5:
            live.revisit(int(rng.integers(20)))
        case _:
            number = int(rng.integers(15))
            text = random_text(np.random.default_rng(number))
            live.teach(f"d{number}", text, random_lesson(rng, k))


def test_what_is_taught_is_suggested_at_once(meaning):
    live = taught(meaning)
    assert order(live, "honey")[0] == "bees"
    assert order(live, "an oven")[0] == "bread"
    assert live.teach("n", "a candle burns in the oven", [2])
    assert order(live, "burning candle")[0] == "candles"


def test_to_teach_the_same_again_changes_nothing(meaning):
    live = taught(meaning)
    before = live.dual.W.copy()
    assert not live.teach("b1", "honey in the hive", [0])
    assert not live.teach("unknown", "honey", None)
    assert np.array_equal(live.dual.W, before)
    assert live.vectorizer.statistics_.documents == len(TEXTS)


def test_a_document_taught_anew_says_only_the_new(meaning):
    live, other = taught(meaning), taught(meaning)
    live.teach("n", "wax for moulds", [0])
    live.teach("n", "wax for moulds", [2])
    other.teach("n", "wax for moulds", [2])
    assert order(live, "wax")[0] == "candles"
    assert np.allclose(live.dual.W, other.dual.W, atol=1e-6)
    assert live.vectorizer.statistics_.documents == len(TEXTS) + 1


def test_a_forgotten_document_leaves_no_trace(meaning):
    live, never = taught(meaning), taught(meaning)
    live.teach("n", "wax for moulds in a hive", [2])
    assert live.teach("n", "wax for moulds in a hive", None)
    assert "n" not in live.handles
    found, expected = weights(live), weights(never)
    for term, row in found.items():
        assert row == pytest.approx(expected.get(term, 0 * row), abs=1e-6)
    assert expected.keys() <= found.keys()
    known = live.vectorizer.statistics_
    assert known.documents == len(TEXTS)
    assert known.tokens == never.vectorizer.statistics_.tokens
    assert not live.teach("n", "wax for moulds in a hive", None)


def test_a_text_that_has_changed_since_can_be_forgotten(meaning):
    live = taught(meaning)
    assert live.teach("b1", "quite another text, of honey honey honey", None)
    known = live.vectorizer.statistics_
    assert known.documents == len(TEXTS) - 1
    assert (known.document_frequency >= 0).all()
    assert (known.collection_frequency >= known.document_frequency).all()
    assert live.teach("b1", "quite another text, of honey honey honey", [0])


def test_terms_that_training_had_dropped_do_not_hinder_forgetting(meaning):
    texts, labels = zip(*TEXTS.values(), strict=True)
    model = TextRanker.fit(
        Vectorizer(min_df=2, meaning=meaning),
        PreferenceRanker(C=3.0),
        texts,
        [[label] for label in labels],
        NAMES,
    )
    live = LiveTextRanker.start(model, TEXTS)
    live.teach("n", "honey from every hive", [0])
    assert live.teach("b1", TEXTS["b1"][0], None)
    known = live.vectorizer.statistics_
    assert (known.document_frequency >= 0).all()


def test_categories_that_are_not_shown_are_never_suggested(meaning):
    live = taught(meaning)
    live.show([0, 1])
    assert sorted(order(live, "tallow wick")) == ["bees", "bread"]
    live.show([0, 1, 2])
    assert order(live, "tallow wick")[0] == "candles"
    live.add(["soap"])
    assert len(order(live, "tallow wick")) == 4


def test_documents_beyond_keep_stay_learned_and_can_be_taught_again(meaning):
    live = taught(meaning, max_documents=3)
    assert len(live.dual) == 3
    assert len(live.handles) == len(TEXTS)
    gone = [id_ for id_, handle in live.handles.items() if not live.dual.knows(handle)]
    assert len(gone) == 3
    before = live.dual.W.copy()
    assert not live.teach(gone[0], TEXTS[gone[0]][0], None)
    assert np.array_equal(live.dual.W, before)
    assert live.teach(gone[0], TEXTS[gone[0]][0], [2])
    assert live.vectorizer.statistics_.documents == len(TEXTS)
    assert live.dual.knows(live.handles[gone[0]])
    assert len(live.dual) == 3


@pytest.mark.parametrize("seed", range(20))
def test_closed_and_opened_it_goes_on_as_if_never_closed(tmp_path, seed, meaning):
    rng = np.random.default_rng(seed)
    keep = [None, 6][seed % 2]
    loss = ["dom", "dis", "dme", "dom-dme"][seed % 4]
    one = taught(meaning, loss=loss, max_documents=keep)
    for _ in range(30):
        act(one, rng)
    one.save(tmp_path / "000001", {"said": ["so"]})
    other, facts = LiveTextRanker.open(tmp_path / "000001", meaning)
    assert facts == {"said": ["so"]}
    again = [np.random.default_rng(seed + 100) for _ in range(2)]
    for step in range(30):
        act(one, again[0])
        act(other, again[1])
        assert np.array_equal(one.dual.W, other.dual.W), step
        assert one.dual.tau[0] == other.dual.tau[0]
    assert one.handles == other.handles
    assert one.categories == other.categories
    assert one.suggest("honey bread wax") == other.suggest("honey bread wax")
    assert one.revisit(50) == other.revisit(50) == 50
    assert np.array_equal(one.dual.W, other.dual.W)


@pytest.mark.parametrize("seed", range(8))
def test_opened_to_rank_it_gives_the_same_scores_to_the_bit(tmp_path, seed, meaning):
    rng = np.random.default_rng(seed)
    live = taught(meaning, loss=["dom", "dis", "dme", "dom-dme"][seed % 4])
    for _ in range(40):
        act(live, rng)
    live.save(tmp_path / "000001")
    model = LiveTextRanker.open_to_rank(tmp_path / "000001", meaning)
    texts = [random_text(rng) for _ in range(20)] + ["", "words never seen"]
    assert np.array_equal(model.scores(texts), live.model.scores(texts))
    for text in texts:
        assert model.suggest(text) == live.suggest(text)
    with pytest.raises(Mistake, match="only ranks"):
        model.ranker.fit([[1.0]], [[0]])


def test_thresholds_and_probabilities_are_kept(tmp_path, meaning):
    rng = np.random.default_rng(0)
    texts = [random_text(rng) for _ in range(60)]
    labels = [[int("hive" in text or "honey" in text)] for text in texts]
    model = TextRanker.fit(
        Vectorizer(meaning=meaning), PreferenceRanker(C=1.0), texts, labels, NAMES[:2]
    )
    model.calibrate(texts, labels)
    live = LiveTextRanker.start(model, [str(i) for i in range(60)])
    live.teach("0", texts[0], PreferenceGraph(2, [(2, 0)], thresholds=True))
    assert live.dual.tau[0] != 0
    live.save(tmp_path / "000001")
    opened, _ = LiveTextRanker.open(tmp_path / "000001", meaning)
    assert opened.suggest("honey") == live.suggest("honey")
    assert opened.suggest("honey")[0].probability is not None
    assert np.array_equal(opened.ranker.thresholds_, live.ranker.thresholds_)
    to_rank = LiveTextRanker.open_to_rank(tmp_path / "000001", meaning)
    assert to_rank.suggest("honey") == live.suggest("honey")
    assert np.array_equal(to_rank.scores(texts), live.model.scores(texts))


def test_it_starts_from_a_fitted_ranker_and_can_take_its_documents_back(meaning):
    texts, labels = zip(*TEXTS.values(), strict=True)
    model = TextRanker.fit(
        Vectorizer(meaning=meaning),
        PreferenceRanker(C=3.0, center=1.0),
        texts,
        [[label] for label in labels],
        NAMES,
    )
    before = model.scores(["honey from an oven"])
    live = LiveTextRanker.start(model, TEXTS)
    assert live.model.scores(["honey from an oven"]) == pytest.approx(before, abs=1e-6)
    assert not live.teach("b1", TEXTS["b1"][0], [0])
    live.teach("n", "beeswax", [2])
    assert order(live, "beeswax")[0] == "candles"
    live.teach("b1", TEXTS["b1"][0], [1])
    live.teach("b2", TEXTS["b2"][0], [1])
    live.revisit(200)
    assert order(live, "queen")[0] == "bread"
    assert live.vectorizer.statistics_.documents == len(TEXTS) + 1


ONLINE = [MMP(1, average=True), MMP(2), MMP(3), CategoryPerceptron(average=True)]


def online(learner, meaning=None):
    live = LiveTextRanker(LiveVectorizer(meaning=meaning), clone(learner))
    live.add(NAMES)
    return live


def act_online(live, rng):
    """Do one thing at random that an on-line ranker can learn."""
    k = len(live.categories)
    match rng.integers(10):
        case 0:
            live.add([f"new {k}"])
        case 1:
            live.show(np.flatnonzero(rng.random(k) < 0.8).tolist())
        case 2:
            live.merge(*rng.permutation(k)[:2].tolist())
        case _:
            number = int(rng.integers(15))
            text = random_text(np.random.default_rng(number))
            labels = rng.permutation(k)[: rng.integers(3)].tolist()
            live.teach(f"d{number}", text, labels or None)


@pytest.mark.parametrize("learner", ONLINE, ids=str)
def test_an_on_line_ranker_makes_the_rounds_of_partial_fit(learner, meaning):
    rng, live, stream = (
        np.random.default_rng(5),
        online(learner, meaning),
        clone(learner),
    )
    for at in range(40):
        text, labels = random_text(rng), [int(rng.integers(3))]
        assert live.teach(f"d{at}", text, labels)
        stream.partial_fit(live.vectorizer.rows([text]), [labels], n_labels=3)
    assert np.allclose(live.dual.W, stream.weights_)
    assert np.allclose(live.ranker.losses_, stream.losses_)
    assert not live.teach("d39", text, labels)
    assert live.revisit(9) == live.revisit() == 0


@pytest.mark.parametrize("learner", ONLINE, ids=str)
def test_hidden_categories_are_as_if_they_were_not(learner, meaning):
    rng, live, other = (
        np.random.default_rng(6),
        online(learner, meaning),
        online(learner, meaning),
    )
    live.add(["hidden", "bees again"])
    live.show([0, 1, 2])
    for at in range(30):
        text, labels = random_text(rng), [int(rng.integers(3))]
        live.teach(f"d{at}", text, [*labels, 4])
        other.teach(f"d{at}", text, labels)
    assert np.array_equal(live.dual.W[:, :3], other.dual.W)
    assert not live.dual.W[:, 3:].any()
    assert len(live.suggest("honey")) == 3


@pytest.mark.parametrize("learner", ONLINE, ids=str)
def test_merged_categories_have_the_sum_of_both_prototypes(learner, meaning):
    live = online(learner, meaning)
    for id_, (text, label) in TEXTS.items():
        live.teach(id_, text, [label])
    before = live.dual.W.copy()
    live.merge(0, 2)
    assert np.allclose(live.dual.W[:, 2], before[:, 0] + before[:, 2])
    assert not live.dual.W[:, 0].any()
    assert not live.teach("b1", TEXTS["b1"][0], [2]), "read as the other already"
    assert [one.category for one in live.suggest("honey")] == ["candles", "bread"]


@pytest.mark.parametrize("seed", range(8))
def test_an_on_line_ranker_closed_and_opened_goes_on_to_the_bit(
    tmp_path, seed, meaning
):
    rng, one = np.random.default_rng(seed), online(ONLINE[seed % 4], meaning)
    for _ in range(30):
        act_online(one, rng)
    one.save(tmp_path / "000001")
    other, _ = LiveTextRanker.open(tmp_path / "000001", meaning)
    model = LiveTextRanker.open_to_rank(tmp_path / "000001", meaning)
    texts = [random_text(rng) for _ in range(20)] + ["", "words never seen"]
    assert np.array_equal(model.scores(texts), one.model.scores(texts))
    again = [np.random.default_rng(seed + 100) for _ in range(2)]
    for step in range(30):
        act_online(one, again[0])
        act_online(other, again[1])
        assert np.array_equal(one.dual.W, other.dual.W), step
    assert one.handles == other.handles
    assert one.suggest("honey bread wax") == other.suggest("honey bread wax")


@pytest.mark.parametrize("learner", ONLINE, ids=str)
def test_an_on_line_ranker_starts_from_what_was_fitted(tmp_path, learner, meaning):
    texts, labels = zip(*TEXTS.values(), strict=True)
    numbers = [[label] for label in labels]
    fresh = clone(learner).set_params(passes=3)
    model = TextRanker.fit(Vectorizer(meaning=meaning), fresh, texts, numbers, NAMES)
    before = model.scores(["honey from an oven"])
    live = LiveTextRanker.start(model, TEXTS)
    assert live.model.scores(["honey from an oven"]) == pytest.approx(before, abs=1e-6)
    shown = live.dual.W.shape
    live.add(["wax", "comb"])
    live.show([0, 1, 2, 4])
    assert live.dual.W.shape == (shown[0], 5)
    live.save(tmp_path / "000001")
    to_rank = LiveTextRanker.open_to_rank(tmp_path / "000001", meaning)
    assert np.array_equal(to_rank.scores(texts), live.model.scores(texts))
    assert not live.teach("b1", TEXTS["b1"][0], [0]), "it was fitted on that"
    assert live.teach("n", "beeswax", [2])
    assert live.ranker.n_rounds_ == 3 * len(TEXTS) + 1
    assert order(live, "beeswax")[0] == "candles"


def test_what_an_on_line_ranker_does_not_take_is_refused():
    live = online(MMP())
    with pytest.raises(Mistake, match="learns from labels"):
        live.teach("d", "honey", PreferenceGraph(3, [(0, 1)]))
    with pytest.raises(Mistake, match="with a kernel or votes"):
        online(MMP(vote=True))


def test_what_cannot_start_is_refused_with_the_reason():
    texts, labels = zip(*TEXTS.values(), strict=True)
    numbers = [[label] for label in labels]
    rocchio = TextRanker.fit(Vectorizer(), Rocchio(), texts, numbers, NAMES)
    with pytest.raises(Mistake, match="Rocchio learns from all documents at once"):
        LiveTextRanker.start(rocchio, TEXTS)
    with pytest.raises(Mistake, match="live already"):
        LiveTextRanker.start(taught().model, TEXTS)
    with pytest.raises(Mistake, match="loss 'svm' cannot learn"):
        ranker(loss="svm")
    with pytest.raises(Mistake, match="center and class_weight"):
        ranker(center=5.0)
    with pytest.raises(Mistake, match="loss is a function"):
        ranker(loss=len)
