"""Labelled texts replayed from nothing: words and categories come as they come."""

import json

import numpy as np
import pytest

from classmark.evaluation.stream import replay
from classmark.problems import Mistake
from classmark.rankers.online import MMP
from classmark.weighting.vectorizer import Vectorizer
from classmark.workbench.learning import stream
from classmark.workbench.learning.stream import Arrivals, LabelledText, StreamSettings

ONLINE = ("mmp", "perceptron", "rocchio")
WORDS = {"sea": "ship harbour tide", "farm": "wheat barn cow", "sky": "cloud wind kite"}


def told(n=90, seed=0):
    """Notes whose words tell their category."""
    rng = np.random.default_rng(seed)
    names = list(WORDS)
    notes = []
    for i in range(n):
        own = names[i % 3]
        words = rng.choice(WORDS[own].split(), 3).tolist()
        notes.append(LabelledText(" ".join([*words, f"note{i}"]), (own,)))
    return notes


def test_learners_get_better_than_chance():
    found = stream.replay_texts(told(), StreamSettings(ONLINE, loss=1))
    assert list(found) == list(ONLINE)
    for replayed in found.values():
        assert len(replayed) == 90
        assert replayed.n_labels == 3
        assert replayed.mean("one_error", 45) < 0.1
        assert replayed.measures["inspected"][:3].tolist() == [1, 2, 3]


def test_the_preference_ranker_streams_too():
    found = stream.replay_texts(
        told(40), StreamSettings(("plm",), revisits=5, max_documents=20)
    )
    assert found["plm"].mean("one_error", 20) < 0.1


def test_words_are_weighed_anew_at_every_doubling():
    arrivals, due = Arrivals(), []
    for document in told(20):
        if arrivals.doubled:
            due.append(len(arrivals.past))
            rows, labels = arrivals.reweighted(None)
            assert len(rows) == len(labels) == due[-1]
        arrivals.take(document)
    assert due == [2, 4, 8, 16]
    rows, labels = arrivals.reweighted(5)
    assert len(rows) == len(labels) == 5
    texts = [document.text for document in told(20)]
    whole = Vectorizer(weighting="log-tfidf").fit(texts).rows(texts[-5:])
    np.testing.assert_allclose(
        np.sort(rows.values), np.sort(whole.values), atol=1e-6
    )  # the columns stand in another order


def test_without_doubling_it_is_a_replay_of_rows():
    notes = [
        LabelledText("ship", ("sea",)),
        LabelledText("cow", ("farm",)),
        LabelledText("cow", ("farm",)),
    ]
    found = stream.replay_texts(notes, StreamSettings(("mmp",), loss=1))["mmp"]
    same = replay(MMP(1), np.array([[1.0, 0], [0, 1], [0, 1]]), [[0], [1], [1]])
    for name, values in same.measures.items():
        np.testing.assert_array_equal(found.measures[name], values)


def test_a_stream_is_measured_drawn_and_kept(tmp_path):
    notes = [*told(30), LabelledText("no category", ())]
    setting = StreamSettings(("mmp", "rocchio"))
    done = stream.stream("notes", notes, setting, "file", tmp_path / "c.svg")
    assert [row["documents"] for row in done.table.rows[:3]] == [
        "first tenth",
        "second half",
        "all",
    ]
    assert {row["learner"] for row in done.table.rows} == {"mmp", "rocchio"}
    assert "1 without labels" in done.table.note
    assert "categories inspected" in (tmp_path / "c.svg").read_text()
    stream.write_facts(done, tmp_path / "new" / "facts.json")
    facts = json.loads((tmp_path / "new" / "facts.json").read_text())
    assert facts["documents"] == 30
    assert facts["setting"]["loss"] == 3
    one = facts["learners"]["mmp"]
    assert one["all"]["one_error"] == pytest.approx(done.table.rows[2]["one-error"])
    assert one["curves"]["loss1"]["rounds"][-1] == 30


def test_a_random_order_is_the_same_every_time(tmp_path):
    def shuffled():
        made = stream.stream(
            "notes", told(30), StreamSettings(("mmp",)), "random", tmp_path / "c.svg"
        )
        return made.facts["learners"]["mmp"]["curves"]

    in_order = stream.stream(
        "notes", told(30), StreamSettings(("mmp",)), "file", tmp_path / "c.svg"
    )
    assert shuffled() == shuffled() != in_order.facts["learners"]["mmp"]["curves"]


@pytest.mark.parametrize("notes", [[], [LabelledText("a text", ())]])
def test_a_stream_without_labels_is_refused(notes, tmp_path):
    with pytest.raises(Mistake, match=r"none of its \d documents has a label"):
        stream.stream("x", notes, StreamSettings(("mmp",)), "file", tmp_path / "c.svg")


@pytest.mark.parametrize(
    ("setting", "order", "plot", "facts", "said"),
    [
        (StreamSettings(("gravity",)), "file", None, None, "learner 'gravity'"),
        (StreamSettings(("mmp",)), "alphabet", None, None, "order 'alphabet'"),
        (
            StreamSettings(("mmp",)),
            "file",
            "curve.doc",
            None,
            "curve.doc: a plot is SVG",
        ),
        (StreamSettings(("mmp",)), "file", None, "facts.txt", "ends in .json"),
        (StreamSettings(("mmp",), loss=4), "file", None, None, "loss is 4"),
        (
            StreamSettings(("plm",), time_budget=-1.0),
            "file",
            None,
            None,
            "time_budget is -1",
        ),
        (
            StreamSettings(("plm",), max_documents=0),
            "file",
            None,
            None,
            "max_documents is 0",
        ),
        (StreamSettings(("plm",), revisits=-1), "file", None, None, "revisits is -1"),
        (StreamSettings(("plm",), C=0.0), "file", None, None, "C is 0"),
    ],
)
def test_what_cannot_be_done_is_refused_at_once(
    setting, order, plot, facts, said, tmp_path
):
    made = [None if name is None else tmp_path / name for name in (plot, facts)]
    with pytest.raises(Mistake, match=said):
        stream.require(setting, order, *made)


def test_the_library_is_a_stream_in_the_order_of_its_ids():
    notes = stream.known_stream("library")
    assert len(notes) > 500
    assert all(document.text for document in notes)


def test_numbered_ids_are_taken_as_numbers(data):
    notes = stream.known_stream("reuters-21578", data)
    assert len(notes) == 12_902
    assert sum(1 for document in notes if document.labels) == 10_794
    with pytest.raises(Mistake, match="no labelled texts"):
        stream.known_stream("mulan-bibtex", data)
