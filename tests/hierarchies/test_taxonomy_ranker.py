"""A ranker that starts from the tree: what it solves, chooses, keeps and learns."""

from copy import deepcopy

import numpy as np
import pytest
from scipy.sparse import csr_matrix

from classmark.arrays import rows_from
from classmark.hierarchies.taxonomy_ranker import TaxonomyRanker, smoothed_prototypes
from classmark.preferences.graph import PreferenceGraph
from classmark.problems import Mistake
from classmark.rankers import auto
from classmark.rankers.auto import PreferenceSetting
from classmark.rankers.live_text_ranker import LiveTextRanker
from classmark.rankers.preference import PreferenceRanker
from classmark.rankers.text_ranker import TextRanker
from classmark.taxonomy.tree import Taxonomy
from classmark.weighting.vectorizer import Vectorizer

TREE = Taxonomy([("r", "a"), ("r", "b"), ("a", 1), ("a", 2), ("b", 3), ("b", 4)])
NAMES = [1, 2, 3, 4]
NODES = TREE.numbers(NAMES).tolist()


def made_up(count, seed=0, noise=0.5):
    """Documents that share words with their label and with those beside it."""
    random = np.random.default_rng(seed)
    label = random.integers(0, 4, count)
    X = noise * random.random((count, 12)) * (random.random((count, 12)) < 0.4)
    X[np.arange(count), label] += 0.5 * (random.random(count) < 0.6)
    X[np.arange(count), 4 + label // 2] += 0.5
    return X / np.linalg.norm(X, axis=1, keepdims=True), label


def indicator(label):
    return csr_matrix(np.eye(4)[label])


def test_it_solves_the_problem_around_the_smoothed_prototypes():
    X, label = made_up(40)
    Y = indicator(label)
    said = np.eye(len(TREE), 12)
    ranker = TaxonomyRanker(TREE, NAMES, 0.5, said, C=0.2, center=3.0, tol=1e-6)
    ranker.fit(X, Y)
    start = smoothed_prototypes(
        rows_from(X), rows_from(Y), TREE, NODES, 0.5, csr_matrix(0.5 * said)
    ).prototypes
    W = np.asarray(ranker.weights_)
    right = (X @ W)[np.arange(40), label]
    others = np.where(np.eye(4)[label] > 0, -np.inf, X @ W).max(axis=1)
    slack = np.maximum(0, 1 - right + others).sum()
    value = 0.5 * ((W - 3.0 * start.toarray()) ** 2).sum() + 0.2 * slack
    assert ranker.objective_ == pytest.approx(value, rel=1e-4)
    assert ranker.duality_gap_ <= 1e-6
    assert ranker.dropped_ == 0


def test_almost_no_price_leaves_the_prototypes():
    X, label = made_up(30)
    Y = indicator(label)
    ranker = TaxonomyRanker(TREE, NAMES, C=1e-9, center=1.0).fit(X, Y)
    start = smoothed_prototypes(rows_from(X), rows_from(Y), TREE, NODES).prototypes
    assert ranker.weights_ == pytest.approx(start.toarray(), abs=1e-6)


def test_descriptions_by_label_are_those_of_their_nodes():
    X, label = made_up(20)
    by_label = np.eye(4, 12)
    by_node = np.zeros((len(TREE), 12))
    by_node[NODES] = by_label
    first, second = (
        TaxonomyRanker(TREE, NAMES, descriptions=said, C=0.1, center=2.0)
        .fit(X, indicator(label))
        .coef_
        for said in (by_label, by_node)
    )
    assert first == pytest.approx(second)


def test_sparse_weights_order_alike():
    X, label = made_up(40)
    dense, sparse = (
        TaxonomyRanker(TREE, NAMES, C=0.2, center=3.0, tol=1e-6, memory=memory).fit(
            X, indicator(label)
        )
        for memory in ("1GB", "1B")
    )
    assert (dense.store_, sparse.store_) == ("dense", "sparse")
    apart = dense.decision_function(X) - sparse.decision_function(X)
    assert np.ptp(apart, axis=1) == pytest.approx(0, abs=1e-3)


def test_thresholds_start_from_nothing():
    X, label = made_up(30)
    ranker = TaxonomyRanker(
        TREE, NAMES, C=1e-9, center=1.0, loss="svm", descriptions=np.eye(4, 12)
    ).fit(X, indicator(label))
    assert ranker.weights_.shape == (12, 4)
    assert ranker.thresholds_ == pytest.approx(0, abs=1e-6)


NEAR = PreferenceSetting("dom", 0.3, 6.0, 0.3, 1e-2, 2.0)


def test_few_documents_are_learned_as_without_a_tree_but_nearer_the_prototypes():
    X, label = made_up(20)
    Y = indicator(label)
    setting = TaxonomyRanker(TREE, NAMES).fit(X, Y).setting_
    assert setting == NEAR
    assert setting._replace(center=3.0) == PreferenceRanker().fit(X, Y).setting_


def test_documents_are_compared_with_the_prototypes_without_them():
    X, label = made_up(20)
    problem = TaxonomyRanker(TREE, NAMES).fit(X, indicator(label)).problem_
    assert (problem.self_scores > 0).all()
    assert len(problem.self_scores) == 20


def test_with_a_tree_documents_with_one_label_have_a_prior_too():
    X, label = made_up(200)
    Y = indicator(label)
    assert TaxonomyRanker(TREE, NAMES).fit(X, Y).setting_.prior == 0.3
    assert PreferenceRanker().fit(X, Y).setting_.prior == 0.0
    alone = TaxonomyRanker(TREE, NAMES, thresholds="common").fit(X, Y)
    assert (alone.setting_.prior, alone.setting_.noise) == (0.0, 2.0)


def test_with_many_documents_those_held_out_decide(monkeypatch):
    X, label = made_up(200)
    centers = []

    def ranked(scores, truth):
        """As if center 3 were clearly better than 6, and 1.4 no better than that."""
        precision = np.full(len(scores), {0: 0.5, 1: 0.9, 2: 0.9}[len(centers)])
        centers.append(truth.width)
        return {"average_precision": precision}

    monkeypatch.setattr(auto, "category_ranking_per_document", ranked)
    ranker = TaxonomyRanker(TREE, NAMES).fit(X, indicator(label))
    assert ranker.setting_ == NEAR._replace(center=3.0)
    assert centers == [4, 4, 4]


def test_a_trial_starts_from_the_tree_too(monkeypatch):
    X, label = made_up(210)
    seen = []
    fit = TaxonomyRanker.fit

    def noted(self, X, y, sample_weight=None):
        seen.append((len(rows_from(X)), self.center, self._tree or self.taxonomy))
        return fit(self, X, y, sample_weight)

    monkeypatch.setattr(TaxonomyRanker, "fit", noted)
    TaxonomyRanker(TREE, NAMES).fit(X, indicator(label))
    assert seen == [(210, "auto", TREE)] + [(70, c, TREE) for c in (6.0, 3.0, 1.4)]


def test_sparse_weights_have_no_prior_and_no_noise():
    X, label = made_up(20)
    ranker = TaxonomyRanker(TREE, NAMES, memory="1B").fit(X, indicator(label))
    assert ranker.setting_ == NEAR._replace(center=5.0, prior=0.0, noise=0.0)


def test_a_value_given_stays():
    X, label = made_up(20)
    Y = indicator(label)
    priced = TaxonomyRanker(TREE, NAMES, C=0.7).fit(X, Y).setting_
    assert priced == PreferenceSetting("dom", 0.7, 5.0, 0.0, 1e-2)
    given = TaxonomyRanker(TREE, NAMES, center=1.5, noise=None).fit(X, Y).setting_
    assert given == NEAR._replace(center=1.5, noise=0.0)
    many = TaxonomyRanker(TREE, NAMES, C=0.1, center=2.0, prior=0.3, noise=1.0)
    assert many.fit(*made_up(200)).setting_ == NEAR._replace(
        C=0.1, center=2.0, noise=1.0
    )
    unset = TaxonomyRanker(TREE, NAMES, center=None).fit(X, Y).setting_
    assert unset == NEAR


def test_the_path_of_costs():
    X, label = made_up(30)
    Y = indicator(label)
    ranker = TaxonomyRanker(TREE, NAMES, tol=1e-6)
    for found in ranker.path(X, Y, [1.0, 0.1]):
        alone = TaxonomyRanker(TREE, NAMES, C=found.C, center=5.0, tol=1e-6).fit(X, Y)
        assert found.objective_ == pytest.approx(alone.objective_, rel=1e-4)
        assert found.setting_ == PreferenceSetting("dom", found.C, 5.0, 0.0, 1e-6)


def test_it_learns_on_document_by_document_with_the_parameters_of_now():
    X, label = made_up(40)
    Y = indicator(label)
    ranker = TaxonomyRanker(TREE, NAMES, C=0.1, center=2.0, revisits=3)
    with pytest.raises(Mistake, match="center and class_weight need all documents"):
        ranker.partial_fit(X, Y)
    ranker.fit(X[:30], Y[:30]).set_params(revisits=7).partial_fit(X[30:], Y[30:])
    assert ranker.revisits_ == 7 * 10
    assert ranker.ranker_ is ranker.simple
    assert ranker.weights_ is ranker.ranker_.weights_
    again = deepcopy(ranker)
    assert np.array_equal(again.decision_function(X), ranker.decision_function(X))


def test_preferences_can_be_learned():
    X, label = made_up(20)
    layered = [PreferenceGraph.multilabel(4, [int(c)]) for c in label]
    listed = [PreferenceGraph(4, [(int(c), (int(c) + 1) % 4)]) for c in label]
    for graphs in (layered, listed):
        ranker = TaxonomyRanker(TREE, NAMES).fit(X, graphs)
        assert ranker.setting_ == NEAR
        assert (ranker.rank(X, k=1)[:, 0] == label).mean() > 0.5


def test_labels_outside_the_tree_and_inside_it():
    X = np.eye(4)
    names = ["a", 1, "nowhere", "b"]
    ranker = TaxonomyRanker(TREE, names).fit(X, [[0], [1], [2], [3]])
    assert ranker.rank(X, k=1)[:, 0].tolist() == [0, 1, 2, 3]
    assert ranker.rank(X[:1])[0].tolist()[1] == 1


@pytest.mark.parametrize(
    ("given", "what"),
    [
        ({"decay": 1.5}, "decay is 1.5"),
        ({"weight": -1.0}, "weight is -1.0"),
        ({"C": -1.0}, "C is -1.0"),
        ({"center": -1.0}, "center is -1.0"),
        ({"loss": "max"}, "loss 'max' is not known"),
        ({"descriptions": np.eye(3, 12)}, "descriptions has 3 rows"),
        ({"descriptions": np.eye(4, 5)}, "descriptions has 5 features, X has 12"),
        ({"categories": [1, 2]}, "categories has 2 entries, Y has 4 labels"),
    ],
)
def test_what_does_not_fit_is_refused(given, what):
    X, label = made_up(20)
    ranker = TaxonomyRanker(TREE, NAMES).set_params(**given)
    with pytest.raises(Mistake, match=what):
        ranker.fit(X, indicator(label))


TEXTS = [
    "herring boats in the harbour",
    "the harbour light and the lifeboat",
    "bread ovens and flour",
    "a flour mill on the river",
]


def trained():
    vectorizer = Vectorizer()
    X = vectorizer.fit_transform(TEXTS)
    names = ["one", "two", "three", "four"]
    said = vectorizer.transform(["herring", "lifeboat", "ovens", "mill"])
    ranker = TaxonomyRanker(TREE, NAMES, descriptions=said).fit(X, np.eye(4))
    return TextRanker(vectorizer, ranker, names)


def test_it_is_kept_as_a_preference_ranker(tmp_path):
    model = trained()
    model.save(tmp_path / "m")
    opened = TextRanker.open(tmp_path / "m")
    assert type(opened.ranker) is PreferenceRanker
    assert (opened.ranker.C, opened.ranker.center) == (NEAR.C, NEAR.center)
    assert (opened.ranker.prior, opened.ranker.noise) == (NEAR.prior, NEAR.noise)
    assert opened.scores(TEXTS) == pytest.approx(model.scores(TEXTS))


def test_live_learning_goes_on_from_it(tmp_path):
    model = trained()
    before = model.scores(TEXTS)
    live = LiveTextRanker.start(model, ["d0", "d1", "d2", "d3"])
    assert live.ranker.decision_function(
        live.vectorizer.transform(TEXTS)
    ) == pytest.approx(before)
    text = "smoked eel by the harbour"
    for n in range(30):
        live.teach(f"e{n}", text, [3])
    live.revisit(200)
    assert live.suggest(text, k=1)[0].category == "four"
    assert live.teach("d0", TEXTS[0], None)
    live.save(tmp_path / "live")
    opened, _ = LiveTextRanker.open(tmp_path / "live")
    assert opened.ranker.C == NEAR.C
    for asked in (text, TEXTS[0]):
        first, second = (
            [(s.category, s.score) for s in ranker.suggest(asked)]
            for ranker in (live, opened)
        )
        assert [name for name, _ in first] == [name for name, _ in second]
        assert [x for _, x in first] == pytest.approx([x for _, x in second])


def test_what_is_learned_live_costs_what_was_chosen():
    live = LiveTextRanker.start(trained(), ["d0", "d1", "d2", "d3"])
    assert live.dual.C == NEAR.C


def test_a_category_without_documents_is_found_by_what_is_said():
    X = np.eye(5)
    said = np.zeros((4, 5))
    said[3, 4] = 1.0
    ranker = TaxonomyRanker(TREE, NAMES, descriptions=said)
    ranker.fit(X[:4], csr_matrix(np.eye(4)[[0, 1, 2, 2]]))
    assert ranker.rank(X[4:], k=1)[0, 0] == 3
    assert ranker.rank(X[2:3])[0, 1] == 3


@pytest.mark.parametrize("by_path", [False, True])
def test_all_categories_are_ranked_also_beyond_the_last_label(by_path):
    X = np.eye(5)
    said = np.zeros((4, 5))
    said[3, 4] = 1.0
    ranker = TaxonomyRanker(TREE, NAMES, descriptions=said, C=0.03, center=5.0)
    Y = [[0], [1], [2], [2]]
    found = next(ranker.path(X[:4], Y, [0.03])) if by_path else ranker.fit(X[:4], Y)
    assert found.rank(X[4:]).shape == (1, 4)
    assert found.rank(X[4:], k=1)[0, 0] == 3
    assert found.rank(X[2:3])[0, 1] == 3  # by what is above both


def test_without_categories_labels_end_with_the_last_of_y():
    ranker = TaxonomyRanker(TREE).fit(np.eye(4), [[0], [1], [2], [2]])
    assert ranker.rank(np.eye(4)).shape == (4, 3)


class Bees:
    """Two numbers of a text: whether it is about bees, and whether it is not."""

    def encode(self, texts):
        words = {"hive", "apiary", "honeycomb"}
        about = [not words.isdisjoint(text.split()) for text in texts]
        return [[1.0, 0.0] if bees else [0.0, 1.0] for bees in about]


def test_a_category_without_documents_is_found_by_what_its_description_means():
    texts, labels = ["asphalt road", "gravel road", "plain cake"], [[0], [1], [2]]
    said = {1: "asphalt", 2: "gravel", 3: "cake", 4: "a hive"}
    found = {}
    for name, meaning in (("words", None), ("both", Bees())):
        vectorizer = Vectorizer(meaning=meaning)
        X = vectorizer.fit_transform([*texts, "honeycomb"])[:3]
        about = vectorizer.transform([said.get(node, "") for node in TREE])
        ranker = TaxonomyRanker(TREE, NAMES, descriptions=about, prior=None)
        ranker.fit(X, labels)
        found[name] = ranker.decision_function(vectorizer.transform(["my apiary"]))[0]
    assert found["words"] == pytest.approx(np.zeros(4))
    assert found["both"].argmax() == 3
