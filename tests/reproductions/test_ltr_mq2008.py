"""The learners' table: folds by part, nothing chosen on what is asked."""

import json
from dataclasses import replace

import numpy as np
import pytest

from classmark.arrays import rows_from
from classmark.formats.svmlight import JudgedRows, write_letor
from classmark.ltr import RankingSVM
from classmark.ltr.judged import order_measured
from classmark.problems import Mistake
from reproductions import ltr_mq2008 as ltr
from reproductions.ltr_mq2008 import ltr_report

ONLY = ("pointwise SVM", "Ranking SVM", "RSVM-IR")


def part(number, queries=12):
    random = np.random.default_rng(number)
    X = random.normal(size=(queries * 12, 3))
    grades = np.digitize(X[:, 0] + random.normal(size=len(X)), [0.3, 1.5]) * 1.0
    qids = tuple(f"{number}-{row // 12}" for row in range(len(X)))
    return ltr.Part(rows_from(X), grades, qids)


@pytest.fixture(scope="module")
def table():
    return ltr.ltr_mq2008(parts=[part(1), part(2), part(3)], only=ONLY)


def test_every_query_is_asked_once(table):
    assert (table.parts, table.queries, table.pairs) == (3, 36, 432)
    assert [row.method for row in table.rows] == list(ONLY)
    for row in table.rows:
        assert len(row.chosen) == 3
        for measure in ltr.MEASURES:
            low, high = row.intervals[measure]
            assert low <= row.means[measure] <= high
            assert np.mean(row.queries[measure]) == pytest.approx(row.means[measure])


def test_a_part_is_asked_after_the_others_taught(table):
    parts = [part(1), part(2), part(3)]
    row = table.rows[1]
    taught = np.vstack([each.rows.to_scipy().toarray() for each in parts[1:]])
    grades = np.concatenate([each.grades for each in parts[1:]])
    ranker = RankingSVM(**row.chosen[0])
    ranker.fit(taught, grades, [*parts[1].qids, *parts[2].qids])
    scores = ranker.decision_function(parts[0].rows)
    expected = order_measured(scores, parts[0].grades, parts[0].qids, ["map"])["map"]
    assert row.queries["map"][:12] == pytest.approx(expected.tolist())


def test_claims_follow_the_numbers(table):
    said = [claim for claim in table.claims if "RSVM-IR is above" in claim]
    assert len(said) == len(ltr.TOP)
    base, own = table.rows[1], table.rows[2]
    for measure, claim in zip(ltr.TOP, said, strict=True):
        rise = own.means[measure] - base.means[measure]
        assert claim.startswith(f"{measure}, RSVM-IR is above Ranking SVM: ")
        sure = own.chance[measure] < ltr.SURE
        assert ("not surely" in claim) == (not sure)
        assert ("does not hold" in claim) == (rise <= 0)
        assert f"; {rise:+.4f} (" in claim


def test_a_sure_difference_decides(table):
    base, own = table.rows[1], table.rows[2]
    sure = dict.fromkeys(ltr.MEASURES, 0.01)
    for rise, verdict in ((0.1, "holds"), (-0.1, "does not hold")):
        means = {name: value + rise for name, value in base.means.items()}
        queries = {m: [v + rise for v in each] for m, each in base.queries.items()}
        changed = replace(own, means=means, chance=sure, queries=queries)
        assert ltr.claims([base, changed])[0] == (
            f"ndcg@1, RSVM-IR is above Ranking SVM: {verdict}; {rise:+.4f} "
            f"({rise:+.4f} … {rise:+.4f}), p = 0.010"
        )


@pytest.mark.needs("matplotlib")
def test_the_report_is_drawn_and_kept(table, tmp_path):
    report = ltr_report(table)
    assert [row["method"] for row in report.rows] == list(ONLY)
    assert json.loads(json.dumps(report.facts))["queries"] == 36
    report.draw(tmp_path / "plot.svg")
    drawn = (tmp_path / "plot.svg").read_text()
    assert all(name in drawn for name in ONLY)


def test_parts_are_files_of_letor(tmp_path):
    folder = tmp_path / "letor-mq2008"
    folder.mkdir()
    for number in (1, 3):
        own = part(number, queries=2)
        judged = JudgedRows(own.rows, own.grades, own.qids, ("d",) * len(own.qids))
        write_letor(judged, folder / f"S{number}.txt")
    read = ltr.load_parts(tmp_path)
    assert [each.qids[0] for each in read] == ["1-0", "3-0"]
    (folder / "S3.txt").unlink()
    with pytest.raises(Mistake, match=r"holds 1 of S1\.txt … S5\.txt"):
        ltr.load_parts(tmp_path)
