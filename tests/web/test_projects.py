"""Several projects under one server: a list, rights per project, and what is theirs."""

import re
import zipfile
from io import BytesIO
from threading import Timer

import pytest
from starlette.testclient import TestClient

from classmark.web.guard.auth import hash_password
from classmark.web.serve_projects import create_projects_app
from classmark.workbench.files.backup import back_up
from classmark.workbench.project import Project
from classmark.workbench.projects import Projects
from classmark.workbench.team.desk import Desk
from classmark.workbench.team.people import NO_PASSWORD, add_token, add_user, users
from projects import new_parish, new_project
from web.conftest import ADDRESS, ROOT, Program
from web.guard.test_roles import CHANGED_BY_READERS, SAFE, WITHOUT_A_ROLE, calls

PASSWORD = "a horse, a battery"  # noqa: S105 - nobody's
HASHED = hash_password(PASSWORD, "nobody")


@pytest.fixture
def folder(tmp_path):
    """Two projects: of notes that are decided, and of others."""
    place = tmp_path / "projects"
    place.mkdir()
    new_parish(place / "parish", name="Parish notes")
    new_project(place / "shelf", name="The shelf")
    return place


@pytest.fixture
def projects(folder):
    return Projects(folder)


@pytest.fixture
def served(projects):
    """The server's application, with a desk over its accounts."""
    with Desk(projects.server, begin=False) as desk:
        opened = create_projects_app(projects, desk)
        yield opened
        opened.close_all()


@pytest.fixture
def admin(served):
    """A browser of the machine's own user."""
    with browser(served, code=served.app.state.doors.code) as client:
        yield client


def browser(served, **entered):
    client = TestClient(served, base_url=ADDRESS)
    answer = client.post("/enter", data=entered, follow_redirects=False)
    assert answer.status_code == 303, answer.text
    state = served.app.state
    client.headers["X-CSRF"] = state.sessions.find(
        client.cookies[state.doors.cookie]
    ).csrf
    return client


def person(served, name, role="classifier", **roles):
    """A browser of somebody with an account; roles : by project."""
    with served.app.state.desk.writing() as server:
        add_user(server.store, name, HASHED, role)
    for project, theirs in roles.items():
        let_in(served, project, name, theirs)
    return browser(served, name=name, password=PASSWORD)


def let_in(served, project, name, role):
    with Project(served.projects.place(project)) as place:
        add_user(place.store, name, NO_PASSWORD, role)


def token(served, project, owner, role):
    """A program with a token of a project, or of the server where it is empty."""
    if not project:
        with served.app.state.desk.writing() as server:
            return add_token(server.store, owner, role)[1]
    with Project(served.projects.place(project)) as place:
        return add_token(place.store, owner, role)[1]


class Within(Program):
    """A program that calls one project."""

    def __init__(self, served, project, secret):
        super().__init__(served, secret)
        self.project = project

    def get(self, path, **query):
        return self.http.get(f"/p/{self.project}{ROOT}{path}", params=query)

    def post(self, path, body=None, **query):
        return self.http.post(f"/p/{self.project}{ROOT}{path}", json=body, params=query)


def test_the_list_says_how_far_each_project_is(admin):
    page = admin.get("/")
    assert page.url.path == "/projects"
    assert "Parish notes" in page.text
    assert "40 of 48 decided" in page.text
    assert "8 undecided" in page.text
    assert "2 projects" in page.text


def test_a_project_has_the_same_pages_under_its_own_addresses(admin):
    page = admin.get("/p/parish/")
    assert page.url.path.startswith("/p/parish/decide")
    assert "Parish notes" in page.text
    addresses = re.findall(r'(?:href|action|src)="(/[^"]*)"', page.text)
    assert addresses
    ours = ("/p/parish/", "/static/", "/projects", "/leave")
    assert [each for each in addresses if not each.startswith(ours)] == []
    for address in {each for each in addresses if each.startswith("/p/")}:
        answer = admin.get(address)
        assert answer.status_code != 404, address


