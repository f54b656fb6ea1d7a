"""joblib on Dask, as scikit-learn's users know it: every estimator, same numbers."""

import os
from contextlib import contextmanager

import numpy as np
import pytest
from joblib import Parallel, delayed, parallel_config
from sklearn.model_selection import GridSearchCV, KFold, cross_val_score
from sklearn.pipeline import make_pipeline

import classmark
from classmark.arrays import rows_from
from classmark.estimator import Estimator
from classmark.evaluation.stream import RunningRocchio
from classmark.examples.query import RelevanceQuery
from classmark.hierarchies.flat import NodeRanker
from classmark.hierarchies.rerank import VotedRanker, Votes
from classmark.hierarchies.top_down import TopDownRanker
from classmark.hierarchies.top_down_live import LiveTopDownRanker
from classmark.rankers.calibration import Calibrator, PathCalibrator
from classmark.rankers.linear import FixedRanker
from classmark.rankers.names import NamedRanker
from classmark.rankers.online import RankerBeside
from classmark.weighting.vectorizer import FixedVectorizer

TREE = classmark.Taxonomy(
    [("r", "food"), ("r", "bees"), ("food", "bread"), ("food", "jam")]
)
NAMED = ["bees", "bread", "jam"]
TEXTS = [
    "bees and honey in the hive", "the queen bee swarms with bees",
    "bread dough in the oven", "rye bread and yeast in the oven",
    "jam of plums and sugar", "plums and cherries for jam",
    "honey on bread", "a swarm over the plums",
] * 3  # fmt: skip
Y = np.tile([0, 0, 1, 1, 2, 2, 1, 0], 3)
NAMES = [NAMED[c] for c in Y]
LABELS = np.eye(3)[Y]
X = classmark.Vectorizer().fit_transform(TEXTS)
GRADES, QUERIES = Y, np.repeat(np.arange(6), 4)

#: What ``fit`` takes, and how a fitted one is asked.
BY_LABELS = ((X, LABELS), "decision_function", X)
BY_NAMES = ((X, NAMES), "decision_function", X)
BY_QUERIES = ((X, GRADES, QUERIES), "decision_function", X)
BY_EXAMPLE = ((X[:3], X), "decision_function", X)
CASES = [
    (classmark.Agglomerative(3), (X,), "labels_", None),
    (classmark.BackOff(TREE, 0.8), (10 * LABELS, NAMES, NAMED), "place", LABELS),
    (classmark.CategoryPerceptron(2, average=True), *BY_LABELS),
    (classmark.CrammerSingerSVM(), *BY_NAMES),
    (classmark.ExampleQuery(), *BY_EXAMPLE),
    (classmark.ExampleQuery("balanced", kernel="rbf"), *BY_EXAMPLE),
    (classmark.ExampleQuery("precision-recall"), *BY_EXAMPLE),
    (classmark.EnsembleRanker([classmark.Rocchio()]), *BY_LABELS),
    (classmark.FlatClassifier(), *BY_NAMES),
    (classmark.HierarchicalSVM(TREE), *BY_NAMES),
    (classmark.LambdaMART(), (X.toarray(), GRADES, QUERIES), "decision_function", X),
    (classmark.ListNet(), *BY_QUERIES),
    (classmark.LogLinearRanker(), *BY_LABELS),
    (classmark.MMP(passes=2, vote=True), *BY_LABELS),
    (classmark.MMP(kernel="rbf"), *BY_LABELS),
    (classmark.PairwiseLogistic(), *BY_QUERIES),
    (classmark.SVMMAP(), *BY_QUERIES),
    (classmark.RankNet(), *BY_QUERIES),
    (classmark.RankBoost(), *BY_QUERIES),
    (classmark.PointwiseSVM(), *BY_QUERIES),
    *((classmark.PreferenceRanker(m), *BY_LABELS) for m in ("dom", "svm", "dis")),
    (classmark.PreferenceRanker(kernel="rbf"), *BY_LABELS),
    (classmark.PreferenceRanker(memory="100B"), *BY_LABELS),
    (classmark.RankingSVM(), *BY_QUERIES),
    (classmark.RareCategoryReranker(), (X, NAMES), "rank", X),
    (classmark.Rocchio(), *BY_LABELS),
    (classmark.SoftMixture(2), (X,), "predict", X),
    (classmark.SphericalKMeans(2), (X,), "predict", X),
    (classmark.TaxonomyRanker(TREE, NAMED), *BY_LABELS),
    (classmark.TopDownClassifier(TREE), *BY_NAMES),
    (classmark.TopDownClassifier(TREE, "logistic"), *BY_NAMES),
    (classmark.Vectorizer(), (TEXTS,), "transform", TEXTS),
    (Calibrator(), (LABELS + X[:, :3].toarray(), LABELS), "transform", LABELS),
    (NodeRanker(), *BY_LABELS),
    (RelevanceQuery(), (X[:3], None, X[6:]), "decision_function", X),
    (TopDownRanker(TREE, NAMED), *BY_LABELS),
]  # fmt: skip
#: These hold what is fitted, or learn row by row.
OTHERS = {
    VotedRanker, NamedRanker, RunningRocchio, classmark.LiveVectorizer, FixedRanker,
    FixedVectorizer, PathCalibrator, RankerBeside, LiveTopDownRanker,
}  # fmt: skip

