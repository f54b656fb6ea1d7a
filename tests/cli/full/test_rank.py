"""Learning to rank from the command line, on the library that ships with Classmark."""

import json
import shutil
from dataclasses import replace

import numpy as np
import pytest

from classmark.datasets import load
from classmark.formats.svmlight import read_letor
from classmark.workbench.project import Project
from classmark.workbench.search.clicks import read_impressions
from projects import new_library

TRAIN = ("rank", "train", "-p", "lib", "--C", "0.001")
KNOWN = ("--dataset", "library")


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """Train once; every test has its own copy of what comes out."""
    from classmark.workbench.search.train_ranker import RankerTraining, train_ranker
    from classmark.workbench.search.tune import Judgments

    folder = new_library(tmp_path_factory.mktemp("trained") / "lib", indexed=True)
    with Project(folder) as project:
        wish = RankerTraining(prices=(0.001,), force=True)
        found = train_ranker(project, Judgments(dataset="library"), wish)
    return folder, found


@pytest.fixture
def lib(run, tmp_path):
    new_library(tmp_path / "lib", indexed=True)
    return run


@pytest.fixture
def served(run, trained, tmp_path):
    shutil.copytree(trained[0], tmp_path / "lib")
    return run


def answers(run, *words):
    code, out, err = run("search", *words, "-p", "lib", "--json")
    assert (code, err) == (0, "")
    return json.loads(out)


@pytest.mark.parametrize("ahead", [True, False])
def test_a_surely_better_ranker_goes_into_service(ahead):
    from classmark.ltr.training import RankerComparison

    good, bad = np.full(30, 0.9), np.full(30, 0.1)
    values = {"learned": good, "in service": bad} if ahead else {}
    values = values or {"learned": bad, "in service": good}
    compared = RankerComparison(
        tuple(map(str, range(30))),
        {order: {"map": each} for order, each in values.items()},
        {"in service": {"map": 0.001}},
    )
    assert compared.is_better("in service", "map") is ahead
    unsure = replace(compared, chances={"in service": {"map": 0.06}})
    assert not unsure.is_better("in service", "map")


def test_a_ranker_goes_into_service_by_force(trained):
    folder, found = trained
    assert found.used
    assert "as requested, although it is not significantly better" in found.verdict
    rows = {row["order"]: row for row in found.table.rows}
    assert rows["in service"]["p, ndcg@10"] > 0.05
    assert (folder / "rankers" / "CURRENT").read_text() == "000001\n"
    page = found.page.read_text()
    assert page.startswith("<!doctype html>")
    assert page.count("<svg") == 3
    assert "<script" not in page
    assert "sourdough" in page or "wartime" in page


def test_search_says_which_ranker_ordered(served):
    code, out, err = served("search", "moon and tides", "-p", "lib")
    assert (code, err) == (0, "")
    assert "ordered by ranker 1 (ranking-svm, learned from 18 queries)" in out
    by_ranker = answers(served, "moon and tides")
    assert {row["ranker"] for row in by_ranker} == {1}
    by_model = answers(served, "moon and tides", "--ranker", "none")
    assert {row["ranker"] for row in by_model} == {None}
    assert [r["score"] for r in by_ranker] != [r["score"] for r in by_model]
    assert answers(served, "moon and tides", "--model", "bm25") == by_model
    assert answers(served, "moon and tides", "--ranker", 1) == by_ranker


def test_the_log_says_which_ranker_ordered(served, tmp_path):
    assert served("search", "bees", "-p", "lib", "--log")[0] == 0
    assert served("search", "bees", "-p", "lib", "--log", "--ranker", "none")[0] == 0
    with Project(tmp_path / "lib") as project:
        kept = [seen.ranker for seen in read_impressions(project.store)]
    assert kept == ["ranker 1", "bm25"]


def test_parts_add_up_to_the_score(served):
    found = answers(served, "moon and tides", "--explain", "-k", 3)
    assert len(found) == 3
    for answer in found:
        assert sum(answer["parts"].values()) == pytest.approx(answer["score"])
        assert len(answer["parts"]) > 20
    out = served("search", "moon and tides", "-p", "lib", "--explain", "-k", 1)[1]
    assert "others) " in out


def test_a_query_with_operators_is_ordered_within_its_set(served):
    inside = answers(served, "+moon tides", "-k", 100)
    boolean = answers(served, "moon", "--model", "boolean", "-k", 100)
    assert {row["id"] for row in inside} == {row["id"] for row in boolean}
    assert {row["ranker"] for row in inside} == {1}
    beliefs = answers(served, "#sum(moon tides)", "-k", 2)
    assert {row["ranker"] for row in beliefs} == {None}


