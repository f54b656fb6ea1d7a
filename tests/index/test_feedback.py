"""Queries made longer by their first answers."""

from collections import Counter
from dataclasses import asdict

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from classmark.arrays import rows_from
from classmark.index import kernels_postings as fast
from classmark.index.feedback import (
    FEEDBACK,
    RM3,
    Information,
    Rocchio,
    TopDocuments,
    expand,
    feedback_from,
    terms_of,
)
from classmark.index.index import Index
from classmark.index.models import Prepared
from classmark.index.postings import field_of
from classmark.index.search import Searcher
from classmark.problems import Mistake
from oracles import forward as slow
from oracles.searched import counts_of, field_from

seeds = st.integers(0, 2**32 - 1)
TEXTS = {
    "a": "bees make honey, bees buzz",
    "b": "honey and wax from the hive",
    "c": "wasps buzz; wasps make paper",
    "d": "tea with honey",
}


@pytest.fixture(scope="module")
def index(tmp_path_factory):
    return Index.build(tmp_path_factory.mktemp("index") / "i", TEXTS.items())


def test_the_terms_of_documents_are_those_of_their_texts(index):
    for field in (index.field(), Index.open(index.path, memory="64KB").field()):
        for wanted in ([2, 0], [], [1], [0, 1, 2, 3]):
            found = terms_of(field, wanted)
            assert found.items.tolist() == sorted(found.items.tolist())
            for item in range(4):
                here = found.items == item
                own = zip(found.terms[here], found.counts[here], strict=True)
                read = {field.term(int(t)): int(n) for t, n in own}
                text = Counter(index.analyzer(TEXTS[index.id(item)]))
                assert read == (text if item in wanted else {})
    with pytest.raises(Mistake, match="items: give numbers from 0 to 3"):
        terms_of(index.field(), [4])


@given(seeds, st.integers(0, 4))
def test_gathering_equals_the_slow_way(seed, many):
    field = field_from(counts_of(seed, 120, 12, density=0.5))
    rng = np.random.default_rng(seed)
    wanted = np.sort(rng.choice(120, many, replace=False)).astype(np.uint32)
    slots = np.zeros(120, np.uint32)
    slots[wanted] = np.arange(1, many + 1)
    mine, plain = np.zeros((99, 3), np.int64), np.zeros((99, 3), np.int64)
    shared = (5, tuple(field.whole), wanted, slots)
    assert fast.gather(*shared, mine, 2) == slow.gather(*shared, plain, 2)
    order = [tuple(row) for row in mine.tolist()]
    assert sorted(order) == sorted(tuple(row) for row in plain.tolist())


COUNTS = np.array([[2, 1, 0, 0], [0, 1, 1, 0], [0, 0, 3, 1], [1, 0, 0, 1]])
NAMES = ["ant", "bee", "cat", "dog"]


@pytest.fixture
def field():
    return Prepared(field_of(rows_from(COUNTS), NAMES))


def first(items, scores, model="bm25"):
    return TopDocuments(np.array(items), np.array(scores), model)


def test_rocchio_by_hand(field):
    idf = np.log(5 / (1 + (COUNTS > 0).sum(0))) + 1
    X = COUNTS * idf
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    mean = X[[0, 1]].mean(0)
    q = np.array([idf[0], 0, 0, 0]) / idf[0]
    expected = (q + 0.5 * mean * [1, 1, 0, 0]) / idf
    longer = expand(
        field, {"ant": 3.0}, first([1, 0], [2.0, 1.0]), Rocchio(1, 0.5, 2, 1)
    )
    assert longer == pytest.approx({"ant": expected[0], "bee": expected[1]})
    every = expand(field, {"ant": 3.0}, first([1, 0], [2.0, 1.0]), Rocchio(0, 1, 2, 9))
    known = {"ant": 0, "bee": 1, "cat": 2}
    assert every == pytest.approx({name: mean[t] / idf[t] for name, t in known.items()})


def test_rm3_by_hand(field):
    found = first([0, 2], [3.0, 1.0])
    share = 0.75 * COUNTS[0] / 3 + 0.25 * COUNTS[2] / 4
    kept = {"ant": share[0], "bee": share[1]}
    mass = sum(kept.values())
    longer = expand(field, {"bee": 2.0, "dog": 2.0}, found, RM3(0.4, 2, 2))
    assert longer == pytest.approx(
        {
            "bee": 0.2 + 0.6 * kept["bee"] / mass,
            "dog": 0.2,
            "ant": 0.6 * kept["ant"] / mass,
        }
    )
    likely = expand(
        field, {"bee": 1.0}, first([0, 2], [0.0, -1.0], "jm"), RM3(0.0, 2, 9)
    )
    chance = np.array([1, np.exp(-1)])
    p = chance[0] * COUNTS[0] / 3 + chance[1] * COUNTS[2] / 4
    assert likely == pytest.approx(dict(zip(NAMES, p / p.sum(), strict=True)))
    sure = expand(field, {"bee": 2.0}, first([0, 2], [0.0, -1.0], "kl"), RM3(0.0, 2, 9))
    chance = np.array([1, np.exp(-2)])
    p = chance[0] * COUNTS[0] / 3 + chance[1] * COUNTS[2] / 4
    assert sure == pytest.approx(dict(zip(NAMES, p / p.sum(), strict=True)))
    even = expand(
        field, {"bee": 1.0}, first([0, 2], [1.0, -1.0], "pl2"), RM3(0.0, 2, 9)
    )
    p = COUNTS[0] / 3 + COUNTS[2] / 4
    assert even == pytest.approx(dict(zip(NAMES, p / p.sum(), strict=True)))


