"""Indexing, searching and tuning from the command line."""

import json

import pytest

from classmark.workbench.search import following
from projects import new_project

ROWS = [
    {"id": "1", "title": "Bees", "body": "They hum.", "links": [["2", "honey"]]},
    {"id": "2", "title": "Honey", "body": "Made by bees, at home."},
    {"id": "3", "title": "Tea", "links": ["2", "1"]},
]
QUERIES = [{"id": "q1", "text": "bees"}, {"id": "q2", "text": "honey home"}]
QRELS = "query\tdocument\tgrade\nq1\t1\t1\nq2\t2\t2\n"


@pytest.fixture
def web(run, tmp_path):
    """The command line beside a project with its index, queries and judgments."""
    (tmp_path / "notes.jsonl").write_text("\n".join(map(json.dumps, ROWS)))
    (tmp_path / "queries.jsonl").write_text("\n".join(map(json.dumps, QUERIES)))
    (tmp_path / "qrels.tsv").write_text(QRELS)
    new_project(tmp_path / "web", ROWS, name="web", indexed=True)
    return run


def test_a_project_is_indexed_and_searched(web):
    code, out, err = web("index", "-p", "web", "--json")
    assert (code, err) == (0, "")
    assert json.loads(out)[0]["added"] == 0
    code, out, err = web("search", "bees", "-p", "web", "--explain")
    assert (code, err) == (0, "")
    assert out.startswith("  1. Bees  (1)  ")
    assert "Made by *bees*, at home." in out
    assert "= bee +" in out
    code, out, _ = web("search", '"made by" -tea', "-p", "web", "--json", "-k", 1)
    assert [row["id"] for row in json.loads(out)] == ["2"]
    words = ("search", "bees OR tea", "-p", "web", "--json", "--prior", "pagerank:9")
    assert json.loads(web(*words)[1])[0]["id"] == "2"
    words = ("--model", "dirichlet", "--set", "mu=10", "--feedback", "rm3:terms=3")
    assert web("search", "bees", "-p", "web", *words)[0] == 0
    words = ("--weight", "title=0.1", "--weight", "body=5")
    assert (
        json.loads(web("search", "bees", "-p", "web", "--json", *words)[1])[0]["id"]
        == "2"
    )
    assert web("search", "zebra", "-p", "web")[1] == "nothing was found\n"
    assert "stop words" not in web("search", "t*", "-p", "web")[1]
    assert "they are stop words" in web("search", "the", "-p", "web")[1]
    assert web("import", "notes.jsonl", "-p", "web")[0] == 0
    code, out, _ = web("index", "check", "-p", "web")
    assert code == 0
    assert "every byte is as written" in out


def test_documents_that_came_are_found_at_once_where_they_are_few(web, monkeypatch):
    def found():
        ids = json.loads(web("search", "wasps", "-p", "web", "--json")[1])
        return {row["id"] for row in ids}

    web("document", "add", "Wasps, too.", "--id", "w1", "-p", "web")
    assert found() == {"w1"}
    web("document", "delete", "w1", "-p", "web")
    assert found() == set()
    web("document", "restore", "w1", "-p", "web")
    monkeypatch.setattr(following, "AT_ONCE", 3)
    shown = " ".join(web("search", "bees", "-p", "web")[1].split())
    assert "brings the index up to date" in shown
    assert found() == set()


def test_a_file_is_indexed_and_searched(web):
    code, out, err = web("index", "notes.jsonl", "--to", "i", "--memory", "64MB")
    assert (code, err) == (0, "")
    assert "title, body, anchor" in out
    code, out, _ = web("search", "anchor:honey", "--index", "i", "--json")
    assert [(row["id"], row["title"]) for row in json.loads(out)] == [("2", "Honey")]
    assert web("index", "check", "--index", "i")[0] == 0


