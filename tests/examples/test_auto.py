"""What "auto" chooses: against folds written out, and common sense."""

import numpy as np
import pytest

from classmark import ExampleQuery
from classmark.arrays import rows_from
from classmark.corpus.documents import folds
from classmark.examples import auto
from classmark.examples.auto import QUICK, ROCCHIO, SETTINGS, Setting
from classmark.examples.problem import training_set
from classmark.solvers.hinge import Hinges
from oracles.hinge import optimum
from topics import average_precision, topic, unit

HINGES = [s for s in SETTINGS if s.cost and not s.squared]
PLAIN = [Setting(0.3), *(each for each in HINGES if not each.hopes)]
SQUARED = SETTINGS[-1]


def formula(w, P, U, C, setting):
    """The objective of a query without hopeful documents, as the module has it."""
    training = training_set(P, U)
    cost = auto.lowered(setting, training)
    choice, C = auto.numbers(training, None, setting, cost), C * cost
    inside = np.maximum(0, 1 - P @ w).sum()
    outside = np.maximum(0, choice.margin + U @ w).sum()
    return 0.5 * w @ w + C * inside + C * choice.gamma * len(P) / len(U) * outside


@pytest.mark.parametrize("setting", PLAIN)
def test_the_objective_is_that_of_the_formula_and_nothing_nearby_is_lower(setting):
    rng = np.random.default_rng(1)
    P, U, _ = topic(rng, 12, 90, 10)
    query = auto.learn(training_set(P, U), 1.5, 1e-6, None, setting)
    w, here = query.solution.weights, query.solution.objective
    assert here == pytest.approx(formula(w, P, U, 1.5, setting), rel=1e-6)
    for _ in range(30):
        near = w + rng.normal(size=len(w)) * 10.0 ** rng.uniform(-5, 0)
        assert formula(near, P, U, 1.5, setting) >= here * (1 - 1e-5)


def squared(w, b, P, N, U, C):
    """The objective of squared hinges, as the module has it; N as dear as P."""
    n = len(P) + len(U)
    inside = np.maximum(0, 1 - P @ w - b) ** 2
    no, outside = (np.maximum(0, 1 + X @ w + b) ** 2 for X in (N, U))
    example = C * n / (2 * len(P))
    cost = example * inside.sum() + C * n / (2 * len(U)) * outside.sum()
    return 0.5 * (w @ w + b * b) + cost + min(1, len(P) / len(N)) * example * no.sum()


@pytest.mark.parametrize("rejected", [3, 20])
def test_squared_hinges_have_the_least_objective_of_the_formula(rejected):
    rng = np.random.default_rng(11)
    P, U, _ = topic(rng, 12, 90, 10)
    N, known = U[:rejected], np.arange(rejected)
    query = auto.learn(training_set(P, U, N, labelled=known), 1.5, 1e-8, None, SQUARED)
    (state,) = query.states
    w, b, others = state[:-1], state[-1], U[rejected:]
    assert np.array_equal(w, query.solution.weights)
    here = squared(w, b, P, N, others, 1.5 * SQUARED.cost)
    assert here == pytest.approx(query.solution.objective, rel=1e-9)
    for _ in range(30):
        near = np.append(w, b) + rng.normal(size=len(w) + 1) * 10 ** rng.uniform(-5, 0)
        value = squared(near[:-1], near[-1], P, N, others, 1.5 * SQUARED.cost)
        assert value >= here * (1 - 1e-9)


def test_the_setting_without_cost_is_rocchios_query():
    rng = np.random.default_rng(12)
    P, U, _ = topic(rng, 12, 90, 10)
    query = auto.learn(training_set(P, U), 1.0, 0.01, None, ROCCHIO)
    assert np.allclose(query.weights, P.mean(axis=0) - U.mean(axis=0))


def slow_shares(P, U, C, settings):
    """Every fold and setting by a general solver, over dense rows."""
    known, others = U[::2], U[1::2]
    table = []
    for setting in settings:
        cost = min(setting.cost, auto.PRICE * len(U) / (setting.gamma * len(P)))
        margin = auto.MARGIN / max(1, np.sqrt(cost))
        row = []
        for learned, out in folds(len(P), auto.FOLDS, random_state=0):
            n, u = len(learned), len(known)
            boxes = C * cost * np.array([1.0, setting.gamma * n / u])
            pairs = ([1.0, -1.0], boxes, [1.0, margin])
            rows = np.arange(n + u, dtype=np.uint32)
            hinges = Hinges(rows, *(np.repeat(pair, [n, u]) for pair in pairs))
            X = np.vstack([P[learned], known])
            _, w = optimum(X, hinges, np.zeros(X.shape[1]))
            row += [(others @ w >= P[i] @ w).mean() for i in out]
        table.append(row)
    return np.array(table)


def test_shares_above_left_out_examples_are_those_of_queries_without_them(monkeypatch):
    monkeypatch.setattr(auto, "ROUGH", 1e-7)
    rng = np.random.default_rng(2)
    P, U, _ = topic(rng, 11, 80, 15)
    quick = auto.left_out_shares(training_set(P, U), 2.0, PLAIN)
    slow = slow_shares(P, U, 2.0, PLAIN)
    assert quick.shape == (len(PLAIN), 11)
    assert np.abs(quick - slow).max() <= 1 / 40 + 1e-9  # one document, by rounding
    assert np.isclose(quick, slow).mean() > 0.9


def test_hopeful_documents_change_ranks_of_left_out_examples():
    rng = np.random.default_rng(3)
    P, U, _ = topic(rng, 10, 400, 40)
    both = [Setting(0.3, 1.0, hopes) for hopes in (0.0, 1.0)]
    shares = auto.left_out_shares(training_set(P, U), 1.0, both)
    assert not np.array_equal(*shares)


