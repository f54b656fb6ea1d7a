"""An index on workers answers as one on one machine, also when workers are killed."""

import json
from dataclasses import replace

import numpy as np
import pytest

from classmark.corpus.documents import Document
from classmark.formats.records import Record
from classmark.index.dense import DenseIndex
from classmark.index.fusion import HybridQuestion
from classmark.index.index import Index
from classmark.index.models import MODELS
from classmark.index.query_language import MalformedQuery
from classmark.index.search import log_prior
from classmark.machines.searching import SpreadIndex
from classmark.meaning.sources import MeaningSource
from classmark.problems import Mistake
from classmark.workbench import meaning
from classmark.workbench.project import Project, create
from classmark.workbench.search import runs, search, tune
from classmark.workbench.search.filters import Narrowing, SearchFilters
from classmark.workbench.search.index import index_file, index_project
from classmark.workbench.settings import Settings
from concepts import STATIC, use_concepts
from machines.sharded import collection, cut

QUERIES = ["w0", "w1 w1 w9", "w3 w20 w0 w5 nowhere", ""] * 5


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Six segments, so that a worker has several; some documents are deleted."""
    documents = collection(1, 90)
    edges, gone = [1, 20, 33, 60, 61], ["d4", "d20", "d61", "d88"]
    return cut(tmp_path_factory.mktemp("cut") / "index", documents, edges, gone)


def test_every_model_answers_as_one_index(two, folder):
    index = Index.open(folder)
    with SpreadIndex(two, folder) as spread:
        for model in MODELS:
            found = spread.search_many(QUERIES, 12, model)
            assert found == index.search_many(QUERIES, 12, model)
            assert spread.search("w0 w4", 5, model) == index.search("w0 w4", 5, model)


def test_every_way_to_ask(two, folder):
    index = Index.open(folder)
    prior = log_prior(np.linspace(0.1, 1.0, 90))
    weights = {"w0": -1.0, "w3": 0.25, "w9": 2.0}
    with SpreadIndex(two, folder) as spread:
        for query in ('"w1 w2" -w7', "NOT w0", "#or(w1 #not(w2))", "w5 w6"):
            assert spread.ask(query) == index.ask(query)
        for feedback in ("rm3", "rocchio", "information"):
            found = spread.ask("w5 -w1", feedback=feedback, prior=prior)
            assert found == index.ask("w5 -w1", feedback=feedback, prior=prior)
        for every in (False, True):
            found = spread.search_vector(weights, 50, every=every)
            assert found == index.search_vector(weights, 50, every=every)
        told = spread.explain("w5 w6", "d70", "kl", prior=prior)
        assert told == index.explain("w5 w6", "d70", "kl", prior=prior)
        assert (spread.fields, len(spread)) == (index.fields, 86)


def test_lists_united_over_fields_and_words(two, folder):
    index = Index.open(folder)
    with SpreadIndex(two, folder) as spread:
        for query in ("w1* w5", "+w2* -w3", "w1?2"):
            assert spread.ask(query, 30) == index.ask(query, 30)
        hit = index.ask("w1* w5")[3]
        told = spread.question("w1* w5").explain(hit.number)
        assert told == index.question("w1* w5").explain(hit.number)
        for model in MODELS:
            assert spread.ask("w1* w5", 9, model=model) == index.ask(
                "w1* w5", 9, model=model
            )
        with pytest.raises(Mistake, match="leave the machines out"):
            spread.ask("#or(w1* w4)")


def test_more_workers_than_segments(four, tmp_path):
    folder = cut(tmp_path / "cut", collection(2, 9), [8])
    with SpreadIndex(four, folder) as spread:
        assert spread.search("w0 w1", 20) == Index.open(folder).search("w0 w1", 20)


def test_what_a_worker_finds_wrong_comes_back_as_it_is(two, folder):
    with SpreadIndex(two, folder) as spread:
        with pytest.raises(Mistake, match="b of bm25 is 7"):
            spread.search("w1", b=7)
        with pytest.raises(MalformedQuery, match="name no other"):
            spread.ask("#and(w1)", model="jm")
        assert spread.search("w1")


def test_a_worker_killed_between_rounds(two, folder, killing):
    index = Index.open(folder)
    with SpreadIndex(two, folder) as spread:
        before = spread.search_many(QUERIES)
        with killing(two, lambda: True) as one:
            pass
        assert one.killed
        assert spread.search_many(QUERIES) == before == index.search_many(QUERIES)
        assert spread.ask("w5", feedback="rm3") == index.ask("w5", feedback="rm3")


def test_a_worker_killed_during_rounds(two, folder, killing):
    index, found = Index.open(folder), []
    with SpreadIndex(two, folder) as spread:
        with killing(two, lambda: len(found) > 3) as one:
            while not one.killed or len(found) < 20:
                found.append(spread.search_many(QUERIES))
        expected = index.search_many(QUERIES)
    assert one.killed
    assert all(each == expected for each in found)


def test_an_index_that_is_changed_meanwhile(two, tmp_path, killing):
    folder = cut(tmp_path / "cut", collection(3, 20), [7])
    with SpreadIndex(two, folder) as spread:
        before = spread.search("w0")
        with Index.open(folder) as index:
            index.merge()
        assert spread.search("w0") == before
        with killing(two, lambda: True) as one:
            pass
        assert one.killed
        with pytest.raises(Mistake, match="open it again"):
            spread.search("w0")
    with SpreadIndex(two, folder) as spread:
        assert spread.search("w0") == before


@pytest.fixture
def project(tmp_path):
    create(tmp_path / "web", Settings("Web"))
    rows = collection(4, 30, ("title", "body"))
    with Project(tmp_path / "web") as opened:
        for part in (rows[:10], rows[10:]):
            opened.store.put_documents(
                Record(
                    Document(row["id"], {"title": row["title"], "body": row["body"]}),
                    links=(("d0", "w1"),),
                )
                for row in part
            )
            index_project(opened, positions=True)
        yield opened


def test_a_project_is_searched_alike(two, project):
    wishes = [
        search.QueryOptions(explain=True, k=5),
        search.QueryOptions("dirichlet", feedback="rm3:terms=5", weights=["title=2"]),
        search.QueryOptions(prior="pagerank:0.5"),
        search.QueryOptions("boolean"),
    ]
    for wish in wishes:
        for query in ("w1 w2 -w9", 'title:w0 "w1 w1"'):
            found = search.search_in(project, query, wish, machines=two)
            assert found == search.search_in(project, query, wish)
    with pytest.raises(MalformedQuery):
        search.search_in(project, "(w1", search.QueryOptions(), machines=two)


class RandomVectors(MeaningSource):
    """Vectors drawn by the bytes of a text."""

    name, digest, dimension = "random", "d1ce", 4

    def _vectors(self, texts):
        draws = (np.random.default_rng(list(text.encode())) for text in texts)
        return [draw.normal(size=self.dimension) for draw in draws]


def test_words_on_machines_are_fused_with_vectors_here(two, folder):
    index, random = Index.open(folder), np.random.default_rng(8)
    dense = DenseIndex(random.normal(size=(90, 4)), source=RandomVectors())
    prior, some = log_prior(np.linspace(0.1, 1.0, 90)), random.random(90) < 0.6
    cases = (
        ("w5", 2.0, 3, {}),
        ("w1 w2 -w9", 2.0, 7, {"feedback": "rm3"}),
        ('"w1 w2" w3', 0.5, 3, {"model": "kl", "prior": prior}),
        ("+w0 w4", None, 7, {}),
        ("-w0", 1.0, 1000, {}),
        ("nowhere", 2.0, 3, {}),
    )
    with SpreadIndex(two, folder) as spread:
        for query, weight, depth, wish in cases:
            for within in (None, some):
                found = []
                for each in (None, spread.question):
                    asked = HybridQuestion.of(index, query, dense, weight, each, **wish)
                    asked = replace(asked, depth=depth)
                    if within is not None:
                        left = Narrowing(SearchFilters(), within)
                        words = left.apply(asked.words)
                        asked = replace(asked, words=words, members=within)
                    hits = asked.answer(6)
                    found.append((hits, [asked.explain(hit) for hit in hits[:1]]))
                assert found[0] == found[1]
        with pytest.raises(Mistake, match="members is None, and machines search"):
            HybridQuestion(spread.question("w5"), dense, np.ones(4))


def test_a_project_is_searched_by_words_and_meaning_alike(two, project, monkeypatch):
    use_concepts(monkeypatch, RandomVectors())
    meaning.set_meaning(project, STATIC)
    meaning.compute(project)
    for wish in (
        search.QueryOptions(explain=True, k=5),
        search.QueryOptions(hybrid="ranks", prior="pagerank:0.5"),
        search.QueryOptions(hybrid="no", filters=SearchFilters(field="title")),
        search.QueryOptions(filters=SearchFilters(show="undecided")),
    ):
        found = search.search_in(project, "w1 w2 -w9", wish, machines=two)
        assert found == search.search_in(project, "w1 w2 -w9", wish)
        assert found.meaning == (wish.hybrid != "no")
    assert found.hits


def test_topics_are_answered_by_words_and_meaning_alike(
    two, project, monkeypatch, tmp_path
):
    use_concepts(monkeypatch, RandomVectors())
    meaning.set_meaning(project, STATIC)
    meaning.compute(project)
    topics = tmp_path / "topics.tsv"
    topics.write_text("q1\tw1 w2\nq2\tw5 w9 w9\n")
    for wish in (
        search.QueryOptions(k=7),
        search.QueryOptions(hybrid="ranks", feedback="rm3"),
        search.QueryOptions(hybrid="no"),
    ):
        written, names = [], []
        for machines in (two, None):
            path = tmp_path / "run.txt"
            with runs.opened(project, None, machines) as index:
                table = runs.run_topics(index, runs.Topics(topics), path, wish, project)
            written.append(path.read_text())
            names.append(table.rows[0]["name"])
        assert written[0] == written[1]
        assert written[0].count("\n") > 6
        assert [name.endswith("+meaning") for name in names] == 2 * [
            wish.hybrid != "no"
        ]


def test_filters_hold_on_machines_too(two, project):
    wish = search.QueryOptions(k=30, filters=SearchFilters(show="decided"))
    assert search.search_in(project, "w1 w2", search.QueryOptions()).hits
    assert not search.search_in(project, "w1 w2", wish).hits
    assert not search.search_in(project, "w1 w2", wish, machines=two).hits


def test_the_index_of_a_file_is_searched_and_tuned_alike(two, tmp_path):
    file, folder = tmp_path / "some.jsonl", tmp_path / "index"
    rows = collection(5, 30)
    file.write_text("\n".join(map(json.dumps, rows)))
    index_file(file, folder)
    wish = search.QueryOptions(explain=True)
    found = search.search_index(folder, "w1 w5", wish, machines=two)
    assert found == search.search_index(folder, "w1 w5", wish)
    assert found.hits
    queries, qrels = tmp_path / "queries.jsonl", tmp_path / "qrels.txt"
    asked = [{"id": f"q{n}", "text": f"w{n} w{n + 3}"} for n in range(4)]
    queries.write_text("\n".join(map(json.dumps, asked)))
    qrels.write_text("\n".join(f"q{n} d{m} 1" for n in range(4) for m in (n, n + 9)))
    judgments = tune.Judgments(queries, qrels)
    for feedback in (None, "rm3:terms=4,documents=3"):
        sweep = tune.Sweep(parameters=["b=0:1:0.5"], feedback=feedback)
        both = []
        for machines in (two, None):
            with tune.judged_in(None, folder, judgments, machines=machines) as judged:
                both.append(tune.tune(judged, sweep, tmp_path / "plot.svg"))
        assert both[0] == both[1]
