"""Documents one by one: what is kept, let go, grown, retired, merged and moved."""

import itertools

import numpy as np
import pytest

from classmark import PreferenceGraph, PreferenceRanker
from classmark.arrays import rows_from
from classmark.problems import Mistake
from classmark.rankers.preference import lesson_of
from classmark.solvers import preference_live
from classmark.solvers.live_documents import Lesson
from classmark.solvers.preference import Caps, ImplicitDual
from classmark.solvers.preference_live import from_batch, from_nothing, turns
from oracles import live as slow

MAPPINGS = ["dis", "dom", "dme", "dom-dme"]


def lesson(columns, labels, levels=None, values=None):
    """Some words and labels, of level 1 unless said."""
    levels = np.ones(len(labels)) if levels is None else np.array(levels)
    values = np.ones(len(columns)) if values is None else np.array(values)
    words = np.array(columns, np.uint32), values
    return Lesson(*words, np.array(labels, np.uint32), levels.astype(np.float32))


def listed(columns, n_labels, edges, loss="dom"):
    """Some words and edges; the item n_labels is the threshold."""
    graph = PreferenceGraph(n_labels, edges, thresholds=True)
    words = np.array(columns, np.uint32), np.ones(len(columns))
    return lesson_of(words, graph, loss)


def drawn(seed, n, k=6, d=20):
    """Random lessons of one or two labels."""
    rng = np.random.default_rng(seed)
    for _ in range(n):
        columns = np.flatnonzero(rng.random(d) < 0.3)
        labels = np.unique(rng.integers(0, k, 2))
        yield lesson(columns, labels, values=rng.random(len(columns)))


def started(loss="dom", C=1.0, keep=None, seed=None, n=30):
    live = from_nothing(loss, C, np.float64, keep)
    for one in drawn(seed, n) if seed is not None else ():
        live.learn(one)
    return live


@pytest.mark.parametrize(("prior", "noise"), [(0.3, None), (None, 2.0), (0.5, 1.0)])
def test_from_nothing_with_a_prior_and_noise_is_the_problem_of_the_batch(prior, noise):
    rng = np.random.default_rng(2)
    X = rng.random((30, 8)) * (rng.random((30, 8)) < 0.6)
    Y = [[int(c)] for c in rng.integers(0, 4, 30)]
    how = {"C": 1, "tol": 1e-6, "prior": prior, "noise": noise, "center": None}
    batch = PreferenceRanker("dom", **how).fit(X, Y)
    live = PreferenceRanker("dom", **how, revisits=3000).partial_fit(X, Y)
    assert live.decision_function(X) == pytest.approx(
        batch.decision_function(X), abs=2e-3
    )


def test_one_step_on_one_document_is_the_exact_one():
    """Label 0 over 1 and 2, ‖x‖² = 1, C large: α = 1/3 each, so the margins are 1."""
    live = started(C=10.0)
    live.grow(1, 3)
    live.learn(lesson([0], [0]))
    assert live.W.tolist() == [pytest.approx([2 / 3, -1 / 3, -1 / 3])]
    assert live.scores(np.array([0, 7], np.uint32), np.ones(2))[0] == live.W[0, 0]


def test_turns_are_spread_evenly_over_all_documents():
    for first, total in ((0, 7), (12345, 50)):
        counts = np.bincount(turns(first, 40 * total, total), minlength=total)
        assert counts.min() >= 36
        assert counts.max() <= 44


@pytest.mark.parametrize("loss", MAPPINGS)
def test_labels_not_born_yet_compete_with_none(loss):
    """Capacity is made in steps; what has no label takes no part."""
    live = started(loss)
    for one in drawn(3, 20, k=2):
        live.learn(one)
        live.revisit(5)
    assert live.n_labels == 2
    assert live.shelf.problem.W.shape[1] > 2
    assert not live.shelf.problem.W[:, 2:].any()
    known = started(loss)
    known.grow(20, 5)
    for one in drawn(3, 20, k=2):
        known.learn(one)
    assert known.W[:, 2:].any()


@pytest.mark.compiled_only
@pytest.mark.parametrize("loss", MAPPINGS)
def test_words_that_come_later_are_as_if_known_before(loss):
    late, early = started(loss), started(loss)
    early.grow(5000, 6)
    late.grow(0, 6)
    for live, one in itertools.product((late, early), list(drawn(4, 40, d=2000))):
        live.learn(one)
        live.revisit(10)
    assert late.n_features < early.n_features
    assert np.array_equal(late.W, early.W[: late.n_features])


