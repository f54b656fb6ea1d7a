"""The vectorizer against TfidfVectorizer, in scikit-learn's tools, and stored."""

import json
import subprocess
import sys

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline

from classmark.corpus import counting
from classmark.problems import Mistake
from classmark.text import Analyzer
from classmark.weighting.vectorizer import Vectorizer

WORDS = ["bees", "hive", "Hives", "waxes", "the", "honey", "Käse", "queen", "42", "of"]


def some_texts(n, seed=0):
    rng = np.random.default_rng(seed)
    return [
        " ".join(rng.choice(WORDS, rng.integers(0, 30)).tolist()) + f" rare{i % 17}"
        for i in range(n)
    ]


@pytest.fixture(params=["reference", "compiled"])
def path(request, monkeypatch):
    if request.param == "compiled":
        monkeypatch.setattr(counting, "SMALL", 0)


@pytest.mark.usefixtures("path")
@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"min_df": 3},
        {"min_df": 0.06, "max_df": 0.95},
        {"max_df": 20},
        {"max_features": 6},
        {"norm": None},
    ],
)
def test_the_matrix_is_scikit_learns(settings):
    analyzer = Analyzer(stem="porter")
    ours = Vectorizer(analyzer, **settings)
    theirs = TfidfVectorizer(analyzer=analyzer, **settings)
    train, test = some_texts(60), [*some_texts(20, seed=1), "never seen"]
    for A, B in (
        (ours.fit_transform(train), theirs.fit_transform(train)),
        (ours.transform(test), theirs.transform(test)),
    ):
        assert A.dtype == np.float32
        assert A.has_sorted_indices
        np.testing.assert_allclose(A.toarray(), B.toarray(), atol=1e-6)
    assert list(ours.get_feature_names_out()) == list(theirs.get_feature_names_out())
    assert ours.fit(train).transform(test).nnz == A.nnz


@pytest.mark.usefixtures("path")
def test_statistics_are_those_of_the_kept_terms():
    fitted = Vectorizer(min_df=3).fit(some_texts(60))
    frequency = fitted.statistics_.document_frequency
    assert len(frequency) == len(fitted.vocabulary_)
    assert frequency.min() >= 3
    assert fitted.statistics_.documents == 60


@pytest.mark.usefixtures("path")
def test_relative_tfidf_is_the_formula_by_hand():
    vectorizer = Vectorizer("words|lower", "relative-tfidf", norm=None)
    rows = vectorizer.fit_transform(["bee bee hive wax", "bee hive", "bee"]).toarray()
    assert vectorizer.get_feature_names_out().tolist() == ["bee", "hive", "wax"]
    half, third = np.log(3 / 2), np.log(3 / 1)  # hive in 2 of 3 documents, wax in 1
    by_hand = [
        [2 / 4 * 0, 1 / 4 * half, 1 / 4 * third],
        [0, 1 / 2 * half, 0],
        [0, 0, 0],
    ]
    np.testing.assert_allclose(rows, by_hand, atol=1e-7)
    seen = vectorizer.transform(["wax wax bee new"]).toarray()
    np.testing.assert_allclose(seen, [[0, 0, 2 / 3 * third]], atol=1e-7)


def test_a_stream_of_texts_is_read_once():
    texts = some_texts(30)
    streamed = Vectorizer().fit_transform(text for text in texts)
    assert abs(streamed - Vectorizer().fit_transform(texts)).max() == 0


@pytest.mark.usefixtures("path")
@pytest.mark.parametrize("weighting", ["tfidf", "pivoted", "binary"])
def test_arrays_and_settings_give_the_fitted_vectorizer_back(weighting):
    fitted = Vectorizer(
        Analyzer(stop=["of"]), weighting, norm=None, min_df=2, slope=0.2
    )
    fitted.fit(some_texts(50))
    arrays, settings = fitted.to_arrays()
    assert all(array.dtype != object for array in arrays.values())
    again = Vectorizer.from_arrays(arrays, json.loads(json.dumps(settings)))
    texts = some_texts(9, seed=5)
    assert abs(again.transform(texts) - fitted.transform(texts)).max() == 0
    assert again.to_arrays()[1] == settings
    assert again.analyzer_ == fitted.analyzer_


