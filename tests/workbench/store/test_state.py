"""What is followed act by act is what the store says when it is read anew."""

from collections import Counter
from contextlib import suppress

import numpy as np
import pytest

from classmark.corpus.documents import Document
from classmark.formats.records import Record
from classmark.taxonomy.category import taxonomy_of
from classmark.workbench.categories.browse import (
    NameOrder,
    _counted,
    branch_counts,
    name_order,
)
from classmark.workbench.deciding.decide import Decision, decide
from classmark.workbench.project import Project
from classmark.workbench.store import state as states
from classmark.workbench.store.state import State
from projects import new_desk, new_project
from workbench.acts import Acts, say


@pytest.fixture
def project(tmp_path):
    with Project(new_project(tmp_path / "shelf")) as project:
        yield project


def labels_of(store):
    return {id_: set(names) for id_, names in store.labels().items()}


def require_followed(state, store):
    assert list(state.ids) == [record.id for record in store.records()]
    assert {id_: set(names) for id_, names in state.labels.items()} == labels_of(store)
    assert state.aside == store.aside()
    counts = Counter(name for names in labels_of(store).values() for name in names)
    assert state.counts == counts
    documents = {name: set(ids) for name, ids in state.documents.items()}
    assert {name: len(ids) for name, ids in documents.items()} == counts
    waiting = [i for i in state.ids if i not in labels_of(store)]
    assert state.waiting == [id_ for id_ in waiting if id_ not in store.aside()]
    assert state.n_waiting == len(state.waiting)


@pytest.mark.parametrize("seed", range(4))
def test_acts_are_followed_one_by_one(project, seed):
    acts = Acts(project, np.random.default_rng(seed))
    for _ in range(40):
        acts.act()
        require_followed(project.state, project.store)
    require_followed(State().follow(project.store), project.store)


def test_documents_are_followed_in_order_of_arrival(project):
    before = project.state.returned
    project.store.put_documents([Record(Document("new", {"text": "a skep"}))])
    assert list(project.state.ids)[-1] == "new"
    assert project.state.returned > before


def test_many_acts_at_once_are_read_together(project, monkeypatch):
    project.state  # noqa: B018 (from now on it follows)
    monkeypatch.setattr(states, "MANY", 3)
    for id_ in ("b1", "b2", "b3", "d1", "d2"):
        say(project, id_, "bees", learn=False)
    require_followed(project.state, project.store)


def test_a_transaction_that_goes_back_leaves_no_trace(project):
    say(project, "b1", "bees", learn=False)
    with suppress(ZeroDivisionError), project.store.transaction():
        decide(project, "b2", Decision(("bees",)), {})
        assert "b2" not in project.state.labels
        raise ZeroDivisionError
    require_followed(project.state, project.store)
    say(project, "b2", "bread", learn=False)
    require_followed(project.state, project.store)


def test_one_set_aside_document_is_answered_alone(project, monkeypatch):
    decide(project, "b1", Decision(aside=True), {})
    monkeypatch.setattr(project.store, "aside", lambda: 1 / 0)
    assert project.store.record("b1").aside
    assert not project.store.record("b2").aside


def require_levels(desk):
    """Every level that was opened is as if it were sorted now."""
    order, afresh = name_order(desk), NameOrder(desk.categories)
    for of in (None, *desk.categories):
        below = desk.tree.roots if of is None else desk.tree.children(of)
        assert order.level(of, lambda: below) == afresh.level(of, lambda: below)  # noqa: B023
    assert branch_counts(desk) == _counted(desk.tree, list(desk.state.labels.values()))


@pytest.mark.parametrize("seed", range(4))
def test_a_desk_follows_every_change_of_categories(tmp_path, seed):
    """As if it read all of them again."""
    with new_desk(tmp_path / "shelf") as desk:
        desk.background.stop()
        desk.store.run("PRAGMA synchronous = OFF")
        acts = Acts(desk, np.random.default_rng(seed), learn=lambda _: None)
        for _ in range(80):
            acts.act()
            desk.look_again()
            now = desk.store.categories()
            assert list(desk.categories.items()) == [(each.id, each) for each in now]
            assert desk.tree == taxonomy_of(now)
            require_levels(desk)
            require_followed(desk.state, desk.store)
