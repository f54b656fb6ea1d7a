"""What the README shows, runs."""

import re
from pathlib import Path

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text()
LEARNING = (ROOT / "docs" / "learning.md").read_text()


def test_the_python_examples_run_and_say_what_they_should(capsys):
    blocks = re.findall(r"```python\n(.*?)```", README, flags=re.DOTALL)
    assert len(blocks) == 3
    names = {}
    for block in blocks:
        exec(compile(block, "README.md", "exec"), names)  # noqa: S102, our own words
    wrong, similar, found = capsys.readouterr().out.strip().split("\n")
    assert 5 <= int(re.search(r"(\d+)%", wrong)[1]) <= 30
    assert int(similar.split()[0]) >= 7
    assert "ndcg@10" in found


def test_the_manual_of_learning_runs(capsys):
    (block,) = re.findall(r"```python\n(.*?)```", LEARNING, flags=re.DOTALL)
    exec(compile(block, "learning.md", "exec"), {})  # noqa: S102, our own words
    assert capsys.readouterr().out.count("'") == 6


def test_every_command_shown_exists():
    from typer.main import get_command

    from classmark.cli.main import app

    pages = README + LEARNING
    shown = set(re.findall(r"^classmark (\w+)", pages, flags=re.MULTILINE))
    known = set(get_command(app).commands)
    assert shown
    assert shown <= known
