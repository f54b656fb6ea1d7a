"""Words and meaning in one search: a synonym is found, and what is said of it."""

import pytest

from classmark.index.fusion import WEIGHT
from classmark.meaning.vector_file import VectorFile
from classmark.problems import Mistake
from classmark.workbench import meaning
from classmark.workbench.project import Project
from classmark.workbench.search import hybrid
from classmark.workbench.search.index import index_project, open_project_index
from classmark.workbench.search.runs import Measuring, Topics, measure_runs, run_topics
from classmark.workbench.search.search import (
    MEANING,
    ProjectIndex,
    QueryOptions,
    log_results,
    search_in,
)
from classmark.workbench.search.tune import Judgments, Sweep, tune_meaning
from classmark.workbench.settings import MeaningSettings, SearchSettings
from concepts import STATIC, ConceptVectors, use_concepts
from projects import new_project, records_of

QUERIES = {"q1": "verdict", "q2": "nectar", "q3": "loaf", "q4": "judge"}
GRADES = {
    "q1": {"suit": 1.0, "tenant": 2.0}, "q2": {"hive": 1.0}, "q3": {"rye": 1.0},
    "q4": {"tenant": 1.0},
}  # fmt: skip
JUDGED = Judgments(texts=QUERIES, grades=GRADES)
ROWS = [
    {"id": "suit", "title": "A lawsuit", "text": "before the magistrate"},
    {"id": "tenant", "title": "Tenant", "text": "the tenant and the judge"},
    {"id": "hive", "title": "Bees", "text": "honey from the hive"},
    {"id": "rye", "title": "Bread", "text": "rye dough in the oven"},
]
REMEDY = "classmark meaning compute computes what is missing"


def opened(folder, rows=ROWS, *, computed=True, **parts):
    project = Project(new_project(folder, rows, indexed=True, **parts))
    if computed:
        meaning.compute(project)
    return project


@pytest.fixture(autouse=True)
def source(monkeypatch):
    return use_concepts(monkeypatch)


@pytest.fixture
def project(tmp_path):
    with opened(tmp_path / "web", meaning=STATIC) as project:
        yield project


def ids(results):
    return [hit.id for hit in results.hits]


def test_a_synonym_is_found_by_meaning_alone(project):
    words = search_in(project, "verdict hive", QueryOptions(hybrid="no"))
    assert (ids(words), words.meaning, words.note) == (["hive"], False, "")
    both = search_in(project, "verdict hive", QueryOptions(explain=True))
    assert both.meaning
    assert ids(both)[0] == "hive"
    assert {"suit", "tenant"} <= set(ids(both)[:3])
    assert both.note == hybrid.FUSED
    for hit in both.hits:
        assert sum(hit.parts.values()) == pytest.approx(hit.score)
        assert hit.parts[MEANING] == hit.meaning
        assert hit.words + hit.meaning == pytest.approx(hit.score)
    suit = next(hit for hit in both.hits if hit.id == "suit")
    assert suit.words == 0.0
    assert suit.meaning > 0.0


def test_filters_and_the_query_language_hold(project):
    assert "suit" not in ids(search_in(project, "verdict -lawsuit", QueryOptions()))
    assert ids(search_in(project, "+judge verdict", QueryOptions())) == ["tenant"]
    ranked = search_in(project, "verdict", QueryOptions("dirichlet", ("mu=100",)))
    assert set(ids(ranked)[:2]) == {"suit", "tenant"}
    assert len(search_in(project, "verdict", QueryOptions(k=1)).hits) == 1


def test_weights_and_ranks_may_be_asked_for(project):
    def score(wish):
        hits = search_in(project, "verdict", QueryOptions(hybrid=wish)).hits
        return hits[0].score

    assert score("weight") == pytest.approx(WEIGHT)
    assert score("3") == pytest.approx(3.0)
    assert score("ranks") == pytest.approx(1 / 61)
    project.change_settings({"search.meaning_weight": "1.5"}, "me")
    assert score("weight") == score(None) == pytest.approx(1.5)
    project.change_settings({"search.hybrid": "ranks"}, "me")
    assert score(None) == pytest.approx(1 / 61)
    project.change_settings({"search.hybrid": "no"}, "me")
    assert search_in(project, "verdict", QueryOptions()).hits == ()


@pytest.mark.needs("usearch")
def test_near_vectors_may_be_found_by_a_graph(project):
    exact = search_in(project, "verdict hive", QueryOptions())
    project.change_settings({"search.approximate": "yes"}, "me")
    nearly = search_in(project, "verdict hive", QueryOptions())
    assert nearly.note == hybrid.FUSED + hybrid.NEARLY
    assert [(hit.id, hit.score) for hit in nearly.hits] == [
        (hit.id, pytest.approx(hit.score)) for hit in exact.hits
    ]
    assert (project.meaning().folder / "graph").is_dir()
    again = search_in(project, "verdict hive", QueryOptions())
    assert ids(again) == ids(nearly)


