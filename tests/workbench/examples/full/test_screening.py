"""A project is screened: every answer is kept, and it goes on where it stopped."""

import subprocess
import sys

import numpy as np
import pytest

from classmark.corpus.documents import Document
from classmark.examples.screening import StoppingRule
from classmark.formats.records import Record
from classmark.problems import Mistake
from classmark.workbench.examples import screening
from classmark.workbench.examples.like import SearchStart, texts_of
from classmark.workbench.examples.searches import SCREEN, current_marks, open_search
from classmark.workbench.project import Project
from projects import new_project

WORDS = ["hive", "comb", "wax", "swarm", "nectar", "pollen", "queen", "drone"]
OTHER = ["oven", "dough", "yeast", "rye", "crust", "flour", "loaf", "baker"]


@pytest.fixture
def project(tmp_path):
    with Project(new_project(tmp_path / "shelf", records(120))) as opened:
        yield opened


def records(n, first=0):
    random = np.random.default_rng(first)
    for at in range(first, first + n):
        pool = WORDS if relevant(f"d{at}") else OTHER
        text = " ".join(random.choice(pool, 5)) + " " + random.choice(WORDS + OTHER)
        yield Record(Document(f"d{at}", {"title": f"No {at}", "text": text}))


def relevant(id_):
    return int(id_[1:]) % 10 == 0


def answer_all(project, shown, name=None):
    yes = [each.id for each in shown if relevant(each.id)]
    no = [each.id for each in shown if not relevant(each.id)]
    return screening.mark(project, name, {"yes": yes, "no": no})


def begin(project, name=None, **rule):
    rule = StoppingRule(**({"batch": 10} | rule))
    return screening.start_screening(
        project, SearchStart(("d0",), name=name, rule=rule)
    )


def test_a_screening_runs_to_its_target(project):
    status = begin(project, target=0.8, error=0.1)
    assert status.search == "screening-1"
    assert (status.progress.found, status.progress.read) == (1, 1)
    while not status.progress.stop:
        status = answer_all(project, screening.read_next(project))
    assert status.progress.found >= 0.8 * 12
    assert status.progress.recall_bound >= 0.8
    assert status.progress.read < 120
    found = screening.screened(project)
    assert found.hits[0].id == "d0"
    assert all(relevant(each.id) for each in found.hits)
    assert len(screening.screened(project, everything=True).hits) > len(found.hits)
    lines = screening.words(status)
    assert lines[-1].startswith("stop: 80 % of the relevant documents are found.")
    assert "at most 10 %" in lines[-1]
    assert "interval" in lines[1]
    plot = screening.draw_status(status, project.folder)
    assert plot == project.folder / "reports" / "screen-screening-1.svg"
    assert plot.exists()


def test_likely_documents_come_first_with_their_origin_kept(project):
    begin(project, share=0.2)
    shown = screening.read_next(project)
    assert [each.origin for each in shown] == ["likely"] * 8 + ["random"] * 2
    assert sum(relevant(each.id) for each in shown[:8]) >= 6
    assert [each.rank for each in shown] == list(range(1, 11))
    answer_all(project, shown[::-1])
    marks = current_marks(project.store, search(project))
    assert [mark.document for mark in marks] == ["d0", *(each.id for each in shown)]
    assert [mark.origin for mark in marks[-2:]] == ["random"] * 2
    assert marks[1].score == pytest.approx(shown[0].score)
    random = next(each.id for each in shown if each.origin == "random")
    screening.mark(project, None, {"skip": [random]})
    (changed,) = (
        mark
        for mark in current_marks(project.store, search(project))
        if mark.document == random
    )
    assert (changed.act, changed.origin) == ("skip", "random")
    progress = screening.status(project).progress
    assert (progress.skipped, progress.drawn, progress.documents) == (1, 1, 119)
    assert "1 skipped" in " ".join(screening.words(screening.status(project)))


def search(project, name=None):
    return open_search(project.store, name, SCREEN)


def test_it_goes_on_at_the_same_place_when_opened_again(project):
    begin(project, name="mine")
    answer_all(project, screening.read_next(project, "mine"), "mine")
    before = screening.status(project, "mine")
    waiting = screening.read_next(project, "mine")
    with Project(project.folder) as again:
        after = screening.status(again, "mine")
        assert after.progress == before.progress
        assert screening.read_next(again, "mine") == waiting


