"""The classifier from the root down: trees, graphs, inner labels, several labels."""

import time
from threading import Lock

import numpy as np
import pytest
from scipy.sparse import csr_matrix
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.utils.validation import check_is_fitted

from classmark.arrays import rows_from, take
from classmark.hierarchies import nodes as node_training
from classmark.hierarchies import places as lessons
from classmark.hierarchies.flat import FlatClassifier
from classmark.hierarchies.nodes import fit_node
from classmark.hierarchies.places import Nodes, places_of, shape_of
from classmark.hierarchies.top_down import TopDownClassifier
from classmark.problems import Mistake
from classmark.progress import shown_by
from classmark.taxonomy.tree import Taxonomy

EDGES = [
    ("r", "animals"), ("r", "plants"), ("r", "stones"), ("animals", "bees"),
    ("animals", "cats"), ("plants", "trees"), ("trees", "oak"), ("trees", "ash"),
    ("plants", "herbs"), ("herbs", "mint"),
]  # fmt: skip
TREE = Taxonomy(EDGES)
BASES = ["svm", "logistic", "naive-bayes"]


def texts(labels, seed=0, width=40):
    """Rows whose words tell the categories: each has its own few columns."""
    rng = np.random.default_rng(seed)
    known = sorted({name for edge in EDGES for name in edge})
    X = (rng.random((len(labels), width)) < 0.1) * 1.0
    for row, label in zip(X, labels, strict=True):
        for one in label if isinstance(label, list) else [label]:
            above = [one, *TREE.ancestors(one)]
            row[[3 * known.index(name) + rng.integers(3) for name in above]] += 2.0
    return X


def drawn(n=90, seed=0, names=("bees", "cats", "oak", "ash", "mint", "stones")):
    rng = np.random.default_rng(seed)
    y = [names[at] for at in rng.integers(0, len(names), n)]
    return texts(y, seed), y


@pytest.mark.parametrize("base", BASES)
def test_it_learns(base):
    X, y = drawn(200)
    later, gold = drawn(100, seed=1)
    model = TopDownClassifier(TREE, base).fit(X, y)
    assert model.score(later, gold) > 0.9
    assert model.classes_ == [*TREE.leaves]


@pytest.mark.parametrize("base", BASES)
def test_greedy_prediction_is_the_descent_by_hand(base):
    X, y = drawn()
    later, _ = drawn(30, seed=1)
    rows, places = rows_from(X), places_of(TREE, y)
    below = places.nodes_of().toarray()
    found = []
    for document in later:
        node = places.root
        while len(daughters := places.daughters(node)):
            inside = np.flatnonzero(below[:, node])
            owners = rows_from(below[np.ix_(inside, daughters)])
            model = fit_node(take(rows, inside), owners, base)
            scores = model.scores(rows_from(document[np.newaxis]))[0]
            node = int(daughters[np.argmax(scores)])
        found.append(places.tree.nodes[node])
    assert TopDownClassifier(TREE, base).fit(X, y).predict(later) == found


@pytest.mark.parametrize("base", BASES)
def test_every_way_to_the_best_leaf_agrees(base):
    X, y = drawn()
    later, _ = drawn(40, seed=1)
    model = TopDownClassifier(TREE, base, beam=None).fit(X, y)
    scores = model.decision_function(later)
    np.testing.assert_allclose(np.exp(scores).sum(axis=1), 1.0)
    best = [model.classes_[at] for at in scores.argmax(axis=1)]
    assert model.predict(later) == best
    assert model.set_params(beam=100).predict(later) == best
    ranked = model.rank(later)
    assert [line[0] for line in ranked] == best
    assert [line[:3] for line in ranked] == model.rank(later, k=3)
    assert all(sorted(line) == sorted(model.classes_) for line in ranked)
    assert model.rank(later, k=99) == ranked


def test_the_greedy_leaf_alone_has_a_margin_above_zero():
    X, y = drawn()
    later, _ = drawn(40, seed=1)
    model = TopDownClassifier(TREE).fit(X, y)
    margins = model.margins(later)
    assert ((margins > 0).sum(axis=1) == 1).all()
    greedy = [model.classes_[at] for at in margins.argmax(axis=1)]
    assert model.predict(later) == greedy


def test_one_inner_node_is_the_flat_classifier():
    X, y = drawn(120)
    later, _ = drawn(40, seed=1)
    flat_tree = Taxonomy([("r", name) for name in sorted(set(y))])
    model = TopDownClassifier(flat_tree).fit(X, y)
    flat = FlatClassifier().fit(X, y)
    assert model.rank(later) == flat.rank(later, len(flat.classes_))


def test_documents_of_inner_categories_are_predicted_there():
    names = ("bees", "animals", "oak", "plants", "stones")
    X, y = drawn(200, names=names)
    model = TopDownClassifier(TREE).fit(X, y)
    assert set(model.predict(X)) == set(names)
    assert model.score(X, y) > 0.95
    assert sorted(model.rank(X[:1])[0]) == sorted(
        ["bees", "cats", "oak", "ash", "mint", "stones", "animals", "plants"]
    )


