"""Who may call what, and how a call is refused."""

import pytest

from classmark.problems import DamagedFolder
from classmark.web.settings import described

ROOT = "/api/v1"
DECIDE = {"document": "new-0", "assign": ["bees"]}


@pytest.fixture
def told(app):
    return described(app)


def test_nobody_unknown_is_answered(stranger, told):
    for path, methods in told["paths"].items():
        if path.startswith(ROOT):
            for method in methods:
                asked = path.replace("{number}", "1").replace("{", "").replace("}", "")
                answer = stranger.request(method.upper(), asked, json={})
                assert answer.status_code == 401, path
                assert answer.json()["error"]["message"]


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/decide", DECIDE),
        ("/skip", {"document": "new-0"}),
        ("/undo", {}),
        ("/settle", {"document": "new-0", "labels": ["bees"]}),
        ("/like", {"examples": ["bees-1"]}),
    ],
)
def test_a_reader_decides_nothing(reader, path, body):
    answer = reader.post(path, body)
    assert answer.status_code == 403
    assert "classifier" in answer.json()["error"]["message"]


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/categories", {"id": "wasps"}),
        ("/categories/merge", {"category": "bees", "into": "birds"}),
        ("/tokens", {"user": "ada"}),
        ("/train", None),
        ("/import", None),
    ],
)
def test_a_classifier_does_not_administer(ada, path, body):
    assert ada.post(path, body).status_code == 403


def test_a_browser_session_needs_its_csrf_token(client):
    assert client.post(f"{ROOT}/decide", json=DECIDE).status_code == 200
    del client.headers["X-CSRF"]
    assert client.post(f"{ROOT}/undo", json={}).status_code == 403


def test_another_origin_changes_nothing(ada):
    ada.http.headers["Origin"] = "http://evil.example"
    assert ada.post("/decide", DECIDE).status_code == 403


def test_a_refusal_says_what_and_what_to_do(ada):
    answer = ada.post("/decide", {"document": "new-0", "assign": ["none"]})
    assert answer.status_code == 400
    error = answer.json()["error"]
    assert error["message"] == "there is no category 'none'"
    assert error["remedy"].startswith("correct its id")
    unclear = ada.post("/decide", {"document": "new-0"}).json()["error"]
    assert unclear["message"] == "nothing was decided"


@pytest.mark.parametrize(
    "body", [b"{", b"[]", b'{"document": 3}', b"\xff", b'{"document": "\\ud800"}']
)
def test_a_body_that_is_no_call_is_400(ada, body):
    json = {"Content-Type": "application/json"}
    answer = ada.http.post(f"{ROOT}/decide", content=body, headers=json)
    assert answer.status_code == 400
    assert answer.headers["content-type"] == "application/problem+json"


def test_an_address_that_is_no_call_is_404(ada):
    answer = ada.get("/nothing")
    assert answer.status_code == 404
    assert "error" in answer.json()


def test_every_call_is_described(told, app):
    for path, methods in told["paths"].items():
        for method, call in methods.items():
            assert call["summary"], path
            assert "422" not in call["responses"]
            assert {"400", "401", "403"} <= call["responses"].keys()
            assert call["security"] == [{"token": []}], method
    assert "HTTPValidationError" not in told["components"]["schemas"]
    assert all(path.startswith((ROOT, "/v1")) for path in told["paths"])
    assert len(told["paths"]) > 50
    del app


def test_the_description_is_served(reader, told):
    assert reader.get("/openapi.json").json() == told


def test_a_store_that_is_away_is_not_a_missing_document(ada, monkeypatch):
    def lost(*_):
        raise DamagedFolder("the store is away: see that its server runs")

    monkeypatch.setattr("classmark.workbench.store.store.Store.require_document", lost)
    answer = ada.post("/skip", {"document": "new-0"})
    assert answer.status_code == 503
    assert answer.json()["error"]["remedy"] == "see that its server runs"
