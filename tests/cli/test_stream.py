"""A labelled stream from the command line."""

import json

import pytest


@pytest.fixture
def notes(tmp_path):
    """Forty short notes about two things."""
    pairs = [("a ship at sea", "sea"), ("a cow in the barn", "farm")] * 20
    lines = [
        json.dumps({"id": str(i), "text": text, "labels": [name]})
        for i, (text, name) in enumerate(pairs)
    ]
    path = tmp_path / "notes.jsonl"
    path.write_text("\n".join(lines) + "\n")
    return path


def test_a_file_is_replayed_plotted_and_kept(run, notes, tmp_path):
    code, out, err = run(
        *("stream", notes, "--learner", "mmp", "--learner", "rocchio"),
        *("--loss", 1, "--average", "--json", "out/facts.json"),
    )
    assert (code, err) == (0, "")
    assert "notes.jsonl: ranked first, then learned" in out
    assert "first tenth" in out
    assert "40 documents, 2 categories" in out
    assert (tmp_path / "reports" / "stream.svg").exists()
    facts = json.loads((tmp_path / "out" / "facts.json").read_text())
    assert facts["setting"]["average"] is True
    assert facts["learners"]["mmp"]["second half"]["one_error"] == 0


def test_the_plot_goes_where_it_is_told(run, notes, tmp_path):
    code, out, _ = run("stream", notes, "--learner", "mmp", "--plot", "curves.svg")
    assert code == 0
    assert "plot: curves.svg" in out
    assert (tmp_path / "curves.svg").exists()


def test_the_default_is_the_preference_ranker(run, notes):
    code, out, _ = run("stream", notes, "--revisits", 3, "--order", "random")
    assert code == 0
    assert "plm" in out


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([], "give a FILE, or the name of a collection"),
        (["a.jsonl", "--dataset", "library"], "give a FILE, or the name"),
        (["missing.jsonl"], "missing.jsonl"),
        (["--dataset", "gravity"], "'gravity' is not a known collection"),
        (["a.jsonl", "--learner", "guess"], "learner 'guess' is not known"),
        (["a.jsonl", "--format", "scroll"], "format='scroll' is not known"),
        (["a.jsonl", "--learner", "mmp", "--loss", "7"], "loss is 7"),
        (["a.jsonl", "--json", "facts.txt"], "ends in .json"),
        (["a.jsonl", "--plot", "curves.png"], "curves.png: a plot is SVG: give a file"),
    ],
)
def test_mistakes_are_one_line(run, words, said, tmp_path):
    (tmp_path / "a.jsonl").write_text('{"id": "1", "text": "x", "labels": ["y"]}\n')
    code, out, err = run("stream", *words)
    assert (code, out) == (2, "")
    assert said in err
    assert err.count("\n") == 1


def test_an_empty_file_and_one_without_labels_are_refused(run, tmp_path):
    (tmp_path / "empty.jsonl").write_text("")
    code, _, err = run("stream", "empty.jsonl", "--learner", "mmp")
    assert code == 2
    assert "empty.jsonl" in err
    (tmp_path / "bare.jsonl").write_text('{"id": "1", "text": "x"}\n')
    code, _, err = run("stream", "bare.jsonl", "--learner", "mmp")
    assert code == 2
    assert "none of its 1 documents has a label" in err
