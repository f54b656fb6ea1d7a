"""Every cell of the tutorials runs, in order, and what it claims holds."""

import json
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[2] / "docs" / "tutorials"
NOTEBOOKS = sorted(FOLDER.glob("*.ipynb"))


def test_there_is_one_for_each_job():
    assert [path.stem for path in NOTEBOOKS] == ["classify", "screen", "search"]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_every_cell_runs(path):
    notebook = json.loads(path.read_text())
    assert notebook["nbformat"] == 4
    names: dict[str, object] = {"__name__": "__main__"}
    for number, cell in enumerate(notebook["cells"], start=1):
        if cell["cell_type"] == "code":
            code = compile("".join(cell["source"]), f"{path.name}, {number}", "exec")
            exec(code, names)  # noqa: S102 (our own tutorial)
            assert not cell["outputs"], "outputs are not stored: they go out of date"
