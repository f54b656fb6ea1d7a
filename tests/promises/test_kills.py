"""Promises 1 and 2: a kill loses nothing acknowledged, and all opens again."""

import shutil

import numpy as np
import pytest

from classmark.index.index import Index
from classmark.workbench.project import Project, info
from classmark.workbench.team.desk import Desk
from projects import TEXTS, new_project
from promises.killed import killed, workers
from workbench.acts import teach_all

DECIDING = """
from pathlib import Path
from classmark.rankers.live_text_ranker import load_kernels
from classmark.taxonomy.category import Category
from classmark.workbench.categories import edit
from classmark.workbench.deciding.decide import Decision
from classmark.workbench.deciding.decide import decide_on, undo_for
from classmark.workbench.team.desk import Desk

load_kernels()

def work(path, seed):
    desk = Desk(Path(path))
    names = ("bees", "bread", "candles")
    for turn in range(10**6):
        yes, no = names[(seed + turn) % 3], names[(seed + turn + 1) % 3]
        document = ("b1", "d1", "c1")[turn % 3]
        decision = Decision((yes,), reject=(no,))
        saved = decide_on(desk, document, decision, {}, "ann", None)
        print("saved", saved.number, flush=True)
        if turn % 5 == 4:
            print("saved", undo_for(desk, "ann").number, flush=True)
        if turn % 3 == 2:
            with desk.writing() as project:
                done = edit.add(project, Category(f"new{turn}"))
            print("saved", done.numbers[-1], flush=True)
"""
MARKING = """
from pathlib import Path
from classmark.workbench.project import Project
from classmark.workbench.examples.searches import (
    Mark, add_marks, begin_search, undo_marks
)

def work(path, seed):
    with Project(Path(path)) as project:
        search = begin_search(project.store, f"s{seed}")
        for _ in range(10**6):
            both = [Mark("b1", "yes", "likely", 1, 0.5), Mark("b1", "no")]
            print(search.number, *add_marks(project.store, search, both), flush=True)
            undo_marks(project.store, search)
"""
INDEXING = """
import os
from tempfile import TemporaryDirectory
from classmark.index import merge
from classmark.index.index import Index

merge.FANOUT = 2
os.fsync = lambda descriptor: None  # a kill loses nothing that was written

with TemporaryDirectory() as warm:
    index = Index.build(warm, [("a", "bee"), ("b", "wasp")])
    index.replace([("a", "hive"), ("c", "hive")])
    index.commit().merge()

def work(path, seed):
    merging = "background" if seed % 2 else "commit"
    Index.build(path, [(f"d{n}", f"bee hive w{n % 7}") for n in range(20)])
    print("committed", 1, flush=True)
    index = Index.open(path, merging=merging)
    for turn in range(10**6):
        names = [f"d{(seed + turn + n) % 40}" for n in range(9)]
        index.replace([(name, f"bee w{turn}") for name in names])
        index.delete(list(index.ids())[:1])
        index.commit()
        print("committed", index.generation, flush=True)
        if turn % 5 == 4:
            index.merge()
            print("committed", index.generation, flush=True)
        if turn % 7 == 6:
            index.close()
            Index.build(path, [(name, "bee again") for name in index.ids()])
            index = Index.open(path, merging=merging)
            print("committed", index.generation, flush=True)
"""


@pytest.fixture(scope="module")
def decided(tmp_path_factory):
    folder = new_project(tmp_path_factory.mktemp("killed") / "shelf")
    with Project(folder) as project:
        teach_all(project)
    return folder


def test_no_acknowledged_decision_is_lost(decided, tmp_path, promised):
    """Decisions, undone ones and new categories; each decision whole or not at all."""
    acknowledged = 0
    with workers(DECIDING) as process:
        for seed in range(promised(20, 500)):
            folder = shutil.copytree(decided, tmp_path / "shelf")
            seconds = np.random.default_rng(seed).uniform(0.0, 0.05)
            lines = killed(process, folder, seed, seed % 9, seconds)
            acknowledged += len(lines)
            with Project(folder) as project:
                log = list(project.store.log())
                numbers = {int(line.split()[1]) for line in lines}
                assert {entry.seq for entry in log} >= numbers
                new = [e for e in log if e.document and not e.undoes][len(TEXTS) :]
                assert len(new) % 2 == 0, "a decision is stored whole"
                info(project, check=True)
            if seed % 10 == 0:
                with Desk(folder) as desk:
                    assert desk.model() is not None
            shutil.rmtree(folder)
    assert acknowledged > 30


def test_no_acknowledged_mark_is_lost(decided, tmp_path, promised):
    """Marks of one step are stored together."""
    acknowledged = 0
    folder = shutil.copytree(decided, tmp_path / "shelf")
    with workers(MARKING) as process:
        for seed in range(promised(8, 100)):
            seconds = np.random.default_rng(seed).uniform(0.0, 0.05)
            lines = killed(process, folder, seed, 1 + seed % 5, seconds)
            acknowledged += len(lines)
            with Project(folder) as project:
                steps = project.store.run(
                    "SELECT search, min(seq), max(seq) FROM marks WHERE act <> 'undo' "
                    "GROUP BY step HAVING count(*) = 2"
                ).fetchall()
                assert {tuple(map(int, line.split())) for line in lines} <= set(steps)
                (marks,) = project.store.run(
                    "SELECT count(*) FROM marks WHERE act <> 'undo'"
                ).fetchone()
                assert marks == 2 * len(steps)
                info(project, check=True)
    assert acknowledged > 8


def test_an_index_opens_at_its_last_commit(tmp_path, promised):
    """The first commit is among the moments: then there is none, or a whole one.

    Segments are merged by every commit, or in the background.
    """
    acknowledged = before = 0
    with workers(INDEXING) as process:
        for seed in range(promised(40, 500)):
            folder = tmp_path / "index"
            lines = 0 if seed % 3 == 0 else seed % 12
            seconds = np.random.default_rng(seed).uniform(0.0, 0.03)
            answers = killed(process, folder, seed, lines, seconds)
            generations = [int(line.split()[1]) for line in answers]
            acknowledged += len(generations)
            if (folder / "CURRENT").exists():
                require_whole(folder, max(generations, default=1))
            else:
                assert not generations
                before += 1
                assert len(Index.build(folder, [("a", "bee")])) == 1
            shutil.rmtree(folder)
    assert acknowledged > 30
    assert before


def require_whole(folder, generation):
    """The index is at that generation or later, sound, and can be changed."""
    with Index.open(folder) as index:
        assert index.generation >= generation
        assert index.check().documents == len(index) == len(list(index.ids()))
        index.replace([("after", "wasp")])
        index.commit()
        assert [hit.id for hit in index.search("wasp")] == ["after"]
        assert not list(folder.glob(".*.writing"))
        assert not list(folder.glob("merging/*segment*"))
        assert len(list(folder.glob("segment-*"))) == index.check().segments


def test_the_worker_decides_on_every_kind_of_document():
    assert {"b1", "d1", "c1"} <= set(TEXTS)
