"""Who may call what: every route of the application, walked."""

import re
from collections.abc import Iterator

import pytest
from fastapi.routing import APIRoute

from classmark.web.guard import auth
from classmark.web.guard.gate import DOOR, FILES

SAFE = {"GET", "HEAD", "OPTIONS"}
DEMANDS = {
    auth.reader: "reader",
    auth.classifier: "classifier",
    auth.admin: "admin",
}
WITHOUT_A_ROLE = {
    ("GET", "/enter"): "the door",
    ("POST", "/enter"): "the door",
    ("POST", "/leave"): "whoever is in may leave",
}
CHANGED_BY_READERS = {
    ("POST", "/settings/theme"): "a look, kept in their own browser",
    ("POST", "/settings/language"): "the language of their pages, kept there too",
    ("POST", "/settings/me/password"): "their own password, with the old one",
    ("PUT", "/api/v1/me/password"): "the same",
    ("POST", "/api/v1/click"): "what they opened from a search, where that is logged",
}


def routes_in(routes, prefix="") -> Iterator[tuple[str, APIRoute]]:
    """Every route, also of routers within."""
    for route in routes:
        if isinstance(route, APIRoute):
            yield prefix + route.path, route
        inner = getattr(route, "original_router", None)
        if inner is not None:
            context = getattr(route, "include_context", None)
            yield from routes_in(inner.routes, prefix + getattr(context, "prefix", ""))


def demanded(asking) -> set[str]:
    """The roles that a route asks for."""
    found = {DEMANDS[asking.call]} if asking.call in DEMANDS else set()
    return found.union(*map(demanded, asking.dependencies))


def calls(app):
    for path, route in routes_in(app.routes):
        for method in route.methods:
            yield (method, path), demanded(route.dependant)


def test_every_route_is_walked(app):
    found = dict(calls(app))
    assert found["POST", "/settings/people"] == {"admin"}
    assert found["GET", "/"] == {"reader"}
    assert len(found) > 20


def test_every_page_asks_for_a_role(app):
    bare = {call for call, roles in calls(app) if not roles}
    assert bare == set(WITHOUT_A_ROLE)


def test_changes_ask_for_a_classifier_or_an_admin(app):
    asked_by_readers = {
        call
        for call, roles in calls(app)
        if call[0] not in SAFE and roles == {"reader"}
    }
    reading = {call for call in asked_by_readers if is_a_question(call[1])}
    assert asked_by_readers - reading == set(CHANGED_BY_READERS)


def is_a_question(path):
    """Whether a call only asks, though by POST: its text is too long for an address."""
    return path.rpartition("/")[2] in QUESTIONS


QUESTIONS = {
    "suggest",
    "why",
    "suggest-batch",
    "batch",
    "search",
    "place",
    "pagerank",
    "detect-language",
}


@pytest.mark.parametrize("path", ["/openapi.json", "/decide", "/api/v1/x", "/docs"])
def test_what_is_not_listed_is_closed_to_strangers(stranger, path):
    answer = stranger.get(path, follow_redirects=False)
    assert answer.status_code in (303, 401)


def test_every_safe_page_is_closed_to_strangers(app, stranger):
    for (method, path), _ in calls(app):
        if method != "GET" or path.startswith((DOOR, FILES, "/v1")):
            continue
        answer = stranger.get(path, follow_redirects=False)
        assert answer.status_code in (303, 401), path


def test_every_change_is_closed_to_strangers(app, stranger):
    for (method, path), _ in calls(app):
        if method in SAFE or path.startswith((DOOR, FILES, "/v1")):
            continue
        assert stranger.request(method, path).status_code == 401, path


def test_every_change_asks_for_the_token_of_the_form(app, client):
    del client.headers["X-CSRF"]
    for (method, path), _ in calls(app):
        if method in SAFE or path == DOOR:
            continue
        assert client.request(method, path).status_code == 403, path


def test_every_route_is_refused_to_every_lower_role(app, reader, ada):
    """Called, not read off: with a token of each role that is too low."""
    lower = {"classifier": [reader], "admin": [reader, ada]}
    refused = 0
    for (method, path), roles in calls(app):
        address = re.sub(r"\{[^}]*\}", "1", path)
        for role in roles:
            for somebody in lower.get(role, ()):
                answer = somebody.http.request(method, address)
                assert answer.status_code == 403, (method, path, role)
                refused += 1
    assert refused > 80


def test_no_route_answers_a_role_with_an_accident(app, reader, ada, admin):
    """Whatever may be called without a body is called by everybody."""
    for (method, path), _ in calls(app):
        address = re.sub(r"\{[^}]*\}", "1", path)
        if method in SAFE and not path.endswith("/events"):
            for somebody in (reader, ada, admin):
                answer = somebody.http.request(method, address)
                assert answer.status_code < 500, (method, path)
