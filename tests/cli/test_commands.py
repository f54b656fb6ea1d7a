"""The command line as its users meet it."""

import json
import resource
import subprocess
import sys

import pytest
import typer
from typer.main import get_command

from classmark.cli.main import OLD_OPTIONS, app
from projects import new_project

ROWS = [
    {"id": "1", "text": "honey in the hive", "labels": ["bees"]},
    {"id": "2", "text": "dough in the oven", "labels": ["bread"]},
    {"id": "3", "text": "a hive of bees", "labels": ["bees"]},
    {"id": "4", "text": "an oven of bread", "labels": ["bread"]},
]


@pytest.fixture
def shelf(tmp_path):
    return new_project(tmp_path / "shelf", ROWS)


def test_the_main_job(run, shelf):
    code, out, _ = run("train", "-p", shelf, "--json")
    assert code == 0
    assert json.loads(out)[0]["documents"] == 4
    code, out, _ = run("suggest", "-p", shelf, "--text", "bees", "--json")
    found = json.loads(out)
    assert code == 0
    assert found[0]["category"] == "bees"
    assert "bees" in found[0]["favour"]
    assert "bees" in found[1]["against"]
    code, out, _ = run("suggest", "-p", shelf, "--text", "bees")
    assert "1. bees" in out
    assert "against:" in out


def test_evaluate_prints_measures_and_the_plots_file(run, shelf):
    code, out, _ = run("evaluate", "-p", shelf, "--folds", "2", "--json")
    found = json.loads(out)
    assert code == 0
    assert {"one_error", "average_precision", "coverage"} <= found["rows"][0].keys()
    assert found["plot"].endswith("evaluation.svg")
    row = found["rows"][0]
    assert row["looked_at"] == row["coverage"] + 1
    assert {"micro_f1", "macro_f1", "seconds", "loss1"} <= row.keys()


def test_evaluate_shows_what_people_decide_by_and_the_rest_with_all(run, shelf):
    words = ("evaluate", "-p", shelf, "--folds", "2", "--learner", "rocchio")
    brief, full = run(*words)[1], run(*words, "--all")[1]
    assert "the top  precision    all are found  micro-F1  macro-F1  seconds" in brief
    assert "9 more measures: --all or --json" in brief
    assert "loss2" not in brief
    assert "loss2" in full
    assert "coverage: looked at until all are found, less 1" in full
    assert "more measures" not in full


@pytest.mark.parametrize(
    "words",
    [
        ["info"],
        ["info", "--check"],
        ["taxonomy", "show"],
        ["info", "--json"],
        ["taxonomy", "show", "--json"],
    ],
)
def test_what_only_looks_succeeds(run, shelf, words):
    code, out, err = run(*words, "-p", shelf)
    assert (code, err) == (0, "")
    assert out


@pytest.mark.parametrize(
    ("language", "analyzer"),
    [
        ("finnish", "words|lower|stop(finnish)|snowball(finnish)"),
        ("other", "words|lower"),
    ],
)
def test_a_project_has_the_analyzer_of_its_language(run, tmp_path, language, analyzer):
    assert run("init", tmp_path / "new", "--language", language)[0] == 0
    assert f'analyzer = "{analyzer}"' in (tmp_path / "new/classmark.toml").read_text()


def test_taxonomy_in_and_out(run, shelf, tmp_path):
    tree = tmp_path / "tree.csv"
    tree.write_text("id,parent,label\nall,,All\nbees,all,Bees\n")
    assert run("taxonomy", "import", tree, "-p", shelf)[0] == 0
    assert run("taxonomy", "export", tmp_path / "o.csv", "-p", shelf)[0] == 0
    assert "Bees" in (tmp_path / "o.csv").read_text()
    assert run("export", tmp_path / "o.jsonl", "-p", shelf)[0] == 0


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["info", "-p", "nowhere"], "classmark init"),
        (["train", "--learner", "oracle"], "rocchio, perceptron"),
        (["suggest", "--text", "bees"], "classmark train"),
        (["suggest"], "name one text"),
        (["import", "nowhere.jsonl"], "nowhere.jsonl"),
        (["evaluate", "--folds", "99"], "folds is 99"),
        (["init", "."], "not empty"),
        (["init", "new", "--analyzer", "nonsense"], "nonsense"),
        (
            ["init", "new", "--language", "finish"],
            "'finish' has no stemmer: choose one",
        ),
        (["init", "new", "--language", "irish", "--analyzer", "words|lower"], "one of"),
        (["data", "get", "no-such-set"], "no-such-set"),
        (["export", "out.doc"], "no export format"),
        (["taxonomy", "show", "zzz"], "zzz"),
    ],
)
def test_a_users_mistake_is_one_line_and_exit_code_2(
    run, shelf, monkeypatch, words, said
):
    monkeypatch.chdir(shelf)
    code, out, err = run(*words)
    assert (code, out) == (2, "")
    assert err.startswith("classmark: ")
    assert err.count("\n") == 1
    assert said in err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([], "Missing command"),
        (["unknown"], "No such command 'unknown'"),
        (["train", "--no-such-option"], "--no-such-option"),
        (["data"], "data --help)"),
        (["evaluate", "--folds", "many"], "--folds"),
    ],
)
def test_wrong_words_are_one_line_and_exit_code_2_too(run, words, said):
    code, out, err = run(*words)
    assert (code, out) == (2, "")
    assert err.count("\n") == 1
    assert said in err


def test_help_and_version_are_no_mistake(run):
    assert run("--help")[0] == 0
    assert run("train", "--help")[0] == 0
    assert run("--version")[1].startswith("classmark 0.")


def cpu_seconds(code):
    """CPU time of a fresh interpreter, the least of three."""
    spent = []
    for _ in range(3):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run([sys.executable, "-c", code], check=True, capture_output=True)  # noqa: S603
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        spent.append(
            after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime
        )
    return min(spent)


def test_import_and_help_are_light():
    numpy = cpu_seconds("import numpy")
    assert cpu_seconds("import numpy, classmark") - numpy <= 0.15
    helped = "import sys; sys.argv = ['classmark', '--help']\n"
    helped += "from classmark.cli.main import main\n"
    helped += "try: main()\nexcept SystemExit: pass"
    assert cpu_seconds(helped) <= 0.4


def test_help_loads_nothing_heavy():
    code = (
        "import sys; from classmark.cli.main import app; import classmark\n"
        "heavy = {'numpy', 'scipy', 'numba', 'matplotlib', 'sklearn'}\n"
        "sys.exit(bool(heavy & set(sys.modules)))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0  # noqa: S603


def test_old_options_name_options_that_are_there():
    for path, options in OLD_OPTIONS.items():
        command = get_command(app)
        for name in path.split():
            command = command.commands[name]
        params = command.get_params(typer.Context(command))
        present = {option for param in params for option in param.opts}
        assert set(options.values()) <= present
        assert not options.keys() & present


def test_an_old_option_works_with_a_warning_of_one_line(run, shelf):
    code, _, err = run("train", "-p", shelf, "--strategy", "plain", "--cost", "dis")
    assert code == 0, err
    new = "the old name goes with version 0.2"
    assert err == f"classmark: classmark train: --cost is now --loss; {new}\n"
    code, out, err = run("suggest", "-p", shelf, "--text", "bees", "--top=1")
    assert code == 0
    assert "2. " not in out
    assert err == f"classmark: classmark suggest: --top is now -k; {new}\n"
