import subprocess
import sys
import time

import numpy as np
import pytest
from scipy import sparse
from sklearn import metrics

from classmark.arrays import Rows, rows_from
from classmark.measures import (
    CategoryTally,
    categories,
    category_ranking,
    category_ranking_per_document,
    precision_at_rank,
    ranking_error,
    recall_at_rank,
)
from classmark.measures.categories import FEW, rank_relevant
from classmark.problems import Mistake
from classmark.ranking import order
from oracles import measures as slow

NAMES = ["loss1", "loss2", "loss3", "one_error", "coverage", "average_precision"]
NAMES += ["max_f1"]


def draw(seed, n=40, k=12, *, tied=False, least=0):
    """Scores and label lists of any size from ``least`` to all."""
    rng = np.random.default_rng(seed)
    scores = rng.normal(size=(n, k))
    if tied:
        scores = np.round(scores)
    sizes = rng.integers(least, k + 1, size=n)
    sizes[:3] = [least, k, k - 1]
    return scores, [np.sort(rng.choice(k, size, replace=False)) for size in sizes]


def indicator(Y, k):
    matrix = np.zeros((len(Y), k), int)
    for row, labels in enumerate(Y):
        matrix[row, labels] = 1
    return matrix


def same_as_the_oracle(scores, Y):
    starts = np.cumsum([0, *map(len, Y)])
    columns = np.concatenate(Y).astype(np.uint32)
    labels = Rows(starts, columns, np.ones(len(columns)), scores.shape[1])
    ranks, above = slow.relevant_ranks(scores, starts, columns)
    ranked = rank_relevant(scores, labels)
    np.testing.assert_array_equal(ranked.ranks, ranks)
    np.testing.assert_array_equal(ranked.above, above)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("tied", [False, True])
@pytest.mark.parametrize("k", [1, 7, 3 * FEW])
def test_ranks_equal_their_oracle(k, tied, dtype):
    scores, Y = draw(k, n=25, k=k, tied=tied)
    same_as_the_oracle(scores.astype(dtype), Y)


@pytest.mark.parametrize("k", [7, 3 * FEW])
def test_infinite_scores_are_tied_as_others_are(k):
    scores, Y = draw(k, n=25, k=k)
    scores[scores > 1] = np.inf
    scores[scores < -0.5] = -np.inf
    same_as_the_oracle(scores, Y)


def test_ranks_of_blocks_are_those_of_the_whole(monkeypatch):
    monkeypatch.setattr(categories, "BLOCK", 3 * 12)
    same_as_the_oracle(*draw(4, tied=True))


@pytest.mark.parametrize("tied", [False, True])
@pytest.mark.parametrize("k", [3, 12, 80])
def test_measures_equal_their_definitions(k, tied):
    scores, Y = draw(k, k=k, tied=tied)
    result = category_ranking(scores, Y)
    expected = slow.category_ranking(scores, Y)
    assert result.pop("skipped") == sum(len(y) == 0 for y in Y) > 0
    assert set(result) == set(NAMES) == set(expected)
    assert result == pytest.approx(expected)


def test_measures_equal_scikit_learn_without_ties():
    scores, Y = draw(5, least=1)
    result, truth = category_ranking(scores, Y), indicator(Y, 12)
    lrap = metrics.label_ranking_average_precision_score(truth, scores)
    assert result["average_precision"] == pytest.approx(lrap)
    assert result["coverage"] == pytest.approx(
        metrics.coverage_error(truth, scores) - 1
    )
    assert result["loss3"] == pytest.approx(metrics.label_ranking_loss(truth, scores))


def test_measures_equal_scikit_learn_with_ties():
    """Losses take ties as errors, as there; ranks break them by label first."""
    scores, Y = draw(6, least=1, tied=True)
    result, truth = category_ranking(scores, Y), indicator(Y, 12)
    assert result["loss3"] == pytest.approx(metrics.label_ranking_loss(truth, scores))
    untied = -np.argsort(order(scores), axis=1)
    lrap = metrics.label_ranking_average_precision_score(truth, untied)
    assert result["average_precision"] == pytest.approx(lrap)
    assert result["coverage"] == pytest.approx(
        metrics.coverage_error(truth, untied) - 1
    )


