"""Deciding, undoing and the life of categories on the command line."""

import json

import pytest

ROWS = [
    {"id": "1", "text": "honey in the hive", "labels": ["bees"]},
    {"id": "2", "text": "dough in the oven", "labels": ["bread"]},
    {"id": "3", "text": "a hive of bees"},
    {"id": "4", "text": "an oven of bread"},
]
TREE = "id,parent,label\nall,,All\nbees,all,Bees\nbread,all,Bread\n"


@pytest.fixture
def shelf(tmp_path, run, monkeypatch):
    (tmp_path / "notes.jsonl").write_text("\n".join(map(json.dumps, ROWS)))
    (tmp_path / "tree.csv").write_text(TREE)
    folder = tmp_path / "shelf"
    assert run("init", folder)[0] == 0
    assert run("taxonomy", "import", tmp_path / "tree.csv", "-p", folder)[0] == 0
    assert run("import", tmp_path / "notes.jsonl", "-p", folder)[0] == 0
    monkeypatch.chdir(folder)
    monkeypatch.setenv("CLASSMARK_USER", "eve")
    return folder


def test_decide_undo_and_look_back(run, shelf):
    assert shelf.exists()
    asked = [
        "--assign",
        "bees",
        "--primary",
        "bees",
        "--reject",
        "bread",
        "--note",
        "!",
    ]
    code, out, err = run("decide", "3", *asked)
    assert (code, err) == (0, "")
    first, second = out.splitlines()
    assert first == "saved as acts 5 to 6: 3: primary bees, reject bread"
    assert second == "learned at once from 3 documents, with 3 re-visits"
    code, out, _ = run("decide", "4", "--over", "bread:bees", "--json")
    logged = json.loads(out)
    assert logged["learned"]["documents"] == 1
    assert (logged["numbers"], logged["said"]) == ([7], "4: prefer bread over bees")
    assert run("undo")[1].startswith("saved as act 8: undone: prefer (act 7)\n")
    assert run("undo", "8")[1].startswith(
        "saved as act 9: brought back: undo (act 8)\n"
    )
    code, out, _ = run("history", "--document", "3", "--json")
    rows = json.loads(out)
    assert [(row["number"], row["act"], row["who"]) for row in rows] == [
        (6, "reject", "eve"),
        (5, "primary", "eve"),
    ]
    code, out, _ = run("history", "-n", "3")
    assert code == 0
    assert "undone" in out


def test_categories_live(run, shelf, tmp_path):
    assert shelf.exists()
    for words in (
        ["add", "wax", "--label", "Wax", "--parent", "all"],
        ["rename", "wax", "--id", "candles", "--label", "Candles"],
        ["move", "candles", "--under", "bees"],
        ["move", "candles"],
        ["retire", "candles"],
        ["split", "bees", "--new", "hives", "--documents", "1"],
        ["merge", "hives", "--into", "bees"],
    ):
        code, out, err = run("taxonomy", *words)
        assert (code, err) == (0, ""), err
        assert out.startswith("saved as act")
    (tmp_path / "ids.txt").write_text("1\n\n")
    words = ["--new", "x", "--documents", f"@{tmp_path / 'ids.txt'}"]
    assert run("taxonomy", "split", "bees", *words)[0] == 0
    assert run("undo")[0] == 0
    rows = json.loads(run("taxonomy", "show", "--json")[1])
    assert {row["id"]: row["documents"] for row in rows} == {
        "all": 0, "bees": 1, "bread": 1, "candles": 0,
    }  # fmt: skip


