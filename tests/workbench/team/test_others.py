"""What other processes write is told at a desk, once, and not to webhooks twice."""

import time

import pytest

from classmark.workbench.deciding.decide import skip_for
from classmark.workbench.deciding.sheet import lay_out
from classmark.workbench.store.log import Act
from classmark.workbench.team import others
from classmark.workbench.team.desk import Desk
from projects import new_project
from workbench.acts import say_at

SOON = 10.0  # seconds that a busy machine may take


@pytest.fixture
def two(tmp_path):
    folder = new_project(tmp_path / "shelf")
    with Desk(folder) as one, Desk(folder) as other:
        yield one, other


def decisions(listener, least, seconds=SOON):
    """The decisions that are told until there are so many, or time is over."""
    end = time.monotonic() + seconds
    events = []
    while len(events) < least and time.monotonic() < end:
        while listener:
            event = listener.popleft()
            events += [event] if event.kind == "decided" else []
        time.sleep(0.02)
    return events


def test_a_decision_at_one_desk_is_told_at_the_other(two):
    one, other = two
    with (
        one.events.subscribe() as here,
        other.events.subscribe() as there,
        other.events.subscribe(here=True) as hooked,
    ):
        made = say_at(one, "b3", "bees")
        (event,) = decisions(there, 1)
        assert (event.document, event.number) == ("b3", made.number)
        assert "bees" in event.said
        assert len(decisions(here, 2, 2.0)) == 1, "and told once where it was made"
        assert not decisions(hooked, 1, 0.1)


def test_what_was_shown_before_is_laid_out_anew(two):
    one, other = two
    before = lay_out(other, "b3", "bo").version
    with other.events.subscribe() as there:
        number = say_at(one, "b3", "bees").number
        assert decisions(there, 1)
    assert lay_out(other, "b3", "bo").version == number != before
    assert "b3" in other.state.labels


def test_what_somebody_postpones_at_one_comes_last_at_the_other(two):
    one, other = two
    first = next(other.queues.in_turn("ada"))
    with other.events.subscribe() as there:
        skip_for(one, first, "ada")
        assert decisions(there, 1)
    assert list(other.queues.in_turn("ada"))[-1] == first


def test_very_many_acts_are_not_told_one_by_one(two):
    one, other = two
    with other.events.subscribe() as there, one.writing() as project:
        acts = [Act("b3", "note", note=f"note {n}") for n in range(others.MANY + 1)]
        project.store.judge(acts, "ann")
    with other.events.subscribe() as there:
        assert not decisions(there, 1, 3.0)
        assert not other.others.are_waiting


def test_a_webhook_that_is_added_at_one_is_known_at_the_other(two, monkeypatch):
    one, other = two
    monkeypatch.setattr("classmark.workbench.team.webhooks.checked", str)
    one.webhooks.add("https://library.example/hook", ["trained"], "ada")
    end = time.monotonic() + SOON
    while not other.webhooks.hooks and time.monotonic() < end:
        time.sleep(0.05)
    assert other.webhooks.hooks == one.webhooks.hooks
