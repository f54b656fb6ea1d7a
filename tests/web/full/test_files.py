"""Files that wait, files that come out, one's own password: as on the pages."""

import json

import pytest

from classmark.web.events import EACH
from classmark.web.guard.auth import hash_password
from classmark.workbench.team.people import add_user

ROOT = "/api/v1"
LINES = b'{"id": "w1", "text": "a wasp"}\n{"id": "w2", "text": "two wasps"}\n'
OLD, NEW = "a lamp in the attic", "a lamp in the cellar"


def sent(admin, body=LINES, name="wasps.jsonl"):
    return admin.http.post(f"{ROOT}/uploads", params={"name": name}, content=body)


def test_a_file_is_sent_looked_at_and_taken_in(admin, ada, desk):
    answer = sent(admin)
    assert answer.status_code == 201
    token = answer.json()["token"]
    (listed,) = admin.get("/uploads").json()["uploads"]
    assert (listed["token"], listed["name"]) == (token, "wasps.jsonl")
    looked = admin.get(f"/uploads/{token}").json()
    assert (looked["format"], looked["heads"][0]) == ("jsonl", "id")
    assert [row[0] for row in looked["rows"]] == ["w1", "w2"]
    assert "w1" not in desk.state.ids
    job = admin.post(f"/uploads/{token}/import")
    assert (job.status_code, job.json()["state"]) == (202, "done")
    assert ada.get("/documents/w1").status_code == 200
    assert admin.get(f"/uploads/{token}").status_code == 404


def test_a_file_that_cannot_be_read_waits_until_it_is_thrown_away(admin, ada):
    token = sent(admin, b"no json\n").json()["token"]
    assert admin.get(f"/uploads/{token}").json()["mistake"]
    assert admin.post(f"/uploads/{token}/import").status_code == 400
    assert admin.get(f"/uploads/{token}").status_code == 200
    gone = admin.http.delete(f"{ROOT}/uploads/{token}")
    assert (gone.status_code, admin.get("/uploads").json()) == (204, {"uploads": []})
    assert ada.get("/uploads").status_code == 403


@pytest.mark.parametrize("token", ["..", "%2e%2e%2fx", "%00", "0" * 32])
def test_a_name_that_no_file_has_is_404(admin, token):
    assert admin.get(f"/uploads/{token}").status_code == 404


@pytest.mark.parametrize("name", ["../../x.jsonl", "/etc/x.jsonl", "a\\..\\x.jsonl"])
def test_the_name_that_was_sent_names_no_file(admin, desk, name):
    assert sent(admin, name=name).json()["name"] == "x.jsonl"
    found = {p.name for p in desk.folder.parent.rglob("*") if p.is_file()}
    assert "x.jsonl" not in found


def test_what_was_found_is_a_file_and_a_search_becomes_a_screening(ada):
    number = ada.post("/like", {"name": "hives", "examples": ["bees-1"]}).json()
    number = number["number"]
    for form in ("csv", "jsonl", "ris", "tsv"):
        answer = ada.get(f"/like/{number}/found", format=form)
        assert answer.status_code == 200
        assert f'filename="found.{form}"' in answer.headers["content-disposition"]
    rows = ada.get(f"/like/{number}/found", format="jsonl").text.splitlines()
    assert json.loads(rows[0])["rank"] == 1
    assert ada.get("/like/99/found").status_code == 404
    assert ada.get(f"/like/{number}/found", format="exe").status_code == 400
    begun = ada.post(f"/like/{number}/screen")
    assert (begun.status_code, begun.json()["screening"]) == (201, True)


def test_a_screening_says_what_it_goes_for(ada):
    said = {"examples": ["bees-1"], "screening": True, "target": 0.8, "error": 0.1}
    assert ada.post("/like", said).json()["screening"]
    assert ada.post("/like", {**said, "target": 1.5}).status_code == 400


def test_ones_own_password(ada, desk, app, stranger):
    with desk.writing() as project:
        add_user(project.store, "ada", hash_password(OLD, "ada"))
    log_in = {"name": "ada", "password": OLD}
    assert stranger.post("/enter", data=log_in).status_code == 200
    wrong = ada.put("/me/password", {"old": "guess", "new": NEW})
    assert wrong.status_code == 403
    assert ada.put("/me/password", {"old": OLD, "new": "short"}).status_code == 400
    assert ada.put("/me/password", {"old": OLD, "new": NEW}).status_code == 204
    assert stranger.get("/inbox").url.path == "/enter", "their sessions have ended"
    assert stranger.post("/enter", data=log_in).status_code == 401
    for _ in range(10):
        ada.put("/me/password", {"old": "guess", "new": NEW})
    limited = ada.put("/me/password", {"old": NEW, "new": OLD})
    assert (limited.status_code, "retry-after" in limited.headers) == (429, True)
    assert app.state.tries is not None


def test_too_many_lines_are_not_listened_to(reader, ada, app):
    app.state.open_lines["rea"] = EACH
    refused = reader.get("/events", seconds=0)
    assert refused.status_code == 429
    assert ada.get("/events", seconds=0).status_code == 200
    app.state.open_lines["rea"] -= 1
    assert reader.get("/events", seconds=0).status_code == 200
