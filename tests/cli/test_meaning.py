"""classmark meaning: set, status, compute, import and drop from the command line."""

import json
import shutil

import numpy as np
import pytest

from concepts import STATIC, use_concepts
from meaning.tiny_models import TABLE, write_safetensors, write_tokenizer
from projects import new_parish, new_project

pytestmark = pytest.mark.needs("tokenizers")
DOCUMENTS = [
    {"id": f"{name}{at}", "text": f"{words} {at}", "labels": [name]}
    for name, words in {"bees": "bee hive honey", "roads": "road car"}.items()
    for at in range(4)
]


@pytest.fixture
def table(tmp_path):
    folder = tmp_path / "tiny"
    folder.mkdir()
    write_safetensors(folder / "model.safetensors", embeddings=TABLE)
    write_tokenizer(folder / "tokenizer.json")
    return folder


@pytest.fixture
def do(run, tmp_path):
    """Run a command on a small project; return what it printed as JSON."""
    folder = new_project(tmp_path / "shelf", DOCUMENTS)

    def doing(*words, json_=True):
        more = ["--json"] if json_ else []
        code, out, err = run(*words, "--project", folder, *more)
        assert not code, err
        return json.loads(out) if json_ else out

    return doing


def facts(table):
    return {row["what"]: row["value"] for row in table}


def test_the_life_of_a_source(do, run, table, tmp_path):
    assert facts(do("meaning", "status"))["source"] == "none"
    shown = facts(do("meaning", "set", "static", table, "--weight", "0.4"))
    assert (shown["name"], shown["weight"], shown["with vector"]) == ("tiny", 0.4, 0)
    (row,) = do("meaning", "compute")
    assert (row["new"], row["known before"]) == (8, 0)
    more = tmp_path / "more.jsonl"
    more.write_text(json.dumps({"id": "m", "text": "honey road"}))
    assert "vectors computed: 1, " in do("import", more, json_=False)
    do("train")
    assert facts(do("info"))["its vectors"].startswith("tiny (3 numbers")
    assert "bees" in do("suggest", "--text", "honey", json_=False)
    code, _, err = run("meaning", "drop", "--project", tmp_path / "shelf")
    assert (code, "classmark meaning set none" in err) == (2, True)
    do("meaning", "set", "none")
    do("train")
    assert facts(do("meaning", "drop"))["model in service"] == "words alone"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["glove"], "meaning.source is 'glove': use none, static, sentences"),
        (["static", "/nowhere"], "/nowhere: has no model.safetensors"),
        (
            ["server", "m", "--url", "http://192.0.2.1/v1/embeddings"],
            "your texts would leave this machine; give --allow-remote",
        ),
    ],
)
def test_a_source_that_cannot_be_is_one_line_and_exit_code_2(
    do, run, tmp_path, words, message
):
    folder = tmp_path / "shelf"
    code, out, err = run("meaning", "set", *words, "--project", folder)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert message in err
    assert facts(do("meaning", "status"))["source"] == "none"


def test_without_its_folder_a_model_refuses_new_texts_with_the_remedy(
    do, run, table, tmp_path
):
    do("meaning", "set", "static", table)
    do("train")
    shutil.move(table, tmp_path / "away")
    assert "bees" in do("suggest", "--document", "bees1", json_=False)
    folder = tmp_path / "shelf"
    code, _, err = run("suggest", "--text", "new", "--project", folder)
    assert (code, "has no model.safetensors: give the model's folder" in err) == (
        2,
        True,
    )


def test_a_suggestion_asks_for_a_vector_once(run, monkeypatch, tmp_path):
    source = use_concepts(monkeypatch)
    folder = new_parish(tmp_path / "parish", meaning=STATIC)
    for words in (("--text", "a new text"), ("--text", "another", "--why")):
        code, _, err = run("suggest", *words, "--project", folder)
        assert not code, err
    assert source.encoded.count("a new text") == 1
    assert source.encoded.count("another") == 1


def test_own_vectors_are_imported(do, run, tmp_path):
    ids = [row["id"] for row in DOCUMENTS]
    np.save(tmp_path / "own.npy", np.eye(8, 5))
    (tmp_path / "own.ids").write_text("\n".join([*ids[:-1], "nobody"]))
    do("meaning", "set", "own")
    folder = tmp_path / "shelf"
    code, _, err = run("meaning", "import", "own.npy", "--project", folder)
    assert (code, "no document 'nobody' in the project" in err) == (2, True)
    (tmp_path / "own.ids").write_text("\n".join(ids))
    (row,) = do("meaning", "import", tmp_path / "own.npy")
    assert row == {"vectors": 8, "new": 8}
    do("train")
    code, _, err = run("meaning", "compute", "--project", folder)
    assert (code, "your own vectors are not computed" in err) == (2, True)
