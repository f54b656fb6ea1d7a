"""What a search shows: title, score, and the words that match."""

import json

import pytest

from classmark.corpus.documents import Document
from classmark.formats.records import Record
from classmark.problems import Mistake
from classmark.text import Analyzer
from classmark.workbench.project import Project
from classmark.workbench.search.hits import WIDTH, snippet, starred
from classmark.workbench.search.index import index_file
from classmark.workbench.search.search import (
    NO_TERMS,
    OPTIONS,
    MalformedQuery,
    QueryOptions,
    feedback_of,
    search_in,
    search_index,
)
from projects import new_project

ROWS = [
    {"id": "1", "title": "Bees", "body": "They hum by the hive.", "links": [["2", ""]]},
    {"id": "2", "title": "Honey", "body": "Made by bees, eaten by bears."},
    {"id": "3", "body": "Wasps eat bees."},
    {"id": "4", "title": "Hives", "body": "Bees live there."},
]


@pytest.fixture
def project(tmp_path):
    with Project(new_project(tmp_path / "web", ROWS, indexed=True)) as opened:
        yield opened


def ids(found):
    return [answer.id for answer in found.hits]


def test_answers_have_titles_scores_and_marked_words(project):
    found = search_in(project, "bees -wasps", QueryOptions(k=2))
    first = found.hits[0]
    assert (first.rank, first.id, first.title) == (1, "1", "Bees")
    assert first.score > found.hits[1].score
    assert all("wasps" not in starred(answer.text).lower() for answer in found.hits)
    shown = {a.id: a for a in search_in(project, "bees", QueryOptions()).hits}
    assert starred(shown["2"].text) == "Made by *bees*, eaten by bears."
    assert shown["3"].title == "Wasps eat bees."
    assert found.note == ""


def test_scores_are_taken_apart(project):
    found = search_in(project, "bees hum", QueryOptions(explain=True))
    for answer in found.hits:
        assert sum(answer.parts.values()) == pytest.approx(answer.score)
    assert set(found.hits[0].parts) == {"bee", "hum"}
    smoothed = search_in(project, "bees hum", QueryOptions("dirichlet", explain=True))
    assert "(document)" in smoothed.hits[0].parts


def test_models_parameters_feedback_weights_and_priors(project):
    plain = search_in(project, "bees", QueryOptions())
    other = search_in(project, "bees", QueryOptions("bm25", ("k1=0.1", "b=0")))
    assert plain.hits[0].score != other.hits[0].score
    named = search_in(project, "bees", QueryOptions("bm25", ("variant=bm25l",)))
    assert named.hits[0].score != plain.hits[0].score
    longer = search_in(
        project, "wasps", QueryOptions(feedback="rm3:terms=3,documents=1")
    )
    assert len(longer.hits) > 1
    assert ids(search_in(project, "bees", QueryOptions(prior="pagerank:5")))[0] == "2"
    assert ids(search_in(project, "bees", QueryOptions(weights=("title=9",))))[0] == "1"
    assert ids(search_in(project, "NOT bees", QueryOptions("boolean"))) == []
    assert ids(search_in(project, "bees AND eat", QueryOptions("boolean"))) == ["3"]
    assert ids(search_in(project, "#and(bees wasps)", QueryOptions()))[0] == "3"
    assert ids(search_in(project, '"eat bees"', QueryOptions())) == ["3"]


