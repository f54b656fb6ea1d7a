"""What the gate refuses, one by one."""

import asyncio
import base64

import pytest
from fastapi import Request
from starlette.testclient import TestClient

from classmark.problems import DamagedFolder
from classmark.web import events
from classmark.web.guard.gate import Doors
from classmark.web.serve import create_app
from classmark.workbench.team.people import add_token, revoke

FORM = {"theme": "dark"}
PATH = "/settings/theme"
PAGE = "/settings/me"


def test_somebody_unknown_is_shown_the_door(stranger):
    answer = stranger.get("/settings/me?saved=3", follow_redirects=False)
    assert answer.status_code == 303
    assert answer.headers["location"] == "/enter?next=/settings/me%3Fsaved%3D3"
    shown = stranger.get("/")
    assert (shown.status_code, shown.url.path) == (200, "/enter")
    assert "Parish" not in shown.text


def test_a_program_without_a_token_is_told_to_bring_one(stranger):
    answer = stranger.get("/api/v1/anything")
    assert answer.status_code == 401
    assert answer.headers["www-authenticate"] == "Bearer"
    assert "token" in answer.json()["error"]["remedy"]


def test_the_printed_code_opens_and_leads_on(app, stranger):
    sent = {"code": app.state.doors.code, "onward": PAGE}
    answer = stranger.post("/enter", data=sent, follow_redirects=False)
    assert answer.headers["location"] == PAGE
    cookie = answer.headers["set-cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=strict" in cookie
    assert app.state.doors.code not in cookie
    assert stranger.get(PAGE).status_code == 200


@pytest.mark.parametrize(
    "onward", ["//evil.example", "https://evil.example", "/\\evil"]
)
def test_nobody_is_led_elsewhere(app, stranger, onward):
    sent = {"code": app.state.doors.code, "onward": onward}
    answer = stranger.post("/enter", data=sent, follow_redirects=False)
    assert answer.headers["location"] == "/"


@pytest.mark.parametrize(
    "host", ["evil.example", "127.0.0.1.evil.example", "evil@127.0.0.1", "", "[::1"]
)
def test_another_host_is_refused(client, host):
    assert client.get(PAGE, headers={"Host": host}).status_code == 403
    assert client.post(PATH, data=FORM, headers={"Host": host}).status_code == 403
    assert client.get("/static/style.css", headers={"Host": host}).status_code == 200


@pytest.mark.parametrize("host", ["localhost:8000", "127.0.0.1:8000", "[::1]:8000"])
def test_our_own_names_are_answered(stranger, host):
    assert stranger.get("/enter", headers={"Host": host}).status_code == 200


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "http://evil.example"},
        {"Origin": "http://127.0.0.1:9000"},
        {"Origin": "null"},
        {"Origin": "http://127.0.0.1:8000.evil.example"},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
    ],
)
def test_a_change_asked_for_by_another_page_is_refused(client, headers):
    assert client.post(PATH, data=FORM, headers=headers).status_code == 403
    assert "theme" not in client.cookies


def test_a_change_asked_for_by_our_own_page_is_made(client):
    headers = {"Origin": "http://127.0.0.1:8000", "Sec-Fetch-Site": "same-origin"}
    answer = client.post(PATH, data=FORM, headers=headers, follow_redirects=False)
    assert answer.status_code == 303


def test_a_form_without_the_token_is_refused(client):
    del client.headers["X-CSRF"]
    assert client.post(PATH, data=FORM).status_code == 403
    assert client.post(PATH, data={**FORM, "csrf": "guess"}).status_code == 403
    assert client.post(PATH, json=FORM).status_code == 403
    assert client.post(PATH, files={"file": b"x"}).status_code == 403
    assert client.post("/leave").status_code == 403
    assert client.get(PAGE).status_code == 200, "still logged in"
    assert "theme" not in client.cookies


def test_the_token_may_come_in_the_form_or_its_first_part(client):
    csrf = client.headers.pop("X-CSRF")
    sent = {"csrf": csrf, **FORM}
    assert client.post(PATH, data=sent, follow_redirects=False).status_code == 303
    parts = {name: (None, value) for name, value in sent.items()}
    assert client.post(PATH, files=parts, follow_redirects=False).status_code == 303
    parts = {"file": ("x.txt", b"x" * 40_000), **parts}
    assert client.post(PATH, files=parts).status_code == 403, "too late in the form"


def test_headers_that_decide_may_not_come_twice(client):
    twice = [("Host", "127.0.0.1:8000"), ("Host", "evil.example")]
    assert client.get(PAGE, headers=twice).status_code == 400


def test_going_out_ends_the_session(client, app):
    secret = client.cookies[app.state.doors.cookie]
    assert client.post("/leave").url.path == "/enter"
    client.cookies.set(app.state.doors.cookie, secret)
    assert client.get(PAGE).url.path == "/enter"


