"""Promises 1 and 2: a kill loses nothing acknowledged, and all opens again."""

import shutil

import numpy as np
import pytest

from classmark.index.directory import Index
from classmark.workbench.desk.desk import Desk
from classmark.workbench.looking import info
from classmark.workbench.project import Project
from promises.killed import killed, workers
from workbench.live_projects import TEXTS, new_project, teach_all

DECIDING = """
from pathlib import Path
from classmark.rankers.live import load_kernels
from classmark.workbench.deciding import Decision
from classmark.workbench.desk.deciding import decide_on, undo_for
from classmark.workbench.desk.desk import Desk

load_kernels()

def work(path, seed):
    desk = Desk(Path(path))
    for turn in range(10**6):
        name = ("bees", "bread", "candles")[(seed + turn) % 3]
        document = ("b1", "d1", "c1")[turn % 3]
        saved = decide_on(desk, document, Decision((name,)), {}, "ann", None)
        print("saved", saved.number, flush=True)
        if turn % 5 == 4:
            print("saved", undo_for(desk, "ann").number, flush=True)
"""
BUILDING = """
import os
from classmark.index.directory import Index

def work(path, seed):
    documents = [(f"d{n}", f"bee hive w{n % 7}") for n in range(40)]
    Index.build(path, documents)
    print("built", 1, flush=True)
    for turn in range(10**6):
        index = Index.build(path, documents[turn % 9 :])
        print("built", index.generation, flush=True)
        index = Index.open(path)
        index.replace([(f"d{turn % 50}", "wasp")])
        index.commit()
        print("built", index.generation, flush=True)
        index.close()
"""


@pytest.fixture(scope="module")
def decided(tmp_path_factory):
    folder = new_project(tmp_path_factory.mktemp("killed") / "shelf")
    with Project(folder) as project:
        teach_all(project)
    return folder


def test_no_acknowledged_decision_is_lost(decided, tmp_path, promised):
    told = 0
    with workers(DECIDING) as process:
        for seed in range(promised(30, 500)):
            rng = np.random.default_rng(seed)
            folder = tmp_path / "shelf"
            shutil.copytree(decided, folder)
            seconds = rng.uniform(0.0, 0.05)
            said = killed(process, folder, seed, seed % 9, seconds)
            numbers = [int(line.split()[1]) for line in said]
            told += len(numbers)
            with Project(folder) as project:
                found = {n for (n,) in project.store.run("SELECT seq FROM judgments")}
                assert found >= set(numbers)
                info(project, check=True)
            if seed % 10 == 0:
                with Desk(folder) as desk:
                    assert desk.model() is not None
            shutil.rmtree(folder)
    assert told > 30


def test_an_index_opens_at_its_last_commit(tmp_path, promised):
    """The first commit is among the moments: then there is none, or a whole one."""
    told = before = 0
    with workers(BUILDING) as process:
        for seed in range(promised(30, 500)):
            rng = np.random.default_rng(seed)
            folder = tmp_path / "index"
            first = seed % 3 == 0
            lines = 0 if first else seed % 7
            seconds = rng.uniform(0.0, 0.03)
            said = killed(process, folder, seed, lines, seconds)
            generations = [int(line.split()[1]) for line in said]
            told += len(generations)
            if (folder / "CURRENT").exists():
                opened = Index.open(folder)
                assert opened.generation >= max(generations, default=1)
                assert opened.check().documents == len(opened)
                opened.close()
            else:
                assert not generations
                before += 1
                assert len(Index.build(folder, [("a", "bee")])) == 1
            shutil.rmtree(folder)
    assert told > 30
    assert before


def test_the_worker_decides_on_every_kind_of_document():
    assert {"b1", "d1", "c1"} <= set(TEXTS)