def test_the_usual_weight_is_the_engines():
    assert SearchSettings().meaning_weight == WEIGHT


@pytest.mark.parametrize("wish", ["much", "-1", "inf", "nan", ""])
def test_other_wishes_are_refused(project, wish):
    with pytest.raises(Mistake, match=r"--hybrid .*write no, auto, weight, ranks"):
        search_in(project, "verdict", QueryOptions(hybrid=wish))


def test_missing_vectors_are_named_with_the_remedy(tmp_path):
    with opened(tmp_path / "none", computed=False, meaning=STATIC) as project:
        results = search_in(project, "verdict hive", QueryOptions())
        assert (ids(results), results.meaning) == (["hive"], False)
        assert results.note == (
            f"{hybrid.ALONE}: 4 of 4 documents have no vector yet: {REMEDY}"
        )
        with pytest.raises(Mistake, match=f"4 of 4 .*: {REMEDY}"):
            search_in(project, "verdict", QueryOptions(hybrid="weight"))
        project.meaning().compute([f"{ROWS[0]['title']}\n{ROWS[0]['text']}"])
        results = search_in(project, "verdict hive", QueryOptions())
        assert not results.meaning
        results = search_in(project, "verdict hive", QueryOptions(hybrid="2"))
        assert set(ids(results)) == {"suit", "hive"}
        assert results.note == (
            f"{hybrid.FUSED}; 3 of 4 documents have no vector yet: {REMEDY}"
        )
        meaning.compute(project)
        assert search_in(project, "verdict", QueryOptions()).note == hybrid.FUSED


def test_one_of_ten_may_lack_its_vector(tmp_path):
    rows = [{"id": str(at), "text": f"the judge {at}"} for at in range(10)]
    with opened(tmp_path / "ten", rows, computed=False, meaning=STATIC) as project:
        project.meaning().compute([row["text"] for row in rows[:9]])
        results = search_in(project, "verdict", QueryOptions())
        assert results.meaning
        assert "1 of 10 documents" in results.note


def test_what_cannot_be_fused_is_answered_by_words_and_said(project):
    for query, options, reason in (
        ("#sum(judge verdict)", QueryOptions(), "an #operator ranks by beliefs"),
        ("judge", QueryOptions("boolean"), "the model boolean"),
    ):
        results = search_in(project, query, options)
        assert ids(results) == ["tenant"]
        assert results.note.startswith(f"{hybrid.ALONE}: ")
        assert reason in results.note
        with pytest.raises(Mistake, match=reason):
            search_in(project, query, QueryOptions(options.model, hybrid="weight"))
    with pytest.raises(Mistake, match="no parameter 'k9'"):
        search_in(project, "judge", QueryOptions(parameters=("k9=1",)))


def test_words_alone_need_no_vectors_and_stay_as_they_are(tmp_path, project):
    with opened(tmp_path / "words", computed=False) as plain:
        results = search_in(plain, "judge hive", QueryOptions(explain=True))
        assert (results.note, results.meaning) == ("", False)
        same = QueryOptions(explain=True, hybrid="no")
        assert search_in(project, "judge hive", same) == results
        with pytest.raises(Mistake, match=r"no source .*\(classmark meaning set"):
            search_in(plain, "judge", QueryOptions(hybrid="weight"))
        plain.change_settings({"search.hybrid": "weight"}, "me")
        assert "no source of vectors" in search_in(plain, "judge", QueryOptions()).note


def test_a_query_of_ones_own_vectors_has_none(tmp_path):
    with opened(tmp_path / "own", computed=False) as project:
        place = meaning.vectors_folder(project.folder, MeaningSettings("own"))
        texts = [project.text_of(record) for record in project.store.records()]
        VectorFile.of_imported(place, 3).add(texts, ConceptVectors().encode(texts))
        project.change_settings({"meaning.source": "own"}, "me")
        results = search_in(project, "judge", QueryOptions())
        assert "your own, and a query has none" in results.note
        with pytest.raises(Mistake, match="your own"):
            search_in(project, "judge", QueryOptions(hybrid="weight"))


def test_a_source_that_fails_is_named(project, source, monkeypatch):
    def fail(_):
        raise Mistake("no answer from the server: start it")

    monkeypatch.setattr(source, "_vectors", fail)
    results = search_in(project, "judge verdict", QueryOptions())
    assert ids(results) == ["tenant"]
    assert results.note == f"{hybrid.ALONE}: no answer from the server: start it"


