"""Do the models say what their papers say?"""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from classmark.compiled import Kernel
from classmark.index import kernels_models as fast
from classmark.index.models import MODELS, resolve
from classmark.index.search import Searcher
from classmark.problems import Mistake
from oracles import models as slow
from oracles.searched import NAMES, counts_of, field_from, paper_ranking

RANGES = {
    "tf": (1, 20),
    "length": (20, 300),
    "average": (10, 200),
    "df": (1, 90),
    "n": (100, 1000),
    "b": (0, 1),
    "k1": (0.1, 3),
    "delta": (0, 2),
    "p": (0.1, 0.9),
    "norm": (0.1, 5),
    "ratio": (0.1, 5),
    "odds": (0, 50),
    "mu": (1, 3000),
    "c": (0.1, 10),
    "tfn": (0.1, 30),
    "mean": (0.01, 5),
    "rate": (0.01, 1),
}
FORMULAS = [
    name
    for name in vars(slow)
    if isinstance(kernel := getattr(fast, name, None), Kernel)
    and ">>>" in (kernel.__doc__ or "")
]
CHANGED = {
    "k1": 0.9,
    "b": 0.3,
    "delta": 0.7,
    "p": 0.3,
    "lambda": 0.6,
    "mu": 50.0,
    "c": 2.5,
}


@pytest.mark.parametrize("name", FORMULAS)
@given(seed=st.integers(0, 2**32 - 1))
def test_formulas_are_those_of_the_papers(name, seed):
    rng = np.random.default_rng(seed)
    formula, plain = getattr(fast, name), getattr(slow, name)
    names = plain.__code__.co_varnames[: plain.__code__.co_argcount]
    given_ = [float(rng.uniform(*RANGES[letter])) for letter in names]
    assert formula(*given_) == pytest.approx(plain(*given_), rel=1e-9, abs=1e-12)


def test_formulas_at_their_ends():
    assert fast.spl(2.0, 1.0) == pytest.approx(slow.spl(2.0, 1))
    assert fast.spl(2.0, 1 - 1e-9) == pytest.approx(math.log(3), rel=1e-6)
    assert fast.dph(4.0, 4.0, 3.0) == slow.dph(4, 4, 3) == 0.0


@pytest.mark.parametrize("model", MODELS.values(), ids=lambda m: m.name)
def test_kernels_choose_the_model(model):
    assert slow.NAMES[model.code] == model.name
    world = np.array([50.0, 900.0, 18.0, 0.4, 0.5, 0.5])
    _, values = resolve(model.name, {})
    world[3 : 3 + len(values)] = values
    weights, df = np.array([2.0, 1.0, 0.5]), np.array([3.0, 20.0, 49.0])
    cf, lengths = df * 2 + 1, np.array([9, 18, 70], np.uint32)
    for name in ("features", "document_parts"):
        ours, theirs = np.empty(3), np.empty(3)
        getattr(fast, name)(model.code, lengths, world, ours)
        getattr(slow, name)(model.code, lengths, world, theirs)
        np.testing.assert_allclose(ours, theirs)
    ours, theirs = np.empty((2, 3)), np.empty((2, 3))
    of_query = fast.constants(model.code, weights, df, cf, world, *ours)
    assert of_query == pytest.approx(
        slow.constants(model.code, weights, df, cf, world, *theirs)
    )
    np.testing.assert_allclose(ours, theirs)
    for tf, x, a, b in zip([1.0, 2.0, 5.0], [9.0, 7.0, 40.0], *theirs, strict=True):
        assert fast.part(model.code, tf, x, a, b, world) == pytest.approx(
            slow.part(model.code, tf, x, a, b, world)
        )
    for name, arguments in {
        "feature": (25.0,),
        "rarity": (7.0,),
        "second_constant": (7.0, 11.0),
    }.items():
        ours_, theirs_ = getattr(fast, name), getattr(slow, name)
        assert ours_(model.code, *arguments, world) == pytest.approx(
            theirs_(model.code, *arguments, world)
        )


