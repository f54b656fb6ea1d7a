"""The history: filters, pages, corrections, and taking back a whole range."""

from contextlib import suppress
from itertools import pairwise

import numpy as np
import pytest

from classmark.corpus.documents import Document
from classmark.formats.records import Record
from classmark.problems import Mistake
from classmark.taxonomy.category import Category
from classmark.workbench.categories import edit
from classmark.workbench.deciding.decide import (
    Decision,
    Seen,
    decide_on,
    note_on,
    skip_for,
    undo_for,
)
from classmark.workbench.deciding.history import (
    HistoryFilter,
    correct,
    line_of,
    look_at_range,
    past,
    undo_range,
    values_of,
)
from classmark.workbench.store.log import LogReplay, require_replayed
from projects import new_desk

NAMES = ("bees", "bread", "candles", "wax")
IDS = [f"d{n}" for n in range(6)]


@pytest.fixture
def desk(tmp_path, any_store):
    """Six documents, four categories, nothing decided."""
    rows = [{"id": id_, "title": f"Note {id_}", "text": "hive and oven"} for id_ in IDS]
    tree = [Category(name, name.title()) for name in NAMES]
    with new_desk(tmp_path / "shelf", rows, tree, store=any_store()) as desk:
        yield desk


def say(desk, who, document, seen=None, **said):
    saved = decide_on(desk, document, Decision(**said), seen or {}, who)
    return saved.numbers


def standing(desk):
    return {id_: desk.store.standing(id_).get(id_, {}) for id_ in IDS}


def numbers(page):
    return [line.number for line in page.lines]


def test_a_line_tells_who_when_and_what_was_seen(desk):
    seen = {"bees": Seen("000007", 3, 0.25)}
    (first,) = say(desk, "ada", "d1", seen, primary=("bees",), note="a hive")
    (line,) = past(desk, HistoryFilter(document="d1")).lines
    assert (line.number, line.who, line.act, line.category) == (
        first, "ada", "primary", "bees",
    )  # fmt: skip
    assert (line.model, line.rank, line.score, line.note) == (
        "000007", 3, 0.25, "a hive",
    )  # fmt: skip
    assert (line.title, line.holds, line.again) == ("Note d1", True, None)
    undoing = undo_for(desk, "ada", first).number
    line = line_of(desk, first)
    assert (line.undone, line.holds, line.again) == (True, False, undoing)
    again = undo_for(desk, "bo", line.again).number
    assert line_of(desk, first).holds
    undo_for(desk, "bo", first)
    assert line_of(desk, first).again > again


def test_filters_are_those_of_a_plain_look(desk):
    rng = np.random.default_rng(5)
    for _ in range(60):
        who, document = str(rng.choice(["ada", "bo"])), str(rng.choice(IDS))
        name = str(rng.choice(NAMES))
        kind = str(rng.choice(["assign", "reject", "skip", "note", "undo", "over"]))
        try:
            if kind == "skip":
                skip_for(desk, document, who)
            elif kind == "note":
                note_on(desk, document, "a word", who)
            elif kind == "undo":
                undo_for(desk, who)
            elif kind == "over":
                say(desk, who, document, over=((name, str(rng.choice(NAMES))),))
            else:
                say(desk, who, document, **{kind: (name,)})
        except Mistake:
            continue
    everything = past(desk, top=200).lines
    assert values_of(desk, "who") == sorted({line.who for line in everything})
    assert values_of(desk, "act") == sorted({line.act for line in everything})
    day = everything[0].at[:10]
    for wanted, test in {
        HistoryFilter(who="ada"): lambda line: line.who == "ada",
        HistoryFilter(act="skip", who="bo"): lambda line: (
            (line.act, line.who) == ("skip", "bo")
        ),
        HistoryFilter(document="d2"): lambda line: line.document == "d2",
        HistoryFilter(category="wax"): lambda line: (
            "wax" in (line.category, line.other)
        ),
        HistoryFilter(state="undone"): lambda line: line.undone,
        HistoryFilter(state="holds"): lambda line: not line.undone,
        HistoryFilter(since=day, until=day): lambda _: True,
        HistoryFilter(until="2000-01-01"): lambda _: False,
        HistoryFilter(since="2999-01-01"): lambda _: False,
    }.items():
        found = past(desk, wanted, top=200).lines
        assert list(found) == [line for line in everything if test(line)], wanted
    assert {line.act for line in everything} >= {"skip", "note", "undo", "prefer"}


def test_pages_follow_each_other(desk):
    for id_ in IDS:
        say(desk, "ada", id_, assign=("bees", "wax"))
    whole = numbers(past(desk, top=200))
    pages, before = [], None
    while True:
        found = past(desk, before=before, top=4)
        pages.append(numbers(found))
        before = found.older
        if before is None:
            break
    assert [n for page in pages for n in page] == whole
    assert all(len(page) == 4 for page in pages[:-1])
    assert all(one > other for one, other in pairwise(whole))


def test_what_cannot_be_asked_for(desk):
    with pytest.raises(Mistake, match="give a day as YYYY-MM-DD"):
        past(desk, HistoryFilter(since="yesterday"))
    with pytest.raises(Mistake, match="until is '9999-12-31'"):
        past(desk, HistoryFilter(until="9999-12-31"))
    with pytest.raises(Mistake, match="use holds or undone"):
        past(desk, HistoryFilter(state="gone"))
    with pytest.raises(Mistake, match="enter 1 to 200"):
        past(desk, top=0)
    with pytest.raises(Mistake, match="no act 99"):
        line_of(desk, 99)


