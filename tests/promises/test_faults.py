"""Promise 4: a write that fails is a clear error, and what was there before stays."""

import errno
import os
import subprocess
import sys
from contextlib import contextmanager

import pytest

from classmark.index.index import Index
from classmark.workbench.learning.models import open_model
from classmark.workbench.learning.train import train
from classmark.workbench.project import Project
from projects import new_project
from workbench.acts import teach_all

FAILING = ("fsync", "rename", "replace", "mkdir", "open")


class Fault:
    """Let the n-th call of a function of ``os`` fail with an error."""

    def __init__(self, patch, name: str, number: int, code: int) -> None:
        self.calls = 0
        honest = getattr(os, name)

        def failing(*arguments, **options):
            self.calls += 1
            if self.calls == number:
                raise OSError(code, os.strerror(code))
            return honest(*arguments, **options)

        patch.setattr(os, name, failing)


@contextmanager
def failing_with(code: int):
    """Pass over that error, and no other."""
    try:
        yield
    except OSError as problem:
        if problem.errno != code:
            raise


@pytest.fixture
def index(tmp_path):
    documents = [(f"d{n}", "bee hive") for n in range(8)]
    return Index.build(tmp_path / "index", documents)


@pytest.mark.parametrize("name", FAILING)
@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EIO])
def test_a_commit_that_fails_leaves_the_last_one(index, monkeypatch, name, code):
    number = 0
    while True:
        number += 1
        opened = Index.open(index.path)
        generation = opened.generation
        with monkeypatch.context() as patch:
            fault = Fault(patch, name, number, code)
            with failing_with(code):
                opened.replace([("d1", f"wasp {number}"), (f"n{number}", "wasp")])
                opened.commit()
            opened.close()
        again = Index.open(index.path)
        assert again.generation >= generation
        assert again.check().documents == len(again)
        again.close()
        if fault.calls < number:
            break
    assert number > 1 or name in {"rename", "replace", "mkdir", "open"}


LIMITED = """
import resource, sys
from pathlib import Path
from classmark.problems import Mistake
from classmark.workbench.deciding.decide import Decision, decide
from classmark.workbench.project import Project

folder, limit = Path(sys.argv[1]), int(sys.argv[2])
with Project(folder) as project:
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
    for turn in range(2000):
        note = "n" * 4000
        try:
            seen = decide(project, "b1", Decision(("bread",), note=note), {}, "ann")
        except Mistake as problem:
            print("refused", problem, flush=True)
            break
        print("saved", seen.numbers[-1], flush=True)
"""


@pytest.mark.parametrize("room", [2**20, 2**21])
def test_a_full_disk_refuses_a_decision_and_keeps_the_others(tmp_path, room):
    """The log cannot grow: everything acknowledged before is there, nothing else."""
    folder = new_project(tmp_path / "shelf")
    command = [sys.executable, "-c", LIMITED, str(folder), str(room)]
    found = subprocess.run(command, capture_output=True, text=True, check=True)  # noqa: S603 - ourselves
    *saved, refused = found.stdout.splitlines()
    assert refused.startswith("refused")
    assert "disk" in refused
    assert "backup" not in refused
    numbers = [int(line.split()[1]) for line in saved]
    assert numbers
    with Project(folder) as project:
        project.store.check()
        sql = "SELECT seq FROM judgments WHERE who = 'ann'"
        assert [n for (n,) in project.store.run(sql)] == numbers


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EIO])
def test_training_that_fails_leaves_the_model_in_service(tmp_path, monkeypatch, code):
    folder = new_project(tmp_path / "shelf")
    with Project(folder) as project:
        teach_all(project, learn=False)
        before = train(project).model
        number = 0
        while True:
            number += 1
            with monkeypatch.context() as patch:
                fault = Fault(patch, "fsync", number, code)
                with failing_with(code):
                    train(project)
            after = project.models.current().name
            assert after >= before
            open_model(project, project.models.current())
            before = after
            if fault.calls < number:
                break
        assert number > 3
