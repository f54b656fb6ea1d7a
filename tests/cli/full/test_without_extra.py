"""Words alone are the same to the bit with the extras of meaning and without them."""

import json
import os
import subprocess
import sys
from hashlib import sha256

import pytest

from projects import new_project, parish

PACKAGES = {"onnxruntime", "safetensors", "tokenizers", "wordllama"}
COMMANDS = (
    ["train", "--json"],
    ["suggest", "--text", "smoke over the hive", "--json"],
    ["suggest", "--document", "new-0", "--json"],
    ["like", "--examples", "bees-0", "--json"],
    ["index"],
    ["search", "honey in the comb", "--json"],
    ["evaluate", "--json"],
)
CALLED = """
import json, sys
from importlib.abc import MetaPathFinder


class Absent(MetaPathFinder):
    def find_spec(self, name, *_):
        if name.partition(".")[0] in packages:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)


packages, blocked, commands = json.loads(sys.argv[1])
if blocked:
    sys.meta_path.insert(0, Absent())
from classmark.cli.main import main

for command in commands:
    sys.argv = ["classmark", *command]
    try:
        main()
    except SystemExit as stop:
        assert not stop.code, command
assert not {name.partition(".")[0] for name in sys.modules} & set(packages)
"""


def outcome(folder, *, blocked):
    """What the commands print, and digests of the arrays of the model and its rows."""
    commands = [[*command, "--project", str(folder)] for command in COMMANDS]
    wish = json.dumps([sorted(PACKAGES), blocked, commands])
    done = subprocess.run(  # noqa: S603 - this Python, and our words
        [sys.executable, "-c", CALLED, wish],
        cwd=folder,
        env=os.environ | {"OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert not done.returncode, done.stderr
    arrays = sorted(
        path for part in ("models", "like") for path in folder.glob(f"{part}/**/*.npy")
    )
    assert arrays
    digests = {
        str(path.relative_to(folder)): sha256(path.read_bytes()).hexdigest()
        for path in arrays
    }
    lines = [line for line in done.stdout.splitlines() if "second" not in line]
    return [line.replace(str(folder), "FOLDER") for line in lines], digests


@pytest.mark.needs("tokenizers")
def test_without_the_extras_words_give_the_same_to_the_bit(tmp_path):
    notes = parish(decided=True, waiting=True)
    first, second = (
        outcome(new_project(tmp_path / name, notes, ["bees", "bread"]), blocked=blocked)
        for name, blocked in (("with", False), ("without", True))
    )
    assert first == second
    assert any("probability" in line for line in first[0])
