"""Query by multiple examples: the tasks, the methods' costs, the tables, the claims."""

import json

import numpy as np
import pytest

from classmark.arrays import take
from classmark.datasets.dataset import Dataset, DatasetPart
from classmark.examples.query import ExampleQuery
from classmark.problems import Mistake
from reproductions import qbme
from reproductions.qbme import (
    COST,
    GRID,
    METHODS,
    Claims,
    Method,
    ask,
    chosen_cost,
    held_out,
    in_units,
)
from reproductions.qbme_few import Cell, few, margins
from reproductions.qbme_tasks import measure, news20, reuters, siam, task_of

WORDS = [f"{kind}{i}" for kind in ("bird", "fish", "tree") for i in range(6)]
KINDS = ("bird", "fish", "tree")


def part(n, seed, stray=True):
    """Texts whose words hint at their label; the last two have none or a stray one."""
    rng = np.random.default_rng(seed)
    texts, labels = [], []
    for i in range(n):
        own = WORDS[6 * (i % 3) : 6 * (i % 3) + 6]
        texts.append(" ".join([*rng.choice(own, 3), *rng.choice(WORDS, 3)]))
        labels.append([KINDS[i % 3]])
    if stray:
        labels[-1], labels[-2] = [], [f"only{seed}"]
    names = [f"{seed}-{i}" for i in range(n)]
    return DatasetPart(names, texts, labels)


@pytest.fixture(scope="module")
def dataset():
    return Dataset("small", part(32, 1), part(41, 2), label_names=[*KINDS, "x"])


@pytest.fixture(scope="module")
def task(dataset):
    return task_of(dataset)


def test_topics_are_in_both_parts_and_others_are_left_out(task):
    assert [topic.name for topic in task.topics] == list(KINDS)
    assert (len(task.train), len(task.collection)) == (30, 39)
    bird = task.topics[0]
    assert bird.examples.tolist() == list(range(0, 30, 3))
    assert bird.relevant.tolist() == list(range(0, 39, 3))
    squares = [float((task.train.row(i)[1] ** 2).sum()) for i in range(30)]
    assert squares == pytest.approx([1.0] * 30, rel=1e-5)
    with pytest.raises(Mistake, match="no label is in both parts"):
        task_of(Dataset("none", part(9, 1), DatasetPart(), label_names=list(KINDS)))


def test_counts_are_weighed_as_texts_are(dataset):
    from classmark.corpus.counting import count
    from classmark.text import Analyzer

    counted = count([*dataset.train.texts, *dataset.test.texts], Analyzer())
    X = counted.rows.to_scipy()
    parts = [
        DatasetPart(own.ids, [], own.labels, matrix)
        for own, matrix in ((dataset.train, X[:32]), (dataset.test, X[32:]))
    ]
    same = task_of(Dataset("counts", *parts, label_names=list(KINDS)))
    again = task_of(dataset)
    # documents left out weigh in neither, where texts were left out before counting
    assert same.train.shape == again.train.shape
    difference = same.collection.to_scipy() - again.collection.to_scipy()
    assert abs(difference).max() < 1e-6


def test_draws_repeat_and_differ(task):
    bird, fish = task.topics[:2]
    one = task.examples(bird, 4, draw=0)
    assert np.array_equal(one.columns, task.examples(bird, 4, draw=0).columns)
    assert not np.array_equal(one.columns, task.examples(bird, 4, draw=1).columns)
    assert len(task.examples(fish)) == len(fish.examples)
    with pytest.raises(Mistake, match="bird has 10 examples"):
        task.examples(bird, 11)
    assert len(task.with_at_least(10, 14).topics) == 0
    assert [topic.name for topic in task.with_at_least(10).topics] == list(KINDS)
    assert len(task.some(2).topics) == 2
    assert task.some(9) is task


def test_measures_are_those_of_the_oracles():
    rng = np.random.default_rng(3)
    for _ in range(20):
        scores = rng.integers(0, 6, 15).astype(float)
        relevant = (rng.random(15) < 0.4).astype(float)
        if relevant.any():
            ordered = relevant[np.argsort(-scores, kind="stable")]
            hits = np.flatnonzero(ordered) + 1
            ap = np.mean([(k + 1) / hit for k, hit in enumerate(hits)])
            found = measure(scores, relevant)
            assert found.ap == pytest.approx(ap)
            assert found.prbep == ordered[: len(hits)].mean()


def test_costs_are_told_in_units_of_an_example():
    assert in_units("one-class", 3.0, 10, 30) == 30.0
    assert in_units("two-class", 3.0, 10, 30) == 120.0
    assert in_units("balanced", 3.0, 10, 30) == 3.0
    assert in_units("balanced-literal", 3.0, 10, 30) == 3.0
    for method in ("precision-recall", "precision@k", "recall@k"):
        assert in_units(method, 3.0, 10, 30) == 6.0


