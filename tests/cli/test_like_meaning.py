"""Find more like these, by words and meaning, on the command line."""

import json
import shutil

import pytest

pytest.importorskip("wordllama", exc_type=ImportError)

TEXTS = {
    "1": "The magistrate in the courtroom passed a verdict",
    "2": "Lawsuits are heard before judges and juries",
    "3": "Hens lay fewer eggs when winter comes",
    "4": "Attorneys plead for defendants at trial",
    "5": "Roast barley slowly, then brew ale",
    "6": "Sailing boats past a lighthouse",
    "7": "Geese and ducks on the farm pond",
    "8": "Knitting patterns for woollen mittens",
    "9": "Baking bread from rye flour",
}


@pytest.fixture
def shelf(tmp_path, run, monkeypatch):
    rows = [{"id": id_, "text": text} for id_, text in TEXTS.items()]
    (tmp_path / "notes.jsonl").write_text("\n".join(map(json.dumps, rows)))
    monkeypatch.setenv("CLASSMARK_USER", "ann")
    assert run("init", "shelf")[0] == 0

    def here(*words):
        code, out, err = run(*words, "--project", "shelf")
        assert code == 0, err
        assert "meaning[" not in out
        return out

    here("import", "notes.jsonl")
    return here


def found(out):
    return [each["id"] for each in json.loads(out)["found"]]


def test_a_search_finds_what_shares_no_word(shelf, tmp_path):
    shelf("like", "--examples", "1", "--name", "words", "--json")
    shelf("meaning", "set", "static")
    out = shelf("like", "--examples", "1", "--name", "both", "-k", "2", "--json")
    assert sorted(found(out)) == ["2", "4"]
    assert 0 < json.loads(out)["meaning"] < 1
    shown = shelf("like", "--name", "both", "--yes", "2", "-k", "3")
    assert "terms, and meaning: " in " ".join(shown.split())
    assert "(meaning)" in shown
    why = shelf("like", "--name", "both", "--explain", "4")
    assert "(meaning)" in why
    written = shelf("like", "--name", "both", "--weights", "query.tsv")
    assert "has no words and is not" in " ".join(written.split())
    assert "meaning[" not in (tmp_path / "query.tsv").read_text()
    shelf("like", "--name", "both", "--undo")
    by_text = tmp_path / "mine.txt"
    by_text.write_text("solicitors")
    out = shelf("like", "--file", by_text, "--name", "mine", "-k", "3", "--json")
    assert set(found(out)) == {"1", "2", "4"}
    shutil.rmtree(tmp_path / "shelf" / "like")
    again = shelf("like", "--name", "both", "-k", "2", "--json")
    assert sorted(found(again)) == ["2", "4"]


def test_a_screening_reads_what_shares_no_word_first(shelf, tmp_path):
    settings = tmp_path / "shelf" / "classmark.toml"  # words alone: nine short texts
    text = settings.read_text()
    assert "characters = 4" in text
    settings.write_text(text.replace("characters = 4", "characters = 0"))
    shelf("meaning", "set", "static")
    shelf("screen", "start", "--examples", "1", "--name", "law", "--share", "0.01")
    shown = json.loads(shelf("screen", "next", "-k", "2", "--json"))
    assert {each["id"] for each in shown if each["origin"] == "likely"} <= {"2", "4"}
    shelf("screen", "mark", "--yes", "2")
    assert "2 relevant found" in shelf("screen", "status")
