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
        (["propose", "other", "--clusters", "9"], "k is 9, and 4 documents"),
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
    assert "2 documents in 1 groups of cosine 0.8" in out
    code, out, _ = shelf("decide", "5", "--assign", "other", "--group")
    assert code == 0
    assert "(and of 1 like it: 6)" in out
    assert "no document is waiting" in shelf("queue", "--order", "random")[1]