@pytest.mark.parametrize(
    "path",
    [
        "/inbox", "/taxonomy?at=bees", "/like", "/search?q=hive", "/history",
        "/progress", "/files", "/settings", "/settings/people", "/settings/tokens",
        "/settings/me",
        "/work", "/mentions", "/session", "/start", "/suggest", "/progress/evaluation",
        "/settings/webhooks", "/settings/model", "/nowhere",
        "/taxonomy/branch?of=nature",
    ],
)  # fmt: skip
def test_no_address_leads_out_of_a_project(admin, path):
    page = admin.get(f"/p/parish{path}")
    ours = ("/p/parish/", "/static/", "/projects", "/leave")
    pairs = re.findall(r'([\w-]+)="(/[^"]*)"', page.text)
    shown = [("data-act", "/"), ("data-prefix", "/p/parish")]
    leading = [pair for pair in pairs if pair not in shown and pair[0] != "value"]
    assert leading
    assert [each for each in leading if not each[1].startswith(ours)] == []


def test_a_form_leads_on_within_its_project(admin):
    answer = admin.post(
        "/p/parish/settings", data={"name": "Parish"}, follow_redirects=False
    )
    assert answer.headers["location"].startswith("/p/parish/settings?saved=")
    assert "saved: " in admin.get(answer.headers["location"]).text


def test_two_projects_are_open_at_once_and_apart(admin, served):
    first, second = (
        Within(served, name, token(served, "", "ada", "admin"))
        for name in ("parish", "shelf")
    )
    with served.app.state.desk.writing() as server:
        add_user(server.store, "ada", HASHED, "admin")
    assert first.get("/project").json()["name"] == "Parish notes"
    assert second.get("/project").json()["name"] == "The shelf"
    saved = second.post("/decide", {"document": "b1", "assign": ["bees"]})
    assert saved.status_code == 200, saved.text
    assert (
        first.post("/decide", {"document": "b1", "assign": ["bees"]}).status_code == 404
    )
    assert second.get("/project").json()["counts"]["decided"] == 1
    assert first.get("/project").json()["counts"]["decided"] == 40
    listed = admin.get(f"{ROOT}/projects").json()["projects"]
    assert {each["name"]: each["decided"] for each in listed} == {
        "parish": 40,
        "shelf": 1,
    }


OF_A_PROJECT = (
    "/", "/decide", "/inbox", "/files", "/files/get/documents.jsonl", "/history",
    "/settings/people", f"{ROOT}/project", f"{ROOT}/export", f"{ROOT}/backup",
    f"{ROOT}/users", "/v1/projects", "/openapi.json",
)  # fmt: skip


@pytest.mark.parametrize("path", OF_A_PROJECT)
def test_a_person_of_one_project_gets_nothing_of_another(served, path):
    ada = person(served, "ada", parish="admin")
    mine = ada.get(f"/p/parish{path}", follow_redirects=False)
    assert mine.status_code in (200, 303)
    theirs = ada.get(f"/p/shelf{path}", follow_redirects=False)
    none = ada.get(f"/p/nothing{path}", follow_redirects=False)
    assert theirs.status_code == none.status_code == 404
    assert theirs.text.replace("shelf", "nothing") == none.text
    assert "shelf" not in served.open


@pytest.mark.parametrize("path", OF_A_PROJECT)
def test_a_token_of_one_project_opens_nothing_of_another(served, path):
    person(served, "ada", parish="admin", shelf="reader")
    secret = token(served, "parish", "ada", "admin")
    known = Within(served, "parish", secret).http
    assert known.get(f"/p/parish{path}", follow_redirects=False).status_code in (
        200,
        303,
    )
    answer = known.get(f"/p/shelf{path}", follow_redirects=False)
    assert answer.status_code in (303, 401)
    assert "shelf" not in served.open


@pytest.mark.parametrize("path", OF_A_PROJECT)
def test_a_stranger_is_told_nothing_and_opens_nothing(served, path):
    stranger = TestClient(served, base_url=ADDRESS)
    there, not_there = (
        stranger.get(f"/p/{name}{path}", follow_redirects=False)
        for name in ("parish", "nothing")
    )
    assert there.status_code == not_there.status_code
    assert there.status_code in (303, 401)
    assert not served.open


def test_who_logs_in_goes_on_to_where_they_were(served):
    person(served, "ada", parish="reader")
    stranger = TestClient(served, base_url=ADDRESS)
    page = stranger.get("/p/parish/inbox?show=decided")
    assert page.url.path == "/enter"
    onward = page.url.params["next"]
    entered = {"name": "ada", "password": PASSWORD, "onward": onward}
    page = stranger.post("/enter", data=entered)
    assert str(page.url).endswith("/p/parish/inbox?show=decided")
    assert "Parish notes" in page.text
    csrf = re.search(r'data-csrf="([^"]+)"', page.text)[1]
    stranger.post("/leave", data={"csrf": csrf})
    assert stranger.get("/p/parish/inbox").url.path == "/enter"


