"""Annif's clients, as they really ask: forms, JSON, and what they read."""

import pytest
from starlette.testclient import TestClient

from classmark.web.serve import create_app
from classmark.workbench.team.desk import Desk
from projects import TREE, new_project

PROJECT = "/v1/projects/parish-notes"
TEXT = "the keeper smokes the hive for honey and comb"


def post_form(client, path, **fields):
    """A form, as annif-client and Finto AI send it."""
    return client.post(path, data=fields)


def test_a_form_is_answered_in_annifs_shape(stranger):
    answer = post_form(
        stranger, f"{PROJECT}/suggest", text=TEXT, limit="2", threshold="0.0"
    )
    assert answer.status_code == 200
    found = answer.json()
    assert found.keys() == {"results"}
    assert found["results"][0]["uri"] == "bees"
    assert len(found["results"]) == 2
    assert found["results"][0].keys() == {"uri", "label", "notation", "score"}
    assert found["results"][0]["label"] == "Bees"
    assert found["results"][0]["notation"] is None
    assert all(0 <= result["score"] <= 1 for result in found["results"])


def test_metadata_and_the_language_of_the_project_are_taken(stranger):
    answer = post_form(
        stranger, f"{PROJECT}/suggest", text=TEXT, language="en", metadata_title="Bees"
    )
    assert answer.status_code == 200
    assert answer.json()["results"]


def test_another_language_is_refused_as_annif_does(stranger):
    answer = post_form(stranger, f"{PROJECT}/suggest", text=TEXT, language="fi")
    assert answer.status_code == 400
    assert answer.headers["content-type"] == "application/problem+json"
    assert answer.json()["detail"] == 'language "fi" not supported by vocabulary'


@pytest.mark.parametrize(
    "fields",
    [{}, {"text": TEXT, "limit": "-1"}, {"text": TEXT, "threshold": "1.5"}],
    ids=["no text", "limit", "threshold"],
)
def test_what_annif_refuses_is_refused(stranger, fields):
    answer = post_form(stranger, f"{PROJECT}/suggest", **fields)
    assert answer.status_code == 400
    assert answer.json()["title"] == "Bad Request"


def test_limit_and_threshold_cut(stranger):
    def count(**said):
        answer = post_form(stranger, f"{PROJECT}/suggest", text=TEXT, **said)
        return len(answer.json()["results"])

    assert count(limit="0") == 0
    assert count(limit="1") == 1
    assert count(threshold="1.0") < count(threshold="0.0")


def test_a_batch_is_answered_in_order_with_its_ids(stranger):
    documents = [
        {"text": TEXT, "document_id": "one"},
        {"text": "knead the dough for the oven", "metadata": {"title": "Rye"}},
        {"text": ""},
    ]
    answer = stranger.post(
        f"{PROJECT}/suggest-batch", json={"documents": documents}, params={"limit": 1}
    )
    assert answer.status_code == 200
    found = answer.json()
    assert [each["document_id"] for each in found] == ["one", None, None]
    best = [[r["uri"] for r in each["results"]] for each in found]
    assert best == [["bees"], ["bread"], []]


def test_a_batch_of_more_than_32_is_refused(stranger):
    documents = [{"text": "a"}] * 33
    answer = stranger.post(f"{PROJECT}/suggest-batch", json={"documents": documents})
    assert answer.status_code == 400


@pytest.mark.parametrize("body", [b"{", b"\xff"])
def test_a_body_that_is_no_json_is_refused_as_annif_does(stranger, body):
    json = {"Content-Type": "application/json"}
    answer = stranger.post(f"{PROJECT}/suggest-batch", content=body, headers=json)
    assert answer.status_code == 400
    assert answer.headers["content-type"] == "application/problem+json"


