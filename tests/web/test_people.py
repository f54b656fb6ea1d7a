"""Users, roles and tokens, as an admin and the others meet them."""

import re

import pytest
from argon2 import PasswordHasher
from starlette.testclient import TestClient

from classmark.web.guard.auth import stamp_of
from classmark.web.guard.gate import Doors
from classmark.web.serve import create_app
from classmark.workbench.categories.edit import rename
from classmark.workbench.deciding.decide import Decision, decide_on
from classmark.workbench.team.people import (
    add_user,
    change_user,
    find_user,
    tokens,
    users,
)

ADDRESS = "https://library.example"
PASSWORD = "a plain long sentence"  # noqa: S105 - of this test
CHEAP = PasswordHasher(time_cost=1, memory_cost=8, parallelism=1)
HASHED = CHEAP.hash(PASSWORD)
NAMES = {"rita": "reader", "carl": "classifier", "ada": "admin"}


@pytest.fixture(autouse=True)
def _quickly(monkeypatch):
    monkeypatch.setattr("classmark.web.guard.auth._hasher", lambda: CHEAP)
    monkeypatch.setattr("classmark.web.guard.auth._nobody", lambda: HASHED)


@pytest.fixture
def team(desk):
    """The application as others reach it, with a user of each role."""
    for name, role in NAMES.items():
        add_user(desk.store, name, HASHED, role)
    doors = Doors(frozenset({"library.example"}), code="", secure=True, annif=False)
    return create_app(desk, doors)


@pytest.fixture
def enter(team):
    """Log somebody in."""
    opened = []

    def entering(name, password=PASSWORD):
        client = TestClient(team, base_url=ADDRESS)
        client.__enter__()
        opened.append(client)
        sent = {"name": name, "password": password}
        client.answer = client.post("/enter", data=sent, follow_redirects=False)
        if client.answer.status_code == 303:
            secret = client.cookies[team.state.doors.cookie]
            client.headers["X-CSRF"] = team.state.sessions.find(secret).csrf
        return client

    yield entering
    for client in opened:
        client.__exit__(None, None, None)


def test_only_an_admin_takes_back_what_others_said(desk, enter):
    theirs = decide_on(desk, "new-0", Decision(("bread",)), None, "ada").number
    own = decide_on(desk, "new-1", Decision(("bees",)), None, "carl").number
    taxonomy = rename(desk, "birds", label="Fowl", who="carl").numbers[0]
    carl = enter("carl")
    for number in (theirs, taxonomy):
        refused = carl.post("/history/undo", data={"number": number})
        assert refused.status_code == 403
        assert f"No. {number} is by somebody else" in refused.text
    span = {"first": theirs, "last": own}
    assert carl.get("/history/range", params=span).status_code == 403
    assert carl.post("/history/range", data=span).status_code == 403
    assert set(desk.store.record("new-0").labels) == {"bread"}
    shown = carl.get("/history").text
    assert f'aria-label="undo {own}"' in shown
    assert f'aria-label="undo {theirs}"' not in shown
    carl.post("/history/range", data=span | {"back": "who=carl"})
    assert not desk.store.record("new-1").labels
    ada = enter("ada")
    assert ada.post("/history/undo", data={"number": theirs}).status_code == 200
    assert not desk.store.record("new-0").labels


def test_name_and_password_open(enter):
    client = enter("rita")
    assert client.answer.status_code == 303
    shown = client.get("/settings/me")
    assert "rita, reader" in shown.text
    assert "/settings/people" not in shown.text


@pytest.mark.parametrize(
    ("name", "password"), [("rita", "wrong"), ("nobody", PASSWORD), ("", ""), ("", "x")]
)
def test_others_do_not(enter, name, password):
    assert enter(name, password).answer.status_code == 401


def test_there_is_no_code_where_others_come_in(team, enter):
    client = enter("nobody")
    for code in ("", "x"):
        answer = client.post("/enter", data={"code": code})
        assert answer.status_code == 401
    assert "Code" not in client.get("/enter").text
    assert team.state.doors.code == ""


