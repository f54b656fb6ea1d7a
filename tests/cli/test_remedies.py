"""Messages name options that the command has; files are read in what they come in."""

import json
import re

import pytest
import typer

from classmark.cli.main import app
from classmark.cli.options import INSTEAD
from classmark.problems import in_words_of, worded
from projects import new_project

ROWS = [
    {"id": f"{word}{n}", "text": f"{word} {n}", "labels": [word]}
    for n in range(6)
    for word in ("bees", "bread")
]
OPTION = re.compile(r"--[a-z][a-z-]+")


def commands(group):
    """Every command of the command line, as typer has it."""
    for name, inner in typer.main.get_command(group).commands.items():
        yield from walked(name, inner)


def walked(name, inner):
    if hasattr(inner, "commands"):
        for more, each in inner.commands.items():
            yield from walked(f"{name} {more}", each)
    else:
        yield name, inner


@pytest.mark.parametrize(("name", "inner"), [*commands(app)])
def test_no_message_names_an_option_that_the_command_has_not(name, inner):
    function = inner._function  # noqa: SLF001 (the ``Command`` of a command)
    parameters = inner.get_params(typer.Context(inner))
    own = {option for parameter in parameters for option in parameter.opts}
    with in_words_of(function.words):
        for option, words in INSTEAD.items():
            for command in words:
                text = worded(command)
                named = set(OPTION.findall(text)) if text == command else set()
                assert named <= own, (name, text)
                assert (option in own) == (text == command), (name, text)


@pytest.fixture
def shelf(tmp_path, monkeypatch):
    folder = new_project(tmp_path / "shelf", ROWS)
    monkeypatch.setenv("CLASSMARK_PROJECT", str(folder))
    return folder


@pytest.mark.usefixtures("shelf")
@pytest.mark.parametrize("encoding", ["latin-1", "utf-16"])
def test_a_text_is_suggested_for_in_the_encoding_it_comes_in(run, tmp_path, encoding):
    assert run("train")[0] == 0
    (tmp_path / "l1.txt").write_bytes("bees für Köln".encode(encoding))
    code, out, err = run("suggest", tmp_path / "l1.txt", "-k", "1")
    assert (code, err) == (0, "")
    assert "bees" in out


@pytest.mark.usefixtures("shelf")
def test_remedies_can_be_followed_where_the_user_is(run, tmp_path):
    (tmp_path / "cat_hier.txt").write_text("1 2\n")
    code, _, err = run("taxonomy", "import", tmp_path / "cat_hier.txt")
    assert code == 2
    assert "which format: give --format (format=), one of csv" in err
    (tmp_path / "texts").mkdir()
    code, _, err = run("suggest", tmp_path / "texts", tmp_path / "texts")
    assert code == 2
    assert "--format" not in err
    (tmp_path / "notes.tsv").write_bytes("Köln\t<u:1>\n".encode("latin-1"))
    code, _, err = run("evaluate", tmp_path / "notes.tsv", "--format", "annif")
    assert code == 2
    assert "--encoding" not in err


@pytest.mark.usefixtures("shelf")
@pytest.mark.parametrize("ending", ["ris", "bib"])
def test_documents_are_exported_as_references(run, tmp_path, ending):
    rows = [{"id": "r1", "title": "Pumps", "text": "Fens", "labels": ["included"]}]
    rows += [{"id": "r2", "title": "Mills", "text": "Sails", "labels": ["x", "y"]}]
    new_project(tmp_path / "review", rows)
    code, out, err = run("export", f"all.{ending}", "-p", tmp_path / "review", "--json")
    assert (code, err) == (0, "")
    assert json.loads(out)[0]["documents"] == 2
    text = (tmp_path / f"all.{ending}").read_text()
    assert "ASReview_relevant" in text.replace("\\_", "_")
    assert "Mills" in text
    assert ("labels: x; y" in text) == (ending == "ris")


@pytest.mark.usefixtures("shelf")
def test_an_empty_text_among_several_is_said_to_be_empty(run, tmp_path):
    assert run("train")[0] == 0
    for name, text in (("a.txt", "bees"), ("b.txt", " ")):
        (tmp_path / name).write_text(text)
    code, out, _ = run("suggest", tmp_path / "a.txt", tmp_path / "b.txt")
    assert code == 0
    assert "the text is empty" in out
    assert "as likely as was asked for" not in out
    out = run("suggest", "--text", "bees", "--min-probability", "0.9999")[1]
    assert "the text is empty" not in out


def test_a_file_of_beir_is_indexed_with_the_format_that_is_named(run, tmp_path):
    line = '{"_id": "d1", "title": "Bees", "text": "hive", "metadata": {}}\n'
    (tmp_path / "corpus.jsonl").write_text(line)
    code, _, err = run("index", "corpus.jsonl", "--to", "a")
    assert code == 2
    assert "it is under '_id': give --format (format=) beir" in err
    assert run("index", "corpus.jsonl", "--to", "a", "--format", "beir")[0] == 0


def test_what_is_said_of_several_files_at_once_is_said_once(run, tmp_path):
    new_project(tmp_path / "p", [])
    for name in "ab":
        row = f'{{"id": "{name}", "text": "hive", "labels": "{name}"}}'
        (tmp_path / f"{name}.jsonl").write_text(row)
    code, out, err = run("import", "a.jsonl", "b.jsonl", "-p", "p")
    assert (code, err) == (0, "")
    assert out.count("classmark undo") == 1
    assert "a.jsonl: categories added because a label named them: a" in out


@pytest.mark.usefixtures("shelf")
def test_tune_takes_the_format_of_judgments(run, tmp_path):
    assert run("index")[0] == 0
    (tmp_path / "q.txt").write_text("1:bees\n2:bread\n")
    (tmp_path / "j").write_text("1 0 0 0\n2 1 0 0\n")
    words = ("--queries", tmp_path / "q.txt", "--qrels", tmp_path / "j")
    told = ("--parameter", "b=0,1", "-p", tmp_path / "shelf")
    code, _, err = run("tune", *words, *told, "--format", "trec")
    assert code == 2
    assert "say which format the judgments have" in err
    code, _, err = run("tune", *words, *told, "--format", "smart")
    assert "which format" not in err
    code, _, err = run("tune", *words, *told, "--format", "excel")
    assert code == 2
    assert "format='excel' is not known" in err


@pytest.mark.usefixtures("shelf")
def test_retrieve_lists_the_formats_that_topics_have(run, tmp_path):
    assert run("index")[0] == 0
    (tmp_path / "t.doc").write_text("bees\n")
    code, _, err = run("retrieve", tmp_path / "t.doc", "--run", tmp_path / "a.run")
    assert code == 2
    assert "give --format (format=), one of trec-topics, trec-xml" in err
    assert "pdf" not in err
