"""Models tuned on half of the queries and reported on the other."""

import pytest

from classmark.datasets import load
from classmark.datasets.dataset import Dataset
from classmark.evaluation.figures import sweep_curve
from classmark.evaluation.retrieval import (
    best_of,
    grid_of,
    indexed,
    judged_queries,
    measure,
    run_queries,
    settings_of,
    sweep,
)
from classmark.index.feedback import RM3
from classmark.index.index import Index
from classmark.index.models import MODELS, resolve
from classmark.measures import retrieval
from classmark.problems import Mistake
from reproductions.report import dot_panels
from reproductions.retrieval_models import (
    GRIDS,
    LONGER,
    MEASURES,
    Row,
    claims,
    compare,
    models_report,
)


@pytest.fixture(scope="module")
def library():
    with indexed(load("library")) as asked:
        yield asked


def test_halves_are_disjoint_and_the_same_for_a_seed(library):
    one, other = library.halves(3)
    assert set(one.queries) | set(other.queries) == set(library.queries)
    assert not set(one.queries) & set(other.queries)
    assert len(other.queries) - len(one.queries) in (0, 1)
    assert list(library.halves(3)[0].queries) == list(one.queries)
    assert list(library.halves(4)[0].queries) != list(one.queries)
    assert one.qrels.keys() == one.queries.keys()


def test_a_run_is_what_the_searcher_answers(library):
    run = run_queries(library, ("jm", {"lambda": 0.3}), 5)
    for id_, terms in library.queries.items():
        hits = library.searcher.search(terms, 5, "jm", **{"lambda": 0.3})
        assert list(run[id_].items()) == [(hit.id, hit.score) for hit in hits]
    values = measure(library, run, MEASURES)
    for name, mean in retrieval(run, library.qrels, MEASURES).items():
        assert values[name].mean() == pytest.approx(mean)
    longer = run_queries(library, ("bm25", {}), feedback=RM3(1.0, 3, 5))
    plain = run_queries(library, ("bm25", {}))
    assert {q: list(found) for q, found in longer.items()} == {
        q: list(found) for q, found in plain.items()
    }


def test_several_fields_are_run_too(tmp_path):
    index = Index.build(
        tmp_path / "i",
        [{"id": "a", "title": "bee", "body": "hive"}, {"id": "b", "title": "tea"}],
    )
    asked = judged_queries(index, {"q": "bees", "r": "?"}, {"q": {"a": 1}})
    assert list(run_queries(asked, ("bm25", {}))["q"]) == ["a"]
    with pytest.raises(Mistake, match="none of 1 queries has a judgment"):
        judged_queries(index, {"q": "bees"}, {"r": {"a": 1}})
    with (
        pytest.raises(Mistake, match="has no judged queries"),
        indexed(Dataset("empty")),
    ):
        pass


def test_grids_are_read_and_swept(library):
    assert grid_of(["b=0:0.3:0.1"]) == {"b": [0.0, 0.1, 0.2, 0.3]}
    assert settings_of({"a": [1, 2], "b": [3]}) == [{"a": 1, "b": 3}, {"a": 2, "b": 3}]
    assert settings_of({}) == [{}]
    trials = sweep(library, "bm25", settings_of(grid_of(["b=0,0.5"])), "ndcg@10")
    assert [trial.parameters["b"] for trial in trials] == [0.0, 0.5]
    fixed = sweep(library, "bm25", [{"b": 0.5}], "ndcg@10", fixed={"k1": 1.2})
    assert fixed[0].value == trials[1].value
    assert best_of(trials).value == max(trial.value for trial in trials)
    for text, said in (
        ("b", "name=first:last:step"),
        ("b=x", "give numbers"),
        ("b=0:1", "first:last:step"),
        ("b=0:1:0", "a step above 0"),
        ("b=0:1:1e-9", "over 2000 values"),
    ):
        with pytest.raises(Mistake, match=said):
            grid_of([text])
    with pytest.raises(Mistake, match="give each once"):
        grid_of(["b=1", "b=2"])


