"""The queue's orders are what they say, over blocks, without what is decided."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from classmark.problems import Mistake
from classmark.rankers.text_ranker import TextRanker
from classmark.workbench.deciding import queue as queueing
from classmark.workbench.deciding.decide import Decision, decide
from classmark.workbench.deciding.queue import (
    KEYS,
    Guess,
    cosines,
    queue,
    shuffled,
)
from classmark.workbench.learning.train import train
from classmark.workbench.project import Project
from projects import new_project

MATRICES = st.integers(0, 2**32 - 1).map(
    lambda seed: np.random.default_rng(seed).normal(size=(1 + seed % 9, 1 + seed % 5))
)


def in_order(order, *guesses):
    return [guess.document for guess in sorted(guesses, key=KEYS[order])]


def test_uncertain_and_likely_ones_come_first():
    sure = Guess("sure", "c", 3.0, 0.9, 0.8, 2.0)
    even = Guess("even", "c", 1.0, 0.5, 0.1, 0.2)
    assert in_order("uncertain", sure, even) == ["even", "sure"]
    assert in_order("likely", even, sure) == ["sure", "even"]
    scored = Guess("scored", "c", 0.7, None, 0.3, 0.3)
    assert in_order("likely", even, scored) == ["scored", "even"]


def test_equal_probabilities_are_told_apart_by_scores():
    one, two = (Guess(f"d{n}", "c", float(n), 0.9, 0.5, -n) for n in (1, 2))
    assert in_order("likely", one, two) == ["d2", "d1"]
    assert in_order("uncertain", one, two) == ["d2", "d1"]


@given(st.sets(st.text(), min_size=3, max_size=30), st.data())
def test_random_is_a_stable_permutation_of_its_own(ids, data):
    listed = sorted(ids)
    order = shuffled(listed, "shelf")
    assert sorted(order) == listed
    gone = data.draw(st.sampled_from(listed))
    left = [name for name in reversed(listed) if name != gone]
    again = shuffled(left, "shelf")
    assert again == [name for name in order if name != gone]


def test_another_project_has_another_random_order():
    ids = [str(i) for i in range(50)]
    assert shuffled(ids, "a") != shuffled(ids, "b")
    assert shuffled(ids, "a") != ids


@given(MATRICES)
def test_cosines_are_those_of_dense_vectors(dense):
    from scipy.sparse import csr_matrix

    X = csr_matrix(dense)
    centre = dense[0]
    wanted = dense @ centre / (np.linalg.norm(dense, axis=1) * np.linalg.norm(centre))
    assert cosines(X, X[:1]) == pytest.approx(wanted)


WORDS = {"bees": "hive honey queen swarm", "bread": "oven dough rye yeast crust"}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    rows = [
        {"id": f"{label}{i}", "text": word, "labels": [label]}
        for label, words in WORDS.items()
        for i, word in enumerate(words.split())
    ]
    rows += [
        {"id": "mixed", "text": "hive oven"},
        {"id": "sweet", "text": "hive honey swarm"},
        {"id": "baked", "text": "oven dough dough crust"},
        {"id": "later", "text": "rye honey"},
    ]
    folder = tmp_path_factory.mktemp("queue") / "shelf"
    with Project(new_project(folder, rows, trained=True)) as project:
        decide(project, "later", Decision(aside=True), {})
    return folder


@pytest.fixture
def project(folder):
    with Project(folder) as opened:
        yield opened


def first(table):
    return [row["document"] for row in table.rows]


@pytest.mark.parametrize("block", [1, 2, 1000])
def test_the_queue_holds_what_is_undecided_in_order(project, monkeypatch, block):
    monkeypatch.setattr(queueing, "BLOCK", block)
    model = TextRanker.open(project.models.current())
    texts = {"mixed": "hive oven", "sweet": "hive honey swarm",
             "baked": "oven dough dough crust"}  # fmt: skip
    scores = {name: np.sort(model.scores([t])[0])[::-1] for name, t in texts.items()}
    table = queue(project, "uncertain")
    assert first(table) == sorted(texts, key=lambda n: scores[n][0] - scores[n][1])
    assert table.rows[0]["document"] == "mixed"
    lead = scores["mixed"][0] - scores["mixed"][1]
    assert table.rows[0]["lead"] == pytest.approx(lead)
    assert "by the score" in table.note
    likely = queue(project, "likely", 2)
    assert first(likely) == sorted(texts, key=lambda n: -scores[n][0])[:2]
    category = {row["document"]: row["category"] for row in table.rows}
    assert (category["sweet"], category["baked"]) == ("bees", "bread")


def test_similar_is_near_what_was_decided_last_or_named(project):
    assert first(queue(project, "similar", to="bread1"))[0] == "baked"
    assert first(queue(project, "similar", to="bees1"))[0] == "sweet"
    assert "baked" not in first(queue(project, "similar", to="baked"))
    table = queue(project, "similar")
    assert table.note == "by likeness to later"
    assert first(table)[0] == "sweet", "it shares honey with it"


def test_an_empty_queue_says_so(tmp_path):
    with Project(new_project(tmp_path / "none", [])) as project:
        assert "no document is waiting" in queue(project, "random").note


def test_random_needs_no_model(tmp_path):
    with Project(new_project(tmp_path / "bare", [])) as bare:
        assert queue(bare, "random").rows == []
        with pytest.raises(Mistake, match="classmark train"):
            queue(bare, "likely")


def test_with_enough_decisions_probabilities_decide(tmp_path):
    words = [word for text in WORDS.values() for word in text.split()]
    label = {word: name for name, text in WORDS.items() for word in text.split()}
    rows = [
        {"id": f"{word}{i}", "text": word, "labels": [label[word]]}
        for i in range(12)
        for word in words
    ]
    rows += [{"id": "mixed", "text": "hive oven"}, {"id": "plain", "text": "dough"}]
    with Project(new_project(tmp_path / "shelf", rows)) as project:
        assert train(project).calibrated_on is not None
        table = queue(project)
        assert first(table) == ["mixed", "plain"]
        assert 0 <= table.rows[0]["probability"] <= 1
        assert "by the probability" in table.note
        assert first(queue(project, "likely"))[0] == "plain"


@pytest.mark.parametrize(
    ("asked", "wrong"),
    [
        ({"order": "steep"}, "uncertain, likely, random, similar"),
        ({"top": 0}, "enter at least 1"),
        ({"to": "bees0"}, "--order similar"),
        ({"order": "similar", "to": "nobody"}, "no document 'nobody'"),
    ],
)
def test_what_cannot_be_queued_is_told(project, asked, wrong):
    with pytest.raises(Mistake, match=wrong):
        queue(project, **asked)
