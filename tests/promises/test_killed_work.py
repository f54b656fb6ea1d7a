"""Importing, training and indexing that is killed: all of it is there, or nothing."""

import shutil

import numpy as np
import pytest

from classmark.workbench.learning.models import open_model
from classmark.workbench.project import Project, info
from classmark.workbench.search.index import index_project
from projects import new_parish, records_of
from promises.killed import killed, workers

IMPORTING = """
import sys
from pathlib import Path
sys.path.insert(0, "tests")
from classmark.workbench.files.importing import import_records
from classmark.workbench.project import Project
from projects import records_of

def work(path, seed):
    for turn in range(10**6):
        rows = [
            {"id": f"t{turn}-{n}", "text": f"honey {n}", "labels": ["bees", "bread"]}
            for n in range(50)
        ]
        with Project(Path(path)) as project:
            import_records(project, records_of(rows), "a file")
        print("done", turn, flush=True)
"""
TRAINING = """
from pathlib import Path
from classmark.workbench.learning.train import train
from classmark.workbench.project import Project

def work(path, seed):
    while True:
        with Project(Path(path)) as project:
            print("done", int(train(project).model), flush=True)
"""
INDEXING = """
from pathlib import Path
from classmark.workbench.project import Project
from classmark.workbench.search.index import index_project

def work(path, seed):
    for turn in range(10**6):
        with Project(Path(path)) as project:
            index_project(project, positions=turn % 2 == 0)
        print("done", turn, flush=True)
"""


def require_imported(project, done):
    """Files are in, whole, as many as were acknowledged, and perhaps one more."""
    sql = "SELECT id FROM documents WHERE id LIKE 't%-%'"
    ids = [id_ for (id_,) in project.store.run(sql)]
    turns = {int(id_[1:].split("-")[0]) for id_ in ids}
    assert len(ids) == 50 * len(turns)
    assert set(done) <= turns
    assert len(turns) <= len(done) + 1
    for id_ in ids:
        assert set(project.store.record(id_).labels) == {"bees", "bread"}


def require_trained(project, done):
    """The model in service is the one acknowledged last, or a later one, whole."""
    current = project.models.current()
    assert int(current.name) >= max(done, default=0)
    open_model(project, current)


def require_indexed(project, _done):
    """It can be indexed again, and searched."""
    index_project(project, positions=True)
    assert project.index.folder.is_dir()


@pytest.mark.parametrize(
    ("work", "require"),
    [
        (IMPORTING, require_imported),
        (TRAINING, require_trained),
        (INDEXING, require_indexed),
    ],
)
def test_killed_work_leaves_all_or_nothing(tmp_path, promised, work, require):
    made = new_parish(tmp_path / "made")
    with workers(work) as process:
        for seed in range(promised(6, 60)):
            folder = shutil.copytree(made, tmp_path / "parish")
            seconds = np.random.default_rng(seed).uniform(0.0, 0.2)
            lines = killed(process, folder, seed, seed % 3, seconds)
            done = [int(line.split()[1]) for line in lines if line.startswith("done")]
            with Project(folder) as project:
                require(project, done)
                info(project, check=True)
            assert not list(tmp_path.glob(".parish.*.new"))
            shutil.rmtree(folder)


def test_the_records_are_what_the_worker_makes():
    (record,) = records_of([{"id": "t", "text": "honey", "labels": ["bees"]}])
    assert record.labels
