"""Topics to a run, a run to measures, and two runs compared."""

import json

import ir_measures
import numpy as np
import pytest
from defusedxml.ElementTree import fromstring
from ir_measures import AP, RR, IPrec, P, R, Rprec

from classmark.measures import paired_t_test, randomisation_test, sign_test
from projects import new_project

PEERS = {"map": AP, "mrr": RR, "p@5": P @ 5, "r@5": R @ 5, "prbep": Rprec}


@pytest.fixture
def runs(run, tmp_path):
    """The command line beside two runs and judgments, as text and as ir_measures."""
    rng = np.random.default_rng(3)
    names = [f"d{i:02}" for i in range(30)]
    qrels = {
        f"q{q}": {str(d): int(rng.integers(0, 3)) for d in rng.choice(names, 12, False)}
        for q in range(9)
    }
    tables = {}
    for name, noise in (("plain", 3.0), ("better", 0.5)):
        tables[name] = {
            q: {
                d: qrels[q].get(d, 0) + noise * float(rng.random())
                for d in rng.choice(names, 20, False).tolist()
            }
            for q in qrels
        }
        lines = [
            f"{q} Q0 {d} 1 {score!r} {name}\n"
            for q, scores in tables[name].items()
            for d, score in scores.items()
        ]
        (tmp_path / f"{name}.run").write_text("".join(lines))
    lines = [f"{q} 0 {d} {g}\n" for q, each in qrels.items() for d, g in each.items()]
    (tmp_path / "a.qrels").write_text("".join(lines))
    return run, tables, qrels


def asked(names):
    return [word for name in names for word in ("--measure", name)]


def test_a_run_is_measured_as_trec_eval_does(runs):
    run, tables, qrels = runs
    code, out, err = run("measure", "plain.run", "a.qrels", "--json", *asked(PEERS))
    assert (code, err) == (0, "")
    facts = json.loads(out)
    expected = ir_measures.calc_aggregate([*PEERS.values()], qrels, tables["plain"])
    row = facts["runs"][0]
    assert (row["run"], row["queries"]) == ("plain", 9)
    for name, peer in PEERS.items():
        assert row[name] == pytest.approx(expected[peer])
    levels = [IPrec @ (level / 10) for level in range(11)]
    graph = ir_measures.calc_aggregate(levels, qrels, tables["plain"])
    curve = facts["precision_recall"]["plain"]
    assert curve["precision"] == pytest.approx([graph[each] for each in levels])


def test_the_table_has_the_usual_measures_and_a_plot(runs, tmp_path):
    run, *_ = runs
    code, out, err = run("measure", "plain.run", "a.qrels")
    assert (code, err) == (0, "")
    for name in ("map", "mrr", "wta", "prbep", "p@10", "ndcg@10"):
        assert name in out
    assert "reports/measure-plain.svg" in out
    drawn = (tmp_path / "reports" / "measure-plain.svg").read_bytes()
    assert "recall" in drawn.decode()
    assert fromstring(drawn).get("aria-label").startswith("plain")


def test_values_are_shown_query_by_query(runs):
    run, tables, qrels = runs
    words = ("measure", "plain.run", "a.qrels", "--per-query", "--json")
    facts = json.loads(run(*words, "--measure", "map")[1])
    expected = {
        m.query_id: m.value for m in ir_measures.iter_calc([AP], qrels, tables["plain"])
    }
    shown = {row["query"]: row["map"] for row in facts["per_query"]}
    assert shown == pytest.approx(expected)
    out = run("measure", "plain.run", "a.qrels", "--per-query")[1]
    assert "q8" in out


def test_one_query_is_no_queries(run, tmp_path):
    (tmp_path / "a.run").write_text("q1 Q0 d1 1 2.0 a\n")
    (tmp_path / "a.qrels").write_text("q1 0 d1 1\n")
    out = " ".join(run("measure", "a.run", "a.qrels")[1].split())
    assert "a.qrels, 1 query " in out


def test_compare_takes_the_judgments_first_and_says_what_measure_says(runs, tmp_path):
    run, *_ = runs
    measured = run("measure", "plain.run", "a.qrels", "better.run", "--json")[1]
    code, out, err = run("compare", "a.qrels", "plain.run", "better.run", "--json")
    assert (code, err) == (0, "")
    assert json.loads(out)["comparisons"] == json.loads(measured)["comparisons"]
    assert run("compare", "a.qrels", "plain.run")[0] == 2
    assert (tmp_path / "reports").exists()


