"""The taxonomy as people read it: levels, counts, ranks, and changes foreseen."""

import pytest

from classmark.problems import Mistake
from classmark.taxonomy.category import DEPRECATED, Category
from classmark.workbench.categories import browse, edit
from classmark.workbench.categories.browse import (
    branch_counts,
    level_of,
    node_of,
    overview,
    ranked_by_log,
    tree_to,
)
from classmark.workbench.categories.edit import TaxonomyChange, carry_out, foresee
from classmark.workbench.deciding.decide import Decision, Seen, decide
from classmark.workbench.project import Project
from classmark.workbench.store import state
from classmark.workbench.store.undo import undo
from classmark.workbench.team.desk import Desk
from projects import new_project

TREE = [
    Category("life", "Life"),
    Category("bees", "Bees", "Hives.", parents=("life",), guideline="Look for wings."),
    Category("wasps", "Wasps", parents=("life",)),
    Category("hornets", "Hornets", parents=("wasps", "crafts")),
    Category("crafts", "Crafts"),
    Category("old", "Old", parents=("crafts",), status=DEPRECATED),
]


@pytest.fixture
def desk(tmp_path):
    rows = [
        {"id": f"d{at}", "title": f"Title {at}", "text": "some words"}
        for at in range(8)
    ]
    with Project(new_project(tmp_path / "shelf", rows, TREE)) as project:
        say(project, "d0", "bees")
        say(project, "d1", "bees", "wasps")
        say(project, "d2", "hornets")
    with Desk(tmp_path / "shelf") as desk:
        yield desk


def say(project, document, *names, rank=None, **acts):
    seen = {name: Seen("m", rank, 0.5) for name in (*names, *acts.get("reject", ()))}
    return decide(project, document, Decision(names, **acts), seen)


def change_by_eve(desk, *change, **more):
    wanted = TaxonomyChange(*change, **more)
    return desk.write(lambda project: carry_out(project, wanted, "eve"))


def slowly(desk):
    """Category → documents here, and with all below: counted one by one."""
    here, below = {}, {}
    for document, labels in desk.store.labels().items():
        for name in labels:
            here.setdefault(name, set()).add(document)
            for node in desk.tree.path(name):
                below.setdefault(node, set()).add(document)
    return (
        {name: len(found) for name, found in here.items()},
        {name: len(found) for name, found in below.items()},
    )


def test_counts_are_those_of_looking_at_every_document(desk):
    here, below = slowly(desk)
    assert dict(desk.state.counts) == here
    assert (
        branch_counts(desk) == below == {"life": 3, "bees": 2, "wasps": 2, "hornets": 1}
    )


@pytest.mark.parametrize("many", [2000, 0])
def test_counts_follow_every_act(desk, monkeypatch, many):
    monkeypatch.setattr(state, "MANY", many)
    assert desk.state is desk.state
    with desk.writing() as project:
        say(project, "d3", "wasps")
        last = say(project, "d0", remove=("bees",)).numbers[-1]
    assert dict(desk.state.counts) == slowly(desk)[0]
    with desk.writing() as project:
        undo(project, last)
    assert dict(desk.state.counts) == slowly(desk)[0]
    change_by_eve(desk, "merge", "wasps", "bees")
    assert dict(desk.state.counts) == slowly(desk)[0]
    assert branch_counts(desk) == slowly(desk)[1]
    change_by_eve(desk, "rename", "bees", id="apids")
    assert desk.state.counts["apids"] == 3
    assert desk.state.documents["apids"][-1] in {"d0", "d3", "d1"}


def test_levels_open_one_by_one(desk, monkeypatch):
    monkeypatch.setattr(browse, "AT_ONCE", 1)
    first = level_of(desk)
    assert [(t.category.id, t.daughters) for t in first.twigs] == [("crafts", 2)]
    assert (first.after, first.left, first.next) == (0, 1, 1)
    second = level_of(desk, None, first.next)
    assert [t.category.id for t in second.twigs] == ["life"]
    assert second.left == 0
    assert [t.category.id for t in level_of(desk, "life").twigs] == ["bees"]


@pytest.mark.parametrize("at_once", [1, 200])
def test_the_tree_is_open_down_to_a_category(desk, monkeypatch, at_once):
    monkeypatch.setattr(browse, "AT_ONCE", at_once)
    level, met = tree_to(desk, "hornets"), []
    while level is not None:
        (twig,) = [
            t for t in level.twigs if t.category.id in {"life", "wasps", "hornets"}
        ]
        met.append(twig.category.id)
        level = twig.open
    assert met == ["life", "wasps", "hornets"]
    assert all(twig.open is None for twig in tree_to(desk).twigs)


def test_a_category_tells_all_about_itself(desk):
    node = node_of(desk, "hornets")
    assert node.path == (("life", "Life"), ("wasps", "Wasps"), ("hornets", "Hornets"))
    assert node.others == (("crafts", "Crafts"),)
    assert node.examples == (("d2", "Title 2"),)
    assert (node.twig.here, node.twig.below) == (1, 1)
    assert [id_ for id_, _ in node_of(desk, "bees").documents] == ["d1", "d0"]
    assert node_of(desk, "old").twig.retired
    with pytest.raises(Mistake, match="no category 'ghosts'"):
        node_of(desk, "ghosts")
    with pytest.raises(Mistake, match="no category 'ghosts'"):
        tree_to(desk, "ghosts")


