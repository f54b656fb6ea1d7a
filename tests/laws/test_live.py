"""What holds of documents learned one by one, whatever is done with them."""

from unittest import mock

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from classmark import PreferenceGraph, PreferenceRanker
from classmark.rankers.preference import lesson_of
from classmark.solvers import preference_live
from classmark.solvers.live_arrays import from_arrays, to_arrays
from classmark.solvers.preference_live import (
    from_batch,
    from_nothing,
)
from oracles import live as slow

SEEDS = st.integers(0, 2**32 - 1)
MAPPINGS = st.sampled_from(["dis", "dom", "dme", "dom-dme"])
KINDS = ["labels", "grades", "unsure", "listed", "threshold"]
PURE = [KINDS[:3], KINDS[3:]]  # layers only, lists only
K, D = 4, 5


def graph_of(rng, kind, k=K):
    """A random graph: layered ones of three kinds, listed ones of two."""
    if kind == "labels":
        return PreferenceGraph.multilabel(k, np.flatnonzero(rng.random(k) < 0.4))
    if kind == "grades":
        return PreferenceGraph(k, levels=rng.integers(0, 3, k))
    if kind == "unsure":
        return PreferenceGraph(k, levels=rng.integers(-1, 2, k))
    if kind == "listed":
        u, v, w = rng.permutation(k)[:3].tolist()
        return PreferenceGraph(k, [(u, v, 2.0), (v, w), (w, u)])
    above = np.flatnonzero(rng.random(k) < 0.4)
    return PreferenceGraph.against_threshold(k, above, edges=[(0, 1)])


def words_of(rng, d=D):
    """Draw a sparse document, sometimes without any words."""
    columns = np.flatnonzero(rng.random(d) < 0.6).astype(np.uint32)
    return columns, rng.standard_normal(len(columns))


def draw(rng, loss, kinds, k=K, d=D):
    return lesson_of(words_of(rng, d), graph_of(rng, rng.choice(kinds), k), loss)


class Acts:
    """Random acts on a live problem; what is kept is known by handle."""

    def __init__(self, rng, loss, kinds, dtype=np.float64):
        self.rng, self.loss, self.kinds = rng, loss, kinds
        self.live = from_nothing(loss, 0.7, dtype)
        self.kept, self.k, self.d = [], K, D

    def act(self):
        """Do one thing, at random; learn more often than anything else."""
        names = ["learn"] * 4 + ["revisit"] * 2
        names += ["replace", "forget", "grow", "retire", "back", "merge", "move"]
        getattr(self, self.rng.choice(names))()

    def lesson(self):
        return draw(self.rng, self.loss, self.kinds, self.k, self.d)

    def learn(self):
        self.kept.append(self.live.learn(self.lesson()))

    def revisit(self):
        self.live.revisit(int(self.rng.integers(30)))

    def replace(self):
        if self.kept:
            self.live.replace(self.rng.choice(self.kept), self.lesson())

    def forget(self):
        if self.kept:
            at = int(self.rng.integers(len(self.kept)))
            self.live.forget(self.kept.pop(at))

    def grow(self):
        self.k, self.d = self.k + int(self.rng.integers(2)), self.d + 1
        self.live.grow(self.d, self.k)

    def retire(self):
        if self.live.n_labels:
            self.live.retire(int(self.rng.integers(self.live.n_labels)))

    def back(self):
        for label in sorted(self.live.retired)[:1]:
            self.live.hide(self.live.retired - {label})

    def merge(self):
        if self.live.n_labels > 1:
            label, into = self.rng.permutation(self.live.n_labels)[:2].tolist()
            self.live.merge(label, into)

    def move(self):
        if self.live.n_labels and self.kept:
            chosen = [h for h in self.kept if self.rng.random() < 0.5]
            label = int(self.rng.integers(self.live.n_labels))
            self.live.move(chosen, label, int(self.rng.integers(self.k)))


