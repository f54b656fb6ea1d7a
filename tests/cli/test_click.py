"""Searches that are logged, and clicks on them, from the command line."""

import json
import re

import pytest

from projects import new_project

ROWS = [
    {"id": "n1", "title": "Bees", "body": "They hum."},
    {"id": "n2", "title": "Honey", "body": "Made by bees, at home."},
]


@pytest.fixture
def web(run, tmp_path):
    new_project(tmp_path / "web", ROWS, indexed=True)
    return run


def test_nothing_is_logged_unless_it_is_asked_for(web, tmp_path):
    assert "logged" not in web("search", "bees", "-p", "web")[1]
    code, _, err = web("click", 1, "n1", "-p", "web")
    assert code == 2
    assert "there is no impression 1" in err
    settings = tmp_path / "web" / "classmark.toml"
    settings.write_text(settings.read_text().replace('log = "no"', 'log = "named"'))
    assert "logged: classmark click 1 ID" in web("search", "bees", "-p", "web")[1]
    assert "logged" not in web("search", "bees", "-p", "web", "--no-log")[1]
    assert "logged" not in web("search", "zebra", "-p", "web")[1]


def test_a_search_is_logged_and_clicked(web):
    code, out, _ = web("search", "bees", "-p", "web", "--log")
    assert code == 0
    number = re.search(r"classmark click (\d+) ID", out)[1]
    code, out, _ = web("click", number, "n2", "-p", "web")
    assert (code, out) == (0, f"n2, position 2, was opened from impression {number}\n")
    code, out, _ = web("click", number, "1", "-p", "web", "--json")
    assert json.loads(out) == {
        "impression": int(number),
        "document": "n1",
        "position": 1,
    }
    assert "there is no impression" in web("click", 10**30, "n1", "-p", "web")[2]
    assert "did not show 'n9'" in web("click", number, "n9", "-p", "web")[2]
    rows = json.loads(web("search", "bees", "-p", "web", "--log", "--json")[1])
    assert {row["impression"] for row in rows} == {int(number) + 1}
    rows = json.loads(web("search", "bees", "-p", "web", "--json")[1])
    assert "impression" not in rows[0]


def test_an_index_of_a_file_has_no_log(web, tmp_path):
    (tmp_path / "notes.jsonl").write_text("\n".join(map(json.dumps, ROWS)))
    assert web("index", "notes.jsonl", "--to", "notes")[0] == 0
    code, _, err = web("search", "bees", "--index", "notes", "--log")
    assert code == 2
    assert "--log: an index has no log" in err