def test_the_list_has_only_ones_own_projects(served):
    ada = person(served, "ada", parish="reader")
    page = ada.get("/projects")
    assert "Parish notes" in page.text
    assert "The shelf" not in page.text
    assert "New project" not in page.text
    listed = ada.get(f"{ROOT}/projects").json()["projects"]
    assert [each["name"] for each in listed] == ["parish"]


CHANGES = [
    ("POST", f"{ROOT}/projects", {"title": "More"}),
    ("PATCH", f"{ROOT}/projects/parish", {"title": "Mine"}),
    ("PATCH", f"{ROOT}/projects/parish", {"archived": True}),
    ("POST", f"{ROOT}/projects/restore", {}),
    ("GET", f"{ROOT}/projects/parish/backup", None),
    ("POST", f"{ROOT}/users", {"name": "eve", "password": PASSWORD}),
    ("POST", f"{ROOT}/tokens", {"user": "ada"}),
    ("POST", "/projects", {}),
    ("POST", "/projects/rename", {}),
    ("POST", "/projects/archive", {}),
    ("POST", "/projects/unarchive", {}),
    ("POST", "/projects/restore", {}),
    ("GET", "/projects/backup?name=parish", None),
    ("GET", "/settings/people", None),
    ("GET", "/settings/tokens", None),
]


@pytest.mark.parametrize(("method", "path", "body"), CHANGES)
def test_only_an_admin_of_the_server_changes_projects(
    served, projects, method, path, body
):
    ada = person(served, "ada", parish="admin")
    assert ada.request(method, path, json=body).status_code == 403
    assert projects.names() == ["parish", "shelf"]
    assert not projects.is_archived("parish")


def test_the_role_is_that_of_the_project(served):
    ada = person(served, "ada", parish="reader", shelf="admin")
    assert ada.get("/p/shelf/settings/people").status_code == 200
    assert ada.get("/p/parish/settings/people").status_code == 403
    body = {"document": "new-0", "assign": ["bees"]}
    assert ada.post(f"/p/parish{ROOT}/decide", json=body).status_code == 403


def test_a_role_that_is_taken_away_holds_at_once(served, admin):
    ada = person(served, "ada", parish="classifier")
    assert ada.get("/p/parish/inbox").status_code == 200
    admin.post("/p/parish/settings/people/change", data={"name": "ada", "role": "none"})
    assert ada.get("/p/parish/inbox").status_code == 404
    assert ada.get("/projects").status_code == 200  # still logged in


def test_an_account_that_is_closed_enters_no_project(served, admin):
    ada = person(served, "ada", parish="classifier")
    secret = token(served, "parish", "ada", "classifier")
    known = Within(served, "parish", secret)
    assert known.get("/project").status_code == 200
    admin.post("/settings/people/change", data={"name": "ada", "role": "none"})
    assert known.get("/project").status_code == 401
    assert ada.get("/p/parish/inbox", follow_redirects=False).status_code == 303


def test_a_token_of_the_server_may_what_its_owner_may(served):
    person(served, "ada", parish="reader", shelf="classifier")
    secret = token(served, "", "ada", "admin")
    roles = {
        name: Within(served, name, secret).get("/project").json()["role"]
        for name in ("parish", "shelf")
    }
    assert roles == {"parish": "reader", "shelf": "classifier"}
    names = Program(served, secret).get("/projects").json()["projects"]
    assert [each["name"] for each in names] == ["parish", "shelf"]


def test_people_get_a_role_by_the_name_of_their_account(served, admin):
    ada = person(served, "ada")
    assert ada.get("/p/shelf/inbox").status_code == 404
    answer = admin.post(
        "/p/shelf/settings/people", data={"name": "eve", "role": "reader"}
    )
    assert "no account" in answer.text
    answer = admin.post(
        "/p/shelf/settings/people", data={"name": "ada", "role": "reader"}
    )
    assert "ada: reader" in answer.text
    assert "New password" not in answer.text
    assert ada.get("/p/shelf/inbox").status_code == 200
    refused = admin.post(
        f"/p/shelf{ROOT}/users", json={"name": "bo", "password": PASSWORD}
    )
    assert refused.status_code == 400
    changed = admin.patch(f"/p/shelf{ROOT}/users/ada", json={"password": PASSWORD})
    assert changed.status_code == 400


