"""Tables of the experiments, computed whole on the embedded library."""

import json

from classmark.datasets import load
from classmark.ltr.training import RankerRecipe, learner_of
from reproductions import clicks
from reproductions.clicks import PolicyTable as Policies
from reproductions.clicks import clicks_report
from reproductions.ltr_cranfield import (
    ALONE,
    BEST,
    LEARNED,
    LONGER,
    ONE_TEXT,
    compare_on,
    service_report,
)


def test_a_learned_ranker_beats_the_best_single_model_on_the_library(tmp_path):
    learner = RankerRecipe("ranking-svm", learner_of("ranking-svm").make, (0.001,))
    table = compare_on([load("library")], learner, seeds=(0,))
    rows = {row.method: row for row in table.rows}
    assert set(rows) == {LEARNED, BEST, ONE_TEXT, LONGER, ALONE}
    assert table.sizes == {"library": (18, 18)}
    for key in ("ndcg@10", "map"):
        assert rows[LEARNED].measures[key] > rows[BEST].measures[key]
        assert 0.0 < rows[BEST].chance[key] <= 1.0
        assert rows[LEARNED].measures[key] > rows[ONE_TEXT].measures[key]
    assert len(table.claims) == 8
    report = service_report(table)
    assert [row["order"] for row in report.rows] == list(rows)
    report.draw(tmp_path / "plot.svg")
    assert "learned without feedback" in (tmp_path / "plot.svg").read_text()


def test_the_whole_table_on_the_embedded_corpus(tmp_path):
    table = clicks.simulated([load("library")], (3_000, 6_000), ("bm25",), 1)
    assert len(table.rows) == 3 + 5 * 3
    assert all(len(row.ndcg) == 2 for row in table.rows)
    assert all(0 <= value <= 1 for row in table.rows for value in row.ndcg)
    report = clicks_report(table, Policies([], []))
    assert report.rows[0]["method"] == clicks.SERVICE
    assert len(report.rows[1]["library, bm25"].split()) == 2
    assert any("from clicks is surely above it: " in claim for claim in report.claims)
    assert any("truth is above in service: " in claim for claim in report.claims)
    json.dumps(report.facts)
    report.draw(tmp_path / "clicks.svg")
    assert "skip-above" in (tmp_path / "clicks.svg").read_text()