def test_a_ranker_is_taken_out_and_put_back(served):
    by_ranker = answers(served, "bees")
    code, out, _ = served("rank", "use", "none", "-p", "lib")
    assert code == 0
    assert "no ranker is in service" in out
    assert {row["ranker"] for row in answers(served, "bees")} == {None}
    assert served("rank", "use", "none", "-p", "lib")[0] == 0
    assert "ranker 1 is in service" in served("rank", "use", 1, "-p", "lib")[1]
    assert answers(served, "bees") == by_ranker


def test_the_guard_keeps_what_is_not_better_out(served):
    """Trained again as before, a ranker cannot be better than itself."""
    code, out, err = served(*TRAIN, *KNOWN)
    assert (code, err) == (0, "")
    assert "ranker 2 is stored but not in service" in out
    assert {row["ranker"] for row in answers(served, "bees")} == {1}
    code, out, _ = served(*TRAIN, *KNOWN, "--force", "--json")
    found = json.loads(out)
    assert (found["number"], found["used"]) == (3, True)
    assert "as requested" in found["said"]
    assert {row["ranker"] for row in answers(served, "bees")} == {3}
    rows = json.loads(served("rank", "report", "-p", "lib", "--json")[1])
    assert [row["in service"] for row in rows] == ["", "", "yes"]
    assert {row["C"] for row in rows} == {0.001}


def test_reports_and_evaluations(served, tmp_path):
    (tmp_path / "lib" / "reports" / "ranker-1.html").unlink()
    code, out, _ = served("rank", "report", 1, "-p", "lib")
    assert code == 0
    assert "wins" in out
    assert (tmp_path / "lib" / "reports" / "ranker-1.html").is_file()
    code, out, _ = served("rank", "evaluate", 1, "-p", "lib", *KNOWN, "--json")
    rows = {row["order"]: row for row in json.loads(out)}
    assert code == 0
    assert rows["ranker 1"]["ndcg@10"] == rows["in service"]["ndcg@10"]
    kept = json.loads(served("rank", "report", "-p", "lib", "--json")[1])[0]
    assert rows["ranker 1"]["ndcg@10"] == pytest.approx(kept["ndcg@10"])
    out = served("rank", "evaluate", 1, "-p", "lib", *KNOWN)[1]
    assert "18 queries were used for" in out


def test_features_go_to_a_letor_file(lib, tmp_path):
    words = ("rank", "features", "-p", "lib", *KNOWN, "--to", "f.letor", "--json")
    code, out, err = lib(*words)
    assert (code, err) == (0, "")
    names = [row["feature"] for row in json.loads(out)]
    assert {"all.bm25", "title.f1", "bm25+rm3", "pagerank"} <= set(names)
    found = read_letor(tmp_path / "f.letor")
    assert found.rows.width == len(names)
    assert len(set(found.qids)) == 36
    qrels = load("library").qrels
    for grade, query, document in zip(
        found.grades, found.qids, found.docids, strict=True
    ):
        assert qrels[query].get(document, 0.0) == grade


def test_a_letor_file_is_learned_from(run, tmp_path):
    """The first feature is the noise of the second, which tells the grade best."""
    lines = []
    for query in range(12):
        for at in range(8):
            grade, noise = at % 3, (at * 7 + query * 5) % 4
            features = f"1:{noise} 2:{2 * grade + noise} 3:{query} 4:{noise - grade}"
            lines.append(f"{grade} qid:{query} {features} #docid = d{at}")
    (tmp_path / "f.letor").write_text("\n".join(lines))
    words = ("rank", "train", "--letor", "f.letor", "--C", "0.01", "--C", "1")
    code, out, err = run(*words, "--json")
    assert (code, err) == (0, "")
    rows = {row["order"]: row for row in json.loads(out)}
    assert rows["learned"]["ndcg@10"] == pytest.approx(1.0)
    assert rows["best single feature"]["ndcg@10"] < 1.0
    assert "best single feature: 2, rising" in " ".join(run(*words)[1].split())
    code, _, err = run("rank", "train", "--letor", "absent.letor")
    assert code == 2
    assert "absent.letor" in err


def test_a_pointer_to_nothing_is_taken_away(served, tmp_path):
    (tmp_path / "lib" / "rankers" / "CURRENT").write_text("77\n")
    assert "names generation '77'" in served("search", "moon", "-p", "lib")[2]
    assert served("rank", "use", "none", "-p", "lib")[0] == 0
    assert served("search", "moon", "-p", "lib")[0] == 0


