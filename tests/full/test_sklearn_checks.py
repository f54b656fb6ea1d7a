"""scikit-learn's own checks over every public estimator, and why some cannot pass."""

import inspect
import warnings

import numpy as np
import pytest
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.utils.estimator_checks import check_estimator

import classmark as cm
from classmark.estimator import Estimator

PUBLIC = {
    name: kind
    for name in cm.__all__
    if inspect.isclass(kind := getattr(cm, name))
    and issubclass(kind, Estimator)
    and not inspect.isabstract(kind)
}
NOT_FEATURES = "X holds a score for each class, not features"
FOLDS = "probabilities are learned on folds, where a repeated document is on both sides"
WINS = "a weight says what a row counts where it should win; a repeated one also loses"
NO_ZERO = "grades above 0 are relevant, and y has no other"
GROWS = "partial_fit takes more features than before, as live documents have them"
FORM = "answers have the form of y: a list for a list, since any hashable is a category"
WEIGHTS = "check_sample_weight_equivalence_on_"
COLUMN = {"check_supervised_y_2d": "an (n, 1) matrix is a matrix of one label"}
RANKER = COLUMN | {
    "check_classifiers_multilabel_representation_invariance": (
        "a list of lists names label numbers; only a matrix is an indicator"
    ),
    "check_classifiers_multilabel_output_format_predict": (
        "whether a label belongs is a truth value, whatever numbers Y has"
    ),
    f"{WEIGHTS}dense_data": FOLDS,
    f"{WEIGHTS}sparse_data": FOLDS,
}
LIVE = RANKER | dict.fromkeys(
    ("check_n_features_in_after_fitting", "check_estimators_partial_fit_n_features"),
    GROWS,
)
CLASSIFIER = COLUMN | {"check_classifiers_train": FORM}
GRADED = dict.fromkeys((f"{WEIGHTS}dense_data", f"{WEIGHTS}sparse_data"), WINS)
RELEVANT = GRADED | dict.fromkeys(
    (
        "check_estimators_dtypes",
        "check_sample_weights_not_an_array",
        "check_sample_weights_shape",
        "check_sample_weights_not_overwritten",
        "check_sample_weights_pandas_series",
        "check_fit2d_1feature",
    ),
    NO_ZERO,
)
SCORES = dict.fromkeys(
    (
        "check_estimators_overwrite_params",
        "check_estimators_fit_returns_self",
        "check_readonly_memmap_input",
        "check_n_features_in_after_fitting",
        "check_complex_data",
        "check_estimators_empty_data_messages",
        "check_estimators_nan_inf",
        "check_estimator_sparse_tag",
        "check_estimator_sparse_array",
        "check_estimator_sparse_matrix",
        "check_fit2d_1feature",
        "check_n_features_in",
    ),
    NOT_FEATURES,
)
EXPECTED = {
    "BackOff": SCORES
    | dict.fromkeys(
        (
            "check_positive_only_tag_during_fit",
            "check_estimators_dtypes",
            "check_dtype_object",
            "check_pipeline_consistency",
            "check_estimators_pickle",
            "check_fit2d_1sample",
        ),
        NOT_FEATURES,
    ),
    "Calibrator": SCORES
    | dict.fromkeys(
        (
            "check_transformer_data_not_an_array",
            "check_transformer_general",
            "check_transformer_preserve_dtypes",
            "check_fit2d_predict1d",
        ),
        NOT_FEATURES,
    ),
    "ExampleQuery": {
        "check_fit_score_takes_y": "fit takes examples and a collection, or X and y",
        "check_n_features_in_after_fitting": "partial_fit goes on from fit",
        **dict.fromkeys(
            (
                "check_estimators_dtypes",
                "check_fit2d_1sample",
                "check_fit2d_1feature",
            ),
            "y above 0 marks examples, and y leaves no other document to find",
        ),
    },
    "SoftMixture": dict.fromkeys(
        ("check_estimator_sparse_array", "check_estimator_sparse_matrix"),
        "the check asks a clusterer with predict_proba for the tags of a classifier",
    ),
    **dict.fromkeys(("CrammerSingerSVM", "FlatClassifier"), CLASSIFIER),
    **dict.fromkeys(("HierarchicalSVM", "TopDownClassifier"), CLASSIFIER),
    "RareCategoryReranker": CLASSIFIER
    | {"check_dict_unchanged": "repredicted_ says what the last answers took"},
    "LambdaMART": {
        "check_no_attributes_set_in_init": "parameters are LightGBM's, by its names"
    },
    **dict.fromkeys(("ListNet", "PairwiseLogistic", "RankNet"), GRADED),
    **dict.fromkeys(("RankBoost", "RankingSVM"), GRADED),
    "PointwiseSVM": RELEVANT,
    "SVMMAP": RELEVANT
    | dict.fromkeys(GRADED, "a weight is of a whole query: its rows have the same"),
    **dict.fromkeys(("LogLinearRanker", "Rocchio"), RANKER),
    "EnsembleRanker": {n: why for n, why in RANKER.items() if why != FOLDS},
    **dict.fromkeys(("MMP", "CategoryPerceptron", "TaxonomyRanker"), LIVE),
    "PreferenceRanker": LIVE
    | {"check_class_weight_classifiers": "scores have no bias to prefer a class by"},
}


@pytest.mark.parametrize("name", PUBLIC)
def test_the_checks_pass_or_fail_for_the_reason_given(name):
    if name == "LambdaMART" and not cm.LambdaMART.installed():
        pytest.skip("needs lightgbm")
    expected = EXPECTED.get(name, {})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        results = check_estimator(
            PUBLIC[name](), expected_failed_checks=expected, on_skip=None, on_fail=None
        )
    assert results
    status = {}
    for result in results:
        status.setdefault(result["status"], {})[result["check_name"]] = result
    failed = {n: str(r["exception"])[:200] for n, r in status.get("failed", {}).items()}
    assert not failed
    assert expected.keys() == status.get("xfail", {}).keys()


TEXTS = np.array(
    [
        *("bees and honey", "a queen bee", "wild bees", "honey comb", "hive and bees"),
        *("bread dough", "the oven bakes", "rye bread", "yeast dough", "oven bread"),
        *("sailing ship", "ship and sea", "the harbour", "sea harbour", "sailing sea"),
    ],
    object,
).repeat(2)
SORTED = np.array(["bees", "bread", "ships"]).repeat(10)
RANKERS = ("Rocchio", "EnsembleRanker", "MMP", "CategoryPerceptron", "PreferenceRanker")
CLASSIFIERS = (*RANKERS, "LogLinearRanker", "TaxonomyRanker", "FlatClassifier")


@pytest.mark.parametrize("name", [*CLASSIFIERS, "TopDownClassifier"])
def test_sorted_classes_give_no_nan(name):
    from sklearn.pipeline import make_pipeline

    model = make_pipeline(cm.Vectorizer(), PUBLIC[name]())
    for y in (SORTED, np.unique(SORTED, return_inverse=True)[1], SORTED.tolist()):
        values = cross_val_score(model, TEXTS, y, cv=5, error_score="raise")
        assert np.isfinite(values).all()
        assert values.mean() > 0.8
    grid = {"vectorizer__weighting": ["binary", "tfidf"]}
    found = GridSearchCV(model, grid, cv=3, error_score="raise").fit(TEXTS, SORTED)
    assert found.best_score_ > 0.8
