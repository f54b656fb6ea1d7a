"""One ranker in memory: taught by one thread, asked by many, equal to the log."""

import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from threading import Event

import numpy as np
import pytest

from classmark.corpus.documents import Document
from classmark.formats.records import Record
from classmark.problems import DamagedFolder, Mistake
from classmark.taxonomy.category import Category
from classmark.workbench.categories import edit
from classmark.workbench.deciding.decide import Decision, decide, next_for, undo_for
from classmark.workbench.deciding.sheet import lay_out
from classmark.workbench.deciding.suggest import suggest
from classmark.workbench.learning import live
from classmark.workbench.learning.learner import Overtaken, open_learner
from classmark.workbench.learning.live import learn_at_once
from classmark.workbench.learning.models import check_model
from classmark.workbench.learning.rebuild import rebuild
from classmark.workbench.learning.train import train
from classmark.workbench.project import Project
from classmark.workbench.settings import FILE, LearningSettings
from classmark.workbench.team.desk import Desk
from projects import NAMES, RIGHT, TEXTS, TREE, new_desk, new_project, parish
from workbench.acts import Acts, say_all, say_at, teach_all, wrong_lessons

LEARNS_LATER = LearningSettings(strategy="top-down", base="naive-bayes")


def assert_as_the_log_says(folder):
    with Project(folder) as project:
        learn_at_once(project)
        assert wrong_lessons(project) == []
        assert rebuild(project).rows[0]["difference"] == 0.0


def test_a_decision_is_learned_soon_and_kept_at_the_end(tmp_path):
    with new_desk(tmp_path / "shelf") as desk:
        with pytest.raises(Mistake, match="no model yet"):
            suggest(desk, "honey")
        with desk.events.subscribe() as listener:
            say_at(desk, "b1", "bees")
            assert desk.learned(30)
            kinds = [event.kind for event in list(listener)]
        assert sorted(kinds) == ["decided", "learned"]
        say_at(desk, "c1", "candles")
        assert desk.learned(30)
        assert suggest(desk, "honey", 1)[0].category == "bees"
        many = [suggest(desk, text, 1) for text in ("honey", "a wick")]
        assert [found[0].category for found in many] == ["bees", "candles"]
        upto = desk.service.upto
    with Project(desk.folder) as project:
        assert open_learner(project).moment.upto == upto
    assert_as_the_log_says(desk.folder)


def test_every_thread_asks_the_same_ranker(tmp_path):
    with new_desk(tmp_path / "shelf") as desk:
        say_all(desk)
        with ThreadPoolExecutor(4) as pool:
            models = set(pool.map(lambda _: id(desk.model()), range(16)))
        assert models == {id(desk.model())}
        known, tree = desk.categories, desk.tree
        assert known is desk.categories
        assert tree is desk.tree


def test_many_ask_while_it_learns(tmp_path):
    """Categories come and go, words arrive; nobody sees a ranker half changed."""
    with new_desk(tmp_path / "shelf") as desk:
        say_all(desk)
        over = Event()

        def ask(_):
            asked = 0
            while not over.is_set():
                found = suggest(desk, "honey wick dough new 3 word", 3)
                assert 1 <= len(found) <= 3
                lay_out(desk, "b3", f"reader {asked}")
                asked += 1
            return asked

        with ThreadPoolExecutor(3) as pool:
            asking = [pool.submit(ask, n) for n in range(3)]
            try:
                _change_all(desk)
            finally:
                over.set()
            assert min(one.result() for one in asking) > 0
    assert_as_the_log_says(desk.folder)


def _change_all(desk):
    rng = np.random.default_rng(0)
    for number in range(30):
        with desk.writing() as project:
            project.store.put_documents(
                [Record(Document(f"n{number}", {"text": f"new {number} word"}))]
            )
            if number % 5 == 0:
                edit.add(project, Category(f"more {number}"))
        name = str(rng.choice(sorted(desk.categories)))
        say_at(desk, f"n{number}", name)
        if number % 7 == 0:
            undo_for(desk, "ada")
    assert desk.learned(60)


@pytest.mark.parametrize("seed", range(3))
def test_random_acts_at_the_desk_are_as_the_log_says(tmp_path, seed):
    rng = np.random.default_rng(seed)
    with new_desk(tmp_path / "shelf") as desk:
        acts = Acts(desk, rng, learn=lambda _: desk.learned(30))
        for _ in range(40):
            acts.act()
        say_at(desk, "b1", acts.fresh_active())
        assert desk.learned(30)
        shown = [s.category for s in suggest(desk, "honey and a flame", 20)]
    with Project(desk.folder) as project:
        assert [s.category for s in suggest(project, "honey and a flame", 20)] == shown
    assert_as_the_log_says(desk.folder)


