"""Rankers as classifiers: labels by name, answers, probabilities, weights."""

import sys
from copy import deepcopy
from importlib import import_module

import numpy as np
import pytest
from scipy.sparse import csr_matrix
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline

import classmark as cm
from classmark.problems import Mistake, NotFitted, not_fitted

X = np.array([[1.0, 0, 0], [0.9, 0.1, 0], [0, 1, 0], [0.1, 1, 0], [0, 0, 1.0]] * 4)
NAMES = ["tea", "tea", "ale", "ale", "rum"] * 4
LISTS = [["tea"], ["tea", "rum"], ["ale"], ["ale"], ["rum"]] * 4
RANKERS = [
    cm.Rocchio(), cm.MMP(passes=5), cm.CategoryPerceptron(passes=9),
    cm.PreferenceRanker(C=1.0), cm.LogLinearRanker(), cm.TaxonomyRanker(),
]  # fmt: skip


@pytest.mark.parametrize("ranker", RANKERS, ids=repr)
def test_names_come_back(ranker):
    one = ranker.fit(X, NAMES)
    assert one.classes_.tolist() == ["ale", "rum", "tea"]
    assert one.predict(X).tolist() == NAMES
    assert one.score(X, NAMES) == 1.0
    p = one.predict_proba(X)
    assert np.allclose(p.sum(axis=1), 1.0)
    assert p.max() < 1.0
    assert deepcopy(one).predict(X).tolist() == NAMES
    several = ranker.fit(X, LISTS)
    assert {name for names in several.predict(X) for name in names} <= {*NAMES}
    assert several.score(X, [["gin"]] * len(X)) < 0.3  # a label no fold has seen
    assert several.decision_function(X).shape == (20, 3)


@pytest.mark.parametrize("ranker", RANKERS, ids=repr)
def test_numbers_and_names_learn_the_same(ranker):
    number = {"ale": 0, "rum": 1, "tea": 2}
    lists = [[number[name] for name in names] for names in LISTS]
    if isinstance(ranker, cm.LogLinearRanker):
        ranker = cm.LogLinearRanker(C=1.0, solver="lbfgs")
    named = ranker.fit(X, LISTS).category_scores(X)
    assert np.array_equal(named, ranker.fit(X, lists).category_scores(X))
    assert ranker.predict(X).dtype == bool


def test_two_classes_have_one_score():
    ranker = cm.Rocchio().fit(X[:4], [-1, -1, 1, 1])
    scores = ranker.decision_function(X[:4])
    assert scores.shape == (4,)
    assert ranker.predict(X[:4]).tolist() == np.where(scores > 0, 1, -1).tolist()


def test_partial_fit_names_what_is_new():
    ranker = cm.PreferenceRanker(C=1.0).partial_fit(X[:4], NAMES[:4])
    ranker.partial_fit(X[4:5], NAMES[4:5])
    assert ranker.classes_.tolist() == ["ale", "tea", "rum"]
    assert ranker.predict(X[:5]).tolist() == NAMES[:5]


@pytest.mark.parametrize("ranker", RANKERS, ids=repr)
def test_a_document_of_weight_0_is_left_out(ranker):
    weights = np.array([1.0] * 15 + [0.0] * 5)
    scores = ranker.fit(X, NAMES, sample_weight=weights).category_scores(X)
    alone = ranker.fit(X[:15], NAMES[:15], sample_weight=weights[:15])
    assert np.array_equal(scores, alone.category_scores(X))


@pytest.mark.parametrize(
    "ranker",
    [
        cm.Rocchio(),
        cm.PreferenceRanker(C=1.0, tol=1e-9),
        cm.LogLinearRanker(tol=1e-8),
        cm.LogLinearRanker(solver="lbfgs", C=3.0, tol=1e-9),
    ],
    ids=repr,
)
@pytest.mark.parametrize("kind", [np.asarray, csr_matrix])
def test_a_weight_is_as_good_as_repeating(ranker, kind):
    random = np.random.default_rng(1)
    rows, y = random.random((12, 6)), random.integers(3, size=12)
    weights = random.integers(1, 4, size=12)
    once = ranker.fit(kind(rows), y, sample_weight=weights).category_scores(rows)
    repeated = ranker.fit(kind(rows.repeat(weights, axis=0)), y.repeat(weights))
    scores = repeated.category_scores(rows)
    centred = [s - s.mean(axis=1, keepdims=True) for s in (once, scores)]
    assert np.allclose(*centred, atol=2e-3)


