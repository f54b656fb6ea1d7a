"""As deep in a tree as can be said with a given precision."""

import json

import numpy as np
import pytest
from sklearn.base import clone

from classmark.hierarchies.back_off import Assurance, BackOff, ways_down
from classmark.hierarchies.places import places_of
from classmark.hierarchies.top_down import TopDownClassifier
from classmark.problems import Mistake
from classmark.rankers.calibration import posterior
from classmark.taxonomy.tree import Taxonomy

EDGES = [("r", "a"), ("r", "b"), ("a", 1), ("a", 2), ("b", 3), ("b", 4)]
TREE = Taxonomy(EDGES)
LEAVES = [1, 2, 3, 4]


def documents(n=1500, seed=0, blur=1.0, sister=0.5):
    """Scores that often tell the leaf, more often the branch, and not always it."""
    random = np.random.default_rng(seed)
    leaf = random.integers(4, size=n)
    near = sister * (np.arange(4)[:, np.newaxis] // 2 == np.arange(4) // 2)
    means = 3.0 * (near + (1 - sister) * np.eye(4))
    scores = means[leaf] + blur * random.normal(size=(n, 4))
    return scores, [LEAVES[at] for at in leaf]


@pytest.fixture(scope="module")
def fitted():
    return BackOff(TREE).fit(*documents(), classes=LEAVES)


def test_of_those_placed_enough_are_right(fitted):
    scores, y = documents(seed=1)
    placed = fitted.place(scores)
    right = [
        node == own
        or (node == "a" and own in (1, 2))
        or (node == "b" and own in (3, 4))
        for node, own in zip(placed.nodes, y, strict=True)
        if node is not None
    ]
    assert 0.93 < np.mean(right) < 0.99
    found = fitted.measure(scores, y)
    assert found.precision == pytest.approx(np.mean(right))
    for kind in ("leaf", "inner", "left"):
        assert getattr(found, kind) == placed.kinds.count(kind) / len(y)
        assert getattr(found, kind) > 0.01
    assert fitted.held_out_.precision >= 0.95


def test_kinds_and_nodes_agree(fitted):
    placed = fitted.place(documents(seed=2)[0])
    of_kind = {"leaf": {1, 2, 3, 4}, "inner": {"a", "b"}, "left": {None}}
    for node, kind in zip(placed.nodes, placed.kinds, strict=True):
        assert node in of_kind[kind]
    chances = placed.probability
    sure = np.array(placed.kinds) != "left"
    assert chances[sure].min() >= fitted.threshold_ > chances[~sure].max()


def test_probabilities_are_honest(fitted):
    scores, y = documents(seed=3, n=4000)
    placed = fitted.at(0.5).place(scores)
    above = {1: "a", 2: "a", 3: "b", 4: "b"}
    right = np.array(
        [node in (own, above[own]) for node, own in zip(placed.nodes, y, strict=True)]
    )
    kept = np.array(placed.kinds) != "left"
    for low in (0.6, 0.7, 0.8, 0.9):
        here = kept & (placed.probability >= low) & (placed.probability < low + 0.1)
        assert right[here].mean() == pytest.approx(
            placed.probability[here].mean(), abs=0.08
        )


def test_a_lower_precision_places_more_and_deeper(fitted):
    scores, y = documents(seed=4)
    found = [fitted.at(share).measure(scores, y) for share in (0.7, 0.85, 0.95, 0.99)]
    left = [kept.left for kept in found]
    assert left == sorted(left)
    leaf = [kept.leaf for kept in found]
    assert leaf == sorted(leaf, reverse=True)
    assert fitted.at(0.95).threshold_ == fitted.threshold_
    fresh = BackOff(TREE, 0.7).fit(*documents(), classes=LEAVES)
    assert fitted.at(0.7).threshold_ == fresh.threshold_


def test_confidence_is_careful():
    few = documents(n=150)
    plain = BackOff(TREE).fit(*few, classes=LEAVES)
    careful = BackOff(TREE, confidence=0.95).fit(*few, classes=LEAVES)
    assert careful.threshold_ > plain.threshold_
    handful = BackOff(TREE, confidence=0.95).fit(*documents(n=20), classes=LEAVES)
    assert handful.threshold_ == np.inf
    assert set(handful.place(few[0]).kinds) == {"left"}


def test_drift_asks_more_of_the_documents_held_out():
    plain = BackOff(TREE, 0.98).fit(*documents(), classes=LEAVES)
    robust = BackOff(TREE, 0.96, drift=2.0).fit(*documents(), classes=LEAVES)
    assert robust.threshold_ == plain.threshold_
    assert robust.at(0.9).threshold_ == plain.at(0.95).threshold_
    later, y = documents(seed=1, n=5000, blur=1.12)
    naive = BackOff(TREE, 0.96).fit(*documents(), classes=LEAVES)
    assert naive.measure(later, y).precision < 0.955
    assert robust.measure(later, y).precision > 0.96
    with pytest.raises(Mistake, match=r"drift is 0\.5: give a number from 1"):
        BackOff(TREE, drift=0.5).fit(*documents(), classes=LEAVES)


def test_files_from_before_the_drift_open_without_it(fitted):
    arrays, settings = fitted.to_arrays()
    del settings["drift"]
    assert BackOff.from_arrays(arrays, settings).drift == 1.0


def test_columns_may_come_in_any_order(fitted):
    scores, y = documents()
    mixed = BackOff(TREE).fit(scores[:, ::-1], y, classes=LEAVES[::-1])
    ask = documents(seed=5)[0]
    assert mixed.place(ask[:, ::-1]).nodes == fitted.place(ask).nodes
    named = BackOff(TREE).fit(scores, y)
    assert named.classes_ == LEAVES
    assert named.place(ask).nodes == fitted.place(ask).nodes


def test_a_node_above_everything_says_nothing():
    chain = Taxonomy([("top", "r"), *EDGES])
    plain = BackOff(TREE).fit(*documents(), classes=LEAVES)
    under = BackOff(chain).fit(*documents(), classes=LEAVES)
    placed = under.place(documents(seed=6)[0])
    assert not {"top", "r"} & set(placed.nodes)
    assert under.held_out_.left == pytest.approx(plain.held_out_.left, abs=0.02)


def test_documents_of_an_inner_category_have_their_own_place():
    scores, y = documents()
    y = ["b" if own == 4 else own for own in y]
    model = BackOff(TREE, 0.9).fit(scores, y, classes=[1, 2, 3, "b"])
    sure = np.array([[0.0, 0.0, 0.0, 9.0], [0.0, 0.0, 4.0, 4.0]])
    placed = model.place(sure)
    assert placed.nodes == ["b", "b"]
    assert placed.kinds == ["leaf", "inner"]
    own = model.measure(sure, ["b", 3])
    assert own.precision == 1.0
    assert model.measure(sure[:1], [3]).precision == 0.0


def test_several_categories_and_several_parents():
    tree = Taxonomy([*EDGES, ("b", 2)])
    scores, y = documents()
    random = np.random.default_rng(0)
    several = [[own, int(random.integers(1, 5))] for own in y]
    model = BackOff(tree).fit(scores, several, classes=LEAVES)
    found = model.measure(scores, several)
    assert found.precision > 0.93
    assert found.left < 0.7


def test_a_category_nobody_learned_is_right_above():
    tree = Taxonomy([*EDGES, ("a", 5)])
    model = BackOff(tree).fit(*documents(), classes=LEAVES)
    one = np.array([[3.0, 3.0, 0.0, 0.0]])
    assert model.place(one).nodes == ["a"]
    assert model.measure(one, [5]).precision == 1.0


def test_documents_without_a_category_are_not_used(fitted):
    scores, y = documents()
    wide = np.vstack([scores, scores[:50]])
    model = BackOff(TREE).fit(wide, [*y, *[[]] * 50], classes=LEAVES)
    assert model.threshold_ == pytest.approx(fitted.threshold_)
    assert model.held_out_.documents == len(y)


def test_it_is_kept_and_opened(fitted):
    tree = Taxonomy([(str(u), str(v)) for u, v in EDGES])
    scores, y = documents()
    names = [str(own) for own in LEAVES]
    model = BackOff(tree, confidence=0.8, drift=1.5)
    model.fit(scores, map(str, y), classes=names)
    arrays, settings = model.to_arrays()
    opened = BackOff.from_arrays(arrays, json.loads(json.dumps(settings)))
    ask = documents(seed=7)[0]
    for one, other in zip(model.place(ask), opened.place(ask), strict=True):
        assert list(one) == list(other)
    assert opened.held_out_ == model.held_out_
    assert opened.at(0.8).threshold_ == model.at(0.8).threshold_
    assert opened.get_params()["confidence"] == 0.8
    assert opened.get_params()["drift"] == 1.5
    assert fitted.to_arrays()[1]["nodes"] == TREE.nodes


def test_it_may_be_opened_on_a_tree_that_has_grown(fitted):
    settings = fitted.to_arrays()[1]
    grown = Taxonomy([*EDGES, ("b", 5)])
    edges = np.array([grown.numbers(edge) for edge in grown.edges])
    more = {"edges": edges, "classes": grown.numbers([1, 2, 3, 4, 5])}
    opened = BackOff.from_arrays(more, settings | {"nodes": grown.nodes})
    assert opened.place([[0.0, 0.0, 0.0, 0.0, 30.0]]).nodes[0] in {5, "b", None}
    assert opened.sizes_[-1] == 0


def test_nothing_precise_enough_is_all_left_and_kept():
    random = np.random.default_rng(0)
    scores = random.normal(size=(400, 4))
    y = [LEAVES[at] for at in random.integers(4, size=400)]
    model = BackOff(TREE, 0.99, 0.9).fit(scores, y, classes=LEAVES)
    arrays, settings = model.to_arrays()
    assert settings["threshold"] is None
    assert BackOff.from_arrays(arrays, settings).threshold_ == np.inf
    assert model.measure(scores, y).left == 1.0
    assert model.place(np.empty((0, 4))).nodes == []


def test_ways_follow_the_likeliest_daughter():
    places = places_of(TREE, [LEAVES])
    scores = np.array([[2.0, 1.9, 2.1, -5.0]])
    ways = ways_down(places, places.above, np.ones(4), scores, 1.0)
    assert [TREE.nodes[v] for v in ways.nodes[0]] == ["r", "a", 1]
    p = posterior(scores)[0]
    assert ways.chances[0].tolist() == pytest.approx([np.inf, p[0] + p[1], p[0]])


def test_assurance_is_near_the_truth():
    random = np.random.default_rng(0)
    x, every = random.random((5000, 2)), np.ones((5000, 1), bool)
    chance = 0.2 + 0.7 * (x[:, 0] > 0.5)
    right = random.random(5000) < chance
    sure = Assurance.learned(x[:, np.newaxis], right[:, np.newaxis], every)
    low, high = sure.along(np.array([[[0.2, 0.5]], [[0.9, 0.5]]]), every[:2]).ravel()
    assert low == pytest.approx(0.2, abs=0.05)
    assert high == pytest.approx(0.9, abs=0.05)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (([[0.0, 1.0]], [1, 2]), r"scores has shape \(1, 2\), y 2 entries"),
        (([[0.0, 1.0]], [1], [1, "x"]), "'x' is not a category"),
        (([[0.0, 1.0]], [1], [1, 1]), "occurs twice"),
        (([[0.0, 1.0]], [1], [1, 2, 3]), "scores has shape"),
    ],
)
def test_what_cannot_be_fitted_is_named(arguments, said):
    with pytest.raises(Mistake, match=said):
        BackOff(TREE).fit(*arguments)


