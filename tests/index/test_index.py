"""The face of an index."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from classmark.index.index import Index
from classmark.problems import Mistake
from classmark.text import Analyzer

DOCUMENTS = [
    ("a", "A bee in a hive"),
    ("b", "Bees, bees, bees"),
    ("c", "The honey of the hive"),
]


@pytest.fixture(scope="module")
def index(tmp_path_factory):
    return Index.build(tmp_path_factory.mktemp("index"), DOCUMENTS)


def test_documents_are_known_by_id_and_number(index):
    assert len(index) == 3
    assert [index.id(number) for number in range(3)] == ["a", "b", "c"]
    assert [index.number(name) for name in "abcd"] == [0, 1, 2, None]
    assert "c" in index
    assert 3 not in index
    assert repr(index).endswith("3 documents)")


def test_hits_have_an_id_a_score_and_a_number(index):
    hits = index.search("BEES")
    assert [(hit.id, hit.number) for hit in hits] == [("b", 1), ("a", 0)]
    assert hits[0].score > hits[1].score > 0.0
    assert index.search_many(["bees", "nothing"]) == [hits, []]
    assert index.search("bee", k=1) == hits[:1]


def test_a_score_is_explained_by_its_terms(index):
    found = index.explain("bees hive", "a")
    score = {hit.id: hit.score for hit in index.search("bees hive")}["a"]
    assert found.score == pytest.approx(score)
    assert [part.term for part in found.parts] == ["bee", "hive"]
    with pytest.raises(Mistake, match="'x' is not in the index"):
        index.explain("bee", "x")


def test_vectors_may_have_any_sign(index):
    hits = index.search_vector({"bee": 1.0, "hive": -2.0, "nothing": 3.0}, k=3)
    assert [hit.id for hit in hits] == ["b", "a", "c"]
    assert hits[0].score == pytest.approx(1.0)


def test_a_query_is_a_string(index):
    with pytest.raises(Mistake, match="query is list"):
        index.search(["bee"])


def test_ids_are_any_strings(tmp_path):
    names = ["", "\n", "é", "a\nb", "x" * 1000, "\ud800"][1:]
    index = Index.build(tmp_path, [(name, "bee") for name in names])
    assert list(Index.open(tmp_path).ids()) == names
    assert [index.number(name) for name in names] == list(range(5))


def test_an_index_is_rebuilt_as_a_whole(tmp_path):
    first = Index.build(tmp_path, DOCUMENTS)
    second = Index.build(tmp_path, [("x", "wasp")], analyzer="words|lower")
    assert list(first.ids()) == ["a", "b", "c"]
    assert list(Index.open(tmp_path).ids()) == ["x"]
    assert str(Index.open(tmp_path).analyzer) == "words|lower"
    assert second.generation == first.generation + 1
    with pytest.raises(OSError, match="disk"):
        Index.build(tmp_path, broken())
    assert list(Index.open(tmp_path).ids()) == ["x"]
    assert Index.open(tmp_path).check().documents == 1


def broken():
    yield "a", "bee"
    raise OSError("disk")


def test_the_lists_are_views_of_one_array(index):
    field = index.field()
    lists = field.lists(np.array([1, 0]))
    assert lists.items is field.whole.items
    assert not index.has_positions
    with pytest.raises(IndexError):
        field.term(field.n_terms)


@pytest.mark.parametrize("digits", ["keep", "token"])
def test_queries_are_analysed_as_documents_are(tmp_path, digits):
    analyzer = Analyzer(digits=digits)
    index = Index.build(tmp_path, DOCUMENTS, analyzer=analyzer)

    @given(st.text(max_size=40))
    def are_the_same(text):
        assert index.terms(text) == analyzer(text)

    are_the_same()


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    documents = [
        {"id": "a", "title": "Wind tunnel", "body": "drag"},
        {"id": "b", "title": "Wind", "body": "a tunnel, no wind"},
    ]
    folder = tmp_path_factory.mktemp("pages")
    return Index.build(folder, documents, positions=True)


@pytest.mark.parametrize("query", ['title:"wind tunnel" -drag', " #sum(wind tunnel)"])
def test_a_query_of_the_language_given_to_search_is_warned_of(pages, query):
    with pytest.warns(UserWarning, match="index.ask") as warned:
        found = pages.search(query)
    assert warned[0].filename == __file__
    assert found == pages.search(query.replace(":", " ").replace("#", " "))


@pytest.mark.parametrize(
    "query", ["re: wind", "http://wind", "#1 tunnel", 'the "wind" -drag', "title: x"]
)
def test_plain_text_is_searched_in_silence(pages, query):
    assert pages.search(query) == pages.searcher.search(pages.terms(query))


def test_feedback_makes_texts_and_questions_longer_alike(pages):
    options = {"feedback": "rm3", "model": "dirichlet", "mu": 10.0}
    longer = pages.search("wind", **options)
    assert longer == pages.ask("wind", **options)
    assert longer != pages.search("wind", model="dirichlet", mu=10.0)
    assert pages.search_many(["wind"], **options) == [longer]


def test_ask_is_search_where_nothing_is_an_operator(pages):
    for model in ("bm25", "dirichlet"):
        assert pages.ask("wind tunnel", model=model) == pages.search(
            "wind tunnel", model=model
        )
    assert [hit.id for hit in pages.ask('title:"wind tunnel" -gust')] == ["a"]


def test_many_queries_of_any_index_and_model(pages):
    queries = ["wind", "drag tunnel", ""]
    for options in ({}, {"model": "boolean"}, {"fields": {"title": 2.0, "body": 1.0}}):
        found = pages.search_many(queries, **options)
        assert found == [pages.search(query, **options) for query in queries]