def test_the_literal_form_is_hinges_of_the_weighted_kind(task):
    """4l · w minimises ½‖v‖² + C_P Σ_P max(0, 1 − v·x) + C_P Σ_U max(0, l/u + v·x)."""
    from classmark.solvers.hinge import Hinges, ascend

    P, U = task.examples(task.topics[0]), task.collection
    many, u = len(P), len(U)
    C = in_units("balanced-literal", 0.7, many, u)
    literal = ExampleQuery("balanced-literal", C=C, tol=1e-9).fit(P, U)
    signs = np.repeat([1.0, -1.0], [many, u])
    margins_ = np.repeat([1.0, many / u], [many, u])
    hinges = Hinges(
        np.arange(many + u, dtype=np.uint32), signs, np.full(many + u, 0.7), margins_
    )
    direct = ascend([P, U], hinges, tol=1e-9)
    assert 4 * many * literal.coef_ == pytest.approx(direct.weights, abs=1e-3)


def test_precision_and_recall_at_as_many_as_examples_are_one(task):
    P, U = task.examples(task.topics[1]), task.collection
    one, other = (
        ExampleQuery(f"{kind}@k").fit(P, U) for kind in ("precision", "recall")
    )
    assert one.coef_ == pytest.approx(other.coef_)


def test_the_cost_is_chosen_by_what_was_held_out(task):
    P, U = task.examples(task.topics[0]), task.collection
    halves = [
        (take(P, np.arange(at, len(P), 2)), take(U, np.arange(at, len(U), 2)))
        for at in range(2)
    ]
    (first, others), (held, among) = halves
    query = ExampleQuery("balanced", C=0.3).fit(first, others)
    scores = np.r_[query.decision_function(among), query.decision_function(held)]
    one = measure(scores, np.r_[np.zeros(len(among)), np.ones(len(held))]).ap
    query.fit(held, among)
    scores = np.r_[query.decision_function(others), query.decision_function(first)]
    two = measure(scores, np.r_[np.zeros(len(others)), np.ones(len(first))]).ap
    assert held_out("balanced", 0.3, halves) == pytest.approx((one + two) / 2)
    assert chosen_cost("balanced", P, U) in GRID
    assert chosen_cost("balanced", take(P, [0]), U) == 1.0


def test_asking_knows_each_cost(task):
    P, U = task.examples(task.topics[0]), task.collection
    many, n = len(P), len(P) + len(U)
    cost = {
        name: ask(Method("m", name, "paper"), P, U).query.C_
        for name in ("one-class", "two-class", "balanced-literal", "precision-recall")
    }
    assert cost == pytest.approx(dict.fromkeys(cost, COST))
    assert ask(Method("m", "balanced", "paper"), P, U).cost == COST / (2 * many)
    asked = ask(Method("m", "precision-recall", "one"), P, U)
    assert asked.cost == 1.0
    assert np.isclose(asked.query.C_, n / (2 * many))
    few_ = take(P, [0, 1])
    assert ask(Method("m", "biased"), few_, U).query.method_ == "rocchio"
    asked = ask(Method("m", "biased"), P, U)
    assert asked.query.method_ == "biased"
    assert asked.cost is None
    assert asked.seconds >= 0


@pytest.fixture(scope="module")
def table(task):
    return qbme.tabled("news20", task, qbme.compare(task, METHODS))


def test_tables_hold_every_method_beside_the_paper(table):
    labels = [row.label for row in table.rows]
    assert len(set(labels)) == len(METHODS)
    rows = dict(zip(labels, table.rows, strict=True))
    assert rows["Rocchio"].paper == {"prbep": 0.6628, "map": 0.6867, "nonzeros": 41023}
    assert rows["SVM_ba, tuned"].paper == {}
    assert rows["SVM_ba, literal, C = 100"].paper == {}
    assert rows["auto"].means["map"] > 0.6
    assert table.examples == [10, 10, 10]
    for row in table.rows:
        assert row.means["map"] == pytest.approx(np.mean(row.topics["map"]))
        assert len(row.topics["prbep"]) == 3
    assert set(qbme.DRAWN) <= set(labels)


@pytest.mark.needs("matplotlib")
def test_reports_show_one_table_or_two(table, task, tmp_path):
    report = qbme.examples_report([table])
    assert report.rows[1]["prbep"].endswith("(0.6628)")
    assert report.rows[0]["nonzeros"].endswith("(11,533)")
    assert report.claims == table.claims
    report.draw(tmp_path / "plot.svg")
    assert "auto" in (tmp_path / "plot.svg").read_text()
    json.dumps(report.facts)
    found = qbme.compare(task, METHODS[:2])
    wide = dict.fromkeys(METHODS, found[METHODS[0]])
    fewer = qbme.tabled("reuters", task, wide, [0, 2])
    assert fewer.topics == ["bird", "tree"]
    two = qbme.examples_report([fewer, qbme.tabled("all", task, wide)])
    assert "map, 2 topics" in two.rows[0]
    assert "map, 3 topics" in two.rows[0]
    assert two.claims[0].startswith("2 topics: Rocchio ≫ Centroid")