def test_ones_own_password_is_that_of_the_server(served):
    ada = person(served, "ada", shelf="reader")
    new = "another battery, a horse"
    body = {"old": PASSWORD, "new": new}
    assert ada.put(f"/p/shelf{ROOT}/me/password", json=body).status_code == 204
    assert ada.get("/projects", follow_redirects=False).status_code == 303
    assert (
        browser(served, name="ada", password=new).get("/p/shelf/inbox").status_code
        == 200
    )
    with Project(served.projects.place("shelf")) as project:
        assert [user.password for user in users(project.store)] == [NO_PASSWORD]


def test_who_has_only_a_role_cannot_log_in(served):
    let_in(served, "shelf", "ada", "admin")
    answer = TestClient(served, base_url=ADDRESS).post(
        "/enter", data={"name": "ada", "password": PASSWORD}
    )
    assert answer.status_code == 401


def test_a_project_is_made_and_greets(admin, projects):
    page = admin.post("/projects", data={"title": "Röda linjen, 2"})
    assert page.url.path == "/p/roda-linjen-2/start"
    assert "Three steps to the first decision" in page.text
    assert "Röda linjen, 2" in admin.get("/projects").text
    assert projects.names() == ["parish", "roda-linjen-2", "shelf"]
    assert (
        admin.post("/projects", data={"title": "Röda linjen 2"}).url.path
        == "/p/roda-linjen-2-2/start"
    )


@pytest.mark.parametrize(
    "name", ["../out", "/etc", "..", ".hidden", "a/b", "A b", "x" * 64, "parish", "a\0"]
)
def test_a_name_leads_nowhere_else(admin, tmp_path, name):
    before = sorted(tmp_path.rglob("classmark.toml"))
    body = {"title": "More", "name": name}
    assert admin.post(f"{ROOT}/projects", json=body).status_code == 400
    assert admin.post("/projects", data=body).status_code == 400
    assert sorted(tmp_path.rglob("classmark.toml")) == before


@pytest.mark.parametrize(
    "name",
    [
        "..",
        "%2e%2e",
        "..%2foutside",
        ".server",
        "%2eserver",
        "parish%00",
        ".",
        "parish%2f..%2f..%2foutside",
    ],
)
def test_an_address_leads_to_no_other_folder(admin, folder, name):
    new_project(folder.parent / "outside", name="Outside")
    page = admin.get(f"/p/{name}/inbox")
    assert page.status_code in (404, 400)
    assert "Outside" not in page.text
    assert admin.get(f"{ROOT}/projects/{name}/backup").status_code in (404, 400, 405)
    assert (
        admin.get("/projects/backup", params={"name": "../outside"}).status_code == 404
    )


def test_a_project_is_called_otherwise_open_or_not(admin):
    admin.post("/projects/rename", data={"name": "shelf", "title": "A <b>shelf</b>"})
    page = admin.get("/p/shelf/inbox")
    assert "A &lt;b&gt;shelf&lt;/b&gt;" in page.text
    admin.patch(f"{ROOT}/projects/shelf", json={"title": "Long shelf"})
    assert "Long shelf" in admin.get("/p/shelf/inbox").text
    assert admin.patch(f"{ROOT}/projects/shelf", json={"title": " "}).status_code == 400
    assert admin.patch(f"{ROOT}/projects/no", json={"title": "x"}).status_code == 404


def test_an_archived_project_is_closed_until_it_is_back(admin, served):
    ada = person(served, "ada", parish="admin", shelf="reader")
    known = Within(served, "parish", token(served, "parish", "ada", "admin"))
    assert known.get("/project").status_code == 200
    admin.post("/projects/archive", data={"name": "parish"})
    assert "parish" not in served.open
    assert known.get("/project").status_code == 403
    body = {"document": "new-0", "assign": ["bees"]}
    assert known.post("/decide", body).status_code == 403
    refused = ada.get("/p/parish/inbox")
    assert refused.status_code == 403
    assert "archived" in refused.text
    assert "Parish notes" not in ada.get("/projects").text
    assert "Bring back" in admin.get("/projects").text
    saved = admin.get("/projects/backup", params={"name": "parish"})
    assert saved.headers["content-disposition"] == 'attachment; filename="parish.zip"'
    assert zipfile.is_zipfile(BytesIO(saved.content))
    admin.post("/projects/unarchive", data={"name": "parish"})
    assert known.post("/decide", body).status_code == 200


def test_one_that_is_archived_by_another_program_is_closed_too(admin, projects):
    assert admin.get("/p/parish/inbox").status_code == 200
    projects.archive("parish", "somebody")
    assert admin.get("/p/parish/inbox").status_code == 403


