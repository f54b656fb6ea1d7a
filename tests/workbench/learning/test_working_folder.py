"""Trainings of one project keep what they have finished, and do not disturb others."""

from classmark.workbench.learning.train import train
from classmark.workbench.learning.working_folder import WORKING, WorkingFolder
from classmark.workbench.project import Project
from projects import new_project
from workbench.acts import teach_all


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def test_what_nobody_uses_is_removed_and_what_somebody_uses_is_not(tmp_path):
    (tmp_path / "left" / "model").mkdir(parents=True)
    (tmp_path / "note.txt").write_text("of somebody else")
    with WorkingFolder(tmp_path) as one, WorkingFolder(tmp_path) as other:
        (one.claim("a") / "piece").write_text("1")
        other.claim("b")
        assert names(tmp_path) == ["a", "b", "note.txt"]
    with WorkingFolder(tmp_path) as again:
        assert (again.claim("a") / "piece").read_text() == "1"
        assert names(tmp_path) == ["a", "note.txt"]


def test_the_last_of_those_that_share_it_removes_it(tmp_path):
    folder = tmp_path / "working"
    with WorkingFolder(folder) as one, WorkingFolder(folder) as other:
        place = one.claim("a")
        assert other.claim("a") == place
        one.remove()
        assert place.is_dir()
        other.remove()
        assert not folder.exists()
    with WorkingFolder(folder) as nothing:
        nothing.remove()


def test_a_folder_removed_in_between_is_made_again(tmp_path, monkeypatch):
    holder = WorkingFolder(tmp_path)
    place = holder.claim("a")
    opened, armed = type(place).open, [True]

    def late(path, *how):
        if armed:
            armed.clear()
            holder.remove()
        return opened(path, *how)

    monkeypatch.setattr(type(place), "open", late)
    with WorkingFolder(tmp_path) as other:
        assert other.claim("a") == place
        assert (place / ".lock").exists()
    assert not armed


def test_a_training_leaves_what_another_is_at_work_on(tmp_path):
    with Project(new_project(tmp_path / "shelf")) as project:
        teach_all(project)
        folder = project.models.folder / WORKING
        with WorkingFolder(folder) as other:
            piece = other.claim("other") / "piece"
            piece.write_text("1")
            train(project)
            assert names(folder) == ["other"]
            assert piece.read_text() == "1"
        train(project)
        assert not folder.exists()