@given(SEEDS, MAPPINGS, st.lists(st.sampled_from(KINDS), min_size=1, unique=True))
@example(110879, "dom-dme", ["threshold", "grades"])  # closes gaps after a tidying
def test_weights_are_what_the_duals_say_and_these_stay_feasible(seed, loss, kinds):
    acts = Acts(np.random.default_rng(seed), loss, kinds)
    with mock.patch.object(preference_live, "WASTE", 2):
        for _ in range(40):
            acts.act()
            live = acts.live
            assert np.allclose(live.W, slow.weights(live), atol=1e-9)
            assert live.tau[0] == pytest.approx(slow.threshold(live), abs=1e-9)
            assert slow.fullest(live) <= 1.0 + 1e-9
            assert slow.wrong_duals(live) == []
            assert len(live) == len(acts.kept)
            spare = live.shelf.problem.W
            assert not spare[:, live.n_labels :].any()


@given(SEEDS, MAPPINGS, st.lists(st.sampled_from(KINDS), min_size=1, unique=True))
def test_visits_and_acts_are_the_same_every_time(seed, loss, kinds):
    runs = []
    for _ in range(2):
        acts = Acts(np.random.default_rng(seed), loss, kinds)
        for _ in range(25):
            acts.act()
        runs.append(acts.live)
    assert np.array_equal(runs[0].W, runs[1].W)
    runs[0].revisit(7)
    runs[0].revisit(0)
    runs[0].revisit(16)
    runs[1].revisit(23)
    assert np.array_equal(runs[0].W, runs[1].W)
    assert runs[0].tau[0] == runs[1].tau[0]


def stream(seed, kinds, n=14):
    """Documents as rows of X, graphs, and the words of each."""
    rng = np.random.default_rng(seed)
    words = [words_of(rng) for _ in range(n)]
    graphs = [graph_of(rng, rng.choice(kinds)) for _ in range(n)]
    X = np.zeros((n, D))
    for i, (columns, values) in enumerate(words):
        X[i, columns] = values
    return X, graphs, words


def meets(live, best, rest, loss):
    """Whether enough visits come within a thousandth of the best objective."""
    for _ in range(30):
        live.revisit(2000)
        value = slow.objective(live.W, float(live.tau[0]), *rest, loss, live.C)
        assert value >= best * (1 - 1e-4)
        if value <= best * (1 + 1e-3) + 1e-6:
            return True
    return False


@given(SEEDS, MAPPINGS, st.sampled_from([np.float32, np.float64]))
def test_closed_and_opened_again_it_goes_on_bit_by_bit(seed, loss, dtype):
    acts = Acts(np.random.default_rng(seed), loss, KINDS, dtype)
    for _ in range(25):
        acts.act()
    opened = from_arrays(to_arrays(acts.live), loss)
    random = acts.rng.bit_generator.state
    before, runs = (list(acts.kept), acts.k, acts.d), []
    for live in (acts.live, opened):
        acts.live, acts.rng.bit_generator.state = live, random
        acts.kept, acts.k, acts.d = list(before[0]), *before[1:]
        for _ in range(25):
            acts.act()
        runs.append(live)
    assert np.array_equal(runs[0].W, runs[1].W)
    assert runs[0].tau[0] == runs[1].tau[0]
    assert runs[0].retired == runs[1].retired


@given(SEEDS, MAPPINGS, st.lists(st.sampled_from(KINDS), min_size=1, unique=True))
def test_many_visits_meet_the_batch_and_forget_as_if_never_seen(seed, loss, kinds):
    X, graphs, words = stream(seed, kinds)
    C = 0.7
    live = from_nothing(loss, C, np.float64)
    live.grow(D, K)
    handles = [
        live.learn(lesson_of(w, g, loss)) for w, g in zip(words, graphs, strict=True)
    ]
    for gone in (0, 3):
        for handle in handles[:gone]:
            live.forget(handle)
        rest = X[gone:], graphs[gone:]
        best = PreferenceRanker(loss, C, 1e-5).fit(*rest)
        assert meets(live, best.objective_, rest, loss)


