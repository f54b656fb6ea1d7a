"""Sessions end; guesses are few."""

import pytest

from classmark.web.guard.auth import IDLE, LONGEST_SESSION, MOST_SESSIONS, Sessions
from classmark.web.guard.errors import RefusedRequest
from classmark.web.guard.limits import PER_ADDRESS, PER_NAME, WITHIN, Tries


class Clock:
    now = 0.0

    def __call__(self):
        return self.now


def test_an_idle_session_expires():
    clock = Clock()
    sessions = Sessions(now=clock)
    secret = sessions.open("ada")
    clock.now = IDLE
    assert sessions.find(secret).name == "ada"
    clock.now = 2 * IDLE + 1
    assert sessions.find(secret) is None


def test_a_used_session_expires_after_a_week():
    clock = Clock()
    sessions = Sessions(now=clock)
    secret = sessions.open("ada")
    while clock.now <= LONGEST_SESSION - IDLE:
        clock.now += IDLE
        assert sessions.find(secret) is not None
    clock.now = LONGEST_SESSION + 1
    assert sessions.find(secret) is None


def test_the_secret_is_not_kept():
    sessions = Sessions()
    secret = sessions.open("ada")
    assert secret not in repr(vars(sessions))
    assert len(secret) >= 43


def test_all_sessions_of_a_user_end_together():
    sessions = Sessions()
    mine, other = [sessions.open("ada") for _ in range(3)], sessions.open("bob")
    sessions.close_all_of("ada")
    assert [sessions.find(secret) for secret in mine] == [None] * 3
    assert sessions.find(other).name == "bob"


def test_the_oldest_session_makes_room(monkeypatch):
    monkeypatch.setattr("classmark.web.guard.auth.MOST_SESSIONS", 3)
    assert MOST_SESSIONS > 3
    clock = Clock()
    sessions = Sessions(now=clock)
    secrets = []
    for at in range(4):
        clock.now = at
        secrets.append(sessions.open("ada"))
    assert [sessions.find(s) is None for s in secrets] == [True, False, False, False]


def test_an_expired_cookie_leads_to_the_door(client, monkeypatch):
    monkeypatch.setattr("classmark.web.guard.auth.IDLE", -1.0)
    assert client.get("/settings/me").url.path == "/enter"
    answer = client.post("/settings/theme", data={"theme": "dark"})
    assert answer.status_code == 401
    assert "nothing was saved" in answer.text
    answer = client.get("/settings/me", headers={"HX-Request": "true"})
    assert (answer.status_code, answer.headers["hx-redirect"]) == (401, "/enter")


def test_guesses_are_limited_by_address_and_by_name():
    clock = Clock()
    tries = Tries(now=clock)
    for at in range(PER_NAME):
        tries.check(f"192.0.2.{at}", "ada")
        tries.failed(f"192.0.2.{at}", "ada")
    with pytest.raises(RefusedRequest) as refused:
        tries.check("192.0.2.99", "ada")
    assert refused.value.status_code == 429
    tries.check("192.0.2.99", "bob")
    for _ in range(PER_ADDRESS):
        tries.failed("192.0.2.99", "x")
    with pytest.raises(RefusedRequest):
        tries.check("192.0.2.99", "bob")
    clock.now = WITHIN
    tries.check("192.0.2.99", "ada")


def test_after_ten_wrong_codes_even_the_right_one_waits(app, stranger):
    for _ in range(PER_ADDRESS):
        assert stranger.post("/enter", data={"code": "x"}).status_code == 401
    right = {"code": app.state.doors.code}
    answer = stranger.post("/enter", data=right)
    assert answer.status_code == 429
    assert 0 < int(answer.headers["retry-after"]) <= WITHIN
    assert "Too many" in answer.text
