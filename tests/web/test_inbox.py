"""The inbox page: rows, filters in the address, starting, accepting at once."""

import html
import json
import re
from dataclasses import replace

import pytest

from classmark.corpus.documents import Document
from classmark.formats.records import Record
from classmark.workbench.deciding.decide import Decision, decide_on
from classmark.workbench.deciding.inbox import Filters, documents_in


@pytest.fixture
def quiet(desk):
    """The desk, with every document that waits looked at once and no more."""
    assert desk.background.ordered(60)
    desk.background.stop()
    return desk


def test_it_shows_what_waits(client):
    page = client.get("/inbox")
    assert page.status_code == 200
    assert page.text.count('href="/decide/new-') == 8
    assert "Decide in this order" in page.text
    assert "A note on" in page.text


def test_filters_stand_in_the_address(client):
    page = client.get("/inbox", params={"words": "hive", "order": "likely"})
    assert "with “hive”" in page.text
    assert "words=hive&amp;order=random" in page.text
    assert page.text.count('href="/decide/new-') == 1
    page = client.get("/inbox", params={"show": "decided", "branch": "nature"})
    assert "in Nature and below" in page.text
    assert "20 documents" in page.text
    assert 'class="chip">Bees' in page.text


@pytest.mark.parametrize(
    "asked", [{"order": "burnt"}, {"show": "burnt"}, {"branch": "ghosts"}, {"page": 0}]
)
def test_what_means_nothing_is_said_so(client, asked):
    assert client.get("/inbox", params=asked).status_code == 400


def test_nothing_fits(client):
    page = client.get("/inbox", params={"words": "xylophone"})
    assert "No matching documents" in page.text


def test_nothing_waits_and_import_is_offered(client, desk):
    for row in [f"new-{at}" for at in range(8)]:
        decide_on(desk, row, Decision(("bees",)), {}, "ada")
    page = client.get("/inbox")
    assert "All caught up" in page.text
    assert 'href="/files"' in page.text


def test_many_pages_have_addresses(client, desk):
    rows = (Record(Document(f"x{at}", {"text": "wax"})) for at in range(60))
    with desk.writing() as project:
        project.store.put_documents(rows)
    desk.look_again()
    page = client.get("/inbox", params={"page": 2, "order": "random"})
    assert "page 2 of 3" in page.text
    assert 'rel="next" href="/inbox?order=random&amp;page=3"' in page.text


def test_starting_sets_the_order_of_whoever_asks(client, desk):
    form = {"order": "random", "branch": "bread"}
    started = client.post("/inbox/start", data=form, follow_redirects=False)
    assert (started.status_code, started.headers["location"]) == (303, "/decide")
    ((who, choice),) = desk.queues._choices.items()  # noqa: SLF001 (whose it is)
    assert desk.queues.of(who) == choice
    assert (choice.order, dict(choice.filters)) == ("random", {"branch": "bread"})


def test_a_title_is_text(client, desk):
    bad = '<script>alert(1)</script>"onmouseover="x'
    with desk.writing() as project:
        document = Document("x/y ?&#'\"<", {"title": bad, "text": bad})
        project.store.put_documents([Record(document)])
    desk.look_again()
    page = client.get("/inbox", params={"words": "alert(1)", "who": ""})
    assert bad not in page.text
    assert html.escape(bad, quote=False).split('"')[0] in page.text
    assert "/decide/x/y%20%3F%26%23%27%22%3C" in page.text
    echoed = client.get("/inbox", params={"words": bad})
    assert bad not in echoed.text


def test_accepting_at_once(client, quiet):
    found = {f"new-{at}": quiet.guesses.best.get(f"new-{at}") for at in range(8)}
    assert all(found.values())
    if quiet.model().calibrator is None:
        refused = client.get("/inbox/accept")
        assert refused.status_code == 400
        assert "probabilities are known" in refused.text
    picks = []
    for at, (id_, guess) in enumerate(found.items()):
        sure = replace(guess, score=1.0, probability=1 - at / 10)
        quiet.guesses.best[id_] = sure
        picks.append(f'["{id_}", "{guess.category}", 1.0, 0]')
    form = {"pick": picks[:3], "least": "0.8"}
    done = client.post("/inbox/accept", data=form, follow_redirects=False)
    assert done.status_code == 303
    assert "3+documents+accepted" in done.headers["location"]
    labels = quiet.store.labels()
    assert [list(labels[f"new-{at}"]) for at in range(3)] == [
        [found[f"new-{at}"].category] for at in range(3)
    ]


@pytest.mark.parametrize("pick", ["", "[]", '["a"]', "{", '[1,2,"x",4]', "null"])
def test_what_is_no_pick_is_refused(client, pick):
    assert client.post("/inbox/accept", data={"pick": pick}).status_code == 400


def test_every_form_carries_the_token(client):
    for form in re.findall(
        r"<form[^>]*post.*?</form>", client.get("/inbox").text, re.DOTALL
    ):
        assert f'value="{client.csrf}"' in form


def test_what_the_filters_show_is_labelled_and_taken_back_at_once(client, desk):
    before = dict(desk.state.labels)
    form = {"label": "bread", "words": "note", "order": "likely", "everything": "1"}
    done = client.post("/inbox/label", data=form)
    new = {id_ for id_ in desk.state.labels if id_ not in before}
    assert len(new) == 8
    assert "Bread: 8 documents labelled" in done.text
    assert {desk.state.labels[id_] for id_ in new} == {("bread",)}
    (number,) = re.findall(r'name="number" value="(\d+)"', done.text)
    back = {"number": number, "words": "note", "order": "likely"}
    assert "8 documents" in client.post("/inbox/undo", data=back).text
    assert desk.state.labels == before
    ticked = {"ticked": ["new-0", "new-3"], "label": "Bees"}
    assert client.post("/inbox/label", data=ticked).status_code == 200
    assert desk.state.labels["new-3"] == ("bees",)


@pytest.mark.parametrize(
    "form", [{"label": "bees"}, {"ticked": ["new-0"], "label": "ghosts"}]
)
def test_labelling_nothing_or_by_nothing_is_refused(client, desk, form):
    before = dict(desk.state.labels)
    assert client.post("/inbox/label", data=form).status_code == 400
    assert desk.state.labels == before


def test_what_the_filters_leave_is_exported(client, desk):
    """A file has the documents of all pages of the list, in its order, and no other."""
    decide_on(desk, "new-1", Decision(("bees",)), {}, "ada")
    shown = {"show": "decided", "branch": "nature"}
    page = client.get("/inbox", params=shown).text
    address = html.unescape(
        re.search(r'href="(/inbox/documents\.jsonl[^"]*)"', page)[1]
    )
    sent = client.get(address)
    assert 'filename="documents.jsonl"' in sent.headers["content-disposition"]
    rows = [json.loads(line) for line in sent.text.splitlines()]
    ids = [row["id"] for row in rows]
    filters = Filters("decided", "nature")
    assert ids == documents_in(desk, "uncertain", filters)
    assert len(ids) == 21
    assert {tuple(row["labels"]) for row in rows if row["id"] == "new-1"} == {("bees",)}
    table = client.get("/inbox/documents.csv", params={"show": "decided"}).text
    assert table.splitlines()[0].startswith("id,")
    assert client.get("/inbox/documents.exe").status_code == 400
