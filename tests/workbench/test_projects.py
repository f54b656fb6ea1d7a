"""Several projects in one folder: named, counted, archived, restored."""

import pytest

from classmark.problems import DamagedFolder, Mistake
from classmark.workbench.files.backup import back_up, restore
from classmark.workbench.files.importing import import_records
from classmark.workbench.project import Project, create
from classmark.workbench.projects import Membership, Projects, accounts_of
from classmark.workbench.settings import Settings
from classmark.workbench.store.log import Act
from classmark.workbench.team.people import add_token, add_user, tokens, users
from projects import NAMES, NOTES, new_project, records_of

HASHED = "$argon2id$of-nobody"


@pytest.fixture
def projects(tmp_path):
    return Projects(tmp_path / "folder")


@pytest.fixture
def shelf(projects):
    """A project of ten notes, one decided and one set aside."""
    projects.new("Some shelf", "shelf")
    place = projects.folder / "shelf"
    with Project(place) as project:
        import_records(project, records_of([*NOTES, {"id": "x", "labels": NAMES}]), "a")
        project.store.judge([Act("b1", "unsure", None)], "ada")
        add_user(project.store, "ada", HASHED, "admin")
        add_token(project.store, "ada", "admin")
    return place


def test_a_project_is_counted(projects, shelf):
    (found,) = projects.summaries()
    assert (found.name, found.title) == ("shelf", "Some shelf")
    assert (found.documents, found.decided, found.waiting) == (11, 1, 9)
    assert found.people == (Membership("ada", "admin"),)
    assert found.active.startswith("20")
    with Project(shelf) as project:
        state = project.state
        assert (len(state.ids), len(state.labels), state.n_waiting) == (11, 1, 9)
        project.store.judge([Act("b2", "assign", "bees")], "ada")
    assert projects.summary("shelf").decided == 2


@pytest.mark.parametrize(
    ("title", "name"),
    [
        ("Bird notes", "bird-notes"),
        ("  Übung 2 / 3 ", "ubung-2-3"),
        ("../../etc/passwd", "etc-passwd"),
        ("図書館", "project"),
        ("x" * 100, "x" * 50),
        (".server", "server"),
    ],
)
def test_directories_are_named_after_titles(projects, title, name):
    assert projects.new(title) == name
    assert projects.new(title) == f"{name}-2"
    assert projects.names() == [name, f"{name}-2"]
    assert projects.summary(name).title == title.strip()


@pytest.mark.parametrize("title", ["", " ", "a\nb", "a\0", "x" * 101])
def test_a_title_can_be_shown(projects, title):
    with pytest.raises(Mistake, match="visible characters"):
        projects.new(title, "fine")
    projects.new("Fine", "fine")
    with pytest.raises(Mistake, match="visible characters"):
        projects.rename("fine", title, "ada")


@pytest.mark.parametrize(
    "name", ["", ".", "..", "../out", "a/b", "/", ".server", "shelf\0", "shelf/", "no"]
)
def test_no_name_leads_out_of_the_folder(projects, shelf, name):
    new_project(shelf.parent.parent / "out")
    assert not projects.has(name)
    for do in (projects.place, projects.summary, projects.is_archived):
        with pytest.raises(Mistake, match="there is no project"):
            do(name)


def test_other_folders_are_no_projects(projects, shelf):
    (projects.folder / "pictures").mkdir()
    (projects.folder / "note.txt").write_text("x")
    assert projects.server.name == ".server"
    assert projects.names() == ["shelf"]
    with pytest.raises(Mistake, match="a project itself"):
        Projects(shelf).names()
    with pytest.raises(Mistake, match="is not a folder"):
        Projects(shelf / "nowhere").names()


def test_accounts_are_the_projects_or_the_servers(projects, shelf):
    assert accounts_of(shelf) == shelf
    assert accounts_of(projects.folder) == projects.folder / ".server"
    assert accounts_of(shelf / "models") == shelf / "models"


