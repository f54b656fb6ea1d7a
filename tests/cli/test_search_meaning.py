"""Search by words and meaning on the command line."""

import json

import pytest

from concepts import STATIC, use_concepts
from projects import new_project

ROWS = [
    {"id": "suit", "title": "A lawsuit", "text": "before the magistrate"},
    {"id": "hive", "title": "Bees", "text": "honey from the hive"},
]
QUERIES = [{"id": "q1", "text": "verdict"}, {"id": "q2", "text": "nectar"}]
QRELS = "q1 0 suit 1\nq2 0 hive 1\n"


@pytest.fixture
def shelf(run, tmp_path, monkeypatch):
    use_concepts(monkeypatch)
    (tmp_path / "queries.jsonl").write_text("\n".join(map(json.dumps, QUERIES)))
    (tmp_path / "judged.qrels").write_text(QRELS)
    new_project(tmp_path / "shelf", ROWS, indexed=True, meaning=STATIC)

    def here(*words, code=0):
        ended, out, err = run(*words, "-p", "shelf")
        assert ended == code, err
        return err if code else out

    return here


def test_vectors_are_computed_and_found_by(shelf):
    out = " ".join(shelf("search", "verdict").split())
    assert "nothing was found" in out
    assert "2 of 2 documents have no vector yet: classmark meaning compute" in out
    err = shelf("search", "verdict", "--hybrid", "weight", code=2)
    assert err.count("\n") == 1
    shelf("meaning", "compute")
    out = shelf("search", "verdict", "--explain")
    assert out.startswith("  1. A lawsuit  (suit)  2.0000")
    assert "= (meaning) +2.0000" in out
    assert "ranked by words and meaning" in out
    (row, _) = json.loads(shelf("search", "verdict", "--json"))
    assert (row["words"], row["meaning"]) == (0.0, 2.0)
    assert shelf("search", "verdict", "--hybrid", "no") == "nothing was found\n"
    assert (
        "words"
        not in json.loads(shelf("search", "hive", "--hybrid", "no", "--json"))[0]
    )
    assert "0.0164" in shelf("search", "verdict", "--hybrid", "ranks")
    assert "--hybrid 'x': write no" in shelf("search", "hive", "--hybrid", "x", code=2)


def test_runs_and_weights(shelf, tmp_path):
    shelf("meaning", "compute")
    topics = ("search", "--topics", "queries.jsonl", "--run", "both.run")
    assert "classmark-bm25+meaning" in shelf(*topics)
    assert (tmp_path / "both.run").read_text().count(" classmark-bm25+meaning") == 4
    judged = ("--queries", "queries.jsonl", "--qrels", "judged.qrels")
    out = shelf("tune", "--hybrid", *judged, "--parameter", "weight=0,1,3", "--use")
    assert "best: weight = 1 (map 1.0000)" in out
    assert "searches now use the weight 1" in out
    assert "1.0000" in shelf("search", "verdict")
    file = (tmp_path / "shelf" / "classmark.toml").read_text()
    assert "meaning_weight = 1.0" in file
    err = shelf("tune", "--hybrid", *judged, "--workers", "2", code=2)
    assert "leave --index, --workers and --on out" in err
    assert "no parameter to tune" in shelf("tune", *judged, code=2)
