"""What is undone is as never seen: scores, to the bit, and after a rebuild (promise 6).

A project lives through random acts on documents and categories, imports, replaced and
deleted texts, and trainings; acts are undone and brought back in any order that is
allowed. Another one is given only the acts that hold in the end. Both must rank alike.
"""

import random
import shutil

import numpy as np
import pytest

from classmark.corpus.documents import Document
from classmark.formats.records import Record
from classmark.meaning.sources import EncoderVectors
from classmark.problems import Mistake
from classmark.rankers.online import RankerBeside
from classmark.rankers.preference import PreferenceRanker
from classmark.solvers.preference_beside import LiveDualBeside
from classmark.solvers.preference_live import LiveDual
from classmark.taxonomy.category import Category
from classmark.workbench import meaning
from classmark.workbench.categories import edit
from classmark.workbench.deciding.decide import Decision, decide
from classmark.workbench.files.documents import delete_documents
from classmark.workbench.files.importing import import_records
from classmark.workbench.learning import learner as learners
from classmark.workbench.learning.live import (
    Service,
    is_unlearned_by_training,
    unlearn_by_training,
)
from classmark.workbench.learning.rebuild import rebuild
from classmark.workbench.learning.train import train
from classmark.workbench.project import Project
from classmark.workbench.settings import LearningSettings, MeaningSettings
from classmark.workbench.store.undo import chain_of, is_undone, undo
from meaning.tiny_models import Model
from projects import NAMES, NOTES, RIGHT, TEXTS, new_project

WORDS = "honey hive bee swarm dough oven rye yeast wick tallow flame wax comb"
ASKED = ["honey and wax", "rye dough", "a flame in the oven", "wick"]
KINDS = ["assign"] * 5 + ["primary", "reject", "unsure", "remove", "over", "aside"]
EDITS = ["add", "rename", "describe", "merge", "split", "move", "retire"]
ROOTS = "SELECT seq FROM judgments WHERE seq > ? AND within IS NULL"
ACTS = ["decide"] * 8 + EDITS + ["bring_in", "replace", "delete"] * 2


HOLDING = """
SELECT act, document FROM judgments AS j WHERE undoes IS NULL
AND NOT EXISTS (SELECT 1 FROM undone WHERE seq = j.seq) ORDER BY seq
"""
NOTED = "SELECT max(revisits) FROM lessons WHERE seq BETWEEN ? AND ?"
VISITS = 7
LEARNERS = [  # of each its settings, and whether it has meaning beside words
    (LearningSettings(), False),
    (LearningSettings(), False),
    (LearningSettings(loss="dis"), False),
    (LearningSettings(loss="dme"), False),
    (LearningSettings(layers=3), False),
    (LearningSettings(select_features=2), False),
    (LearningSettings(learner="mmp"), False),
    (LearningSettings(learner="mmp", loss="3"), False),
    (LearningSettings(learner="perceptron", average="yes"), False),
    (LearningSettings(), True),
    (LearningSettings(select_features=2), True),
    (LearningSettings(learner="mmp"), True),
    (LearningSettings(strategy="plain", memory="500B"), False),
    (LearningSettings(strategy="top-down"), False),
]
CRAFTS = [Category("crafts"), Category("nature")] + [
    Category(name, parents=("nature" if name == "bees" else "crafts",))
    for name in NAMES
]


@pytest.fixture(autouse=True)
def counted_visits(monkeypatch):
    """No two clocks are alike: the time of a budget is a number of visits here."""
    for dual in (LiveDual, LiveDualBeside):
        monkeypatch.setattr(dual, "revisit_for", dual.revisit)
    monkeypatch.setattr(learners, "BUDGET", VISITS)


@pytest.fixture(autouse=True)
def small_vectors(monkeypatch):
    """Vectors of five numbers, by the words of a text."""
    vectors = EncoderVectors(Model())
    monkeypatch.setattr(meaning, "source_from", lambda _: vectors)


class Life:
    """A project, and what was done in it: name, arguments, and its act's number."""

    def __init__(self, folder, learning, source):
        parts = {"learning": learning, "meaning": source}
        tree = CRAFTS if learning.strategy == "top-down" else None
        self.project = Project(new_project(folder, NOTES, tree, **parts))
        self.store = self.project.store
        self.store.run("PRAGMA synchronous = OFF")
        self.service = Service(self.project, self.store.transaction)
        self.service.open()
        self.done = []

    def do(self, name, arguments, visits=VISITS):
        """Do something and learn it, with so many visits; False where it is refused."""
        before = self.last()
        if self.service.learner is not None:
            ranker = self.service.learner.ranker.ranker
            if isinstance(ranker, PreferenceRanker | RankerBeside):
                ranker.set_params(time_budget=visits)
        try:
            getattr(self, name)(*arguments)
        except Mistake:
            return False
        self.learn()
        roots = self.store.run(ROOTS, (before,)).fetchall()
        number = roots[0][0] if len(roots) == 1 else None
        self.done.append((name, arguments, number, (before + 1, self.last())))
        return True

    def take_back(self, number):
        """Undo an act, or bring it back; False where that is refused."""
        if is_undone(self.store, number):
            number = max(chain_of(self.store, number))
        try:
            undo(self.project, number)
        except Mistake:
            return False
        self.learn()
        return True

    def last(self):
        last = "SELECT coalesce(max(seq), 0) FROM judgments"
        return self.store.run(last).fetchone()[0]

    def learn(self):
        if is_unlearned_by_training(self.project):
            unlearn_by_training(self.project)
        if self.service.is_outdated():
            self.service.open()
        self.service.learn()

    def decide(self, document, said):
        decide(self.project, document, Decision(**said), {})

    def add(self, name, *parents):
        edit.add(self.project, Category(name, parents=parents))

    def rename(self, name, new):
        edit.rename(self.project, name, new_id=new)

    def describe(self, name, text):
        edit.describe(self.project, name, {"note": text}, None)

    def merge(self, name, into):
        edit.merge(self.project, name, into)

    def split(self, name, new, documents):
        edit.split(self.project, name, Category(new), documents)

    def move(self, name, to):
        edit.move(self.project, name, to)

    def retire(self, name):
        edit.retire(self.project, name)

    def bring_in(self, *records):
        import_records(self.project, records, "file")

    def replace(self, document, text):
        self.store.put_documents([Record(Document(document, {"text": text}))])

    def delete(self, document):
        delete_documents(self.project, [document])

    def train(self):
        train(self.project)

    def can_be_rebuilt(self):
        """Whether there is a ranker, and something left that it was trained on."""
        outdated = is_unlearned_by_training(self.project)
        return self.service.model is not None and not outdated

    def labels(self):
        return {record.id: record for record in self.store.records()}

    def scores(self):
        """Text → category → score, as they are shown now."""
        if self.service.model is None:
            return {}
        model = self.service.model
        scores = model.scores(ASKED)
        return {
            (text, name): float(score)
            for text, row in zip(ASKED, scores, strict=True)
            for name, score in zip(model.categories, row, strict=True)
            if np.isfinite(score)
        }