@pytest.mark.parametrize("model", ["lgd", "spl"])
def test_information_by_hand(field, model):
    lengths, df = COUNTS.sum(1), (COUNTS > 0).sum(0) / 4
    tfn = COUNTS * np.log2(1 + 2.0 * lengths.mean() / lengths)[:, None]
    informed = np.log(1 + tfn / df)
    if model == "spl":
        informed = -np.log((df ** (tfn / (tfn + 1)) - df) / (1 - df))
    mean = informed[[0, 1]].mean(0)
    feedback = Information(0.5, 2, 1, model, 2.0)
    longer = expand(
        field, {"ant": 2.0, "emu": 1.0}, first([0, 1], [2.0, 1.0]), feedback
    )
    best = "bee" if mean[1] >= mean[2] else "cat"
    value = max(mean[1], mean[2])
    highest = max(mean[0], value)
    assert longer == pytest.approx(
        {"ant": 1 + 0.5 * mean[0] / highest, best: 0.5 * value / highest, "emu": 1.0}
    )


@pytest.mark.parametrize("name", sorted(FEEDBACK))
def test_the_same_scoring_runs_the_longer_query(index, name):
    feedback = feedback_from(name, {"documents": 1, "terms": 2})
    asked = index.question("wax", feedback=feedback)
    assert {"wax", "hive"} <= set(asked.terms())
    hits = index.ask("wax", feedback=feedback)
    assert hits[0].id == "b"
    assert len(hits) > 1
    assert hits == Searcher(index.field(), names=index.id).search(
        asked.term_weights["text"]
    )
    assert index.ask("unknown", feedback=feedback) == []
    assert index.ask("wax -honey", feedback=feedback) == []


def test_feedback_keeps_fields_and_filters(tmp_path):
    index = Index.build(
        tmp_path / "i",
        [
            {"id": "a", "title": "honey", "body": "bees bees make wax"},
            {"id": "b", "title": "bees", "body": "wax candles honey"},
            {"id": "c", "title": "tea", "body": "wax honey tea"},
        ],
    )
    asked = index.question("+title:honey wax", feedback=RM3(0.5, 1, 2))
    assert "honey" not in asked.term_weights["body"]
    assert "honey" in asked.term_weights["title"]
    assert "bee" in asked.term_weights["title"]
    assert [hit.id for hit in asked.answer()] == ["a"]


def test_information_of_few_terms_is_that_of_each():
    rows = [[1, 1, 2, 1], [1, 1, 0, 0], [1, 0, 0, 0], [1, 0, 0, 2], [0, 0, 0, 0]]
    made = field_of(rows_from(rows), ["a", "b", "c", "d"])
    one = TopDocuments(np.array([0]), np.array([1.0]), "bm25")
    weights = Information(terms=9).expand(Prepared(made), {0: 1.0}, one)
    searcher = Searcher(made)
    parts = [searcher.explain([term], 0, "lgd").score for term in "abcd"]
    expected = np.array(parts) / max(parts) + [1.0, 0.0, 0.0, 0.0]
    assert [weights[t] for t in range(4)] == pytest.approx(expected.tolist())


def test_parameters_are_checked():
    assert asdict(feedback_from("rocchio")) == {
        "alpha": 1.0, "beta": 0.75, "documents": 10, "terms": 20,
    }  # fmt: skip
    for name, parameters, said in (
        ("rm4", {}, "choose one of 'rocchio', 'rm3', 'information'"),
        ("rm3", {"beta": 1}, "rm3 has no parameter 'beta': it takes original"),
        ("rm3", {"original": 2}, "give 0 to 1"),
        ("rm3", {"terms": 0}, "terms of rm3 is 0"),
        ("rocchio", {"beta": -1.0}, "beta of rocchio is -1.0"),
        ("rocchio", {"documents": 1.5}, "give a whole number"),
        ("information", {"model": "bm25"}, "model of information is 'bm25'"),
    ):
        with pytest.raises(Mistake, match=said):
            feedback_from(name, parameters)
