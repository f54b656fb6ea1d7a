"""Who is given which document next; long work; what happens is told."""

import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from threading import Event as Flag
from threading import get_ident

import pytest

from classmark.corpus.documents import Document
from classmark.formats.records import Record
from classmark.problems import Mistake
from classmark.progress import track
from classmark.workbench.deciding.decide import next_for, note_on, skip_for, undo_for
from classmark.workbench.deciding.queue import QueueChoice, queue
from classmark.workbench.learning import train as training
from classmark.workbench.learning.train import train
from classmark.workbench.store.state import State
from classmark.workbench.team.claims import HELD, Claims
from classmark.workbench.team.desk import Desk
from classmark.workbench.team.events import KEPT, Events
from classmark.workbench.team.jobs import STOPPED
from projects import new_desk, new_project
from workbench.acts import say_all, say_at

WAITING = {"b3", "c3", "d3", "t1"}


@pytest.fixture
def desk(tmp_path):
    with new_desk(tmp_path / "shelf") as desk:
        say_all(desk)
        assert desk.background.ordered(30)
        yield desk


@pytest.fixture
def shelf(tmp_path):
    return new_project(tmp_path / "shelf")


def turns(desk, who, **choice):
    """All documents in the order they are given."""
    desk.queues.set(who, QueueChoice(**choice))
    desk.claims = Claims()
    return list(desk.queues.in_turn(who))


@pytest.mark.parametrize("order", ["uncertain", "likely", "similar", "random"])
def test_the_orders_are_those_of_the_queue(desk, order):
    expected = [row["document"] for row in queue(desk, order).rows]
    found = list(desk.queues.ordered(order))
    if order == "similar":  # several are not similar at all
        assert (found[0], set(found)) == (expected[0], set(expected))
    else:
        assert found == expected
        assert list(dict.fromkeys(turns(desk, "ada", order=order))) == expected


def test_similar_to_the_last_is_as_the_queue_has_it(desk):
    say_at(desk, "c3", "candles")
    assert desk.learned(30)
    assert desk.background.ordered(30)
    rows = queue(desk, "similar").rows
    desk.queues.set("ada", QueueChoice("similar"))
    assert next_for(desk, "ada", "c3") == rows[0]["document"]


def test_similar_means_the_last_decision_that_holds(desk):
    say_at(desk, "b1", "bees")
    say_at(desk, "d1", "bread")
    assert desk.learned(30)
    assert desk.background.ordered(60)
    undo_for(desk, "ada")
    note_on(desk, "c1", "a note is no decision", "ada")
    expected = [row["document"] for row in queue(desk, "similar", to="b1").rows]
    assert desk.guesses.ordered("similar")[:1] == expected[:1]
    assert queue(desk, "similar").note == "by likeness to b1"


def test_guesses_say_what_the_ranker_says(desk):
    guess = desk.guesses.best.get("b3")
    best, second = desk.model().suggest(desk.store.document("b3").text, 2)
    assert (guess.category, guess.score) == (best.category, pytest.approx(best.score))
    assert guess.probability is None
    assert guess.lead == pytest.approx(best.score - second.score)
    assert desk.guesses.best.get("b1") is None


def test_nobody_is_given_what_another_has_open(desk):
    for id_ in WAITING:
        desk.claims.release(id_, "ada")
    people = [f"person {n}" for n in range(4)]
    with ThreadPoolExecutor(4) as pool:
        given = list(pool.map(lambda who: next_for(desk, who), people))
    assert set(given) == WAITING
    assert next_for(desk, "late") is None
    assert next_for(desk, people[0]) == given[0]
    assert {desk.claims.holder(id_) for id_ in WAITING} == set(people)
    onward = say_at(desk, given[0], "bees", who=people[0])
    assert onward.next is None
    undo_for(desk, people[0])
    assert next_for(desk, "late") == given[0]


