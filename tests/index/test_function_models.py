"""Models that are functions of arrays give what the compiled ones give."""

import numpy as np
import pytest

import classmark as cm
from classmark.problems import Mistake

NOTES = [
    {"id": "a", "title": "bees", "text": "bees and more bees in the hive"},
    {"id": "b", "title": "bread and bees", "text": "bread from the oven"},
    {"id": "c", "title": "ovens", "text": "an oven, a hive of stone, and bread"},
    {"id": "d", "title": "stone", "text": "nothing of the kind"},
]


def bm25(tf, length, term, field, k1=1.2, b=0.75):
    """Lucene's BM25, in NumPy."""
    idf = np.log1p((field.n - term.df + 0.5) / (term.df + 0.5))
    return idf * tf / (tf + k1 * (1 - b + b * length / field.mean))


@pytest.fixture(autouse=True)
def models(monkeypatch):
    numbers = {"k1": cm.Parameter(1.2, 0.0), "b": cm.Parameter(0.75, 0.0, 1.0)}
    own = cm.Model("own", parameters=numbers, function=bm25)
    monkeypatch.setitem(cm.MODELS, "own", own)
    bad = cm.Model("bad", function=lambda tf, *_: tf[:-1])
    monkeypatch.setitem(cm.MODELS, "bad", bad)


@pytest.fixture(params=["one field", "two fields"])
def index(request, tmp_path):
    one = request.param == "one field"
    notes = [(n["id"], n["text"]) for n in NOTES] if one else NOTES
    with cm.Index.build(tmp_path / "index", notes) as opened:
        yield opened


def pairs(hits):
    return [(hit.id, pytest.approx(hit.score, rel=1e-12)) for hit in hits]


@pytest.mark.parametrize("options", [{}, {"k1": 0.5}, {"b": 0.0, "k1": 2.0}])
@pytest.mark.parametrize("query", ["bees", "hive bread oven", "bees bees stone", "ox"])
def test_a_function_searches_as_the_kernel_does(index, query, options):
    expected = index.search(query, 10, "bm25", **options)
    assert pairs(index.search(query, 10, "own", **options)) == pairs(expected)
    assert [h.id for h in index.search(query, 1, "own", **options)] == [
        h.id for h in expected[:1]
    ]


def test_what_people_type_and_explanations_are_the_same(index):
    for query in ("bees AND hive", "bread NOT stone", "hive^2 oven"):
        hits = index.ask(query, model="own")
        assert pairs(hits) == pairs(index.ask(query, model="bm25"))
        for hit in hits:
            own = index.question(query, "own").explain(hit.number)
            assert own.score == pytest.approx(hit.score)
            assert own.found


def test_many_queries_at_once(tmp_path):
    notes = [(n["id"], n["text"]) for n in NOTES]
    with cm.Index.build(tmp_path / "one", notes) as index:
        queries = ["bees", "bread oven", "ox"]
        own = index.search_many(queries, 3, "own")
        expected = index.search_many(queries, 3, "bm25")
        assert [pairs(hits) for hits in own] == [pairs(hits) for hits in expected]


def test_parameters_are_checked_and_a_wrong_shape_is_refused(index):
    with pytest.raises(Mistake, match="b of own is 2"):
        index.search("bees", model="own", b=2)
    with pytest.raises(Mistake, match="own has no parameter 'c'"):
        index.search("bees", model="own", c=1)
    with pytest.raises(Mistake, match="model 'bad' is to return a finite number"):
        index.search("bees", model="bad")
