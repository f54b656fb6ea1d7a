"""Decisions are learned at once, by every process alike, and taken back."""

import os
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from classmark.corpus.documents import Document
from classmark.formats.records import Record
from classmark.problems import DamagedFolder, Mistake
from classmark.taxonomy.category import Category
from classmark.workbench.categories import edit
from classmark.workbench.deciding.decide import Decision, decide
from classmark.workbench.deciding.history import history
from classmark.workbench.deciding.queue import queue
from classmark.workbench.deciding.suggest import suggest
from classmark.workbench.learning import learner as learners
from classmark.workbench.learning import live, models
from classmark.workbench.learning.learner import from_nothing, open_learner
from classmark.workbench.learning.live import and_learn, learn_at_once
from classmark.workbench.learning.rebuild import rebuild
from classmark.workbench.learning.train import train
from classmark.workbench.project import Project
from classmark.workbench.settings import FILE, LearningSettings
from classmark.workbench.store.undo import undo
from classmark.workbench.team.desk import Desk
from projects import NAMES, TEXTS, new_library, new_project
from workbench.acts import say, teach_all, unlearned, weights, wrong_lessons


@pytest.fixture
def project(tmp_path):
    with Project(new_project(tmp_path / "shelf")) as opened:
        yield opened


@pytest.fixture
def no_revisits(monkeypatch):
    monkeypatch.setattr(learners, "BUDGET", 0.0)


@pytest.fixture
def hundred_revisits(monkeypatch):
    monkeypatch.setattr(learners, "BUDGET", None)


def first(project, text):
    return suggest(project, text)[0].category


def test_from_nothing_every_decision_is_learned_at_once(project):
    with pytest.raises(Mistake, match="no model yet"):
        suggest(project, "honey")
    learned = say(project, "b1", "bees")
    assert learned.documents == 1
    assert learned.revisits > 0
    assert first(project, "honey") == "bees"
    say(project, "c1", "candles")
    assert first(project, "wick") == "candles"
    assert {one.category for one in suggest(project, "wick")} == set(NAMES)


def test_what_the_expert_saw_is_logged_without_training_too(project):
    say(project, "b1", "bees")
    edit.retire(project, "bread")
    decide(project, "b2", Decision(("bees",), reject=("bread",)))
    reject, assign = history(project, "b2").rows
    assert (assign["model"], assign["rank"]) == ("live", 1)
    assert (reject["model"], reject["rank"], reject["score"]) == ("live", None, None)


def test_after_training_it_goes_on_from_the_model(project):
    teach_all(project)
    train(project)
    learner = open_learner(project)
    assert len(learner.ranker.handles) == 9
    assert learner.base == "000001"
    project.store.put_documents([Record(Document("n", {"text": "beeswax moulds"}))])
    say(project, "n", "candles")
    assert first(project, "beeswax") == "candles"
    undo(project)
    learn_at_once(project)
    assert "n" not in open_learner(project).ranker.handles
    assert wrong_lessons(project) == []


def test_documents_set_apart_are_not_taught(project):
    learned = say(project, "t1", "bread")
    assert (learned.documents, learned.apart, learned.revisits) == (0, 1, 0)
    assert open_learner(project).ranker.handles == {}
    say(project, "b1", "bees")
    project.store.put_documents(
        [Record(Document("b1", {"text": TEXTS["b1"]}), meta={"part": "test"})]
    )
    say(project, "b1", "candles")
    assert open_learner(project).ranker.handles == {}


@pytest.mark.parametrize(
    ("settings", "said", "remedy"),
    [
        (LearningSettings(learner="rocchio"), "rocchio learns", "train --learner plm"),
        (LearningSettings(loss="svm"), "svm learns", "train --loss dom"),
    ],
)
def test_a_learner_that_cannot_says_so(tmp_path, settings, said, remedy):
    with Project(new_project(tmp_path / "shelf", learning=settings)) as project:
        logged = decide(project, "b1", Decision(("bees",)), {})
        told = and_learn(project, logged)
        assert told.learned is None
        assert f"{said} from all at once" in told.later
        say(project, "c1", "candles")
        train(project)
        told = and_learn(project, decide(project, "d1", Decision(("bread",)), {}))
        assert told.later.startswith("not learned yet: model 000001 stays as it is")
        assert project.lives.current() is None
        with pytest.raises(Mistake, match=remedy):
            rebuild(project)


def test_a_trained_model_whose_live_ranker_is_lost_says_what_to_do(project):
    teach_all(project)
    train(project)
    shutil.rmtree(project.folder / "live")
    told = and_learn(project, decide(project, "b1", Decision(("bread",)), {}))
    assert told.later.endswith("run classmark rebuild")
    assert rebuild(project).rows[0]["difference"] == "nothing to compare with"
    assert wrong_lessons(project) == []
    assert say(project, "b2", "bread").documents == 1