def test_no_labelled_document_is_compared_with():
    rng = np.random.default_rng(4)
    P, U, _ = topic(rng, 8, 60, 10)
    labelled = np.arange(0, 60, 3)
    among = auto.left_out_shares(training_set(P, U, labelled=labelled), 1.0)
    apart = auto.left_out_shares(training_set(P, np.delete(U, labelled, axis=0)), 1.0)
    assert np.allclose(among, apart)


def test_one_document_that_is_not_labelled_is_enough():
    rng = np.random.default_rng(5)
    U = unit(rng, 3000)
    query = ExampleQuery().fit(U[:20], U, known=range(2999))
    assert query.choice_.settings == SETTINGS[:1]
    assert np.isfinite(query.coef_).all()


def test_the_setting_that_ranks_left_out_examples_highest_has_all_votes():
    high, low = np.full(10, 0.01), np.full(10, 0.4)
    assert auto.votes(np.array([low, low, high, low])).tolist() == [0, 0, 1, 0]
    assert auto.votes(np.array([high, low, high, low])).tolist() == [1, 0, 0, 0]


def test_votes_are_those_of_examples_drawn_again():
    """With two examples that disagree: one draw in four has only one of them."""
    shares = np.array([[0.1, 0.5], [0.5, 0.12]])
    votes = auto.votes(shares, draws=40_000)
    assert votes == pytest.approx([0.75, 0.25], abs=0.01)  # of both, the first


@pytest.mark.parametrize("size", [1, 12, 30])
def test_the_query_is_the_average_of_those_of_its_settings(size):
    rng = np.random.default_rng(9)
    P, U, _ = topic(rng, size, 300, 30)
    query, training = ExampleQuery().fit(P, U), training_set(P, U)
    choice = query.choice_
    assert sum(choice.shares) == pytest.approx(1.0)
    assert len(choice.settings) <= auto.AVERAGED
    parts = [
        auto.learn(training, 1.0, 0.01, None, each).weights for each in choice.settings
    ]
    assert [part.share for part in query.parts_] == list(choice.shares)
    kinds = [part.kind for part in query.parts_]
    assert [kind == "rocchio" for kind in kinds] == [
        setting == ROCCHIO for setting in choice.settings
    ]
    assert [part.C for part in query.parts_ if part.kind != "rocchio"] == [
        each.cost if each.squared else auto.lowered(each, training)
        for each in choice.settings
        if each != ROCCHIO
    ]
    average = sum(
        share * part / np.linalg.norm(part)
        for share, part in zip(choice.shares, parts, strict=True)
    )
    assert np.allclose(query.coef_, np.linalg.norm(parts[0]) * average, atol=1e-6)


def test_a_query_chooses_again_when_its_examples_have_grown_by_half():
    rng = np.random.default_rng(6)
    P, U, relevant = topic(rng, 40, 400, 30)
    query = ExampleQuery().fit(P[:20], U)
    assert query.choice_.examples == 20
    query.partial_fit(yes=P[20:28])
    assert query.choice_.examples == 20
    query.partial_fit(yes=P[28:])
    assert query.choice_.examples == 40
    fresh = ExampleQuery().fit(P, U)
    assert query.choice_.settings == fresh.choice_.settings
    ours, theirs = (
        average_precision(each.decision_function(U), relevant)
        for each in (query, fresh)
    )
    assert ours == pytest.approx(theirs, abs=0.02)
    assert query.undo().choice_.examples == 20


def test_fewer_than_twenty_examples_choose_no_setting(monkeypatch):
    rng = np.random.default_rng(7)
    P, U, _ = topic(rng, 20, 200, 20)
    for n, fixed in ((1, auto.OF_FEW), (9, auto.OF_FEW), (19, auto.OF_TEN)):
        choice = ExampleQuery().fit(P[:n], U).choice_
        assert choice.settings == (fixed, ROCCHIO)
        assert choice.shares == (0.5, 0.5)
    assert set(ExampleQuery().fit(P, U).choice_.settings) <= set(SETTINGS)
    monkeypatch.setattr(auto, "LARGE", 100)
    assert ExampleQuery().fit(P[:19], U).choice_.settings == (auto.OF_FEW, ROCCHIO)


def test_over_large_collections_only_quick_settings_are_learned(monkeypatch):
    learned = []

    def shares(_training, _C, settings):
        learned.append(settings)
        return np.full((len(settings), 20), 0.1)

    monkeypatch.setattr(auto, "left_out_shares", shares)
    rng = np.random.default_rng(13)
    P, U, _ = topic(rng, 20, 200, 20)
    for large in (200, 199):
        monkeypatch.setattr(auto, "LARGE", large)
        ExampleQuery().fit(P, U)
    assert learned == [SETTINGS, QUICK]


def test_documents_that_are_labelled_are_never_hopeful():
    rng = np.random.default_rng(10)
    P, U, _ = topic(rng, 4, 200, 20)
    best = np.argsort(-(U @ (P.mean(0) - U.mean(0))))[:5]
    scores = auto.rocchio_of(training_set(P, U, labelled=best)).scores
    assert np.isneginf(scores[best]).all()
    assert np.isneginf(scores).sum() == 5


def test_a_document_of_the_collection_never_costs_more_than_its_price():
    rng = np.random.default_rng(8)
    P, U, _ = topic(rng, 60, 50, 5)
    for setting in SETTINGS:
        training = training_set(P, U)
        cost = auto.lowered(setting, training)
        assert cost * setting.gamma * len(P) / len(U) <= auto.PRICE + 1e-12
    few = training_set(P[:1], rows_from(U))
    assert auto.lowered(SETTINGS[0], few) == SETTINGS[0].cost
