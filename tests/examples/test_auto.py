"""What "auto" chooses: against folds written out, and common sense."""

import numpy as np
import pytest

from classmark import ExampleQuery
from classmark.arrays import rows_from
from classmark.corpus.documents import folds
from classmark.examples import auto
from classmark.examples.auto import SETTINGS, Setting
from classmark.examples.problem import training_set
from classmark.solvers.hinge import Hinges
from oracles.hinge import optimum
from topics import average_precision, topic, unit


def formula(w, P, U, C, choice):
    """The objective of a query without hopeful documents, as the module has it."""
    C = C * choice.cost
    inside = np.maximum(0, 1 - P @ w).sum()
    outside = np.maximum(0, choice.margin + U @ w).sum()
    return 0.5 * w @ w + C * inside + C * choice.gamma * len(P) / len(U) * outside


@pytest.mark.parametrize("setting", [each for each in SETTINGS if not each.hopes])
def test_the_objective_is_that_of_the_formula_and_nothing_nearby_is_lower(setting):
    rng = np.random.default_rng(1)
    P, U, _ = topic(rng, 12, 90, 10)
    query = auto.learn(training_set(P, U), 1.5, 1e-6, None, setting)
    w, here = query.solution.weights, query.solution.objective
    assert here == pytest.approx(formula(w, P, U, 1.5, query.choice), rel=1e-6)
    for _ in range(30):
        near = w + rng.normal(size=len(w)) * 10.0 ** rng.uniform(-5, 0)
        assert formula(near, P, U, 1.5, query.choice) >= here * (1 - 1e-5)


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
    plain = [setting for setting in SETTINGS if not setting.hopes]
    quick = auto.left_out_shares(training_set(P, U), 2.0, plain)
    slow = slow_shares(P, U, 2.0, plain)
    assert quick.shape == (len(plain), 11)
    assert np.abs(quick - slow).max() <= 1 / 40 + 1e-9  # one document, by rounding
    assert np.isclose(quick, slow).mean() > 0.9


def test_hopeful_documents_change_ranks_of_left_out_examples():
    rng = np.random.default_rng(3)
    P, U, _ = topic(rng, 10, 400, 40)
    both = [Setting(0.3, 1.0, hopes=hopes) for hopes in (False, True)]
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
    assert query.choice_.setting == SETTINGS[0]
    assert np.isfinite(query.coef_).all()


def test_the_setting_that_ranks_left_out_examples_highest_is_preferred():
    high, low = np.full(10, 0.01), np.full(10, 0.4)
    assert auto.preferred(np.array([low, low, high, low])) == 2
    assert auto.preferred(np.array([high, low, high, low])) == 0


def test_in_doubt_the_first_setting_stands():
    ranks = np.array([0.1, 0.2, 0.05, 0.1])
    moved = ranks * np.array([0.2, 2.0, 0.3, 2.0])  # better and worse by turns
    assert np.log(moved + auto.OFFSET).mean() < np.log(ranks + auto.OFFSET).mean()
    assert auto.preferred(np.array([ranks, moved])) == 0
    assert auto.preferred(np.array([ranks, ranks * 0.5])) == 1


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
    assert query.choice_.setting == fresh.choice_.setting
    ours, theirs = (
        average_precision(each.decision_function(U), relevant)
        for each in (query, fresh)
    )
    assert ours == pytest.approx(theirs, abs=0.02)
    assert query.undo().choice_.examples == 20


def test_fewer_than_twenty_examples_choose_no_setting():
    rng = np.random.default_rng(7)
    P, U, _ = topic(rng, 20, 200, 20)
    one, few = (ExampleQuery().fit(P[:n], U).choice_ for n in (1, 19))
    assert one.setting == (1.0, 1.0, True)
    clean = np.clip(0.02 * 200 / few.hidden, 1, 4) ** (19 / 24)
    assert few.setting == (1.0, pytest.approx(clean), True)
    assert ExampleQuery().fit(P, U).choice_.setting in SETTINGS


def test_a_document_of_the_collection_never_costs_more_than_its_price():
    rng = np.random.default_rng(8)
    P, U, _ = topic(rng, 60, 50, 5)
    for setting in SETTINGS:
        training = training_set(P, U)
        cost = auto.lowered(setting, training)
        assert cost * setting.gamma * len(P) / len(U) <= auto.PRICE + 1e-12
    few = training_set(P[:1], rows_from(U))
    assert auto.lowered(SETTINGS[0], few) == SETTINGS[0].cost
