"""What every test of the workbench in a browser needs: a project, a desk, a client."""

from threading import Thread

import pytest
import uvicorn
from starlette.testclient import TestClient

from classmark.web.serve import create_app
from classmark.workbench.team.desk import Desk
from classmark.workbench.team.people import add_token
from projects import TREE, new_desk, new_parish, parish

ADDRESS = "http://127.0.0.1:8000"
ROOT = "/api/v1"


@pytest.fixture
def project_folder(tmp_path):
    """A project of notes with a ranker and an index, to be written to."""
    return new_parish(tmp_path / "parish", name="Parish notes")


@pytest.fixture
def desk(project_folder):
    """The project, kept open for many threads."""
    with Desk(project_folder) as desk:
        yield desk


@pytest.fixture
def app(desk):
    """The application, as for the machine's own user."""
    return create_app(desk)


@pytest.fixture
def stranger(app):
    """A browser that nobody has logged in with."""
    with TestClient(app, base_url=ADDRESS) as client:
        yield client


@pytest.fixture
def client(app, stranger):
    """A browser of the machine's own user, an admin; ``client.csrf`` : their token.

    The token goes along in the header X-CSRF, so that forms need not carry it.
    """
    entered = stranger.post(
        "/enter", data={"code": app.state.doors.code}, follow_redirects=False
    )
    assert entered.status_code == 303, entered.text
    stranger.csrf = csrf_of(app, stranger)
    stranger.headers["X-CSRF"] = stranger.csrf
    return stranger


class Quiet(uvicorn.Server):
    """A server in a thread: signals are not its matter."""

    def install_signal_handlers(self):
        """Leave them."""


@pytest.fixture
def address(app):
    """Where the application is served over a real connection."""
    server = Quiet(uvicorn.Config(app, port=0, log_level="critical"))
    thread = Thread(target=server.run)
    thread.start()
    while not server.started:
        assert thread.is_alive()
    port = server.servers[0].sockets[0].getsockname()[1]
    yield f"http://127.0.0.1:{port}"
    server.should_exit = True
    thread.join()


def csrf_of(app, client):
    """The token that the forms of a client's session carry."""
    return app.state.sessions.find(client.cookies[app.state.doors.cookie]).csrf


class Program:
    """Somebody who calls by JSON, with a token."""

    def __init__(self, app, token):
        self.secret = token
        self.http = TestClient(app, base_url=ADDRESS)
        self.http.headers["Authorization"] = f"Bearer {token}"

    def get(self, path, **query):
        return self.http.get(ROOT + path, params=query)

    def post(self, path, body=None, **query):
        return self.http.post(ROOT + path, json=body, params=query)

    def put(self, path, body):
        return self.http.put(ROOT + path, json=body)

    def patch(self, path, body):
        return self.http.patch(ROOT + path, json=body)


def program(app, desk, name, role):
    with desk.writing() as project:
        _, secret = add_token(project.store, name, role)
    return Program(app, secret)


@pytest.fixture
def calling():
    """Makes a program of an application and a token."""
    return Program


@pytest.fixture
def admin(app, desk):
    return program(app, desk, "ada", "admin")


@pytest.fixture
def ada(app, desk):
    return program(app, desk, "ada", "classifier")


@pytest.fixture
def bo(app, desk):
    return program(app, desk, "bo", "classifier")


@pytest.fixture
def reader(app, desk):
    return program(app, desk, "rea", "reader")


@pytest.fixture
def sure(tmp_path):
    """A classifier of a project with enough decisions to know probabilities."""
    more = [
        {
            "id": f"{word}-more-{at}",
            "text": f"{word} and {at} more of it",
            "labels": [name],
        }
        for name, words in {"bees": "hive comb", "bread": "dough oven"}.items()
        for word in words.split()
        for at in range(6)
    ]
    documents = [*parish(decided=True, waiting=True), *more]
    with new_desk(tmp_path / "sure", documents, TREE, trained=True) as desk:
        yield program(create_app(desk), desk, "ada", "classifier")