@pytest.mark.parametrize("tied", [False, True])
def test_precision_and_recall_at_every_rank(tied):
    scores, Y = draw(8, tied=tied)
    ranked = [slow.order(row) for row in scores]
    ideal = [[*y, *(set(range(12)) - set(y))] for y in map(list, Y)]
    for r in range(1, 13):
        found = np.mean(
            [slow.precision(a, set(y), r) for a, y in zip(ranked, Y, strict=True)]
        )
        best = np.mean(
            [slow.precision(a, set(y), r) for a, y in zip(ideal, Y, strict=True)]
        )
        shares = [
            slow.recall(a, set(y), r) for a, y in zip(ranked, Y, strict=True) if len(y)
        ]
        plain = precision_at_rank(scores, Y, normalized=False)
        assert plain[r - 1] == pytest.approx(found)
        assert precision_at_rank(scores, Y)[r - 1] == pytest.approx(found / best)
        assert recall_at_rank(scores, Y)[r - 1] == pytest.approx(np.mean(shares))
        named = category_ranking(scores, Y, [f"P@{r}", f"R@{r}", f"nP@{r}"])
        assert named.pop("skipped") == sum(len(y) == 0 for y in Y)
        assert [*named.values()] == pytest.approx(
            [found, np.mean(shares), found / best]
        )


def test_beyond_the_last_rank():
    named = category_ranking([[0.3, 0.2]], [[1]], ["P@4", "R@4", "nP@4"])
    assert named == {"P@4": 0.25, "R@4": 1.0, "nP@4": 1.0, "skipped": 0}


def test_every_form_of_labels_is_the_same():
    scores, Y = draw(9)
    matrix = indicator(Y, 12)
    expected = category_ranking(scores, Y)
    graded = rows_from(2.0 * matrix)
    forms = [matrix, matrix.astype(bool), sparse.csr_matrix(matrix), graded]
    forms += [sparse.coo_array(matrix), [list(map(int, y)) for y in Y]]
    for form in forms:
        assert category_ranking(scores, form) == expected
    starts, columns = graded.starts, graded.columns
    not_wanted = np.where(columns == 3, -1.0, 1.0)
    without = [y[y != 3] for y in Y]
    assert category_ranking(
        scores, Rows(starts, columns, not_wanted, 12)
    ) == category_ranking(scores, without)


def test_all_labels_or_none():
    everything = category_ranking([[0.1, 0.2]], [[0, 1]])
    assert [everything[f"loss{i}"] for i in (1, 2, 3)] == [0, 0, 0]
    assert everything["average_precision"] == everything["max_f1"] == 1
    both = category_ranking([[0.1, 0.2], [0.5, 0.5]], [[], [0]])
    assert both == {
        "loss1": 0.5,
        "loss2": 0.5,
        "loss3": 1.0,
        "one_error": 0.5,
        "coverage": 0.0,
        "average_precision": 1.0,
        "max_f1": 1.0,
        "skipped": 1,
    }


def test_max_f1_of_the_curve_by_hand():
    """Ranks 1 and 3 of one label each: at r = 1 P = R = ½; at 3 P = ⅓, R = 1."""
    result = category_ranking(
        [[3.0, 2.0, 1.0]] * 2, [[0], [2]], ["CurveMaxF1", "MaxF1", "AP"]
    )
    assert result["CurveMaxF1"] == pytest.approx(1 / 2)
    assert result["MaxF1"] == pytest.approx((1 + 2 / 4) / 2)
    assert result["AP"] == pytest.approx((1 + 1 / 3) / 2)


@pytest.mark.parametrize("tied", [False, True])
def test_max_f1_of_the_curve_equals_its_oracle(tied):
    scores, Y = draw(12, tied=tied)
    expected = slow.curve_max_f1(scores.tolist(), [y.tolist() for y in Y])
    measured = category_ranking(scores, Y, ["curve_max_f1"])["curve_max_f1"]
    assert measured == pytest.approx(expected)