def test_two_runs_are_compared_with_three_tests(runs, tmp_path):
    run, tables, qrels = runs
    words = ("measure", "plain.run", "a.qrels", "better.run", "--measure", "map")
    code, out, err = run(*words, "--plot", "two.svg", "--json")
    assert (code, err) == (0, "")
    facts = json.loads(out)
    first, second = (
        [
            m.value
            for m in sorted(
                ir_measures.iter_calc([AP], qrels, tables[name]),
                key=lambda m: m.query_id,
            )
        ]
        for name in ("plain", "better")
    )
    row = facts["comparisons"][0]
    assert (row["run"], row["measure"]) == ("better", "map")
    assert row["difference"] == pytest.approx(np.mean(second) - np.mean(first))
    assert row["better"] == sum(b > a for a, b in zip(first, second, strict=True))
    assert row["t-test p"] == pytest.approx(paired_t_test(second, first).p_value)
    assert row["sign test p"] == pytest.approx(sign_test(second, first).p_value)
    chance = randomisation_test(second, first).p_value
    assert row["randomisation p"] == pytest.approx(chance)
    assert "query by query" in (tmp_path / "two.svg").read_text()
    assert "better − plain" in run(*words)[1]


def test_equal_scores_can_be_ordered_as_trec_eval_does(run, tmp_path):
    (tmp_path / "a.run").write_text("q Q0 a 1 1 x\nq Q0 b 2 1 x\n")
    (tmp_path / "a.qrels").write_text("q 0 a 1\n")
    words = ("measure", "a.run", "a.qrels", "--measure", "mrr", "--json")
    assert json.loads(run(*words)[1])["runs"][0]["mrr"] == 1.0
    assert json.loads(run(*words, "--trec-ties")[1])["runs"][0]["mrr"] == 0.5


def test_preference_pairs_judge_a_run(run, tmp_path):
    (tmp_path / "a.run").write_text("q Q0 a 1 3 x\nq Q0 b 2 2 x\nq Q0 c 3 1 x\n")
    (tmp_path / "pairs.csv").write_text("query,winner,loser\nq,a,b\nq,c,b\nq,y,z\n")
    code, out, err = run("measure", "a.run", "pairs.csv", "--json")
    assert (code, err) == (0, "")
    facts = json.loads(out)
    assert facts["runs"][0]["ppref"] == 0.5
    assert facts["runs"][0]["rpref"] == pytest.approx(1 / 3)
    assert facts["plot"] is None
    code, _, err = run("measure", "a.run", "pairs.csv", "--plot", "a.svg")
    assert code == 2
    assert "a second run" in err
    (tmp_path / "a.qrels").write_text("q 0 a 2\nq 0 b 0\nq 0 c 1\n")
    words = ("measure", "a.run", "a.qrels", "--measure", "ppref", "--measure", "map")
    row = json.loads(run(*words, "--json")[1])["runs"][0]
    assert row["ppref"] == pytest.approx(2 / 3)


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (("a.run", "other.qrels"), "no query of a.run is in other.qrels"),
        (("bad.run", "a.qrels"), "bad.run, line 2: not 'query Q0"),
        (("a.run", "bad.qrels"), "bad.qrels, line 2: query, document and grade"),
        (("a.run", "a.qrels", "--measure", "loss1"), "loss1 is not defined for"),
        (("a.run", "a.qrels", "--measure", "mab"), "did you mean"),
        (("a.run", "a.qrels", "--plot", "a.png"), "ends in .svg"),
        (("a.run", "a.qrels", "a.run"), "a.run is there twice"),
        (("none.run", "a.qrels"), "none.run"),
        (("a.run", "a.qrels", "--measure", "ppref"), "imply no pair"),
    ],
)
def test_mistakes_are_one_line_with_the_place(run, tmp_path, words, problem):
    (tmp_path / "a.run").write_text("q Q0 a 1 1 x\n")
    (tmp_path / "bad.run").write_text("q Q0 a 1 1 x\nq a 1\n")
    (tmp_path / "a.qrels").write_text("q 0 a 1\n")
    (tmp_path / "bad.qrels").write_text("q 0 a 1\nq 0 b x\n")
    (tmp_path / "other.qrels").write_text("r 0 a 1\n")
    code, out, err = run("measure", *words)
    assert (code, out) == (2, "")
    assert problem.lower() in err.lower()
    assert err.count("\n") == 1


def test_queries_that_one_file_lacks_are_counted(run, tmp_path):
    (tmp_path / "a.run").write_text("q Q0 a 1 1 x\nz Q0 a 1 1 x\n")
    (tmp_path / "a.qrels").write_text("q 0 a 1\nr 0 a 1\n")
    out = run("measure", "a.run", "a.qrels")[1]
    assert "a: 1 of 2 judged queries has no answer and counts 0" in out
    assert "1 query without judgments is left out" in out


ROWS = [
    {"id": "1", "title": "Bees", "body": "They hum."},
    {"id": "2", "title": "Honey", "body": "Made by bees, at home."},
    {"id": "3", "title": "Tea"},
]


