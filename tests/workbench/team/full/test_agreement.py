"""Two people on one project: opinions, disagreements, agreement, settlements."""

import math

import numpy as np
import pytest
from sklearn.metrics import cohen_kappa_score

from classmark.problems import Mistake
from classmark.workbench.categories import edit
from classmark.workbench.deciding.decide import (
    Decision,
    decide_on,
    note_on,
    settle,
    skip_for,
    undo_for,
)
from classmark.workbench.deciding.history import undo_range
from classmark.workbench.deciding.opinions import (
    differing,
    disagreements,
    opinions,
    readings,
)
from classmark.workbench.store.log import Act, require_replayed
from classmark.workbench.team.agreement import agreement, to_read_again
from oracles import agreement as slow_alpha
from oracles import progress as slow
from projects import new_desk

NAMES = ("bees", "bread", "candles", "wax")


@pytest.fixture
def desk(tmp_path, any_store):
    """Twelve documents, four categories, nothing decided."""
    texts = {f"d{n}": f"a note of hive and oven {n}" for n in range(12)}
    with new_desk(tmp_path / "shelf", texts, NAMES, store=any_store()) as desk:
        yield desk


def say(desk, who, document, *labels, **more):
    decide_on(desk, document, Decision(tuple(labels), **more), {}, who)


def labels_of(desk, document):
    return set(desk.store.record(document).labels)


def test_each_ones_last_word_is_their_opinion(desk):
    say(desk, "ada", "d1", "bees", "bread")
    say(desk, "bo", "d1", "wax", reject=("bees",), note="no hive")
    say(desk, "ada", "d1", primary=("bees",), remove=("bread",))
    ada, bo = opinions(desk, "d1")
    assert (ada.who, ada.labels, ada.primary) == ("ada", {"bees"}, {"bees"})
    assert (ada.refused, ada.main) == ({"bread"}, "bees")
    assert (bo.labels, bo.refused, bo.notes) == ({"wax"}, {"bees"}, ("no hive",))
    assert labels_of(desk, "d1") == {"bees", "wax"}
    assert ada.number > bo.number


def test_what_is_undone_is_no_opinion(desk):
    say(desk, "ada", "d1", "bees")
    say(desk, "ada", "d1", "bread", remove=("bees",))
    undo_for(desk, "ada")
    (ada,) = opinions(desk, "d1")
    assert ada.labels == {"bees"}
    assert not ada.refused
    with pytest.raises(Mistake, match="no document 'd99'"):
        opinions(desk, "d99")


def test_disagreements_are_where_labels_differ(desk):
    say(desk, "ada", "d1", "bees")
    say(desk, "bo", "d1", "bees")
    say(desk, "ada", "d2", "bees", "bread")
    say(desk, "bo", "d2", "bees")
    say(desk, "ada", "d3", "wax")
    say(desk, "bo", "d3", reject=("bread",))
    say(desk, "ada", "d4", "wax")
    say(desk, "bo", "d4", reject=("wax",))
    say(desk, "ada", "d5", "wax")
    found = disagreements(desk)
    assert [(each.document, each.over) for each in found] == [
        ("d2", ("bread",)),
        ("d4", ("wax",)),
    ]
    assert found[0].people == ("ada", "bo")
    assert labels_of(desk, "d2") == {"bees", "bread"}


def test_imported_labels_are_no_reading(desk):
    with desk.writing() as project:
        project.store.judge([Act("d1", "assign", "wax", 1.0)], "ada (import)")
    say(desk, "bo", "d1", "bees")
    assert [each.imported for each in opinions(desk, "d1")] == [True, False]
    assert disagreements(desk) == []
    assert agreement(desk).documents == 0


def test_a_settlement_decides_what_stands_and_can_be_undone(desk):
    say(desk, "ada", "d1", "bees", "bread")
    say(desk, "bo", "d1", "wax")
    seen = disagreements(desk)[0].number
    logged = settle(desk, "d1", {"bread": False, "candles": True}, "cy", "agreed", seen)
    record = desk.store.record("d1")
    assert record.labels == {"bread": 1.0, "candles": 2.0}
    assert disagreements(desk) == []
    assert [each.who for each in opinions(desk, "d1")] == ["ada", "bo"]
    require_replayed(desk.store)
    undo_for(desk, "cy")
    assert labels_of(desk, "d1") == {"bees", "bread", "wax"}
    assert len(disagreements(desk)) == 1
    require_replayed(desk.store)
    settle(desk, "d1", {"wax": False}, "cy")
    assert labels_of(desk, "d1") == {"wax"}
    say(desk, "ada", "d1", "bees")
    assert [each.document for each in disagreements(desk)] == ["d1"]
    assert len(logged.numbers) == 1 + 3  # bread stood: candles come, two go


