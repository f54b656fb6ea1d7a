import numpy as np
import pytest

from classmark import ranking
from classmark.problems import Mistake
from classmark.ranking import cut, order, rank, top


def slow_order(row):
    return sorted(range(len(row)), key=lambda item: (-row[item], item))


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int64, np.uint8])
def test_order_and_top_equal_a_plain_sort(dtype):
    rng = np.random.default_rng(0)
    scores = rng.integers(0, 6, size=(30, 17)).astype(dtype)
    expected = np.array([slow_order(row.tolist()) for row in scores])
    np.testing.assert_array_equal(order(scores), expected)
    for k in (0, 1, 5, 16, 17, 40):
        np.testing.assert_array_equal(top(scores, k), expected[:, :k])
        np.testing.assert_array_equal(top(scores[0], k), expected[0, :k])


def test_top_of_continuous_scores_and_of_small_blocks(monkeypatch):
    scores = np.random.default_rng(1).normal(size=(50, 40))
    scores[:, 7] = -np.inf
    expected = order(scores)[:, :9]
    monkeypatch.setattr(ranking, "BLOCK", 100)
    np.testing.assert_array_equal(top(scores, 9), expected)
    assert top(np.empty((0, 40)), 9).shape == (0, 9)


def test_a_ranking_is_in_order_whatever_came_in():
    rng = np.random.default_rng(2)
    query, item = np.divmod(rng.permutation(60), 20)
    score = rng.integers(0, 4, size=60) / 2
    ranked = rank(query, item, score)
    for q in range(3):
        chosen = query == q
        expected = sorted(zip(-score[chosen], item[chosen], strict=True))
        items, scores = ranked.of(q)
        assert [*zip(-scores, items, strict=True)] == expected
    assert ranked.ranks().tolist() == [*range(1, 21)] * 3
    assert len(ranked.of(9)[0]) == 0


def test_cut():
    scores = np.random.default_rng(3).integers(0, 5, size=(4, 30)).astype(float)
    query, item = np.divmod(np.arange(120), 30)
    whole = rank(query, item, scores.ravel())
    best = cut(whole, 5)
    np.testing.assert_array_equal(best.items.reshape(4, 5), top(scores, 5))
    assert len(cut(whole, 0)) == 0


def test_mistakes_are_named():
    with pytest.raises(Mistake, match="scores, row 1: a score is not a number"):
        top([[0.0, 1.0], [np.nan, 1.0]], 1)
    with pytest.raises(Mistake, match="scores, place 0"):
        order([np.nan])
    with pytest.raises(Mistake, match="k is -1"):
        top([0.0], -1)
    with pytest.raises(Mistake, match="k is -1"):
        cut(rank([], [], []), -1)
    with pytest.raises(Mistake, match="three flat arrays"):
        rank([0], [0, 1], [0.0, 1.0])
    with pytest.raises(Mistake, match="3 dimensions"):
        order(np.zeros((1, 1, 1)))
