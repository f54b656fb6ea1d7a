"""Descents, margins and removals against slow twins."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from classmark.arrays import rows_from, take
from classmark.hierarchies.held_out import (
    CENTROIDS,
    FOLDS,
    NodeLearner,
    Removals,
    TrialTree,
)
from classmark.hierarchies.places import (
    Nodes,
    among_labels,
    flat_shape,
    places_of,
    shape_of,
)
from classmark.hierarchies.report import compare
from classmark.problems import Mistake
from classmark.taxonomy.tree import Taxonomy

TREE = Taxonomy(
    [
        *(("r", name) for name in "abc"),
        *(("a", at) for at in (1, 2, 3)),
        *(("b", at) for at in (4, 5)),
        ("c", "d"),
        *(("d", at) for at in (6, 7)),
    ]
)


def words(n=120, seed=0, several=False):
    """Documents with a word of their leaf and a word of its branch, and noise."""
    rng = np.random.default_rng(seed)
    leaf = rng.integers(1, 8, n)
    branch = np.array([0, 0, 0, 0, 1, 1, 2, 2])[leaf]
    X = rng.random((n, 20)) * (rng.random((n, 20)) < 0.3)
    X[np.arange(n), leaf] += 1.0
    X[np.arange(n), 10 + branch] += 0.7
    y = [[int(at)] for at in leaf]
    if several:
        y = [
            [*own, int(rng.integers(1, 8))] if i % 3 == 0 else own
            for i, own in enumerate(y)
        ]
    return X, y


def trial(X, y, learner=None, tree=TREE, shape=shape_of):
    places = places_of(tree, y)
    nodes = Nodes(rows_from(X), places, shape(places))
    return TrialTree(nodes, learner or NodeLearner())


def right(tree, X):
    """Which training documents come to a leaf of their own."""
    return among_labels(tree.nodes.places.documents, tree.leaves(rows_from(X)))


def slow_descent(tree, x):
    n_inner, code = len(tree.shape), -len(tree.shape)
    while code < 0:
        at = code + n_inner
        model, below = tree.models[at], slice(*tree.shape.starts[at : at + 2])
        scores = [
            model.bias[j]
            + sum(x[f] * model.weights[i, j] for i, f in enumerate(model.features))
            for j in range(len(model.bias))
        ]
        code = int(tree.shape.codes[below][int(np.argmax(scores))])
    return code


def test_documents_descend_by_the_best_daughter():
    X, y = words(40)
    tree = trial(X, y)
    names = tree.nodes.places.tree.nodes
    assert [names[v] for v in tree.shape.order] == ["r", "a", "b", "c", "d"]
    found = tree.leaves(rows_from(X))
    assert found.tolist() == [slow_descent(tree, x) for x in X]
    named = [tree.nodes.places.named[leaf] for leaf in found]
    expected = [name in own for name, own in zip(named, y, strict=True)]
    assert right(tree, X).tolist() == expected
    assert right(tree, X).mean() > 0.9


@pytest.mark.parametrize("several", [False, True])
def test_margins_are_the_narrowest_step_of_the_path(several):
    X, y = words(60, several=several)
    trained = trial(X, y, NodeLearner("naive-bayes"))
    found, tree = trained.margins(), trained.nodes.places.tree
    models = dict(zip(trained.shape.order.tolist(), trained.models, strict=True))
    for i, own in enumerate(y):
        held = {node for leaf in own for node in tree.path(leaf)}
        best = -np.inf
        for leaf in own:
            steps = []
            for upper, lower in zip(tree.path(leaf), tree.path(leaf)[1:], strict=False):
                below = tree.children(upper)
                one = models[tree.number(upper)].scores(rows_from(X[i : i + 1]))[0]
                scores = dict(zip(below, one, strict=True))
                rivals = [s for name, s in scores.items() if name not in held]
                steps.append(scores[lower] - max(rivals, default=-np.inf))
            best = max(best, min(steps))
        assert found[i] == pytest.approx(best)


def test_margins_are_positive_where_the_descent_is_right():
    X, y = words(80)
    tree = trial(X, y)
    assert ((tree.margins() > 0) == right(tree, X)).all()


def test_documents_without_a_category_have_no_margin():
    X, y = words(30)
    g = trial(X, [*y[:20], *([[]] * 10)]).margins()
    assert np.isneginf(g[20:]).all()
    assert np.isfinite(g[:20]).all()


def test_a_leaf_under_two_parents_is_reached_by_either():
    graph = Taxonomy([("r", "a"), ("r", "b"), ("a", 1), ("a", 2), ("b", 2), ("b", 3)])
    X = np.eye(3)[[0, 1, 2] * 6]
    tree = trial(X, [1, 2, 3] * 6, tree=graph)
    assert right(tree, X).all()
    assert (tree.margins() > 0).all()


def test_a_node_without_documents_sends_all_to_its_first_daughter():
    X, y = words(40)
    y = [[leaf if leaf < 6 else 1 for leaf in own] for own in y]
    tree = trial(X, y)
    assert tree.models[-1].bias.tolist() == [-1e9, -1e9]
    assert not set(tree.leaves(rows_from(X)).tolist()) & {5, 6}


def test_the_flat_strategy_has_one_node():
    X, y = words(50)
    flat = trial(X, y, shape=flat_shape)
    assert (len(flat.models), len(trial(X, y).models)) == (1, 5)
    assert right(flat, X).mean() > 0.9


def test_centroids_choose_the_nearest():
    X, y = words(70)
    (model,) = trial(X, y, NodeLearner(CENTROIDS), shape=flat_shape).models
    sums = np.array(
        [X[[own == [leaf] for own in y]].sum(axis=0) for leaf in range(1, 8)]
    )
    unit = sums / np.linalg.norm(sums, axis=1, keepdims=True)
    np.testing.assert_allclose(model.scores(rows_from(X)), X @ unit.T)


def test_a_comparison_tells_both_errors_and_bounds():
    X, y = words(200)
    compared = compare(places_of(TREE, y), X)
    assert (compared.trained, compared.tested) == (150, 50)
    assert compared.base == "svm"
    assert compared.flat.bound.complexity > compared.top_down.bound.complexity
    assert compared.ratio == pytest.approx(
        compared.top_down.held_out / compared.flat.held_out
    )
    assert 0 <= compared.top_down.bound.empirical <= 1
    with pytest.raises(Mistake, match="1 documents have a category"):
        compare(places_of(TREE, [1, []]), X[:2])


def test_large_flat_weights_give_way_to_centroids(monkeypatch):
    X, y = words(60)
    monkeypatch.setattr("classmark.hierarchies.report.ROOM", 100)
    assert compare(places_of(TREE, y), X).base == CENTROIDS


def test_the_bound_takes_the_length_of_all_weights():
    X, y = words(50)
    tree = trial(X, y)
    found = tree.bound(tree.margins())
    B = np.sqrt(sum((model.weights**2).sum() for model in tree.models))
    R = np.linalg.norm(X, axis=1).max()
    pairs = 3 * 2 + 3 * 2 + 2 + 2
    assert found.complexity == pytest.approx(8 * B * R / np.sqrt(50) * pairs)


def slow_gain(trials, node):
    """Who is right in the tree with and without the node, fold by fold."""
    documents, tree, p = trials, trials.daughters, trials.parent(node)

    def fit(learn, below):
        owners = trials.owners(learn, below)
        return trials.learner.fit(take(trials.rows, learn), owners)

    def choices(model, which, below):
        return below[np.argmax(model.scores(take(trials.rows, which)), axis=1)]

    joined = np.union1d(tree[p][tree[p] != node], tree[node])
    gain = 0
    for fold in range(FOLDS):
        models = {}
        for v, below in ((p, tree[p]), (node, tree[node]), (-1, joined)):
            own = documents.at(p if v == -1 else v)
            learn = own[trials.fold_of[own] != fold]
            models[v] = fit(learn, below)
        own = documents.at(p)
        for i in own[trials.fold_of[own] == fold]:
            one = np.array([i])
            first = choices(models[p], one, tree[p])
            if first[0] == node:
                first = choices(models[node], one, tree[node])
            second = choices(models[-1], one, joined)
            gain += int(documents.belong(one, second)[0]) - int(
                documents.belong(one, first)[0]
            )
    return gain


@pytest.mark.parametrize("name", ["a", "b", "d"])
def test_the_gain_is_that_of_trees_trained_anew(name):
    X, y = words(150, seed=3)
    X = X * 0.8 + np.random.default_rng(5).random(X.shape) * 0.5
    documents = trials = Removals(places_of(TREE, y), X, seed=2)
    node = documents.places.tree.number(name)
    if name == "d":
        trials.remove(documents.places.tree.number("c"))
    removal = trials.attempt(node)
    assert removal.gain == slow_gain(trials, node)
    assert removal.tested == len(documents.at(trials.parent(node)))
    assert abs(removal.gain) <= removal.changed


def test_a_single_daughter_goes_for_nothing():
    X, y = words(60)
    documents = trials = Removals(places_of(TREE, y), X)
    number = documents.places.tree.number
    removal = trials.attempt(number("c"))
    assert (removal.gain, removal.terms, removal.changed) == (0, 0, 0)
    trials.remove(number("c"))
    assert documents.daughters[number("r")].tolist() == sorted(
        map(number, ("a", "b", "d"))
    )
    assert trials.parent(number("d")) == number("r")


@given(st.permutations(["a", "b", "c", "d"]), st.integers(0, 4))
def test_any_order_of_removals_leaves_the_same_tree(order, count):
    X, y = words(20)
    documents = trials = Removals(places_of(TREE, y), X)
    number = documents.places.tree.number
    for name in order[:count]:
        trials.remove(number(name))
    from classmark.taxonomy.edits import prune

    left = prune(TREE, order[:count])
    for node in left:
        below = documents.daughters.get(number(node), np.empty(0, np.int64))
        assert set(below.tolist()) == {number(child) for child in left.children(node)}


def test_nodes_with_several_parents_are_not_removable():
    tree = Taxonomy(
        [("r", "a"), ("r", "b"), ("a", "c"), ("b", "c"), ("c", 1), ("c", 2), ("a", 3)]
    )
    documents = Removals(places_of(tree, [1, 2, 3]), np.eye(3))
    able = documents.removable()
    assert [tree.nodes[v] for v in able] == ["a", "b"]
