"""Acts, undoings and the life of categories against a simple model (promise 7)."""

import tempfile
from pathlib import Path

import hypothesis.strategies as st
from hypothesis import settings
from hypothesis.stateful import (
    RuleBasedStateMachine,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from classmark.corpus.documents import Document
from classmark.formats.records import Record
from classmark.problems import Mistake
from classmark.taxonomy.category import Category, taxonomy_of
from classmark.workbench.categories import edit
from classmark.workbench.deciding.decide import Decision, decide
from classmark.workbench.project import Project, create
from classmark.workbench.settings import Settings
from classmark.workbench.store.log import JudgedRecord, LogReplay
from classmark.workbench.store.undo import undo
from oracles.workbench import Model

DOCUMENTS = ["d1", "d2", "d3"]
NAMES = st.sampled_from(["a", "b", "c", "d", "e"])
SEEDS = st.integers(0, 10**6)


def plain(judged: JudgedRecord):
    return (
        dict(judged.labels),
        set(judged.primary),
        set(judged.rejected),
        set(judged.unsure),
        judged.aside,
        dict(judged.preferences),
    )


class Acts(RuleBasedStateMachine):
    def __init__(self):
        super().__init__()
        self.place = tempfile.TemporaryDirectory()
        folder = Path(self.place.name) / "shelf"
        create(folder, Settings("shelf"))
        self.project = Project(folder)
        self.store = self.project.store
        self.store.run("PRAGMA synchronous = OFF")
        self.store.put_documents(Record(Document(d, {"text": d})) for d in DOCUMENTS)
        self.model = Model()
        self.fresh = 0
        for name in ("a", "b"):
            self.add(name, 0)

    def teardown(self):
        self.project.store.close()
        self.place.cleanup()

    def number(self, name):
        found = [n for n, node in self.model.nodes().items() if node.id == name]
        return found[0] if found else None

    def pick(self, seed):
        nodes = sorted(self.model.nodes().items())
        return nodes[seed % len(nodes)]

    @precondition(lambda self: self.model.nodes())
    @rule(
        document=st.sampled_from(DOCUMENTS),
        act=st.sampled_from(["assign", "primary", "reject", "unsure", "remove"]),
        seed=SEEDS,
    )
    def say(self, document, act, seed):
        number, node = self.pick(seed)
        if node.retired and act not in {"reject", "remove"}:
            return
        decide(self.project, document, Decision(**{act: (node.id,)}), {})
        grade = {"assign": 1.0, "primary": 2.0}.get(act)
        self.model.append(document=document, act=act, category=number, grade=grade)

    @rule(document=st.sampled_from(DOCUMENTS))
    def set_aside(self, document):
        decide(self.project, document, Decision(aside=True), {})
        self.model.append(document=document, act="unsure")

    @precondition(lambda self: len(self.model.nodes()) > 1)
    @rule(document=st.sampled_from(DOCUMENTS), first=SEEDS, second=SEEDS)
    def prefer(self, document, first, second):
        (u, above), (v, below) = self.pick(first), self.pick(second)
        if u == v or above.retired or below.retired:
            return
        decide(self.project, document, Decision(over=((above.id, below.id),)), {})
        self.model.append(
            document=document, act="prefer", category=u, other=v, grade=1.0
        )

    @precondition(lambda self: self.model.lines)
    @rule(seed=SEEDS)
    def undo_any(self, seed):
        seq = seed % len(self.model.lines) + 1
        self.try_undoing(seq)

    @precondition(lambda self: self.model.lines)
    @rule()
    def undo_newest(self):
        self.try_undoing(len(self.model.lines))

    def try_undoing(self, seq):
        if not self.model.holds(seq):
            self.refused(undo, self.project, seq)
            return
        try:
            undo(self.project, seq)
        except Mistake:
            return
        self.model.undo(seq)

    def refused(self, verb, *arguments):
        try:
            verb(*arguments)
        except Mistake:
            return
        message = f"{verb.__name__}{arguments[1:]} was not refused"
        raise AssertionError(message)

    @rule(name=NAMES, seed=SEEDS)
    def add(self, name, seed):
        nodes = sorted(self.model.nodes().items())
        chosen = seed % (len(nodes) + 1)
        parents = (nodes[chosen - 1],) if chosen else ()
        new = Category(name, parents=tuple(node.id for _, node in parents))
        if self.number(name) is not None:
            self.refused(edit.add, self.project, new)
            return
        edit.add(self.project, new)
        self.fresh += 1
        above = tuple(number for number, _ in parents)
        self.model.append(
            document=None, act="add", category=self.fresh,
            said={"id": name, "parents": above},
        )  # fmt: skip

    @precondition(lambda self: self.model.nodes())
    @rule(seed=SEEDS, name=NAMES)
    def rename(self, seed, name):
        number, node = self.pick(seed)
        if self.number(name) is not None:
            return
        edit.rename(self.project, node.id, new_id=name)
        said = {"id": name}
        self.model.append(document=None, act="rename", category=number, said=said)

    @precondition(lambda self: self.model.nodes())
    @rule(seed=SEEDS, label=st.sampled_from(["Ä", "Wax & wick", "x"]))
    def relabel(self, seed, label):
        number, node = self.pick(seed)
        if node.label == label:
            return
        edit.rename(self.project, node.id, label=label)
        said = {"label": label}
        self.model.append(document=None, act="rename", category=number, said=said)

    @precondition(lambda self: len(self.model.nodes()) > 1)
    @rule(first=SEEDS, second=SEEDS, merged=st.booleans())
    def move_or_merge(self, first, second, merged):
        (u, node), (v, other) = self.pick(first), self.pick(second)
        verb = edit.merge if merged else edit.move
        try:
            verb(self.project, node.id, other.id)
        except Mistake:
            assert u == v or self.below(v, u) or node.parents == (v,)
            return
        if merged:
            self.model.merge(u, v)
        else:
            said = {"parents": (v,)}
            self.model.append(document=None, act="move", category=u, other=v, said=said)

    def below(self, number, top):
        nodes = self.model.nodes()
        above = set(nodes[number].parents)
        return top in above or any(self.below(p, top) for p in above)

    @precondition(lambda self: self.model.nodes())
    @rule(seed=SEEDS)
    def retire(self, seed):
        number, node = self.pick(seed)
        if not node.retired:
            edit.retire(self.project, node.id)
            self.model.append(document=None, act="retire", category=number)

    @precondition(lambda self: self.model.nodes())
    @rule(seed=SEEDS, name=NAMES, take=st.sets(st.sampled_from(DOCUMENTS)))
    def split(self, seed, name, take):
        number, node = self.pick(seed)
        found = {d: self.model.words(d)[0].get(number) for d in take}
        words = {d: (line.act, line.grade) for d, line in found.items() if line}
        moved = sorted(d for d, w in words.items() if w[0] in {"assign", "primary"})
        if not moved or self.number(name) is not None:
            return
        edit.split(self.project, node.id, Category(name), moved)
        self.fresh += 1
        seq = self.model.append(
            document=None, act="split", category=number, other=self.fresh,
            said={"id": name, "parents": node.parents},
        )  # fmt: skip
        for document in moved:
            act, grade = words[document]
            for what in (
                {"act": "remove", "category": number},
                {"act": act, "category": self.fresh, "grade": grade},
            ):
                self.model.append(document=document, within=seq, **what)

    @invariant()
    def the_store_says_what_the_model_says(self):
        nodes = self.model.nodes()
        wanted = [
            Category(
                node.id,
                node.label,
                parents=tuple(nodes[p].id for p in node.parents),
                status="deprecated" if node.retired else "active",
            )
            for node in nodes.values()
        ]
        assert self.store.categories() == wanted
        taxonomy_of(wanted)
        for record in self.store.records():
            assert plain(record) == self.model.state(record.id)
            assert self.store.record(record.id) == record

    @invariant()
    def the_log_replays_to_the_same_state(self):
        entries = list(self.store.log())
        assert [e.seq for e in entries] == [x.seq for x in self.model.lines]
        assert [e.act for e in entries] == [x.act for x in self.model.lines]
        replay = LogReplay(entries)
        assert sorted(replay.names.values()) == sorted(
            node.id for node in self.model.nodes().values()
        )
        for document in DOCUMENTS:
            assert plain(
                replay.judged(Record(Document(document, {})))
            ) == self.model.state(document)
        half = len(entries) // 2
        assert list(self.store.log(half)) == entries[half:]


def test_the_log_and_its_model_agree(promised):
    examples = promised(40, 1000)
    run_state_machine_as_test(
        Acts, settings=settings(max_examples=examples, stateful_step_count=25)
    )
