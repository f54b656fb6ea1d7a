"""Decisions on the desk: durable, undone as one, and never over another's."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from classmark.problems import Mistake
from classmark.workbench.deciding.decide import (
    Conflict,
    Decision,
    decide_on,
    next_for,
    note_on,
    redo_for,
    skip_for,
    undo_for,
    version_of,
)
from classmark.workbench.deciding.history import history
from classmark.workbench.deciding.queue import QueueChoice
from classmark.workbench.deciding.sheet import lay_out
from classmark.workbench.project import Project
from classmark.workbench.store.log import require_replayed
from classmark.workbench.store.store import Store
from classmark.workbench.team.desk import Desk
from projects import new_desk
from workbench.acts import count, say_all, say_at


@pytest.fixture
def desk(tmp_path):
    with new_desk(tmp_path / "shelf") as desk:
        yield desk


def labels(desk, document):
    return desk.store.labels().get(document, {})


def test_a_decision_is_on_disk_when_it_is_told(desk):
    saved = say_at(desk, "b1", "bees")
    with Store(desk.folder / "store.sqlite") as other:
        assert other.labels() == {"b1": {"bees": 1.0}}
    assert saved.document == "b1"
    assert saved.next not in (None, "b1")
    assert saved.words == f"saved #{saved.number} · {saved.at[11:19]}"
    assert desk.tally() == "1 of 10 decided"


def test_what_was_shown_is_logged(desk):
    say_all(desk)
    sheet = lay_out(desk, "b3", "ada")
    first = sheet.choices[0]
    decide_on(
        desk, "b3", Decision((first.category,)), None, "ada", sheet.version
    )  # fmt: skip
    row = history(desk, "b3").rows[0]
    assert (row["model"], row["rank"]) == ("live", 1)
    assert isinstance(row["score"], float)  # also where a few keep their order


def test_what_was_not_shown_is_asked_of_the_model(desk):
    say_all(desk)
    decide_on(desk, "b3", Decision(("candles",)), None, "ada")
    row = history(desk, "b3").rows[0]
    assert row["rank"] in (2, 3)
    assert row["score"] is not None


def test_somebody_else_was_faster(desk):
    mine = lay_out(desk, "b1", "ada")
    say_at(desk, "b1", "bread", who="bo", version=mine.version)
    before = count(desk, "SELECT count(*) FROM judgments")
    with pytest.raises(Conflict, match="bo decided on it meanwhile") as found:
        say_at(desk, "b1", "bees", version=mine.version)
    assert [(s.who, s.act, s.category) for s in found.value.theirs] == [
        ("bo", "assign", "bread")
    ]
    assert found.value.yours.assign == ("bees",)
    assert count(desk, "SELECT count(*) FROM judgments") == before
    seen = version_of(desk.store, "b1")
    say_at(desk, "b1", "bees", version=seen)
    assert set(labels(desk, "b1")) == {"bees", "bread"}


def test_a_note_or_a_skip_is_no_conflict(desk):
    mine = lay_out(desk, "b1", "ada")
    note_on(desk, "b1", "look at the map", "bo")
    skip_for(desk, "b1", "bo")
    say_at(desk, "b1", "bees", version=mine.version)
    assert set(labels(desk, "b1")) == {"bees"}
    (note,) = lay_out(desk, "b1", "ada").notes
    assert (note.who, note.note) == ("bo", "look at the map")
    with pytest.raises(Mistake, match="the note is empty"):
        note_on(desk, "b1", "  ", "bo")


def test_of_many_at_once_one_wins_and_none_is_lost(desk):
    versions = {id_: version_of(desk.store, id_) for id_ in ("b1", "b2", "b3")}

    def one(number):
        id_ = ("b1", "b2", "b3")[number % 3]
        try:
            say_at(desk, id_, "bees", who=f"who {number}", version=versions[id_])
        except Conflict:
            return 0
        return 1

    with ThreadPoolExecutor(8) as pool:
        assert sum(pool.map(one, range(48))) == 3
    assert count(desk, "SELECT count(*) FROM judgments WHERE act = 'assign'") == 3


def test_acts_at_once_are_all_written_and_a_bad_one_harms_no_other(desk):
    def one(number):
        name = "bees" if number % 4 else "no such category"
        try:
            return say_at(desk, f"b{number % 3 + 1}", name, who=f"w{number}").number
        except Mistake:
            return None

    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(one, range(64)))
    numbers = [n for n in found if n is not None]
    assert len(set(numbers)) == len(numbers) == 48
    assert count(desk, "SELECT count(*) FROM judgments WHERE act = 'assign'") == 48
    rows = desk.store.run("SELECT seq, who FROM judgments WHERE who LIKE 'w%'")
    assert {f"w{found.index(seq)}" == who for seq, who in rows} == {True}


def test_an_enter_is_undone_and_brought_back_as_one(desk):
    saved = say_at(desk, "b1", "bees", primary=("bread",), reject=("candles",))
    assert len(saved.numbers) == 3
    undone = undo_for(desk, "ada")
    assert undone.next == "b1"
    assert labels(desk, "b1") == {}
    assert desk.tally() == "0 of 10 decided"
    redo_for(desk, "ada")
    record = desk.store.record("b1")
    assert (set(record.labels), record.rejected) == ({"bees", "bread"}, {"candles"})
    assert desk.tally() == "1 of 10 decided"
    require_replayed(desk.store)


def test_undo_and_redo_go_on_without_end(desk):
    for id_ in ("b1", "b2", "b3"):
        say_at(desk, id_, "bees", "bread")
    say_at(desk, "d1", "bread", who="bo")
    for left in (2, 1, 0):
        undo_for(desk, "ada")
        assert len(desk.store.labels()) == left + 1
    with pytest.raises(Mistake, match="ada has nothing to undo"):
        undo_for(desk, "ada")
    for there in (1, 2, 3):
        redo_for(desk, "ada")
        assert len(desk.store.labels()) == there + 1
    with pytest.raises(Mistake, match="nothing to redo"):
        redo_for(desk, "ada")
    undo_for(desk, "ada")
    say_at(desk, "c1", "candles")
    with pytest.raises(Mistake, match="nothing to redo"):
        redo_for(desk, "ada")
    assert set(desk.store.labels()) == {"b1", "b2", "d1", "c1"}


STEPS = st.lists(
    st.sampled_from(["decide", "undo", "redo", "skip", "note", "aside"]), max_size=14
)


@settings(
    max_examples=12,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(steps=STEPS, number=st.integers(0, 10**9))
def test_undo_and_redo_are_as_two_piles(tmp_path_factory, steps, number):
    """Each act goes on a pile; undo moves the top to another, redo brings it back."""
    folder = tmp_path_factory.mktemp("piles") / f"shelf {number}"
    done, undone = [], []
    with new_desk(folder) as desk:
        for at, step in enumerate(steps):
            id_ = f"{'bdc'[at % 3]}{at % 2 + 1}"
            if step in ("undo", "redo"):
                back, forth = (done, undone) if step == "undo" else (undone, done)
                verb = undo_for if step == "undo" else redo_for
                if back:
                    assert verb(desk, "ada").document == back[-1][0]
                    forth.append(back.pop())
                else:
                    with pytest.raises(Mistake):
                        verb(desk, "ada")
                continue
            act_of(desk, step, id_)
            done.append((id_, step))
            undone = []
        kept = desk.store.labels()
        assert set(kept) == {id_ for id_, step in done if step == "decide"}
        assert desk.state.labels.keys() == set(kept)
        assert desk.state.aside == desk.store.aside()
        require_replayed(desk.store)


def act_of(desk, step, document):
    if step == "skip":
        skip_for(desk, document, "ada")
    elif step == "note":
        note_on(desk, document, "hm", "ada")
    elif step == "aside":
        say_at(desk, document, aside=True)
    else:
        say_at(desk, document, "bees", reject=("bread",))


def test_what_is_skipped_comes_last_and_only_for_who_skipped(desk):
    desk.queues.set("ada", QueueChoice("random"))
    first = next_for(desk, "ada")
    saved = skip_for(desk, first, "ada")
    assert saved.next != first
    seen = [saved.next]
    while (
        onward := say_at(desk, seen[-1], "bees").next
    ) is not None and onward != first:
        seen.append(onward)
    assert len(seen) == 9
    assert onward == first
    undo_number = saved.number
    undo_for(desk, "ada", undo_number)
    assert next_for(desk, "ada") == first
    with Project(desk.folder) as project:
        assert project.store.record(first).labels == {}


@pytest.mark.parametrize(
    "decision",
    [
        Decision(over=(("bees", "bread"),)),
        Decision(reject=("bees",)),
        Decision(unsure=("bees",)),
    ],
)
def test_what_is_said_without_a_label_comes_again_last(desk, decision):
    desk.queues.set("ada", QueueChoice("random"))
    desk.queues.set("bo", QueueChoice("random"))
    first = next_for(desk, "ada")
    undone = decide_on(desk, first, decision, {}, "ada")
    undo_for(desk, "ada", undone.number)
    assert next(desk.queues.in_turn("ada")) == first
    onward = decide_on(desk, first, decision, {}, "ada").next
    assert desk.state.waits(first)
    assert next(desk.queues.in_turn("bo")) == first
    with Desk(desk.folder, begin=False) as again:  # so it is by the log, too
        assert list(again.queues.in_turn("ada"))[-1] == first
    shown = []
    while onward is not None and onward != first:
        shown.append(onward)
        onward = say_at(desk, onward, "bees").next
    assert (len(shown), onward) == (9, first)


def test_a_note_leaves_a_document_aside(desk):
    say_at(desk, "b1", aside=True)
    note_on(desk, "b1", "ask the archive", "bo")
    skip_for(desk, "b1", "bo")
    assert desk.store.aside() == {"b1"}
    assert desk.state.aside == {"b1"}
    assert lay_out(desk, "b1", "bo").aside
    require_replayed(desk.store)


def test_an_unknown_document_is_refused(desk):
    for act in (
        lambda: say_at(desk, "nowhere", "bees"),
        lambda: skip_for(desk, "nowhere", "ada"),
        lambda: note_on(desk, "nowhere", "x", "ada"),
        lambda: lay_out(desk, "nowhere", "ada"),
    ):
        with pytest.raises(Mistake, match="no document 'nowhere'"):
            act()
    assert Path(desk.folder).is_dir()
