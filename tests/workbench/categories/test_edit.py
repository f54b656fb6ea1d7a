"""Categories live on: their documents follow, and every change can be taken back."""

import json
import sqlite3

import pytest

from classmark.problems import Mistake
from classmark.taxonomy.category import DEPRECATED, Category
from classmark.workbench.categories import edit
from classmark.workbench.categories.browse import show_taxonomy
from classmark.workbench.deciding.decide import Decision, decide
from classmark.workbench.project import STORE, Project
from classmark.workbench.store.log import LogReplay
from classmark.workbench.store.store import Act, Store
from classmark.workbench.store.undo import undo
from older_stores import empty_older_store
from projects import new_project


@pytest.fixture
def project(tmp_path, any_store):
    tree = [
        Category("life"),
        Category("bees", "Bees", parents=("life",)),
        Category("wasps", parents=("life",)),
        Category("hornets", parents=("wasps",)),
    ]
    texts = {f"d{i}": "t" for i in range(4)}
    folder = new_project(tmp_path / "shelf", texts, tree, store=any_store())
    with Project(folder) as opened:
        yield opened


def say(project, document, **acts):
    return decide(project, document, Decision(**acts), {}).numbers


def named(project):
    return {c.id: c.parents for c in project.store.categories()}


def state(project):
    store = project.store
    return store.categories(), list(store.records())


def test_add_puts_a_category_in_its_place(project):
    new = Category("ants", "Ants", "Six legs.", parents=("life",))
    logged = edit.add(project, new, who="eve")
    assert project.store.categories()[-1] == new
    (entry,) = project.store.log(logged.numbers[0] - 1)
    assert (entry.act, entry.document) == ("add", None)
    assert entry.numbers[0] == project.store.number_of("ants")
    undo(project, logged.numbers[0])
    assert "ants" not in named(project)


def test_rename_takes_documents_daughters_and_the_past_along(project):
    say(project, "d0", assign=("wasps",))
    before = max(entry.seq for entry in project.store.log())
    logged = edit.rename(project, "wasps", new_id="vespids", label="Wasps")
    assert project.store.labels() == {"d0": {"vespids": 1.0}}
    assert named(project)["hornets"] == ("vespids",)
    entries = {entry.seq: entry for entry in project.store.log()}
    number = project.store.number_of("vespids")
    assert entries[before].numbers[0] == number, "which never changes"
    assert entries[logged.numbers[0]].numbers[0] == number
    (again,) = project.store.log(before)
    assert again == entries[logged.numbers[0]]
    edit.add(project, Category("wasps"))
    with pytest.raises(Mistake, match="another category has its id now"):
        undo(project, logged.numbers[0])


def test_a_merge_carries_over_what_was_said(project):
    say(project, "d0", assign=("wasps",), reject=("bees",))
    say(project, "d1", primary=("wasps",), assign=("bees",))
    say(project, "d2", unsure=("wasps",), over=(("wasps", "life"),))
    say(project, "d3", reject=("wasps",), over=(("wasps", "bees"),))
    before = state(project)
    logged = edit.merge(project, "wasps", "bees")
    kept = {record.id: record for record in project.store.records()}
    assert kept["d0"].labels == {"bees": 1.0}, "in the one, so in both together"
    assert kept["d1"].primary == {"bees"}
    assert kept["d2"].unsure == {"bees"}
    assert kept["d2"].preferences == {("bees", "life"): 1.0}
    assert kept["d3"].rejected == frozenset(), "not the one is not: not both"
    assert kept["d3"].preferences == {}
    assert named(project) == {"life": (), "bees": ("life",), "hornets": ("bees",)}
    with pytest.raises(Mistake, match="merged into 'bees': use that"):
        say(project, "d0", assign=("wasps",))
    undo(project, logged.numbers[0])
    assert state(project) == before


def test_later_decisions_outlive_an_undone_merge(project):
    first = say(project, "d0", assign=("wasps",))[0]
    logged = edit.merge(project, "wasps", "bees")
    with pytest.raises(Mistake, match="'wasps', which no longer exists"):
        undo(project, first)
    say(project, "d0", reject=("bees",))
    back = undo(project, logged.numbers[0])
    assert project.store.labels() == {"d0": {"wasps": 1.0}}
    say(project, "d1", assign=("wasps",))
    with pytest.raises(Mistake, match=r"is in use \(2 labels\)"):
        undo(project, back.numbers[0])
    assert project.store.labels()["d1"] == {"wasps": 1.0}, "nothing is lost"


def test_a_split_takes_the_named_documents(project):
    for document in ("d0", "d1", "d2"):
        say(project, document, assign=("wasps",))
    before = state(project)
    new = Category("mud daubers", "Mud daubers")
    logged = edit.split(project, "wasps", new, ["d0", "d2", "d0"])
    assert project.store.labels() == {
        "d0": {"mud daubers": 1.0},
        "d1": {"wasps": 1.0},
        "d2": {"mud daubers": 1.0},
    }
    assert named(project)["mud daubers"] == ("life",), "a sister"
    back = undo(project, logged.numbers[0])
    assert state(project) == before
    undo(project, back.numbers[0])
    assert set(project.store.labels()["d2"]) == {"mud daubers"}
    say(project, "d3", assign=("mud daubers",))
    with pytest.raises(Mistake, match="merge it into another, or retire it"):
        undo(project, logged.numbers[0])


