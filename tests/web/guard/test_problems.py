"""Every refusal to a program is application/problem+json, whatever refuses."""

import pytest
from starlette.testclient import TestClient

PROBLEM = "application/problem+json"
PATHS = ("/api", "/v1")


def calls(app):
    """The method and address of every call of programs, its parts filled in."""
    paths = app.openapi()["paths"]
    return [
        (method.upper(), path.replace("{", "").replace("}", ""))
        for path, methods in paths.items()
        if path.startswith(PATHS)
        for method in methods
    ]


def require_problem(answer):
    assert answer.headers["content-type"] == PROBLEM, answer.text[:200]
    problem = answer.json()
    assert problem["status"] == answer.status_code
    assert problem["title"]
    assert problem["type"] == "about:blank"
    said = problem["error"]
    whole = f"{said['message']}: {said['remedy']}"
    assert problem["detail"] in (whole, said["message"])


def test_every_call_refuses_strangers_nonsense_and_other_methods(app, admin, stranger):
    addresses = calls(app)
    assert len(addresses) > 60
    refused = 0
    for method, path in addresses:
        bodies = [{}, {"content": b"\xff{", "headers": {"Content-Type": "text/plain"}}]
        for body in bodies:
            for who in (stranger, admin.http):
                if (method, path) in STREAMS:
                    continue
                answer = who.request(method, path, **body)
                if answer.status_code >= 400:
                    require_problem(answer)
                    refused += 1
        answer = admin.http.request("TRACE", path)
        assert answer.status_code == 405
        require_problem(answer)
    assert refused > len(addresses)


STREAMS = {("GET", "/api/v1/events"), ("GET", "/api/v1/export")}


@pytest.mark.parametrize("path", ["/api", "/api/", "/api/v1/none", "/v1/none", "/v1x"])
def test_addresses_that_are_not_there(admin, path):
    answer = admin.http.get(path, follow_redirects=False)
    assert answer.status_code == 404
    require_problem(answer)


def test_what_the_gate_and_the_program_itself_refuse(app, admin, monkeypatch):
    admin.http.headers["Host"] = "elsewhere.example"
    require_problem(admin.http.get("/v1/projects"))
    del admin.http.headers["Host"]
    huge = {"Content-Length": str(1 << 40), "Content-Type": "application/json"}
    for path in ("/v1/projects/x/suggest-batch", "/api/v1/suggest"):
        require_problem(admin.http.post(path, content=b"{}", headers=huge))
    monkeypatch.setattr("classmark.web.annif._project", lambda _: 1 / 0)
    failing = TestClient(app, admin.http.base_url, raise_server_exceptions=False)
    answer = failing.get("/v1/projects", headers=admin.http.headers)
    assert answer.status_code == 500
    require_problem(answer)


def test_what_was_answered_before_is_still_there(ada):
    answer = ada.get("/documents/none")
    assert answer.json()["error"]["message"].startswith("there is no document")
    require_problem(answer)