@pytest.mark.parametrize(
    "said",
    [
        {"assign": ("candles",)},
        {"primary": ("candles",), "assign": ("bees",), "unsure": ("bread",)},
        {"reject": ("bees",)},
        {"over": (("candles", "bees"),)},
        {"aside": True},
    ],
)
def test_an_act_undone_is_as_never_seen(tmp_path, said):
    with Project(new_project(tmp_path / "shelf")) as project:
        teach_all(project)
        project.store.put_documents([Record(Document("n", {"text": "a new hive"}))])
        before = open_learner(project)
        decided = decide(project, "n", Decision(**said), {})
        learn_at_once(project)
        if "aside" not in said:
            assert weights(open_learner(project)) != weights(before)
        for number in reversed(decided.numbers):
            undo(project, number)
        learn_at_once(project)
        after = open_learner(project)
        assert weights(after) == weights(before), "to the bit, and no word more"
        assert after.ranker.dual.tau[0] == before.ranker.dual.tau[0]


def test_an_act_undone_later_is_as_never_seen_after_many_visits(tmp_path):
    found = []
    for name in ("one", "other"):
        with Project(new_project(tmp_path / name)) as project:
            if name == "one":
                say(project, "b1", "candles")
                say(project, "t1", "candles")
            teach_all(project)
            if name == "one":
                undo(project, 3)
                learn_at_once(project)
            learner = open_learner(project)
            learner.ranker.revisit(20_000)
            found.append(weights(learner))
    assert found[0] == pytest.approx(found[1], abs=1e-3)


def test_one_process_and_one_for_each_command_learn_the_same(
    tmp_path, hundred_revisits
):
    assert hundred_revisits is None
    with Project(new_project(tmp_path / "one")) as project:
        learner = from_nothing(project)
        for id_ in TEXTS:
            say(project, id_, NAMES[int(id_[1]) % 3], learn=False)
            learner.catch_up()
        edit.merge(project, "candles", "bees")
        learner.catch_up()
        together = learner.ranker.dual.W.copy()
    new_project(tmp_path / "other")
    for id_ in TEXTS:
        with Project(tmp_path / "other") as project:
            say(project, id_, NAMES[int(id_[1]) % 3])
    with Project(tmp_path / "other") as project:
        edit.merge(project, "candles", "bees")
        learn_at_once(project)
        alone = open_learner(project).ranker.dual.W
        assert np.array_equal(alone, together)
        assert together.any()


def test_what_was_logged_and_not_learned_is_caught_up(project):
    say(project, "b1", "bees")
    say(project, "c1", "candles", learn=False)
    say(project, "c2", "candles", learn=False)
    assert unlearned(open_learner(project))
    assert first(project, "wick") == "candles"
    assert not unlearned(open_learner(project))
    assert rebuild(project).rows[0]["difference"] == 0.0
    say(project, "d1", "bread", learn=False)
    assert say(project, "d2", "bread").documents == 2
    assert wrong_lessons(project) == []


def test_many_acts_at_once_are_learned_with_the_next_decision(project):
    teach_all(project, learn=False)
    with pytest.raises(Mistake, match="no model yet"):
        suggest(project, "honey")
    learned = say(project, "b1", "bees")
    assert (learned.documents, learned.apart) == (9, 1)
    assert first(project, "honey") == "bees"
    assert rebuild(project).rows[0]["difference"] == 0.0


def test_what_has_come_to_the_last_act_ranks_without_what_it_learned_from(
    project, monkeypatch
):
    teach_all(project)
    edit.add(project, Category("honey", "Honey", "bees"))
    say(project, "b2", "honey", reject=("bread",))
    edit.merge(project, "candles", "bread")
    edit.rename(project, "bread", new_id="loaves")
    edit.retire(project, "honey")
    learn_at_once(project)
    texts = [*TEXTS.values(), "wick and honey", "nothing"]
    learner = open_learner(project)
    expected = learner.model()
    with monkeypatch.context() as patched:
        patched.setattr(live, "Service", None)  # it would open the learner
        model = project.model()
    assert model.categories == expected.categories
    assert np.array_equal(model.scores(texts), expected.scores(texts))
    assert [model.suggest(t) for t in texts] == [expected.suggest(t) for t in texts]


def test_a_live_ranker_of_an_older_version_is_opened_to_learn(project, monkeypatch):
    teach_all(project)
    expected = suggest(project, "honey")
    facts = models.live_facts

    def older(folder):
        return {k: v for k, v in facts(folder).items() if k != "has_learned"}

    monkeypatch.setattr(models, "live_facts", older)
    assert models.open_to_rank(project) is None
    with Project(project.folder) as again:
        assert suggest(again, "honey") == expected


