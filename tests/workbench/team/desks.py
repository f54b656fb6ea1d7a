"""A desk over a small project, and what people do at it."""

from contextlib import contextmanager

from classmark.workbench.deciding.decide import Decision, decide_on
from classmark.workbench.team.desk import Desk
from workbench.live_projects import new_project

RIGHT = {"b": "bees", "d": "bread", "c": "candles", "t": "bread"}


@contextmanager
def new_desk(folder, learning=None):
    with Desk(new_project(folder, learning)) as desk:
        yield desk


def say(desk, document, *labels, who="ada", version=None, **said):
    """Decide, without the model's view of it."""
    return decide_on(desk, document, Decision(labels, **said), {}, who, version)


def say_all(desk, ids=("b1", "b2", "d1", "d2", "c1", "c2")):
    for id_ in ids:
        say(desk, id_, RIGHT[id_[0]])
    assert desk.learned(30)


def count(desk, sql, *values):
    return desk.store.run(sql, values).fetchone()[0]
