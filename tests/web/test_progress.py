"""The Progress page and the page of agreement."""

import re

import pytest
from defusedxml import ElementTree

from classmark.web.progress import beyond_chance, strength
from classmark.workbench.deciding.decide import Decision, Seen, decide_on
from classmark.workbench.deciding.opinions import disagreements, opinions
from projects import TREE, new_project, parish

INLINE = re.compile(r"<style|style=|\son\w+=|<script(?![^>]*src=)")
PICTURE = re.compile(r"<svg.*?</svg>", re.DOTALL)


@pytest.fixture
def project_folder(tmp_path):
    """The project with twenty more documents that wait."""
    more = [{"id": f"more-{n}", "text": f"hive and honey {n}"} for n in range(20)]
    documents = [*parish(decided=True, waiting=True), *more]
    return new_project(tmp_path / "parish", documents, TREE, trained=True)


def decide(desk, who, document, *names, rank=1):
    seen = {name: Seen("000001", rank + n, 1.0) for n, name in enumerate(names)}
    decide_on(desk, document, Decision(tuple(names)), seen, who)


def test_with_nothing_measured_the_page_says_so(client):
    shown = client.get("/progress").text
    assert "Nothing is measured yet" in shown
    assert "No document has been read by two people yet" in shown
    assert "40</strong> of 68 documents" in shown
    assert not INLINE.search(shown)


def test_plots_with_their_numbers(client, desk):
    for n in range(20):
        decide(desk, "ada", f"more-{n}", "bees", rank=1 + n % 2)
    shown = client.get("/progress").text
    assert (
        "<dt>average rank of the last correct category</dt><dd><strong>1.50<" in shown
    )
    assert "50 %</strong>" in shown
    assert "The first suggestion was wrong in 10" in shown
    pictures = PICTURE.findall(shown)
    assert len(pictures) == shown.count('<details class="numbers">') >= 4
    for picture in pictures:
        ElementTree.fromstring(picture)
    assert 'id="calibration"' in shown
    assert not INLINE.search(shown)


def test_agreement_and_settling(client, desk):
    decide(desk, "ada", "more-0", "bees")
    decide(desk, "bo", "more-0", "birds", "bees")
    decide(desk, "ada", "more-1", "bread")
    decide(desk, "bo", "more-1", "bread")
    shown = client.get("/progress/agreement").text
    assert "ada and bo" in shown
    assert "Not settled: 1" in shown
    assert "differ on: Birds" in shown
    assert "/decide/more-0?reading=settle" in shown
    assert "/taxonomy?at=birds" in shown
    assert not INLINE.search(shown)
    (each,) = disagreements(desk)
    sent = {"document": "more-0", "whose": "ada", "seen": each.number, "note": "agreed"}
    done = client.post("/progress/settle", data=sent)
    assert done.status_code == 200
    assert "Nothing left to settle" in done.text
    assert set(desk.store.record("more-0").labels) == {"bees"}
    assert {each.who for each in opinions(desk, "more-0")} == {"ada", "bo"}


def test_all_labels_may_stand_but_not_unseen(client, desk):
    decide(desk, "ada", "more-0", "bees")
    decide(desk, "bo", "more-0", "birds")
    seen = disagreements(desk)[0].number
    decide(desk, "bo", "more-0", "bread")
    sent = {"document": "more-0", "whose": "*", "seen": seen}
    refused = client.post("/progress/settle", data=sent)
    assert refused.status_code == 400
    assert "decided on it meanwhile" in refused.text
    sent["seen"] = disagreements(desk)[0].number
    client.post("/progress/settle", data=sent)
    labels = set(desk.store.record("more-0").labels)
    assert labels == {"bees", "birds", "bread"}
    unknown = client.post("/progress/settle", data=sent | {"whose": "cy"})
    assert unknown.status_code == 400


def test_words_for_numbers():
    assert [strength(x) for x in (0.85, 0.7, 0.1)] == ["reliable", "tentative", "low"]
    assert beyond_chance(float("nan")) == "–"


@pytest.mark.parametrize("version", [-1, 2**53 + 1, -(2**100)])
def test_a_version_that_no_document_can_have_is_refused(admin, client, version):
    body = {"document": "bees-1", "labels": ["bees"], "version": version}
    assert admin.post("/settle", body).status_code == 400
    form = {"document": "bees-1", "whose": "everybody", "seen": version}
    assert client.post("/progress/settle", data=form).status_code == 400
    form = {"act": "accept", "assign": "bees", "version": version}
    assert client.post("/decide/bees-1", data=form).status_code == 400
