"""Descents, margins and removals against slow twins."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from classmark.hierarchies.held_out import (
    CENTROIDS,
    Documents,
    Learner,
    bound_of,
    compare,
)
from classmark.hierarchies.places import places_of
from classmark.hierarchies.pruning import Removals
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


def test_a_root_without_daughters_is_where_all_come_to():
    documents = Documents(
        places_of(Taxonomy([], nodes=["a"]), ["a", "a", []]), np.eye(3)
    )
    among = np.array([True, False, True])
    for one in (documents, documents.flattened()):
        assert one.daughters == {}
        assert one.trained(Learner(), among) == {}
        assert one.descend({}, np.arange(3)).tolist() == [0, 0, 0]
        assert one.margins({}, among).tolist() == [np.inf, -np.inf, -np.inf]


def everyone(documents):
    return np.ones(len(documents), np.bool_)


def slow_descent(documents, models, row):
    v = documents.root
    while v in documents.daughters:
        below = documents.daughters[v]
        if v not in models:
            v = int(below[0])
            continue
        model = models[v]
        x = documents.rows.to_scipy()[row].toarray().ravel()
        scores = [
            model.bias[j]
            + sum(x[f] * model.weights[i, j] for i, f in enumerate(model.features))
            for j in range(len(below))
        ]
        v = int(below[int(np.argmax(scores))])
    return v


def test_documents_descend_by_the_best_daughter():
    X, y = words(40)
    documents = Documents(places_of(TREE, y), X)
    models = documents.trained(Learner(), everyone(documents))
    assert sorted(models) == sorted(
        documents.places.tree.number(name) for name in ("r", "a", "b", "d")
    )
    found = documents.descend(models, np.arange(40))
    assert found.tolist() == [slow_descent(documents, models, i) for i in range(40)]
    right = documents.belong(np.arange(40), found)
    names = documents.places.tree.nodes
    expected = [names[v] in own for v, own in zip(found, y, strict=True)]
    assert right.tolist() == expected
    assert right.mean() > 0.9


@pytest.mark.parametrize("several", [False, True])
def test_margins_are_the_narrowest_step_of_the_path(several):
    X, y = words(60, several=several)
    documents = Documents(places_of(TREE, y), X)
    models = documents.trained(Learner("naive-bayes"), everyone(documents))
    found = documents.margins(models, everyone(documents))
    tree = documents.places.tree
    for i, own in enumerate(y):
        held = {node for leaf in own for node in tree.path(leaf)}
        best = -np.inf
        for leaf in own:
            steps = []
            for upper, lower in zip(tree.path(leaf), tree.path(leaf)[1:], strict=False):
                v = tree.number(upper)
                if v in models:
                    below = tree.children(upper)
                    scores = dict(
                        zip(
                            below,
                            models[v].scores(documents_row(documents, i))[0],
                            strict=True,
                        )
                    )
                    rivals = [s for name, s in scores.items() if name not in held]
                    steps.append(scores[lower] - max(rivals, default=-np.inf))
            best = max(best, min(steps))
        assert found[i] == pytest.approx(best)


def documents_row(documents, i):
    from classmark.sparse import take

    return take(documents.rows, [i])


def test_margins_are_positive_where_the_descent_is_right():
    X, y = words(80)
    documents = Documents(places_of(TREE, y), X)
    models = documents.trained(Learner(), everyone(documents))
    g = documents.margins(models, everyone(documents))
    leaf = documents.descend(models, np.arange(80))
    assert ((g > 0) == documents.belong(np.arange(80), leaf)).all()


def test_documents_that_are_not_asked_about_have_no_margin():
    X, y = words(30)
    documents = Documents(places_of(TREE, y), X)
    among = np.arange(30) < 20
    g = documents.margins(documents.trained(Learner(), among), among)
    assert np.isneginf(g[20:]).all()
    assert np.isfinite(g[:20]).all()


def test_a_leaf_under_two_parents_is_reached_by_either():
    tree = Taxonomy([("r", "a"), ("r", "b"), ("a", 1), ("a", 2), ("b", 2), ("b", 3)])
    X = np.eye(3)[[0, 1, 2] * 6]
    y = [1, 2, 3] * 6
    documents = Documents(places_of(tree, y), X)
    models = documents.trained(Learner(), everyone(documents))
    leaf = documents.descend(models, np.arange(18))
    assert documents.belong(np.arange(18), leaf).all()
    assert (documents.margins(models, everyone(documents)) > 0).all()


def test_a_flattened_tree_has_one_node():
    X, y = words(50)
    documents = Documents(places_of(TREE, y), X)
    flat = documents.flattened()
    assert list(flat.daughters) == [documents.root]
    assert len(documents.daughters) == 5
    models = flat.trained(Learner(), everyone(flat))
    leaf = flat.descend(models, np.arange(50))
    assert flat.belong(np.arange(50), leaf).mean() > 0.9


def test_centroids_choose_the_nearest():
    X, y = words(70)
    documents = Documents(places_of(TREE, y), X)
    flat = documents.flattened()
    model = flat.trained(Learner(CENTROIDS), everyone(flat))[flat.root]
    sums = np.array(
        [X[[own == [leaf] for own in y]].sum(axis=0) for leaf in range(1, 8)]
    )
    unit = sums / np.linalg.norm(sums, axis=1, keepdims=True)
    np.testing.assert_allclose(model.scores(flat.rows), X @ unit.T)


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
    monkeypatch.setattr("classmark.hierarchies.held_out.ROOM", 100)
    assert compare(places_of(TREE, y), X).base == CENTROIDS


def test_the_bound_takes_the_length_of_all_weights():
    X, y = words(50)
    documents = Documents(places_of(TREE, y), X)
    models = documents.trained(Learner(), everyone(documents))
    found = bound_of(documents, models, everyone(documents))
    B = np.sqrt(sum((model.weights**2).sum() for model in models.values()))
    R = np.linalg.norm(X, axis=1).max()
    pairs = 3 * 2 + 3 * 2 + 2 + 2
    assert found.complexity == pytest.approx(8 * B * R / np.sqrt(50) * pairs)


def slow_gain(trials, node):
    """Who is right in the tree with and without the node, fold by fold."""
    documents, learner = trials.documents, trials.learner
    tree = documents.daughters
    p = trials.parent(node)
    joined = np.union1d(tree[p][tree[p] != node], tree[node])
    gain = 0
    for fold in range(trials.folds):
        models = {}
        for v, below in ((p, tree[p]), (node, tree[node]), (-1, joined)):
            own = documents.at(p if v == -1 else v)
            learn = own[trials.fold_of[own] != fold]
            models[v] = documents.fit(learner, learn, below)
        own = documents.at(p)
        for i in own[trials.fold_of[own] == fold]:
            one = np.array([i])
            first = documents.choices(models[p], one, tree[p])
            if first[0] == node:
                first = documents.choices(models[node], one, tree[node])
            second = documents.choices(models[-1], one, joined)
            gain += int(documents.belong(one, second)[0]) - int(
                documents.belong(one, first)[0]
            )
    return gain


@pytest.mark.parametrize("name", ["a", "b", "d"])
def test_the_gain_is_that_of_trees_trained_anew(name):
    X, y = words(150, seed=3)
    X = X * 0.8 + np.random.default_rng(5).random(X.shape) * 0.5
    documents = Documents(places_of(TREE, y), X)
    trials = Removals(documents, seed=2)
    node = documents.places.tree.number(name)
    trials.documents.daughters = dict(documents.daughters)
    if name == "d":
        trials.remove(documents.places.tree.number("c"))
    removal = trials.attempt(node)
    assert removal.gain == slow_gain(trials, node)
    assert removal.tested == len(documents.at(trials.parent(node)))
    assert abs(removal.gain) <= removal.changed


def test_a_single_daughter_goes_for_nothing():
    X, y = words(60)
    documents = Documents(places_of(TREE, y), X)
    trials = Removals(documents)
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
    documents = Documents(places_of(TREE, y), X)
    trials = Removals(documents)
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
    documents = Documents(places_of(tree, [1, 2, 3]), np.eye(3))
    able = Removals(documents).removable()
    assert [tree.nodes[v] for v in able] == ["a", "b"]
