"""The Decide page by its forms: what is shown, what is written, what is refused."""

import re
from contextlib import contextmanager
from dataclasses import replace
from html import unescape

import pytest
from starlette.testclient import TestClient

from classmark.corpus.documents import Document
from classmark.formats.records import Record
from classmark.taxonomy.category import Category
from classmark.web.serve import create_app
from classmark.workbench.deciding.decide import Decision, decide_on
from classmark.workbench.deciding.opinions import disagreements
from classmark.workbench.deciding.sheet import lay_out
from classmark.workbench.files.importing import import_records
from classmark.workbench.learning.train import train
from classmark.workbench.team.desk import Desk
from projects import new_desk, new_project

HOSTILE = "<script>alert(1)</script>\" onmouseover='alert(2)' {{ 7*7 }} </div>&amp;"


def say(client, document, act="accept", **said):
    return client.post(
        f"/decide/{document}", data={"act": act, **said}, follow_redirects=False
    )


def version(page):
    return re.search(r'name="version" value="(\d+)"', page.text)[1]


def labels(desk, document):
    return set(desk.store.record(document).labels)


def acts(desk, document):
    rows = desk.store.run(
        "SELECT who, act, c.id FROM judgments AS j LEFT JOIN categories AS c "
        "ON c.number = j.category WHERE document = ? ORDER BY seq",
        (document,),
    )
    return [tuple(row) for row in rows]


def me(client, desk):
    """The name that the client's acts are logged under."""
    say(client, "new-7", "skip")
    return acts(desk, "new-7")[-1][0]


def test_the_first_page_is_a_document_that_waits(client):
    page = client.get("/decide")
    assert re.fullmatch(r"/decide/new-\d", page.url.path)
    assert page.status_code == 200


def test_a_document_has_its_suggestions_with_numbers_and_reasons(client):
    page = client.get("/decide/new-2")
    names = re.findall(
        r'<li class="choice" data-number="(\d+)".*data-name="(.*?)"', page.text
    )
    assert names[0] == ("1", "Bees")
    assert [int(number) for number, _ in names] == list(range(1, len(names) + 1))
    assert re.search(r"rank 1 of \d+", page.text)
    assert "hives and honey" in page.text
    assert '<mark class="for s4"' in page.text
    assert "<kbd>Enter</kbd>" in page.text


def test_what_is_chosen_is_written_and_the_next_one_shown(client, desk):
    page = client.get("/decide/new-2")
    answer = say(
        client, "new-2", assign="candles", primary="bees", reject="birds",
        version=version(page), above="bees", below="bread",
    )  # fmt: skip
    assert answer.status_code == 303
    assert answer.headers["location"].startswith("/decide/new-")
    assert "/new-2" not in answer.headers["location"]
    record = desk.store.record("new-2")
    assert record.labels == {"bees": 2.0, "candles": 1.0}
    assert record.rejected == {"birds"}
    assert ("bees", "bread") in record.preferences
    shown = client.get(answer.headers["location"])
    assert re.search(r"saved #\d+ · \d\d:\d\d:\d\d", shown.text)


def test_the_rank_and_score_at_the_time_are_logged(client, desk):
    client.get("/decide/new-2")
    say(client, "new-2", assign="bees")
    sheet = lay_out(desk, "new-2", me(client, desk))
    first = sheet.choices[0]
    rank, score, model = desk.store.run(
        "SELECT rank, score, model FROM judgments WHERE document = 'new-2'"
    ).fetchone()
    assert (rank, model) == (1, "000001")
    assert score == pytest.approx(first.score, abs=0.5)


def test_a_label_that_is_not_chosen_any_more_is_taken_back(client, desk):
    page = client.get("/decide/bees-1")
    assert 'name="stood" value="bees"' in page.text
    say(client, "bees-1", assign="birds", stood="bees", version=version(page))
    assert labels(desk, "bees-1") == {"birds"}


def test_nothing_chosen_is_refused_with_the_remedy(client, desk):
    answer = say(client, "new-2")
    assert answer.status_code == 400
    assert "nothing was decided" in answer.text
    assert acts(desk, "new-2") == []


@pytest.mark.parametrize(
    "said",
    [
        {"act": "dance"},
        {"assign": "no-such-category"},
        {"assign": "bees", "reject": "bees"},
        {"assign": "bees", "above": "bees"},
        {"act": "note", "note": "  "},
        {"assign": "bees", "version": "many"},
    ],
)
def test_what_makes_no_sense_is_refused_and_nothing_is_written(client, desk, said):
    answer = say(client, "new-2", **said)
    assert answer.status_code in (400, 422)
    assert acts(desk, "new-2") == []


def test_a_document_that_is_not_there(client):
    assert client.get("/decide/nobody").status_code in (400, 404)
    assert say(client, "nobody", assign="bees").status_code in (400, 404)


