"""The kernels against the slow descent, on trees and graphs drawn at random."""

from itertools import product

import numpy as np
import pytest

from classmark.arrays import rows_from
from classmark.hierarchies import kernels as fast
from classmark.hierarchies.nodes import gather, piece_of
from classmark.hierarchies.places import places_of, shape_of
from classmark.taxonomy.tree import Taxonomy
from oracles import descending as slow

WIDTH = 12
BASES = ("svm", "naive-bayes")


def graph(rng, *, several_parents):
    """Edges of a random tree of some twenty nodes, or of a graph."""
    edges = []
    for node in range(1, 20):
        count = 1 + int(several_parents and node > 1 and rng.random() < 0.4)
        parents = rng.choice(min(node, 9), min(count, node, 9), replace=False)
        edges += [(int(parent), node) for parent in parents]
    return Taxonomy(edges)


def model_on(tree, rng, base="svm"):
    shape = shape_of(places_of(tree, [tree.leaves[0]]))
    pieces = []
    for d in np.diff(shape.starts).tolist():
        features = np.flatnonzero(rng.random(WIDTH) < 0.6).astype(np.uint32)
        weights = rng.normal(size=(len(features), d)) * (
            rng.random((len(features), d)) < 0.7
        )
        pieces.append(piece_of(features, weights, rng.normal(size=d), base, 0.0))
    return shape, gather(shape, pieces)


def documents(rng, n=8):
    dense = rng.random((n, WIDTH)) * (rng.random((n, WIDTH)) < 0.5)
    dense[0] = 0.0
    return rows_from(dense)


@pytest.fixture(
    params=[(several, base) for several in (False, True) for base in BASES], ids=str
)
def cases(request):
    """Six drawn trees (or graphs): each with its shape, model and documents."""
    several, base = request.param
    drawn = []
    for seed in range(6):
        rng = np.random.default_rng(seed)
        tree = graph(rng, several_parents=several)
        shape, trained = model_on(tree, rng, base)
        drawn.append((f"seed {seed}", tree, shape, trained, documents(rng)))
    return drawn


def both_ways(name, rows, width, *arguments):
    """Run a kernel and its oracle; return the hits and the scores of each."""
    answers = []
    for room in (fast, slow):
        hits = np.zeros((len(rows), width), np.int64)
        scores = np.zeros((len(rows), width))
        getattr(room, name)(
            rows.starts, rows.columns, rows.values, *arguments, hits, scores
        )
        answers.append((hits, scores))
    return answers


def test_parents_come_before_daughters(cases):
    for seed, _, shape, _, _ in cases:
        inner = [code + len(shape) for code in shape.codes if code < 0]
        owner = np.repeat(np.arange(len(shape)), np.diff(shape.starts))
        above = owner[shape.codes < 0]
        assert (above < np.array(inner)).all(), seed
        assert set(inner) == set(range(1, len(shape))), seed


def test_node_scores(cases):
    for seed, _, shape, trained, rows in cases:
        for at in range(len(shape)):
            for i in range(len(rows)):
                ours, theirs = np.zeros((2, shape.widest))
                count = fast.node_scores(at, *rows.row(i), trained.arrays, ours)
                again = slow.node_scores(at, *rows.row(i), trained.arrays, theirs)
                assert count == again, (seed, at, i)
                np.testing.assert_allclose(ours, theirs, atol=1e-12, err_msg=seed)


@pytest.mark.parametrize("beam", [1, 2, 3, 50])
def test_descend(cases, beam):
    for seed, _, shape, trained, rows in cases:
        ours, theirs = both_ways(
            "descend", rows, beam, trained.arrays, 1.5, beam, shape.widest
        )
        np.testing.assert_array_equal(ours[0], theirs[0], err_msg=seed)
        np.testing.assert_allclose(ours[1], theirs[1], atol=1e-12, err_msg=seed)


@pytest.mark.parametrize(("most", "ratio"), [(1, -np.inf), (4, -np.inf), (30, -0.7)])
def test_best_first(cases, most, ratio):
    for seed, tree, _, trained, rows in cases:
        ours, theirs = both_ways(
            "best_first", rows, most, trained.arrays, 1.5, ratio, len(tree.leaves)
        )
        np.testing.assert_array_equal(ours[0], theirs[0], err_msg=seed)
        np.testing.assert_allclose(ours[1], theirs[1], atol=1e-12, err_msg=seed)


