"""Ranking by links from the command line."""

import json

import pytest

ROWS = [
    {"id": "1", "title": "Bees", "links": [["2", "honey"]]},
    {"id": "2", "title": "Honey"},
    {"id": "3", "title": "Tea", "links": ["2", "1"]},
]


def test_the_documents_of_a_project_are_ranked(run, tmp_path):
    (tmp_path / "notes.jsonl").write_text("\n".join(map(json.dumps, ROWS)))
    assert run("init", "web")[0] == 0
    assert run("import", "notes.jsonl", "-p", "web")[0] == 0
    code, out, err = run("pagerank", "-p", "web", "-k", 2)
    assert (code, err) == (0, "")
    assert "Documents of web by links" in out
    assert out.index("Honey") < out.index("Bees")
    assert "Tea" not in out
    code, out, _ = run(
        *("pagerank", "--project", "web", "--json", "--personalise", 3),
        *("--damping", 0.5, "--method", "gauss-seidel"),
    )
    assert code == 0
    assert [row["id"] for row in json.loads(out)] == ["3", "2", "1"]


def test_a_file_of_links_needs_no_project(run, tmp_path):
    (tmp_path / "edges.txt").write_text("a b\nc b\n")
    code, out, err = run("pagerank", "edges.txt", "--json", "--method", "eigen")
    assert (code, err) == (0, "")
    rows = json.loads(out)
    assert [row["id"] for row in rows] == ["b", "a", "c"]
    assert sum(row["probability"] for row in rows) == pytest.approx(1)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([], "classmark.toml"),
        (["missing.txt"], "missing.txt: no such file"),
        (["edges.txt", "--damping", "1"], "damping is 1.0"),
        (["edges.txt", "--method", "guess"], "method='guess' is not known"),
        (["edges.txt", "--personalise", "z"], "no page 'z'"),
        (["edges.txt", "-k", "0"], "k is 0"),
    ],
)
def test_mistakes_are_one_line(run, words, said, tmp_path):
    (tmp_path / "edges.txt").write_text("a b\n")
    code, out, err = run("pagerank", *words)
    assert (code, out) == (2, "")
    assert said in err
    assert err.count("\n") == 1