@pytest.mark.compiled_only
def test_more_labels_than_two_bytes_can_name():
    live = from_nothing("dom", 1.0)
    live.grow(3, 65_530)
    live.learn(lesson([0, 2], [65_529]))
    before = live.W.copy()
    assert live.shelf.problem.pools[0].label.dtype == np.uint16
    live.learn(lesson([1], [65_600]))
    live.learn(lesson([1], [70_000]))
    assert live.shelf.problem.pools[0].label.dtype == np.uint32
    assert np.array_equal(live.W[[0, 2], :65_530], before[[0, 2]])
    assert live.scores(np.array([1], np.uint32), np.ones(1)).argmax() == 70_000
    assert (2, 65_600) in {(d[1], d[3]) for d in slow.layered_duals(live)}
    assert np.allclose(live.W, slow.weights(live), atol=1e-6)


@pytest.mark.parametrize("kinds", ["layers", "lists", "both"])
@pytest.mark.parametrize("keep", [1, 5])
def test_never_more_are_kept_than_asked(keep, kinds, monkeypatch):
    monkeypatch.setattr(preference_live, "WASTE", 4)
    live, most = started(keep=keep), 0
    for i, one in enumerate(drawn(5, 40 * keep)):
        as_list = kinds == "lists" or (kinds == "both" and i % 3 == 0)
        newest = live.learn(listed([1, 2], 6, [(i % 5, 5)]) if as_list else one)
        live.revisit(3)
        assert len(live) <= keep
        assert live.knows(newest)
        most = max(most, len(live.shelf), len(live.listed))
    assert len(live) == keep
    assert most <= 2 * keep + 6
    assert len(live.owner) == len(live.shelf)
    assert len(live.shelf.problem.pools[0].label) < 2000
    assert sum(live.knows(handle) for handle in range(40 * keep)) == keep


def test_of_those_kept_the_least_needed_goes_first():
    """Documents without words hold no duals: they go before all others."""
    live = started(keep=20, seed=6, n=10)
    empty = [live.learn(lesson([], [0])) for _ in range(10)]
    rest = [live.learn(one) for one in drawn(7, 8)]
    assert sum(live.knows(handle) for handle in empty) <= 4
    assert all(live.knows(handle) for handle in rest)


def test_what_is_let_go_has_taught_nevertheless():
    free, bound = started(seed=8), started(keep=3, seed=8)
    assert np.array_equal(free.W, bound.W)


@pytest.mark.parametrize("handle", [0, 5, 99, -1])
def test_a_document_that_is_not_kept_is_named(handle):
    live = started(keep=2, seed=9, n=6)
    live.forget(5)
    for act in (
        lambda: live.forget(handle),
        lambda: live.replace(handle, lesson([0], [0])),
        lambda: live.lesson(handle),
        lambda: live.move([handle], 0, 1),
    ):
        before = live.W.copy()
        with pytest.raises(Mistake, match=f"document {handle} .*learn .* anew"):
            act()
        assert np.array_equal(live.W, before)
    assert not live.knows(handle)


def test_time_decides_how_often_and_the_count_repeats_it(monkeypatch):
    clock = itertools.count(0.0, 0.25)
    live, same = started(seed=10), started(seed=10)
    for one in (live, same):
        one.learn(listed([3, 4], 6, [(0, 1), (1, 2), (2, 0), (6, 3)]))
    monkeypatch.setattr(preference_live.time, "perf_counter", lambda: next(clock))
    made = live.revisit_for(1.0)
    assert made == 3 * preference_live.AT_ONCE
    assert same.revisit(made) == made
    assert np.array_equal(live.W, same.W)
    assert live.visits == same.visits == made
    assert live.revisit_for(0.0) == 0
    assert started().revisit_for(1.0) == 0


@pytest.mark.parametrize("loss", MAPPINGS)
def test_a_retired_label_stays_as_it_is_and_comes_back(loss):
    live = started(loss, C=0.5, seed=11)
    live.learn(listed([0, 1], 6, [(2, 0), (0, 1), (1, 3), (6, 2)], loss))
    live.retire(2)
    before, named = live.W[:, 2].copy(), _naming(live, 2)
    for one in drawn(12, 20):
        live.learn(one)
        live.revisit(40)
    live.learn(listed([5, 1], 6, [(2, 4), (4, 1)], loss))
    assert np.array_equal(live.W[:, 2], before)
    assert _naming(live, 2) == named
    assert slow.fullest(live) <= 1.0 + 1e-9
    live.hide(live.retired - {2})
    assert slow.fullest(live) <= 1.0 + 1e-9
    live.revisit(500)
    assert len(_naming(live, 2)) > len(named)
    assert np.allclose(live.W, slow.weights(live), atol=1e-9)


def _naming(live, label):
    duals = [d for d in slow.layered_duals(live) if label in d[2:4] and d[4] > 0]
    for handle, document in live.listed.items():
        one = document.lesson
        edges = [edge for group in one.groups for edge in group]
        for edge, alpha in zip(edges, live.listed[handle].duals, strict=True):
            if label in edge and alpha > 0:
                duals.append((handle, *edge, alpha))
    return duals


