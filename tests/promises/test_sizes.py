"""Trees, labels and documents far beyond what anybody needs: slow, but no accident."""

from contextlib import contextmanager
from itertools import pairwise

import pytest
from starlette.testclient import TestClient

from classmark.problems import Mistake
from classmark.taxonomy.category import Category
from classmark.web.guard.gate import Doors
from classmark.web.serve import create_app
from classmark.workbench.learning.train import train
from classmark.workbench.project import Project
from classmark.workbench.team.desk import Desk
from classmark.workbench.team.people import add_token
from projects import new_project

PAGES = [
    "/api/v1/categories", "/api/v1/categories/one/{category}", "/api/v1/history",
    "/api/v1/categories/find?words={category}", "/api/v1/sheet/{document}",
    "/api/v1/documents/{document}", "/api/v1/similar/{document}", "/api/v1/inbox",
    "/api/v1/progress", "/api/v1/agreement", "/api/v1/export/taxonomy.csv",
    "/api/v1/export/documents.csv", "/taxonomy", "/taxonomy?at={category}",
    "/taxonomy/branch?of={category}", "/decide/{document}", "/inbox", "/history",
    "/progress",
]  # fmt: skip


@contextmanager
def calling(folder, *, begin=True):
    """A desk, and a browser of an admin's."""
    with Desk(folder, begin=begin) as desk:
        with desk.writing() as project:
            _, secret = add_token(project.store, "ann", "admin")
        client = TestClient(
            create_app(desk, Doors(frozenset({"testserver"}))),
            headers={"Authorization": f"Bearer {secret}"},
        )
        yield desk, client


def require_answers(client, document, category):
    """Every page is shown, and the document is decided on."""
    for address in PAGES:
        answer = client.get(address.format(document=document, category=category))
        assert answer.status_code == 200, address
    body = {"document": document, "assign": [category]}
    assert client.post("/api/v1/decide", json=body).status_code == 200


def rows(n, labels):
    texts = ("honey in the hive", "dough in the oven", "a wick in tallow")
    return [
        {"id": f"d{at}", "text": texts[at % 3], "primary": labels[at % len(labels)]}
        for at in range(n)
    ]


def test_a_tree_of_ten_thousand_levels(tmp_path):
    names = [f"c{at}" for at in range(10_000)]
    tree = [Category("c0")]
    tree += [Category(n, parents=(m,)) for m, n in pairwise(names)]
    documents = rows(20, [names[-1], names[5000], "c1"])
    with calling(new_project(tmp_path / "deep", documents, tree)) as (_, client):
        require_answers(client, "d1", names[-1])
        move = {"category": names[9000], "under": "c1"}
        assert client.post("/api/v1/categories/move", json=move).status_code == 200
        cycle = {"category": "c1", "under": names[-1]}
        assert client.post("/api/v1/categories/move", json=cycle).status_code == 400


@pytest.mark.compiled_only
def test_a_hundred_thousand_daughters_are_shown_and_learned(tmp_path):
    """More than 65,536: numbers of labels no longer are of sixteen bits."""
    tree = [Category("top")]
    tree += [Category(f"c{at}", parents=("top",)) for at in range(100_000)]
    documents = rows(12, ["c0", "c50000", "c99999"])
    with calling(new_project(tmp_path / "wide", documents, tree)) as (desk, client):
        require_answers(client, "d1", "c99999")
        assert desk.learned(120), "the decision is learned"
        assert client.get("/api/v1/categories?below=top&top=500").status_code == 200


def test_a_document_with_a_hundred_thousand_labels(tmp_path, promised):
    """It is shown and decided on; that it cannot be learned from is said in a line."""
    names = [f"c{at}" for at in range(promised(20_000, 100_000))]
    documents = [*rows(9, names[:3]), {"id": "m", "text": "honey", "labels": names}]
    folder = new_project(tmp_path / "labels", documents, names)
    if promised("", "full"):
        with Project(folder) as project, pytest.raises(Mistake, match="take labels"):
            train(project)
    with calling(folder, begin=False) as (_, client):
        require_answers(client, "m", "c7")


def test_a_very_long_document(tmp_path, promised):
    """A hundred megabytes where it is promised."""
    text = "honey in the hive " * (promised(2, 100) * 1_000_000 // 18)
    documents = [*rows(9, ["bees", "bread", "candles"]), {"id": "long", "text": text}]
    folder = new_project(tmp_path / "long", documents, ["bees", "bread", "candles"])
    with calling(folder) as (desk, client):
        require_answers(client, "long", "bees")
        assert desk.learned(120)