def test_move_and_retire_are_undone_alone(project):
    moved = edit.move(project, "hornets", "bees").numbers[0]
    retired = edit.retire(project, "hornets").numbers[0]
    with pytest.raises(Mistake, match="'hornets' is retired"):
        say(project, "d0", assign=("hornets",))
    undo(project, moved)
    assert named(project)["hornets"] == ("wasps",)
    assert project.store.categories()[-1].status == DEPRECATED
    undo(project, retired)
    say(project, "d0", assign=("hornets",))


def test_an_act_that_another_rests_on_is_not_undone_alone(project):
    first = edit.rename(project, "bees", label="Honey bees").numbers[0]
    second = edit.rename(project, "bees", label="Bees").numbers[0]
    with pytest.raises(Mistake, match=f"undo {second} first"):
        undo(project, first)
    up = edit.move(project, "wasps", None).numbers[0]
    edit.move(project, "life", "wasps")
    with pytest.raises(Mistake, match=rf"act {up} \(move\).*cycle"):
        undo(project, up)
    undo(project, second)
    undo(project, first)
    assert project.store.categories()[1].label == "Bees"


@pytest.mark.parametrize(
    ("change", "wrong"),
    [
        (lambda p: edit.add(p, Category("bees")), "already a category"),
        (lambda p: edit.add(p, Category("  ")), "needs an id"),
        (
            lambda p: edit.add(p, Category("ox", parents=("no",))),
            "no category 'no'",
        ),
        (lambda p: edit.rename(p, "bees", new_id="wasps"), "use merge"),
        (lambda p: edit.rename(p, "bees"), "a new label, a new id, or both"),
        (lambda p: edit.rename(p, "bees", label="Bees"), "already so"),
        (lambda p: edit.merge(p, "bees", "bees"), "into itself"),
        (lambda p: edit.merge(p, "life", "bees"), "lower one into the upper"),
        (lambda p: edit.move(p, "life", "bees"), "cycle"),
        (lambda p: edit.move(p, "life", "nowhere"), "no category 'nowhere'"),
        (lambda p: edit.retire(p, "nowhere"), "no category 'nowhere'"),
        (
            lambda p: edit.split(p, "bees", Category("x"), ["d0"]),
            "'d0' is not in 'bees'",
        ),
        (lambda p: edit.split(p, "bees", Category("x"), []), "select some"),
        (
            lambda p: edit.split(p, "bees", Category("x"), ["d9"]),
            "no document 'd9'",
        ),
    ],
)
def test_what_cannot_be_leaves_no_trace(project, change, wrong):
    before = [*project.store.log()], state(project)
    with pytest.raises(Mistake, match=wrong):
        change(project)
    assert ([*project.store.log()], state(project)) == before


def test_a_retired_category_is_not_learned_unless_it_is_in_use(project):
    from classmark.workbench.learning.fit import collected, labelled

    say(project, "d0", assign=("bees",))
    say(project, "d1", assign=("hornets",))
    edit.retire(project, "hornets")
    assert collected(project, labelled(project)).categories == ["bees", "hornets"]
    edit.add(project, Category("ants"))
    assert "ants" in collected(project, labelled(project)).categories
    edit.retire(project, "ants")
    assert "ants" not in collected(project, labelled(project)).categories
    assert len(show_taxonomy(project).rows) == 5, "it is still in the tree"


def version_2(path):
    with empty_older_store(path, 2) as old:
        for name in ("d1", "d2"):
            old.execute(
                "INSERT INTO documents (id, fields, added) VALUES (?, '{}', '')",
                (name,),
            )
        for name, parents in (("b", []), ("a", []), ("c", ["a", "b"])):
            old.execute(
                "INSERT INTO categories (id, label, parents) VALUES (?, ?, ?)",
                (name, name.upper(), json.dumps(parents)),
            )
        for act in (
            ("d1", "assign", "a", None, 2.0),
            ("d1", "assign", "b", None, 1.0),
            ("d1", "remove", "b", None, None),
            ("d2", "prefer", "c", "a", 3.0),
        ):
            old.execute(
                "INSERT INTO judgments (at, who, document, act, category, other, "
                "grade, rank) VALUES ('t', 'eve', ?, ?, ?, ?, ?, 4)",
                act,
            )
    old.close()


def test_a_version_2_store_is_brought_up_to_date(tmp_path):
    path = tmp_path / STORE
    version_2(path)
    with Store(path) as store:
        assert store.categories() == [
            Category("b", "B"),
            Category("a", "A"),
            Category("c", "C", parents=("a", "b")),
        ]
        assert store.labels() == {"d1": {"a": 2.0}}
        assert store.preferences() == {"d2": {("c", "a"): 3.0}}
        entries = list(store.log())
        assert [entry.seq for entry in entries] == [0, 1, 2, 3, 4]
        replay = LogReplay(entries)
        assert list(replay.names.values()) == ["b", "a", "c"]
        assert replay.judged(store.record("d1")).labels == {"a": 2.0}
        assert store.judge([Act("d2", "assign", "c", 1.0)], "eve") == [5]
        found = store.run("SELECT at, who, rank FROM judgments WHERE seq = 4")
        assert found.fetchone() == ("t", "eve", 4)
        assert store.run("PRAGMA foreign_key_check").fetchall() == []
        with pytest.raises(sqlite3.IntegrityError, match="append-only"):
            store.run("DELETE FROM judgments")
    with Store(path) as store:
        assert store.labels() == {"d1": {"a": 2.0}, "d2": {"c": 1.0}}


def test_an_empty_version_2_store_is_brought_up_to_date(tmp_path):
    path = tmp_path / STORE
    empty_older_store(path, 2).close()
    with Store(path) as store:
        assert list(store.log()) == []
        assert store.put_categories([Category("a")]) == 1
        assert [entry.seq for entry in store.log()] == [1]