def test_what_cannot_be_placed_is_named(fitted):
    with pytest.raises(Mistake, match="give 4 columns"):
        fitted.place([[1.0, 2.0]])
    with pytest.raises(Mistake, match=r"precision is 1\.5"):
        fitted.at(1.5)
    with pytest.raises(Mistake, match="precision is 2"):
        BackOff(TREE, 2).fit([[0.0, 1.0]], [1], [1, 2])
    with pytest.raises(Mistake, match="'x' is not a category"):
        fitted.measure(np.eye(4)[:1], ["x"])
    with pytest.raises(Mistake, match="2 rows, y 1"):
        fitted.measure(np.eye(4)[:2], [1])
    odd = Taxonomy([("r", (1, 2)), ("r", (3, 4))])
    model = BackOff(odd).fit(np.eye(2), [(1, 2), (3, 4)], [(1, 2), (3, 4)])
    with pytest.raises(Mistake, match="only texts and numbers"):
        model.to_arrays()
    with pytest.raises(Mistake, match="not fitted"):
        clone(fitted).place([[1.0]])


def test_classes_that_a_fold_never_saw_spoil_no_temperature():
    """One document a leaf: half of the held-out ones are of classes without any."""
    rng = np.random.default_rng(1)
    tree = Taxonomy(
        [("r", t) for t in range(4)] + [(v // 8, 10 + v) for v in range(32)]
    )
    X = np.zeros((96, 36))
    y = rng.integers(32, size=96)
    X[np.arange(96), y // 8] = 2.0
    X[np.arange(96), 4 + y] = 0.5
    X += rng.random(X.shape) * 0.2
    model = TopDownClassifier(tree, n_jobs=1)
    seen = np.flatnonzero(y % 8 < 4)[:40]
    scores = model.fit(X[seen], [10 + int(v) for v in y[seen]]).decision_function(X)
    assert np.isneginf(scores).any(axis=1).all()
    held = np.setdiff1d(np.arange(96), seen)
    named = [10 + int(v) for v in y[held]]
    placing = BackOff(tree, 0.9).fit(scores[held], named, model.classes_)
    assert 1e-2 < placing.scale_ < 1e2
    placed = placing.place(scores[held])
    right = [
        node in {v, (v - 10) // 8} for node, v in zip(placed.nodes, named, strict=True)
    ]
    assert np.mean(right) > 0.9
    assert "left" not in placed.kinds