def test_what_is_settled_is_not_aside_any_more(desk):
    store = desk.store
    say(desk, "ada", "d1", "bread")
    say(desk, "bo", "d1", "wax")
    decide_on(desk, "d1", Decision(aside=True), None, "bo")
    assert desk.state.aside == store.aside() == {"d1"}
    logged = settle(desk, "d1", {"wax": False}, "cy")
    assert desk.state.aside == store.aside() == set()
    undo_for(desk, "cy", logged.numbers[0])
    assert desk.state.aside == store.aside() == {"d1"}
    assert set(store.record("d1").labels) == {"bread", "wax"}
    require_replayed(store)


def test_settlements_that_cannot_be(desk):
    say(desk, "ada", "d1", "bees")
    say(desk, "bo", "d1", "wax")
    seen = disagreements(desk)[0].number
    with pytest.raises(Mistake, match="nothing was chosen"):
        settle(desk, "d1", {}, "cy")
    with pytest.raises(Mistake, match="no category 'honey'"):
        settle(desk, "d1", {"honey": False}, "cy")
    say(desk, "bo", "d1", "bread")
    with pytest.raises(Mistake, match=r"bo has decided on it meanwhile \(assign\)"):
        settle(desk, "d1", {"wax": False}, "cy", version=seen)
    assert len(disagreements(desk)) == 1


def test_a_merge_moves_labels_but_not_whose_opinion_it_is(desk):
    say(desk, "ada", "d1", "wax")
    say(desk, "bo", "d1", "candles")
    assert disagreements(desk)
    with desk.writing() as project:
        edit.merge(project, "wax", "candles", who="cy")
    ada, bo = opinions(desk, "d1")
    assert ada.labels == bo.labels == {"candles"}
    assert disagreements(desk) == []


def test_second_readings_are_of_what_others_decided(desk):
    for n in range(6):
        say(desk, "ada", f"d{n}", "bees")
    say(desk, "bo", "d0", "bees")
    with desk.writing() as project:
        project.store.judge([Act("d9", "assign", "wax", 1.0)], "ada (import)")
    found = to_read_again(desk, "bo")
    assert set(found) == {f"d{n}" for n in range(1, 6)}
    assert found == to_read_again(desk, "bo")
    assert to_read_again(desk, "bo", 2) == found[:2]
    assert to_read_again(desk, "ada") == []


def test_agreement_is_that_of_scikit_learn_and_the_oracle(desk):
    rng = np.random.default_rng(7)
    said = {"ada": {}, "bo": {}, "cy": {}}
    for who, mine in said.items():
        for n in range(12):
            if who == "cy" and n % 3:
                continue
            many = int(rng.integers(1, 3))
            chosen = sorted(rng.choice(NAMES, size=many, replace=False).tolist())
            if n % 2 == 0 and who != "ada":
                chosen = said["ada"][f"d{n}"]
            mine[f"d{n}"] = chosen
            say(desk, who, f"d{n}", *chosen)
    found = agreement(desk)
    assert (found.people, found.documents) == (("ada", "bo", "cy"), 12)
    ids = [f"d{n}" for n in range(12)]
    sets = [
        [frozenset(mine[i]) if i in mine else None for i in ids]
        for mine in said.values()
    ]
    assert found.masi == pytest.approx(slow_alpha.alpha(sets, slow_alpha.masi))
    assert found.jaccard == pytest.approx(slow_alpha.alpha(sets, slow_alpha.jaccard))
    pair = found.pairs[0]
    used = sorted({c for who in ("ada", "bo") for s in said[who].values() for c in s})
    a, b = (
        [name in said[who][i] for i in ids for name in used] for who in ("ada", "bo")
    )
    assert pair.kappa == pytest.approx(cohen_kappa_score(a, b))
    assert pair.same == sum(said["ada"][i] == said["bo"][i] for i in ids)
    one = [i for i in ids if len(said["ada"][i]) == len(said["bo"][i]) == 1]
    expected = cohen_kappa_score(
        *([said[who][i][0] for i in one] for who in ("ada", "bo"))
    )
    assert (pair.main, pair.kappa_main) == (len(one), pytest.approx(expected))
    parted = {each.category: (each.both, each.one) for each in found.categories}
    pairs = [("ada", "bo"), ("ada", "cy"), ("bo", "cy")]
    for name in used:
        both = one_of = 0
        for p, q in pairs:
            for i in said[p].keys() & said[q].keys():
                has = (name in said[p][i]) + (name in said[q][i])
                both, one_of = both + (has == 2), one_of + (has == 1)
        assert parted[name] == (both, one_of)