DECIDE = """
import sys
from pathlib import Path
from classmark.workbench.deciding.decide import Decision, decide
from classmark.workbench.learning.live import learn_at_once
from classmark.workbench.project import Project

folder, names = Path(sys.argv[1]), sys.argv[2:]
for number in range(20):
    with Project(folder) as project:
        id_ = sorted(project.store.ids())[number % 9]
        decide(project, id_, Decision((names[number % len(names)],)))
        assert learn_at_once(project) is not None
"""


def test_two_processes_at_once_do_no_harm(tmp_path):
    folder = new_project(tmp_path / "shelf")
    command = [sys.executable, "-c", DECIDE, str(folder)]
    both = [
        subprocess.Popen([*command, *names], stderr=subprocess.PIPE)  # noqa: S603 (our own)
        for names in (NAMES, NAMES[::-1][1:])
    ]
    errors = [one.communicate(timeout=240)[1].decode() for one in both]
    assert [one.returncode for one in both] == [0, 0], errors
    with Project(folder) as project:
        assert project.store.counts()["judgments in the log"] == 40
        assert rebuild(project).rows[0]["difference"] == 0.0
        assert wrong_lessons(project) == []


def test_two_threads_save_at_once(project):
    """As a server's training and its background do."""
    teach_all(project)

    def save(_):
        with Project(project.folder) as own:
            learner = open_learner(own)
            for _ in range(10):
                learner.save()

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(save, range(4)))
    assert not unlearned(open_learner(project))
    assert len(project.lives.numbers()) <= 3
    assert not list(project.lives.folder.glob(".*"))


def test_what_a_killed_one_left_is_removed_after_a_day(project):
    teach_all(project)
    old, new = (project.lives.folder / f".{name}.new" for name in ("old", "new"))
    for left in (old, new):
        left.mkdir()
    os.utime(old, (0, 0))
    open_learner(project).save()
    assert not old.exists()
    assert new.exists()


def test_training_meanwhile_is_not_undone_by_an_older_ranker(project):
    teach_all(project)
    older = open_learner(project)
    train(project)
    older.save()
    assert open_learner(project).base == "000001"


def test_other_settings_begin_anew(project):
    teach_all(project)
    file = project.folder / FILE
    file.write_text(file.read_text().replace("C = 0.0", "C = 0.25"))
    with Project(project.folder) as again:
        learner = open_learner(again)
        assert learner.ranker.ranker.C == 0.25
        assert unlearned(learner)
        assert say(again, "b1", "bees").documents == 1
        assert first(again, "honey") == "bees"
        assert rebuild(again).rows[0]["difference"] == 0.0


def test_a_damaged_ranker_is_rebuilt(project):
    teach_all(project)
    expected = suggest(project, "honey")
    file = project.lives.current() / "dual_weights.npy"
    content = bytearray(file.read_bytes())
    content[-1] ^= 255
    file.write_bytes(content)
    with pytest.raises(DamagedFolder, match="checksum"):
        say(project, "b1", "bees")
    assert rebuild(project).rows[0]["difference"] == "the previous model was damaged"
    assert [s.category for s in suggest(project, "honey")] == [
        s.category for s in expected
    ]


def test_categories_come_go_and_change_their_names(project):
    teach_all(project)
    edit.rename(project, "bees", new_id="apiary")
    learn_at_once(project)
    assert first(project, "honey") == "apiary"
    edit.retire(project, "apiary")
    learn_at_once(project)
    assert "apiary" not in {one.category for one in suggest(project, "honey")}
    undo(project)
    edit.add(project, Category("soap"))
    learn_at_once(project)
    assert "soap" in {one.category for one in suggest(project, "honey")}
    edit.split(project, "candles", Category("dips"), ["c3"])
    learn_at_once(project)
    assert first(project, "dips") == "dips"
    assert first(project, "a wick") == "candles"
    assert wrong_lessons(project) == []


def test_a_queue_leaves_out_what_is_not_ranked(project):
    texts = [(name, f"{text} {i}") for name, text in TEXTS.items() for i in range(7)]
    for number, (name, text) in enumerate(texts):
        id_ = f"{name[0]}{number + 10}"
        project.store.put_documents([Record(Document(id_, {"text": text}))])
        kind = {"b": "bees", "d": "bread", "c": "candles", "t": "bread"}[name[0]]
        decide(project, id_, Decision((kind,)), {})
    assert train(project).calibrated_on is not None
    edit.retire(project, "bees")
    learn_at_once(project)
    for order in ("uncertain", "likely"):
        rows = queue(project, order).rows
        assert len(rows) == len(TEXTS)
        assert {row["category"] for row in rows} == {"bread", "candles"}
        assert all(0 < row["probability"] < 1 for row in rows)


