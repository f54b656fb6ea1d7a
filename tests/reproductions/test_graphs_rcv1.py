"""The graphs of the RCV1 experiment, and what is claimed of its table."""

import numpy as np
import pytest
from scipy.sparse import csr_matrix

from classmark.corpus.documents import folds
from classmark.preferences.graph import NAMES, PreferenceGraph
from classmark.rankers.linear import LogLinearRanker
from classmark.taxonomy.tree import Taxonomy
from reproductions.graphs_rcv1 import (
    Collection,
    Row,
    claims,
    collection,
    compare,
    graphs_of,
    graphs_report,
    informative_words,
)


def test_inner_topics_get_a_leaf_and_the_root_none():
    tree = Taxonomy([("r", "a"), ("r", "b"), ("a", "a1"), ("a", "a2"), ("b", "b1")])
    first, second = graphs_of(tree, [["a", "a1"], ["b"]])
    assert first.n_labels == 5  # a1, a2, b1, and the leaves of a and b
    assert sorted(first.levels.tolist()) == [0, 0, 1, 1, 2]
    assert sorted(second.levels.tolist()) == [0, 0, 0, 1, 2]
    assert first.n_edges == 4 + 2 * 2


def test_claims_follow_the_numbers():
    def row(method, value, chance):
        same, chances = dict.fromkeys(NAMES, value), dict.fromkeys(NAMES, chance)
        spread = {name: [value - 0.01, value + 0.01] for name in NAMES}
        return Row(method, same, same, chances, [1.0], spread)

    rows = [
        row("zero-one", 0.5, 0.01),
        row("disagreement", 0.41, 0.6),
        row("domination", 0.4, 1.0),
        row("dominated", 0.3, 0.001),
    ]
    first, second, *_ = claims(rows)
    assert first.endswith("is measured: does not hold; best by 0 of 4 errors")
    assert second == (
        "zero-one error, domination is best: does not hold, dominated is least; "
        "0.4000; zero-one +0.1000 ± 0.0000 (p 0.01), disagreement +0.0100 ± 0.0000 "
        "(p 0.6), dominated -0.1000 ± 0.0000 (p 0.001)"
    )
    equal = claims([rows[2], row("zero-one", 0.4, 1.0)])
    assert equal[0].endswith("holds; best by 4 of 4 errors")
    assert "domination is best: holds, level with zero-one; 0.4000" in equal[1]
    without = claims(rows[:3])
    assert without[0].endswith("measured: holds; best by 4 of 4 errors")
    assert "dominated error, domination is best: holds; 0.4000" in without[4]


def test_informative_words_are_those_of_the_smallest_z():
    """Z of a word by BoosTexter's sums, edge by edge, at the uniform distribution."""
    rng = np.random.default_rng(4)
    X = rng.poisson(0.4, (30, 40)).astype(float)
    graphs = [PreferenceGraph.multilabel(4, [int(y)]) for y in rng.integers(0, 4, 30)]
    down, up = np.zeros((40, 4)), np.zeros((40, 4))
    for x, graph in zip(X > 0, graphs, strict=True):
        for init, term in graph.edges():
            down[x, term] += 1 / graph.n_edges
            up[x, init] += 1 / graph.n_edges
    Z = -np.square(np.sqrt(down) - np.sqrt(up)).sum(axis=1)
    chosen = informative_words(Collection(csr_matrix(X), graphs), 7)
    assert chosen.tolist() == sorted(np.argsort(Z, kind="stable")[:7].tolist())


def test_half_widths_are_student_intervals_over_folds():
    values = [0.1, 0.2, 0.3]
    row = Row("domination", {}, {}, {}, [], {"dis": values})
    assert row.half_width("dis") == pytest.approx(4.302653 * 0.1 / np.sqrt(3))
    assert row.half_width("dis", row) == 0


def test_the_table_of_boosting_on_the_library():
    loaded = collection(dataset="library")
    table = compare(loaded, boosting=3, words=200)
    assert table.words == 200
    assert [row.method for row in table.rows] == list(NAMES)
    assert all(len(row.folds["domination"]) == 5 for row in table.rows)
    report = graphs_report(table, "boosting")
    assert " ± " in report.rows[0]["zero-one"]
    assert len(report.claims) == 5


def test_the_collection_has_the_papers_labels_and_about_its_edges(data):
    loaded = collection(data, words=3200)
    assert loaded.X.shape == (2316, 3200)
    assert loaded.X.data.min() == 1
    assert loaded.graphs[0].n_labels == 103
    assert loaded.edges == pytest.approx(946, abs=1)


@pytest.mark.full
def test_boosting_on_the_first_fold_of_rcv1(data):
    """The default smoothing, which RCV1 had no part in choosing, generalises."""
    loaded = collection(data)
    learned, held = next(iter(folds(len(loaded.graphs), 5, 0)))
    words = informative_words(loaded.part(learned))
    train, test = loaded.part(learned, words), loaded.part(held, words)
    ranker = LogLinearRanker(solver="boosting")
    scores = ranker.fit(train.X, train.graphs).decision_function(test.X)
    assert test.errors(scores, "disagreement").mean() <= 0.045
    assert test.errors(scores, "zero-one").mean() <= 0.50