@pytest.mark.parametrize("base", BASES)
def test_categories_without_documents_come_last(base):
    X, y = drawn(80, names=("bees", "oak", "stones"))
    model = TopDownClassifier(TREE, base).fit(X, y)
    for line in model.rank(X):
        assert set(line[:3]) == {"bees", "oak", "stones"}
        assert sorted(line) == sorted(TREE.leaves)
    assert set(model.predict(texts(["cats", "mint", "ash"]))) <= {
        "bees", "oak", "stones",
    }  # fmt: skip
    known = [name in {"bees", "oak", "stones"} for name in model.classes_]
    for scores in (model.decision_function(X), model.margins(X)):
        assert np.isfinite(scores[:, known]).all()
        assert np.isneginf(scores[:, np.logical_not(known)]).all()


def test_rows_without_values_are_counted_without_a_warning():
    model = TopDownClassifier(TREE, "naive-bayes").fit(
        np.zeros((3, 4)), ["bees", "bees", "oak"]
    )
    assert model.predict(np.zeros((1, 4))) == ["bees"]


def test_score_needs_a_category_for_each_document():
    X, y = drawn(60)
    model = TopDownClassifier(TREE).fit(X, y)
    with pytest.raises(Mistake, match="60 rows, y 59 entries"):
        model.score(X, y[:-1])


@pytest.mark.parametrize(
    "settings",
    [{"beam": 2.5}, {"beam": "x"}, {"C": "1"}, {"n_jobs": 1.5}, {"tol": None},
     {"drop": "0"}, {"scale": True}],
)  # fmt: skip
def test_what_is_no_number_is_told(settings):
    X, y = drawn(60)
    (name,) = settings
    with pytest.raises(Mistake, match=f"{name} is .*: give a (whole )?number"):
        TopDownClassifier(TREE, **settings).fit(X, y)


def test_a_leaf_with_two_parents_is_found_by_either():
    graph = Taxonomy([*EDGES, ("animals", "mint")])
    X, y = drawn(150)
    model = TopDownClassifier(graph).fit(X, y)
    assert model.score(X, y) > 0.95
    assert sorted(model.rank(X[:1])[0]) == sorted(graph.leaves)


def test_several_roots_and_a_lonely_one():
    forest = Taxonomy(EDGES[3:], nodes=["stones"])
    X, y = drawn(150)
    model = TopDownClassifier(forest).fit(X, y)
    assert model.score(X, y) > 0.95


def test_several_labels():
    X, y = drawn(60)
    both = [["bees", "oak"], ["mint", "stones"]] * 20
    X = np.concatenate([X, texts(both, seed=3)])
    model = TopDownClassifier(TREE).fit(X, [*y, *both])
    found = model.predict_several(texts(both[:2], seed=4), threshold=0.1)
    assert [set(line) for line in found] == [{"bees", "oak"}, {"mint", "stones"}]
    scores = model.decision_function(X)
    for i, line in enumerate(model.predict_several(X, threshold=0.3)):
        near = np.exp(scores[i] - scores[i].max()) >= 0.3
        assert set(line) == {model.classes_[at] for at in np.flatnonzero(near)}


def test_documents_without_a_category_teach_nothing():
    X, y = drawn(60)
    more = np.concatenate([X, X[:5]])
    one = TopDownClassifier(TREE).fit(X, y).decision_function(X)
    other = TopDownClassifier(TREE).fit(more, [*y, *[[]] * 5]).decision_function(X)
    assert np.array_equal(one, other)


def test_threads_change_nothing():
    X, y = drawn(120)
    one = TopDownClassifier(TREE, n_jobs=1).fit(X, y)
    three = TopDownClassifier(TREE, n_jobs=3).fit(X, y)
    many = np.concatenate([X] * 8)
    assert np.array_equal(one.decision_function(many), three.decision_function(many))


@pytest.mark.parametrize("base", BASES)
def test_evidence_adds_up(base):
    X, y = drawn(100)
    model = TopDownClassifier(TREE, base).fit(X, y)
    for leaf in ("oak", "stones"):
        document = texts([leaf], seed=5)
        found = model.evidence(document, leaf)
        favour, _ = found.strongest(3)
        assert favour
        rows, places = rows_from(X), model.places_
        below, total = places.nodes_of().toarray(), 0.0
        for name in [*TREE.ancestors(leaf)]:
            node = places.tree.number(name)
            daughters = places.daughters(node)
            inside = np.flatnonzero(below[:, node])
            owners = rows_from(below[np.ix_(inside, daughters)])
            fitted = fit_node(take(rows, inside), owners, base)
            parts = fitted.scores(rows_from(document))[0] - fitted.bias
            path = {leaf, *TREE.ancestors(leaf)}
            j = [places.tree.nodes[u] in path for u in daughters].index(True)
            total += parts[j] - parts.mean()
        assert found.parts.sum() == pytest.approx(total, abs=1e-4)


