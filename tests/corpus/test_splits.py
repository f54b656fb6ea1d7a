"""Every document is in its place, once."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from classmark.corpus.documents import (
    cross_validate,
    folds,
    folds_by_arrival,
    train_test,
)
from classmark.problems import Mistake


@given(st.integers(2, 60), st.floats(0.01, 0.99), st.integers(0, 9))
def test_train_and_test_part_the_documents(n, test, seed):
    learn, ask = train_test(n, test, seed)
    assert sorted([*learn, *ask]) == list(range(n))
    assert list(learn) == sorted(learn)
    assert len(ask) == min(max(round(n * test), 1), n - 1)
    again = train_test(n, test, seed)
    assert again[1].tolist() == ask.tolist()


@given(st.integers(2, 40), st.data())
def test_each_document_is_asked_in_one_fold(n, data):
    k = data.draw(st.integers(2, n))
    asked = []
    for learn, ask in folds(n, k, random_state=3):
        assert sorted([*learn, *ask]) == list(range(n))
        assert len(ask) in {n // k, n // k + 1}
        asked += ask.tolist()
    assert sorted(asked) == list(range(n))


@given(st.lists(st.integers(0, 4), min_size=2, max_size=60), st.data())
def test_what_came_later_is_in_a_later_fold(groups, data):
    k = data.draw(st.integers(2, len(groups)))
    fold_of = {}
    for fold, (learn, ask) in enumerate(folds_by_arrival(groups, k)):
        assert sorted([*learn, *ask]) == list(range(len(groups)))
        assert list(learn) == sorted(learn)
        fold_of |= dict.fromkeys(ask.tolist(), fold)
    for group in set(groups):
        own = [fold_of[at] for at in range(len(groups)) if groups[at] == group]
        assert own == sorted(own)


def test_documents_that_came_group_by_group_are_learned_from_in_every_fold():
    groups = ["a"] * 10 + ["b"] * 20 + ["c"] * 5
    for learn, ask in folds_by_arrival(groups, 5):
        assert [sum(groups[at] == name for at in ask) for name in "abc"] == [2, 4, 1]
        assert {groups[at] for at in learn} == {"a", "b", "c"}


def test_results_of_folds_and_settings_come_in_the_documents_order():
    tasks = [(*part, by) for part in folds(7, 3) for by in (1, 10)]
    documents, results = cross_validate(lambda task: task[1] * task[2], tasks)
    assert documents.tolist() == [at for at in range(7) for _ in range(2)]
    assert results.reshape(7, 2).tolist() == [[at, 10 * at] for at in range(7)]


def test_another_seed_gives_another_split():
    assert train_test(100, 0.5, 1)[1].tolist() != train_test(100, 0.5, 2)[1].tolist()


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: train_test(5, 1.0), "test is 1.0"),
        (lambda: train_test(1), "n is 1"),
        (lambda: folds(3, 4), "k is 4.*3 documents"),
        (lambda: folds(3, 1), "k is 1"),
    ],
)
def test_mistakes(call, message):
    with pytest.raises(Mistake, match=message):
        call()