def test_a_token_opens_the_calls_without_a_form_token(app, desk, stranger):
    id_, secret = add_token(desk.store, "robot", "classifier")
    headers = {"Authorization": f"Bearer {secret}"}
    answer = stranger.post(PATH, data=FORM, headers=headers, follow_redirects=False)
    assert answer.status_code == 303
    basic = base64.b64encode(f"any:{secret}".encode()).decode()
    headers = {"Authorization": f"Basic {basic}"}
    assert stranger.get(PAGE, headers=headers).status_code == 200
    revoke(desk.store, id_)
    app.state.identity.forget()
    assert stranger.get("/api/v1/x", headers=headers).status_code == 401


@pytest.mark.parametrize(
    "given", ["Bearer", "Bearer x", "Basic", "Basic ÿ", "Basic eA=="]
)
def test_a_wrong_token_opens_nothing_even_with_a_cookie(client, given):
    headers = {"Authorization": given.encode("latin-1")}
    assert client.get("/api/v1/x", headers=headers).status_code == 401


def test_every_answer_is_dressed(client, stranger):
    for path in ("/enter", PAGE, "/no-such-page", "/static/style.css"):
        headers = client.get(path).headers
        assert "unsafe" not in headers["content-security-policy"]
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["cache-control"] == "no-store"
    kept = client.get("/static/style.css?abc").headers["cache-control"]
    assert "immutable" in kept
    assert stranger.get("/enter", headers={"Host": "x"}).headers["x-frame-options"]


def test_with_tls_the_cookie_is_of_this_host_only(desk):
    app = create_app(desk, Doors(secure=True))
    with TestClient(app, base_url="https://127.0.0.1:8000") as client:
        answer = client.post(
            "/enter", data={"code": app.state.doors.code}, follow_redirects=False
        )
        assert answer.headers["set-cookie"].startswith(
            f"__Host-classmark-{desk.presence.mark}="
        )
        assert "Secure" in answer.headers["set-cookie"]
        assert answer.headers["strict-transport-security"]
        headers = {"Origin": "http://127.0.0.1:8000"}
        assert client.post("/leave", headers=headers).status_code == 403


def test_annif_is_asked_without_a_token_only_where_that_is_allowed(desk):
    for annif, status in ((True, 404), (False, 401)):
        app = create_app(desk, Doors(annif=annif))
        with TestClient(app, base_url="http://127.0.0.1:8000") as client:
            assert client.get("/v1/no-such-call").status_code == status
            assert client.get("/api/v1/no-such-call").status_code == 401


def test_the_printed_address_may_be_opened_again(app, client):
    del client.headers["X-CSRF"]
    old = client.cookies[app.state.doors.cookie]
    sent = {"code": app.state.doors.code}
    answer = client.post("/enter", data=sent, follow_redirects=False)
    assert answer.status_code == 303
    assert client.cookies[app.state.doors.cookie] != old
    assert app.state.sessions.find(old) is None
    headers = {"Origin": "http://evil.example"}
    assert client.post("/enter", data=sent, headers=headers).status_code == 403


def test_a_form_of_too_many_fields_is_refused(client):
    del client.headers["X-CSRF"]
    headers = {"Content-Type": "application/x-www-form-urlencoded"}
    answer = client.post(PATH, content=b"a=1&" * 10_001, headers=headers)
    assert answer.status_code == 400
    assert "fields" in answer.text


def test_only_the_door_itself_is_open(stranger):
    for path in ("/enterprise", "/enter/x", "/static", "/staticx"):
        answer = stranger.get(path, follow_redirects=False)
        assert answer.status_code == 303, path


@pytest.mark.parametrize("path", ["/enter", PAGE, "/inbox", "/static/style.css"])
def test_head_says_what_get_says_without_the_page(client, path):
    whole, head = client.get(path), client.head(path)
    assert (head.status_code, head.content) == (200, b"")
    assert head.headers["content-type"] == whole.headers["content-type"]
    assert head.headers["content-length"] == str(len(whole.content))


def test_head_is_no_way_in(stranger):
    answer = stranger.head("/inbox", follow_redirects=False)
    assert (answer.status_code, answer.content) == (303, b"")
    assert stranger.head("/api/v1/events").status_code == 401


def test_a_store_that_is_gone_is_told_at_the_gate(stranger, monkeypatch):
    def lost(*_):
        raise DamagedFolder("the server is away: see that it runs")

    monkeypatch.setattr("classmark.web.guard.auth.find_token", lost)
    for path in ("/inbox", "/api/v1/project"):
        answer = stranger.get(path, headers={"Authorization": "Bearer x"})
        assert answer.status_code == 503
        assert "see that it runs" in answer.text


def test_who_may_no_longer_listen_hears_nothing_more(desk, monkeypatch):
    monkeypatch.setattr(events, "PAUSE", 0)
    monkeypatch.setattr(events, "SIGN", 0)
    answers = iter([True, True, False])

    async def heard():
        lines = events.event_lines(desk, 60, lambda: next(answers))
        return [line async for line in lines if line.startswith(":")]

    assert len(asyncio.run(heard())) == 2


def test_a_session_that_ends_is_known_no_longer(app, client):
    seen = []

    @app.get("/api/v1/seen")
    def kept(request: Request):
        seen.append(request.state.still_known)

    client.get("/api/v1/seen")
    assert seen[0]()
    client.post("/leave")
    assert not seen[0]()