def test_skip_unsure_note_undo_redo(client, desk):
    assert say(client, "new-2", "skip").status_code == 303
    assert say(client, "new-3", "unsure").status_code == 303
    noted = say(client, "new-4", "note", note="read it <b>twice</b>")
    assert noted.headers["location"].startswith("/decide/new-4?")
    assert "read it &lt;b&gt;twice&lt;/b&gt;" in client.get("/decide/new-4").text
    assert [act for _, act, _ in acts(desk, "new-2")] == ["skip"]
    assert desk.store.record("new-3").aside
    undone = say(client, "new-5", "undo")
    assert undone.headers["location"].startswith("/decide/new-4?saved=undone")
    assert "twice" not in client.get("/decide/new-4").text
    again = say(client, "new-5", "redo")
    assert again.headers["location"].startswith("/decide/new-4?saved=redone")
    assert "twice" in client.get("/decide/new-4").text


def test_a_conflict_shows_both_and_writes_nothing(client, desk):
    opened = version(client.get("/decide/new-2"))
    decide_on(desk, "new-2", Decision(("birds",)), None, "bo")
    answer = say(client, "new-2", assign="bees", version=opened)
    assert answer.status_code == 409
    assert "not saved yet" in answer.text
    assert ">bo, " in answer.text
    assert labels(desk, "new-2") == {"birds"}
    said = {"assign": "bees", "version": version(answer)}
    assert 'name="stood" value="birds"' in answer.text
    assert say(client, "new-2", **said, stood="birds").status_code == 303
    assert labels(desk, "new-2") == {"bees"}


def test_both_decisions_may_be_kept(client, desk):
    opened = version(client.get("/decide/new-2"))
    decide_on(desk, "new-2", Decision(("birds",)), None, "bo")
    answer = say(client, "new-2", primary="bees", version=opened)
    assert (
        say(client, "new-2", primary="bees", version=version(answer)).status_code == 303
    )
    assert labels(desk, "new-2") == {"bees", "birds"}


def test_a_second_reading_does_not_show_the_first(client, desk):
    decide_on(
        desk, "new-2", Decision(("candles",), note="because of <wax>"), None, "bo"
    )
    page = client.get("/decide", params={"reading": "second"})
    assert page.url.path == "/decide/new-2"
    assert "Second reading" in page.text
    assert "checked" not in page.text
    assert ">bo" not in page.text
    assert 'name="stood"' not in page.text
    answer = say(
        client, "new-2", assign="bees", reading="second", version=version(page)
    )
    assert answer.headers["location"].startswith("/decide?reading=second")
    done = client.get(answer.headers["location"])
    assert "No second readings left" in done.text
    (found,) = disagreements(desk)
    assert (found.document, found.over) == ("new-2", ("bees", "candles"))


def test_who_settles_sees_both_readings_and_says_what_stands(client, desk):
    decide_on(desk, "new-2", Decision(("candles",)), None, "bo")
    decide_on(desk, "new-2", Decision(("bees",)), None, "cy")
    page = client.get("/decide", params={"reading": "settle"})
    assert page.url.path == "/decide/new-2"
    text = unescape(page.text)
    assert "the decision of each reader" in text
    assert "bo" in text
    assert "cy" in text
    said = {"primary": "bees", "reading": "settle", "version": version(page)}
    decide_on(desk, "new-2", Decision(("birds",)), None, "bo")
    late = say(client, "new-2", **said)
    assert late.status_code == 400
    assert "bo has decided on it meanwhile" in late.text
    said["version"] = version(client.get("/decide/new-2?reading=settle"))
    assert say(client, "new-2", **said).status_code == 303
    assert labels(desk, "new-2") == {"bees"}
    assert disagreements(desk) == []
    assert "settle" in {act for _, act, _ in acts(desk, "new-2")}


def test_a_category_that_was_searched_for_is_described(client):
    page = client.get("/choice", params={"document": "new-2", "category": "bread"})
    assert "loaves and ovens" in page.text
    none = client.get("/choice", params={"document": "new-2", "category": "none"})
    assert none.status_code == 400


def test_similar_documents_come_with_their_labels(client):
    page = client.get("/alike", params={"document": "new-2"})
    titles = re.findall(r'<a href="/decide/(\S+?)"', page.text)
    assert titles[0].startswith("bees-")
    assert '<span class="chip">Bees</span>' in page.text
    assert "new-2" not in titles


