"""Import on the command line: columns are seen and said; documents come and go."""

import json

import pytest

import own_files
from classmark.workbench.project import Project


@pytest.fixture
def shelf(tmp_path, run, monkeypatch):
    folder = tmp_path / "shelf"
    assert run("init", folder)[0] == 0
    (folder / "own.csv").write_text(own_files.SEMICOLONS)
    (folder / "mails.csv").write_text(own_files.SUBJECTS)
    (folder / "latin.csv").write_bytes(own_files.LATIN.encode("latin-1"))
    (folder / "tree.csv").write_text(own_files.TAXONOMY)
    monkeypatch.chdir(folder)
    return folder


def ids(folder):
    with Project(folder) as project:
        return project.store.ids()


def test_a_preview_imports_nothing(run, shelf):
    code, out, _ = run("import", shelf / "own.csv", "--preview")
    assert code == 0
    assert "abstract  text" in out
    assert "2 new, 0 replaced, 0 unchanged" in out
    assert ids(shelf) == set()


def test_columns_are_said_as_on_the_page(run, shelf):
    code, _, problem = run("import", "mails.csv")
    assert code == 2
    assert "say what it holds, as in --label subject, --column text=subject" in problem
    code, out, _ = run("import", "mails.csv", "--column", "title=subject")
    assert code == 0
    assert "title: subject" in out
    assert "undo it with: classmark undo" in out
    said = ("--column", "text=abstract", "--label", "category", "--encoding", "latin-1")
    assert run("import", "own.csv", *said)[0] == 0
    code, _, problem = run("import", "own.csv", "--label", "topic")
    assert (code, "there is no column 'topic'" in problem) == (2, True)
    assert ids(shelf) == {"m1", "m2", "7", "8"}


def test_what_was_said_is_remembered_for_such_columns(run, shelf):
    assert run("import", "mails.csv", "--column", "title=subject")[0] == 0
    more = own_files.SUBJECTS.replace("m1", "m3").replace("m2", "m4")
    (shelf / "more.csv").write_text(more)
    code, out, _ = run("import", "more.csv")
    assert (code, "title: subject" in out) == (0, True)


def test_several_files_are_undone_with_one_act(run, shelf):
    code, out, _ = run("import", "own.csv", "latin.csv")
    assert (code, "Imported 2 files" in out) == (0, True)
    assert "encoding cp1252" in out
    assert ids(shelf) == {"7", "8", "k1", "k2"}
    assert run("undo", 1)[0] == 0
    assert ids(shelf) == set()


def test_a_taxonomy_is_not_taken_for_documents(run, shelf):
    code, _, problem = run("import", "tree.csv")
    assert code == 2
    assert "run classmark taxonomy import tree.csv" in problem
    assert ids(shelf) == set()


def test_documents_are_added_deleted_listed_and_restored(run, shelf):
    assert run("document", "add", "It turns.", "--id", "mill")[1] == "added mill\n"
    assert run("document", "delete", "mill")[0] == 0
    assert ids(shelf) == set()
    rows = json.loads(run("document", "deleted", "--json")[1])
    assert [row["document"] for row in rows] == ["mill"]
    assert run("document", "restore", "mill")[0] == 0
    code, _, problem = run("document", "delete", "none")
    assert (code, "there is no document 'none'" in problem) == (2, True)


def test_the_row_of_the_columns_and_the_sheet_are_said(run, shelf):
    rows = [["Loans"], ["1931"], ["id", "text"], ["x1", "wax"], ["x2", ""]]
    (shelf / "own.xlsx").write_bytes(own_files.xlsx([["id", "text"], ["y", "z"]], rows))
    code, out, _ = run("import", "own.xlsx", "--sheet", "more", "--header", "3")
    assert code == 0
    assert "column names in row 3; sheet more" in out
    told = "rows with neither a title nor a text: 1 (line 5); --skip leaves them out"
    assert told in out
    assert ids(shelf) == {"x1", "x2"}
    code, _, problem = run("import", "own.xlsx", "--header", "third")
    assert (code, "the number of the row" in problem) == (2, True)