@pytest.mark.parametrize(
    ("query", "wish", "said"),
    [
        ("bees (", QueryOptions(), "query, character 7: "),
        ("bees", QueryOptions(k=0), "k is 0"),
        ("bees", QueryOptions("bm26"), "model is 'bm26'"),
        ("bees", QueryOptions(parameters=("k1",)), "--set 'k1': write name=value"),
        ("bees", QueryOptions(parameters=("k9=1",)), "no parameter 'k9'"),
        ("bees", QueryOptions(parameters=("k1=x",)), "k1 of bm25 is 'x'"),
        ("bees", QueryOptions(feedback="rm9"), "feedback is 'rm9'"),
        ("bees", QueryOptions(feedback="rm3:terms"), "--feedback 'terms'"),
        ("bees", QueryOptions(feedback="rm3:terms=x"), "terms of rm3 is 'x'"),
        ("bees", QueryOptions(prior="fame"), "write pagerank, or pagerank:0.5"),
        ("bees", QueryOptions(prior="pagerank:x"), "write pagerank, or pagerank:0.5"),
        (
            "bees",
            QueryOptions(weights=("title=x",)),
            "--weight title=x: give a number",
        ),
        ("bees", QueryOptions(weights=("tit=1",)), "field 'tit' is not there"),
        ("bees", QueryOptions("boolean", explain=True), "--explain"),
        ("author:x", QueryOptions(), "no field 'author'"),
    ],
)
def test_mistakes_are_told(project, query, wish, said):
    with pytest.raises(Mistake) as refused:
        search_in(project, query, wish)
    assert said in str(refused.value)


def test_a_prior_needs_links(project):
    project.store.put_documents([Record(Document("1", {"title": "Bees"}))])
    with pytest.raises(Mistake, match=r"no document of .* links to one"):
        search_in(project, "bees", QueryOptions(prior="pagerank"))


def test_a_stale_index_is_told(project):
    project.store.note_event("imported", "me")
    assert "added or changed since" in search_in(project, "bees", QueryOptions()).note


def test_an_index_of_a_file_shows_the_files_texts(tmp_path):
    path = tmp_path / "notes.jsonl"
    path.write_text("\n".join(map(json.dumps, ROWS)))
    index_file(path, tmp_path / "i")
    found = search_index(tmp_path / "i", "eaten OR hum", QueryOptions())
    titles = {answer.id: answer.title for answer in found.hits}
    assert titles == {"1": "Bees", "2": "Honey"}
    with pytest.raises(Mistake, match="--prior needs the links"):
        search_index(tmp_path / "i", "bees", QueryOptions(prior="pagerank"))
    with pytest.raises(MalformedQuery, match="positions"):
        search_index(tmp_path / "i", '"eaten by"  "bears hum"', QueryOptions())
    path.unlink()
    found = search_index(tmp_path / "i", "hum", QueryOptions())
    assert "is not there any more" in found.note
    assert found.hits[0].title == ""
    (tmp_path / "i" / "source.json").unlink()
    assert ids(search_index(tmp_path / "i", "hum", QueryOptions())) == ["1"]
    assert search_index(tmp_path / "i", "zebra", QueryOptions()).hits == ()


def test_snippets_show_where_most_terms_are():
    filler = " ".join(f"w{i}" for i in range(60))
    text = f"Bees. {filler} honey from\nbees, and {filler}"
    shown = starred(snippet(text, {"bee", "honey"}, Analyzer()))
    assert "*honey* from *bees*, and" in shown
    assert shown.startswith("… w56 w57")
    assert shown.endswith(" …")
    assert len(shown.split()) <= WIDTH + 2
    assert starred(snippet("no match\n here", {"bee"}, Analyzer())) == "no match here"
    assert starred(snippet("", {"bee"}, Analyzer())) == ""
    assert starred(snippet("?!", {"bee"}, Analyzer())) == "?!"
    assert starred(snippet("東京 の 蜂", {"蜂"}, Analyzer())) == "東京 の *蜂*"


def test_feedback_is_read_as_typed():
    assert feedback_of("rocchio:beta=0.5,terms=7").terms == 7


@pytest.mark.parametrize("query", ["", "  ", "-", "+ #"])
def test_a_query_without_words_is_malformed(project, query):
    with pytest.raises(MalformedQuery, match="there is no word in it"):
        search_in(project, query, QueryOptions())


def test_a_query_of_stop_words_is_told_so(project):
    found = search_in(project, "the of", QueryOptions())
    assert (found.hits, found.note) == ((), NO_TERMS)
    assert search_in(project, "zebra", QueryOptions()).note == ""


@pytest.mark.parametrize("name", list(OPTIONS))
def test_an_option_is_no_parameter(project, name):
    with pytest.raises(Mistake, match=f"use {OPTIONS[name]}"):
        search_in(project, "bees", QueryOptions(parameters=[f"{name}=1"]))