def test_guesses_end_with_429(enter):
    client = enter("rita", "wrong")
    answers = [
        client.post("/enter", data={"name": "rita", "password": "x"}).status_code
        for _ in range(10)
    ]
    assert answers == [401] * 9 + [429]


def test_roles_hold_on_the_pages_of_settings(enter):
    for name, allowed in {"rita": 403, "carl": 403, "ada": 200}.items():
        client = enter(name)
        assert client.get("/settings/people").status_code == allowed
        assert client.get("/settings/tokens").status_code == allowed
        answer = client.post("/settings", data={"name": f"of {name}"})
        assert answer.status_code == allowed
    assert "of ada" in client.get("/settings").text


def test_what_is_not_allowed_says_who_may(enter):
    answer = enter("carl").get("/settings/people")
    assert "carl has the role classifier, but this needs the role admin" in answer.text


def test_an_admin_adds_changes_and_closes_accounts(enter, desk):
    ada = enter("ada")
    new = {"name": "nils", "password": PASSWORD, "role": "reader"}
    assert "nils: reader" in ada.post("/settings/people", data=new).text
    assert find_user(desk.store, "nils").password.startswith("$argon2id$")
    assert ada.post("/settings/people", data=new).status_code == 400
    nils = enter("nils")
    assert nils.get("/settings/people").status_code == 403
    change = {"name": "nils", "role": "admin"}
    assert ada.post("/settings/people/change", data=change).status_code == 200
    assert nils.get("/settings/people").status_code == 200
    change = {"name": "nils", "role": "none"}
    assert ada.post("/settings/people/change", data=change).status_code == 200
    assert nils.get("/settings/people").url.path == "/enter"
    assert enter("nils").answer.status_code == 401
    wrong = {"name": "nils", "role": "owner"}
    assert ada.post("/settings/people/change", data=wrong).status_code == 400
    missing = {"name": "nemo", "role": "reader"}
    assert ada.post("/settings/people/change", data=missing).status_code == 400


def test_weak_passwords_are_not_taken(enter, desk):
    ada = enter("ada")
    new = {"name": "nils", "password": "short", "role": "reader"}
    answer = ada.post("/settings/people", data=new)
    assert answer.status_code == 400
    assert "at least 12" in answer.text
    assert find_user(desk.store, "nils") is None


def test_the_last_admin_stays(enter, desk):
    ada = enter("ada")
    for role in ("none", "reader"):
        change = {"name": "ada", "role": role}
        answer = ada.post("/settings/people/change", data=change)
        assert answer.status_code == 400
        assert "make somebody else an admin first" in answer.text
    found = {user.name: user.role for user in users(desk.store)}
    assert found["ada"] == "admin"


def test_a_new_password_ends_the_sessions(enter, desk, team):
    ada, carl = enter("ada"), enter("carl")
    new = {"name": "carl", "password": "quite another sentence"}
    assert ada.post("/settings/people/password", data=new).status_code == 200
    assert carl.get("/settings/me").url.path == "/enter"
    assert enter("carl").answer.status_code == 401
    carl = enter("carl", new["password"])
    assert carl.get("/settings/me").status_code == 200
    change_user(desk.store, "carl", password=HASHED)  # by another process
    team.state.identity.forget()  # two seconds later
    assert carl.get("/settings/me").url.path == "/enter"


def test_a_log_in_outlives_the_server(enter, desk, team):
    name = team.state.doors.cookie
    cookies = {name: enter("ada").cookies[name]}
    again = create_app(desk, team.state.doors)  # as after a restart
    with TestClient(again, base_url=ADDRESS, cookies=cookies) as ada:
        assert ada.get("/settings/me").url.path == "/settings/me"
        change_user(desk.store, "ada", password=CHEAP.hash("quite another sentence"))
        again.state.identity.forget()
        assert ada.get("/settings/me").url.path == "/enter"