def test_every_model_is_tuned_and_reported():
    small = {"bm25": {"k1": (0.4, 1.2)}, "jm": {"lambda": (0.1, 0.5)}}
    longer = {("jm", "rm3"): {"terms": (5, 10)}}
    table = compare([load("library")], 0, small, longer)
    assert [row.method for row in table.rows] == [*MODELS, "jm, rm3"]
    rows = {row.method: row for row in table.rows}
    assert rows["bm25"].parameters["k1"] in (0.4, 1.2)
    assert rows["jm, rm3"].parameters["terms"] in (5, 10)
    assert 0 < rows["jm, rm3"].gained <= 1
    assert rows["jm"].gained is None
    assert rows["bm25"].chance == dict.fromkeys(MEASURES, 1.0)
    assert all(0 < row.measures["map"] < 1 for row in table.rows)
    assert table.sizes["library"].tuned == 18
    report = models_report(table)
    assert report.rows[0]["method"] == "bm25"
    assert report.rows[0]["library map"] == rows["bm25"].measures["map"]
    assert "tuned on 18 queries" in report.note


def test_grids_are_within_what_models_take():
    for model, grid in GRIDS.items():
        for setting in settings_of(grid):
            resolve(model, setting)
    assert {model for model, _ in LONGER} <= set(MODELS)


def row(method, value, chance=0.01, tuned=0.5):
    measures = dict.fromkeys(MEASURES, value)
    chances = dict.fromkeys(MEASURES, chance)
    queries = {key: [value - 0.1, value + 0.1] for key in MEASURES}
    return Row("c", method, {}, tuned, measures, chances, queries, chance)


def test_claims_name_the_best_and_what_feedback_changes():
    said = claims([row("bm25", 0.3), row("jm", 0.4), row("bm25, rm3", 0.5)])
    assert said[0] == (
        "c, map: no model without feedback is surely above tuned bm25: does not hold; "
        "jm is best, 0.4000 and 0.3000, +0.1000 (+0.1000 … +0.1000), p = 0.010 "
        "corrected for 1 models"
    )
    assert said[3] == (
        "c, map: feedback by rm3 lifts bm25: holds; 0.5000 and 0.3000, +0.2000 "
        "(+0.2000 … +0.2000), p = 0.010"
    )
    said = claims([row("bm25", 0.3), row("jm", 0.31, 0.5), row("bm25, rm3", 0.2, 0.1)])
    assert ": holds; jm is best" in said[1]
    assert "p = 0.500 corrected for 1 models" in said[1]
    assert "lifts bm25: does not hold, not surely; 0.2000 and" in said[3]
    three = [row("bm25", 0.3), row("jm", 0.4, 0.03), row("kl", 0.1)]
    assert "holds; jm is best" in claims(three)[0]
    assert "p = 0.060 corrected for 2 models" in claims(three)[0]
    sure = claims([row("bm25", 0.3), row("bm25, rm3", 0.4, 1e-4)])
    assert sure[3].endswith("p < 0.001")
    assert sure[0].endswith("surely above tuned bm25: holds; it is best itself, 0.3000")


def test_the_model_of_the_tuned_half_is_followed_to_the_other():
    rows = [row("bm25", 0.3), row("jm", 0.2, 0.04, tuned=0.6), row("kl", 0.4)]
    assert claims(rows)[2] == (
        "c, map: the best model of the half tuned on is above bm25: does not hold; jm, "
        "0.2000 and 0.3000, -0.1000 (-0.1000 … -0.1000), p = 0.040"
    )
    assert claims([row("bm25", 0.3)])[2].endswith("does not hold; it is bm25 itself")


def test_a_sweep_is_drawn(tmp_path):
    lines = {"k1 = 1": ([0, 0.5, 1], [0.1, 0.3, 0.2]), "k1 = 2": ([0, 1], [0.1, 0.1])}
    sweep_curve(lines, tmp_path / "a.svg", "A sweep", ("b", "map"))
    assert "k1 = 2" in (tmp_path / "a.svg").read_text()


@pytest.mark.needs("matplotlib")
def test_dots_are_drawn(tmp_path):
    panels = {"x": {"bm25": 0.3, "jm": 0.2}, "y": {"bm25": 0.1, "jm": 0.2}}
    dot_panels(panels, tmp_path / "b.svg", "Dots", "bm25")
    assert "Dots" in (tmp_path / "b.svg").read_text()


def test_cacm_without_a_sweep(data):
    """The whole reproduction takes minutes; the defaults on one collection do not."""
    table = compare([load("cacm", data)], grids={}, longer={})
    found = {r.method: r.measures["map"] for r in table.rows}
    assert found["bm25"] > 0.3 > found["tf"]
    assert found["kl"] == pytest.approx(found["dirichlet"])