def test_the_write_lock_is_free_while_it_learns(tmp_path, monkeypatch):
    begun, go_on = Event(), Event()
    with new_desk(tmp_path / "shelf") as desk:
        say_all(desk)
        learner = desk.service.learner
        plain = learner.moment.judged

        def slowly(record):
            begun.set()
            assert go_on.wait(30)
            return plain(record)

        monkeypatch.setattr(learner.moment, "judged", slowly)
        say_at(desk, "b3", "bees")
        assert begun.wait(30)
        started = time.perf_counter()
        say_at(desk, "d3", "bread")
        suggest(desk, "honey")
        assert time.perf_counter() - started < 5
        assert not desk.learned(0)
        go_on.set()
        assert desk.learned(30)
    assert_as_the_log_says(desk.folder)


def test_one_who_was_overtaken_says_so_and_the_desk_begins_anew(tmp_path):
    folder = new_project(tmp_path / "shelf")

    def but_first(learner):
        plain = learner.moment.judged

        def meanwhile(record):
            with Project(folder) as other:  # by one that does not wait its turn
                open_learner(other).catch_up()
            return plain(record)

        learner.moment.judged = meanwhile

    with Project(folder) as one:
        teach_all(one)
        mine = open_learner(one)
        decide(one, "b1", Decision(("bread",)), {})
        but_first(mine)
        with pytest.raises(Overtaken, match="another process has learned"):
            mine.catch_up()
    assert_as_the_log_says(folder)
    with Desk(folder) as desk:
        learner = desk.service.learner
        but_first(learner)
        say_at(desk, "b2", "bread")
        assert desk.learned(30)
        assert desk.service.learner is not learner
    assert_as_the_log_says(folder)