def test_an_inner_category_is_ranked_once_it_has_a_document(project):
    edit.add(project, Category("hives", parents=("bees",)))
    say(project, "c1", "candles")
    assert "bees" not in {one.category for one in suggest(project, "wick")}
    say(project, "b1", "bees")
    assert first(project, "honey") == "bees"


def test_a_merge_and_its_undoing_teach_what_the_log_says(project):
    teach_all(project)
    say(project, "b1", "candles")
    decide(project, "b2", Decision(reject=("candles",)), {})
    decide(project, "t1", Decision(reject=("candles",)), {})
    decide(project, "d1", Decision(over=(("candles", "bread"),)), {})
    learn_at_once(project)
    merged = edit.merge(project, "candles", "bees").numbers[0]
    learn_at_once(project)
    assert wrong_lessons(project) == []
    assert first(project, "tallow") == "bees"
    undo(project, merged)
    learn_at_once(project)
    assert wrong_lessons(project) == []
    assert first(project, "tallow") == "candles"
    assert rebuild(project).rows[0]["difference"] == 0.0


def test_a_text_imported_anew_can_still_be_taken_back(project):
    teach_all(project)
    project.store.put_documents([Record(Document("b1", {"text": "nothing like it"}))])
    decide(project, "b1", Decision(remove=("bees",)), {})
    assert learn_at_once(project).documents == 1
    assert wrong_lessons(project) == []


def test_a_ranker_is_kept_for_two_saves_only(project):
    teach_all(project)
    folders = [path for path in (project.folder / "live").iterdir() if path.is_dir()]
    assert len(folders) == 2
    assert Path(project.lives.current()) in folders


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    return new_library(tmp_path_factory.mktemp("undo") / "library", trained=True)


@pytest.mark.parametrize("served", [False, True])
def test_a_merge_that_is_undone_leaves_the_ranker_as_it_was(library, tmp_path, served):
    """Also a category whose start is what a training made of its documents."""
    folder = shutil.copytree(library, tmp_path / "library")
    text = "sparrows and finches nest in the hedge"
    birds, mammals = "nature.animals.birds", "nature.animals.mammals"
    if served:
        with Desk(folder) as desk:
            assert desk.learned(60)
            before = desk.model().suggest(text)
            change = edit.TaxonomyChange("merge", birds, to=mammals)
            acts = [
                lambda p: edit.carry_out(p, change, "eve"),
                lambda p: undo(p, who="eve"),
            ]
            for act in acts:
                logged = desk.write(act)
                desk.after_write([], "eve", logged)
                desk.look_again()
                assert desk.learned(60)
                if act is acts[0]:
                    assert birds not in {s.category for s in desk.model().suggest(text)}
            assert desk.model().suggest(text) == before
        return
    with Project(folder) as project:
        before = suggest(project, text)
        assert before[0].category == birds
        edit.merge(project, birds, mammals)
        learn_at_once(project)
        assert birds not in {s.category for s in suggest(project, text)}
        undo(project)
        learn_at_once(project)
        assert suggest(project, text) == before
        assert rebuild(project).rows[0]["difference"] == 0.0
        assert suggest(project, text) == before


def test_a_text_that_is_replaced_is_learned_anew_and_can_be_brought_back(project):
    teach_all(project)
    before = open_learner(project)
    changed = {"text": "a lantern of horn"}
    project.store.put_documents([Record(Document("c1", changed))], "eve")
    learned = learn_at_once(project)
    assert learned.documents == 1
    assert first(project, "lantern") == "candles"
    assert rebuild(project).rows[0]["difference"] == 0.0
    undo(project, who="eve")
    assert project.store.document("c1").fields == {"text": TEXTS["c1"]}
    learn_at_once(project)
    assert weights(open_learner(project)) == weights(before)
    undo(project, max(e.seq for e in project.store.log()))
    assert project.store.document("c1").fields == changed
    learn_at_once(project)
    assert first(project, "lantern") == "candles"
    assert rebuild(project).rows[0]["difference"] == 0.0


def test_what_was_replaced_twice_is_brought_back_in_turn(project):
    for text in ("horn", "bone"):
        project.store.put_documents([Record(Document("c1", {"text": text}))], "eve")
    first_act = max(e.seq for e in project.store.log()) - 1
    with pytest.raises(Mistake, match=f"undo {first_act + 1} first"):
        undo(project, first_act)
    undo(project, first_act + 1)
    undo(project, first_act)
    assert project.store.document("c1").fields == {"text": TEXTS["c1"]}


def test_the_same_text_again_is_no_act(project):
    last = [e.seq for e in project.store.log()]
    record = project.store.record("c1")
    project.store.put_documents([Record(record.document, meta=record.meta)], "eve")
    assert [e.seq for e in project.store.log()] == last