def test_scikit_learns_tools_take_it():
    vectorizer = Vectorizer(weighting="log", min_df=2)
    assert repr(vectorizer) == "Vectorizer(weighting='log', min_df=2)"
    assert clone(vectorizer).get_params() == vectorizer.get_params()
    texts = [f"bees and honey {i}" for i in range(9)] + [f"wax {i}" for i in range(9)]
    pipeline = make_pipeline(Vectorizer(Analyzer(stem=False)), LogisticRegression())
    search = GridSearchCV(pipeline, {"vectorizer__weighting": ["tf", "binary"]}, cv=3)
    search.fit(texts, [0] * 9 + [1] * 9)
    assert search.best_score_ == 1.0
    assert pipeline.fit(texts, [0] * 9 + [1] * 9)[:-1].get_feature_names_out()[0] == "0"


def test_the_analyzer_may_be_given_by_its_description():
    named = Vectorizer("words|lower|stop[a]").fit(["a bees"])
    assert named.get_feature_names_out().tolist() == ["bees"]
    assert named.get_params()["analyzer"] == "words|lower|stop[a]"


@pytest.mark.parametrize(
    ("settings", "texts", "message"),
    [
        ({}, "one string", "texts is one string: give a list"),
        ({}, ["a", 3], "texts, row 1: int is not a string"),
        ({}, [], "texts is empty"),
        ({"weighting": "tf-idf"}, ["a"], "weighting is 'tf-idf'"),
        ({"norm": "l3"}, ["a"], "norm is 'l3'"),
        ({"min_df": 1.5}, ["a"], "min_df is 1.5"),
        ({"min_df": True}, ["a"], "min_df is True"),
        ({"max_df": -1}, ["a"], "max_df is -1"),
        ({"min_df": 2}, ["bees", "wax"], "none of the 2 terms .* lower min_df"),
        ({}, ["the", ""], "none of the 0 terms"),
        ({"max_features": 0}, ["bees"], "max_features is 0"),
        ({"analyzer": str.split}, ["a"], "analyzer is method_descriptor"),
        ({"analyzer": "words"}, ["a"], "write 'words.lower'"),
    ],
)
def test_mistakes(settings, texts, message):
    with pytest.raises(Mistake, match=message):
        Vectorizer(**settings).fit(texts)


def test_transform_before_fit():
    for call in (lambda v: v.transform(["a"]), lambda v: v.get_feature_names_out()):
        with pytest.raises(Mistake, match="this Vectorizer is not fitted"):
            call(Vectorizer())


def test_a_few_texts_need_no_compiled_code():
    script = (
        "import sys; from classmark.weighting.vectorizer import Vectorizer;"
        "Vectorizer().fit_transform(['bees', 'hives']);"
        "sys.exit('numba' in sys.modules or 'sklearn' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == 0  # noqa: S603


def test_on_20_newsgroups_same_matrix_and_several_times_as_fast(data):
    """A relaxed bound, for busy machines; docs/benchmarks.md has the measured one."""
    from importlib.util import module_from_spec, spec_from_file_location
    from pathlib import Path

    source = Path(__file__).parents[2] / "benchmarks" / "bench_vectorizer.py"
    spec = spec_from_file_location("bench_vectorizer", source)
    bench = module_from_spec(spec)
    spec.loader.exec_module(bench)
    texts = bench.load(data)
    assert len(texts) == 18_846
    texts = texts[::3]
    assert bench.difference(texts) < 1e-6
    natural = next(iter(bench.ANALYZERS))
    ours = min(bench.seconds(bench.ours, texts) for _ in range(3))
    assert bench.seconds(lambda: bench.theirs(natural), texts) > 5 * ours


@pytest.mark.parametrize("times", [1, 4000])
def test_ngrams_are_those_of_scikit_learn(times):
    from sklearn.feature_extraction.text import CountVectorizer

    texts = ["the queen bee swarms", "a queen bee and honey", "bee"] * times
    theirs = CountVectorizer(ngram_range=(1, 3), token_pattern=r"(?u)\b\w+\b")  # noqa: S106
    counts = theirs.fit_transform(texts)
    how = {"weighting": "count", "norm": None, "ngram_range": (1, 3)}
    ours = Vectorizer("words|lower", **how)
    assert (ours.fit_transform(texts) != counts.astype(np.float32)).nnz == 0
    names = theirs.get_feature_names_out().tolist()
    assert ours.get_feature_names_out().tolist() == names
    with pytest.raises(Mistake, match="ngram_range is"):
        Vectorizer(ngram_range=(2, 2)).fit(texts)
