"""Whatever a command prints fits the screen, on the demo's project."""

import pytest

# Commands of one line need what the commands before them have made.
QUICK = [
    ["info", "data list", "progress", "agreement", "pagerank", "rank report"],
    ["taxonomy show", "taxonomy show --all", "taxonomy report"],
    [
        "taxonomy propose nature.animals.insects --clusters 2",
        "taxonomy export tree.csv",
    ],
    ["export notes.jsonl", "import notes.jsonl"],
    ["evaluate --learner rocchio --learner perceptron"],
    ["evaluate --learner rocchio --learner perceptron --all"],
    ["suggest --text bees", "place", "queue", "queue --group"],
    ["history", "history --all"],
    ["index", "index check", "search bees --explain"],
    ["like --category nature.animals.insects", "like --list", "like --explain r0001"],
    [
        "screen start --category nature.animals.insects",
        "screen next -k 5",
        "screen status",
        "screen status --all",
    ],
    ["users list .", "tokens list .", "backup . all.zip", "restore all.zip again"],
]


@pytest.mark.parametrize("lines", QUICK, ids=lambda lines: lines[0])
def test_every_line_fits(fits, lines):
    for line in lines:
        fits(line)