def test_a_folder_into_which_a_project_was_moved_has_accounts_at_once(tmp_path):
    new_project(tmp_path / "moved" / "shelf")
    accounts = accounts_of(tmp_path / "moved")
    assert (accounts / "classmark.toml").is_file()
    assert accounts_of(tmp_path) == tmp_path


def test_nothing_is_written_to_an_archived_project(projects, any_store):
    create(projects.folder / "shelf", Settings("Shelf", store=any_store()))
    projects.archive("shelf", "ada")
    assert projects.summary("shelf").archived
    with Project(projects.folder / "shelf") as project:
        with pytest.raises(Mistake, match="archived, so nothing is written"):
            import_records(project, records_of(NOTES), "a file")
        with pytest.raises(Mistake, match="archived"):
            add_token(project.store, "ada", "admin")
        with pytest.raises(Mistake, match="archived"):
            project.change_settings({"name": "Other"}, "ada")
        assert len(project.state.ids) == 0
    assert projects.summary("shelf").title == "Shelf"
    for again in (projects.archive, lambda *words: projects.rename("shelf", *words)):
        with pytest.raises(Mistake, match="bring it back first"):
            again("shelf", "ada")
    projects.unarchive("shelf", "ada")
    with Project(projects.folder / "shelf") as project:
        import_records(project, records_of(NOTES), "a file")
        what = project.store.run("SELECT what, who FROM events ORDER BY seq").fetchall()
    assert {("archived", "ada"), ("unarchived", "ada")} <= {
        tuple(each) for each in what
    }


def test_an_archived_project_is_backed_up(projects, any_store, tmp_path):
    create(projects.folder / "shelf", Settings("Shelf", store=any_store()))
    with Project(projects.folder / "shelf") as project:
        import_records(project, records_of(NOTES), "a file")
    projects.archive("shelf", "ada")
    for path in (tmp_path / "kept.zip", tmp_path / "kept.jsonl"):
        with Project(projects.folder / "shelf") as project:
            back_up(project, path)
            with pytest.raises(Mistake, match="archived"):
                add_token(project.store, "ada", "admin")
        restore(path, tmp_path / path.suffix[1:])
        with Project(tmp_path / path.suffix[1:]) as project:
            assert len(project.state.ids) == len(NOTES)
            assert not project.is_archived


@pytest.mark.parametrize("people", [False, True])
def test_a_restored_project_lets_in_whom_it_is_to(projects, shelf, tmp_path, people):
    with Project(shelf) as project:
        back_up(project, tmp_path / "kept.zip")
    name = projects.restore(tmp_path / "kept.zip", "ada", people=people)
    assert name == "some-shelf"
    with Project(projects.place(name)) as project:
        (user,), (token,) = users(project.store), tokens(project.store)
        assert (user.disabled, token.is_open) == (not people, people)
        assert user.role == "admin"
    assert bool(projects.summary(name).people) is people
    again = projects.restore(tmp_path / "kept.zip", "ada", "Another", "other")
    assert (again, projects.summary(again).title) == ("other", "Another")
    with pytest.raises(Mistake, match="already there"):
        projects.restore(tmp_path / "kept.zip", "ada", name="other")
    hidden = [each.name for each in projects.folder.iterdir() if each.name[0] == "."]
    assert hidden == [".server"]


@pytest.mark.usefixtures("shelf")
def test_what_is_damaged_says_so_and_the_others_are_listed(projects):
    for name in ("no-store", "no-settings", "other-settings", "too-new"):
        projects.new(name, name)
    folder = projects.folder
    (folder / "no-store" / "store.sqlite").unlink()
    (folder / "no-settings" / "classmark.toml").unlink()
    (folder / "other-settings" / "classmark.toml").write_text("what is this")
    (folder / "too-new" / "classmark.toml").write_text('format = 99\nname = "x"')
    problems = {each.name: each.problem for each in projects.summaries()}
    assert problems.pop("shelf") == ""
    assert "is missing" in problems["no-store"]
    assert "put the file back" in problems["no-settings"]
    assert "correct the file" in problems["other-settings"]
    assert "upgrade classmark" in problems["too-new"]
    with pytest.raises(DamagedFolder):
        projects.rename("no-store", "x", "ada")