def test_the_zero_model_errs_on_every_pair():
    result = category_ranking(np.zeros((2, 5)), [[0], [1, 2]])
    assert (result["loss1"], result["loss2"], result["loss3"]) == (1, 5, 1)


def test_blocks_give_the_same_as_the_whole():
    scores, Y = draw(10, n=50)
    tally = CategoryTally(12)
    for start, end in [(0, 1), (1, 20), (20, 20), (20, 50)]:
        tally.add(scores[start:end], Y[start:end])
    expected = category_ranking(scores, Y)
    assert tally.measures() | {"skipped": tally.skipped} == pytest.approx(expected)
    np.testing.assert_allclose(tally.precision_at_rank(), precision_at_rank(scores, Y))


def test_values_of_documents_average_to_the_measure():
    scores, Y = draw(11)
    each, mean = category_ranking_per_document(scores, Y), category_ranking(scores, Y)
    assert {name: np.nanmean(values) for name, values in each.items()} == pytest.approx(
        {name: mean[name] for name in NAMES}
    )
    assert np.isnan(each["coverage"]).sum() == mean["skipped"]


def test_losses_are_graph_errors():
    """Loss 1, loss 3 and the domination errors are spec 2's, on the bipartite graph."""
    scores, Y = draw(12, n=20, k=6, tied=True)
    for row, y in zip(scores, Y, strict=True):
        others = sorted(set(range(6)) - set(y))
        if not others or not len(y):
            continue
        edges = [(int(r), s) for r in y for s in others]
        values = category_ranking(
            [row], [y], ["loss1", "loss3", "domination", "dominated"]
        )
        groups = {
            "loss1": [edges],
            "loss3": [[edge] for edge in edges],
            "domination": [[e for e in edges if e[0] == r] for r in y],
            "dominated": [[e for e in edges if e[1] == s] for s in others],
        }
        for name, group in groups.items():
            assert values[name] == pytest.approx(ranking_error(row, group))


def test_mistakes_are_named():
    with pytest.raises(Mistake, match=r"scores, row 1: a score is not a number"):
        category_ranking([[0.0, 1.0], [np.nan, 0.0]], [[0], [1]])
    with pytest.raises(Mistake, match="none of the 1 documents has a relevant label"):
        category_ranking([[0.0, 1.0]], [[]])
    with pytest.raises(Mistake, match="scores has 1 dimension"):
        category_ranking([0.0, 1.0], [[0]])
    with pytest.raises(Mistake, match="rows"):
        category_ranking([[0.0, 1.0]], [[0], [1]])
    with pytest.raises(Mistake, match=r"scores has 2 columns.*3 in every block"):
        CategoryTally(3).add([[0.0, 1.0]], [[0]])
    with pytest.raises(Mistake, match="write AP"):
        category_ranking([[0.0, 1.0]], [[0]], ["AP@3"])
    with pytest.raises(Mistake, match="nDCG is not defined for this kind of answer"):
        category_ranking([[0.0, 1.0]], [[0]], ["ndcg"])


def test_infinite_scores_have_their_place():
    assert category_ranking([[-np.inf, 0.0, np.inf]], [[2]])["coverage"] == 0


def test_importing_the_room_is_light():
    code = "import sys, classmark.measures; print({'scipy', 'numba'} & {*sys.modules})"
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, check=True)  # noqa: S603  our own code
    assert done.stdout.strip() == "set()"


def test_a_hundred_thousand_labels_take_seconds():
    """1,000 documents × 100,000 labels, by blocks; np.partition is the yardstick."""
    n, k, block = 1_000, 100_000, 50
    rng = np.random.default_rng(0)
    scores = rng.random((block, k), dtype=np.float32)
    Y = [rng.choice(k, 1 + row % 10, replace=False) for row in range(block)]
    tally = CategoryTally(k)
    began = time.process_time()
    for _ in range(n // block):
        tally.add(scores, Y)
    spent = time.process_time() - began
    began = time.process_time()
    np.partition(scores, 10, axis=1)
    once = (time.process_time() - began) * n / block
    assert tally.documents == n
    assert spent < 10
    assert spent < 10 * once
