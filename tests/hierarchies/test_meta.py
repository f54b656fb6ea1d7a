"""A meta-classifier of one's own: learned by trials, saved, opened and used."""

import json

import numpy as np
import pytest
from scipy.stats import norm
from sklearn.linear_model import LogisticRegression

from classmark.hierarchies.held_out import Removals
from classmark.hierarchies.meta import (
    NAMES,
    MetaClassifier,
    NodeTrials,
    crossed,
    judge_meta,
    learn_meta,
    shipped,
    train_meta,
    try_nodes,
)
from classmark.hierarchies.places import places_of
from classmark.hierarchies.pruning import prune_taxonomy
from classmark.problems import Mistake, UnreadableFile
from classmark.taxonomy.tree import Taxonomy
from trees import MISLEADING, confusing, helpful


def trials(n=60, seed=0):
    """Made-up trials: the first feature says what a removal gains."""
    rng = np.random.default_rng(seed)
    features = rng.normal(size=(n, len(NAMES)))
    changed = rng.integers(1, 40, n).astype(float)
    gain = np.clip(np.round(features[:, 0] * 4), -changed, changed)
    return NodeTrials(features, gain, changed, np.arange(n))


def by_sklearn(parts, penalty):
    x = np.vstack([part.features for part in parts])
    target = norm.cdf(np.concatenate([p.gain / np.sqrt(p.changed + 1) for p in parts]))
    weight = np.concatenate(
        [100 * (c := p.changed / (p.changed + 5)) / max(1, c.sum()) for p in parts]
    )
    z = (x - x.mean(axis=0)) / x.std(axis=0)
    model = LogisticRegression(C=1 / penalty, tol=1e-12, max_iter=10_000)
    sure = np.concatenate([weight * target, weight * (1 - target)])
    model.fit(np.vstack([z, z]), np.repeat([1, 0], len(x)), sample_weight=sure)
    return model.coef_[0], model.intercept_[0]


@pytest.mark.parametrize("penalty", [0.3, 3.0])
def test_it_is_scikit_learns_logistic_regression_on_soft_targets(penalty):
    parts = {"a": trials(), "b": trials(40, 1)}
    meta = learn_meta(parts, penalty=penalty)
    weights, bias = by_sklearn(list(parts.values()), penalty)
    np.testing.assert_allclose(meta.weights, weights, atol=1e-4)
    assert meta.bias == pytest.approx(bias, abs=1e-4)
    assert meta.nodes == {"a": 60, "b": 40}


def test_a_start_is_left_only_for_a_price():
    start = shipped()
    near = learn_meta({"a": trials()}, start, penalty=1e9)
    np.testing.assert_allclose(near.weights, start.weights, atol=1e-4)
    np.testing.assert_array_equal(near.mean, start.mean)
    far = learn_meta({"a": trials()}, start, penalty=1e-3)
    assert np.abs(far.weights - start.weights).max() > 0.1
    assert {"library", "a"} < set(far.nodes)


def test_each_node_is_tried_as_pruning_tries_it():
    tree, X, y = helpful(n=120)
    found = try_nodes(tree, X, y)
    assert len(found) == 9  # three nodes, with all documents and with two halves
    places = places_of(tree, y)
    removals = Removals(places, X)
    whole = {v: removals.attempt(v) for v in removals.removable()}
    assert found.node[:3].tolist() == list(whole)
    assert found.gain[:3].tolist() == [removal.gain for removal in whole.values()]
    assert found.changed[:3].tolist() == [r.changed for r in whole.values()]


def test_what_was_learned_is_saved_opened_and_given_to_pruning(tmp_path):
    X, y = confusing()
    meta = train_meta({"mixed": (MISLEADING, X, y)}, penalty=0.1)
    meta.save(tmp_path / "meta.json")
    opened = MetaClassifier.open(tmp_path / "meta.json")
    np.testing.assert_array_equal(opened.weights, meta.weights)
    assert (opened.bias, opened.nodes) == (meta.bias, {"mixed": 6})
    X, y = confusing(seed=1)
    pruned = prune_taxonomy(MISLEADING, X, y, "meta", meta=opened)
    assert set(pruned.nodes) == {"r", 0, 1, 2, 3}
    named = prune_taxonomy(MISLEADING, X, y, f"meta:{tmp_path / 'meta.json'}")
    assert named == pruned
    assert prune_taxonomy(MISLEADING, X, y, "meta") == MISLEADING


def test_nodes_that_help_are_learned_to_stay():
    tree, X, y = helpful(n=240)
    meta = train_meta({"clear": (tree, X, y)})
    tree, X, y = helpful(n=240, seed=5)
    assert prune_taxonomy(tree, X, y, "meta", meta=meta) == tree


def test_one_is_judged_on_nodes_that_it_did_not_learn_from():
    parts = {"a": trials(100), "b": trials(100, 1)}
    chances = crossed(parts, "a")
    alone = learn_meta({"b": parts["b"], "a": parts["a"].take(np.arange(100) % 5 != 2)})
    where = np.arange(100) % 5 == 2
    expected = alone.probability(parts["a"].features[where])
    np.testing.assert_allclose(chances[where], expected, atol=1e-6)
    figures = judge_meta(chances, parts["a"])
    assert figures["accuracy"] > 0.9
    assert figures["area"] > 0.95
    assert figures["gain, bold"] > 0.9 * figures["gain, best possible"]
    assert figures["nodes"] == 100
    few = parts["a"].take(parts["a"].gain > 1)
    assert judge_meta(chances[parts["a"].gain > 1], few)["area"] is None


def test_a_taxonomy_without_nodes_to_try_is_named():
    flat = Taxonomy([("r", 1), ("r", 2)])
    with pytest.raises(Mistake, match="no node could be tried"):
        train_meta({"flat": (flat, np.eye(2), [1, 2])})
    with pytest.raises(Mistake, match="X has 2 rows, y 1 entries"):
        train_meta({"flat": (flat, np.eye(2), [1])})


@pytest.mark.parametrize(
    "change",
    [
        lambda _: "no json",
        lambda _: "[]",
        lambda facts: json.dumps(facts | {"format": "another"}),
        lambda facts: json.dumps(facts | {"weights": {}}),
        lambda facts: json.dumps(facts | {"bias": float("nan")}),
        lambda facts: json.dumps(facts | {"scale": dict.fromkeys(NAMES, 0.0)}),
    ],
)
def test_another_file_is_refused_with_what_to_do(tmp_path, change):
    path = tmp_path / "meta.json"
    shipped().save(path)
    path.write_text(change(json.loads(path.read_text())))
    with pytest.raises(UnreadableFile, match=r"no meta-classifier.*train-meta FILE"):
        MetaClassifier.open(path)


def test_a_file_that_is_not_there_is_named(tmp_path):
    with pytest.raises(UnreadableFile, match="No such file"):
        MetaClassifier.open(tmp_path / "none.json")


def test_a_classifier_goes_with_its_policy():
    X, y = confusing(40)
    with pytest.raises(Mistake, match="meta goes with the policy 'meta'"):
        prune_taxonomy(MISLEADING, X, y, "bound", meta=shipped())
