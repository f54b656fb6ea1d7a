"""Vectors of meaning: chosen, computed and dropped by the page and by calls."""

import json

import pytest

from classmark.workbench import meaning
from classmark.workbench.learning.train import train
from classmark.workbench.settings import MeaningSettings
from meaning.tiny_models import (
    AWAY,
    TABLE,
    texts_sent_away,
    write_safetensors,
    write_tokenizer,
)

pytestmark = pytest.mark.needs("tokenizers")
HERE = "/settings/meaning"


@pytest.fixture
def table(tmp_path):
    write_safetensors(tmp_path / "model.safetensors", embeddings=TABLE)
    write_tokenizer(tmp_path / "tokenizer.json")
    return str(tmp_path)


def chosen(model, **more):
    return {"meaning.source": "static", "meaning.model": model, **more}


def test_the_page_chooses_a_source_computes_and_drops(client, desk, table):
    shown = client.get(HERE).text
    assert "Vectors of meaning" in shown
    assert "Compute what" not in shown
    answer = client.post(HERE, data=chosen(table, **{"meaning.weight": "0.4"}))
    assert "saved: meaning.source, meaning.model, meaning.weight" in answer.text
    documents = len(desk.state.ids)
    assert f"0 of {documents:,} documents" in answer.text
    client.post(f"{HERE}/compute")
    desk.jobs.wait(60)
    shown = client.get(HERE).text
    assert f"{documents:,} of {documents:,}" in shown
    assert "vectors computed" in shown
    assert "per second</dd>" in shown
    assert "vectors computed" in client.get(f"{HERE}/job").text
    answer = client.post(f"{HERE}/drop")
    assert "all vectors removed" in answer.text
    assert not (desk.folder / "meaning").exists()
    client.post(HERE, data=chosen(table))
    client.post(f"{HERE}/compute")
    desk.jobs.wait(60)
    assert f"{documents:,} of {documents:,}" in client.get(HERE).text


@pytest.mark.parametrize(
    ("sent", "said"),
    [
        ({"meaning.source": "magic"}, "use none, static"),
        (chosen("/nowhere"), "has no model.safetensors"),
        (
            {
                "meaning.source": "server",
                "meaning.model": "m",
                "meaning.url": "http://192.0.2.1/v1",
            },
            "choose yes for allow remote (Settings, Meaning)",
        ),
    ],
)
def test_what_cannot_be_a_source_is_said_on_the_page(client, desk, sent, said):
    answer = client.post(HERE, data=sent)
    assert answer.status_code == 400
    assert said in answer.text
    assert desk.settings.meaning.source == "none"
    assert client.post(f"{HERE}/compute").status_code == 400
    assert not list(desk.jobs)


def test_pages_and_calls_say_that_texts_leave_and_how_to_end_it(
    client, admin, desk, monkeypatch
):
    texts_sent_away(monkeypatch)
    pages = HERE, "/decide", "/search", "/search?q=hive", "/like", "/inbox"
    assert not any("Texts leave" in client.get(page).text for page in pages)
    meaning.set_meaning(desk, AWAY)
    notice = (
        "Texts leave this machine: documents, pasted texts and search queries are sent "
        "to 192.0.2.1. To end this, choose another source of vectors; then train again "
        "(Settings, Model and jobs)."
    )
    for page in pages:
        assert f'role="note">{notice}</p>' in client.get(page).text
    with desk.writing() as project:
        train(project)
    meaning.set_meaning(desk, MeaningSettings())
    notice = (
        "Texts leave this machine: the model in use needs vectors from 192.0.2.1, so "
        "the texts that it classifies are sent there. To end this, train again "
        "(Settings, Model and jobs)."
    )
    for page in pages:
        assert f'role="note">{notice}</p>' in client.get(page).text
    told = admin.get("/meaning").json()
    assert (told["source"], told["sent_to"]) == ("none", "192.0.2.1")
    assert told["notice"].endswith("To end this, call POST /train.")


def test_calls_choose_compute_and_drop(admin, desk, table):
    before = admin.get("/meaning").json()
    assert (before["source"], before["model_in_service"]) == ("none", "words alone")
    wish = {"source": "static", "model": table}
    answer = admin.put("/meaning", wish).json()
    documents = len(desk.state.ids)
    assert (answer["numbers"], answer["documents"]) == (3, documents)
    assert admin.post("/meaning/compute").status_code == 202
    desk.jobs.wait(60)
    after = admin.get("/meaning").json()
    assert (after["with_vector"], after["rate"] > 0) == (documents, True)
    assert admin.http.delete("/api/v1/meaning").json()["source"] == "none"
    assert admin.post("/meaning/compute").status_code == 400
    away = {"source": "server", "model": "m", "url": "http://192.0.2.1/v1"}
    refused = admin.put("/meaning", away)
    assert refused.status_code == 400
    assert "give allow_remote (PUT /meaning)" in refused.json()["detail"]


def test_only_an_admin_changes_the_source(reader):
    assert reader.get("/meaning").status_code == 200
    assert reader.put("/meaning", {"source": "static"}).status_code == 403
    assert reader.post("/meaning/compute").status_code == 403
    assert reader.http.delete("/api/v1/meaning").status_code == 403


def test_documents_that_are_sent_get_their_vectors_by_themselves(admin, desk, table):
    admin.put("/meaning", {"source": "static", "model": table})
    line = json.dumps({"id": "new", "text": "a new hive"})
    admin.http.post("/api/v1/import", content=line)
    desk.jobs.wait(60)
    assert [job.name for job in desk.jobs] == ["import", "vectors"]
    assert "a new hive" in desk.meaning()
    admin.put("/documents/newer", {"fields": {"text": "a newer hive"}})
    desk.ahead(list).result(60)
    assert "a newer hive" in desk.meaning()