def test_the_whole_in_figures(desk):
    whole = overview(desk)
    assert (whole.categories, whole.leaves, whole.depth) == (6, 3, 3)
    assert (whole.retired, whole.guided, whole.empty) == (1, 1, 3)
    with desk.writing() as project:
        say(project, "d3", "life")
        edit.retire(project, "hornets")
        edit.describe(project, "crafts", {"guideline": "Made by hand."})
    later = overview(desk)
    assert (later.retired, later.guided, later.empty) == (2, 2, 2)


def test_ranks_come_from_the_log(desk):
    store = desk.store
    assert ranked_by_log(store, ["bees"]) == {}
    with desk.writing() as project:
        say(project, "d3", "bees", rank=1)
        say(project, "d4", "bees", rank=4)
        say(project, "d5", "bees", rank=7)
        say(project, "d6", rank=1, reject=("bees",))
        undone = say(project, "d7", "bees", rank=1).numbers[-1]
        undo(project, undone)
    ranked = ranked_by_log(store, ["bees", "wasps"])["bees"]
    assert ranked == (3, 1, 2, 1)
    assert (ranked.judged_first, ranked.precision) == (2, 0.5)
    assert node_of(desk, "bees").twig.ranked == ranked
    assert node_of(desk, "wasps").twig.ranked.precision is None


def done(desk, *change, **more):
    """What was foreseen, then what the store says after it is done."""
    said = " ".join(foresee(desk, TaxonomyChange(*change, **more)))
    return said, change_by_eve(desk, *change, **more)


def test_a_merge_does_what_was_foreseen(desk):
    said, logged = done(desk, "merge", "wasps", "bees")
    assert "Documents that move there: 1. Of these, already there: 1" in said
    assert "Subcategories that move with it: 1." in said
    assert f"Decisions carried over: {len(logged.numbers) - 1}." in said
    assert "wasps" not in desk.categories
    assert desk.categories["hornets"].parents == ("bees", "crafts")
    assert branch_counts(desk)["bees"] == 3


def test_the_other_changes_do_what_was_foreseen(desk):
    said, _ = done(desk, "add", "bees", id="bumble", label="Bumblebees")
    assert "under Life › Bees" in said
    assert "Documents that stay in the category above: 2." in said
    assert desk.categories["bumble"].parents == ("bees",)
    said, _ = done(desk, "move", "wasps", "crafts")
    assert "Life › Wasps moves to Crafts. Its subcategories (1) move with it." in said
    assert "Documents that move with it: 2." in said
    assert desk.tree.path("wasps") == ["crafts", "wasps"]
    said, _ = done(desk, "move", "wasps")
    assert "moves to the top level" in said
    assert "wasps" in desk.tree.roots
    said, _ = done(desk, "rename", "wasps", id="vespids", label="Vespids")
    assert "Its id wasps becomes vespids" in said
    assert desk.categories["vespids"].label == "Vespids"
    said, _ = done(desk, "split", "bees", id="solo", documents=("d0",))
    assert "Documents that move there: 1; that stay: 1." in said
    assert desk.state.documents["solo"] == ["d0"]
    said, _ = done(desk, "retire", "bees")
    assert "Documents that stay there: 1." in said
    assert desk.categories["bees"].status == DEPRECATED


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (TaxonomyChange("burn", "bees"), "use add, rename"),
        (TaxonomyChange("retire", "ghosts"), "no category 'ghosts'"),
        (TaxonomyChange("retire", "old"), "retired already"),
        (TaxonomyChange("rename", "bees"), "a new label"),
        (TaxonomyChange("rename", "bees", id="wasps"), "already a category"),
        (TaxonomyChange("move", "wasps", "hornets"), "hornets"),
        (TaxonomyChange("move", "wasps", "ghosts"), "no category"),
        (TaxonomyChange("merge", "bees", "bees"), "into itself"),
        (TaxonomyChange("merge", "life", "bees"), "below"),
        (TaxonomyChange("merge", "bees", ""), "no category ''"),
        (TaxonomyChange("add", "", id="bees"), "already a category"),
        (TaxonomyChange("add", "", id=" "), "needs an id"),
        (TaxonomyChange("split", "bees", id="x"), "select the documents"),
        (TaxonomyChange("split", "bees", documents=("d0",)), "needs an id"),
    ],
)
def test_what_cannot_be_is_said_before(desk, change, problem):
    with pytest.raises(Mistake, match=problem):
        foresee(desk, change)


def test_describing_is_logged_and_undone(desk):
    said = {"note": "Hives and honey.", "guideline": "", "synonyms": "apids\n\nhoney"}
    logged = change_by_eve(desk, "describe", "bees", description=said)
    bees = desk.categories["bees"]
    assert (bees.note, bees.guideline) == ("Hives and honey.", "")
    assert bees.synonyms == ("apids", "honey")
    with pytest.raises(Mistake, match="this is already so"):
        change_by_eve(desk, "describe", "bees", description=said)
    with desk.writing() as project:
        undo(project, logged.numbers[0])
    assert desk.categories["bees"] == TREE[1]
    with pytest.raises(Mistake, match="use add, rename"):
        change_by_eve(desk, "burn", "bees")