def test_the_queue_is_shown(run, shelf):
    assert shelf.exists()
    assert run("train")[0] == 0
    for order in ("uncertain", "likely", "random", "similar"):
        code, out, err = run("queue", "--order", order, "--json")
        assert (code, err) == (0, "")
        assert {row["document"] for row in json.loads(out)} == {"3", "4"}
    code, out, _ = run("queue", "--order", "similar", "--to", "1", "-k", "1", "--json")
    assert json.loads(out)[0]["document"] == "3"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["decide", "9", "--assign", "bees"], "no document '9'"),
        (["decide", "3", "--assign", "oak"], "classmark taxonomy add oak"),
        (["decide", "3"], "nothing was decided"),
        (["decide", "3", "--over", "bees:bread", "--over", "bread:bees"], "contradict"),
        (["decide", "3", "--over", "bees"], "winner:loser"),
        (["decide", "3", "--over", "bees:oak"], "no category 'oak'"),
        (["decide", "3", "--assign", "bees", "--reject", "bees"], "contradict"),
        (["undo", "99"], "no act 99"),
        (["undo", "many"], "NUMBER"),
        (["undo"], "eve has nothing to undo"),
        (["history", "--document", "9"], "no document '9'"),
        (["history", "-n", "0"], "enter at least 1"),
        (["queue", "--order", "steep"], "uncertain, likely, random, similar"),
        (["queue"], "classmark train"),
        (["taxonomy", "add", "bees"], "already a category"),
        (["taxonomy", "add", "ox", "--parent", "no"], "no category 'no'"),
        (["taxonomy", "move", "all", "--under", "bees"], "cycle"),
        (["taxonomy", "merge", "bees", "--into", "bees"], "into itself"),
        (["taxonomy", "merge", "oak", "--into", "bees"], "no category 'oak'"),
        (["taxonomy", "rename", "bees"], "a new label"),
        (["taxonomy", "retire", "oak"], "no category 'oak'"),
        (
            ["taxonomy", "split", "bees", "--new", "x", "--documents", "2"],
            "'2' is not in 'bees'",
        ),
        (
            ["taxonomy", "split", "bees", "--new", "x", "--documents", "@no.txt"],
            "no.txt",
        ),
    ],
)
def test_a_users_mistake_is_one_line_and_exit_code_2(run, shelf, words, said):
    assert shelf.exists()
    code, out, err = run(*words)
    assert (code, out) == (2, "")
    assert err.startswith("classmark: ")
    assert err.count("\n") == 1
    assert said in err


def test_what_was_learned_at_once_is_said(run, shelf):
    assert shelf.exists()
    code, out, _ = run("decide", "3", "--assign", "bees")
    assert code == 0
    assert "learned at once from 3 documents, with 3 re-visits" in out
    assert "learned at once from 1 document, with" in run("undo")[1]
    code, out, _ = run("rebuild", "--json")
    assert (code, json.loads(out)[0]["difference"]) == (0, 0.0)
    assert run("train", "--learner", "rocchio")[0] == 0
    _, out, _ = run("decide", "4", "--assign", "bread")
    assert "not learned yet: model 000001 stays as it is until" in out
    code, _, problem = run("rebuild")
    assert (code, problem.count("\n")) == (2, 1)
    assert "train --learner plm" in problem


def test_thresholds_are_said_learned_and_shown(run, shelf):
    assert shelf.exists()
    code, out, _ = run("decide", "4", "--over", "bread:threshold", "--json")
    assert json.loads(out)["said"] == "4: prefer bread over threshold"
    code, _, err = run("decide", "4", "--assign", "threshold")
    assert code == 2
    assert "there is no category 'threshold'" in err
    assert run("train", "--thresholds", "each")[0] == 2
    code, _, err = run("train", "--thresholds", "category", "--learner", "rocchio")
    assert code == 2
    assert "--thresholds has no effect with the learner rocchio" in err
    assert run("train", "--thresholds", "category", "--C", "10")[0] == 0
    code, out, _ = run("suggest", "--text", "honey in the hive")
    assert ", belongs" in out
    assert ", doesn't belong" in out
    found = json.loads(run("suggest", "--text", "honey in the hive", "--json")[1])
    assert [each["belongs"] for each in found] == [True, False]
    code, out, _ = run("place", "1", "--json")
    (row,) = json.loads(out)
    assert (row["kind"], row["category"]) == ("belongs", "bees")
