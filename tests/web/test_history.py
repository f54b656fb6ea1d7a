"""The History page: filters, undoing, correcting, taking back a range."""

import re
from html import unescape

import pytest

from classmark.workbench.deciding.decide import Decision, decide_on, note_on, undo_for
from classmark.workbench.deciding.history import HistoryFilter, past

HOSTILE = "<script>alert(1)</script>"


@pytest.fixture
def said(desk):
    """Three decisions of two people; the numbers of their acts."""
    first = decide_on(desk, "new-0", Decision(("bread",)), None, "ada")
    second = decide_on(
        desk, "new-1", Decision(("bees",), ("candles",), note="wax, surely"), None, "bo"
    )
    third = decide_on(desk, "new-2", Decision(("bees",)), None, "ada")
    return [*first.numbers, *second.numbers, *third.numbers]


def labels(desk, document):
    return set(desk.store.record(document).labels)


def acts_in(text):
    return [int(n) for n in re.findall(r'<tr id="act-(\d+)"', text)]


def test_every_act_with_what_was_seen(client, said):
    shown = client.get("/history").text
    assert acts_in(shown)[:4] == sorted(said, reverse=True)
    assert "rank 1" in shown
    assert "model 000001" in shown
    assert "wax, surely" in shown
    assert shown.count("<h1>") == 1


def test_filters_are_in_the_address(client, said):
    assert acts_in(client.get("/history?who=bo").text) == [said[2], said[1]]
    only = client.get("/history", params={"document": "new-2", "act": "assign"}).text
    assert acts_in(only) == [said[3]]
    assert 'value="new-2"' in only
    assert "Nothing to show" in client.get("/history?who=nobody").text
    refused = client.get("/history?since=yesterday")
    assert refused.status_code == 400
    assert "YYYY-MM-DD" in refused.text


def test_a_category_is_asked_for_by_id_or_label(client, desk, said):
    assert desk.categories["candles"].label == "Candles"
    for name in ("candles", "Candles"):
        shown = client.get("/history", params={"category": name, "who": "bo"}).text
        assert acts_in(shown) == [said[2]]


def test_pages_by_number(client, desk):
    whole = [line.number for line in past(desk, top=200, fold=True).lines]
    address, found = "/history", []
    while address:
        text = client.get(address).text
        found += acts_in(text)
        older = re.search(r'rel="next" href="([^"]+)"', text)
        address = unescape(older[1]) if older else ""
    assert found == whole


def test_undo_and_bring_back(client, desk, said):
    where = {"number": said[0], "back": "who=ada"}
    done = client.post("/history/undo", data=where, follow_redirects=False)
    assert done.status_code == 303
    assert done.headers["location"].startswith("/history?who=ada&saved=undone")
    assert labels(desk, "new-0") == set()
    shown = client.get("/history?document=new-0").text
    assert "redo" in shown
    again = int(re.search(r'name="number" value="(\d+)"><button[^>]*redo', shown)[1])
    client.post("/history/undo", data={"number": again})
    assert labels(desk, "new-0") == {"bread"}
    assert client.post("/history/undo", data={"number": 99_999}).status_code == 400


def test_a_label_is_corrected_in_place(client, desk, said):
    sent = {"number": said[0], "category": "Candles", "note": "look again"}
    assert client.post("/history/correct", data=sent).status_code == 200
    assert labels(desk, "new-0") == {"candles"}
    (act, *_) = past(desk, HistoryFilter(document="new-0", act="assign")).lines
    assert act.note == "look again"
    wrong = client.post("/history/correct", data=sent | {"category": "soap"})
    assert wrong.status_code == 400
    assert "there is none" in wrong.text


def test_a_range_is_looked_at_then_taken_back(client, desk, said):
    asked = {"first": said[0], "last": said[-1], "who": "ada"}
    look = client.get("/history/range", params=asked).text
    assert "2 actions will be undone" in look
    assert "The labels of 2 documents change" in look
    assert labels(desk, "new-0") == {"bread"}
    sent = {"first": said[0], "last": said[-1], "back": "who=ada"}
    client.post("/history/range", data=sent)
    assert labels(desk, "new-0") == labels(desk, "new-2") == set()
    assert labels(desk, "new-1") == {"bees", "candles"}
    nothing = client.get("/history/range", params=asked).text
    assert "Not possible" in nothing


def test_notes_and_names_are_text(client, desk):
    note_on(desk, "new-0", HOSTILE, HOSTILE)
    shown = client.get("/history").text
    assert HOSTILE not in shown
    assert "&lt;script&gt;" in shown
    asked = client.get("/history", params={"document": HOSTILE, "who": HOSTILE})
    assert HOSTILE not in asked.text


def test_no_styles_nor_scripts_within_the_page(client, said):
    for address in ("/history", f"/history/range?first={said[0]}&last={said[-1]}"):
        text = client.get(address).text
        assert not re.search(r"<style|style=|\son\w+=|<script(?![^>]*src=)", text)


def test_a_merge_is_one_row_that_can_be_opened(client, desk):
    move = {"act": "merge", "category": "bread", "to": "candles"}
    client.post("/taxonomy/change", data=move)
    page = client.get("/history").text
    assert "document decisions" in page
    number = max(re.findall(r"/history\?within=(\d+)", page), key=int)
    many, _ = re.findall(r"· ([\d,]+) document decisions", page)  # and the import
    (rows,) = desk.store.run(
        "SELECT count(*) FROM judgments WHERE within = ?", (int(number),)
    ).fetchone()
    assert int(many) == rows
    assert page.count(f'with act <a href="#act-{number}"') == 0
    opened = client.get(f"/history?within={number}").text
    assert opened.count('id="act-') == min(50, rows)
    assert client.get("/history?within=many").status_code == 400
    undo_for(desk, "ada", int(number))
    assert client.get("/history").text.count("document decisions") == 3
    document = desk.store.run(
        "SELECT document FROM judgments WHERE within = ?", (int(number),)
    ).fetchone()[0]
    assert "part of <a" in client.get(f"/history?document={document}").text


def test_an_import_is_named_and_undone_where_it_stands(client, desk):
    send = {"files": {"file": ("own.csv", b"id,text\nx1,wax\n")}}
    seen = client.post("/files/upload", **send)
    client.post(seen.url.path, data={"act": "import"})
    desk.jobs.wait(60)
    page = client.get("/history").text
    assert "categories imported" not in page
    assert '<span class="verb verb-import">imported</span>' in page
    number = re.findall(r'action="/files/imports/(\d+)"', page)[0]
    client.post(f"/files/imports/{number}")
    desk.jobs.wait(60)
    assert "x1" not in desk.store.ids()
    assert f'aria-label="redo {number}"' in client.get("/history").text


def test_a_category_is_asked_for_by_its_path(client, said):
    shown = client.get("/history", params={"category": "Crafts › Bread"}).text
    assert said[0] in acts_in(shown)
    assert 'value="Crafts › Bread"' in shown