def test_a_kill_loses_no_acknowledged_answer(project):
    begin(project)
    script = (
        "import os, sys\n"
        "from pathlib import Path\n"
        "from classmark.workbench.examples import screening\n"
        "from classmark.workbench.project import Project\n"
        "with Project(Path(sys.argv[1])) as project:\n"
        "    for each in screening.read_next(project):\n"
        "        screening.mark(project, None, {'no': [each.id]})\n"
        "        print(each.id, flush=True)\n"
        "        if each.rank == 4: os.kill(os.getpid(), 9)\n"
    )
    done = subprocess.run(  # noqa: S603 (our own words)
        [sys.executable, "-c", script, project.folder],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    told = done.stdout.split()
    assert len(told) == 4
    marks = current_marks(project.store, search(project))
    assert [mark.document for mark in marks] == ["d0", *told]
    shown = screening.read_next(project)
    assert not {each.id for each in shown} & set(told)


def test_undo_takes_back_one_command(project):
    first = begin(project)
    shown = screening.read_next(project)
    answer_all(project, shown)
    back, status = screening.undo(project)
    assert {mark.document for mark in back} == {each.id for each in shown}
    assert status.progress == first.progress
    assert screening.read_next(project) == shown


def test_documents_that_come_later_are_not_part_of_it(project):
    begin(project)
    project.store.put_documents(records(30, first=120))
    project.store.note_event("imported", "eve")
    status = screening.status(project)
    assert (status.later, status.progress.documents) == (30, 120)
    assert "30 newer documents" in " ".join(screening.words(status))
    seen = {each.id for each in screening.read_next(project, count=200)}
    assert len(seen) == 119
    with pytest.raises(Mistake, match="'d130' was added after"):
        screening.mark(project, None, {"yes": ["d130"]})


def test_texts_of_ones_own_begin_a_screening(project, tmp_path):
    (tmp_path / "mine.txt").write_text("hive comb wax swarm nectar pollen")
    texts = texts_of(project, [tmp_path / "mine.txt"])
    start = SearchStart(texts=texts, rule=StoppingRule(batch=10, share=0))
    status = screening.start_screening(project, start)
    assert status.progress.found == 0
    shown = screening.read_next(project)
    assert sum(relevant(each.id) for each in shown) >= 8


def test_without_examples_documents_are_drawn(project):
    screening.start_screening(project, SearchStart(rule=StoppingRule(batch=5)))
    shown = screening.read_next(project)
    assert {each.origin for each in shown} == {"random"}
    assert {each.score for each in shown} == {None}
    with pytest.raises(Mistake, match="no relevant document"):
        screening.draw_status(screening.status(project), project.folder)


def test_screenings_are_listed_and_do_not_mix_with_searches(project):
    assert "none yet" in screening.list_screenings(project).note
    begin(project)
    begin(project)
    rows = screening.list_screenings(project).rows
    assert [row["screening"] for row in rows] == ["screening-2", "screening-1"]
    with pytest.raises(Mistake, match="there is no search yet"):
        open_search(project.store)


def test_advice_in_words(project):
    status = begin(project, patience=0.0, share=0.0)
    assert (
        "it is too early" in screening.words(status)[-1]
        or "go on" in (screening.words(status)[-1])
    )
    for _ in range(3):
        status = answer_all(project, screening.read_next(project))
    assert status.progress.phase in {"proving", "searching"}
    assert screening.share(0.94999, down=True) == "94.9 %"
    assert screening.share(0.5) == "50 %"


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ({"yes": []}, "nothing is marked"),
        ({"yes": ["d1"], "no": ["d1"]}, "marked twice"),
        ({"yes": ["x9"]}, "there is no document 'x9'"),
        ({"no": [","]}, "--no is empty"),
    ],
)
def test_mistakes_change_nothing(project, said, told):
    begin(project)
    with pytest.raises(Mistake, match=told):
        screening.mark(project, None, said)
    assert screening.status(project).progress.read == 1


def test_a_failed_start_leaves_no_screening(project):
    with pytest.raises(Mistake, match="there is no document 'x9'"):
        screening.start_screening(project, SearchStart(("x9",), rule=StoppingRule()))
    assert not screening.list_screenings(project).rows
