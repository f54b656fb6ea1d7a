"""What is learned with where nothing is said, and the prior of each label."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_matrix, vstack

from classmark import PreferenceGraph, PreferenceRanker, TextRanker, Vectorizer
from classmark.arrays import rows_from
from classmark.measures import category_ranking_per_document
from classmark.problems import Mistake
from classmark.rankers.auto import CENTERS, MANY
from classmark.rankers.live_text_ranker import LiveTextRanker
from classmark.validation import generator

K = 6


def documents(n=60, per_document=2, seed=0):
    """Rows whose words tell their labels, small label numbers oftener; noise beside."""
    random = np.random.default_rng(seed)
    share = 1.0 / (1.0 + np.arange(K))
    Y = np.zeros((n, K))
    for row in Y:
        row[random.choice(K, per_document, False, share / share.sum())] = 1.0
    X = np.hstack([Y * random.random((n, K)), 0.3 * random.random((n, 8))])
    return (X / np.linalg.norm(X, axis=1, keepdims=True)).astype(np.float64), Y


class WithColumn(PreferenceRanker):
    """The oracle: the constant is a column of X, which no prototype has."""

    def prototypes(self, rows, labels):
        words = rows_from(rows.to_scipy()[:, :-1])
        start, shares = super().prototypes(words, labels)
        return vstack([start, csr_matrix((1, start.shape[1]))], format="csr"), shares


def with_column(X, value):
    return np.hstack([X, np.full((len(X), 1), value)])


@pytest.mark.parametrize("center", [None, 2.0])
@pytest.mark.parametrize(
    ("loss", "memory"),
    [("dom", "2GB"), ("dis", "2GB"), ("dme", "2GB"), ("dom-dme", "2GB"), ("dom", "1B")],
)
def test_a_prior_is_the_weight_of_one_more_column(loss, center, memory):
    X, Y = documents()
    how = {"loss": loss, "C": 0.5, "center": center, "tol": 1e-7, "memory": memory}
    ranker = PreferenceRanker(prior=0.4, max_iter=5000, **how).fit(X, Y)
    slow = WithColumn(**how, max_iter=5000).fit(with_column(X, 0.4), Y)
    assert ranker.weights_.shape == (X.shape[1], K)
    assert ranker.objective_ == pytest.approx(slow.objective_, rel=1e-5)
    expected = slow.decision_function(with_column(X, 0.4))
    scores = ranker.decision_function(X)
    apart = scores - scores.mean(axis=1, keepdims=True)
    assert (
        np.abs(apart - (expected - expected.mean(axis=1, keepdims=True))).max() < 0.02
    )
    assert ranker.thresholds_ is not None
    assert ranker.thresholds_.std() > 0


def test_frequent_labels_are_ahead_before_a_word_is_read():
    X, Y = documents(200)
    X = np.random.default_rng(0).permutation(X)
    ranker = PreferenceRanker("dom", 0.1, center=5.0, prior=0.3).fit(X, Y)
    assert ranker.rank(np.zeros((1, X.shape[1])))[0, 0] == Y.sum(axis=0).argmax()


def test_a_prior_goes_on_document_by_document():
    X, Y = documents(40)
    how = {"loss": "dom", "C": 0.5, "prior": 0.4, "tol": 1e-6}
    ranker = PreferenceRanker(**how, revisits=0).fit(X[:20], Y[:20])
    before = ranker.decision_function(X)
    ranker.begin_stream()
    assert np.abs(ranker.decision_function(X) - before).max() < 1e-9
    ranker.partial_fit(X[20:], Y[20:])
    ranker.revisit(20_000)
    ranker.show_stream()
    batch = PreferenceRanker(**how).fit(X, Y)
    difference = ranker.decision_function(X) - batch.decision_function(X)
    assert np.abs(difference).max() < 0.02
    opened = PreferenceRanker(**how)
    opened.open_stream(ranker.stream_arrays())
    assert (opened.decision_function(X) == ranker.decision_function(X)).all()
    assert (opened.weights_ == ranker.weights_).all()


def test_with_a_prior_documents_are_forgotten_moved_and_labels_merged():
    X, Y = documents(40)
    how = {"loss": "dom", "C": 0.5, "prior": 0.4, "tol": 1e-6}
    ranker = PreferenceRanker(**how).fit(X, Y)
    ranker.begin_stream()
    live = ranker.live_
    assert np.allclose(live.lesson(3).values, rows_from(X).row(3)[1])
    assert live.lesson(3).columns.tolist() == rows_from(X).row(3)[0].tolist()
    for handle in range(20, 40):
        live.forget(handle)
    live.revisit(20_000)
    ranker.show_stream()
    rest = PreferenceRanker(**how).fit(X[:20], Y[:20])
    apart = ranker.decision_function(X) - rest.decision_function(X)
    assert np.abs(apart).max() < 0.02
    merged = Y[:20].copy()
    merged[:, 0] = np.maximum(merged[:, 0], merged[:, 5])
    merged[:, 5] = 0.0
    live.merge(5, 0)
    live.revisit(20_000)
    ranker.show_stream()
    other = PreferenceRanker(**how).fit(X[:20], merged[:, :5])
    shown = ranker.decision_function(X)[:, :5]
    assert np.abs(shown - other.decision_function(X)).max() < 0.05


def test_with_a_prior_words_and_labels_grow():
    X, Y = documents(30)
    ranker = PreferenceRanker("dom", 0.5, prior=0.4).fit(X, Y)
    wider = np.hstack([X, np.ones((len(X), 3))])
    more = np.hstack([Y, np.zeros((len(Y), 1))])
    more[0, K] = 1.0
    ranker.partial_fit(wider, more)
    assert ranker.weights_.shape == (X.shape[1] + 3, K + 1)
    assert ranker.decision_function(wider).shape == (len(X), K + 1)


def test_graphs_that_list_their_edges_have_a_prior_too():
    X, Y = documents(30)
    graphs = [
        PreferenceGraph(K, [(u, v) for u in np.flatnonzero(y) for v in range(K)
                            if not y[v]])
        for y in Y
    ]  # fmt: skip
    how = {"C": 0.5, "prior": 0.4, "tol": 1e-7, "max_iter": 5000}
    listed = PreferenceRanker("dis", **how).fit(X, graphs)
    layered = PreferenceRanker("dis", **how).fit(X, Y)
    apart = listed.decision_function(X) - layered.decision_function(X)
    assert np.abs(apart).max() < 0.02
    listed.partial_fit(X[:3], graphs[:3])
    assert listed.thresholds_ is not None


@pytest.mark.parametrize(
    "other", [{"kernel": "rbf"}, {"thresholds": "common"}, {"loss": "svm"}]
)
def test_a_prior_beside_what_has_none_is_refused(other):
    with pytest.raises(Mistake, match="use prior=None"):
        PreferenceRanker(C=1.0, prior=0.3, **other).fit(*documents(10))


def test_a_ranker_with_a_prior_is_saved_and_opened(tmp_path):
    texts = ["bees and hives", "roads and bridges", "hives of bees", "a bridge"] * 60
    labels = [[0], [1], [0, 1], [1]] * 60
    trained = TextRanker.fit(
        Vectorizer(), PreferenceRanker(), texts, labels, ["bees", "roads"]
    )
    trained.save(tmp_path / "model")
    opened = TextRanker.open(tmp_path / "model")
    assert opened.suggest("bees") == trained.suggest("bees")
    live = LiveTextRanker.start(trained, [str(i) for i in range(len(texts))])
    live.teach("new", "a hive", [0])
    live.save(tmp_path / "live")
    again, _ = LiveTextRanker.open(tmp_path / "live")
    fixed = LiveTextRanker.open_to_rank(tmp_path / "live")
    for each in (again, fixed):
        assert each.suggest("a hive of bees") == live.suggest("a hive of bees")


def test_with_a_c_what_is_open_is_as_in_the_paper():
    setting = PreferenceRanker(C=2.0).fit(*documents(10)).setting_
    assert setting == ("dom", 2.0, None, 0.0, 1e-3, 0.0)


def test_what_is_given_stays_whatever_is_chosen():
    X, Y = documents(300)
    how = {"center": None, "prior": None, "noise": 0.5, "tol": 1e-4}
    ranker = PreferenceRanker("dme", **how).fit(X, Y)
    assert ranker.setting_.loss == "dme"
    assert ranker.setting_[2:] == (None, 0.0, 1e-4, 0.5)


@pytest.mark.parametrize(
    ("n", "per_document", "prior"), [(300, 1, 0.0), (300, 2, 0.3), (30, 1, 0.3)]
)
def test_several_labels_per_document_or_few_documents_have_a_prior(
    n, per_document, prior
):
    ranker = PreferenceRanker("dom").fit(*documents(n, per_document))
    assert ranker.setting_.center in CENTERS
    assert ranker.setting_._replace(center=3.0) == ("dom", 0.3, 3.0, prior, 1e-2, 2.0)


def test_many_labels_per_document_are_compared_pair_by_pair():
    random = np.random.default_rng(0)
    Y = (random.random((50, 40)) < 0.3).astype(float)
    assert Y.sum(axis=1).mean() >= MANY
    ranker = PreferenceRanker().fit(random.random((50, 9)), Y)
    assert ranker.setting_.loss == "dis"
    others = 40 - Y.sum() / (Y.sum(axis=1) > 0).sum()
    assert pytest.approx(1 / others) == ranker.setting_.C


@pytest.mark.parametrize("told", [0.0, 0.5, 1.0])
def test_a_setting_is_taken_that_ranks_documents_held_out_clearly_better(told):
    X, Y = documents(600)
    random, mixed = np.random.default_rng(1), np.random.default_rng(2).permutation(X)
    X = np.where(random.random((len(X), 1)) < told, X, mixed)
    order = generator(0).permutation(len(X))
    held_out, learned = np.sort(order[:200]), np.sort(order[200:350])
    by_label = {"loss": "dom", "C": 0.3, "prior": 0.3, "noise": 2.0, "tol": 1e-2}
    pairs = by_label | {"loss": "dis", "C": 1 / (K - 2), "noise": 0.0, "center": 5.0}
    tried = [*(by_label | {"center": center} for center in CENTERS), pairs]
    precision = []
    for how in tried:
        ranker = PreferenceRanker(**how).fit(X[learned], Y[learned])
        scores = ranker.decision_function(X[held_out])
        measured = category_ranking_per_document(scores, Y[held_out])
        precision.append(measured["average_precision"])
    best = 0
    for at in (1, 2, 3):
        gain = precision[at] - precision[best]
        if gain.mean() > 2 * gain.std() / np.sqrt(len(gain)):
            best = at
    assert PreferenceRanker().fit(X, Y).setting_._asdict() == tried[best]


class WithPrivateFeatures(PreferenceRanker):
    """The oracle: each document has a column of its own, which starts at −self/√noise.

    What a document has in the center's scores is computed by making the prototypes
    without it.
    """

    def prototypes(self, rows, labels):
        X, Y = rows.to_scipy().toarray(), labels.to_scipy().toarray()
        words = X[:, : -len(X)]
        start, shares = super().prototypes(rows_from(words), labels)
        unit = start.toarray()
        own = np.zeros((len(X), Y.shape[1]))
        for i, r in zip(*np.nonzero(Y), strict=True):
            rest = unit[:, r] - shares[r] * words[i]
            alone = np.linalg.norm(rest) < 1e-9
            without = 0.0 if alone else rest @ words[i] / np.linalg.norm(rest)
            own[i, r] = unit[:, r] @ words[i] - np.clip(
                without, 0, unit[:, r] @ words[i]
            )
        column = np.sqrt(2.0)
        return vstack([start, csr_matrix(-own / column)], format="csr"), None


@pytest.mark.parametrize("loss", ["dom", "dis", "dme", "dom-dme", "svm"])
@pytest.mark.parametrize("threads", [1, 2])
def test_noise_is_a_feature_of_each_document_that_no_other_has(loss, threads):
    X, Y = documents(40)
    how = {"loss": loss, "C": 0.5, "center": 2.0, "tol": 1e-6, "max_iter": 5000}
    ranker = PreferenceRanker(noise=2.0, n_jobs=threads, **how).fit(X, Y)
    private = np.hstack([X, np.sqrt(2.0) * np.eye(len(X))])
    slow = WithPrivateFeatures(**how).fit(private, Y)
    assert ranker.objective_ == pytest.approx(slow.objective_, rel=1e-5)
    expected = slow.weights_[: X.shape[1]]
    apart = ranker.weights_ - expected
    if loss != "svm":  # a part shared by all labels is seen by no order
        apart -= apart.mean(axis=1, keepdims=True)
    assert np.abs(apart).max() < 0.01


def test_independent_margins_with_noise_are_liblinear_squared_hinges():
    svm = pytest.importorskip("sklearn.svm")
    X, Y = documents(80)
    price = 0.7
    how = {"C": 1e6, "tol": 1e-7, "max_iter": 20_000, "center": None}
    ranker = PreferenceRanker("svm", noise=1 / (2 * price), **how).fit(X, Y)
    scores = ranker.decision_function(X)
    for label in range(K):
        peer = svm.LinearSVC(C=price, tol=1e-8, max_iter=100_000)
        peer.fit(X, Y[:, label])
        assert np.abs(scores[:, label] - peer.decision_function(X)).max() < 1e-2


def test_listed_preferences_with_noise_are_those_of_layers():
    X, Y = documents(30)
    layers = [PreferenceGraph.multilabel(K, np.flatnonzero(row)) for row in Y]
    listed = [PreferenceGraph(K, graph.edges()) for graph in layers]
    how = {"C": 0.5, "noise": 1.5, "tol": 1e-6, "max_iter": 5000}
    whole = PreferenceRanker("dom", **how).fit(X, layers)
    for graphs in (listed, layers[:10] + listed[10:]):
        ranker = PreferenceRanker("dom", **how).fit(X, graphs)
        assert ranker.objective_ == pytest.approx(whole.objective_, rel=1e-5)


@pytest.mark.parametrize("listed", [False, True])
def test_noise_may_be_a_whole_number(listed):
    X, Y = documents(30)
    graphs = [PreferenceGraph.multilabel(K, np.flatnonzero(row)) for row in Y]
    lessons = [PreferenceGraph(K, graph.edges()) for graph in graphs] if listed else Y
    whole, broken = (
        PreferenceRanker("dom", 0.5, noise=noise, center=2, prior=1).fit(X, lessons)
        for noise in (2, 2.0)
    )
    np.testing.assert_array_equal(whole.weights_, broken.weights_)


def test_documents_learned_one_by_one_with_noise_meet_the_batch():
    X, Y = documents(60)
    how = {"C": 0.5, "noise": 2.0, "tol": 1e-6, "max_iter": 5000}
    whole = PreferenceRanker("dom", **how).fit(X, Y)
    live = PreferenceRanker("dom", **how).fit(X[:20], Y[:20])
    live.partial_fit(X[20:], Y[20:])
    live.revisit(30_000)
    scores, expected = live.decision_function(X), whole.decision_function(X)
    apart = (scores - scores.mean(1, keepdims=True)) - (
        expected - expected.mean(1, keepdims=True)
    )
    assert np.abs(apart).max() < 0.01


def test_a_live_ranker_with_noise_goes_on_from_its_arrays_to_the_bit():
    X, Y = documents(60)
    live = PreferenceRanker("dom", 0.5, noise=2.0, center=2.0).fit(X[:40], Y[:40])
    live.begin_stream()
    again = PreferenceRanker("dom", 0.5, noise=2.0, center=2.0)
    again.open_stream(live.stream_arrays())
    for ranker in (live, again):
        ranker.partial_fit(X[40:], Y[40:])
        ranker.live_.forget(3)
        ranker.revisit(200)
    assert (live.decision_function(X) == again.decision_function(X)).all()


def test_noise_beside_sparse_weights_is_refused():
    with pytest.raises(Mistake, match="noise"):
        PreferenceRanker(C=1.0, noise=1.0, memory="1B").fit(*documents(20))


def test_sparse_weights_have_no_prior_and_no_trial():
    X, Y = documents(300)
    ranker = PreferenceRanker(memory="1B").fit(X, Y)
    assert ranker.store_ == "sparse"
    assert ranker.setting_ == ("dom", 0.3, 5.0, 0.0, 1e-2, 0.0)


def test_a_fit_with_what_was_chosen_is_the_same_to_the_bit():
    X, Y = documents(400)
    ranker = PreferenceRanker().fit(X, Y)
    again = PreferenceRanker(**ranker.kept_as[1]).fit(X, Y)
    assert (again.decision_function(X) == ranker.decision_function(X)).all()


def test_explicit_parameters_do_not_look_at_the_shape():
    X, Y = documents(400, 3)
    ranker = PreferenceRanker("dom", 0.1, 1e-2, center=5.0).fit(X, Y)
    assert ranker.thresholds_ is None
    assert ranker.setting_ == ("dom", 0.1, 5.0, 0.0, 1e-2, 0.0)
