"""Propose, accept and the grouped queue on the command line."""

import json

import pytest

TEXTS = {
    "1": "honey in the hive and a queen bee",
    "2": "bees and hive smoke and honey",
    "3": "dough in the oven and rye bread",
    "4": "knead rye dough for bread",
    "5": "a swarm of bees in the old oak by the mill",
    "6": "a swarm of bees in an old oak by the mill!",
}


@pytest.fixture
def shelf(tmp_path, run, monkeypatch):
    rows = [
        {"id": id_, "text": text} | ({"labels": ["other"]} if id_ < "5" else {})
        for id_, text in TEXTS.items()
    ]
    (tmp_path / "notes.jsonl").write_text("\n".join(map(json.dumps, rows)))
    (tmp_path / "tree.csv").write_text("id,parent,label\nall,,All\nother,all,Other\n")
    assert run("init", "shelf")[0] == 0
    monkeypatch.setenv("CLASSMARK_USER", "ann")
    assert run("taxonomy", "import", "tree.csv", "--project", "shelf")[0] == 0
    assert run("import", "notes.jsonl", "--project", "shelf")[0] == 0

    def here(*words):
        return run(*words, "--project", "shelf")

    return here


def test_propose_accept_undo(shelf):
    code, out, _ = shelf("taxonomy", "propose", "other", "--clusters", "2")
    assert code == 0
    assert "Proposed below other" in out
    assert "hive" in out
    code, out, _ = shelf("taxonomy", "propose", "other", "--clusters", "2", "--json")
    found = json.loads(out)
    assert sorted(sorted(one["documents"]) for one in found) == [["1", "2"], ["3", "4"]]
    code, out, _ = shelf(
        "taxonomy", "accept", "other", "1", "--id", "crafts", "--label", "Crafts"
    )
    assert code == 0
    assert "split crafts off from other (documents moved: 2)" in out
    assert "Crafts" in shelf("taxonomy", "show")[1]
    assert shelf("undo")[0] == 0
    assert "Crafts" not in shelf("taxonomy", "show")[1]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["propose", "nowhere"], "there is no category 'nowhere'"),
        (["propose", "all"], "no document is in 'all' itself"),
        (["propose", "other", "--clusters", "9"], "k is 9, but only 4 documents"),
        (["propose", "other", "--method", "x"], "method is 'x'"),
        (["accept", "other", "1"], "nothing is proposed"),
    ],
)
def test_mistakes_are_one_line(shelf, words, said):
    code, _, err = shelf("taxonomy", *words)
    assert code == 2
    assert said in err
    assert err.count("\n") == 1


def test_the_queue_in_groups_and_a_group_decided(shelf):
    code, out, _ = shelf("queue", "--order", "random", "--group", "--json")
    assert code == 0
    (row,) = json.loads(out)
    assert row["size"] == 2
    assert {row["document"], row["like it"]} == {"5", "6"}
    code, out, _ = shelf("queue", "--order", "random", "--group")
    assert "2 documents in 1 group of cosine 0.8" in out
    code, out, _ = shelf("decide", "5", "--assign", "other", "--group")
    assert code == 0
    assert "(and of 1 like it: 6)" in out
    assert "no document is waiting" in shelf("queue", "--order", "random")[1]


def test_a_tree_is_built_shown_accepted_and_undone(tmp_path, run, monkeypatch):
    subjects = {"bees": "hive honey", "wasps": "hive sting", "rye": "dough oven"}
    subjects |= {"cakes": "dough sugar", "tarts": "dough jam"}
    rows = [
        {"id": f"{name}{at}", "text": f"{text} {text} {name}", "labels": [name]}
        for name, text in subjects.items()
        for at in range(3)
    ]
    (tmp_path / "notes.jsonl").write_text("\n".join(map(json.dumps, rows)))
    monkeypatch.setenv("CLASSMARK_USER", "ann")
    assert run("init", "shelf")[0] == 0
    assert run("import", "notes.jsonl", "--project", "shelf")[0] == 0
    here = ("--project", "shelf")
    code, _, err = run("taxonomy", "build", *here)
    assert (code, err.count("\n")) == (2, 1)
    assert "nothing to group at the top" in err
    code, out, _ = run("taxonomy", "build", "--branching", "3", "--json", *here)
    assert code == 0
    groups = {frozenset(group["categories"]) for group in json.loads(out)}
    assert groups == {
        frozenset({"bees", "wasps"}),
        frozenset({"rye", "cakes", "tarts"}),
    }
    before = run("taxonomy", "show", *here)[1]
    assert "Hive" not in before
    code, out, _ = run("taxonomy", "build", "--accept", *here)
    assert code == 0
    assert "built a tree at the top (groups: 2, categories moved: 5)" in out
    assert "Hive" in run("taxonomy", "show", *here)[1]
    assert "build" in run("history", *here)[1]
    assert run("undo", *here)[0] == 0
    assert run("taxonomy", "show", *here)[1] == before


def test_cycles_are_refused_with_the_option_that_cuts_them(tmp_path, run):
    (tmp_path / "graph.txt").write_text("a b\nb c\nc b\n")
    assert run("init", "shelf")[0] == 0
    words = (
        "taxonomy",
        "import",
        "graph.txt",
        "--format",
        "pairs",
        "--project",
        "shelf",
    )
    code, _, err = run(*words)
    assert (code, err.count("\n")) == (2, 1)
    assert "form a cycle" in err
    assert "--break-cycles" in err
    code, out, _ = run(*words, "--break-cycles", "--json")
    assert code == 0
    assert json.loads(out)["cut"] == [["c", "b"]]
    out = " ".join(run(*words, "--break-cycles")[1].split())
    assert "cut because they closed a cycle (1): b below c" in out
