"""Our estimators inside scikit-learn's own Pipeline, clone, folds and grid."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, KFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.utils.validation import check_is_fitted

from classmark import CategoryPerceptron, Rocchio, Vectorizer
from classmark.rankers.online import MMP

TEXTS = [
    "bees and honey in the hive", "the queen bee swarms", "honey from wild bees",
    "bread dough in the oven", "rye bread and yeast", "the oven bakes the dough",
] * 3  # fmt: skip
Y = np.array([[1, 0]] * 3 + [[0, 1]] * 3) * 1
Y = np.concatenate([Y] * 3)
RANKERS = [
    Rocchio(),
    CategoryPerceptron(passes=2, average=True),
    MMP(loss=1, passes=2),
    MMP(passes=2, vote=True),
]


@pytest.mark.parametrize("ranker", RANKERS, ids=repr)
def test_clone_keeps_parameters_and_drops_what_was_learned(ranker):
    pipeline = make_pipeline(Vectorizer(), ranker).fit(TEXTS, Y)
    copy = clone(pipeline)
    assert copy[-1].get_params() == ranker.get_params()
    assert not hasattr(copy[-1], "weights_")
    check_is_fitted(pipeline[-1])


@pytest.mark.parametrize("ranker", RANKERS, ids=repr)
def test_cross_validation_over_texts(ranker):
    scores = cross_val_score(
        make_pipeline(Vectorizer(), ranker),
        TEXTS,
        Y,
        cv=KFold(3, shuffle=True, random_state=0),
    )
    assert (scores > 0.9).all()


def test_cross_validation_over_label_lists():
    lists = [list(np.flatnonzero(y)) for y in Y]
    model = make_pipeline(Vectorizer(), Rocchio())
    assert cross_val_score(model, TEXTS, lists, cv=KFold(3)).mean() > 0.9
    assert cross_val_score(model, TEXTS, list(map(set, lists)), cv=3).mean() > 0.9


def test_grid_search_finds_a_nested_parameter():
    grid = GridSearchCV(
        make_pipeline(Vectorizer(), Rocchio()),
        {"vectorizer__weighting": ["binary", "tfidf"], "rocchio__gamma": [0.0, 4.0]},
        cv=3,
    ).fit(TEXTS, Y)
    assert set(grid.best_params_) == {"vectorizer__weighting", "rocchio__gamma"}
    assert grid.best_score_ > 0.9


def test_decision_function_and_rank_through_the_pipeline():
    pipeline = make_pipeline(Vectorizer(), Rocchio()).fit(TEXTS, Y)
    scores = pipeline.decision_function(["a swarm of bees", "an oven"])
    assert scores.argmax(axis=1).tolist() == [0, 1]
