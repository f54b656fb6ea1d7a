"""The table of on-line category ranking, and what is claimed of it."""

import numpy as np
import pytest

from classmark.arrays import rows_from
from classmark.evaluation.figures import learning_curves, learning_panel
from classmark.problems import Mistake
from reproductions.mmp_reuters import (
    AVERAGED,
    COLUMNS,
    HIGHER,
    LEARNERS,
    ONLINE,
    Collection,
    claims,
    collection,
    compare,
    curve_claims,
    prepare,
    round_averaged,
    rounds_report,
    select_terms,
)

WORDS = [f"{kind}{i}" for kind in ("bird", "fish", "tree", "herb") for i in range(4)]


def small(n=120, topics=4, seed=0):
    """Texts whose words hint at their topics, and noise."""
    rng = np.random.default_rng(seed)
    texts, labels = [], []
    for i in range(n):
        own = sorted({i % topics, int(rng.integers(topics))})
        hints = [WORDS[3 * label + int(rng.integers(3))] for label in own * 2]
        noise = rng.choice(WORDS, 3).tolist()
        texts.append(" ".join(hints + noise))
        labels.append(own)
    return Collection(texts, labels, [f"t{i}" for i in range(topics)])


def values(base, **changes):
    """Per-document values of one method: ``base`` everywhere, or as given."""
    spread = np.linspace(-0.01, 0.01, 50)
    return {key: np.full(50, changes.get(key, base)) + spread for key in COLUMNS}


def found(**changes):
    table = {name: values(0.5) for name in LEARNERS}
    for key in COLUMNS:
        table["MMP loss 1"][key] = table["MMP loss 1"][key] + (
            0.1 if key in HIGHER else -0.1
        )
    for loss in ("2", "3"):
        table[f"MMP loss {loss}"] |= values(
            0.5, **{f"loss{loss}": 0.1, "coverage": 0.2}
        )
    table["perceptron"] |= {"coverage": values(2.0)["coverage"]}
    for name, entries in changes.items():
        table[name.replace("_", " ")] |= entries
    return table


def test_claims_follow_the_numbers():
    said = claims(found())
    assert said[0].startswith(
        "MMP loss 3 is at least as good as published: loss2 0.500"
    )
    assert "loss3 10.000 (0.60) does not hold, 95 % 9.8" in said[0]
    assert "average_precision 0.500 (0.90) does not hold" in said[0]
    assert said[1].startswith("MMP loss 1 is best by loss1: holds; 40; Rocchio 50 (p")
    assert said[2].startswith("MMP loss 2 is best by loss2: holds")
    assert said[3].startswith("MMP loss 3 is best by loss3: holds")
    assert all("MMP loss 1 is best by" in line for line in said[4:7])
    assert all(": holds" in line for line in said[4:])
    assert "; perceptron less Rocchio +1.500 (+1.500 … +1.500); " in said[-1]
    assert "MMP loss 1 less MMP loss 3 +0.200 (+0.200 … +0.200)" in said[-2]
    assert said[-1].endswith("perceptron 2.000, MMP loss 1 0.400, MMP loss 2 0.200, "
                             "MMP loss 3 0.200")  # fmt: skip


def test_claims_that_fail_say_who_is_best():
    said = claims(found(Rocchio=values(0.0, average_precision=0.5, max_f1=0.5)))
    assert "best by loss1: does not hold, Rocchio is" in said[1]
    assert "win coverage: does not hold; best are Rocchio 0.000" in said[7]
    said = claims(found(Rocchio={"coverage": values(9.0)["coverage"]}))
    assert "worst coverage: does not hold" in said[-1]


def test_a_difference_that_may_be_chance_is_not_sure():
    noise = np.random.default_rng(0).standard_normal(50)
    changed = {"loss1": values(0.401)["loss1"] + noise}
    assert "perceptron" in claims(found(perceptron=changed))[1]
    assert ", not sure)" in claims(found(perceptron=changed))[1]


def test_claims_need_every_method():
    with pytest.raises(Mistake, match="rows lack MMP loss 2"):
        claims({name: values(0) for name in LEARNERS if name != "MMP loss 2"})


def test_every_method_is_cross_validated():
    table = compare(small(), n_folds=3)
    assert [row.method for row in table.rows] == [*LEARNERS, *AVERAGED]
    assert (table.documents, table.topics) == (120, 4)
    assert table.rounds[0] == 1
    assert table.rounds[-1] == 80
    assert set(table.curves["loss2"]) == set(ONLINE)
    by_name = {row.method: row for row in table.rows}
    assert by_name["MMP loss 1"].measures["average_precision"] > 0.7
    assert by_name["perceptron"].paper["loss2"] == 4.87
    assert by_name["MMP loss 2"].paper["loss2"] is None
    assert table.curves["loss1"]["perceptron"][0] == 1.0
    report = rounds_report(table)
    assert "(15.71)" in report.rows[1]["loss1"]
    assert "120 documents, 4 topics" in report.note
    assert "(0.89)" in report.rows[1]["curve_max_f1"]
    assert "(" not in report.rows[1]["max_f1"]
    perceptron = by_name["perceptron"].measures
    assert perceptron["curve_max_f1"] < perceptron["max_f1"]


