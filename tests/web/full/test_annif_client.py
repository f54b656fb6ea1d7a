"""Annif's own client, every call of it, over a real connection."""

import io

import pytest
import requests

from classmark.workbench.team.people import add_token

annif_client = pytest.importorskip("annif_client", reason="needs classmark[dev]")
PROJECT, TEXT = "parish-notes", "the keeper smokes the hive for honey and comb"


@pytest.fixture
def annif(address):
    """The client, as a stranger on this machine."""
    return annif_client.AnnifClient(f"{address}/v1/")


@pytest.fixture
def teacher(address, desk):
    """The client with a token in its address, which ``learn`` needs."""
    with desk.writing() as project:
        secret = add_token(project.store, "ada", "classifier")[1]
    place = address.replace("http://", f"http://x:{secret}@")
    return annif_client.AnnifClient(f"{place}/v1/")


def test_what_answers_and_its_project(annif):
    assert annif.api_info["title"].startswith("Classmark")
    (project,) = annif.projects
    assert project == annif.get_project(PROJECT)
    assert project["is_trained"]


def test_suggestions_for_a_text_and_for_a_file(annif):
    results = annif.suggest(PROJECT, TEXT, limit=2)
    assert [len(results), results[0]["uri"]] == [2, "bees"]
    assert annif.suggest(PROJECT, io.StringIO(TEXT), limit=2) == results
    assert not annif.suggest(PROJECT, TEXT, threshold=1.0)


def test_suggestions_for_a_batch(annif):
    documents = [{"document_id": "one", "text": TEXT}, {"text": "knead the dough"}]
    answers = annif.suggest_batch(PROJECT, documents, limit=1)
    assert [each["document_id"] for each in answers] == ["one", None]
    assert [each["results"][0]["uri"] for each in answers] == ["bees", "bread"]


def test_the_language_of_a_text(annif):
    results = annif.detect_language(TEXT, ["fi", "en"])["results"]
    assert results[0]["language"] == "en"


def test_texts_are_learned(teacher, annif, desk):
    taught = [{"text": "a kiln for pots", "subjects": [{"uri": "candles"}]}]
    assert teacher.learn(PROJECT, taught).status_code == 204
    assert {"candles": 1.0} in desk.store.labels().values()
    with pytest.raises(requests.HTTPError, match="403"):
        annif.learn(PROJECT, taught)


@pytest.mark.parametrize("call", ["get_project", "suggest", "suggest_batch", "learn"])
def test_a_project_that_is_not_there_is_said_as_the_client_reads_it(teacher, call):
    arguments = {"suggest": (TEXT,), "suggest_batch": ([{"text": TEXT}],)}
    with pytest.raises(ValueError, match="Project 'none' not found"):
        getattr(teacher, call)("none", *arguments.get(call, ([],) * (call == "learn")))
