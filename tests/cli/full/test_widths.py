"""What a command prints fits the screen, also where it takes its time."""

import pytest

# Commands of one line need what the commands before them have made.
LONG = [
    ["train", "rebuild", "taxonomy prune --bold"],
    ["evaluate --strategy plain,flat", "evaluate --strategy plain,flat --all"],
    ["tune --dataset library --parameter k1=0.5,1.2 --parameter b=0.3,0.75"],
    [
        "index",
        "rank features --dataset library --to features.letor",
        "rank train --dataset library --C 0.1",
        "rank report",
        "rank report 1",
        "rank evaluate 1 --dataset library",
    ],
    ["screen simulate nature.animals.insects --runs 2"],
    [
        "export notes.jsonl",
        "stream notes.jsonl --learner mmp --learner rocchio",
        "stream notes.jsonl --learner mmp --learner rocchio --all",
    ],
    ["demo --dir . --no-serve"],
]


@pytest.mark.parametrize("lines", LONG, ids=lambda lines: lines[0])
def test_every_line_fits(fits, lines):
    for line in lines:
        fits(line)
