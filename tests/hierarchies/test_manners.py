"""Estimators over trees and clusters: scikit-learn's manners, and what they refuse."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, KFold
from sklearn.pipeline import make_pipeline

from classmark import (
    Agglomerative,
    BackOff,
    CrammerSingerSVM,
    FlatClassifier,
    HierarchicalSVM,
    PreferenceRanker,
    RareCategoryReranker,
    SoftMixture,
    SphericalKMeans,
    Taxonomy,
    TaxonomyRanker,
    TopDownClassifier,
    Vectorizer,
)
from classmark.problems import Mistake

TREE = Taxonomy([("r", "food"), ("r", "bees"), ("food", "bread"), ("food", "jam")])
TEXTS = [
    "bees and honey in the hive", "the queen bee swarms with bees",
    "bread dough in the oven", "rye bread and yeast in the oven",
    "jam of plums and sugar", "plums and cherries for jam",
] * 3  # fmt: skip
NAMES = ["bees", "bees", "bread", "bread", "jam", "jam"] * 3
NUMBERS = [["bees", "bread", "jam"].index(name) for name in NAMES]
LABELS = np.eye(3)[NUMBERS]
SORTERS = [
    (FlatClassifier(), {"C": [0.1, 10.0]}),
    (CrammerSingerSVM(), {"C": [0.1, 10.0]}),
    (HierarchicalSVM(TREE), {"C": [0.1, 10.0]}),
    (TopDownClassifier(TREE), {"C": [0.1, 10.0]}),
    (RareCategoryReranker(CrammerSingerSVM()), {"base__C": [0.1, 10.0]}),
]
RANKERS = [(TaxonomyRanker(TREE, ["bees", "bread", "jam"]), {"C": [0.1, None]})]
GROUPERS = [
    (SphericalKMeans(2), {"n_clusters": [2, 3]}),
    (SoftMixture(2), {"n_components": [2, 3]}),
]
EVERY = [
    *((model, grid, NAMES) for model, grid in SORTERS),
    *((model, grid, LABELS) for model, grid in RANKERS),
    *((model, grid, None) for model, grid in GROUPERS),
]
X = np.eye(4)
Y = ["bees", "bees", "jam", "jam"]


@pytest.mark.parametrize(
    ("model", "grid", "y"), EVERY, ids=[type(m).__name__ for m, *_ in EVERY]
)
def test_scikit_learn_searches_them_in_a_pipeline(model, grid, y):
    line = make_pipeline(Vectorizer(), model)
    name = line.steps[-1][0]
    grids = {f"{name}__{key}": tried for key, tried in grid.items()}
    folds = KFold(3, shuffle=True, random_state=0)
    found = GridSearchCV(line, grids, cv=folds, error_score="raise").fit(TEXTS, y)
    assert np.isfinite(found.best_score_)
    if y is not None:
        assert found.best_score_ > 0.9
    copied = clone(found.best_estimator_[-1])
    assert type(copied) is type(model)
    with pytest.raises(Mistake, match="not fitted"):
        copied.predict(X) if hasattr(copied, "predict") else copied.rank(X)


def test_clusters_that_answer_nothing_new_are_cloned_and_piped():
    line = make_pipeline(Vectorizer(), Agglomerative(3))
    assert len(set(clone(line).fit_predict(TEXTS))) == 3


def test_what_learns_from_scores_is_cloned():
    copied = clone(BackOff(TREE, 0.8).fit(10 * LABELS, NAMES, ["bees", "bread", "jam"]))
    assert copied.precision == 0.8
    assert not hasattr(copied, "scale_")


@pytest.mark.parametrize(
    "model", [FlatClassifier(), HierarchicalSVM(TREE), RareCategoryReranker(delta=0.5)]
)
def test_accuracy_counts_any_of_several_categories(model):
    answers = model.fit(X, Y).predict(X)
    wanted = [[answers[0], "bread"], ["bread"], answers[2], {answers[3]}]
    assert model.score(X, wanted) == 0.75
    for short in (Y[:2], Y * 2):
        with pytest.raises(Mistake, match=f"X has 4 rows, y {len(short)} entries"):
            model.score(X, short)
    with pytest.raises(Mistake, match="X has no rows"):
        model.score(np.empty((0, 4)), [])
    with pytest.raises(Mistake, match="y is None: give a list"):
        model.score(X, None)


@pytest.mark.parametrize(
    ("model", "what"),
    [
        (FlatClassifier(C="1"), "C is '1': give a number"),
        (FlatClassifier(tol="x"), "tol is 'x': give a number"),
        (FlatClassifier(n_jobs=1.5), "n_jobs is 1.5: give a whole number"),
        (CrammerSingerSVM(C=[1]), r"C is \[1\]: give a number"),
        (HierarchicalSVM(TREE, C="1"), "C is '1': give a number"),
        (HierarchicalSVM(TREE, max_iter=2.5), "max_iter is 2.5: give a whole number"),
        (HierarchicalSVM([("r", "bees")]), "taxonomy is a list: give a Taxonomy"),
        (RareCategoryReranker("svm"), "base is 'svm': give an estimator"),
        (RareCategoryReranker(FlatClassifier), "base is .*: give an estimator"),
        (RareCategoryReranker(votes=2), "votes is 2: give an odd number"),
        (RareCategoryReranker(votes=3.0), "votes is 3.0: give a whole number"),
        (RareCategoryReranker(votes="5"), "votes is '5': give a whole number"),
        (
            RareCategoryReranker(delta="1"),
            "delta is '1': give a number from 0 to 1, or None",
        ),
        (
            RareCategoryReranker(ratio=[2]),
            r"ratio is \[2\]: give a number over 0, or None",
        ),
    ],
)
def test_parameters_that_are_no_numbers(model, what):
    with pytest.raises(Mistake, match=what):
        model.fit(X, Y)


@pytest.mark.parametrize(
    ("model", "what"),
    [
        (TaxonomyRanker([("a", "b")]), "taxonomy is a list: give a Taxonomy"),
        (TaxonomyRanker(TREE, C="1"), "C is '1': give a number from 0, or None"),
        (TaxonomyRanker(TREE, decay="1"), "decay is '1': give a number"),
        (TaxonomyRanker(TREE, 3), "categories is 3: give a list of nodes"),
        (PreferenceRanker(C="1"), "C is '1': give a number"),
        (PreferenceRanker(max_iter=1.5), "max_iter is 1.5: give a whole number"),
    ],
)
def test_parameters_of_rankers_that_are_no_numbers(model, what):
    with pytest.raises(Mistake, match=what):
        model.fit(X, [[0], [0], [1], [1]])


@pytest.mark.parametrize(
    "model", [FlatClassifier(), HierarchicalSVM(TREE), TaxonomyRanker(TREE)]
)
@pytest.mark.parametrize("rows", [X, np.empty((0, 4))])
def test_without_any_label_there_is_nothing_to_learn(model, rows):
    with pytest.raises(
        Mistake, match=r"no (category|label): give at least one document|0 sample\(s\)"
    ):
        model.fit(rows, [[] for _ in rows])


@pytest.mark.parametrize("top", ["2", 1.5, 0])
def test_top_is_a_whole_number(top):
    for model, y in (
        (FlatClassifier(), Y),
        (RareCategoryReranker(), Y),
        (PreferenceRanker(), [[0], [0], [1], [1]]),
    ):
        with pytest.raises(Mistake, match=r"k is .*: ask for at least one category"):
            model.fit(X, y).rank(X, k=top)


@pytest.mark.parametrize("memory", ["2GB", "1B"])
def test_blocks_of_documents_answer_as_all_of_them(memory, monkeypatch):
    random = np.random.default_rng(0)
    rows, y = random.random((50, 8)), random.integers(5, size=50).tolist()
    model = FlatClassifier(memory=memory).fit(rows, y)
    whole = model.rank(rows), model.rank(rows, k=2), model.predict(rows)
    held = []
    scores = FlatClassifier._scores  # noqa: SLF001 (what is held at a time is tested)

    def watched(self, block):
        held.append(len(block))
        return scores(self, block)

    monkeypatch.setattr(FlatClassifier, "_scores", watched)
    monkeypatch.setattr("classmark.hierarchies.flat.CELLS", 35)
    assert (model.rank(rows), model.rank(rows, k=2), model.predict(rows)) == whole
    assert held == [7, 7, 7, 7, 7, 7, 7, 1] * 3
