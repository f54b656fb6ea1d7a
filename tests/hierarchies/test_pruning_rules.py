"""The classifier of nodes: what it sees, how it is learned, what is shipped."""

import json
from importlib.resources import files

import numpy as np
import pytest

from classmark.hierarchies.held_out import Removals
from classmark.hierarchies.meta import NAMES, SMOOTHING, Described, shipped
from classmark.hierarchies.places import places_of
from classmark.problems import Mistake
from classmark.taxonomy.tree import Taxonomy

TREE = Taxonomy([("r", "a"), ("r", "b"), ("r", "c"), *(("a", at) for at in (1, 2, 3))])
X = np.random.default_rng(0).random((30, 12)) * (
    np.random.default_rng(1).random((30, 12)) < 0.5
)
Y = [(1, 2, 3, "b", "c")[i % 5] for i in range(30)]


def seen():
    documents = Removals(places_of(TREE, Y), X)
    number = documents.places.tree.number
    found = Described(documents).features(number("a"), number("r"))
    return dict(zip(NAMES, found.tolist(), strict=True))


def sums(*categories):
    return np.array([X[[y == c for y in Y]].sum(axis=0) for c in categories])


def divergence(p, q, u):
    p, q, u = p / p.sum(), q / q.sum(), u / u.sum()
    mixed = (1 - SMOOTHING) * q + SMOOTHING * u
    return sum(a * np.log(a / b) for a, b in zip(p, mixed, strict=True) if a > 0)


def test_sizes_are_counted():
    found = seen()
    assert found["log daughters of the parent"] == pytest.approx(np.log(4))
    assert found["log daughters"] == pytest.approx(np.log(4))
    assert found["log documents of the parent"] == pytest.approx(np.log(31))
    assert found["log documents"] == pytest.approx(np.log(19))


def test_cosines_and_divergences_are_those_of_the_sums():
    found, own, other = seen(), sums(1, 2, 3), sums("b", "c")
    everything = X.sum(axis=0)
    among = np.vstack([other, own.sum(axis=0)])
    for where, a, b, same in (
        ("daughters", own, own, True),
        ("sisters", among, among, True),
        ("across", own, other, False),
    ):
        pairs = [
            (p, q)
            for i, p in enumerate(a)
            for j, q in enumerate(b)
            if not (same and i == j)
        ]
        cosines = [p @ q / np.linalg.norm(p) / np.linalg.norm(q) for p, q in pairs]
        apart = [divergence(p, q, everything) for p, q in pairs]
        for name, values in (("cosines", cosines), ("divergences", apart)):
            assert found[f"mean of {name}, {where}"] == pytest.approx(np.mean(values))
            assert found[f"max of {name}, {where}"] == pytest.approx(np.max(values))


def test_what_sisters_share_is_that_of_the_parent_asked_for():
    tree = Taxonomy([("r", "a"), ("r", "b"), *(("a", at) for at in (1, 2)), ("b", 3)])
    tree = Taxonomy([*tree.edges, ("b", "c"), ("c", 4), ("c", 5)])
    y = [(1, 2, 3, 4, 5)[i % 5] for i in range(30)]
    documents = Removals(places_of(tree, y), X)
    number = documents.places.tree.number
    pairs = [("a", "r"), ("c", "b"), ("b", "r"), ("a", "r")]
    once = Described(documents)
    for node, parent in pairs:
        alone = Described(documents).features(number(node), number(parent))
        found = once.features(number(node), number(parent))
        np.testing.assert_array_equal(found, alone)


def test_a_node_with_a_lonely_class_has_features_too():
    documents = Removals(places_of(TREE, [1] * 4), X[:4])
    number = documents.places.tree.number
    assert np.isfinite(Described(documents).features(number("a"), number("r"))).all()


def test_the_probability_is_that_of_logistic_regression():
    meta = shipped()
    x = np.random.default_rng(3).normal(size=(5, len(NAMES)))
    margin = meta.bias + ((x - meta.mean) / meta.scale * meta.weights).sum(axis=1)
    np.testing.assert_allclose(meta.probability(x), 1 / (1 + np.exp(-margin)))


def test_the_shipped_classifier_says_where_it_comes_from():
    kept = json.loads((files("classmark.hierarchies") / "meta.json").read_text("utf-8"))
    assert kept["features"] == list(NAMES)
    assert set(kept["without"]) == set(kept["learned on"])
    assert min(kept["learned on"].values()) > 0
    for name in kept["without"]:
        assert kept["foretold by the other sets"][name]["nodes"] > 0
        assert np.isfinite(shipped(name).weights).all()
    with pytest.raises(Mistake, match="learned on"):
        shipped("another")
