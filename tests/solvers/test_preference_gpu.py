"""Batches of exact steps on a card, here one in NumPy, against the solver for CPUs."""

import importlib.util

import numpy as np
import pytest

import classmark as cm
from classmark.solvers import preference_gpu
from oracles import card


@pytest.fixture(params=["numpy", "cuda"])
def on_card(request, monkeypatch):
    if request.param == "numpy":
        monkeypatch.setattr(preference_gpu, "card", card.card)
    elif importlib.util.find_spec("cupy") is None:
        pytest.skip("needs CuPy and a card")


def drawn(seed, n=24, features=16, labels=6, own=1):
    rng = np.random.default_rng(seed)
    X = rng.random((n, features)) * (rng.random((n, features)) < 0.3)
    return X, [rng.choice(labels, own, replace=False).tolist() for _ in range(n)]


@pytest.mark.parametrize("own", [1, 2])
@pytest.mark.parametrize(
    ("given", "tol"),
    [({"C": 1.0}, 1e-3), ({"C": 0.1}, 1e-4), ({"C": 3.0, "prior": 0.3}, 1e-2),
     ({"C": 0.5, "class_weight": "balanced"}, 1e-3)],
)  # fmt: skip
@pytest.mark.usefixtures("on_card")
@pytest.mark.parametrize("share", [4, 100])
def test_the_optimum_is_that_of_the_solver_for_cpus(
    monkeypatch, given, tol, own, share
):
    monkeypatch.setattr(preference_gpu, "SHARE", share)
    X, labels = drawn(own, own=own)
    how = {"loss": "dom", "tol": tol, "max_iter": 200} | given
    here = cm.PreferenceRanker(**how, device="gpu").fit(X, labels)
    there = cm.PreferenceRanker(**how | {"tol": 1e-6}).fit(X, labels)
    assert here.store_ == "sparse"
    assert here.duality_gap_ <= tol
    assert here.objective_ == pytest.approx(there.objective_, rel=2 * tol)
    ours, theirs = here.decision_function(X), there.decision_function(X)
    apart = (ours - theirs) - (ours - theirs).mean(axis=1, keepdims=True)
    assert np.abs(apart).max() < 4 * (tol * there.objective_) ** 0.5


@pytest.mark.usefixtures("on_card")
def test_more_rivals_than_there_is_room_for_leave_a_gap(monkeypatch):
    X, labels = drawn(3, n=20, labels=12)
    monkeypatch.setattr(preference_gpu, "ROOM", 2)
    few = cm.PreferenceRanker(loss="dom", C=1.0, max_iter=20, device="gpu")
    assert few.fit(X, labels).duality_gap_ > 1e-2


@pytest.mark.usefixtures("on_card")
def test_a_document_without_words_costs_its_price():
    X, labels = drawn(4, n=12)
    X[3] = 0
    ranker = cm.PreferenceRanker(loss="dom", C=1.0, tol=1e-3, device="gpu")
    theirs = cm.PreferenceRanker(loss="dom", C=1.0, tol=1e-3).fit(X, labels)
    assert ranker.fit(X, labels).objective_ == pytest.approx(
        theirs.objective_, rel=2e-3
    )


@pytest.mark.usefixtures("on_card")
def test_without_a_price_it_has_its_own_setting():
    ranker = cm.PreferenceRanker(device="gpu").fit(*drawn(5))
    assert ranker.setting_ == ("dom", 10.0, None, 0.3, 1e-2, 0.0)
    assert (
        cm.PreferenceRanker(device="gpu", prior=None).fit(*drawn(5)).setting_.prior == 0
    )


@pytest.mark.usefixtures("on_card")
def test_a_path_goes_on_from_the_smaller_price():
    X, labels = drawn(10)
    how = {"loss": "dom", "tol": 1e-3}
    *_, last = cm.PreferenceRanker(**how, device="gpu").path(X, labels, [0.1, 1.0])
    theirs = cm.PreferenceRanker(**how, C=1.0).fit(X, labels)
    assert last.objective_ == pytest.approx(theirs.objective_, rel=2e-3)


def test_weights_that_the_card_does_not_hold_are_refused(monkeypatch):
    monkeypatch.setattr(preference_gpu, "card", lambda: card.card(memory=1 << 20))
    with pytest.raises(cm.Mistake, match=r"16 features × 6 labels need .* GB of the"):
        cm.PreferenceRanker(C=1.0, device="gpu").fit(*drawn(6))


@pytest.mark.parametrize(
    ("given", "told"),
    [({"loss": "dis"}, "loss is 'dis' beside device 'gpu'"),
     ({"center": 3.0}, r"center is 3\.0 beside device 'gpu'"),
     ({"thresholds": "common"}, "thresholds is 'common' beside"),
     ({"kernel": "rbf"}, "kernel is 'rbf' beside"), ({"noise": 0.5}, "noise is 0.5")],
)  # fmt: skip
@pytest.mark.usefixtures("on_card")
def test_what_a_card_does_not_learn_is_refused(given, told):
    with pytest.raises(cm.Mistake, match=told):
        cm.PreferenceRanker(C=1.0, device="gpu", **given).fit(*drawn(7))


@pytest.mark.skipif(
    importlib.util.find_spec("cupy") is not None, reason="CuPy is installed"
)
def test_without_cupy_the_remedy_is_named():
    with pytest.raises(cm.Mistake, match=r"pip install 'classmark\[gpu\]'"):
        cm.PreferenceRanker(C=1.0, device="gpu").fit(*drawn(8))


def test_another_device_is_refused():
    with pytest.raises(cm.Mistake, match="device is 'tpu': use 'cpu' or 'gpu'"):
        cm.PreferenceRanker(C=1.0, device="tpu").fit(*drawn(9))
