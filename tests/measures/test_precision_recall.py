"""The graph of precision against recall, of documents and of categories."""

import ir_measures
import numpy as np
import pytest
from ir_measures import IPrec

from classmark.measures import (
    judge,
    precision_at_rank,
    precision_recall,
    rank_relevant,
    recall_at_rank,
)
from measures.test_retrieval import collection
from oracles.measures import interpolated_precision, order, precision, recall


@pytest.mark.parametrize("seed", range(5))
def test_interpolated_precision_is_that_of_trec_eval(seed):
    run, qrels = collection(seed, tied=False)
    levels = [IPrec @ (level / 10) for level in range(11)]
    expected = ir_measures.calc_aggregate(levels, qrels, run)
    graph = precision_recall(judge(run, qrels))
    assert graph.recall == pytest.approx(np.arange(11) / 10)
    assert graph.precision == pytest.approx([expected[each] for each in levels])


@pytest.mark.parametrize("seed", range(3))
def test_the_graph_at_each_rank_is_the_mean_of_precision_and_recall(seed):
    run, qrels = collection(seed, tied=False)
    del qrels["q3"]  # without relevant documents
    graph = precision_recall(judge(run, qrels), interpolated=False)
    lists = {q: sorted(run.get(q, {}), key=lambda d, q=q: -run[q][d]) for q in qrels}
    good = {q: {d for d, grade in qrels[q].items() if grade > 0} for q in qrels}
    assert len(graph.recall) == max(map(len, lists.values()))
    for r in (1, 2, 7, len(graph.recall)):
        means = [
            np.mean([each(lists[q], good[q], r) for q in qrels])
            for each in (recall, precision)
        ]
        assert [graph.recall[r - 1], graph.precision[r - 1]] == pytest.approx(means)


@pytest.mark.parametrize("seed", range(3))
def test_one_function_serves_ranked_categories_too(seed):
    rng = np.random.default_rng(seed)
    scores = rng.random((20, 12))
    Y = [
        rng.choice(12, int(rng.integers(1, 5)), replace=False).tolist() for _ in scores
    ]
    ranked = rank_relevant(scores, Y)
    graph = precision_recall(ranked, interpolated=False)
    assert graph.recall == pytest.approx(recall_at_rank(scores, Y))
    expected = precision_at_rank(scores, Y, normalized=False)
    assert graph.precision == pytest.approx(expected)
    smooth = precision_recall(ranked)
    for level in range(11):
        mean = np.mean(
            [
                interpolated_precision(order(row.tolist()), set(labels), level)
                for row, labels in zip(scores, Y, strict=True)
            ]
        )
        assert smooth.precision[level] == pytest.approx(mean)


def test_documents_without_categories_are_left_out_of_the_graph():
    some = precision_recall(rank_relevant([[0.9, 0.1]], [[0]]))
    more = precision_recall(rank_relevant([[0.9, 0.1], [0.2, 0.3]], [[0], []]))
    assert more.precision.tolist() == some.precision.tolist() == [1.0] * 11
