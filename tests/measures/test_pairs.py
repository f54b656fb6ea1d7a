"""Preference pairs as judgments of a run."""

import numpy as np
import pytest

from classmark.measures import MEASURES, preference_pairs, retrieval_per_query
from classmark.measures import retrieval as measure
from classmark.problems import Mistake
from oracles.measures import preference

KINDS = ("PPref", "RPref", "WPref")


def made(seed):
    """Runs and judged pairs of ten queries; one is not in the run, one has no pair."""
    rng = np.random.default_rng(seed)
    names = [f"d{i}" for i in range(15)]
    run, pairs = {}, {}
    for q in range(10):
        found = rng.choice(names, int(rng.integers(0, 15)), replace=False).tolist()
        run[f"q{q}"] = {
            d: float(s) for d, s in zip(found, rng.random(15), strict=False)
        }
        chosen = [rng.choice(names, 2, replace=False).tolist() for _ in range(12)]
        pairs[f"q{q}"] = [tuple(pair) for pair in chosen]
    del run["q5"]
    pairs["q7"] = []
    return run, pairs


@pytest.mark.parametrize("cutoff", [None, 1, 4])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", range(5))
def test_measures_of_pairs_equal_counting_pair_by_pair(seed, kind, cutoff):
    run, pairs = made(seed)
    name = kind if cutoff is None else f"{kind}@{cutoff}"
    values = retrieval_per_query(run, pairs, [name])[name]
    expected = {q: preference(run.get(q, {}), pairs[q], kind, cutoff) for q in pairs}
    assert values == pytest.approx(expected)


def test_what_was_not_retrieved_stands_below_all_that_was():
    run = {"q": {"a": 2.0, "b": 1.0}}
    values = {
        pair: measure(run, {"q": [pair]}, ["ppref", "rpref"])
        for pair in [("a", "z"), ("z", "a"), ("y", "z")]
    }
    assert values["a", "z"] == {"ppref": 1.0, "rpref": 1.0}
    assert values["z", "a"] == {"ppref": 0.0, "rpref": 0.0}
    both = measure(run, {"q": [("a", "b"), ("y", "z")]}, ["ppref", "rpref"])
    assert both == {"ppref": 1.0, "rpref": 0.5}  # neither retrieved: not ordered


def test_a_perfect_order_has_all_pairs_of_its_grades_right():
    qrels = {"q": {"a": 3, "b": 2, "c": 2, "d": 0}}
    run = {"q": {"a": 9.0, "c": 8.0, "b": 7.0, "d": 1.0}}
    pairs = preference_pairs(qrels)
    assert len(pairs["q"]) == 5
    assert measure(run, pairs, KINDS) == dict.fromkeys(KINDS, 1.0)


def test_measures_of_pairs_are_declared_like_the_others():
    for name in KINDS:
        assert MEASURES[name].pairs
        assert MEASURES[name].cites == "Carterette08"


@pytest.mark.parametrize(
    ("qrels", "name", "problem"),
    [
        ({"q": [("a", "b")]}, "map", "preference pairs: use ppref"),
        ({"q": {"a": 1}}, "ppref", "preference_pairs"),
        ({"q": [("a", "b")], "r": {"a": 1}}, "ppref", "give one kind"),
        ({"q": [("a", "a")]}, "ppref", "over itself"),
    ],
)
def test_kinds_of_judgments_are_not_mixed(qrels, name, problem):
    with pytest.raises(Mistake, match=problem):
        measure({"q": {"a": 1.0}}, qrels, [name])
