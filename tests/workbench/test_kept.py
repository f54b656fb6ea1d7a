"""What was acknowledged is kept when the program is killed, and can be checked."""

import random
import subprocess
import sys
import time

import pytest

from classmark.corpus.document import Document
from classmark.formats.record import Record
from classmark.problems import DamagedFolder
from classmark.taxonomy.category import Category
from classmark.workbench.deciding import Decision, decide
from classmark.workbench.looking import info
from classmark.workbench.project import Project, create
from classmark.workbench.settings import Settings
from classmark.workbench.undoing import undo

KILLS = 8
DECIDING = """
import sys
from pathlib import Path
from classmark.taxonomy.category import Category
from classmark.workbench import categories
from classmark.workbench.deciding import Decision, decide
from classmark.workbench.project import Project
from classmark.workbench.undoing import undo

with Project(Path(sys.argv[1])) as project:
    for at in range(10**6):
        done = decide(project, "d", Decision(("a",), reject=("b",)), {})
        print(done.numbers[-1], flush=True)
        print(undo(project, done.numbers[0]).numbers[-1], flush=True)
        new = Category(f"c{sys.argv[2]}.{at}")
        print(categories.add(project, new).numbers[-1], flush=True)
"""

MARKING = """
import sys
from pathlib import Path
from classmark.workbench.project import Project
from classmark.workbench.searches import Mark, add_marks, begin_search, undo_marks

with Project(Path(sys.argv[1])) as project:
    search = begin_search(project.store, f"s{sys.argv[2]}")
    for _ in range(10**6):
        both = [Mark("d", "yes", "likely", 1, 0.5), Mark("d", "no")]
        print(search.number, *add_marks(project.store, search, both), flush=True)
        undo_marks(project.store, search)
"""


@pytest.fixture
def folder(tmp_path):
    create(tmp_path / "shelf", Settings("shelf"))
    with Project(tmp_path / "shelf") as project:
        project.store.put_categories([Category("a"), Category("b")])
        project.store.put_documents([Record(Document("d", {"text": "t"}))])
    return tmp_path / "shelf"


def killed(folder, program):
    """Run a program and kill it, again and again; yield the lines it acknowledged."""
    chance = random.Random(7)  # noqa: S311, no secret
    for kill in range(KILLS):
        with subprocess.Popen(  # noqa: S603
            [sys.executable, "-c", program, str(folder), str(kill)],
            stdout=subprocess.PIPE,
            text=True,
        ) as running:
            assert running.stdout is not None
            first = running.stdout.readline()
            time.sleep(chance.uniform(0, 0.1))
            running.kill()
            yield (first + running.stdout.read()).split("\n")[:-1]


def test_no_acknowledged_act_is_lost_by_killing(folder):
    counted = 0
    for said in killed(folder, DECIDING):
        with Project(folder) as project:
            kept = {entry.seq for entry in project.store.log()}
            assert {int(number) for number in said} <= kept
            info(project, check=True)
            whole = [e for e in project.store.log() if e.document and not e.undoes]
            assert len(whole) % 2 == 0, "a decision is kept whole"
        counted += len(said)
    assert counted > KILLS


def test_no_acknowledged_mark_is_lost_by_killing(folder):
    counted = 0
    for said in killed(folder, MARKING):
        with Project(folder) as project:
            kept = project.store.run(
                "SELECT search, min(seq), max(seq) FROM marks WHERE act <> 'undo' "
                "GROUP BY step HAVING count(*) = 2"
            ).fetchall()
            assert {tuple(map(int, line.split())) for line in said} <= set(kept)
            (halves,) = project.store.run(
                "SELECT count(*) FROM marks WHERE act <> 'undo'"
            ).fetchone()
            assert halves == 2 * len(kept), "marks made together are kept together"
            info(project, check=True)
        counted += len(said)
    assert counted > KILLS


@pytest.mark.parametrize(
    ("harm", "said"),
    [
        ("DELETE FROM undone", "document 'd' and the log differ"),
        ("UPDATE categories SET id = 'x' WHERE id = 'b'", "categories and log differ"),
    ],
)
def test_a_store_that_is_not_what_its_log_says_is_told(folder, harm, said):
    with Project(folder) as project:
        decide(project, "d", Decision(("a",)), {})
        undo(project)
        info(project, check=True)
        project.store.run(harm)
        with pytest.raises(DamagedFolder, match=said):
            info(project, check=True)
