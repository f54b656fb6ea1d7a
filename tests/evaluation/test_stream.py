"""Test-then-learn: what is measured, in which order, and from what."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_matrix

from classmark.arrays import rows_from
from classmark.evaluation.stream import (
    MEASURES,
    Follower,
    RunningRocchio,
    narrowed,
    replay,
)
from classmark.measures import category_ranking_per_document
from classmark.preferences.labels import labels_from
from classmark.problems import Mistake
from classmark.rankers.linear import Rocchio
from classmark.rankers.online import CategoryPerceptron


class Parrot:
    """Says of every document what it was last told; keeps a diary."""

    def __init__(self):
        self.diary = []
        self.last = None

    def partial_fit(self, X, Y, n_labels=None):
        self.diary.append("learn" if len(X) == 1 else "learn many")
        self.last = np.zeros(n_labels)
        self.last[Y.columns] = 1.0
        return self

    def decision_function(self, X):
        self.diary.append(f"rank {len(X)}")
        return np.tile(self.last, (len(X), 1))


def stream(n=60, features=15, labels=5, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.random((n, features)) * (rng.random((n, features)) < 0.4)
    Y = [sorted({int(i % labels), int(rng.integers(labels))}) for i in range(n)]
    return csr_matrix(X), Y


def test_every_document_is_ranked_before_it_is_learned():
    parrot = Parrot()
    found = replay(parrot, np.ones((3, 1)), [[1], [1], [0]], 3)
    assert parrot.diary == ["learn", "rank 1", "learn", "rank 1", "learn"]
    assert found.measures["one_error"].tolist() == [1, 0, 1]
    assert found.measures["inspected"].tolist() == [2, 1, 2]
    assert found.measures["loss2"].tolist() == [2, 0, 2]  # ties are errors
    assert (found.seconds > 0).all()
    assert found.n_labels == 3


def test_documents_of_a_group_are_ranked_before_any_is_learned():
    parrot = Parrot()
    found = replay(parrot, np.ones((4, 1)), [[0], [1], [1], [1]], 2, list("abbc"))
    assert parrot.diary == ["learn", "rank 2", "learn", "learn", "rank 1", "learn"]
    assert found.measures["one_error"].tolist() == [0, 1, 1, 0]


def test_groups_need_a_name_for_each_document():
    with pytest.raises(Mistake, match="groups has shape"):
        replay(Parrot(), np.ones((3, 1)), [[0]] * 3, groups=[1, 2])


def test_labels_nobody_knows_yet_score_zero_and_stand_by_index():
    found = replay(Parrot(), np.ones((3, 1)), [[0], [2], [2]])
    assert found.n_labels == 3
    assert found.measures["inspected"].tolist() == [1, 3, 1]


def test_an_empty_stream_is_refused():
    with pytest.raises(Mistake, match="stream is empty"):
        replay(Parrot(), np.ones((0, 2)), [], 2)


def test_measures_are_those_of_the_measures_room():
    X, Y = stream()
    found = replay(CategoryPerceptron(), X, Y, 5)
    ranker, rows = CategoryPerceptron(), []
    for at in range(X.shape[0]):
        rows.append(ranker.decision_function(X[at]) if at else np.zeros((1, 5)))
        ranker.partial_fit(X[at], [Y[at]], 5)
    slow = category_ranking_per_document(np.concatenate(rows), Y)
    for name in MEASURES:
        np.testing.assert_allclose(found.measures[name], slow[name])


def test_a_summary_has_the_first_the_second_half_and_all():
    X, Y = stream()
    found = replay(CategoryPerceptron(), X, Y, 5)
    said, error = found.summary(first=10), found.measures["one_error"]
    assert said["first"]["one_error"] == error[:10].mean()
    assert said["second half"]["one_error"] == error[30:].mean()
    assert said["all"]["one_error"] == error.mean()
    times = said["update"]
    assert 0 < times["median"] <= times["p99"] <= times["worst"]
    assert times["median"] == pytest.approx(1000 * np.median(found.seconds))


def test_a_curve_is_the_mean_so_far():
    X, Y = stream()
    found = replay(CategoryPerceptron(), X, Y, 5)
    rounds, values = found.curve("loss2", points=7)
    assert rounds[0] == 1
    assert rounds[-1] == 60
    for t, value in zip(rounds, values, strict=True):
        assert value == pytest.approx(found.measures["loss2"][:t].mean())


def test_a_document_without_labels_is_left_out_of_the_curve():
    found = replay(Parrot(), np.ones((3, 1)), [[], [1], [1]], 2)
    rounds, values = found.curve("coverage")
    assert rounds.tolist() == [2, 3]
    assert values.tolist() == [1.0, 0.5]
    assert np.isnan(found.mean("coverage", 0, 1))


def test_wider_rows_are_scored_by_what_is_known():
    follower = Follower(RunningRocchio())
    for X, Y, k in ([[1.0]], [[0]], 1), ([[1.0, 1.0]], [[1]], 2):
        follower.see(rows_from(X), labels_from(Y, 1, k))
    scores = follower.scores(rows_from([[0.0, 1.0, 5.0]]), 4)
    assert scores[0, 1] > scores[0, 0] == 0
    assert scores[0, 2:].tolist() == [0, 0]
    again = rows_from([[1.0, 0.0, 2.0]]), labels_from([[2]], 1, 3)
    fresh = RunningRocchio().partial_fit(*again)
    follower.go_on_with(fresh, *again)
    assert follower.ranker is fresh
    assert follower.scores(rows_from([[0.0, 0.0, 1.0]]), 3).argmax() == 2
    assert len(follower.result()) == 2


@given(st.integers(0, 6), st.integers(0, 2**16))
def test_narrowed_rows_are_the_first_columns(width, seed):
    rng = np.random.default_rng(seed)
    dense = rng.random((3, 5)) * (rng.random((3, 5)) < 0.5)
    found = narrowed(rows_from(dense), width)
    assert found.width == width
    wanted = np.pad(dense, ((0, 0), (0, 1)))[:, :width]
    np.testing.assert_array_equal(found.to_scipy().toarray(), wanted)


def test_running_sums_give_the_prototypes_of_rocchio():
    X, Y = stream(labels=4)
    running = RunningRocchio().partial_fit(X, Y)
    whole = Rocchio().fit(X, Y)
    np.testing.assert_allclose(
        running.decision_function(X), whole.decision_function(X), atol=1e-9
    )


def test_one_by_one_the_weights_are_the_same_and_only_lengths_lag():
    X, Y = stream(200, labels=4)
    running = RunningRocchio()
    for at in range(200):
        width = min(1 + at // 2, 15)
        running.partial_fit(X[at, :width], [Y[at]], max(Y[at]) + 1)
    early = X[:200].toarray()
    for at in range(28):
        early[at, 1 + at // 2 :] = 0.0
    whole = Rocchio().fit(early, Y)
    np.testing.assert_allclose(
        running.decision_function(X), whole.decision_function(X), rtol=0.05, atol=1e-9
    )


def test_running_rocchio_refuses_features_it_never_learned():
    running = RunningRocchio().partial_fit([[1.0, 0.0]], [[0]])
    with pytest.raises(Mistake, match="3 features, 2 were learned"):
        running.decision_function([[1.0, 0.0, 1.0]])