def test_a_queue_of_somebody_s_own(desk):
    assert desk.queues.of("ada").order == "uncertain"
    desk.queues.set(
        "ada", QueueChoice("random", {"words": "flame"}, ("t1", "b1", "c3"))
    )
    assert desk.queues.of("ada").filters == {"words": "flame"}
    first = next_for(desk, "ada")
    second = say_at(desk, first, "bread").next
    assert {first, second} == {"t1", "c3"}
    assert say_at(desk, second, "candles").next is None
    assert next_for(desk, "bo") in {"b3", "d3"}
    desk.queues.set("cy", QueueChoice("uncertain", among=("d3",)))
    assert set(turns(desk, "cy", order="likely", among=("d3", "b1"))) == {"d3"}
    with pytest.raises(Mistake, match="order is 'newest'"):
        desk.queues.set("ada", QueueChoice("newest"))


def test_what_was_skipped_is_known_to_the_next_desk(tmp_path):
    with new_desk(tmp_path / "shelf") as desk:
        first = next_for(desk, "ada")
        skip_for(desk, first, "ada")
    with Desk(desk.folder) as desk:
        desk.queues.set("ada", QueueChoice("random"))
        assert list(desk.queues.in_turn("ada"))[-1] == first
        only = ("b1", first) if first != "b1" else ("b2", first)
        assert turns(desk, "ada", order="random", among=only)[-1] == first


def test_documents_that_come_later_are_given_too(desk):
    with desk.writing() as project:
        project.store.put_documents(
            Record(Document(f"n{n}", {"text": f"a hive {n}"})) for n in range(300)
        )
    assert desk.learned(30)
    assert desk.background.ordered(60)
    assert len(desk.guesses.best) == 304
    assert len(list(desk.queues.ordered("uncertain"))) == 304
    for n in range(300):
        desk.state.labels[f"n{n}"] = ("bees",)
    assert set(turns(desk, "ada")) == WAITING


def test_what_comes_back_is_put_where_it_was_without_going_through_all(
    desk, monkeypatch
):
    with desk.writing() as project:
        project.store.put_documents(
            Record(Document(f"n{n}", {"text": f"a hive {n}"})) for n in range(300)
        )
    before = desk.queues.sample(400)
    assert len(before) == 304
    say_at(desk, before[7], "bees")
    say_at(desk, before[3], "bees")
    assert desk.queues.sample(400) == [before[n] for n in range(304) if n not in (3, 7)]
    looked_at, waits = [], State.waits

    def noted(state, id_):
        looked_at.append(get_ident())
        return waits(state, id_)

    monkeypatch.setattr(State, "waits", noted)
    undo_for(desk, "ada")
    assert desk.queues.sample(5) == before[:5]
    assert looked_at.count(get_ident()) < 100
    undo_for(desk, "ada")
    assert desk.queues.sample(400) == before


def test_claims_end():
    clock = [0.0]
    claims = Claims(minutes=1, now=lambda: clock[0])
    assert claims.take("d", "ada")
    assert not claims.take("d", "bo")
    clock[0] = 61.0
    assert claims.take("d", "bo")
    claims.release("d", "ada")
    assert claims.holder("d") == "bo"
    assert claims.holders() == {"d": "bo"}
    for n in range(HELD):
        clock[0] += 0.01
        claims.take(f"other {n}", "bo")
    assert claims.holder("d") == ""
    clock[0] = -3600.0
    assert claims.take("other 1", "ada"), "the clock was set back"


def test_events_reach_everybody_and_the_slow_miss_the_oldest():
    events = Events()
    with events.subscribe() as one, events.subscribe() as other:
        for number in range(KEPT + 3):
            events.tell("decided", number)
            assert one.popleft().number == number
        assert [event.number for event in other] == list(range(3, KEPT + 3))
    events.tell("job")
    assert not one


