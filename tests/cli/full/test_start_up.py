"""Small work loads little: no numba, no scipy, and the same answers to the bit."""

import json
import shutil
import subprocess
import sys

import pytest

from classmark.cli import options
from classmark.solvers.preference_live import LiveDual
from classmark.workbench.project import Project

HEAVY = {
    "numba", "llvmlite", "scipy", "matplotlib", "sklearn", "pandas", "fastapi",
    "jinja2", "uvicorn", "dask", "distributed",
}  # fmt: skip
LINES = [
    "suggest --document {0}",
    "search church tower",
    "decide {0} --assign {2}",
    "undo",
    "place -n 3",
    "like --examples {0},{1}",
]
TABLES = ["queue -k 5", "history"]
JSON = [
    "suggest --document {0} --json",
    "search church tower --explain --json",
    "search church AND tower --model jm --json",
    "search church --feedback rm3 --json",
    "queue --json",
    "place --json",
    "like --examples {0},{1} --json",
    "like --examples {0},{1} --no {3} --method one-class --json",
    "like --examples {0},{1} --no {3} --method precision-recall --json",
]


@pytest.fixture(scope="module")
def small(library, tmp_path_factory):
    """Return the demo's project with an index and vectors, and what to name in it."""
    folder = shutil.copytree(library, tmp_path_factory.mktemp("small") / "library")
    for words in (["index"], ["like", "--examples", "r0001"]):
        subprocess.run(  # noqa: S603
            [sys.executable, "-m", "classmark.cli.main", *words, "-p", str(folder)],
            check=True,
            capture_output=True,
        )
    with Project(folder) as project:
        waiting = [document.id for document in project.store.undecided()][:2]
        first = next(iter(project.store.records()))
        leaf = min(first.labels)
    return folder, (*waiting, leaf, first.id)


@pytest.fixture
def copied(small, tmp_path):
    """Return a function that copies the project."""
    return lambda name: shutil.copytree(small[0], tmp_path / name)


def loaded_by(words, folder):
    """Run a command; return what it imported, by the names of packages."""
    code = (
        "import json, sys\n"
        "from classmark.cli.main import main\n"
        "try: main()\n"
        "except SystemExit as stop: assert not stop.code, stop.code\n"
        "names = sorted({name.partition('.')[0] for name in sys.modules})\n"
        "sys.stderr.write(json.dumps(names))"
    )
    done = subprocess.run(  # noqa: S603
        [sys.executable, "-c", code, *words],
        check=True,
        capture_output=True,
        text=True,
        cwd=folder,
    )
    assert done.stdout
    return set(json.loads(done.stderr))


def test_help_loads_typer_and_nothing_else_of_weight(tmp_path):
    loaded = loaded_by(["--help"], tmp_path)
    assert not loaded & (HEAVY | {"numpy", "rich", "pydantic"})


def test_no_command_loads_what_it_does_not_need(small, copied):
    folder, names = copied("used"), small[1]
    for line in LINES:
        loaded = loaded_by(line.format(*names).split(), folder)
        rich = set() if line.startswith("place") else {"rich"}
        assert not loaded & (HEAVY | rich), line
    for line in TABLES:
        assert not loaded_by(line.split(), folder) & HEAVY, line


@pytest.mark.parametrize("line", JSON)
def test_plain_python_and_machine_code_answer_alike(
    line, small, copied, run, monkeypatch
):
    answers = []
    for plain in (True, False):
        monkeypatch.setattr(options, "is_small", lambda *_, _plain=plain: _plain)
        folder = copied(f"plain-{plain}")
        words = [*line.format(*small[1]).split(), "-p", folder]
        code, out, err = run(*words)
        assert (code, err) == (0, "")
        answers.append(out)
    assert answers[0] == answers[1]
    assert len(answers[0]) > 50


@pytest.mark.parametrize("act", ["assign", "reject"])
def test_plain_python_and_machine_code_learn_alike(
    act, small, copied, run, monkeypatch
):
    monkeypatch.setattr(LiveDual, "revisit_for", lambda live, _: live.revisit(24))
    learned = []
    for plain in (True, False):
        monkeypatch.setattr(options, "is_small", lambda *_, _plain=plain: _plain)
        folder = copied(f"plain-{plain}")
        for document in small[1][:2]:
            said = ("decide", document, f"--{act}", small[1][2], "-p", folder)
            code, _, err = run(*said)
            assert (code, err) == (0, "")
        with Project(folder) as project:
            files = sorted(project.lives.current().iterdir())
        learned.append({file.name: file.read_bytes() for file in files})
    assert learned[0] == learned[1]
    assert len(learned[0]) > 5


def test_the_demo_is_small_work_and_what_is_not(copied, monkeypatch):
    with Project(copied("sized")) as project:
        assert options.is_small(project)
        assert options.is_small(project, project.store.waiting())
        assert not options.is_small(project, 1000)  # scores
        assert not options.is_small(project, text="a" * 200_000)
        monkeypatch.setattr(options, "BYTES", 1000)
        assert not options.is_small(project)


def test_much_to_learn_first_is_not_small_work(copied):
    with Project(copied("behind")) as project:
        assert options.is_small(project)
        shutil.rmtree(project.folder / "live")
        assert not options.is_small(project)  # a model that is not live
        assert options.is_small(project, 0)
        shutil.rmtree(project.folder / "models")
        assert not options.is_small(project)  # all acts are to be learned