class Chance:
    """Draws acts that a life may take."""

    def __init__(self, life, seed):
        self.life, self.rng, self.fresh = life, random.Random(seed), 0  # noqa: S311

    def name(self):
        return self.rng.choice([c.id for c in self.life.store.categories()])

    def new(self):
        self.fresh += 1
        return f"new {self.fresh}"

    def text(self):
        return " ".join(self.rng.choices([*WORDS.split(), self.new()], k=5))

    def act(self):
        """An act and its arguments."""
        name = self.rng.choice(ACTS)
        return name, getattr(self, name)()

    def decide(self):
        kind, document = self.rng.choice(KINDS), self.rng.choice(self.ids())
        said = {kind: (self.name(),)}
        if kind == "over":
            said = {"over": ((self.name(), self.name()),)}
        if kind == "aside":
            said = {"aside": True}
        return (document, said)

    def ids(self):
        return sorted(self.life.store.ids())

    def add(self):
        return (self.new(), self.name()) if self.rng.random() < 0.4 else (self.new(),)

    def rename(self):
        return self.name(), self.new()

    def describe(self):
        return self.name(), self.text()

    def merge(self):
        return self.name(), self.name()

    def split(self):
        name = self.name()
        mine = [d for d, has in self.life.store.labels().items() if name in has]
        return name, self.new(), [d for d in mine if self.rng.random() < 0.6]

    def move(self):
        return self.name(), self.name()

    def retire(self):
        return (self.name(),)

    def bring_in(self):
        return tuple(
            Record(Document(self.new(), {"text": self.text()}), {self.name(): 1.0})
            for _ in range(self.rng.randint(1, 3))
        )

    def replace(self):
        return self.rng.choice(self.ids()), self.text()

    def delete(self):
        return (self.rng.choice(self.ids()),)


def lived(folder, seed, steps):
    """A project after random acts, undone and brought back in any order."""
    rng = random.Random(seed)  # noqa: S311
    learning, means = rng.choice(LEARNERS)
    life = Life(folder, learning, MeaningSettings("static" if means else "none"))
    chance = Chance(life, seed)
    for id_ in rng.sample(sorted(TEXTS), 6):
        life.do("decide", (id_, {"assign": (RIGHT[id_[0]],)}))
    trained = rng.random() < 0.4
    for step in range(steps):
        numbers = [done[2] for done in life.done if done[2] is not None]
        if trained and step in {steps // 3, steps // 2}:
            life.do("train", ())
        elif rng.random() < 0.4:
            life.take_back(rng.choice(numbers)) if numbers else None
        else:
            scores = life.scores()
            number = life.done[-1][2] if life.do(*chance.act()) else None
            if number and rng.random() < 0.3 and life.take_back(number):
                assert life.scores() == scores, "as before the act"
    return life


def relived(life, folder):
    """Another project, which is given what holds; None where that means something else.

    It may refuse an act; a label of a file may name a category that was called so for a
    while only; what a merge carried over depends on the labels of that time.
    """
    settings = life.project.settings
    other = Life(folder, settings.learning, settings.meaning)
    for name, arguments, number, numbers in life.done:
        if number is None or not is_undone(life.store, number):
            (noted,) = life.store.run(NOTED, numbers).fetchone()
            if not other.do(name, arguments, VISITS if noted is None else noted):
                return None
    same = other.store.categories() == life.store.categories()
    same &= other.store.run(HOLDING).fetchall() == life.store.run(HOLDING).fetchall()
    return other if same and other.labels() == life.labels() else None


@pytest.mark.parametrize("part", range(10))
def test_what_is_undone_is_as_never_seen(tmp_path, promised, part):
    lives, compared = promised(6, 2000), 0
    for seed in range(part * lives, (part + 1) * lives):
        life = lived(tmp_path / f"{seed}", seed, 12)
        other = relived(life, tmp_path / f"{seed} again")
        if other is not None:
            compared += 1
            assert life.scores() == other.scores(), f"seed {seed}"
        if seed % 4 == 0 and life.can_be_rebuilt():
            life.service.save()
            (row,) = rebuild(life.project).rows
            assert row["difference"] == 0.0, f"seed {seed}"
        for project in (life, other):
            if project is not None:
                project.project.__exit__()
        for name in (f"{seed}", f"{seed} again"):
            shutil.rmtree(tmp_path / name)
    assert compared > lives // 2
