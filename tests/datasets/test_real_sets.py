"""Every public collection, with the counts its README and its publisher give."""

import pytest

from classmark.datasets import load


def sizes(found):
    return len(found.train), len(found.test), len(found.label_names)


@pytest.fixture(autouse=True)
def here(data, monkeypatch):
    monkeypatch.setenv("CLASSMARK_DATA", str(data))


def test_reuters():
    found = load("reuters-21578", split="modapte")
    assert sizes(found) == (9_603, 3_299, 115)
    assert sum(map(bool, found.train.labels)) == 7_775
    assert sum(map(bool, found.test.labels)) == 3_019
    counts = [sum("earn" in row for row in p.labels) for p in (found.train, found.test)]
    assert counts == [2_877, 1_087]
    assert len(load("reuters-21578", split="all").train) == 21_578


def test_newsgroups():
    found = load("20newsgroups-bydate")
    assert sizes(found) == (11_314, 7_532, 20)


def test_rcv1():
    found = load("rcv1-v2-topics")
    assert sizes(found) == (23_149, 781_265, 103)
    everything = [*found.train.labels, *found.test.labels]
    assert sum(map(len, everything)) == 2_606_875
    assert sum("CCAT" in labels for labels in everything) == 381_327
    assert found.train.texts == []
    assert len(found.taxonomy) == 104
    tokens = load("rcv1-v2-topics", split="tokens")
    assert len(tokens.train) + len(tokens.test) == 2_316


@pytest.mark.parametrize(
    ("name", "expected", "features"),
    [
        ("mulan-bibtex", (4_880, 2_515, 159), 1_836),
        ("mulan-medical", (333, 645, 45), 1_449),
        ("mulan-tmc2007", (21_519, 7_077, 22), 500),
    ],
)
def test_mulan(name, expected, features):
    found = load(name)
    assert sizes(found) == expected
    assert found.train.X.shape[1] == found.test.X.shape[1] == features


@pytest.mark.parametrize(
    ("name", "documents", "labels", "features", "cardinality"),
    [
        ("yahoo-arts", 7_484, 26, 23_146, 1.6539),
        ("yahoo-business", 11_214, 30, 21_924, 1.5990),
        ("yahoo-education", 12_030, 33, 27_534, 1.4632),
        ("stackex-cooking", 10_491, 400, 577, 2.2248),
        ("stackex-cs", 9_270, 274, 635, 2.5562),
    ],
)
def test_vectors(name, documents, labels, features, cardinality):
    found = load(name)
    rows = [*found.train.labels, *found.test.labels]
    assert len(rows) == documents
    assert len(found.label_names) == labels
    assert found.train.X.shape[1] == features
    assert sum(map(len, rows)) / documents == pytest.approx(cardinality, abs=5e-5)


def test_packages():
    found = load("debian-debtags")
    rows = [*found.train.labels, *found.test.labels]
    assert len(rows) == 63_440
    assert sum(map(bool, rows)) == 30_303
    assert len(found.label_names) == 598
    assert len(found.taxonomy.roots) == 31
    assert len(load("debian-debtags", split="sections").label_names) == 58
    topics = load("pypi-topics")
    assert len(topics.train) + len(topics.test) == 2_900
    assert len(topics.label_names) == 198
    assert len(topics.taxonomy) == 202


def test_makupalat():
    found = load("annif-makupalat")
    assert (len(found.train), len(found.validation), len(found.test)) == (
        15_212,
        398,
        537,
    )
    assert len({name for row in found.train.labels for name in row}) == 1_179
    assert len(found.taxonomy) == 2_406


def test_lshtc():
    found = load("lshtc1-dryrun")
    assert sizes(found) == (4_463, 1_860, 1_139)
    assert found.taxonomy.leaves
    assert set(found.taxonomy.leaves) == set(found.label_names)
    for task in ("task1", "task4"):
        assert len(load("lshtc1-dryrun", split=task).test) == 1_860


def test_wikispeedia():
    found = load("wikispeedia")
    assert len(found.train) + len(found.test) == 4_598
    assert len(found.label_names) == 129
    assert len(found.links) == 119_879
    assert sum(1 for _ in found.documents) == 4_598


@pytest.mark.parametrize(
    ("name", "documents", "queries", "judged", "judgments"),
    [
        ("cranfield", 1_400, 225, 225, 1_837),
        ("cacm", 3_204, 64, 52, 796),
        ("npl-vaswani", 11_429, 93, 93, 2_083),
        ("adi", 82, 35, 35, 170),
        ("nfcorpus", 3_193, 325, 325, 14_589),
    ],
)
def test_retrieval(name, documents, queries, judged, judgments):
    found = load(name)
    assert sum(1 for _ in found.documents) == documents
    assert len(found.queries) == queries
    assert len(found.qrels) == judged
    assert sum(map(len, found.qrels.values())) == judgments
    assert found.qrels.keys() <= found.queries.keys()


def test_learning_to_rank():
    mq = load("letor-mq2008")
    assert mq.train.X.shape == (2_933 + 3_635 + 3_062, 46)
    assert mq.test.X.shape == (2_707, 46)
    assert len(set(mq.train.qids) | set(mq.test.qids)) == 4 * 157
    assert load("letor-mq-agg").train.X.shape[1] == 21
    lightgbm = load("lightgbm-lambdarank")
    assert lightgbm.train.X.shape == (3_005, 300)
    assert lightgbm.test.X.shape == (768, 300)
    assert (len(set(lightgbm.train.qids)), len(set(lightgbm.test.qids))) == (201, 50)
    mslr = load("rankeval")
    assert mslr.train.X.shape == mslr.test.X.shape == (5_000, 136)
    grades = [int((mslr.train.grades == grade).sum()) for grade in range(5)]
    assert grades == [2_792, 1_458, 665, 55, 30]


def test_clicks():
    found = load("clicks-sogou-sample")
    for part, sessions, queries, clicks in (
        (found.train, 7_018, 3_389, 7_528),
        (found.test, 1_791, 447, 1_967),
    ):
        assert len(part.sessions) == sessions
        assert len({session.query for session in part.sessions}) == queries
        assert sum(sum(session.clicked) for session in part.sessions) == clicks
    for campaign, items in (("all", 80), ("men", 34), ("women", 46)):
        for policy in ("random", "bts"):
            shown = load("obp", split=f"{policy}-{campaign}").train.impressions
            assert len(shown) == 10_000
            assert shown.items.max() < items
            assert set(shown.positions.tolist()) == {1, 2, 3}
            assert (shown.propensities > 0).all()


@pytest.mark.parametrize(
    ("name", "nodes", "links"),
    [
        ("graph-wiki-vote", 7_115, 103_689),
        ("graph-polblogs", 1_490, 19_090),
        ("debian-depends-graph", 59_052, 272_119),
    ],
)
def test_graphs(name, nodes, links):
    found = load(name)
    assert (len(found.train), len(found.links)) == (nodes, links)