def test_lambda_is_swept_from_0_to_1_and_what_is_not_defined_is_named(web):
    files = ("--queries", "queries.jsonl", "--qrels", "qrels.tsv", "-p", "web")
    sweep = ("tune", "--model", "jm", "--parameter", "lambda=0:1:0.25")
    code, out, err = web(*sweep, *files)
    assert (code, err) == (0, "")
    assert "lambda = 0 is left out: jm takes one above 0 and at most 1" in out
    rows = json.loads(web(*sweep, *files, "--json")[1])["rows"]
    assert [row["lambda"] for row in rows] == [0.25, 0.5, 0.75, 1.0]
    code, _, err = web("tune", "--model", "jm", "--parameter", "lambda=0", *files)
    assert code == 2
    assert "above 0" in err
    code, _, err = web("tune", "--model", "jm", "--parameter", "mu=1,2", *files)
    assert code == 2
    assert "jm has no parameter 'mu'" in err


def test_at_lambda_1_all_that_match_score_0_in_their_order(web):
    words = ("search", "bees honey tea", "-p", "web", "--json", "--model", "jm")
    rows = json.loads(web(*words, "--set", "lambda=1")[1])
    assert [row["id"] for row in rows] == ["1", "2", "3"]
    assert {row["score"] for row in rows} == {0.0}


def test_parameters_are_tuned(web, tmp_path):
    files = ("--queries", "queries.jsonl", "--qrels", "qrels.tsv")
    code, out, err = web(
        *("tune", "--parameter", "b=0:1:0.5", "-p", "web", "--measure", "mrr"), *files
    )
    assert (code, err) == (0, "")
    assert "bm25 on queries.jsonl, 2 queries" in out
    assert "best: b = 0 (mrr 1.0000)" in out
    assert (tmp_path / "reports" / "tune-bm25-b.svg").exists()
    assert web("index", "notes.jsonl", "--to", "i")[0] == 0
    code, out, _ = web(
        *("tune", "--parameter", "mu=1,10", "--model", "dirichlet", "--index", "i"),
        *("--plot", "x.svg", "--json", "--feedback", "rm3:terms=2"),
        *files,
    )
    assert code == 0
    found = json.loads(out)
    assert [row["mu"] for row in found["rows"]] == [1.0, 10.0]
    assert found["plot"] == "x.svg"
    words = ("tune", "--parameter", "b=0,1", "--parameter", "k1=0.5,1,2")
    code, out, _ = web(*words, "--dataset", "library", "--json")
    assert code == 0
    assert len(json.loads(out)["rows"]) == 6
    assert (tmp_path / "reports" / "tune-bm25-b-k1.svg").exists()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["search", "bees"], "classmark.toml"),
        (["search", "bees", "--index", "none"], "holds no index"),
        (["search", "bees", "--index", "web"], "is a project"),
        (["search", "bees", "--index", "i", "-p", "web"], "give one of them"),
        (["search", "", "-p", "web"], "query, character 1: there is no word in it"),
        (["search", "bees", "-p", "web", "--set", "k9=1"], "has no parameter 'k9'"),
        (["search", "bees", "-p", "web", "--set", "fields=1"], "use --weight"),
        (["search", "bees", "-p", "web", "--weight", "body"], "as in title=2"),
        (["index", "--to", "j"], "name the FILE"),
        (["index", "merge", "--index", "none"], "holds no index"),
        (["index", "check", "--index", "web"], "is a project"),
        (["search", "bees", "-p", "web", "--set", "k1"], "write name=value"),
        (["search", "bees", "-p", "web", "--model", "x"], "model is 'x'"),
        (["index", "check", "-p", "web", "--workers", "2"], "index check works on"),
        (["index", "merge", "-p", "web", "--on", "dask://x:1"], "index merge works"),
        (["index", "check", "-p", "web", "--shards", "2"], "leave --to, --shards"),
        (["index", "check", "-p", "web", "--dashboard"], "and --dashboard"),
        (["index", "notes.jsonl", "--to", "web/index"], "belongs to the project"),
        (["index", "notes.jsonl", "--to", "notes.jsonl/i"], "notes.jsonl is no folder"),
        (["index", "notes.jsonl"], "--to DIR"),
        (["index", "missing.jsonl", "--to", "j"], "missing.jsonl"),
        (["index", "-p", "web", "--memory", "much"], "memory"),
        (["index", "check", "--index", "none"], "holds no index"),
        (["tune", "--parameter", "b=0:1:0.5"], "nothing to tune on"),
        (["tune", "--parameter", "b=0:1:0.5", "-p", "web"], "judged queries are"),
        (["tune", "--parameter", "b", "--dataset", "library"], "parameter 'b'"),
        (["tune", "--parameter", "b=2,3", "--dataset", "library"], "b of bm25 is 2"),
        (["tune", "--parameter", "q=2", "--dataset", "library"], "no parameter 'q'"),
        (
            ["tune", "--parameter", "b=0,1", "--dataset", "library", "--measure", "x"],
            "measure 'x'",
        ),
        (
            [
                *("tune", "--parameter", "b=0,1", "-p", "web"),
                *("--queries", "queries.jsonl", "--qrels", "queries.jsonl"),
            ],
            "query, document and grade are needed",
        ),
    ],
)
def test_mistakes_are_one_line(web, words, said):
    code, out, err = web(*words)
    assert (code, out) == (2, "")
    assert said in err
    assert err.count("\n") == 1


