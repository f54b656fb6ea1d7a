"""A project directory appears whole, opens, and says what is wrong with it."""

from dataclasses import replace

import pytest

from classmark.hierarchies.nodes import BASES
from classmark.hierarchies.pruning import CHOOSERS
from classmark.problems import DamagedFolder, Mistake, UnreadableFile
from classmark.rankers.text_ranker import LEARNERS
from classmark.weighting.vectorizer import WEIGHTINGS
from classmark.workbench.learning.fit import STRATEGIES
from classmark.workbench.project import Project, create
from classmark.workbench.settings import (
    FILE,
    LearningSettings,
    Settings,
    TextSettings,
    read_settings,
)
from classmark.workbench.settings_file import settings_text, write_settings
from classmark.workbench.settings_form import form_fields
from classmark.workbench.store.log import whoami


@pytest.fixture
def folder(tmp_path):
    create(tmp_path / "shelf", Settings("A shelf"))
    return tmp_path / "shelf"


FORM_ORDER = ("plm", "mmp", "perceptron", "loglinear", "rocchio", "ensemble")


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
        Settings(
            "x", learning=LearningSettings("pivoted", "none", 0.5, 3, "perceptron")
        ),
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
        (
            "format = 1\nname = 'x'\n[text]\nanalyzer = 3",
            UnreadableFile,
            "must be a text",
        ),
        ("format = 1\nname = 'x'\ntext = 3", UnreadableFile, "a section"),
        ("format = 1\nname = 'x'\n[text]\nfields = [3]", UnreadableFile, "list of"),
        ("format = 1\nname = 'x'\n[learning]\nC = -1", UnreadableFile, "0 or more"),
        ("format = 1\nname = 'x'\n[learning]\nmin_df = true", UnreadableFile, "whole"),
        ("format = 1\nname = 'x'\n[learning]\nbase = 'x'", UnreadableFile, "logistic"),
        (
            "format = 1\nname = 'x'\n[search]\nlog = true",
            UnreadableFile,
            "is true: use",
        ),
        (
            "format = 1\nname = 'x'\n[search]\nexperiment = 'ghost'",
            UnreadableFile,
            r"search\.experiment is 'ghost': use no, swaps, model, words or the number",
        ),
        ("format = ", UnreadableFile, "correct the file"),
    ],
)
def test_settings_that_cannot_be_used_are_named(tmp_path, content, kind, said):
    (tmp_path / FILE).write_text(content)
    with pytest.raises(kind, match=said):
        read_settings(tmp_path)


COMMENTED = """\
# our branch library
format = 1
name = "A shelf"  # on the door

[search]
log = "no"

[learning]
# agreed with ann
C = 0.5   # not more
min_df = 2

# texts come from the catalogue
[text]
fields = [
  "title",  # always there
  "body",
]
"""


def test_comments_and_order_survive_a_change(folder):
    (folder / FILE).write_text(COMMENTED)
    with Project(folder) as project:
        changes = {"learning.C": "2", "learning.rare": "yes", "search.log": "named"}
        assert project.change_settings(changes, "eve") == [*changes]
    expected = COMMENTED.replace("C = 0.5 ", "C = 2.0 ").replace('"no"', '"named"')
    expected = expected.replace("min_df = 2\n", "min_df = 2\nrare = true\n")
    assert (folder / FILE).read_text() == expected
    learning = LearningSettings(C=2.0, min_df=2, rare=True)
    assert read_settings(folder).learning == learning


def test_what_is_edited_in_the_file_meanwhile_stays(folder):
    with Project(folder) as project:
        (folder / FILE).write_text(COMMENTED)
        project.change_settings({"learning.center": "7"}, "eve")
    expected = COMMENTED.replace("min_df = 2\n", "min_df = 2\ncenter = 7.0\n")
    assert (folder / FILE).read_text() == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("learning.C = 2  # few", "learning.C = 3.0  # few"),
        ("learning = {C = 2}  # few", "learning = {C = 3.0}  # few"),
        ("[learning]\r\nC = 2  # few\r\n", "[learning]\r\nC = 3.0  # few\r\n"),
        ("", "\n[learning]\nC = 3.0\n"),
    ],
)
def test_only_what_changes_is_written(folder, text, expected):
    head = 'format = 1\nname = "x"\n'
    (folder / FILE).write_bytes((head + text).encode())
    with Project(folder) as project:
        project.change_settings({"learning.C": "3"}, "eve")
    assert (folder / FILE).read_bytes().decode() == head + expected


def test_another_loss_replaces_its_old_names(folder):
    (folder / FILE).write_text(
        'format = 1\nname = "old"\n[learning]\ncost = "dis"  # of old\nC = 1.0\n'
    )
    with pytest.warns(FutureWarning, match="is now"), Project(folder) as project:
        project.change_settings({"learning.loss": "dme"}, "eve")
    assert "cost" not in (folder / FILE).read_text()
    assert read_settings(folder).learning == LearningSettings(loss="dme", C=1.0)


def test_a_form_offers_what_the_file_has_and_what_the_program_knows():
    settings = Settings("x", learning=LearningSettings(learner="own"))
    form = {field.name: field for field in form_fields(settings)["learning"]}
    assert form["learning.learner"].choices == ("own", *FORM_ORDER)
    assert set(FORM_ORDER) == set(LEARNERS)
    assert form["learning.weighting"].choices == WEIGHTINGS
    assert form["learning.strategy"].choices == STRATEGIES
    assert form["learning.base"].choices == tuple(BASES)
    assert set(form["learning.policy"].choices) == set(CHOOSERS) - {"flatten"}


def test_a_folder_that_is_no_project_names_the_remedy(tmp_path):
    with pytest.raises(DamagedFolder, match="classmark init"):
        Project(tmp_path)


def test_acts_are_logged_under_the_name_in_the_environment(monkeypatch):
    monkeypatch.setenv("CLASSMARK_USER", "eve")
    assert whoami() == "eve"


def test_projects_written_before_there_were_runs_keep_words_alone(tmp_path):
    create(tmp_path / "new", Settings("new"))
    path = tmp_path / "new" / FILE
    usual = read_settings(tmp_path / "new").learning
    assert (usual.characters, usual.first_line) == (4, 2)
    lines = path.read_text(encoding="utf-8").splitlines()
    old = [x for x in lines if not x.startswith(("characters", "first_line"))]
    path.write_text("\n".join(old), encoding="utf-8")
    before = read_settings(tmp_path / "new").learning
    assert (before.characters, before.first_line) == (0, 1)
    assert replace(before, characters=4, first_line=2) == usual
    write_settings(tmp_path / "new", replace(Settings("new"), learning=usual))
    assert read_settings(tmp_path / "new").learning == usual


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