def test_small_weights_can_be_dropped():
    X, y = drawn(200)
    whole = TopDownClassifier(TREE).fit(X, y)
    less = TopDownClassifier(TREE, drop=0.2).fit(X, y)
    assert whole.dropped_ == 0.0
    assert 0.0 < less.dropped_ < 0.3
    assert less.size_bytes_ < whole.size_bytes_
    assert less.score(X, y) > 0.95


def test_little_memory_means_sparse_weights_and_the_same_order(monkeypatch):
    monkeypatch.setattr(lessons, "PER_SPARSE_VALUE", 0)
    monkeypatch.setattr(lessons, "PER_DOCUMENT", 0)
    X, y = drawn(150)
    dense = TopDownClassifier(TREE, tol=1e-5).fit(X, y)
    sparse = TopDownClassifier(TREE, tol=1e-5, memory="1kB").fit(X, y)
    np.testing.assert_allclose(
        sparse.decision_function(X), dense.decision_function(X), atol=0.03
    )


@pytest.mark.parametrize(
    ("base", "remedy"), [("svm", "fewer features"), ("logistic", "base='svm'")]
)
def test_too_little_memory_is_told(base, remedy):
    X, y = drawn(20)
    with pytest.raises(Mistake, match=f"memory='1kB': the node 'r' with 3 .*{remedy}"):
        TopDownClassifier(TREE, base, memory="1kB").fit(X, y)


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ({"beam": 0}, "beam is 0"),
        ({"drop": 1.0}, "drop is 1.0"),
        ({"base": "tree"}, "base 'tree' is not known"),
        ({"C": 0.0}, "C is 0.0"),
        ({"n_jobs": 0}, "n_jobs is 0"),
        ({"scale": 0.0}, "scale"),
        ({"taxonomy": EDGES}, "taxonomy is a list"),
    ],
)
def test_wrong_settings_are_told(settings, told):
    X, y = drawn(10)
    with pytest.raises(Mistake, match=told):
        TopDownClassifier(**{"taxonomy": TREE} | settings).fit(X, y)


def test_wrong_data_are_told():
    X, y = drawn(20)
    model = TopDownClassifier(TREE)
    with pytest.raises(Mistake, match="not fitted"):
        model.predict(X)
    with pytest.raises(Mistake, match="19 entries"):
        model.fit(X, y[1:])
    with pytest.raises(Mistake, match="no document is in a category"):
        model.fit(X, [[]] * 20)
    with pytest.raises(Mistake, match="no inner category"):
        TopDownClassifier(Taxonomy([], nodes=["r"])).fit(X, ["r"] * 20)
    model.fit(X, y)
    with pytest.raises(Mistake, match="X has 3 features"):
        model.predict(X[:, :3])
    with pytest.raises(Mistake, match="k is 0"):
        model.rank(X, k=0)
    with pytest.raises(Mistake, match="threshold is 0"):
        model.predict_several(X, threshold=0)
    with pytest.raises(Mistake, match="'rose' is not one of classes_"):
        model.evidence(X[:1], "rose")
    with pytest.raises(Mistake, match="2 rows"):
        model.evidence(X[:2], "oak")


def test_scikit_learn_can_use_it():
    X, y = drawn(120)
    model = TopDownClassifier(TREE, C=2.0).fit(csr_matrix(X), np.array(y))
    check_is_fitted(model)
    copy = clone(model)
    assert copy.C == 2.0
    assert not hasattr(copy, "places_")
    assert cross_val_score(copy, X, np.array(y), cv=3).min() > 0.8
    grid = GridSearchCV(copy, {"beam": [1, 3], "base": ["svm"]}, cv=2)
    assert grid.fit(X, np.array(y)).best_score_ > 0.8
    assert repr(TopDownClassifier(TREE, beam=5)).endswith("beam=5)")


def test_progress_is_told():
    told = []

    class Display:
        def track(self, items, what, total):
            told.append((what, total))
            yield from items

    X, y = drawn(60)
    with shown_by(Display()):
        TopDownClassifier(TREE).fit(X, y).predict(X)
    assert ("nodes", 5) in told
    assert ("documents", 1) in told


@pytest.mark.parametrize(("times", "most"), [(1.01, 1), (100.0, 3)])
def test_nodes_learn_together_only_where_both_fit(monkeypatch, times, most):
    X, y = drawn(60)
    places = places_of(TREE, y)
    nodes = Nodes(rows_from(X), places, shape_of(places))
    needs = [nodes.need(at, "svm") for at in range(len(nodes.shape))]
    learn, running, seen, lock = node_training.learn_node, [], [], Lock()

    def watched(nodes, at, *rest, **more):
        with lock:
            running.append(needs[at])
            seen.append((len(running), sum(running)))
        time.sleep(0.05)
        found = learn(nodes, at, *rest, **more)
        with lock:
            running.remove(needs[at])
        return found

    monkeypatch.setattr(node_training, "learn_node", watched)
    memory = times * max(needs)
    TopDownClassifier(TREE, n_jobs=3, memory=memory).fit(X, y)
    assert max(total for _, total in seen) <= memory
    assert seen[0][0] == 1
    assert max(count for count, _ in seen[:2]) <= most
    assert len(seen) == 5
