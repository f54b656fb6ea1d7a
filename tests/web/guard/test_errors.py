"""Answers to what went wrong: for people, for pieces of pages, for programs."""

import errno
import logging

import pytest
from fastapi import FastAPI
from starlette.testclient import TestClient

from classmark.problems import Mistake
from classmark.web.guard.auth import Classifier, Reader
from classmark.workbench.store.schema import damaged


@pytest.fixture
def failing(app: FastAPI, client):
    """A client of an application in which some things go wrong."""

    @app.get("/wrong/mistake")
    @app.get("/api/v1/mistake")
    def mistaken(_: Reader):
        raise Mistake("the <b>shelf</b> is full: take something away")

    @app.get("/wrong/broken")
    @app.get("/api/v1/broken")
    def broken(_: Reader):
        raise RuntimeError("a secret of the program")

    @app.get("/wrong/number")
    @app.get("/api/v1/number")
    def number(_: Classifier, n: int):
        return n

    with TestClient(app, base_url=client.base_url, raise_server_exceptions=False) as it:
        it.cookies = client.cookies
        it.headers["X-CSRF"] = client.csrf
        yield it


def test_a_mistake_is_a_page_that_says_what_to_do(failing):
    answer = failing.get("/wrong/mistake")
    assert answer.status_code == 400
    assert "&lt;b&gt;shelf" in answer.text
    assert "take something away" in answer.text
    assert 'aria-label="Pages"' in answer.text


def test_a_mistake_in_a_piece_is_a_piece(failing):
    answer = failing.get("/wrong/mistake", headers={"HX-Request": "true"})
    assert answer.status_code == 400
    assert answer.text.startswith('<div class="message bad" role="alert">')


def test_a_mistake_is_json_for_programs(failing):
    answer = failing.get("/api/v1/mistake")
    assert answer.status_code == 400
    assert answer.headers["content-type"] == "application/problem+json"
    assert answer.json() == {
        "type": "about:blank",
        "title": "Bad Request",
        "status": 400,
        "detail": "the <b>shelf</b> is full: take something away",
        "error": {
            "message": "the <b>shelf</b> is full",
            "remedy": "take something away",
        },
    }


def test_a_failure_has_a_number_and_no_details(failing, caplog):
    with caplog.at_level(logging.ERROR, "classmark.web"):
        answer = failing.get("/wrong/broken?token=hush")
    assert answer.status_code == 500
    assert "secret of the program" not in answer.text
    assert "check the history" in answer.text
    reference = answer.text.partition("Reference: ")[2][:8]
    assert reference in caplog.text
    assert "hush" not in caplog.text
    assert answer.headers["content-security-policy"]
    assert "Reference" in failing.get("/api/v1/broken").json()["error"]["message"]


def test_unknown_pages_and_methods_are_written(failing):
    answer = failing.get("/no/such/page")
    assert answer.status_code == 404
    assert "There is no such page" in answer.text
    assert failing.get("/api/v1/nothing").json()["error"]["message"]
    answer = failing.delete("/settings")
    assert answer.status_code == 405
    assert "does not accept DELETE" in answer.text


@pytest.mark.parametrize(
    ("query", "wrong"),
    [
        ("order=bogus", "Order: “bogus” cannot be chosen: select one from the list"),
        ("page=0", "Page: “0” is too small: enter 1 or more"),
        ("page=two", "Page: “two” is not a whole number: enter one such as 10"),
        (f"words={'a' * 3000}", "Words: this is too long: use at most"),
    ],
)
def test_a_wrong_field_of_a_page_is_named_in_the_words_of_the_page(
    client, query, wrong
):
    answer = client.get(f"/inbox?{query}")
    assert answer.status_code == 400
    assert wrong in answer.text


def test_a_field_that_is_missing_is_named_in_the_language_of_the_page(client):
    missing = client.post("/settings/jobs", headers={"accept-language": "de"})
    assert "Es wurde nichts eingegeben" in missing.text
    assert "Bestellung" not in missing.text


def test_a_malformed_call_is_400_and_names_the_field(failing):
    assert failing.get("/wrong/number?n=x").status_code == 400
    error = failing.get("/api/v1/number").json()["error"]
    assert error["message"] == "query.n is not as it should be"


def test_those_outside_see_no_page_of_the_project(stranger):
    answer = stranger.get("/enter", headers={"Host": "evil.example"})
    assert answer.status_code == 403
    assert "Parish" not in answer.text
    assert 'aria-label="Pages"' not in answer.text


def test_a_disk_that_is_full_is_503_and_says_what_to_do(app, failing):
    @app.get("/wrong/full")
    @app.get("/api/v1/full")
    def full(_: Reader):
        raise damaged("store.sqlite", OSError("database or disk is full"))

    @app.get("/wrong/disk")
    def no_room(_: Reader):
        raise OSError(errno.ENOSPC, "No space left on device")

    upload = failing.get("/wrong/disk")
    assert (upload.status_code, "free some space" in upload.text) == (503, True)
    page, call = failing.get("/wrong/full"), failing.get("/api/v1/full")
    assert (page.status_code, call.status_code) == (503, 503)
    assert "make room on its disk" in page.text
    assert "make room" in call.json()["error"]["remedy"]
    assert "backup" not in page.text + call.text


def test_a_refusal_leads_back_to_the_page_it_was_asked_on(client):
    here = f"{client.base_url}/history?who=ada"
    form = {"number": "999999"}
    refused = client.post("/history/undo", data=form, headers={"Referer": here})
    assert refused.status_code == 400
    assert 'href="/history?who=ada">Back' in refused.text
    for away in ("https://elsewhere.example/x", "nonsense", "http://[", ""):
        other = client.post("/history/undo", data=form, headers={"Referer": away})
        assert other.status_code == 400
        assert "Back" not in other.text
