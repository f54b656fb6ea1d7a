"""Click logs of other searches come in, and rankers are judged by what one chooses."""

import pytest

from classmark.problems import UnreadableFile
from classmark.workbench.project import Project
from classmark.workbench.search.clicks import (
    import_clicks,
    logged_preferences,
    read_impressions,
)
from projects import new_project

LINES = """\
{"query": "bees", "shown": ["d1", "d2", "x9"], "clicked": ["d2"], "at": "2026-01-01"}
{"query": "honey", "shown": ["d2", "d1"]}
"""
TABLE = """\
list,query,document,position,clicked
7,bees,d1,1,0
7,bees,x9,3,
7,bees,d2,2,1
8,honey,d2,1,no
8,honey,d1,2,no
"""


@pytest.fixture
def project(tmp_path):
    folder = new_project(tmp_path / "shelf", {"d1": "A hive", "d2": "Bees"})
    with Project(folder) as project:
        yield project


@pytest.mark.parametrize(("name", "text"), [("a.jsonl", LINES), ("a.csv", TABLE)])
def test_lists_and_clicks_come_in(project, tmp_path, name, text):
    (tmp_path / name).write_text(text)
    (row,) = import_clicks(project, tmp_path / name).rows
    assert (row["lists"], row["clicks"], row["not in the project"]) == (2, 1, 1)
    bees, honey = read_impressions(project.store)
    assert (bees.query, bees.ids, bees.clicked) == ("bees", ["d1", "d2", "x9"], {"d2"})
    assert (honey.ids, honey.clicked, honey.ranker) == (["d2", "d1"], set(), "imported")
    over = logged_preferences(project.store)["bees"]
    assert [(each.winner, each.loser) for each in over] == [("d2", "d1"), ("d2", "x9")]


def test_a_list_of_the_same_time_comes_in_once(project, tmp_path):
    (tmp_path / "a.jsonl").write_text(LINES.splitlines()[0])
    import_clicks(project, tmp_path / "a.jsonl")
    (row,) = import_clicks(project, tmp_path / "a.jsonl").rows
    assert (row["lists"], row["there already"]) == (0, 1)


@pytest.mark.parametrize(
    ("name", "text", "problem"),
    [
        ("a.jsonl", '{"query": "bees", "shown": "d1"}', "two lists of ids"),
        ("a.jsonl", '{"query": "a", "shown": ["d"], "clicked": ["e"]}', "not shown"),
        ("a.jsonl", '{"query": " ", "shown": ["d"]}', "a query and the documents"),
        ("a.csv", "list,query,document,clicked\n1,a,d,1\n", "no column position"),
        ("a.csv", TABLE.replace("x9,3", "x9,1"), "each once in a list"),
    ],
)
def test_nothing_comes_in_of_a_file_that_is_wrong(
    project, tmp_path, name, text, problem
):
    (tmp_path / name).write_text(text)
    with pytest.raises(UnreadableFile, match=problem):
        import_clicks(project, tmp_path / name)
    assert read_impressions(project.store) == []