def values(middle, seconds=1.0, nonzeros=10.0):
    spread = np.linspace(-0.05, 0.05, 20)
    return {
        "prbep": (middle + spread).tolist(),
        "map": (middle + 0.1 * middle * spread).tolist(),
        "seconds": [seconds] * 20,
        "nonzeros": [nonzeros] * 20,
    }


def test_claims_follow_the_numbers():
    claims = Claims(
        {
            "a": values(0.5, 6.0, 5.0),
            "b": values(0.4, 2.0),
            "c": values(0.5, 1.0, 11.0),
        }
    )
    sentence = claims.above("a", "b")
    assert sentence.startswith("a ≫ b: holds; PRBEP 0.5000 and 0.4000, +0.1000, 95 % ")
    assert sentence.endswith("+0.1001 (p < 0.001)")
    assert claims.above("b", "a").startswith("b ≫ a: does not hold")
    assert claims.alike("a", "c").startswith("a ≈ c: holds; PRBEP 0.5000 and 0.5000")
    assert claims.alike("a", "b").startswith("a ≈ b: does not hold")
    assert claims.sparser("a", "c").startswith("a is sparser than c: holds; 5 and 11 ")
    assert "weights, -6 (-6 … -6) (p < 0.001)" in claims.sparser("a", "c")
    assert "does not hold" in claims.sparser("c", "a")
    assert claims.cheap("a", "b").startswith("a costs at most 3 × b: holds; 3.00 ×")
    assert "3.00 × in all, 95 % 3.00 … 3.00, median topic 3.00" in claims.cheap(
        "a", "b"
    )
    assert "does not hold; 6.00 × in all" in claims.cheap("a", "c")
    assert claims.best("b").startswith("b is best: does not hold; next is a, MAP")


def test_few_examples_are_measured_by_the_same_draws(task):
    makers = {name: (lambda name=name: ExampleQuery(name)) for name in
              ("rocchio", "balanced", "centroid")}  # fmt: skip
    cells = few(task, makers, [2, None], draws=3)
    assert [(cell.size, cell.method) for cell in cells] == [
        (size, name) for size in (2, None) for name in makers
    ]
    again = few(task, {"rocchio": makers["rocchio"]}, [2], draws=3)
    assert again[0].values == pytest.approx(cells[0].values)
    by_hand = [
        task.measure(
            topic,
            ExampleQuery("rocchio")
            .fit(task.examples(topic, 2, draw), task.collection)
            .decision_function(task.collection),
        ).ap
        for topic in task.topics
        for draw in range(3)
    ]
    assert cells[0].mean == pytest.approx(np.mean(by_hand))
    spread = np.reshape(by_hand, (3, 3)).var(axis=1, ddof=1)
    assert cells[0].error == pytest.approx(np.sqrt(spread.sum() / 3) / 3)
    assert np.isnan(cells[-1].error)


def test_margins_are_against_the_best_other():
    cells = [
        Cell(5, name, np.array(own), 0.0)
        for name, own in (("a", [0.5, 0.7]), ("b", [0.4, 0.8]), ("c", [0.1, 0.1]))
    ]
    (margin,) = margins(cells, "b")
    assert (margin.size, margin.other) == (5, "a")
    assert margin.difference == pytest.approx(0.0)
    assert margin.error == pytest.approx(0.1)


def test_the_tasks_have_the_published_sizes(data):
    found = {make.__name__: make(data) for make in (news20, reuters, siam)}
    assert len(found["news20"].topics) == 20
    assert len(found["siam"].topics) == 22
    assert found["siam"].collection.shape == (7077, 500)
    assert len(found["reuters"].topics) == 90
    assert len(found["reuters"].collection) == 3019
    assert len(found["reuters"].with_at_least(qbme.MORE_THAN + 1).topics) == 65
    task = found["reuters"]
    rocchio = qbme.compare(task, [Method("Rocchio", "rocchio")])
    (values_,) = rocchio.values()
    assert values_["map"].mean() > 0.62


def test_it_is_said_whether_topics_or_methods_differ_more():
    names = ("Centroid", "Rocchio", "SVM_ba, C = 100")
    wide = {name: {"map": [0.1, 0.9]} for name in names}
    said = Claims(wide).varied()
    assert "holds; standard deviation of AP 0.400 and 0.000, +0.400, 95 % " in said
    assert said.endswith("… +0.400")
    flat = {name: {"map": [at / 4] * 2} for at, name in enumerate(names)}
    assert "does not hold" in Claims(flat).varied()