def test_text_is_never_markup(tmp_path):
    row = {"id": HOSTILE, "title": HOSTILE, "text": HOSTILE * 3, "by": HOSTILE}
    tree = [Category("a", HOSTILE, note=HOSTILE)]
    folder = new_project(tmp_path / "hostile", [row], tree, name=HOSTILE[:25])
    with Desk(folder) as desk, browser_on(desk) as client:
        page = client.get("/decide")
        assert page.status_code == 200
        assert "<script>alert" not in page.text
        assert " onmouseover='" not in page.text
        assert "{{ 7*7 }}" in page.text
        shown = client.get("/choice", params={"document": HOSTILE, "category": "a"})
        assert "<script>" not in shown.text
        address = str(page.url.path)
        answer = client.post(address, data={"assign": "a", "note": HOSTILE})
        assert answer.status_code == 200
        assert "All caught up" in answer.text
        assert set(desk.store.record(HOSTILE).labels) == {"a"}


def test_an_address_is_a_link_and_nothing_else_is(tmp_path):
    url = "https://example.org/a?b=1&c=2"
    row = {"id": "d", "title": "Bees", "source": url, "bad": "javascript:alert(1)"}
    with new_desk(tmp_path / "links", [row]) as desk, browser_on(desk) as client:
        page = client.get("/decide/d").text
    assert 'href="https://example.org/a?b=1&amp;c=2" target="_blank"' in page
    assert 'rel="noopener noreferrer">source</a>' in page
    assert 'href="javascript' not in page


def test_what_is_nearly_the_same_is_told(client, desk):
    again = desk.store.document("bees-0").fields
    with desk.writing() as project:
        import_records(project, [Record(Document("again", again))], "a file")
    desk.look_again()
    desk.serve_newest(lambda: True)
    found = client.get("/twins", params={"document": "again"})
    assert "Nearly identical" in found.text
    assert 'href="/decide/bees-0"' in found.text
    assert "100 % similar" in found.text


def test_a_project_without_a_model_and_without_documents(tmp_path):
    with new_desk(tmp_path / "empty", []) as desk, browser_on(desk) as client:
        page = client.get("/decide")
        assert page.url.path == "/start"
        assert 'href="/files"' in page.text


def test_evidence_is_one_text(desk):
    sheet = lay_out(desk, "new-2", "ada")
    fields = desk.store.document("new-2").fields
    assert "".join(word.text for word in sheet.words) == fields["text"]
    for number, choice in enumerate(sheet.choices, start=1):
        named = {term for term, _ in choice.favour + choice.against}
        marked = [w.text for w in sheet.words if f" {number}:" in f" {w.marks}"]
        assert marked == [w.text for w in sheet.words if w.text.lower() in named]


@contextmanager
def browser_on(desk):
    """A browser of the machine's own user over a desk."""
    app = create_app(desk)
    with TestClient(app, base_url="http://127.0.0.1:8000") as client:
        client.post("/enter", data={"code": app.state.doors.code})
        cookie = client.cookies[app.state.doors.cookie]
        client.headers["X-CSRF"] = app.state.sessions.find(cookie).csrf
        yield client


def test_what_belongs_is_said_in_words(client, desk, reader):
    before = client.get("/decide/new-2").text
    assert "belong" not in re.sub(r"<script.*?</script>", "", before)
    learning = replace(desk.settings.learning, thresholds="category", C=10.0)
    train(desk, learning)
    desk.look_again()
    desk.serve_newest(lambda: True)
    page = client.get("/decide/new-3").text
    row = re.search(r'data-category="birds".*?</li>', page, re.DOTALL)[0]
    assert '<span class="belongs">belongs</span>' in row
    assert unescape(page).count("doesn't belong") > 1
    asked = {"document": "new-3", "top": 4}
    found = reader.post("/suggest", asked).json()["suggestions"]
    assert [each["belongs"] for each in found] == [True, False, False, False]


def test_for_a_document_without_text_nothing_is_suggested(client, desk):
    with desk.writing() as project:
        import_records(project, [Record(Document("empty", {"title": ""}))], "a file")
    page = client.get("/decide/empty").text
    assert "This document has no text." in page
    assert "data-unranked" in page
    assert "%" not in re.sub("<[^>]*>", "", page.partition('class="choices"')[2])


def test_a_few_categories_keep_their_keys_until_ten_decisions(tmp_path):
    tree = [Category(name, name.title()) for name in ("tar", "wax", "rye")]
    rows = [{"id": f"d{n}", "title": f"wax {n}", "text": "bees"} for n in range(12)]
    new_project(tmp_path / "few", rows, tree)
    with Desk(tmp_path / "few") as desk:
        for n in range(9):
            decide_on(desk, f"d{n}", Decision(("wax",)), None, "ada")
        assert desk.learned()
        sheet = lay_out(desk, "d10", "ada")
        assert [c.category for c in sheet.choices] == ["tar", "wax", "rye"]
        assert not sheet.ranked
        decide_on(desk, "d9", Decision(("wax",)), None, "ada")
        assert desk.learned()
        sheet = lay_out(desk, "d11", "ada")
        assert sheet.choices[0].category == "wax"
        assert sheet.ranked
