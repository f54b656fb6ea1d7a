"""A project directory appears whole, opens, and says what is wrong with it."""

import pytest

from classmark.problems import DamagedFolder, Mistake, UnreadableFile
from classmark.workbench.project import Project, create
from classmark.workbench.settings import (
    FILE,
    LearningSettings,
    Settings,
    TextSettings,
    read_settings,
    settings_text,
)
from classmark.workbench.store.log import whoami


@pytest.fixture
def folder(tmp_path):
    create(tmp_path / "shelf", Settings("A shelf"))
    return tmp_path / "shelf"


def test_a_new_project_has_its_parts(folder):
    names = {path.name for path in folder.iterdir()}
    assert {FILE, "store.sqlite", "models", "index"} <= names
    with Project(folder) as project:
        assert project.settings == Settings("A shelf")
        assert project.models.current() is None


def test_an_empty_directory_may_be_used_and_a_full_one_not(tmp_path):
    (tmp_path / "empty").mkdir()
    create(tmp_path / "empty", Settings("e"))
    with pytest.raises(Mistake, match="not empty"):
        create(tmp_path / "empty", Settings("e"))
    assert [p.name for p in tmp_path.iterdir()] == ["empty"], "nothing left beside"


@pytest.mark.parametrize(
    "settings",
    [
        Settings('quotes " and \\ and é', TextSettings("words", ("title", "body"))),
        Settings("x", learning=LearningSettings("pivoted", 3, "perceptron")),
    ],
)
def test_settings_are_read_back_as_written(tmp_path, settings):
    (tmp_path / FILE).write_text(settings_text(settings))
    assert read_settings(tmp_path) == settings


@pytest.mark.parametrize(
    ("content", "kind", "said"),
    [
        ("format = 2\nname = 'x'", DamagedFolder, "upgrade"),
        ("name = 'x'", UnreadableFile, "format = 1"),
        ("format = 1", UnreadableFile, "no name"),
        ("format = 1\nname = 'x'\ncolour = 3", UnreadableFile, "'colour'"),
        ("format = 1\nname = 'x'\n[text]\nlang = 'e'", UnreadableFile, "'lang'"),
        ("format = 1\nname = 'x'\n[text]\nanalyzer = 3", UnreadableFile, "a str"),
        ("format = ", UnreadableFile, "correct the file"),
    ],
)
def test_settings_that_cannot_be_used_are_named(tmp_path, content, kind, said):
    (tmp_path / FILE).write_text(content)
    with pytest.raises(kind, match=said):
        read_settings(tmp_path)


def test_a_folder_that_is_no_project_names_the_remedy(tmp_path):
    with pytest.raises(DamagedFolder, match="classmark init"):
        Project(tmp_path)


def test_acts_are_logged_under_the_name_in_the_environment(monkeypatch):
    monkeypatch.setenv("CLASSMARK_USER", "eve")
    assert whoami() == "eve"


@pytest.mark.parametrize(
    ("learning", "loss"),
    [
        ('cost = "dis"\ndecomposition = "domination"', "dis"),
        ('learner = "loglinear"\ncost = "svm"\ndecomposition = "dominated"', "dme"),
    ],
)
def test_old_settings_of_the_loss_are_read_with_a_warning(tmp_path, learning, loss):
    (tmp_path / FILE).write_text(f'format = 1\nname = "old"\n[learning]\n{learning}\n')
    with pytest.warns(
        FutureWarning, match=r"\[learning\]: cost or decomposition is now"
    ):
        assert read_settings(tmp_path).learning.loss == loss
