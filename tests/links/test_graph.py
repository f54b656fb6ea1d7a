"""Links of documents become a matrix, and their words a field of the target."""

import numpy as np
import pytest

from classmark.corpus.documents import Document
from classmark.formats.records import Record
from classmark.links.pagerank import anchors, graph_of, graph_of_edges, pagerank
from classmark.problems import Mistake


def page(name, *links):
    return Record(Document(name, {"title": name}), links=links)


PAGES = [
    page("bees", ("honey", "what bees make"), ("honey", "sweet"), ("bees", "here")),
    page("honey"),
    page("tea", ("honey", " sweetener\n"), ("the sea", "far away"), ("bees", " ")),
]


def test_documents_are_rows_in_their_order():
    A, ids = graph_of(iter(PAGES))
    assert ids == ["bees", "honey", "tea"]
    assert A.to_scipy().toarray().tolist() == [[1, 1, 0], [0, 0, 0], [1, 1, 0]]
    assert pagerank(A).argmin() == 2


def test_a_link_may_lead_to_a_document_that_comes_later():
    A, _ = graph_of([page("a", ("b", "")), page("b")])
    assert A.to_scipy().toarray().tolist() == [[0, 1], [0, 0]]


def test_two_documents_of_one_id_are_refused():
    with pytest.raises(Mistake, match="two documents have the id 'a'"):
        graph_of([page("a"), page("a")])


def test_nothing_is_an_empty_graph():
    for graph in (graph_of([]), graph_of_edges([])):
        assert graph[0].shape == (0, 0)
        assert graph[1] == []
    A, _ = graph_of([page("a"), page("b")])
    assert (A.shape, A.nnz) == ((2, 2), 0)


def test_a_list_of_edges_is_its_matrix():
    rng = np.random.default_rng(0)
    pairs = rng.integers(0, 30, (200, 2))
    A, ids = graph_of_edges((str(i), str(j)) for i, j in pairs)
    dense = A.to_scipy().toarray()
    found = {(int(ids[i]), int(ids[j])) for i, j in np.argwhere(dense)}
    assert found == {(i, j) for i, j in pairs.tolist()}
    assert set(dense.ravel()) == {0.0, 1.0}
    assert ids == list(dict.fromkeys(str(end) for end in pairs.ravel()))


def test_pages_without_links_can_be_named():
    A, ids = graph_of_edges([("b", "c")], ["a", "b", "a"])
    assert ids == ["a", "b", "c"]
    assert A.to_scipy().toarray().tolist() == [[0, 0, 0], [0, 0, 1], [0, 0, 0]]


def test_words_of_links_join_their_target():
    said = anchors(link for record in PAGES for link in record.links)
    assert said == {
        "honey": "what bees make\nsweet\nsweetener",
        "bees": "here",
        "the sea": "far away",
    }