@pytest.mark.parametrize(
    ("query", "place", "said"),
    [
        ("foo AND (", 9, "a word, a phrase or ( is expected after (: write one"),
        ("bees AND", 8, "is expected after AND: write one, or leave AND out"),
        ("OR bees", 0, "is expected before OR"),
        ('say "wind tunnel', 4, 'the closing " is missing: write it'),
        ("(bees", 0, "the ) of this ( is missing: write it, or leave ( out"),
        ("bees)", 4, "there is no ( for this )"),
        ("bees au:x", 5, "there is no field 'au': use title, body, anchor"),
        ("title: bees", 6, "is expected right after title: write it without a blank"),
        ("#sum(bees", 0, "the ) of this #sum( is missing"),
        ("bees\nAND", 8, "is expected after AND"),
    ],
)
@pytest.mark.parametrize("more", [[], ["--json"], ["--model", "boolean"]])
def test_a_malformed_query_gets_a_caret(web, query, place, said, more):
    code, out, err = web("search", query, "-p", "web", *more)
    assert (code, out) == (2, "")
    problem, shown, caret = err.rstrip("\n").split("\n")
    assert problem.startswith(f"classmark: query, character {place + 1}: ")
    assert said in problem
    assert shown == "  " + query.replace("\n", " ")
    assert caret == " " * (place + 2) + "^"


def test_the_caret_is_seen_in_a_long_query(web):
    err = web("search", "bees " * 2000 + "AND", "-p", "web")[2]
    _, shown, caret = err.rstrip("\n").split("\n")
    assert len(caret) < 80
    assert shown[: len(caret) - 1].endswith("bees AND")


def test_a_query_may_be_several_words(web):
    one = web("search", "made by bees", "-p", "web", "--json")
    assert web("search", "made", "by", "bees", "-p", "web", "--json") == one
    assert one[0] == 0
    code, out, _ = web("search", "-p", "web", "--json", "--", "-honey", "tea")
    assert (code, [row["id"] for row in json.loads(out)]) == (0, ["3"])


def test_an_index_is_merged_on_demand(web):
    assert web("index", "notes.jsonl", "--to", "i")[0] == 0
    for where in (["-p", "web"], ["--index", "i"]):
        code, out, err = web("index", "merge", *where, "--json")
        assert (code, err) == (0, "")
        assert json.loads(out)[0]["segments"] == 1


def test_without_an_index_the_remedy_is_named(run):
    assert run("init", "web")[0] == 0
    code, _, err = run("search", "bees", "-p", "web")
    assert code == 2
    assert "has no index yet: make it with classmark index" in err


def test_a_slip_is_followed_by_what_may_be_meant(web):
    code, out, err = web("search", "title:hony tea", "-p", "web")
    assert (code, err) == (0, "")
    assert "did you mean: title:honey tea" in out
    assert "did you mean" not in web("search", "honey", "-p", "web")[1]
