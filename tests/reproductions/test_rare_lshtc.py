"""Re-ranking beside its rivals: what is counted, claimed and drawn."""

import json
from dataclasses import replace

import numpy as np
import pytest

from classmark.arrays import rows_from
from classmark.datasets import Dataset, DatasetPart
from classmark.evaluation import figures
from classmark.problems import Mistake
from classmark.taxonomy.tree import Taxonomy
from reproductions import rare_lshtc as rare
from reproductions import tree_sets as sets
from reproductions.rare_lshtc import rare_report
from reproductions.tree_sets import HierarchicalSet, hierarchical_set

SIZES = {"a": 60, "b": 25, "c": 8, "d": 4}
TREE = Taxonomy([("r", "left"), ("r", "right"), *zip(("left",) * 2, "ab", strict=True),
                 *zip(("right",) * 2, "cd", strict=True)])  # fmt: skip


def small(name="lshtc1-dryrun", seed=0):
    random = np.random.default_rng(seed)
    means = dict(zip(SIZES, random.normal(size=(4, 12)), strict=True))
    y = [[key] for key, size in SIZES.items() for _ in range(size)]
    truth = [[key] for key, size in SIZES.items() for _ in range(size // 2)]
    rows, asked = (
        rows_from(
            np.array([means[own[0]] for own in names])
            + 1.6 * random.normal(size=(len(names), 12))
        )
        for names in (y, truth)
    )
    return HierarchicalSet(name, TREE, rows, y, asked, truth)


@pytest.fixture(scope="module")
def table():
    return rare.rare_lshtc(sets=[small(), small("other", 1)])


def test_every_method_answers_on_every_collection(table):
    assert [(row.collection, row.method) for row in table.rows] == [
        (name, method)
        for name in ("lshtc1-dryrun", "other")
        for method in (rare.CS, rare.HR, rare.FIXED, rare.CHOSEN)
    ]
    for row in table.rows:
        assert sum(row.counts) == 48
        assert row.measures["detected"] == len(row.counts)
        assert 0 < row.measures["B(Acc)"] <= 1
        assert bool(row.paper) == (
            row.collection == "lshtc1-dryrun" and row.method != rare.CHOSEN
        )
    assert table.rows[0].measures["time"] == 1.0
    assert table.rows[0].again is None
    assert table.rows[2].limits == (0.1, 2.0)
    assert table.sizes["other"].categories == 4
    assert table.sizes["other"].counts == [30, 12, 4, 2]


def test_limits_are_those_of_the_row(table):
    here, (fixed, chosen) = small("other", 1), table.rows[6:8]
    assert fixed.limits != chosen.limits
    for row in (fixed, chosen):
        base = rare.CrammerSingerSVM(tol=rare.TOL)
        ranker = rare.RareCategoryReranker(base, *row.limits).fit(here.rows, here.y)
        ranker.predict(here.asked)
        assert row.again == ranker.repredicted_
    assert fixed.again != chosen.again


def test_one_label_a_document_makes_micro_f1_the_accuracy(table):
    here = small()
    predicted = rare.CrammerSingerSVM(tol=rare.TOL).fit(here.rows, here.y)
    hits = [
        own in true
        for own, true in zip(predicted.predict(here.asked), here.truth, strict=True)
    ]
    assert table.rows[0].measures["micro-F1"] == pytest.approx(np.mean(hits))


def test_claims_follow_the_numbers(table):
    own, other = table.rows[2], table.rows[0]
    high = {"micro-F1": 0.9, "macro-F1": 0.1, "B(Acc)": 0.8, "detected": 3.0, "time": 1}
    low = {"micro-F1": 0.5, "macro-F1": 0.5, "B(Acc)": 0.7, "detected": 4.0, "time": 1}
    chance = {rare.CS: (0.001, 0.5), rare.HR: (1.0, 1.0)}
    same = dict.fromkeys(rare.KEYS[:4], (0.1, 0.2))
    apart = {rare.CS: same, rare.HR: same}
    rows = [
        replace(other, measures=low),
        replace(table.rows[1], measures=low),
        replace(own, measures=high, chance=chance, apart=apart, again=0.125),
    ]
    said = rare.claims(rows)
    where, at = "re-ranking is above CS-SVM in", "(lshtc1-dryrun"
    assert said[:4] == [
        (
            f"{where} micro-F1: holds on 1 of 1, surely on 1 {at} 0.9000 and 0.5000, "
            "+0.4000 (+0.1000 … +0.2000), p = 0.001)"
        ),
        (
            f"{where} macro-F1: holds on 0 of 1, surely on 0 {at} 0.1000 and 0.5000, "
            "-0.4000 (+0.1000 … +0.2000), p = 0.500)"
        ),
        (
            f"{where} B(Acc): holds on 1 of 1, surely on 1 {at} 0.8000 and 0.7000, "
            "+0.1000 (+0.1000 … +0.2000))"
        ),
        f"{where} detected: holds on 0 of 1, surely on 0 {at} 3 and 4, -1 (+0 … +0))",
    ]
    assert "(Δ = 0.1, R = 2) asks about 10 % again: holds; 12.5% (" in said[-2]
    assert said[-1].endswith(": holds; 1.00 times (1.00 … 1.00): lshtc1-dryrun 1.0")


def test_intervals_are_around_the_differences(table):
    rows = {row.method: row for row in table.rows if row.collection == "other"}
    own, other = rows[rare.FIXED], rows[rare.CS]
    for key in rare.KEYS[:4]:
        low, high = own.apart[rare.CS][key]
        assert low <= own.measures[key] - other.measures[key] <= high


def test_what_is_drawn_again_adds_up_to_the_measures():
    """Each category its own block of documents: the mean of the draws is the sum."""
    truth = rare.numbered(list("aabbcd"), list("abcd"))
    own = rare.numbered(list("aabbcc"), list("abcd"))
    other = rare.numbered(list("aaaaaa"), list("abcd"))
    found = rare.intervals(truth, own, other, np.array([2, 2, 1, 1]))
    low, high = found["macro-F1"]
    assert low <= (1 + 1 + 2 / 3) / 4 - 0.5 / 4 <= high
    mean = {key: sum(pair) / 2 for key, pair in found.items()}
    assert mean["micro-F1"] == pytest.approx(5 / 6 - 2 / 6, abs=0.1)
    assert mean["detected"] == pytest.approx(2.0, abs=0.5)
    assert mean["B(Acc)"] == pytest.approx(5 / 6 - 2 / 6, abs=0.1)


def test_the_report_is_drawn_and_kept(table, tmp_path):
    report = rare_report(table)
    assert len(report.rows) == 8
    assert report.rows[0]["micro-F1"].endswith("(0.4515)")
    assert report.rows[4]["detected"] == str(len(table.rows[4].counts))
    assert json.loads(json.dumps(report.facts))["sizes"]["other"]["asked"] == 48
    report.draw(tmp_path / "plot.svg")
    drawn = (tmp_path / "plot.svg").read_text()
    assert "true: 4 categories" in drawn
    assert drawn.count("rank of the category") == 2


def test_a_set_has_only_columns_and_documents_that_say_something(monkeypatch):
    train = DatasetPart(
        list("123"), ["tea leaf", "wine", "ale"], [["b"], ["a", "zz"], ["zz"]]
    )
    test = DatasetPart(list("45"), ["tea rum", "wine"], [["a"], []])
    given = Dataset("toy", train, test, tree=lambda: TREE)
    monkeypatch.setattr(sets, "load", lambda *_: given)
    found = hierarchical_set("toy")
    assert found.y == [["b"], ["a"]]
    assert found.truth == [["a"]]
    assert found.rows.shape == (2, 3)
    assert found.asked.shape == (1, 3)
    monkeypatch.setattr(sets, "load", lambda *_: replace(given, tree=None))
    with pytest.raises(Mistake, match="has no tree"):
        hierarchical_set("toy")
    bare = replace(given, train=DatasetPart(), test=DatasetPart())
    monkeypatch.setattr(sets, "load", lambda *_: bare)
    with pytest.raises(Mistake, match="neither texts nor vectors"):
        hierarchical_set("toy")


def test_the_dry_run_is_as_published(data):
    here = hierarchical_set("lshtc1-dryrun", data)
    size = rare.size_of(here)
    assert (size.trained, size.asked, size.categories) == (4463, 1860, 1139)
    assert size.per_document == 1.0


def test_a_voted_form_is_its_method_dashed():
    looks = figures._looks(["true", "a", "a + rare", "b", "b + rare"])  # noqa: SLF001 (what is drawn)
    assert looks["a"][0] == looks["a + rare"][0] != looks["b"][0]
    assert [looks[name][1] for name in ("true", "a", "a + rare")] == ["", "", "6 4"]
    assert len({hue for hue, _ in looks.values()}) == 3