SEARCHED = [
    (classmark.Rocchio(), {"gamma": [0.0, 4.0]}, LABELS),
    (classmark.CategoryPerceptron(), {"passes": [1, 3]}, LABELS),
    (classmark.MMP(), {"passes": [1, 3]}, LABELS),
    (classmark.LogLinearRanker(), {"C": [1.0, 10.0]}, LABELS),
    (classmark.PreferenceRanker(), {"C": [0.1, 10.0]}, LABELS),
    (classmark.TaxonomyRanker(TREE, NAMED), {"C": [0.1, None]}, LABELS),
    (NodeRanker(), {"C": [0.1, 1.0]}, LABELS),
    (classmark.EnsembleRanker([classmark.Rocchio()]), {"random_state": [0, 1]}, LABELS),
    (classmark.FlatClassifier(), {"C": [0.1, 10.0]}, NAMES),
    (classmark.CrammerSingerSVM(), {"C": [0.1, 10.0]}, NAMES),
    (classmark.HierarchicalSVM(TREE), {"C": [0.1, 10.0]}, NAMES),
    (classmark.TopDownClassifier(TREE), {"C": [0.1, 10.0]}, NAMES),
    (
        classmark.RareCategoryReranker(classmark.CrammerSingerSVM()),
        {"base__C": [0.1, 10.0]},
        NAMES,
    ),
    (classmark.SphericalKMeans(2), {"n_clusters": [2, 3]}, None),
    (classmark.SoftMixture(2), {"n_components": [2, 3]}, None),
]


def kinds(kind):
    for sub in kind.__subclasses__():
        if sub.__module__.startswith("classmark."):
            yield sub
        yield from kinds(sub)


def is_left_out(kind):
    """What nobody makes: a shared beginning, or a stand-in of the workbench."""
    return bool(getattr(kind, "__abstractmethods__", ())) or kind in OTHERS or (
        kind.__module__.startswith("classmark.workbench")
    )  # fmt: skip


@contextmanager
def by_dask(machines):
    with machines.client.as_current(), parallel_config(backend="dask"):
        yield


def answers(model, how, asked):
    found = getattr(model, how)
    found = found if asked is None else found(asked)
    return found.toarray() if hasattr(found, "toarray") else found


def equal(one, other):
    if isinstance(one, np.ndarray):
        return one.dtype == other.dtype and np.array_equal(one, other)
    return repr(one) == repr(other)


def named(model, *_):
    return type(model).__name__


