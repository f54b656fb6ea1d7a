"""What a project writes that others on the machine must not read, nor be led to."""

import os
import stat
from contextlib import contextmanager

import pytest

from classmark.formats.text_files import writing
from classmark.workbench.files.backup import back_up, restore
from classmark.workbench.files.exporting import download
from classmark.workbench.files.uploads import Receiving
from classmark.workbench.project import Project, create
from classmark.workbench.settings import Settings
from projects import new_desk, new_project

OTHERS = stat.S_IRWXG | stat.S_IRWXO


@pytest.fixture(autouse=True)
def generous():
    """Others may read what is made, unless the program says otherwise."""
    before = os.umask(0)
    yield
    os.umask(before)


def open_to_others(path):
    return stat.S_IMODE(path.stat().st_mode) & OTHERS


def test_a_new_project_is_its_owners_alone(tmp_path):
    create(tmp_path / "shelf", Settings(name="shelf"))
    assert not open_to_others(tmp_path / "shelf")


def test_a_folder_that_was_there_is_open_to_whom_it_was(tmp_path):
    folder = tmp_path / "shelf"
    folder.mkdir()
    folder.chmod(0o2750)
    create(folder, Settings(name="shelf"))
    assert stat.S_IMODE(folder.stat().st_mode) == 0o2750


@pytest.mark.parametrize("name", ["shelf.zip", "shelf.jsonl"])
def test_a_backup_is_its_owners_alone_from_its_first_byte(tmp_path, monkeypatch, name):
    folder = new_project(tmp_path / "shelf")
    seen = []

    @contextmanager
    def watching(sync=os.fsync):
        def synced(descriptor):
            seen.append(stat.S_IMODE(os.fstat(descriptor).st_mode) & OTHERS)
            sync(descriptor)

        with monkeypatch.context() as patch:
            patch.setattr(os, "fsync", synced)
            yield

    (tmp_path / "there").mkdir()
    with Project(folder) as project, watching():
        back_up(project, tmp_path / "there" / name)
    assert not open_to_others(tmp_path / "there" / name)
    restore(tmp_path / "there" / name, tmp_path / "again")
    assert not open_to_others(tmp_path / "again")
    assert seen[0] == 0


@pytest.mark.parametrize("name", ["backup.zip", "documents.csv"])
def test_what_is_sent_to_a_browser_lies_where_others_do_not_come(tmp_path, name):
    with new_desk(tmp_path / "shelf") as desk:
        path, remove = download(desk, name, whole=True)
        assert not open_to_others(path.parent)
        assert not open_to_others(path.parent.parent)
        remove()
        assert not path.parent.exists()


def test_what_comes_from_a_browser_lies_where_others_do_not_come(tmp_path):
    with new_desk(tmp_path / "shelf") as desk, Receiving(desk, "a.jsonl") as sent:
        sent.write(b'{"id": "a", "text": "honey"}\n')
        sent.keep("ann")
        (folder,) = (desk.folder / "uploads").iterdir()
        assert not open_to_others(folder)


def test_nobody_leads_a_file_elsewhere(tmp_path):
    """In a folder where all may write, links may lie in wait under any name."""
    victim = tmp_path / "victim"
    victim.write_text("stays")
    room = tmp_path / "room"
    room.mkdir()
    (room / f".out.csv.{os.getpid()}.part").symlink_to(victim)
    (room / "out.csv").symlink_to(victim)
    with writing(room / "out.csv") as file:
        file.write("new")
    assert victim.read_text() == "stays"
    assert (room / "out.csv").read_text() == "new"