def test_who_came_by_the_code_comes_in_by_that_of_the_server_of_now(desk):
    app = create_app(desk, Doors())
    secret = app.state.sessions.open("", stamp_of(app.state.doors.code))
    cookies = {app.state.doors.cookie: secret}

    def shown(doors):
        later = create_app(desk, doors)
        with TestClient(later, base_url="http://127.0.0.1:8000", cookies=cookies) as c:
            return c.get("/settings/me").url.path

    assert shown(app.state.doors) == "/settings/me"
    assert shown(Doors()) == "/enter", "another code"
    assert shown(Doors(code="")) == "/enter", "no code at all"


def test_a_role_taken_away_elsewhere_holds_soon(enter, desk, team):
    ada = enter("ada")
    change_user(desk.store, "ada", role="reader")
    team.state.identity.forget()
    assert ada.get("/settings/people").url.path == "/enter", "one comes in anew"
    assert enter("ada").get("/settings/people").status_code == 403


def test_ones_own_password_needs_the_old_one(enter):
    rita = enter("rita")
    wrong = {"old": "guess", "password": "quite another sentence"}
    assert rita.post("/settings/me/password", data=wrong).status_code == 403
    right = wrong | {"old": PASSWORD}
    assert rita.post("/settings/me/password", data=right).url.path == "/enter"
    assert enter("rita").answer.status_code == 401
    assert enter("rita", right["password"]).answer.status_code == 303


def test_the_machines_own_user_has_no_password_to_change(client):
    sent = {"old": "x", "password": "quite another sentence"}
    assert client.post("/settings/me/password", data=sent).status_code == 403


def test_a_token_is_shown_once_and_can_be_revoked(enter, desk):
    ada = enter("ada")
    sent = {"user": "carl", "role": "admin", "label": "nightly", "days": "30"}
    shown = ada.post("/settings/tokens", data=sent).text
    secret = re.search(r"cmk_[\w-]+", shown)[0]
    (token,) = tokens(desk.store)
    assert secret not in ada.get("/settings/tokens").text
    assert token.id in ada.get("/settings/tokens").text
    assert token.role == "classifier"
    assert "carl, classifier" in ada.get("/settings/tokens").text
    program = enter("nobody")
    headers = {"Authorization": f"Bearer {secret}"}
    assert program.get("/settings/me", headers=headers).status_code == 200
    shown = program.get("/settings/people", headers=headers)
    assert shown.status_code == 403, "a token may not do more than its owner"
    revoked = ada.post("/settings/tokens/revoke", data={"id": token.id})
    assert "revoked" in revoked.text
    answer = program.get("/api/v1/x", headers=headers)
    assert answer.status_code == 401


@pytest.mark.parametrize(
    "sent",
    [{"days": "soon"}, {"days": "-1"}, {"role": "owner"}, {"days": "nan"}],
)
def test_tokens_that_are_not_made(enter, desk, sent):
    sent = {"user": "ada", "role": "reader"} | sent
    answer = enter("ada").post("/settings/tokens", data=sent)
    assert answer.status_code == 400
    assert tokens(desk.store) == []


def test_a_hostile_name_is_inert(enter):
    ada = enter("ada")
    name = '"><script>alert(1)</script>'
    new = {"name": name, "password": PASSWORD, "role": "reader"}
    ada.post("/settings/people", data=new)
    shown = ada.get("/settings/people").text
    assert "<script>alert" not in shown
    assert "&lt;script&gt;alert" in shown


def test_behind_a_proxy_origins_are_checked_by_name(desk):
    add_user(desk.store, "ada", HASHED, "admin")
    names = frozenset({"library.example"})
    app = create_app(desk, Doors(names, code="", secure=True, proxy="192.0.2.1"))
    with TestClient(app, base_url=ADDRESS) as client:
        sent = {"name": "ada", "password": PASSWORD}
        for origin, status in {
            "https://library.example": 303,
            "http://library.example": 403,
            "https://evil.example": 403,
        }.items():
            answer = client.post(
                "/enter", data=sent, headers={"Origin": origin}, follow_redirects=False
            )
            assert answer.status_code == status