def test_a_correction_is_a_new_act(desk):
    first, second = say(desk, "ada", "d1", assign=("bees",), primary=("wax",))
    saved = correct(desk, second, "bread", "bo", "not wax")
    record = desk.store.record("d1")
    assert (record.labels, record.primary) == ({"bees": 1.0, "bread": 2.0}, {"bread"})
    assert len(saved.numbers) == 2
    correct(desk, first, "candles", "bo")
    assert set(desk.store.record("d1").labels) == {"candles", "bread"}
    for number, category, problem in (
        (saved.numbers[0], "wax", "cannot be corrected"),
        (first, "bees", "already has the category bees"),
        (first, "Honey", "there is none: give its id"),
        (10_000, "wax", "no act 10000"),
    ):
        with pytest.raises(Mistake, match=problem):
            correct(desk, number, category, "bo")
    correct(desk, saved.numbers[1], " Wax ", "bo")
    assert "wax" in desk.store.record("d1").labels


def test_a_look_at_a_range_changes_nothing_and_tells_what_would(desk):
    say(desk, "ada", "d1", assign=("bees",))
    (first,) = say(desk, "ada", "d2", assign=("bread",))
    say(desk, "bo", "d1", assign=("wax",), remove=("bees",))
    (last,) = say(desk, "ada", "d3", assign=("wax",))
    before, lines = standing(desk), numbers(past(desk))
    found = look_at_range(desk, first, last)
    assert (standing(desk), numbers(past(desk))) == (before, lines)
    told = {each.document: (each.goes, each.comes) for each in found.changes}
    assert told == {
        "d1": (("wax",), ("bees",)),
        "d2": (("bread",), ()),
        "d3": (("wax",), ()),
    }
    done = undo_range(desk, first, last, "cy")
    assert (done.acts, done.changes, done.problem) == (found.acts, found.changes, "")
    assert len(past(desk).lines) == len(lines) + done.written
    assert desk.store.labels() == {"d1": {"bees": 1.0}}
    require_replayed(desk.store)


def test_a_range_of_one_person_leaves_the_others(desk):
    (first,) = say(desk, "ada", "d1", assign=("bees",))
    say(desk, "bo", "d2", assign=("bread",))
    (last,) = say(desk, "ada", "d3", assign=("wax",))
    undo_range(desk, first, last, "cy", HistoryFilter(who="ada"))
    assert desk.store.labels() == {"d2": {"bread": 1.0}}


def test_a_range_with_acts_on_categories(desk):
    say(desk, "ada", "d1", assign=("wax",))
    with desk.writing() as project:
        (first, *_) = edit.merge(project, "wax", "candles", who="ada").numbers
        edit.rename(project, "candles", new_id="lights", who="ada")
    (last,) = say(desk, "ada", "d2", assign=("lights",))
    found = undo_range(desk, first, last, "bo")
    assert found.on_categories == 2
    assert desk.store.labels() == {"d1": {"wax": 1.0}}
    assert set(desk.categories) == set(NAMES)
    require_replayed(desk.store)


def test_a_range_that_cannot_be_is_refused_whole(desk):
    with desk.writing() as project:
        first, *_ = edit.add(project, Category("honey"), who="ada").numbers
    say(desk, "bo", "d1", assign=("honey",))
    before = numbers(past(desk))
    look = look_at_range(desk, first, first)
    assert "cannot be undone" in look.problem
    with pytest.raises(Mistake, match="cannot be undone"):
        undo_range(desk, first, first, "ada")
    assert numbers(past(desk)) == before
    with pytest.raises(Mistake, match="nothing to undo"):
        undo_range(desk, 900, 999, "ada")
    with pytest.raises(Mistake, match="the first number must be the lower"):
        undo_range(desk, 3, 2, "ada")


def without(desk, first, last):
    """What would stand, had the acts of a range never been said."""
    kept, dropped = [], set()
    for entry in desk.store.log():
        inside = first <= entry.seq <= last and entry.within is None
        if (inside and entry.act != "import") or entry.within in dropped:
            dropped.add(entry.seq)
        else:
            kept.append(entry)
    replay = LogReplay(kept)
    return {id_: replay.judged(Record(Document(id_, {}))) for id_ in IDS}


def act_at_random(desk, rng):
    who, document = str(rng.choice(["ada", "bo"])), str(rng.choice(IDS))
    one, other = map(str, rng.choice(NAMES, size=2, replace=False))
    kind = rng.integers(6)
    if kind == 0:
        say(desk, who, document, assign=(one,), primary=(other,))
    elif kind == 1:
        say(desk, who, document, assign=(one,), remove=(other,))
    elif kind == 2:
        say(desk, who, document, reject=(one,), over=((other, one),))
    elif kind == 3:
        number = int(rng.choice(numbers(past(desk))))
        if line_of(desk, number).act != "import":  # all documents would go
            undo_for(desk, who, number)
    else:
        undo_for(desk, who)


@pytest.mark.parametrize("seed", range(6))
def test_taking_back_a_range_is_as_if_it_had_never_been_said(desk, seed):
    rng = np.random.default_rng(seed)
    for _ in range(70):
        with suppress(Mistake):
            act_at_random(desk, rng)
    lines = numbers(past(desk, top=200))
    first, last = sorted(rng.choice(lines[:-1], size=2).tolist())
    expected = without(desk, first, last)
    if "nothing to undo" not in look_at_range(desk, first, last).problem:
        assert undo_range(desk, first, last, "cy").written
    for id_, said in expected.items():
        now = desk.store.record(id_)
        assert now.labels == said.labels
        assert (now.primary, now.rejected) == (said.primary, said.rejected)
        assert now.preferences == said.preferences
    require_replayed(desk.store)
