"""A copy of a project, taken while others write, becomes the same project again."""

import json
import shutil
import zipfile
from contextlib import contextmanager
from threading import Event, Thread

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from classmark.cli.main import app
from classmark.corpus.documents import Document
from classmark.formats.records import Record
from classmark.problems import DamagedFolder, Mistake, UnreadableFile
from classmark.storage import Generations
from classmark.taxonomy.category import Category
from classmark.workbench.categories import edit
from classmark.workbench.deciding.suggest import suggest
from classmark.workbench.examples.searches import (
    Mark,
    add_marks,
    begin_search,
    undo_marks,
)
from classmark.workbench.files.backup import (
    PEOPLE,
    TABLES,
    back_up,
    columns_of,
    restore,
    rows_in,
    write_project,
)
from classmark.workbench.files.documents import deleted_documents, restore_documents
from classmark.workbench.learning.learner import open_learner
from classmark.workbench.learning.train import train
from classmark.workbench.project import Project
from classmark.workbench.search.clicks import log_click, log_impression
from classmark.workbench.settings import (
    FILE,
    LearningSettings,
    read_settings,
)
from classmark.workbench.store.log import require_replayed
from classmark.workbench.store.store import Act, Store
from classmark.workbench.team import people
from projects import new_project
from workbench.acts import Acts, say, teach_all

HASH = "$argon2id$v=19$m=65536,t=3,p=4$c2FsdA$aGFzaA"


EVERY = (*TABLES, *PEOPLE)


def same_rows(one, other, tables=TABLES):
    """Tell whether two stores hold the same, row by row."""
    with one.snapshot(), other.snapshot():
        return all(
            columns_of(one, table) == columns_of(other, table)
            and list(rows_in(one, table)) == list(rows_in(other, table))
            for table in tables
        )


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """Return a project with a row in every table."""
    place = tmp_path_factory.mktemp("made") / "shelf"
    folder = new_project(place, learning=LearningSettings(C=2.0))
    with Project(folder) as project:
        teach_all(project, learn=False)
        acts = Acts(project, np.random.default_rng(5), learn=lambda _: None)
        for _ in range(40):
            acts.act()
        gone = [each.document for each in deleted_documents(project)]
        restore_documents(project, gone)
        edit.add(project, Category("wax"))
        say(project, "b1", "wax", note='«"é\n\\')
        store = project.store
        store.judge([Act("b2", "note", note="later"), Act("b2", "skip")], "eve")
        store.put_documents([Record(Document("c1", {"text": "another wick"}))], "eve")
        search = begin_search(store, "nests", {"C": 0.1})
        add_marks(store, search, [Mark("b1", "example", score=1 / 3)])
        undo_marks(store, search)
        log_click(store, log_impression(project, "wax", [("b1", 0.1)]), "b1")
        people.add_user(store, "eve", HASH)
        people.add_token(store, "eve", "reader")
        assert all(any(True for _ in rows_in(store, table)) for table in EVERY)
    return folder


@pytest.fixture
def folder(made, tmp_path):
    return shutil.copytree(made, tmp_path / "shelf")


@pytest.mark.parametrize("ending", ["zip", "jsonl"])
def test_what_is_restored_is_the_same(tmp_path, folder, any_store, ending):
    file, target = tmp_path / f"kept.{ending}", any_store()
    with Project(folder) as project:
        row = back_up(project, file).rows[0]
    assert row == {"file": str(file), "bytes": file.stat().st_size}
    told = restore(file, tmp_path / "again", target)
    with Project(folder) as one, Project(tmp_path / "again") as other:
        assert same_rows(one.store, other.store)
        assert same_rows(one.store, other.store, PEOPLE) is (ending == "zip")
        assert other.settings.learning == one.settings.learning
        assert other.settings.store == target
        assert told.rows[0] == one.store.counts()
        require_replayed(other.store)
        assert other.store.judge([Act("b1", "skip")], "eve")[0] == 1 + max(
            entry.seq for entry in one.store.log()
        )
    assert not list(folder.glob(".backup*"))


TABLES_OF_SQLITE = """
SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'
"""
TABLES_OF_POSTGRES = """
SELECT tablename FROM pg_tables WHERE schemaname = current_schema()
"""


def test_a_backup_has_every_table_of_the_schema(tmp_path, postgres_store):
    with Store(tmp_path / "store.sqlite", create=True) as store:
        tables = {name for (name,) in store.run(TABLES_OF_SQLITE)}
        assert sorted(EVERY) == sorted(tables)
    with Store(tmp_path, create=True, server=postgres_store()) as store:
        tables = {name for (name,) in store.run(TABLES_OF_POSTGRES)}
        assert sorted(EVERY) == sorted(tables - {"turn"})


@pytest.mark.parametrize("back", ["file", "server"])
def test_a_zip_of_any_store_brings_every_row_back_to_any_store(
    tmp_path, folder, any_store, postgres_store, back
):
    with Project(folder) as project:
        back_up(project, tmp_path / "first.zip")
    restore(tmp_path / "first.zip", tmp_path / "there", any_store())
    with Project(tmp_path / "there") as project:
        note = back_up(project, tmp_path / "second.zip").note
    assert "passwords" in note
    target = postgres_store() if back == "server" else None
    note = restore(tmp_path / "second.zip", tmp_path / "again", target).note
    assert "people" not in note
    with Project(folder) as one, Project(tmp_path / "again") as other:
        assert same_rows(one.store, other.store, EVERY)