def test_a_job_tells_how_far_it_is(desk):
    go_on = Flag()

    def work(project):
        for _ in track(range(4), "counting"):
            go_on.wait(30)
        return f"{project.settings.name} counted"

    with desk.events.subscribe() as listener:
        job = desk.jobs.start("count", work, "ada")
        with pytest.raises(Mistake, match="count is running already"):
            desk.jobs.start("count", work)
        assert desk.jobs.running() == [job]
        go_on.set()
        job.wait(30)
        kinds = {(event.kind, event.number) for event in list(listener)}
    assert (job.state, job.said, job.done, job.total) == (
        "done", "shelf counted", 4, 4,
    )  # fmt: skip
    assert ("job", job.id) in kinds
    assert desk.jobs.get(job.id) is job
    assert job.ended >= job.began
    assert list(desk.jobs) == [job]
    with pytest.raises(Mistake, match="no job 99"):
        desk.jobs.get(99)


def test_loops_within_loops_are_counted_each(desk):
    told, begun = [], Flag()

    def work(_):
        begun.wait(30)
        for _ in track(range(2), "outer"):
            told.append((job.doing, job.done, job.total))
            list(track(range(5), "inner"))

    job = desk.jobs.start("count", work)
    begun.set()
    job.wait(30)
    assert (job.state, job.doing, job.done, job.total) == ("done", "outer", 2, 2)
    assert told[-1] == ("outer", 1, 2)


def test_a_desk_that_closes_stops_its_jobs(shelf):
    begun, said = Flag(), []

    def work(_):
        with suppress(Exception):  # a mistake may be forgiven, not this
            for number in track(range(10**9), "counting"):
                said.append(number)
                begun.set()
                time.sleep(0.001)

    with Desk(shelf) as desk:
        job = desk.jobs.start("count", work)
        assert begun.wait(30)
    assert (job.state, job.mistake) == ("failed", STOPPED)
    assert len(said) < 10**9
    with pytest.raises(Mistake, match="the server is stopping"):
        desk.jobs.start("count", work)


def test_a_job_that_does_not_look_up_holds_nobody(shelf, monkeypatch):
    monkeypatch.setattr("classmark.workbench.team.desk.PATIENCE", 0.05)
    go_on = Flag()
    with Desk(shelf) as desk:
        job = desk.jobs.start("count", lambda _: go_on.wait(30))
    assert job.state == "running"
    go_on.set()
    job.wait(30)


def test_a_job_that_fails_says_why(desk, caplog):
    def refuse(_):
        raise Mistake("there is nothing to count: import something")

    def break_(_):
        raise ZeroDivisionError

    job = desk.jobs.start("count", refuse).wait(30)
    assert (job.state, job.mistake) == (
        "failed", "there is nothing to count: import something",
    )  # fmt: skip
    job = desk.jobs.start("count", break_).wait(30)
    assert job.state == "failed"
    assert "internal error" in job.mistake
    assert "ZeroDivisionError" in caplog.text


def test_a_model_that_can_be_learned_from_only_later(desk, monkeypatch):
    """Training puts a model in service a little before what learns on from it."""
    plain, go_on = training.from_model, Flag()

    def later(*arguments):
        assert go_on.wait(30)
        return plain(*arguments)

    monkeypatch.setattr(training, "from_model", later)
    job = desk.jobs.start("train", train)
    while desk.service.base != "000001":
        assert desk.learned(30)
    assert desk.service.learner is None
    go_on.set()
    assert job.wait(60).state == "done"
    assert desk.learned(30)
    assert desk.service.learner.base == "000001"


def test_after_training_the_desk_asks_the_new_model(desk):
    job = desk.jobs.start("train", train).wait(60)
    assert job.state == "done"
    assert job.result.model == "000001"
    assert desk.learned(30)
    assert desk.service.base == "000001"
    assert say_at(desk, "b3", "bees").number > 0
    assert desk.learned(30)
    assert desk.service.learner.base == "000001"
