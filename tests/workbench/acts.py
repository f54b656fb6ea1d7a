"""What people do in the tests: one act, all acts, random acts; and what must hold."""

from classmark.preferences.graph import PreferenceGraph
from classmark.problems import Mistake
from classmark.rankers.preference import lesson_of
from classmark.taxonomy.category import Category
from classmark.workbench.categories import edit
from classmark.workbench.deciding.decide import Decision, decide, decide_on
from classmark.workbench.files.documents import (
    delete_documents,
    deleted_documents,
    restore_documents,
)
from classmark.workbench.learning.fit import TEST, part_of
from classmark.workbench.learning.learner import open_learner
from classmark.workbench.learning.lessons import lesson
from classmark.workbench.learning.live import learn_at_once
from classmark.workbench.store.undo import undo
from projects import RIGHT, TEXTS


def say(project, document, *labels, learn=True, **said):
    """Decide, and learn it."""
    decide(project, document, Decision(tuple(labels), **said), {})
    return learn_at_once(project) if learn else None


def teach_all(project, **how):
    for id_ in TEXTS:
        say(project, id_, RIGHT[id_[0]], **how)


def say_at(desk, document, *labels, who="ada", version=None, **said):
    """Decide at a desk, without the model's view of it."""
    return decide_on(desk, document, Decision(labels, **said), {}, who, version)


def say_all(desk, ids=("b1", "b2", "d1", "d2", "c1", "c2")):
    for id_ in ids:
        say_at(desk, id_, RIGHT[id_[0]])
    assert desk.learned(30)


def count(desk, sql, *values):
    return desk.store.run(sql, values).fetchone()[0]


def weights(learner):
    """(term, category) → weight, those that are not nothing."""
    names = learner.ranker.vectorizer.get_feature_names_out()
    found = {}
    for term, row in zip(names, learner.ranker.dual.W, strict=False):
        for name, value in zip(learner.model().categories, row, strict=True):
            found[term, name] = float(value)
    return found


def unlearned(learner):
    """The acts that a live ranker has not seen."""
    return list(learner.project.store.log(learner.moment.upto))


def wrong_lessons(project):
    """Documents of which the ranker has learned something else than the log says."""
    learner = open_learner(project)
    assert not unlearned(learner)
    dual, labels = learner.ranker.dual, learner.labels
    found = []
    for record in project.store.records():
        said = None if part_of(record) == TEST else lesson(record, labels)
        handle = learner.ranker.handles.get(record.id)
        if said is None or handle is None:
            found += [record.id] * ((said is None) != (handle is None))
            continue
        if not isinstance(said, PreferenceGraph):
            said = PreferenceGraph.multilabel(len(labels), said)
        known = dual.lesson(handle)
        expected = lesson_of((known.columns, known.values), said, "dom")
        if not expected.prefers_as(known):
            found.append(record.id)
    return found


IMPORTS = (
    "SELECT count(*) FROM judgments "
    "WHERE act = 'import' AND document IS NULL AND changes IS NULL"
)


class Acts:
    """One random act after the other; those that cannot be are left out."""

    def __init__(self, project, rng, learn=learn_at_once):
        self.project, self.rng, self.learn = project, rng, learn
        self.ids = sorted(project.store.ids())
        self.made = 0

    def act(self):
        names = ["decide"] * 8 + ["undo"] * 4
        names += ["add", "rename", "merge", "split", "move", "retire", "delete"]
        names += ["restore"]
        try:
            getattr(self, self.rng.choice(names))()
        except Mistake:
            return
        if self.rng.random() < 0.8:
            self.learn(self.project)

    def one(self, choices):
        if not choices:
            raise Mistake("nothing to choose from")
        return choices[int(self.rng.integers(len(choices)))]

    def name(self):
        return self.one([c.id for c in self.project.store.categories()])

    def fresh(self):
        self.made += 1
        return f"new {self.made}"

    def fresh_active(self):
        edit.add(self.project, Category(name := self.fresh()))
        return name

    def decide(self):
        kinds = ["assign"] * 5 + ["primary", "reject", "unsure", "remove", "over"]
        kind, document = self.one([*kinds, "aside"]), self.one(self.ids)
        said = {kind: (self.name(),)}
        if kind == "over":
            said = {"over": ((self.name(), self.name()),)}
        if kind == "aside":
            said = {"aside": True}
        decide(self.project, document, Decision(**said), {})

    def undo(self):
        last = count(self.project, "SELECT coalesce(max(seq), 1) FROM judgments")
        number = int(self.rng.integers(1, last + 1))
        if not count(self.project, f"{IMPORTS} AND seq = {number}"):
            undo(self.project, number)

    def delete(self):
        here = sorted(self.project.store.ids())
        if len(here) <= len(self.ids) - 2:  # some are left to be decided on
            raise Mistake("enough are deleted")
        delete_documents(self.project, [self.one(here)])

    def restore(self):
        gone = deleted_documents(self.project)
        restore_documents(self.project, [self.one([each.document for each in gone])])

    def add(self):
        parents = () if self.rng.random() < 0.7 else (self.name(),)
        edit.add(self.project, Category(self.fresh(), parents=parents))

    def rename(self):
        edit.rename(self.project, self.name(), new_id=self.fresh())

    def merge(self):
        edit.merge(self.project, self.name(), self.name())

    def split(self):
        name = self.name()
        mine = [id_ for id_, has in self.project.store.labels().items() if name in has]
        chosen = [id_ for id_ in mine if self.rng.random() < 0.5]
        edit.split(self.project, name, Category(self.fresh()), chosen)

    def move(self):
        edit.move(self.project, self.name(), self.name())

    def retire(self):
        edit.retire(self.project, self.name())