def test_nothing_read_twice_is_not_defined(desk):
    say(desk, "ada", "d1", "bees")
    found = agreement(desk)
    assert (found.documents, found.open, found.pairs) == (0, 0, ())
    assert math.isnan(found.masi)
    assert differing([]) == ()


def test_opinions_are_those_of_a_slow_replay(desk):
    rng = np.random.default_rng(11)
    for _ in range(120):
        who, document = rng.choice(["ada", "bo", "cy"]), f"d{rng.integers(4)}"
        act = rng.choice(["assign", "primary", "reject", "unsure", "remove", "undo"])
        name = str(rng.choice(NAMES))
        try:
            if act == "undo":
                undo_for(desk, str(who))
            elif rng.random() < 0.1:
                settle(desk, document, {name: False}, str(who))
            else:
                said = Decision(**{str(act): (name,)})
                decide_on(desk, document, said, {}, str(who))
        except Mistake:
            continue
    store = desk.store
    number = {name: store.number_of(name) for name in NAMES}
    checked = 0
    for document in ("d0", "d1", "d2", "d3"):
        expected = slow.opinions(store, document)
        found = {each.who: each for each in opinions(desk, document)}
        assert found.keys() == expected.keys()
        for who, said in expected.items():
            by = {
                "labels": {"assign", "primary"},
                "primary": {"primary"},
                "refused": {"reject", "remove"},
                "unsure": {"unsure"},
            }
            for field, kinds in by.items():
                want = {n for n in NAMES if said.get(number[n]) in kinds}
                assert getattr(found[who], field) == want, (document, who, field)
                checked += len(want)
    assert checked > 20
    assert set(readings(store)) == {
        d for d in ("d0", "d1", "d2", "d3") if len(slow.opinions(store, d)) > 1
    }


def test_a_note_does_not_stop_a_settlement(desk):
    say(desk, "ada", "d1", "bees")
    say(desk, "bo", "d1", "wax")
    seen = disagreements(desk)[0].number
    note_on(desk, "d1", "look at the third page", "bo")
    settle(desk, "d1", {"wax": False}, "cy", version=seen)
    assert labels_of(desk, "d1") == {"wax"}


def test_a_decision_while_a_settlement_is_written_stops_it(desk, monkeypatch):
    say(desk, "ada", "d1", "bees")
    say(desk, "bo", "d1", "wax")
    seen = disagreements(desk)[0].number
    write = type(desk).write

    def overtaken(self, act):
        monkeypatch.undo()
        say(desk, "bo", "d1", "bread")
        return write(self, act)

    monkeypatch.setattr(type(desk), "write", overtaken)
    with pytest.raises(Mistake, match="bo has decided on it meanwhile"):
        settle(desk, "d1", {"wax": False}, "cy", version=seen)
    assert labels_of(desk, "d1") == {"bees", "wax", "bread"}


@pytest.mark.parametrize("how", ["settle", "undo a range"])
def test_every_part_of_the_desk_follows(desk, how):
    say(desk, "ada", "d1", "bees")
    say(desk, "bo", "d1", "wax")
    skipped = skip_for(desk, "d2", "cy")
    record = desk.store.record("d3")
    ((example, _),) = desk.examples.near(desk, "wax", record)
    assert example == "d1"
    for document in ("d1", "d2"):
        assert desk.claims.take(document, "cy")
    if how == "settle":
        settle(desk, "d1", {"bees": False}, "cy")
    else:
        undo_range(desk, 1, skipped.number, "cy")
        assert "d2" not in list(desk.queues.in_turn("cy"))[-1:]
        assert desk.claims.holder("d2") == ""
    assert desk.claims.holder("d1") == ""
    assert desk.examples.near(desk, "wax", record) == ()
