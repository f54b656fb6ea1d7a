import json
from pathlib import Path

import pytest

from classmark.measures import ranking_error
from classmark.problems import Mistake

GOLDEN = Path(__file__).parent.parent / "golden" / "measures.json"


def test_figure_2_of_the_paper():
    golden = json.loads(GOLDEN.read_text())["label_ranking_figure_2"]
    edges = [(init - 1, term - 1) for init, term in golden["edges"]]
    scores = [5.0, 4.0, 3.0, 2.0, 1.0]
    groups = {
        "disagreement": [[edge] for edge in edges],
        "domination": [
            [edge for edge in edges if edge[0] == label]
            for label in sorted({edge[0] for edge in edges})
        ],
        "dominated": [
            [edge for edge in edges if edge[1] == label]
            for label in sorted({edge[1] for edge in edges})
        ],
    }
    for name, group in groups.items():
        wrong, total = golden[name]
        assert len(group) == total
        assert ranking_error(scores, group) == wrong / total
    assert ranking_error(scores, [edges]) == 1
    assert ranking_error(scores, []) == 0


def test_a_tie_violates():
    assert ranking_error([1.0, 1.0], [[(0, 1)]]) == 1


def test_mistakes_are_named():
    with pytest.raises(Mistake, match=r"group 1: edge \(0, 7\).*between 0 and 1"):
        ranking_error([1.0, 2.0], [[(0, 1)], [(1, 0), (0, 7)]])
    with pytest.raises(Mistake, match=r"edge \(1, 1\): give two different labels"):
        ranking_error([1.0, 2.0], [[(1, 1)]])
    with pytest.raises(Mistake, match="group 0 has no edge"):
        ranking_error([1.0, 2.0], [[]])
    with pytest.raises(Mistake, match="give the scores of one document"):
        ranking_error([[1.0, 2.0]], [[(0, 1)]])
