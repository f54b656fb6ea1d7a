"""Programs with tokens, one of each role."""

import json
import shutil

import pytest
from starlette.testclient import TestClient

from classmark.web.app import create_app
from classmark.workbench.files.importing import import_documents
from classmark.workbench.learning.train import train
from classmark.workbench.project import Project
from classmark.workbench.team.desk import Desk
from classmark.workbench.team.people import add_token

ADDRESS = "http://127.0.0.1:8000"
ROOT = "/api/v1"


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
