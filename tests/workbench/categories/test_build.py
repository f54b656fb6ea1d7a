"""A tree over a project's flat categories: shown, taken as one act, and undone."""

import pytest

from classmark.datasets.library import library_records
from classmark.problems import Mistake
from classmark.taxonomy.category import Category
from classmark.workbench.categories import edit
from classmark.workbench.categories.build import as_table, build, take_tree
from classmark.workbench.files.importing import import_records
from classmark.workbench.learning.live import learn_at_once
from classmark.workbench.learning.train import train
from classmark.workbench.project import Project
from classmark.workbench.store.undo import undo
from projects import new_project


@pytest.fixture
def shelf(tmp_path):
    """The library's documents, their categories without a tree."""
    with Project(new_project(tmp_path / "shelf", [])) as project:
        import_records(project, library_records(), "the library")
        yield project


def test_it_is_shown_taken_and_undone(shelf):
    before = shelf.store.categories()
    groups = build(shelf, branching=7)
    assert shelf.store.categories() == before
    assert {len(group.categories) for group in groups} <= set(range(8))
    table = as_table(None, groups)
    assert len(table.rows) == len(groups)
    assert "taxonomy build --accept" in table.note
    logged = take_tree(shelf)
    assert len(logged.numbers) == 1
    assert f"groups: {len(groups)}" in logged.said
    tree = shelf.tree
    assert set(tree.leaves) == {category.id for category in before}
    assert len(tree.roots) <= 7
    for group in groups:
        above = None if group.parent is None else groups[group.parent].id
        assert tree.parents(group.id) == ([] if above is None else [above])
        assert set(group.categories) <= set(tree.children(group.id))
        assert shelf.categories[group.id].label
    labels = shelf.store.labels()
    undo(shelf)
    assert shelf.store.categories() == before
    assert shelf.store.labels() == labels
    undo(shelf, logged.numbers[0] + 1)
    assert shelf.tree == tree


def test_a_group_is_named_by_words_of_its_documents(shelf):
    words = " ".join(
        text for r in library_records() for text in r.document.fields.values()
    ).lower()
    groups = build(shelf, branching=7)
    assert all(term in words.split() for group in groups for term in group.terms[:1])
    assert len({group.id for group in groups}) == len(groups)


def test_what_is_below_one_category_alone_is_grouped(shelf):
    edit.add(shelf, Category("all"))
    for category in list(shelf.categories):
        if category != "all":
            edit.move(shelf, category, "all")
    build(shelf, below="all", branching=7)
    take_tree(shelf)
    assert shelf.tree.roots == ["all"]
    assert len(shelf.tree.children("all")) <= 7


def test_the_live_ranker_goes_along(shelf):
    train(shelf)
    build(shelf, branching=7)
    take_tree(shelf)
    assert learn_at_once(shelf) is not None
    undo(shelf)
    assert learn_at_once(shelf) is not None


def test_a_tree_that_is_out_of_date_is_refused(shelf):
    with pytest.raises(Mistake, match="no tree was built"):
        take_tree(shelf)
    build(shelf, branching=7)
    edit.add(shelf, Category("new"))
    with pytest.raises(Mistake, match="categories have changed since"):
        take_tree(shelf)
    undo(shelf)
    take_tree(shelf)
    with pytest.raises(Mistake, match="categories have changed since"):
        take_tree(shelf)


def test_labels_that_stand_together_and_nothing_to_group(shelf):
    with pytest.raises(Mistake, match="nothing to group at the top"):
        build(shelf, branching=500)
    with pytest.raises(Mistake, match="by is 'x'"):
        build(shelf, "x", branching=7)
    several = build(shelf, "co-occurrence", branching=7)
    assert several