def backup_of(folder, tmp_path, name="parish", ending="zip"):
    path = tmp_path / f"kept.{ending}"
    with Project(folder / name) as project:
        add_user(project.store, "ada", HASHED, "admin")
        project.secret = add_token(project.store, "ada", "admin")[1]
        back_up(project, path)
        return path, project.secret


def test_a_backup_becomes_a_project_that_lets_nobody_in(
    admin, served, folder, tmp_path, projects
):
    path, secret = backup_of(folder, tmp_path)
    ada = person(served, "ada")
    with path.open("rb") as file:
        page = admin.post(
            "/projects/restore", data={"title": "Restored"}, files={"file": file}
        )
    assert "restored has been restored" in page.text
    assert "Restored" in page.text
    assert ada.get("/p/restored/inbox").status_code == 404
    assert Within(served, "restored", secret).get("/project").status_code == 401
    assert admin.get(f"/p/restored{ROOT}/project").json()["counts"]["decided"] == 40
    assert list((projects.server / "uploads").iterdir()) == []


def test_a_backup_brings_its_people_back_where_that_is_said(
    admin, served, folder, tmp_path
):
    path, secret = backup_of(folder, tmp_path)
    ada = person(served, "ada")
    made = admin.post(
        f"{ROOT}/projects/restore?people=true&name=again", content=path.read_bytes()
    )
    assert made.status_code == 201, made.text
    assert made.json()["title"] == "Parish notes"
    assert ada.get("/p/again/settings/people").status_code == 200
    assert Within(served, "again", secret).get("/project").status_code == 200


def test_lines_are_restored_too(admin, folder, tmp_path):
    path, _ = backup_of(folder, tmp_path, "shelf", "jsonl")
    made = admin.post(f"{ROOT}/projects/restore?kind=jsonl", content=path.read_bytes())
    assert made.json()["name"] == "the-shelf"


@pytest.mark.parametrize("content", [b"", b"no zip at all", b"PK\5\6" + bytes(18)])
def test_what_is_no_backup_makes_no_project(admin, projects, content):
    answer = admin.post(f"{ROOT}/projects/restore", content=content)
    assert answer.status_code == 400
    assert projects.names() == ["parish", "shelf"]
    left = [each.name for each in projects.folder.iterdir()]
    assert sorted(left) == [".server", "parish", "shelf"]
    wrong = admin.post("/projects/restore", files={"file": ("a.exe", content)})
    assert wrong.status_code == 400


def test_a_damaged_project_is_shown_with_its_remedy(admin, served, folder):
    (folder / "parish" / "store.sqlite").write_bytes(b"no database" * 1000)
    (folder / "shelf" / "classmark.toml").unlink()
    ada = person(served, "ada", "reader")
    new_project(folder / "well", name="All well")
    page = admin.get("/projects")
    assert page.status_code == 200
    assert page.text.count("cannot be opened") == 2
    assert "restore a backup" in page.text
    assert "All well" in page.text
    assert ada.get("/projects").status_code == 200
    assert admin.get("/p/parish/inbox").status_code == 503
    assert admin.get(f"/p/shelf{ROOT}/project").status_code == 503
    assert admin.get("/p/well/start").status_code == 200
    assert ada.get("/p/parish/inbox").status_code == 404


def test_no_more_are_open_than_may_be(projects):
    with Desk(projects.server, begin=False) as desk:
        opened = create_projects_app(projects, desk, most=1)
        client = browser(opened, code=opened.app.state.doors.code)
        for name in ("parish", "shelf", "parish"):
            assert client.get(f"/p/{name}/settings").status_code == 200
            assert list(opened.open) == [name]
        opened.open["parish"].requests += 1  # one that lasts
        assert client.get("/p/shelf/settings").status_code == 503
        opened.open["parish"].requests -= 1
        assert client.get("/p/shelf/settings").status_code == 200
        opened.close_all()
        assert not opened.open


def test_what_is_idle_is_closed_and_opened_again(admin, served, monkeypatch):
    monkeypatch.setattr("classmark.web.serve_projects.IDLE", 0.0)
    assert admin.get("/p/shelf/settings").status_code == 200
    desk = served.open["shelf"].desk
    served.open["shelf"].lines += 1  # somebody listens
    served.close_idle()
    assert served.open["shelf"].desk is desk
    served.open["shelf"].lines -= 1
    served.close_idle()
    assert not served.open
    assert not desk.background.runs
    assert admin.get("/p/shelf/settings").status_code == 200