def test_what_comes_back_without_people_says_so(tmp_path, folder):
    with Project(folder) as project:
        back_up(project, tmp_path / "kept.jsonl")
    told = restore(tmp_path / "kept.jsonl", tmp_path / "again")
    assert "without people and tokens" in told.note


def test_a_zip_of_an_older_version_that_has_lines_comes_back_and_says_so(
    tmp_path, folder
):
    with Project(folder) as project:
        back_up(project, tmp_path / "kept.jsonl")
    with zipfile.ZipFile(tmp_path / "older.zip", "w") as packed:
        packed.write(tmp_path / "kept.jsonl", "store.jsonl")
        packed.write(folder / FILE, FILE)
    told = restore(tmp_path / "older.zip", tmp_path / "again")
    assert "without people and tokens" in told.note
    with Project(folder) as one, Project(tmp_path / "again") as other:
        assert same_rows(one.store, other.store)


def test_a_store_goes_to_postgresql_and_back(tmp_path, folder, postgres_store):
    first, second = tmp_path / "first.jsonl", tmp_path / "second.zip"
    with Project(folder) as project:
        back_up(project, first)
    restore(first, tmp_path / "there", postgres_store())
    with Project(tmp_path / "there") as project:
        back_up(project, second)
    restore(second, tmp_path / "here")
    assert read_settings(tmp_path / "here").store.url == ""
    with Project(folder) as one, Project(tmp_path / "here") as other:
        assert same_rows(one.store, other.store)


def test_every_generation_in_service_but_the_index_comes_with_it(tmp_path, folder):
    with Project(folder) as project:
        learned = {
            each.folder.name
            for each in vars(project).values()
            if isinstance(each, Generations) and each is not project.index
        }
        for name in learned:
            generations = Generations(folder / name)
            place = generations.next()
            place.mkdir(parents=True)
            (place / "W.npy").write_text(name)
            generations.put_in_service(place)
        back_up(project, tmp_path / "kept.zip")
    restore(tmp_path / "kept.zip", tmp_path / "again")
    for name in learned:
        current = Generations(tmp_path / "again" / name).current()
        assert (current / "W.npy").read_text() == name


def test_models_come_with_it(tmp_path, folder):
    with Project(folder) as project:
        train(project)
        say(project, "c1", "wax")
        expected = suggest(project, "honey in the oven", 3)
        back_up(project, tmp_path / "kept.zip")
    restore(tmp_path / "kept.zip", tmp_path / "again")
    shutil.rmtree(folder)
    with Project(tmp_path / "again") as project:
        assert project.models.current().name == "000001"
        assert open_learner(project).moment.upto > 0
        assert suggest(project, "honey in the oven", 3) == expected


@contextmanager
def writing_to(folder, name):
    """Put documents, each with its label, into a project all the while."""
    over, wrote = Event(), []

    def write():
        with Project(folder) as project:
            while not over.is_set():
                record = Record(Document(f"n{len(wrote)}", {"text": "word " * 500}))
                with project.store.transaction():
                    project.store.put_documents([record])
                    act = Act(record.id, "assign", name, 1.0)
                    wrote.extend(project.store.judge([act], "eve"))

    thread = Thread(target=write)
    thread.start()
    try:
        while len(wrote) < 5:
            assert thread.is_alive()
        yield
    finally:
        over.set()
        thread.join()


@pytest.mark.parametrize("ending", ["zip", "jsonl"])
def test_it_is_of_one_moment_while_others_write(tmp_path, folder, ending, any_store):
    with Project(folder) as project:
        back_up(project, tmp_path / "first.jsonl")
    restore(tmp_path / "first.jsonl", tmp_path / "busy", any_store())
    with Project(tmp_path / "busy") as project, writing_to(project.folder, "wax"):
        for turn in range(3):
            back_up(project, tmp_path / f"{turn}.{ending}")
    alone = (
        "SELECT count(*) FROM documents WHERE id LIKE 'n%' AND id NOT IN "
        "(SELECT document FROM labels)"
    )
    for turn in range(3):
        restore(tmp_path / f"{turn}.{ending}", tmp_path / f"back{turn}")
        with Project(tmp_path / f"back{turn}") as project:
            assert project.store.run(alone).fetchone() == (0,)
            project.store.check()


