"""What every test of the workbench in a browser needs: a project, a desk, a client."""

import json
import shutil
from typing import ClassVar

import pytest
from fastapi import FastAPI
from starlette.testclient import TestClient

from classmark.web.app import create_app
from classmark.workbench.files.importing import import_documents, import_taxonomy
from classmark.workbench.learning.train import train
from classmark.workbench.project import Project, create
from classmark.workbench.search.index import index_project
from classmark.workbench.settings import Settings
from classmark.workbench.team.desk import Desk
from classmark.workbench.team.people import add_token

ADDRESS = "http://127.0.0.1:8000"
ROOT = "/api/v1"
TREE = """id,parent,label,scope_note
crafts,,Crafts,what hands make
bread,crafts,Bread,loaves and ovens
candles,crafts,Candles,wax and wicks
nature,,Nature,
bees,nature,Bees,hives and honey
birds,nature,Birds,nests and song
"""
WORDS = {
    "bread": "dough yeast rye oven loaf crust knead flour baker salt",
    "candles": "wick tallow wax flame mould dip chandler stearin snuff light",
    "bees": "hive honey queen swarm comb smoke nectar drone keeper pollen",
    "birds": "nest song feather finch egg flight migration wren perch moult",
}


def texts(name, at):
    """A title and a text out of the words of a category."""
    words = (WORDS[name] + " " + WORDS[name]).split()[at : at + 6]
    title = f"Of {words[0]} and {words[1]}"
    return title, f"A note on {', '.join(words)} from the {name} of the parish."


def rows():
    """Forty documents that are decided, eight that wait."""
    for name in WORDS:
        for at in range(10):
            title, text = texts(name, at)
            yield {
                "id": f"{name}-{at}",
                "title": title,
                "text": text,
                "primary": name,
            }
    for at, name in enumerate([*WORDS, *WORDS]):
        title, text = texts(name, 9 - at)
        yield {"id": f"new-{at}", "title": title, "text": text}


class Application(FastAPI):
    """An application whose routers are those of the first: they take 0.4 s to build.

    FastAPI builds them at the first request of each application. They know nothing of
    the application they are in.
    """

    built: ClassVar = {}

    def include_router(self, router, **options):
        if id(router) not in self.built:
            super().include_router(router, **options)
            self.built[id(router)] = self.router.routes.pop()
        self.router.routes.append(self.built[id(router)])


@pytest.fixture(scope="session", autouse=True)
def routes_are_built_once():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("classmark.web.app.FastAPI", Application)
        yield


@pytest.fixture(scope="session")
def prepared(tmp_path_factory):
    """A project with a tree of six categories, a ranker and an index; do not write."""
    folder = tmp_path_factory.mktemp("prepared")
    (folder / "tree.csv").write_text(TREE)
    (folder / "notes.jsonl").write_text("\n".join(map(json.dumps, rows())))
    create(folder / "parish", Settings("Parish notes"))
    with Project(folder / "parish") as project:
        import_taxonomy(project, folder / "tree.csv")
        import_documents(project, folder / "notes.jsonl")
        train(project)
        index_project(project)
    return folder / "parish"


@pytest.fixture
def project_folder(prepared, tmp_path):
    """A copy of the prepared project, to be written to."""
    return shutil.copytree(prepared, tmp_path / "parish")


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
def sure(prepared, tmp_path):
    """A classifier of a project with enough decisions to know probabilities."""
    rows = [
        {
            "id": f"{word}-more-{at}",
            "text": f"{word} and {at} more of it",
            "labels": [name],
        }
        for name, words in {"bees": "hive comb", "bread": "dough oven"}.items()
        for word in words.split()
        for at in range(6)
    ]
    (tmp_path / "more.jsonl").write_text("\n".join(map(json.dumps, rows)))
    folder = shutil.copytree(prepared, tmp_path / "sure")
    with Project(folder) as project:
        import_documents(project, tmp_path / "more.jsonl")
        train(project)
    with Desk(folder) as desk:
        yield program(create_app(desk), desk, "ada", "classifier")