def test_precision_against_recall_is_drawn_for_each_of_the_papers_methods(tmp_path):
    documents = small()
    table = compare(documents, n_folds=3)
    assert list(table.recall) == [*ONLINE, "Rocchio"]
    assert table.labels == [
        sum(len(own) == size for own in documents.labels) for size in (1, 2)
    ]
    for name, recall in table.recall.items():
        assert recall == sorted(recall)
        assert recall[-1] == pytest.approx(1)
        share = sum(map(len, documents.labels)) / 120
        assert table.precision[name][-1] == pytest.approx(share / 4)
    rounds_report(table).draw(tmp_path / "curves.svg")
    drawn = (tmp_path / "curves.svg").read_text()
    assert "precision against recall" in drawn
    assert drawn.count("Rocchio") == 1


def test_who_falls_at_high_recall_is_said():
    recall = [0.5, 0.9, 1.0]
    curves = {
        name: np.array([recall, [0.8, 0.4, 0.2]]) for name in (*ONLINE, "Rocchio")
    }
    curves["perceptron"] = np.array([recall, [0.9, 0.5, 0.0]])
    above, lowest = curve_claims(curves, [curves, curves])
    assert above.endswith(
        "3 up to recall 0.9: holds; up to 0.934 ± 0.000 over the folds"
    )
    assert lowest.startswith(
        "the perceptron has the least precision at high recall: holds; precision at "
        "recall 0.95: perceptron 0.250, MMP loss 1 0.300"
    )
    assert "less perceptron +0.050 ± 0.000 over the folds" in lowest
    other = curves | {"Rocchio": np.array([recall, [0.8, 0.1, 0.0]])}
    assert "does not hold" in curve_claims(other, [curves, other])[1]
    changed = curves | {"MMP loss 2": np.array([recall, [0.95, 0.4, 0.2]])}
    said = curve_claims(changed, [curves, changed])[0]
    assert "does not hold; up to 0.500 ± " in said
    assert "± 0.000" not in said


def test_words_and_features_come_from_the_training_fold():
    documents = small()
    texts = [*documents.texts[:119], "zebra " * 9]
    changed = Collection(texts, documents.labels, documents.topics)
    train, test = np.arange(100), np.arange(100, 120)
    one, other = prepare(documents, train, test), prepare(changed, train, test)
    np.testing.assert_array_equal(one.train.values, other.train.values)
    assert one.words == other.words
    assert other.test.row(19)[0].size == 0


def test_selection_is_the_union_of_each_topics_best_terms():
    rng = np.random.default_rng(1)
    dense = rng.random((40, 200)) * (rng.random((40, 200)) < 0.3)
    labels = [[i % 3] for i in range(40)]
    slow = set()
    for topic in range(3):
        own = np.array([topic in some for some in labels])
        weights = 16 * dense[own].mean(axis=0) - 4 * dense[~own].mean(axis=0)
        kept = max(2, int(np.ceil(0.025 * (weights > 0).sum())))
        assert kept > 2
        slow |= set(np.argsort(-weights)[:kept].tolist())
    assert set(select_terms(rows_from(dense), labels, 3, least=2)) == slow


def test_curves_are_means_up_to_a_round_over_the_folds():
    first = np.array([[1, 4, 1], [0, 2, 0.5], [1, 0, 0]], float)
    second = np.array([[1, 2, 1], [1, 2, 0.5]], float)
    rounds, curves = round_averaged({"a": [first, second]}, points=5)
    assert rounds.tolist() == [1, 2]
    assert curves["loss1"]["a"] == [1.0, 0.75]
    assert curves["loss2"]["a"] == [3.0, 2.5]


def test_panels_are_drawn(tmp_path):
    rounds = np.array([1, 10, 1000])
    curves = {"one": (rounds, [1.0, 0.5, 0.1]), "two": (rounds, [1.0, 0.4, 0.2])}
    flat = {"one": (rounds, [0.0, 0.0, 0.0])}
    panels = [learning_panel("a loss", curves)]
    panels += [learning_panel("decades", curves, log=True)]
    panels += [learning_panel("nothing", flat), learning_panel("a row below", curves)]
    learning_curves(panels, tmp_path / "new" / "curves.svg", "Two learners")
    drawn = (tmp_path / "new" / "curves.svg").read_text()
    for said in ("a loss", "decades", ">one<", ">two<", "1,000", "Two learners"):
        assert said in drawn


def test_the_collection_has_the_papers_size(data):
    documents = collection(data)
    assert (len(documents.texts), len(documents.topics)) == (10_789, 90)
    assert sum(map(len, documents.labels)) / 10_789 == pytest.approx(1.24, abs=0.005)