@pytest.mark.parametrize("margins", [False, True])
def test_all_leaves(cases, margins):
    for seed, tree, _, trained, rows in cases:
        ours, theirs = np.zeros((2, len(rows), len(tree.leaves)))
        for all_leaves, out in ((fast.all_leaves, ours), (slow.all_leaves, theirs)):
            all_leaves(
                rows.starts, rows.columns, rows.values, trained.arrays, 1.5, margins,
                out,
            )  # fmt: skip
        np.testing.assert_allclose(ours, theirs, atol=1e-12, err_msg=seed)


def test_leaf_scores_and_leaves_before(cases):
    """Several leaves may count as one category, others as none.

    A category's number may be larger than those of all leaves.
    """
    for seed, tree, shape, trained, rows in cases:
        numbers = 40 + np.arange(len(tree.leaves)) // 2
        numbers[3] = -1
        for i, target in product(
            range(len(rows)), sorted(set(numbers.tolist()) - {-1})
        ):
            leaves = np.flatnonzero(numbers == target)
            given = (*rows.row(i), trained.arrays, 1.5)
            above = trained.above(leaves.tolist())
            ours, theirs = np.full((2, len(numbers)), -np.inf)
            fast.leaf_scores(*given, above, shape.widest, ours)
            slow.leaf_scores(*given, above, shape.widest, theirs)
            close = (ours[leaves], theirs[leaves])
            np.testing.assert_allclose(*close, atol=1e-12, err_msg=seed)
            score = ours[leaves].max()
            place = (score, numbers, target, shape.widest)
            for moved in (np.empty(0), np.sin(7.0 * np.arange(60))):
                if len(moved):
                    place = (score + moved[target], *place[1:])
                before = fast.leaves_before(*given, *place, moved)
                expected = slow.leaves_before(*given, *place, moved)
                assert before == expected, (seed, i, target)


def test_a_beam_wide_enough_finds_the_best_of_all_paths(cases):
    for seed, tree, shape, trained, rows in cases:
        wide, best = np.zeros((2, len(rows), len(tree)), np.int64)
        scores = np.zeros((len(rows), len(tree)))
        fast.descend(
            rows.starts, rows.columns, rows.values, trained.arrays, 1.0, len(tree),
            shape.widest, wide, scores,
        )  # fmt: skip
        fast.best_first(
            rows.starts, rows.columns, rows.values, trained.arrays, 1.0, -np.inf,
            len(tree.leaves), best, scores,
        )  # fmt: skip
        np.testing.assert_array_equal(wide, best, err_msg=seed)


def test_ties_go_to_the_lower_number():
    tree = Taxonomy([("r", "a"), ("r", "b"), ("a", 1), ("b", 2), ("b", 3)])
    shape = shape_of(places_of(tree, [1]))
    nothing = np.empty(0, np.uint32)
    pieces = [
        piece_of(nothing, np.empty((0, d)), np.zeros(d), "svm", 0.0) for d in (2, 1, 2)
    ]
    trained = gather(shape, pieces)
    rows = rows_from(np.zeros((1, 1)))
    found, scores = np.zeros((1, 3), np.int64), np.zeros((1, 3))
    fast.best_first(
        rows.starts, rows.columns, rows.values, trained.arrays, 1.0, -np.inf, 3, found,
        scores,
    )  # fmt: skip
    assert found.tolist() == [[0, 1, 2]]
    np.testing.assert_allclose(np.exp(scores), [[0.5, 0.25, 0.25]])


def test_naive_bayes_keeps_only_what_was_seen():
    weights = np.log(np.array([[0.5, 0.1], [0.1, 0.8], [0.1, 0.1], [0.3, 0.1]]))
    features = np.arange(4, dtype=np.uint32)
    piece = piece_of(features, weights, np.zeros(2), "naive-bayes", 0.0)
    assert len(piece.weight) == 3
    assert piece.features.tolist() == [0, 1, 2, 3]
    shape = shape_of(places_of(Taxonomy([("r", 1), ("r", 2)]), [1]))
    trained, out = gather(shape, [piece]), np.zeros(2)
    x = np.array([1.0, 2.0, 0.5, 3.0])
    fast.node_scores(0, features, x, trained.arrays, out)
    np.testing.assert_allclose(out, x @ weights, rtol=1e-6)


def test_what_is_dropped_is_told():
    weights = np.array([[3.0, 0.0], [-0.3, 0.2], [0.0, 4.0]])
    features = np.array([2, 5, 7], np.uint32)
    piece = piece_of(features, weights, np.zeros(2), "svm", 0.06)
    assert piece.features.tolist() == [2, 5, 7]
    assert piece.lost == pytest.approx(0.04)
    assert piece.whole == pytest.approx(25.13)
    piece = piece_of(features, weights, np.zeros(2), "svm", 0.1)
    assert piece.features.tolist() == [2, 7]