def test_files_that_are_not_whole_are_refused(tmp_path, folder):
    file = tmp_path / "kept.jsonl"
    with Project(folder) as project:
        back_up(project, file)
        with pytest.raises(Mistake, match="already there"):
            back_up(project, file)
        with pytest.raises(Mistake, match=r"\.zip or \.jsonl"):
            back_up(project, tmp_path / "kept.tar")
    lines = file.read_text().splitlines()
    cut, other = tmp_path / "cut.jsonl", tmp_path / "again"
    for kept, said in (
        (lines[:-1], "incomplete"),
        (lines[:40] + lines[41:], "changed|incomplete"),
        ([lines[0], lines[1].replace("hive", "life"), *lines[2:]], "incomplete"),
        ([*lines, lines[1]], "more after its end"),
        ([lines[0], "{", *lines[1:]], "line 2: not JSON"),
        ([lines[0], "[]", *lines[1:]], "line 2: not an object"),
        ([lines[0], '{"in": "users"}', *lines[1:]], "line 2: not a row of 'users'"),
        ([lines[0], '{"in":"events","x":1}', *lines[1:]], "not a row of 'events'"),
        ([lines[0], '{"in":"events","at":[1]}', *lines[1:]], "line 2: a value"),
        ([lines[0], '{"in":"events","at":{}}', *lines[1:]], "line 2: a value"),
        ([lines[0], '{"in":"events","seq":"x"}', *lines[1:]], "the file was changed"),
        (lines[1:], "not a backup of a project"),
        ([lines[0].replace('"version":1', '"version":2'), *lines[1:]], "upgrade"),
        ([], "line 1: not JSON"),
    ):
        cut.write_text("\n".join(kept) + "\n")
        with pytest.raises((UnreadableFile, DamagedFolder), match=said):
            restore(cut, other)
        assert not other.exists()


def test_zips_that_are_no_backups_are_refused(tmp_path, folder):
    with Project(folder) as project:
        back_up(project, tmp_path / "kept.zip")
    other = tmp_path / "again"
    content = bytearray((tmp_path / "kept.zip").read_bytes())
    content[len(content) // 3] ^= 0xFF
    (tmp_path / "flipped.zip").write_bytes(bytes(content))
    (tmp_path / "cut.zip").write_bytes(bytes(content[: len(content) // 2]))
    for name, inside in (("slip", "../x"), ("deep", "models/../../x"), ("odd", "a")):
        with zipfile.ZipFile(tmp_path / f"{name}.zip", "w") as packed:
            packed.writestr(inside, "x")
    with zipfile.ZipFile(tmp_path / "bomb.zip", "w", zipfile.ZIP_DEFLATED) as packed:
        packed.writestr("store.sqlite", bytes(20 << 20))
    zipfile.ZipFile(tmp_path / "empty.zip", "w").close()
    for name, said in {
        "flipped": "damaged", "cut": "damaged", "slip": "not part", "deep": "not part",
        "odd": "not part", "bomb": "too large", "empty": "not a backup",
        "none": "not there",
    }.items():  # fmt: skip
        with pytest.raises(Mistake, match=said):
            restore(tmp_path / f"{name}.zip", other)
        assert not other.exists()


@given(st.floats(allow_nan=False), st.text(st.characters(codec="utf-8")))
def test_any_number_and_text_comes_back(tmp_path_factory, number, text):
    folder = tmp_path_factory.mktemp("law")
    with Project(new_project(folder / "one", {"d": text})) as one:
        one.store.judge([Act("d", "note", score=number, note=text)], text)
        back_up(one, folder / "kept.jsonl")
        restore(folder / "kept.jsonl", folder / "two")
        with Project(folder / "two") as two:
            assert same_rows(one.store, two.store)


@pytest.mark.parametrize("suffix", ["zip", "jsonl"])
def test_comments_in_the_settings_come_back(tmp_path, suffix):
    new_project(tmp_path / "one")
    text = (tmp_path / "one" / FILE).read_text() + "# agreed with ann\n"
    (tmp_path / "one" / FILE).write_text(text)
    with Project(tmp_path / "one") as project:
        back_up(project, tmp_path / f"kept.{suffix}")
    restore(tmp_path / f"kept.{suffix}", tmp_path / "two")
    assert (tmp_path / "two" / FILE).read_text() == text


def test_the_command_line_keeps_and_restores(tmp_path, folder, postgres):
    run = CliRunner().invoke
    kept, again = tmp_path / "kept.zip", tmp_path / "Again, 2"
    done = run(app, ["backup", str(folder), str(kept), "--json"])
    assert done.exit_code == 0, done.output
    assert json.loads(done.output)
    done = run(app, ["restore", str(kept), str(again), "--store", postgres])
    assert done.exit_code == 0, done.output
    assert read_settings(again).store.schema == "again_2"
    done = run(app, ["init", str(tmp_path / "9"), "--store", postgres])
    assert done.exit_code == 0, done.output
    assert read_settings(tmp_path / "9").store.schema == "project_9"
    url = "postgresql://eve:hush@desk/library"
    done = run(app, ["init", str(tmp_path / "x"), "--store", url])
    assert isinstance(done.exception, Mistake)
    assert "hush" not in str(done.exception)
    assert not (tmp_path / "x").exists()


def test_two_stores_that_differ_are_not_the_same(tmp_path, folder):
    with Project(folder) as project, Store(tmp_path / "s", create=True) as empty:
        assert not same_rows(project.store, empty)
        with (tmp_path / "out").open("w") as file:
            assert write_project(project, file) > len(TABLES)