def test_rows_are_stored_beside_the_index_and_follow_it(project, monkeypatch):
    first = search_in(project, "verdict", QueryOptions())

    def refuse(*_):
        raise AssertionError("the texts are read again")

    with monkeypatch.context() as patch:
        patch.setattr(hybrid, "dense_index", refuse)
        assert search_in(project, "verdict", QueryOptions()) == first
    row = {"id": "new", "title": "Court", "text": "of law"}
    project.store.put_documents(records_of([row]))
    meaning.compute(project)
    index_project(project)
    assert "new" in ids(search_in(project, "verdict", QueryOptions()))


def test_vectors_computed_anew_in_another_order_are_looked_up_anew(project):
    first = search_in(project, "verdict", QueryOptions())
    texts = [project.text_of(record) for record in project.store.records()]
    meaning.drop(project)
    meaning.set_meaning(project, STATIC)
    project.meaning().compute(texts[::-1])
    assert search_in(project, "verdict", QueryOptions()) == first


def test_an_open_index_notices_vectors_that_come(tmp_path, monkeypatch):
    monkeypatch.setattr(hybrid, "PATIENCE", 0)
    with opened(tmp_path / "late", computed=False, meaning=STATIC) as project:
        index = ProjectIndex(project)
        assert not search_in(project, "verdict", QueryOptions(), index).meaning
        meaning.compute(project)
        assert search_in(project, "verdict", QueryOptions(), index).meaning
        assert index.vectors(project) is index.vectors(project)


def test_the_log_says_that_meaning_ranked(project):
    results = search_in(project, "verdict", QueryOptions())
    log_results(project, "verdict", results, QueryOptions())
    (row,) = project.store.run("SELECT ranker FROM impressions").fetchall()
    assert row[0] == "bm25+meaning"


def test_a_run_is_by_words_and_meaning_and_measured(project, tmp_path):
    topics, qrels = tmp_path / "topics.tsv", tmp_path / "judged.qrels"
    topics.write_text("".join(f"{q}\t{text}\n" for q, text in QUERIES.items()))
    lines = [f"{q} 0 {d} {g:g}\n" for q, row in GRADES.items() for d, g in row.items()]
    qrels.write_text("".join(lines))
    index, means = open_project_index(project), {}
    for wish, name in (("no", "bm25"), (None, "bm25+meaning"), ("ranks", "bm25+m")):
        path = tmp_path / f"{wish}.run"
        options = QueryOptions(k=10, hybrid=wish, feedback=wish and "rm3")
        table = run_topics(index, Topics(topics), path, options, project)
        assert table.rows[0]["name"].startswith(f"classmark-{name}")
        assert (hybrid.FUSED in table.note) == (wish != "no")
        how = Measuring(("map",), plot=tmp_path / "plot.svg")
        (row,) = measure_runs([path], qrels, how).runs.rows
        means[wish] = row["map"]
    assert means["no"] < 0.5
    assert means[None] > 0.9
    with pytest.raises(Mistake, match="--hybrid needs the vectors of a project"):
        run_topics(index, Topics(topics), path, QueryOptions(hybrid="2"))


def test_the_weight_is_learned_and_put_into_the_settings(project, tmp_path):
    plan = Sweep(measure="ndcg@10", hybrid=True)
    tuned = tune_meaning(project, JUDGED, plan, tmp_path / "t.svg")
    values = {row["weight"]: row["ndcg@10"] for row in tuned.table.rows}
    best = max(values, key=values.get)
    assert values[0.0] < values[best]
    assert f"best: weight = {best:g}" in tuned.table.note
    assert project.settings.search == SearchSettings()
    plan = Sweep("jm", ("weight=3,4",), "map", ("lambda=0.3",), "rm3", True, True)
    tuned = tune_meaning(project, JUDGED, plan, tmp_path / "t.svg")
    assert len(tuned.table.rows) == 2
    assert "searches now use the weight 3" in tuned.table.note
    assert Project(project.folder).settings.search.meaning_weight == 3.0
    assert search_in(project, "verdict", QueryOptions()).hits[0].score == 3.0


@pytest.mark.parametrize(
    ("plan", "said"),
    [
        (Sweep(parameters=("b=0,1",), hybrid=True), "tries the weight of meaning"),
        (Sweep(parameters=("weight=-1,1",), hybrid=True), "give 0 or more"),
        (Sweep(parameters=("b=0,1",), use=True), "leave use out"),
    ],
)
def test_what_cannot_be_tuned_is_refused(project, tmp_path, plan, said):
    with pytest.raises(Mistake, match=said):
        tune_meaning(project, JUDGED, plan, tmp_path / "t.svg")


def test_weights_are_of_a_project_with_vectors(tmp_path):
    with pytest.raises(Mistake, match="give --project"):
        tune_meaning(None, JUDGED, Sweep(hybrid=True))
    with (
        opened(tmp_path / "words", computed=False) as project,
        pytest.raises(Mistake, match="no source of vectors"),
    ):
        tune_meaning(project, JUDGED, Sweep(hybrid=True))