def test_another_index_is_refused(served, tmp_path):
    settings = tmp_path / "lib" / "classmark.toml"
    text = settings.read_text()
    assert "fields = []" in text
    settings.write_text(text.replace("fields = []", 'fields = ["title"]'))
    assert served("index", "-p", "lib")[0] == 0
    code, _, err = served("search", "moon", "-p", "lib")
    assert code == 2
    assert "ranker 1 was trained over the fields title, creator, text, anchor" in err
    assert served("search", "moon", "-p", "lib", "--ranker", "none")[0] == 0
    code, _, err = served(*TRAIN, *KNOWN)
    assert code == 2
    assert "take it out with classmark rank use none" in err
    assert served("rank", "use", "none", "-p", "lib")[0] == 0
    assert served("search", "moon", "-p", "lib")[0] == 0


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("search", "bees", "--ranker", "9"), "there is no ranker 9: there is 1"),
        (("search", "bees", "--ranker", "x"), "ranker 'x': give its number, or none"),
        (("search", "bees", "--ranker", "1", "--model", "jm"), "--ranker and --model"),
        (("search", "#sum(a b)", "--ranker", "1"), "--ranker and an #operator"),
        (("search", "bees", "-k", "0"), "k is 0"),
        (("rank", "use", "7"), "there is no ranker 7: there is 1"),
        (("rank", "train"), "judged queries are needed"),
        (("rank", "train", *KNOWN, "--learner", "svm"), "learner 'svm' is not known"),
        (("rank", "train", *KNOWN, "--share", "1.5"), "share is 1.5"),
        (("rank", "train", *KNOWN, "--share", "0.01"), "share is 0.01"),
        (("rank", "train", *KNOWN, "--random-state", "-1"), "random_state is -1"),
        (("rank", "train", "--clicks"), "nothing has been clicked yet"),
        (("rank", "train", "--propensities"), "it goes with --clicks"),
        (("rank", "train", "--clicks", *KNOWN), "nothing has been clicked yet"),
    ],
)
def test_mistakes_are_one_line(served, words, said):
    code, _, err = served(*words, "-p", "lib")
    assert code == 2
    assert said in err
    assert err.count("\n") == 1


QUERIES = [{"id": f"q{at}", "text": text} for at, text in enumerate(
    ["sourdough", "bees", "moon tides", "bird migration", "mending clothes", "choir"]
)]  # fmt: skip


@pytest.mark.parametrize(
    ("queries", "qrels", "said"),
    [
        (QUERIES, "x1 r0001 1\nx2 r0002 0\n", "none of 6 queries has a judgment"),
        (QUERIES, "q0 z1 1\nq1 z2 0\n", "no judged document is in the index (z1, z2"),
        (QUERIES[:4], "".join(f"q{at} r0001 {at}\n" for at in range(4)), "4 judged qu"),
        (QUERIES, "".join(f"q{at} r0001 0\n" for at in range(6)), "a grade above 0"),
        (QUERIES, "".join(f"q{at} r0001 1\n" for at in range(6)), "of two grades"),
    ],
    ids=["queries", "documents", "few", "nothing relevant", "one grade"],
)
def test_bad_judgments_are_refused(lib, tmp_path, queries, qrels, said):
    (tmp_path / "q.jsonl").write_text("\n".join(map(json.dumps, queries)))
    (tmp_path / "q.qrels").write_text(qrels)
    code, _, err = lib(*TRAIN, "--queries", "q.jsonl", "--qrels", "q.qrels")
    assert code == 2
    assert said in err


def test_strange_judgments_are_left_out_and_said(lib, tmp_path):
    library = load("library")
    rows = [{"id": id_, "text": text} for id_, text in library.queries.items()]
    (tmp_path / "q.jsonl").write_text("\n".join(map(json.dumps, rows)))
    lines = [
        f"{query} {document} {grade:g}"
        for query, judged in library.qrels.items()
        for document, grade in judged.items()
    ]
    lines += ["q77 r0001 1", "q01 nowhere 3"]
    (tmp_path / "q.qrels").write_text("\n".join(lines))
    words = ("rank", "features", "-p", "lib", "--to", "f.letor")
    code, out, _ = lib(*words, "--queries", "q.jsonl", "--qrels", "q.qrels")
    assert code == 0
    said = " ".join(out.split())
    assert "judgments of 1 unknown queries are left out (q77)" in said
    assert "judgments of 1 documents outside the index left out" in said