def test_topics_become_a_run_and_are_measured(run, tmp_path):
    new_project(tmp_path / "web", ROWS, name="web", indexed=True)
    (tmp_path / "topics.tsv").write_text("q1\tbees\nq2\thoney home\nq3\tzebra\n")
    (tmp_path / "a.qrels").write_text("q1 0 1 1\nq2 0 2 2\n")
    words = ("search", "--topics", "topics.tsv", "-p", "web", "--run")
    code, out, err = run(*words, "bm25.run", "--json")
    assert (code, err) == (0, "")
    row = json.loads(out)[0]
    assert (row["topics"], row["answered"], row["documents"]) == (3, 2, 3)
    lines = (tmp_path / "bm25.run").read_text().splitlines()
    assert lines[0].startswith("q1 Q0 1 1 ")
    assert lines[0].endswith(" classmark-bm25")
    for text in ("bees", "honey home"):
        hits = json.loads(run("search", text, "-p", "web", "--json", "-k", 9)[1])
        query = {"bees": "q1", "honey home": "q2"}[text]
        shown = [each.split()[2] for each in lines if each.startswith(query)]
        assert shown == [hit["id"] for hit in hits]
    code, _, err = run(
        *(*words, "jm.run", "--model", "jm", "--set", "lambda=0.5", "-k", 1),
        *("--weight", "title=2"),
    )
    assert (code, err) == (0, "")
    assert len((tmp_path / "jm.run").read_text().splitlines()) == 2
    code, out, err = run("measure", "bm25.run", "a.qrels", "jm.run")
    assert (code, err) == (0, "")
    assert "bm25" in out


def test_topics_are_answered_by_an_index_of_a_file(run, tmp_path):
    notes = "\n".join(json.dumps({"id": r["id"], "text": r["title"]}) for r in ROWS)
    (tmp_path / "notes.jsonl").write_text(notes)
    assert run("index", "notes.jsonl", "--to", "i")[0] == 0
    (tmp_path / "t.topics").write_text(
        "<top>\n<num> 1\n<title> bees\n<desc> bees and tea\n</top>\n"
    )
    words = ("search", "--topics", "t.topics", "--index", "i", "--run")
    assert run(*words, "all.run")[0] == 0
    assert run(*words, "title.run", "--topic-field", "title")[0] == 0
    sizes = [
        len((tmp_path / name).read_text().splitlines())
        for name in ("all.run", "title.run")
    ]
    assert sizes == [2, 1]
    assert run(*words, "fed.run", "--feedback", "rm3:terms=2")[0] == 0


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (("bees", "--topics", "t.tsv", "--run", "a.run"), "a query and --topics"),
        (("--topics", "t.tsv"), "--run FILE"),
        (("--run", "a.run"), "--topics FILE"),
        (("bees", "--topic-field", "title"), "--topics FILE"),
        ((), "a query is missing"),
        (("--topics", "t.tsv", "--run", "a.run", "--explain"), "--explain"),
        (("--topics", "t.tsv", "--run", "a.run", "--log"), "--log"),
        (("--topics", "t.tsv", "--run", "a.run", "--ranker", "1"), "--ranker"),
        (("--topics", "none.tsv", "--run", "a.run"), "none.tsv"),
        (("--topics", "t.tsv", "--run", "a.run", "--model", "boolean"), "boolean"),
    ],
)
def test_options_that_do_not_go_together_are_refused(run, tmp_path, words, problem):
    new_project(tmp_path / "web", ROWS, name="web", indexed=True)
    (tmp_path / "t.tsv").write_text("q1\tbees\n")
    code, out, err = run("search", "-p", "web", *words)
    assert (code, out) == (2, "")
    assert problem in err
    assert err.count("\n") == 1


@pytest.mark.parametrize(
    ("lines", "problem"),
    [
        ("q1 0 nobody 1\n", "no document of plain.run is judged"),
        ("q1 0 d01 0\nq1 0 d02 0\n", "no document has a grade above 0"),
        ("other 0 d01 1\n", "no query of plain.run is in b.qrels"),
    ],
)
def test_judgments_of_which_nothing_matches_are_refused(runs, tmp_path, lines, problem):
    run, _, _ = runs
    (tmp_path / "b.qrels").write_text(lines)
    code, out, err = run("measure", "plain.run", "b.qrels")
    assert (code, out) == (2, "")
    assert problem in " ".join(err.split())


def test_nothing_is_tuned_on_judgments_of_other_documents(run, tmp_path):
    new_project(tmp_path / "shelf", {"d1": "A hive", "d2": "Bees"}, indexed=True)
    (tmp_path / "asked.tsv").write_text("1\tbees\n")
    (tmp_path / "smart.rel").write_text("1 77 0 0.000000\n1 78 0 0.000000\n")
    tune = ("tune", "--parameter", "b=0:1:0.5", "-p", "shelf", "--queries", "asked.tsv")
    code, out, err = run(*tune, "--qrels", "smart.rel")
    assert (code, out) == (2, "")
    assert "no relevant document of the judgments, such as '77'" in err
    assert "such as 'd1'" in " ".join(err.split())


def test_tuning_reports_on_queries_that_did_not_choose(run):
    tune = ("tune", "--parameter", "b=0,0.75", "--dataset", "library")
    code, out, _ = run(*tune, "--share", "0.25", "--random-state", "3")
    assert code == 0
    assert "on the 27 queries held out: 0." in out
    assert "by the default, b = 0.75" in " ".join(out.split())
    code, _, err = run(*tune, "--share", "0")
    assert code == 2
    assert "give one above 0 and below 1" in " ".join(err.split())