def test_a_page_says_that_its_project_opens(admin, monkeypatch):
    monkeypatch.setattr("classmark.web.serve_projects.PATIENCE", 0.0)
    said = admin.get("/p/parish/settings", headers={"Accept": "text/html"})
    assert said.status_code == 503
    assert "The project is being opened." in said.text
    assert 'http-equiv="refresh"' in said.text
    assert admin.get("/p/parish/settings").status_code == 200  # a program waits
    again = admin.get("/p/parish/settings", headers={"Accept": "text/html"})
    assert again.status_code == 200


def test_pages_of_the_server_and_its_answers_for_projects_are_in_german(
    admin, monkeypatch
):
    german = {"Accept": "text/html", "Accept-Language": "de"}
    page = admin.get("/projects", headers=german).text
    assert "<h1>Projekte</h1>" in page
    assert "2 Projekte" in page
    assert "40 von 48 entschieden" in page
    with monkeypatch.context() as patch:
        patch.setattr("classmark.web.serve_projects.PATIENCE", 0.0)
        opening = admin.get("/p/shelf/settings", headers=german)
    assert "Das Projekt wird geöffnet." in opening.text
    admin.post("/projects/archive", data={"name": "parish"})
    refused = admin.get("/p/parish/inbox", headers=german)
    assert "Dieses Projekt ist archiviert" in refused.text
    call = admin.get(f"/p/parish{ROOT}/project", headers=german)
    assert "is archived" in call.json()["error"]["message"]


def test_every_page_and_call_of_the_server_asks_for_a_role(served):
    found = dict(calls(served.app))
    assert found["POST", "/projects"] == {"admin"}
    for call, roles in found.items():
        assert roles or call in WITHOUT_A_ROLE, call
        changes = call[0] not in SAFE and call not in CHANGED_BY_READERS
        assert not (roles and changes) or roles == {"admin"}, call


def test_events_are_of_one_project(served):
    person(served, "ada", parish="classifier", shelf="classifier")
    secret = token(served, "", "ada", "classifier")
    parish, shelf = (Within(served, name, secret) for name in ("parish", "shelf"))
    assert parish.get("/events", seconds=0).status_code == 503  # it opens nothing
    assert parish.get("/project").status_code == shelf.get("/project").status_code
    of_shelf = token(served, "shelf", "ada", "classifier")
    assert Within(served, "parish", of_shelf).get("/events").status_code == 401
    desk = served.open["parish"].desk
    told = Timer(0.5, lambda: desk.events.tell("decided", 7, document="of parish"))
    told.start()
    assert "of parish" not in shelf.get("/events", seconds=1).text
    Timer(0.5, lambda: desk.events.tell("decided", 8, document="of parish")).start()
    assert "of parish" in parish.get("/events", seconds=1.5).text


def test_the_description_names_where_the_calls_are(admin):
    described = admin.get("/p/parish/openapi.json").json()
    assert described["servers"] == [{"url": "/p/parish"}]
    assert f"{ROOT}/projects" not in described["paths"]
    of_server = admin.get("/openapi.json").json()["paths"]
    assert {
        f"{ROOT}/projects",
        f"{ROOT}/projects/{{name}}",
        f"{ROOT}/users",
    } <= of_server.keys()
    assert f"{ROOT}/decide" not in of_server


def test_forms_are_sent_with_the_token_of_the_session(admin, projects):
    del admin.headers["X-CSRF"]
    assert admin.post("/projects", data={"title": "More"}).status_code == 403
    assert admin.post("/p/parish/settings", data={"name": "x"}).status_code == 403
    elsewhere = {"Origin": "https://elsewhere.example"}
    assert admin.post("/projects/archive", headers=elsewhere).status_code == 403
    assert projects.names() == ["parish", "shelf"]


@pytest.mark.parametrize(
    "path",
    ["/projects", "/p/parish/inbox", "/p/no/inbox"],
)
def test_every_answer_has_the_headers_and_the_host_is_checked(admin, path):
    answer = admin.get(path)
    assert "frame-ancestors 'none'" in answer.headers["content-security-policy"]
    refused = admin.get(path, headers={"Host": "rebound.example"})
    assert refused.status_code in (403, 404)


def test_what_is_said_of_a_backup_are_two_sentences(admin):
    assert "keep it safe. An admin of the server" in admin.get("/p/parish/files").text