@given(SEEDS, MAPPINGS, st.sampled_from(KINDS))
def test_what_was_learned_last_can_be_taken_back(seed, loss, kind):
    rng = np.random.default_rng(seed)
    live = from_nothing(loss, 0.7, np.float64)
    live.grow(D, K)
    for _ in range(6):
        live.learn(draw(rng, loss, KINDS))
    before, tau = live.W.copy(), live.tau[0]
    lesson, other = (draw(rng, loss, [kind]) for _ in range(2))
    handle = live.learn(lesson)
    live.replace(handle, other)
    replaced = live.W.copy()
    live.forget(handle)
    assert np.allclose(live.W, before, atol=1e-10)
    assert live.tau[0] == pytest.approx(tau, abs=1e-10)
    live.learn(other)
    assert np.allclose(live.W, replaced, atol=1e-10)


@given(SEEDS, MAPPINGS, st.sampled_from([1, 2]), st.sampled_from([KINDS, *PURE]))
def test_a_batch_goes_on_as_it_was(seed, loss, threads, kinds):
    X, graphs, words = stream(seed, kinds)
    ranker = PreferenceRanker(loss, 0.7, 1e-4, n_jobs=threads).fit(X, graphs)
    before = ranker.weights_.copy()
    live = from_batch(ranker.problem_, 0.7, loss=loss)
    assert np.allclose(live.W, before, atol=1e-12)
    assert np.allclose(live.W, slow.weights(live), atol=1e-9)
    assert slow.fullest(live) <= 1.0 + 1e-9
    for handle, (columns, _) in enumerate(words):
        assert np.array_equal(live.lesson(handle).columns, columns)
    live.forget(4)
    rest = np.delete(X, 4, 0), graphs[:4] + graphs[5:]
    best = PreferenceRanker(loss, 0.7, 1e-5).fit(*rest)
    assert meets(live, best.objective_, rest, loss)


@given(SEEDS, MAPPINGS)
def test_a_merged_label_has_the_scores_of_both(seed, loss):
    """Exactly so where every document has one label and no group is full of both."""
    rng = np.random.default_rng(seed)
    live = from_nothing(loss, 5.0, np.float64)
    live.grow(D, K)
    for _ in range(8):
        graph = PreferenceGraph.multilabel(K, [int(rng.integers(K))])
        columns = np.flatnonzero(rng.random(D) < 0.6).astype(np.uint32)
        live.learn(lesson_of((columns, 2 + rng.random(len(columns))), graph, loss))
    before = live.W.copy()
    live.merge(3, 1)
    assert np.array_equal(live.W[:, [0, 2]], before[:, [0, 2]])
    assert np.array_equal(live.W[:, 1], before[:, 1] + before[:, 3])
    assert not live.W[:, 3].any()
    live.revisit(200)
    assert not live.W[:, 3].any()
    assert np.allclose(live.W, slow.weights(live), atol=1e-9)
    assert slow.fullest(live) <= 1.0 + 1e-9


@given(SEEDS, MAPPINGS, st.lists(st.sampled_from(KINDS[:3]), min_size=1, unique=True))
def test_documents_moved_to_a_new_label_take_what_they_taught_along(seed, loss, kinds):
    rng = np.random.default_rng(seed)
    live = from_nothing(loss, 0.7, np.float64)
    live.grow(D, K)
    handles = [live.learn(draw(rng, loss, kinds)) for _ in range(8)]
    live.revisit(50)
    before, won = live.W.copy(), np.zeros(D)
    for _, place, winner, _, alpha in slow.layered_duals(live):
        columns, values = live.shelf.problem.rows.row(place)
        won[columns] += alpha * values * (winner == 2)
    live.move(handles, 2, K)
    assert np.array_equal(live.W[:, [0, 1, 3]], before[:, [0, 1, 3]])
    assert np.allclose(live.W[:, 2] + live.W[:, K], before[:, 2], atol=1e-12)
    assert not any(winner == 2 for _, _, winner, _, _ in slow.layered_duals(live))
    assert slow.wrong_duals(live) == []
    if kinds == ["labels"]:
        assert np.allclose(live.W[:, K], won, atol=1e-12)
