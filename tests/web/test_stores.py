"""The pages and the calls over PostgreSQL: as over the file."""

import shutil

import pytest
from starlette.testclient import TestClient

from classmark.web.serve import create_app
from classmark.workbench.files.backup import back_up, restore
from classmark.workbench.project import Project
from classmark.workbench.store.log import require_replayed
from classmark.workbench.team.desk import Desk
from classmark.workbench.team.people import add_token

PAGES = (
    "/inbox", "/inbox?order=likely&words=hive", "/inbox?show=decided&branch=nature",
    "/inbox?show=disagreed", "/decide/new-0", "/taxonomy", "/taxonomy/bees",
    "/taxonomy/find?q=be", "/like", "/like/1", "/search?q=hive", "/history",
    "/history?who=ada&act=assign&category=bees", "/history/range?first=41&last=44",
    "/progress", "/progress/agreement", "/files", "/settings", "/settings/model",
    "/settings/people", "/settings/tokens", "/alike?document=new-0",
)  # fmt: skip
WORK = (
    ("POST", "/decide", {"document": "new-0", "assign": ["birds"], "version": 0}),
    ("POST", "/decide", {"document": "new-1", "over": [["bees", "birds"]]}),
    ("POST", "/undo", {}),
    ("POST", "/redo", None),
    ("POST", "/skip", {"document": "new-2"}),
    ("POST", "/note", {"document": "new-2", "text": "a note, o’clock"}),
    ("POST", "/correct", {"number": 41, "category": "bees"}),
    ("POST", "/settle", {"document": "new-0", "labels": ["bees"]}),
    ("PUT", "/documents/d%2F1", {"fields": {"text": "a wasp"}}),
    ("POST", "/categories", {"id": "wasps", "parent": "nature"}),
    ("PATCH", "/categories/one/wasps", {"guideline": "no hornets"}),
    (
        "POST",
        "/categories/preview",
        {"act": "merge", "category": "wasps", "to": "bees"},
    ),
    ("POST", "/categories/merge", {"category": "wasps", "into": "bees"}),
    ("POST", "/like", {"examples": ["bees-1"], "texts": {"mine": "a hive"}}),
    ("POST", "/like/1/mark", {"marks": {"bees-2": "yes", "bread-1": "no"}}),
    ("POST", "/like/1/undo", None),
    ("PATCH", "/settings", {"settings": {"search.log": "named"}}),
    ("POST", "/search", {"query": "hive"}),
    ("POST", "/click", {"impression": 1, "document": "bees-0"}),
    ("POST", "/undo/preview", {"first": 41, "last": 43}),
    ("POST", "/users", {"name": "cat", "password": "a lamp in the attic"}),
    ("PATCH", "/users/cat", {"role": "reader", "disabled": True}),
    ("POST", "/learn", None),
    ("GET", "/progress", None),
    ("GET", "/agreement", None),
    ("GET", "/disagreements", None),
    ("GET", "/second-readings", None),
    ("GET", "/history", None),
    ("GET", "/export", None),
    ("GET", "/backup", None),
)


@pytest.fixture
def folder(project_folder, tmp_path, postgres_store):
    with Project(project_folder) as project:
        back_up(project, tmp_path / "all.zip")
    restored = tmp_path / "restored"
    restore(tmp_path / "all.zip", restored, postgres_store())
    shutil.copytree(project_folder / "index", restored / "index", dirs_exist_ok=True)
    return restored


def test_a_day_of_pages_and_calls(folder):
    with Desk(folder) as desk:
        _, secret = add_token(desk.store, "ada", "admin")
        with TestClient(create_app(desk), base_url="http://127.0.0.1:8000") as client:
            client.headers["Authorization"] = f"Bearer {secret}"
            for method, path, body in WORK:
                answer = client.request(method, f"/api/v1{path}", json=body)
                assert answer.status_code < 300, f"{path}: {answer.text}"
            for path in PAGES:
                answer = client.get(path)
                assert answer.status_code == 200, f"{path}: {answer.text}"
            stale = {"document": "new-0", "assign": ["bread"], "version": 0}
            assert client.post("/api/v1/decide", json=stale).status_code == 409
            nul = client.get("/api/v1/inbox", params={"words": "\0"})
            assert nul.status_code == 400
        require_replayed(desk.store)