@pytest.mark.parametrize("label", [-1, 6, 100])
def test_labels_that_are_not_known_are_named(label):
    live = started(seed=13)
    for act in (
        lambda: live.retire(label),
        lambda: live.merge(label, 0),
        lambda: live.merge(0, label),
        lambda: live.move([0], label, 0),
        lambda: live.hide([1, label]),
    ):
        with pytest.raises(Mistake, match=f"label {label} is not known: use 0 to 5"):
            act()
    with pytest.raises(Mistake, match="label 3 cannot be merged with itself"):
        live.merge(3, 3)
    assert live.retired == set()


@pytest.mark.parametrize("loss", MAPPINGS)
def test_merging_reads_one_label_as_the_other_everywhere(loss):
    live = started(loss, C=0.5, seed=14)
    handle = live.learn(lesson([1, 2], [0, 1, 2], [2, 1, -1]))
    by_edges = live.learn(listed([1], 6, [(0, 3), (3, 1), (1, 2)], loss))
    other = live.learn(listed([2], 6, [(4, 5)], loss))
    live.revisit(100)
    kept = live.listed[other].duals.copy()
    live.merge(0, 1)
    found = live.lesson(handle)
    assert dict(zip(found.labels.tolist(), found.levels.tolist(), strict=True)) == {
        1: 2.0,
        2: -1.0,
    }
    edges = {edge for group in live.lesson(by_edges).groups for edge in group}
    assert edges == {(1, 3), (3, 1), (1, 2)}
    assert live.lesson(by_edges).labels.tolist() == [1, 2, 3]
    assert np.array_equal(live.listed[other].duals, kept)
    assert live.retired == {0}
    assert not live.W[:, 0].any()
    assert not any(0 in live.lesson(h).labels for h in range(33))
    assert slow.wrong_duals(live) == []
    live.revisit(300)
    assert not live.W[:, 0].any()


def test_documents_of_both_labels_are_moved_to_one():
    live = started()
    live.grow(3, 3)
    handle = live.learn(lesson([0, 1], [0, 2]))
    by_edges = live.learn(listed([2], 3, [(0, 1)]))
    live.move([handle, by_edges], 0, 2)
    assert live.lesson(handle).labels.tolist() == [2]
    assert live.lesson(by_edges).groups == [[(2, 1)]]
    assert live.W[2].tolist() == [0.0, -0.5, 0.5]
    assert np.allclose(live.W, slow.weights(live))
    before = live.W.copy()
    live.move([handle, by_edges], 0, 1)
    live.move([handle], 2, 2)
    assert np.array_equal(live.W, before)


def test_weights_of_listed_groups_are_those_of_the_batch():
    """A group's cap is C times its weight, also after the batch."""
    graph = PreferenceGraph(2, [(0, 1, 3.0)])
    X = np.array([[0.1], [0.2]])
    ranker = PreferenceRanker(C=0.5).fit(X, [graph, graph])
    live = from_batch(ranker.problem_, 0.5)
    assert live.lesson(0).weights == (3.0,)
    assert live.listed[0].duals.tolist() == [pytest.approx(1.5)]
    live.replace(0, live.lesson(0))
    assert live.listed[0].duals.tolist() == [pytest.approx(1.5)]


def test_what_cannot_be_learned_one_by_one_says_so():
    with pytest.raises(Mistake, match="'svm' cannot learn document by document: use"):
        from_nothing("svm", 1.0)
    rows, Y = rows_from(np.eye(3)), rows_from(np.eye(3))
    svm = ImplicitDual(rows, Y, "svm", Caps(np.ones(3), np.ones(3)))
    with pytest.raises(Mistake, match="other than 'svm'"):
        from_batch(svm, 1.0)
    big = PreferenceRanker(memory="1B").fit(np.eye(3), np.eye(3))
    with pytest.raises(Mistake, match="larger memory"):
        from_batch(big.problem_, 1.0)


def test_a_center_stays_where_it_is():
    """Without its documents, what is left is the center."""
    rng = np.random.default_rng(15)
    X, Y = rng.random((12, 4)), rng.integers(0, 3, 12)
    ranker = PreferenceRanker(center=0.5, prior=None, tol=1e-6).fit(X, Y)
    before = ranker.weights_.copy()
    live = from_batch(ranker.problem_, 1.0)
    assert np.array_equal(live.W, before)
    for handle in range(12):
        live.forget(handle)
    lengths = np.linalg.norm(live.W, axis=0)
    assert np.allclose(lengths, 0.5)
    assert len(live) == 0
    assert live.revisit(5) == 5