def test_labels_that_are_none_are_named():
    for y, what in (
        ([0.5] * 20, "Unknown label type: continuous"),
        ([np.nan] * 20, "Input y contains NaN"),
        ([1, "a"] * 10, "Unknown label type"),
        (NAMES[:3], "Y has 3 rows, X has 20"),
        (None, "requires y to be passed"),
    ):
        with pytest.raises(Mistake, match=what):
            cm.Rocchio().fit(X, y)
    with pytest.raises(Mistake, match="all weights are zero"):
        cm.Rocchio().fit(X, NAMES, sample_weight=np.zeros(20))


def test_memory_bounds_dense_weights_of_the_log_linear_ranker():
    with pytest.raises(
        Mistake, match=r"9 weights need 72 bytes, more than memory='8B'"
    ):
        cm.LogLinearRanker(memory="8B").fit(X, NAMES)


def test_not_fitted_is_also_that_of_scikit_learn(monkeypatch):
    with pytest.raises(NotFittedError, match="this Rocchio is not fitted") as caught:
        cm.Rocchio().predict(X)
    assert isinstance(caught.value, Mistake | AttributeError)
    assert type(deepcopy(caught.value)) is NotFitted
    monkeypatch.delitem(sys.modules, "sklearn.exceptions")
    assert type(not_fitted("Rocchio")) is NotFitted
    assert not hasattr(cm.Rocchio(), "coef_")


@pytest.mark.needs("pandas")
def test_data_frames_of_pandas():
    import pandas as pd

    frame = pd.DataFrame(X, columns=list("abc")).assign(y=NAMES)
    ranker = cm.Rocchio().fit(frame[list("abc")], frame["y"])
    assert ranker.feature_names_in_.tolist() == ["a", "b", "c"]
    assert ranker.predict(frame[list("abc")]).tolist() == NAMES
    with pytest.raises(Mistake, match="same order"):
        ranker.predict(frame[list("cba")])
    vectorizer = cm.Vectorizer().set_output(transform="pandas")
    made = vectorizer.fit_transform(frame["y"])
    assert made.columns.tolist() == ["ale", "rum", "tea"]
    assert cm.Rocchio().fit(made, frame["y"]).score(made, frame["y"]) == 1.0


@pytest.mark.needs("polars")
def test_data_frames_of_polars():
    import polars as pl

    frame = pl.DataFrame(X, schema=list("abc")).with_columns(y=pl.Series(NAMES))
    ranker = cm.MMP(passes=5).fit(frame[["a", "b", "c"]], frame["y"])
    assert ranker.feature_names_in_.tolist() == ["a", "b", "c"]
    assert ranker.predict(frame[["a", "b", "c"]]).tolist() == NAMES
    made = cm.Vectorizer().set_output(transform="polars").fit_transform(frame["y"])
    assert made.columns == ["ale", "rum", "tea"]


FRAMES = [pytest.param(n, marks=pytest.mark.needs(n)) for n in ("pandas", "polars")]


@pytest.mark.parametrize("kind", FRAMES)
def test_a_data_frame_of_texts_is_read_by_its_one_column(kind):
    frames = import_module(kind)
    texts = ["honey and bees", "salt road", "bees", "salt"]
    frame = frames.DataFrame({"text": texts})
    labels = ["nature", "trade", "nature", "trade"]
    pipeline = make_pipeline(cm.Vectorizer(), cm.Rocchio()).fit(frame, labels)
    assert pipeline.predict(frame[["text"]]).tolist() == labels
    made = cm.Vectorizer().set_output(transform="pandas")
    if kind == "pandas":
        later = frame.set_axis([7, 8, 9, 10])
        assert made.fit_transform(later).index.tolist() == [7, 8, 9, 10]
    live = cm.LiveVectorizer()
    assert len(live.partial_fit(frame)) == len(live.rows(frame)) == 4
    wide = frames.DataFrame({"title": texts, "text": texts})
    for refused in (pipeline.predict, cm.Vectorizer().fit, live.rows):
        with pytest.raises(Mistake, match=r"2 columns .*as frame\['title'\]"):
            refused(wide)