def test_what_is_taught_is_kept_and_learned(client, desk):
    taught = [
        {
            "text": "a kiln and a glaze for pots",
            "subjects": [{"uri": "candles", "label": "Candles"}],
        },
        {"text": "nobody knows this subject", "subjects": [{"uri": "http://x/none"}]},
        {"text": "no subject"},
    ]
    answer = client.post(f"{PROJECT}/learn", json=taught)
    assert answer.status_code == 204
    assert answer.content == b""
    labels = desk.store.labels()
    (new,) = [id_ for id_ in labels if id_.startswith("learned-")]
    assert labels[new] == {"candles": 1.0}
    assert desk.store.document(new).text == "a kiln and a glaze for pots"


def test_a_stranger_may_ask_but_not_teach(stranger):
    taught = [{"text": TEXT, "subjects": [{"uri": "bees"}]}]
    assert stranger.post(f"{PROJECT}/learn", json=taught).status_code == 403


def test_the_project_is_described(stranger):
    (listed,) = stranger.get("/v1/projects").json()["projects"]
    assert listed == stranger.get(PROJECT).json()
    assert listed["project_id"] == "parish-notes"
    assert listed["backend"] == {"backend_id": "classmark"}
    assert listed["language"] == listed["vocab_language"] == "en"
    assert listed["is_trained"] is True
    assert listed["vocab"] == stranger.get("/v1/vocabs").json()["vocabs"][0]
    assert stranger.get("/v1/").json().keys() == {"title", "version"}


@pytest.mark.parametrize("path", ["/v1/projects/none", "/v1/projects/none/suggest"])
def test_another_project_is_not_found(stranger, path):
    asked = stranger.post if path.endswith("suggest") else stranger.get
    said = {"data": {"text": TEXT}} if path.endswith("suggest") else {}
    answer = asked(path, **said)
    assert answer.status_code == 404
    assert answer.json()["detail"] == "Project 'none' not found"


def test_languages_are_told_apart(stranger):
    pytest.importorskip("simplemma")
    said = {"text": TEXT, "languages": ["fi", "en"]}
    results = stranger.post("/v1/detect-language", json=said).json()["results"]
    assert results[0]["language"] == "en"
    assert results[0]["score"] > 0.8
    assert {each["language"] for each in results} <= {"en", "fi", None}


def test_a_language_that_nobody_knows_is_refused(stranger):
    pytest.importorskip("simplemma")
    said = {"text": TEXT, "languages": ["xx", "en"]}
    answer = stranger.post("/v1/detect-language", json=said)
    assert answer.status_code == 400
    assert answer.headers["content-type"] == "application/problem+json"
    assert "xx" in answer.json()["detail"]


@pytest.mark.parametrize(
    ("method", "path", "said", "status"),
    [
        ("get", "/v1/nothing", {}, 404),
        ("get", "/v1/projects/none", {}, 404),
        ("delete", "/v1/projects", {}, 405),
        ("post", f"{PROJECT}/suggest", {"data": {}}, 400),
        ("post", f"{PROJECT}/suggest", {"json": {"text": TEXT}}, 400),
        ("post", f"{PROJECT}/suggest-batch", {"json": {"documents": 3}}, 400),
        ("post", f"{PROJECT}/learn", {"json": [{"text": TEXT}]}, 403),
        ("post", "/v1/detect-language", {"json": {"text": TEXT}}, 400),
        ("post", "/v1/detect-language", {"json": {"text": "", "languages": []}}, 400),
    ],
)
def test_every_refusal_is_a_problem_in_json(stranger, method, path, said, status):
    answer = getattr(stranger, method)(path, **said)
    assert answer.status_code == status
    assert answer.headers["content-type"] == "application/problem+json"
    problem = answer.json()
    assert problem["status"] == status
    assert problem["title"]
    assert problem["detail"]


def test_without_a_model_the_refusal_is_a_problem_in_json(tmp_path):
    with Desk(new_project(tmp_path / "bare", {}, TREE)) as desk:
        app = create_app(desk)
        with TestClient(app, base_url="http://127.0.0.1:8000") as client:
            (project,) = client.get("/v1/projects").json()["projects"]
            path = f"/v1/projects/{project['project_id']}/suggest"
            answer = post_form(client, path, text=TEXT)
    assert answer.status_code == 503
    assert answer.headers["content-type"] == "application/problem+json"
