"""The queue in groups, and a decision on a whole group."""

import pytest

from classmark.corpus.documents import Document
from classmark.formats.records import Record
from classmark.problems import Mistake
from classmark.workbench.deciding.decide import Decision
from classmark.workbench.deciding.queue import queue
from classmark.workbench.deciding.similar import decide_group, grouped_queue, shortened
from classmark.workbench.learning.live import learn_at_once
from classmark.workbench.project import Project
from classmark.workbench.store.undo import undo
from projects import new_project
from workbench.acts import say, wrong_lessons

COPIES = {
    "x1": "swarm of bees in a hollow oak beside the mill",
    "x2": "a swarm of bees in the hollow oak beside the mill",
    "x3": "swarm of bees, in hollow oak, beside the mill!",
    "y1": "knead the dough, then let it rise twice",
    "y2": "knead the dough then let it rise twice",
}


@pytest.fixture
def shelf(tmp_path):
    with Project(new_project(tmp_path / "shelf")) as project:
        records = (Record(Document(id_, {"text": t})) for id_, t in COPIES.items())
        project.store.put_documents(records)
        project.store.note_event("imported", "test")
        for id_, name in (("b1", "bees"), ("d1", "bread"), ("c1", "candles")):
            say(project, id_, name)
        yield project


def groups(table):
    return [
        {str(row["document"]), *str(row["like it"]).split(", ")} - {""}
        for row in table.rows
    ]


@pytest.mark.parametrize("order", ["uncertain", "likely", "random", "similar"])
def test_copies_come_together_in_the_order_of_the_queue(shelf, order):
    plain = [row["document"] for row in queue(shelf, order, 99).rows]
    table = grouped_queue(shelf, order, 99)
    found = groups(table)
    assert {"x1", "x2", "x3"} in found
    assert {"y1", "y2"} in found
    assert sorted(id_ for group in found for id_ in group) == sorted(plain)
    first = [plain.index(row["document"]) for row in table.rows]
    assert first == sorted(first)
    assert all(
        row["document"] == min(group, key=plain.index)
        for row, group in zip(table.rows, found, strict=True)
    )
    assert [row["size"] for row in table.rows] == [len(group) for group in found]
    assert "12 documents in 9 groups of cosine 0.8" in table.note


def test_fewer_lines_and_looser_groups(shelf):
    assert len(grouped_queue(shelf, "random", 2).rows) == 2
    loose = grouped_queue(shelf, "random", 99, alike=0.05)
    assert len(loose.rows) < 9


def test_many_ids_are_shortened_for_people(shelf):
    table = grouped_queue(shelf, "random", 99, alike=0.01)
    wide = max(len(str(row["like it"])) for row in shortened(table).rows)
    assert wide <= 62


def test_a_group_is_decided_and_undone_at_once(shelf):
    before = shelf.store.labels()
    done = decide_group(shelf, "x2", Decision(assign=("bees",), note="a swarm"))
    learn_at_once(shelf)
    assert "(and of 2 like it: x1, x3)" in done.said
    now = shelf.store.labels()
    assert {id_ for id_ in now if id_ not in before} == {"x1", "x2", "x3"}
    assert all("bees" in now[id_] for id_ in ("x1", "x2", "x3"))
    assert wrong_lessons(shelf) == []
    first, *within = done.numbers
    back = undo(shelf)
    acts = f"act {first}, and with it acts {', '.join(map(str, within))}"
    assert back.said == f"undone: assign ({acts})"
    learn_at_once(shelf)
    assert shelf.store.labels() == before
    assert wrong_lessons(shelf) == []
    undo(shelf, max(done.numbers) + 1)
    assert shelf.store.labels() == now


def test_all_that_was_said_is_said_of_all(shelf):
    said = Decision(primary=("bread",), reject=("bees",), over=(("bread", "candles"),))
    decide_group(shelf, "y1", said)
    one, other = shelf.store.record("y1"), shelf.store.record("y2")
    assert one.labels == other.labels
    assert one.rejected == other.rejected == {"bees"}
    assert one.preferences == other.preferences == {("bread", "candles"): 1.0}
    decide_group(shelf, "x1", Decision(aside=True))
    assert {"x1", "x2", "x3"} <= shelf.store.aside()


def test_what_is_decided_stays_as_it_is(shelf):
    say(shelf, "x3", "candles")
    decide_group(shelf, "x1", Decision(assign=("bees",)))
    assert set(shelf.store.labels()["x3"]) == {"candles"}
    alone = decide_group(shelf, "c2", Decision(assign=("candles",)))
    assert len(alone.numbers) == 1


def test_an_empty_queue_has_no_groups(shelf):
    for record in list(shelf.store.records()):
        say(shelf, record.id, "bees", learn=False)
    table = grouped_queue(shelf, "random")
    assert not table.rows
    assert "no document is waiting" in table.note


def test_what_cannot_be_is_refused(shelf):
    with pytest.raises(Mistake, match="number of groups is 0"):
        grouped_queue(shelf, "random", 0)
    with pytest.raises(Mistake, match="--alike is 2: give a cosine"):
        grouped_queue(shelf, "random", alike=2.0)
    with pytest.raises(Mistake, match="no document 'z'"):
        decide_group(shelf, "z", Decision(assign=("bees",)))
    before = shelf.store.labels()
    with pytest.raises(Mistake, match="no category 'nowhere'"):
        decide_group(shelf, "x1", Decision(assign=("nowhere",)))
    assert shelf.store.labels() == before
