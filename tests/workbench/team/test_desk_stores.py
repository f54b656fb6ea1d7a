"""The desk over a file and over PostgreSQL: the same."""

from concurrent.futures import ThreadPoolExecutor

import pytest

from classmark.workbench.deciding.decide import (
    Conflict,
    Decision,
    Seen,
    decide_on,
    next_for,
    note_on,
    redo_for,
    skip_for,
    undo_for,
)
from classmark.workbench.deciding.inbox import Filters, inbox
from classmark.workbench.deciding.queue import QueueChoice
from classmark.workbench.deciding.sheet import lay_out
from classmark.workbench.deciding.suggest import suggest
from classmark.workbench.learning.rebuild import rebuild
from classmark.workbench.project import Project
from classmark.workbench.store.log import require_replayed
from classmark.workbench.team.desk import Desk
from classmark.workbench.team.progress import pace
from projects import NAMES, TEXTS, new_project
from workbench.acts import say_at

BY_WORDS = Filters("decided", words="in TALLOW")


@pytest.fixture
def folder(tmp_path, any_store):
    return new_project(tmp_path / "shelf", TEXTS, NAMES, store=any_store())


def test_a_day_at_the_desk(folder):
    with Desk(folder) as desk:
        desk.queues.set("ada", QueueChoice("random", among=("b1", "d1")))
        first = next_for(desk, "ada")
        sheet = lay_out(desk, first, "ada")
        say_at(desk, first, "bees", "bread", version=sheet.version)
        with pytest.raises(Conflict):
            say_at(desk, first, "candles", who="bo", version=sheet.version)
        undo_for(desk, "ada")
        redo_for(desk, "ada")
        note_on(desk, first, "a note", "bo")
        second = next_for(desk, "ada")
        skip_for(desk, second, "ada")
        say_at(desk, "c1", "candles", who="bo")
        say_at(desk, "c2", aside=True)
        assert desk.learned(30)
        assert suggest(desk, "a wick in tallow", 1)[0].category == "candles"
        assert desk.state.labels.keys() == {first, "c1"}
        assert desk.state.aside == {"c2"} - desk.state.labels.keys()
        choices = {c.category: c for c in lay_out(desk, "c3", "ada").choices}
        (example,) = choices["candles"].examples
        assert example[0] == "c1"
        assert [row.id for row in inbox(desk, filters=BY_WORDS).rows] == ["c1"]
        assert pace(desk.store) == ""
        seen = {"candles": Seen("live", 3, 0.1)}
        decide_on(desk, "c3", Decision(("candles",)), seen, "ada")
        assert pace(desk.store) == "average rank 3.0"
        require_replayed(desk.store)
    with Project(folder) as project:
        assert rebuild(project).rows[0]["difference"] == 0.0


def test_many_at_once(folder):
    def one(number):
        id_ = sorted(TEXTS)[number % 10]
        return say_at(desk, id_, NAMES[number % 3], who=f"who {number}").number

    with Desk(folder) as desk:
        with ThreadPoolExecutor(6) as pool:
            numbers = list(pool.map(one, range(40)))
        assert len(set(numbers)) == 40
        assert desk.learned(60)
    with Project(folder) as project:
        assert rebuild(project).rows[0]["difference"] == 0.0
