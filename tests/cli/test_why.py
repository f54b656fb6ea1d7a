"""``suggest`` tells words from meaning, and with --why who and what speaks for it."""

import json

import pytest

from classmark.workbench.settings import MeaningSettings
from projects import TREE, new_parish, new_project, parish

TEXT = "The committee met in the vestry. An apiarist told of beeswax and swarms!"


@pytest.fixture
def both(tmp_path):
    rows = parish(decided=True, waiting=True)
    static = MeaningSettings("static")
    return new_project(tmp_path / "both", rows, TREE, trained=True, meaning=static)


@pytest.mark.needs("tokenizers")
@pytest.mark.needs("safetensors")
@pytest.mark.needs("wordllama")
def test_words_and_meaning_are_told_apart(run, both):
    code, out, err = run("suggest", "-p", both, "--text", TEXT, "-k", 2)
    assert (code, err) == (0, "")
    told = [line.split() for line in out.splitlines() if "meaning:" in line]
    facts = json.loads(run("suggest", "-p", both, "--text", TEXT, "-k", 2, "--json")[1])
    assert facts[0]["category"] == "bees"
    assert told == [
        ["meaning:", f"{each['meaning']:+.3f}", "(of",
         f"{each['words'] + each['meaning']:+.3f})"]
        for each in facts
    ]  # fmt: skip
    assert "reasons" not in facts[0]


@pytest.mark.needs("tokenizers")
@pytest.mark.needs("safetensors")
@pytest.mark.needs("wordllama")
def test_why_shows_sentences_and_documents(run, both):
    words = ("suggest", "-p", both, "--text", TEXT, "-k", 1, "--why")
    code, out, err = run(*words)
    assert (code, err) == (0, "")
    lines = [line.strip() for line in out.splitlines()]
    (said, *_) = [line for line in lines if line.startswith("says:")]
    assert said.startswith("says:    “An apiarist told of beeswax and swarms!” +0.")
    assert sum(line.startswith("as in:") for line in lines) == 3
    (fact,) = json.loads(run(*words, "--json")[1])
    reasons = fact["reasons"]
    assert reasons["sentences"][0]["sentence"].startswith("An apiarist")
    assert len(reasons["documents"]) == 3
    assert set(reasons["documents"][0]) == {"document", "title", "cosine"}
    assert f"({reasons['documents'][0]['document']}), " in out
    assert reasons["meaning"] == fact["meaning"]


def test_words_alone_print_what_they_always_did(run, tmp_path):
    words = ("suggest", "-p", new_parish(tmp_path / "words"), "--text", "hive", "-k", 1)
    code, out, err = run(*words)
    assert (code, err) == (0, "")
    assert "meaning" not in out
    (fact,) = json.loads(run(*words, "--json")[1])
    assert list(fact) == [
        "category", "path", "rank", "score", "favour", "against", "probability",
        "calibrated_on", "belongs",
    ]  # fmt: skip
    code, why, err = run(*words, "--why")
    assert (code, err) == (0, "")
    assert why.replace("       note:    the model ranks by words alone\n", "") == out