@pytest.mark.parametrize("changed", [False, True], ids=["defaults", "parameters"])
@pytest.mark.parametrize("model", list(MODELS))
def test_search_scores_as_the_papers_do(model, changed):
    counts = counts_of(3, 40, 12)
    alive = np.random.default_rng(1).random(40) < 0.8
    p = {key: CHANGED[key] for key in MODELS[model].parameters} if changed else {}
    query = {2: 2, 0: 1, 7: 1, 11: 1}
    tokens = [NAMES[t] for t, times in query.items() for _ in range(times)]
    hits = Searcher(field_from(counts, alive)).search(
        [*tokens, "absent"], 40, model, **p
    )
    expected = paper_ranking(model, counts, alive, query, p)
    assert len(hits) == len(expected) > 15
    np.testing.assert_allclose(
        [hit.score for hit in hits], [s for s, _ in expected], rtol=1e-9, atol=1e-12
    )
    scores = {item: score for score, item in expected}
    assert [scores[hit.number] for hit in hits] == pytest.approx(
        [hit.score for hit in hits], rel=1e-9, abs=1e-12
    )


def test_bm25_by_hand():
    searcher = Searcher(field_from(np.array([[1, 1], [0, 3], [2, 0]])))
    hit = searcher.search(["t000", "t000"], 1)[0]
    idf, norm = math.log(1 + 1.5 / 2.5), 1.2 * (0.25 + 0.75 * 2 / (7 / 3))
    assert hit.number == 2
    assert hit.score == pytest.approx(2 * idf * 2 / (2 + norm))


def test_cosine_is_that_of_the_vectorizer():
    from classmark.text import Analyzer
    from classmark.weighting.vectorizer import Vectorizer

    texts = ["red bee hive", "red red wasp", "blue hive hive", "grey owl"]
    vectorizer = Vectorizer(Analyzer(stop=False, stem=False))
    X = vectorizer.fit_transform(texts).toarray()
    terms = vectorizer.get_feature_names_out().tolist()
    counts = np.array([[t.split().count(term) for term in terms] for t in texts])
    names = dict(zip(terms, NAMES, strict=False))
    query = vectorizer.transform(["red hive hive"]).toarray()[0]
    hits = Searcher(field_from(counts)).search(
        [names[w] for w in ("red", "hive", "hive")], 4, "cosine"
    )
    for hit in hits:
        assert hit.score == pytest.approx(X[hit.number] @ query, rel=1e-6)
    assert [hit.number for hit in hits] == [2, 0, 1]


def test_variants_have_two_names():
    searcher = Searcher(field_from(counts_of(0, 30, 5)))
    for name in ("robertson", "atire", "bm25+", "bm25l"):
        assert searcher.search(["t001"], 5, name) == searcher.search(
            ["t001"], 5, variant=name
        )
    assert searcher.search(["t001"], 5) == searcher.search(
        ["t001"], 5, variant="lucene"
    )


@pytest.mark.parametrize(
    ("model", "parameters", "words"),
    [
        ("bm26", {}, ["'bm26'", "'dirichlet'"]),
        ("bm25", {"mu": 3.0}, ["'mu'", "'k1', 'b'"]),
        ("dph", {"c": 3.0}, ["'c'", "none"]),
        ("bm25", {"b": 1.5}, ["b of bm25", "at most 1"]),
        ("jm", {"lambda_": 0.0}, ["lambda", "above 0"]),
        ("bim", {"p": 1.0}, ["p of bim", "below 1"]),
        ("lgd", {"c": math.nan}, ["c of lgd"]),
        ("bm25", {"k1": "high"}, ["k1", "'high'"]),
        ("bm25", {"k1": [1.2]}, ["bm25", "numbers"]),
        ("bm25", {"variant": "best"}, ["'best'", "'atire'"]),
    ],
)
def test_what_is_not_there_is_named_with_what_is(model, parameters, words):
    searcher = Searcher(field_from(counts_of(0, 5, 3)))
    with pytest.raises(Mistake) as mistake:
        searcher.search(["t001"], 3, model, **parameters)
    for word in words:
        assert word in str(mistake.value)