def test_every_estimator_is_tried():
    for name in dir(classmark):
        getattr(classmark, name)
    tried = {type(model) for model, *_ in CASES}
    left = {kind for kind in kinds(Estimator) if not is_left_out(kind)} - tried
    parents = {base for kind in tried for base in kind.__mro__[1:]}
    assert left - parents == set()
    names = {id(getattr(classmark, name)) for name in dir(classmark)}
    public = {kind for kind in kinds(Estimator) if id(kind) in names} - parents
    assert public <= tried | OTHERS
    by_query = classmark.QueryRanker  # whose folds are of queries: ltr/judged.py
    able = {k for k in public if hasattr(k, "score") and not issubclass(k, by_query)}
    assert able <= {type(model) for model, *_ in SEARCHED}


@pytest.fixture(scope="module")
def fitted_away(started):
    """Every estimator, fitted on a worker and sent back."""
    with by_dask(started(2)):
        found = Parallel()(
            delayed(type(model).fit)(model, *given) for model, given, *_ in CASES
        )
    return list(found)


@pytest.mark.parametrize("at", range(len(CASES)), ids=[named(*case) for case in CASES])
def test_fitted_on_a_worker_as_here(at, fitted_away):
    model, given, *asking = CASES[at]
    here = type(model)(**model.get_params(deep=False)).fit(*given)
    assert not model.__sklearn_is_fitted__()
    assert equal(answers(here, *asking), answers(fitted_away[at], *asking))
    assert repr(fitted_away[at]) == repr(model)


@pytest.mark.parametrize(
    ("model", "grid", "y"), SEARCHED, ids=[named(*case) for case in SEARCHED]
)
def test_scikit_learn_searches_on_workers_as_here(model, grid, y, two):
    line = make_pipeline(classmark.Vectorizer(), model)
    name = line.steps[-1][0]
    folds = KFold(3, shuffle=True, random_state=0)
    search = GridSearchCV(
        line,
        {f"{name}__{key}": tried for key, tried in grid.items()},
        cv=folds,
        error_score="raise",
    )
    here = search.fit(TEXTS, y)
    scores, best = here.cv_results_["mean_test_score"], here.best_params_
    with by_dask(two):
        there = search.fit(TEXTS, y)
    assert there.cv_results_["mean_test_score"].tolist() == scores.tolist()
    assert there.best_params_ == best


def test_it_is_workers_that_do_it(two):
    with by_dask(two):
        seen = set(Parallel()(delayed(os.getpid)() for _ in range(8)))
    assert seen
    assert seen <= set(two.client.run(os.getpid).values())


def test_cross_validation_on_workers_gives_the_scores_of_here(two):
    line = make_pipeline(classmark.Vectorizer(), classmark.PreferenceRanker("svm"))
    folds = KFold(4, shuffle=True, random_state=1)
    here = cross_val_score(line, TEXTS, LABELS, cv=folds)
    with by_dask(two):
        there = cross_val_score(line, TEXTS, LABELS, cv=folds)
    assert there.tolist() == here.tolist()


def test_what_holds_a_fitted_one_is_sent_too(two):
    """A ranker with votes, and one that learns row by row: asked on a worker."""
    rows, labels = rows_from(X), rows_from(LABELS)
    ranker = classmark.PreferenceRanker().fit(X, LABELS)
    votes = Votes(rows, labels, 1.0)
    models = [
        VotedRanker(ranker, votes, range(3)),
        RunningRocchio().partial_fit(X, LABELS),
        classmark.PreferenceRanker().partial_fit(X, LABELS),
    ]
    with by_dask(two):
        there = Parallel()(delayed(type(m).decision_function)(m, X) for m in models)
        live = classmark.LiveVectorizer()
        live.learn(TEXTS[0])
        calls = [delayed(type(live).transform)(live, TEXTS)] * 2
        rows = Parallel()(calls)
    for model, found in zip(models, there, strict=True):
        assert np.array_equal(model.decision_function(X), found)
    for found in rows:
        assert np.array_equal(found.toarray(), live.transform(TEXTS).toarray())
