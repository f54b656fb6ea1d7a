"""Documents learned one by one beside sparse weights that were learned before."""

import time

import numpy as np
import pytest
from scipy.sparse import csr_matrix

from classmark.arrays import rows_from
from classmark.rankers.preference import PreferenceRanker
from classmark.solvers.centers import SparseCenter
from classmark.solvers.live_documents import Lesson
from classmark.solvers.preference_beside import LiveDualBeside

FEATURES, LABELS = 12, 5


@pytest.fixture
def drawn():
    rng = np.random.default_rng(5)
    X = rng.random((30, FEATURES)) * (rng.random((30, FEATURES)) < 0.4)
    labels = [
        sorted({*rng.integers(LABELS, size=1 + i % 2).tolist()}) for i in range(30)
    ]
    center = csr_matrix(
        rng.normal(size=(FEATURES, LABELS)) * (X[:FEATURES, :LABELS] > 0)
    )
    return rows_from(X), labels, center


def lesson(rows, at, labels):
    numbers = np.array(labels, np.uint32)
    return Lesson(*rows.row(at), numbers, np.ones(len(numbers), np.float32))


def taught(rows, labels, center, C=0.7, offset=None, **how):
    live = LiveDualBeside(SparseCenter(center, offset), C, **how)
    for at, own in enumerate(labels):
        live.learn(lesson(rows, at, own))
    return live


def test_visits_lead_to_the_optimum_of_all_documents(drawn):
    rows, labels, _ = drawn
    live = taught(rows, labels, csr_matrix((FEATURES, LABELS)))
    live.revisit(30_000)
    exact = PreferenceRanker("dom", C=0.7, tol=1e-8).fit(rows, labels)
    np.testing.assert_allclose(live.W.toarray(), exact.weights_, atol=1e-3)


def test_scores_are_those_of_the_center_and_what_was_learned(drawn):
    rows, labels, center = drawn
    offset = np.arange(LABELS) / 10.0
    live = taught(rows, labels, center, offset=offset)
    live.merge(1, 3)
    features = np.arange(FEATURES)
    before = live.center.weights_of(features, LABELS, live.joined)
    weights = (before + live.W[features]).toarray()
    moved = offset.copy()
    moved[3] += moved[1]
    moved[1] = 0.0
    for at in range(len(rows)):
        columns, values = rows.row(at)
        expected = values @ weights[columns] - moved
        np.testing.assert_allclose(live.scores(columns, values), expected, atol=1e-12)


def test_no_label_but_those_compared_is_moved(drawn):
    rows, _, center = drawn
    live = LiveDualBeside(SparseCenter(center), 1.0)
    live.hide([0, 4])
    live.learn(lesson(rows, 0, [2]))
    assert not live.W.toarray()[:, [0, 4]].any()
    assert np.abs(live.W.toarray().sum(axis=1)).max() < 1e-12


def test_what_is_forgotten_was_never_learned(drawn):
    rows, labels, center = drawn
    live = taught(rows, labels[:1], center)
    before = live.scores(*rows.row(5)).tolist()
    live.forget(live.learn(lesson(rows, 1, [3])))
    assert live.scores(*rows.row(5)).tolist() == before


def test_opened_again_it_goes_on_as_if_never_closed(drawn):
    rows, labels, center = drawn
    live = taught(rows, labels[:20], center, count=7)
    live.hide([1])
    live.merge(0, 2)
    live.revisit(9)
    opened = LiveDualBeside(SparseCenter(center), 0.7)
    opened.resume(live.to_arrays())
    for each in (live, opened):
        each.forget(9)
        each.learn(lesson(rows, 20, [4, 6]))  # a new label
        each.replace(11, lesson(rows, 4, [2]))
        each.revisit(13)
    for name, array in live.to_arrays().items():
        assert array.tolist() == opened.to_arrays()[name].tolist(), name
    assert live.scores(*rows.row(3)).tolist() == opened.scores(*rows.row(3)).tolist()
    assert opened.n_labels == 7


def test_visits_end_when_the_time_is_over_however_long_one_takes(drawn, monkeypatch):
    rows, labels, center = drawn
    live = taught(rows, labels[:20], center)
    visit = live._visit  # noqa: SLF001 (made slow)
    monkeypatch.setattr(live, "_visit", lambda at: (time.sleep(0.02), visit(at)))
    assert live.revisit_for(0.01) == 1


def test_what_is_remembered_of_the_center_is_what_it_says(drawn):
    rows, labels, center = drawn
    live = taught(rows, labels[:12], center)
    live.revisit(50)
    for lesson in live.lessons.values():
        scores = live.fixed(lesson.columns, lesson.values)
        every = live.center.scores(lesson.columns, lesson.values, live.n_labels, ())
        asked = np.arange(live.n_labels)[::-1]
        assert scores.of(asked).tolist() == every.of(asked).tolist()
        assert scores.of(asked[:2]).tolist() == every.of(asked[:2]).tolist()


def test_of_a_new_document_the_center_is_asked_once(drawn, monkeypatch):
    rows, labels, center = drawn
    live, asked = taught(rows, labels[:12], center), []
    ask = SparseCenter.scores
    monkeypatch.setattr(SparseCenter, "scores", lambda *a: asked.append(1) or ask(*a))
    live.learn(lesson(rows, 20, [1]))
    live.best(*rows.row(20), 2)
    assert len(asked) == 1
    live.grow(0, live.n_labels + 1)
    assert sorted(live.best(*rows.row(20), 9)[0].tolist()) == list(range(LABELS + 1))