def test_two_desks_learn_the_same_and_none_in_vain(tmp_path, any_store, monkeypatch):
    folder, opened = new_project(tmp_path / "shelf", store=any_store()), []

    def counted(project):
        opened.append(project)
        return open_learner(project)

    monkeypatch.setattr(live, "open_learner", counted)
    with Desk(folder) as one, Desk(folder) as other:
        ids = sorted(one.state.ids)
        for at, id_ in enumerate(ids * 2):
            say_at((one, other)[at % 2], id_, ("bread", "bees")[at // len(ids)])
        assert one.learned(60)
        assert other.learned(60)
        assert len(opened) == 2, "nobody was overtaken"
        text = "a hive and its comb"
        assert one.service.model.suggest(text) == other.service.model.suggest(text)
    assert_as_the_log_says(folder)


DECIDE = """
import sys
from pathlib import Path
from classmark.workbench.deciding.decide import Decision, decide
from classmark.workbench.learning.live import learn_at_once
from classmark.workbench.project import Project

for number in range(4):
    with Project(Path(sys.argv[1])) as project:
        id_ = sorted(project.store.ids())[number % 9]
        decide(project, id_, Decision((sys.argv[2],)))
        assert learn_at_once(project) is not None
"""


def test_another_process_decides_meanwhile(tmp_path):
    with new_desk(tmp_path / "shelf") as desk:
        say_all(desk)
        command = [sys.executable, "-c", DECIDE, str(desk.folder), "candles"]
        other = subprocess.Popen(command, stderr=subprocess.PIPE)  # noqa: S603 (our own)
        made = 0
        while other.poll() is None:
            say_at(desk, f"d{made % 3 + 1}", "bread")
            made += 1
            time.sleep(0.05)
        assert other.returncode == 0, other.stderr.read()
        other.stderr.close()
        assert desk.learned(60)
        for _ in range(100):
            if desk.service.upto == desk.state.upto:
                break
            time.sleep(0.05)
        assert desk.state.labels.keys() == set(desk.store.labels())
    assert_as_the_log_says(desk.folder)


def test_what_others_do_is_noticed(tmp_path):
    with new_desk(tmp_path / "shelf") as desk:
        say_all(desk)
        with Project(desk.folder) as other:
            edit.add(other, Category("wasps"))
            other.store.put_documents([Record(Document("new", {"text": "wasp nest"}))])
            decide(other, "new", Decision(("wasps",)), {})
        assert desk.learned(30)
        assert "wasps" in desk.categories
        assert desk.tally() == "7 of 11 decided"
        assert suggest(desk, "wasp nest", 1)[0].category == "wasps"
        with Project(desk.folder) as other:
            train(other)
        desk.background.wake()
        _until(lambda: desk.service.base == "000001")
        file = desk.folder / FILE
        file.write_text(file.read_text().replace('"shelf"', '"other shelf"'))
        desk.background.wake()
        _until(lambda: desk.settings.name == "other shelf")


def _until(holds):
    end = time.monotonic() + 30
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.02)


def test_a_model_that_only_training_changes(tmp_path):
    folder = new_project(tmp_path / "shelf", learning=LEARNS_LATER)
    with Project(folder) as project:
        edit.add(project, Category("insects"))
        edit.move(project, "bees", "insects")
        teach_all(project, learn=False)
        project.store.put_documents([Record(Document("n", {"text": "bees and wax"}))])
        train(project)
    with Desk(folder) as desk:
        assert desk.service.learner is None
        assert suggest(desk, "honey in a hive", 1)[0].category == "bees"
        assert next_for(desk, "ada") == "n"
        sheet = lay_out(desk, "n", "ada")
        say_at(desk, "n", sheet.choices[0].category)
        assert desk.learned(30)
        with desk.writing() as project:
            edit.rename(project, "bees", new_id="honey bees")
        assert desk.learned(30)
        assert suggest(desk, "honey in a hive", 1)[0].category == "honey bees"


def test_a_large_model_is_in_service_before_it_is_read_and_withdrawn_where_damaged(
    tmp_path, monkeypatch, caplog
):
    monkeypatch.setattr("classmark.storage.LARGE", 1)
    folder = new_project(tmp_path / "shelf", learning=LEARNS_LATER)
    with Project(folder) as project:
        edit.add(project, Category("insects"))
        edit.move(project, "bees", "insects")
        teach_all(project, learn=False)
        train(project)
        weights = project.models.current() / "nodes" / "weight.npy"
    with Desk(folder) as desk:
        _until(lambda: weights in {file.path for file in desk.service.checked})
        assert suggest(desk, "honey in a hive", 1)[0].category == "bees"
    content = weights.read_bytes()
    weights.write_bytes(content[:-1] + bytes([content[-1] ^ 0x01]))
    with Desk(folder) as desk:
        _until(lambda: "withdrawn" in caplog.text)
        for _again in range(2):
            with pytest.raises(DamagedFolder, match=r"weight\.npy .* train"):
                suggest(desk, "honey in a hive", 1)
        with Project(folder) as other:
            train(other)
        desk.background.wake()
        _until(lambda: any("000002" in str(f.path) for f in desk.service.checked))
        assert suggest(desk, "honey in a hive", 1)[0].category == "bees"
    with Project(folder) as project, pytest.raises(DamagedFolder):
        check_model(project, weights.parent.parent)


def test_beside_a_large_tree_that_is_damaged_nothing_learned_is_kept(
    tmp_path, monkeypatch, caplog
):
    monkeypatch.setattr("classmark.storage.LARGE", 1)
    learning = LearningSettings(strategy="top-down")
    documents = parish(decided=True, waiting=True)
    folder = new_project(tmp_path / "parish", documents, TREE, learning=learning)
    with Project(folder) as project:
        assert train(project).live
        weights = project.models.current() / "nodes" / "weight.npy"
    content = weights.read_bytes()
    weights.write_bytes(content[:-1] + bytes([content[-1] ^ 0x01]))
    with Desk(folder, begin=False) as desk:
        _until(lambda: "withdrawn" in caplog.text)
        desk.background.start()
        decide(desk, "new-0", Decision(("birds",)), {})
        assert desk.learned(30)
        with pytest.raises(DamagedFolder, match=r"weight\.npy .* train"):
            suggest(desk, "a nest", 1)
    assert desk.lives.numbers() == [1]
    weights.write_bytes(content)
    with Desk(folder) as desk:
        assert desk.learned(30)
        assert desk.service.upto == desk.state.upto
        assert suggest(desk, "a nest", 1)[0].category == "birds"
        _until(lambda: weights in {file.path for file in desk.service.checked})
    assert desk.lives.numbers() == [1, 2]


@pytest.mark.parametrize("settings", [{}, {"learner": "rocchio"}])
def test_an_empty_project(tmp_path, settings):
    learning = LearningSettings(**settings)
    with new_desk(tmp_path / "empty", [], learning=learning) as desk:
        assert desk.tally() == "0 of 0 decided"
        assert next_for(desk, "ada") is None
        assert desk.learned(30)
        assert desk.model() is None
        with desk.writing() as project:
            project.store.put_documents([Record(Document("d", {"text": "a hive"}))])
            edit.add(project, Category("bees"))
        assert desk.learned(30)
        assert next_for(desk, "ada") == "d"
        sheet = lay_out(desk, "d", "ada")
        assert [choice.category for choice in sheet.choices] == ["bees"]
        assert sheet.ranked == 0
        say_at(desk, "d", "bees")
        assert desk.learned(30)


def test_too_much_is_left_to_training(tmp_path, monkeypatch):
    monkeypatch.setattr("classmark.workbench.learning.live.MANY", 5)
    folder = new_project(tmp_path / "shelf")
    with Project(folder) as project:
        teach_all(project, learn=False)
    with Desk(folder) as desk:
        assert desk.service.learner is None
        assert desk.model() is None
        assert desk.learned(30)
        with Project(folder) as project:
            train(project)
        desk.background.wake()
        _until(lambda: desk.model() is not None)
        assert desk.service.learner is not None
        assert suggest(desk, "honey", 1)[0].category == "bees"


def test_it_is_saved_from_time_to_time(tmp_path, monkeypatch):
    monkeypatch.setattr("classmark.workbench.learning.live.SAVED_EVERY", 0.0)
    monkeypatch.setattr("classmark.workbench.learning.live.SAVED_AFTER", 4)
    with new_desk(tmp_path / "shelf") as desk:
        for id_ in TEXTS:
            say_at(desk, id_, RIGHT[id_[0]])
            assert desk.learned(30)
        with Project(desk.folder) as project:
            saved = open_learner(project)
            assert saved.moment.upto >= desk.service.upto - 4
        assert list((desk.folder / "live").glob(".*.new")) == []
        assert len(desk.lives.numbers()) <= 3
    assert sorted(NAMES) == sorted(desk.categories)
