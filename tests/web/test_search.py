"""The page Search: one box, marked words, what each adds, and what is kept."""

import csv
import html
import json
import re
import shutil
from dataclasses import replace
from time import monotonic, sleep

import pytest

from classmark.workbench import meaning
from classmark.workbench.files.documents import add_document
from classmark.workbench.project import Project
from classmark.workbench.search import following
from classmark.workbench.search.clicks import read_impressions
from classmark.workbench.search.desk_search import all_answers
from classmark.workbench.search.filters import SearchFilters
from classmark.workbench.search.interleaving import begin_experiment
from classmark.workbench.settings import MeaningSettings
from concepts import use_concepts


@pytest.fixture
def logging(project_folder):
    """Let searches be kept before the desk is opened."""
    file = project_folder / "classmark.toml"
    file.write_text(file.read_text().replace('log = "no"', 'log = "named"'))


@pytest.fixture
def bare(project_folder):
    """Take the index away before the desk is opened."""
    shutil.rmtree(project_folder / "index")
    shutil.rmtree(project_folder / "indexed")
    (project_folder / "index").mkdir()


def test_words_are_found_marked_and_explained(client):
    page = client.get("/search", params={"q": "honey swarm"})
    assert page.status_code == 200
    assert re.search(r'<mark class="for s4">honey</mark>', page.text)
    assert re.search(r"score \d+\.\d+</summary><p>=.*?honey", page.text, re.DOTALL)
    assert 'href="/like?example=' in page.text
    assert "Searches and clicks are not logged" in page.text


def test_where_a_source_of_vectors_does_not_answer_words_rank(
    client, admin, desk, caplog
):
    settings = desk.settings
    away = MeaningSettings("server", "m", "http://127.0.0.1:9/v1/embeddings")
    desk.settings = replace(settings, meaning=away)
    assert client.get("/search").status_code == 200
    answer = client.get("/search?q=honey+swarm")
    assert answer.status_code == 200
    assert re.search(r'<mark class="for s4">honey</mark>', answer.text)
    assert "ranked by words alone: http://127.0.0.1:9" in answer.text
    assert not admin.get("/search").json()["meaning"]
    called = admin.post("/search", {"query": "honey swarm"}).json()
    assert called["hits"]
    assert "ranked by words alone" in called["note"]
    assert client.get("/like").status_code == 200
    assert "not warm yet: http://127.0.0.1:9/v1/embeddings does not" in caplog.text


def test_an_empty_box_explains_itself(client):
    page = client.get("/search")
    assert "any of the words" in page.text
    assert "title, text" in page.text


@pytest.mark.parametrize(
    "wish",
    [
        {"model": "dirichlet", "set": "mu=100"},
        {"model": "boolean"},
        {"weights": "title=3"},
        {"feedback": "rm3"},
        {"ranker": "none"},
        {"k": "3"},
    ],
)
def test_model_and_parameters_behind_a_switch(client, wish):
    page = client.get("/search", params={"q": "honey", **wish})
    assert page.status_code == 200
    assert 'name="ticked"' in page.text
    assert re.search(r"<details open>\s*<summary>Model", page.text)


@pytest.mark.parametrize(
    ("params", "told"),
    [
        ({"q": "honey AND"}, "query, character 10"),
        ({"q": "honey", "set": "k1"}, "write name=value"),
        ({"q": "honey", "model": "magic"}, "magic"),
        ({"q": "honey", "ranker": "9"}, "no ranker 9"),
        ({"q": "honey", "k": "1000"}, "Number of results: “1000” is too large"),
        ({"q": "honey", "prior": "pagerank"}, "links"),
        ({"q": "a" * 5000}, "Search: this is too long: use at most 4,000"),
    ],
)
def test_what_cannot_be_searched_is_told(client, params, told):
    page = client.get("/search", params=params)
    assert page.status_code == 400
    assert told in page.text


def test_nothing_found_is_said(client):
    page = client.get("/search", params={"q": "zebra"})
    assert page.status_code == 200
    assert "Nothing found" in page.text


@pytest.mark.usefixtures("logging")
def test_clicks_are_kept_and_the_page_says_so(client, desk):
    page = client.get("/search", params={"q": "honey"})
    assert "are logged with your name" in page.text
    first, second = re.findall(r'href="(/search/open/[^"]+)"', page.text)[:2]
    opened = client.get(second, follow_redirects=False)
    assert opened.status_code == 303
    assert opened.headers["location"].startswith("/decide/")
    (seen,) = read_impressions(desk.store)
    assert seen.query == "honey"
    assert seen.clicked == {second.rpartition("/")[2]}
    assert seen.who
    assert client.get("/search/open/77/bees-1").status_code == 400
    assert client.get("/search/open/1/nobody").status_code == 400
    assert first != second


@pytest.mark.usefixtures("bare")
def test_without_an_index_one_is_offered_and_made(client, desk):
    page = client.get("/search", params={"q": "honey"})
    assert "No index yet" in page.text
    made = client.post("/search/index", data={"q": "honey", "positions": "1"})
    assert made.status_code == 200
    desk.jobs.wait(60)
    page = client.get("/search", params={"q": '"hive honey"'})
    assert 'name="ticked"' in page.text


def test_documents_that_came_since_are_told_and_found_by_themselves(
    client, desk, monkeypatch
):
    monkeypatch.setattr(following, "SETTLED", 3600.0)
    new = b'{"id": "later", "text": "honey for later"}'
    sent = client.post("/files/upload", files={"file": ("new.jsonl", new)})
    client.post(sent.url.path, data={"act": "import"})
    desk.jobs.wait(60)
    page = client.get("/search", params={"q": "honey", "k": "50"})
    assert "brought up to date automatically" in page.text
    assert "brought up to date automatically" in client.get("/search/jobs").text
    assert "brought up to date automatically" in client.get("/files").text
    assert 'value="later"' not in page.text
    monkeypatch.setattr(following, "SETTLED", 0.0)
    until = monotonic() + 30
    while 'value="later"' not in client.get("/search?q=honey&k=50").text:
        assert monotonic() < until
        sleep(0.05)
    assert "automatically" not in client.get("/search?q=honey").text
    assert "The index is ready" in client.get("/search/jobs").text


def test_whoever_may_decide_need_not_wait_for_it(client, desk, monkeypatch):
    monkeypatch.setattr(following, "SETTLED", 3600.0)
    with desk.writing() as project:
        add_document(project, "later", {"text": "honey"}, "ada")
    assert "Update now" in client.get("/search?q=honey").text
    client.post("/search/index")
    desk.jobs.wait(60)
    assert 'value="later"' in client.get("/search?q=honey&k=50").text


@pytest.fixture
def meant(project_folder, monkeypatch):
    """Let a few words of the notes have vectors before the desk is opened."""
    use_concepts(monkeypatch)
    with Project(project_folder) as project:
        project.change_settings({"meaning.source": "static"}, "me")
        meaning.compute(project)


@pytest.mark.usefixtures("meant")
def test_what_ranks_is_chosen_and_each_part_is_shown(client):
    page = client.get("/search", params={"q": "apiary"})
    assert "ranked by words and meaning" in page.text
    assert re.search(r"words 0\.000 · meaning [12]\.\d+", page.text)
    assert re.search(r"=.*?<b>\(meaning\)</b>", page.text, re.DOTALL)
    assert re.search(r'value=""\s+checked> words and meaning', page.text)
    page = client.get("/search", params={"q": "apiary", "hybrid": "no"})
    assert "Nothing found" in page.text
    assert re.search(r'value="no" checked> words alone', page.text)
    assert "also documents with a similar meaning" in client.get("/search").text
    page = client.get("/search", params={"q": "#sum(honey)"})
    assert "ranked by words alone" in page.text


def test_words_alone_offer_no_choice(client):
    page = client.get("/search", params={"q": "honey"})
    assert "words alone" not in page.text
    assert "meaning" not in page.text


@pytest.mark.usefixtures("meant")
def test_calls_say_what_words_and_meaning_add(reader):
    answer = reader.post("/search", {"query": "apiary honey"}).json()
    assert answer["meaning"]
    for hit in answer["hits"]:
        assert hit["words"] + hit["meaning"] == pytest.approx(hit["score"])
    answer = reader.post("/search", {"query": "honey", "hybrid": "no"}).json()
    assert not answer["meaning"]
    assert answer["hits"][0]["meaning"] is None
    refused = reader.post("/search", {"query": "#sum(honey)", "hybrid": "weight"})
    assert refused.status_code == 400
    state = reader.get("/search").json()
    assert (state["meaning"], state["hybrid"]) == (True, "auto")


def test_calls_name_the_remedy_in_their_words(reader):
    refused = reader.post("/search", {"query": "honey", "hybrid": "weight"})
    assert refused.status_code == 400
    assert "PUT /meaning" in refused.text
    refused = reader.post("/search", {"query": "honey", "hybrid": "much"})
    assert "hybrid 'much': write no" in refused.text


def test_pages_totals_facets_and_labels(client):
    page = client.get("/search", params={"q": "note", "k": "5"})
    assert re.search(r"1–5 of 48\s+documents found", page.text)
    assert re.search(
        r'category=bees&amp;k=5">Bees <span class="number soft">10', page.text
    )
    assert 'rel="next" href="/search?q=note&amp;k=5&amp;page=2"' in page.text
    second = client.get("/search", params={"q": "note", "k": "5", "page": "2"})
    assert re.search(r"6–10 of 48", second.text)
    assert 'rel="prev" href="/search?q=note&amp;k=5"' in second.text
    assert re.search(
        r'class="tag" href="/search\?q=note&amp;category=\w+&amp;k=5">', page.text
    )
    last = client.get("/search", params={"q": "note", "k": "5", "page": "10"})
    assert "46–48 of 48" in last.text
    assert 'rel="next"' not in last.text


def test_filters_are_in_the_address_and_can_be_taken_off(client):
    wish = {"q": "note", "category": "nature", "show": "decided", "since": "2000"}
    page = client.get("/search", params=wish)
    assert re.search(r"1–10 of 20", page.text)
    assert re.search(
        r'aria-label="Remove filter: category">in Nature and below', page.text
    )
    assert re.search(r"<details open>\s*<summary>Filters", page.text)
    none = client.get("/search", params={"q": "note", "until": "1999"})
    assert "or fewer filters" in none.text
    wrong = client.get("/search", params={"q": "note", "category": "wasps"})
    assert wrong.status_code == 400
    assert "there is no category &#39;wasps&#39;" in wrong.text


def test_a_slip_is_one_click_away_from_what_was_meant(client):
    page = client.get("/search", params={"q": "hony"})
    assert re.search(r'Did you mean <a href="/search\?q=honey"><b>honey</b>', page.text)


def test_all_that_was_found_is_labelled_and_taken_back_at_once(client, desk):
    before = dict(desk.state.labels)
    back = "/search?q=honey&show=undecided"
    form = {"back": back, "label": "Bees", "everything": "1"}
    done = client.post("/search/label", data=form)
    new = {id_ for id_ in desk.state.labels if id_ not in before}
    assert new
    assert all(desk.state.labels[id_] == ("bees",) for id_ in new)
    number = re.search(r'name="number" value="(\d+)"', done.text)[1]
    undone = client.post("/search/undo", data={"number": number, "back": back})
    assert undone.status_code == 200
    ticked = {"ticked": ["new-0", "new-1"], "label": "bread", "back": back}
    assert client.post("/search/label", data=ticked).status_code == 200
    assert desk.state.labels["new-1"] == ("bread",)
    client.post("/api/v1/undo", json={})
    assert desk.state.labels == before


def test_the_calls_page_filter_count_and_label(client, desk):
    body = {"query": "note", "top": 5, "page": 2, "category": "nature"}
    found = client.post("/api/v1/search", json=body).json()
    assert found["total"] == 20
    assert [hit["rank"] for hit in found["hits"]] == [6, 7, 8, 9, 10]
    assert found["hits"][0]["labels"][0][0] in {"bees", "birds"}
    assert {f["category"] for f in found["facets"]} == {"bees", "birds"}
    assert (
        client.post("/api/v1/search", json={"query": "hony"}).json()["meant"] == "honey"
    )
    body = {"documents": ["new-0", "new-1"], "category": "bread"}
    done = client.post("/api/v1/label", json=body)
    assert done.json()["labelled"] == 2
    assert desk.state.labels["new-1"] == ("bread",)
    missing = {"documents": ["nothing"], "category": "bread"}
    assert client.post("/api/v1/label", json=missing).status_code == 404


def _experiment(client, desk, name):
    """The marks of what searches by REST show in an experiment."""
    begin_experiment(desk, name, "ada")
    found = client.post("/api/v1/search", json={"query": "honey hive"}).json()
    seen = read_impressions(desk.store)[-1]
    assert list(seen.ids) == [hit["id"] for hit in found["hits"]]
    return seen


def test_the_call_takes_part_in_an_experiment_with_neighbours(client, desk):
    assert any(mark > 0 for mark in _experiment(client, desk, "swaps").marks)
    own = {"query": "honey hive", "parameters": {"k1": 0.5}}
    client.post("/api/v1/search", json=own)
    assert read_impressions(desk.store)[-1].marks == ()


@pytest.mark.usefixtures("meant")
def test_the_call_takes_part_in_an_experiment_that_mixes_two_orders(client, desk):
    seen = _experiment(client, desk, "words")
    assert set(seen.marks) == {"a", "b"}
    assert " | " in seen.ranker


def test_wildcards_are_marked_and_explained_on_the_page_and_by_the_call(client):
    page = client.get("/search", params={"q": "hon*y swar*"})
    assert re.search(r'<mark class="for s4">honey</mark>', page.text)
    assert re.search(r"hon\*y = honey", page.text)
    found = client.post("/api/v1/search", json={"query": "hon*"}).json()["hits"]
    assert any("hon* = " in each["parts"][0]["word"] for each in found)
    refused = client.post("/api/v1/search", json={"query": "*oney"})
    assert refused.status_code == 400
    assert "begins with a letter" in refused.text


def test_all_that_was_found_is_exported(client, desk):
    """The file has what the filters leave, on any page, and not what was deleted."""
    page = client.get("/search", params={"q": "honey", "show": "decided", "k": 3}).text
    address = html.unescape(re.search(r'href="(/search/documents\.csv[^"]*)"', page)[1])
    filters = SearchFilters(show="decided")
    ids = all_answers(desk, "honey", filters)
    assert len(ids) > 3
    rows = list(csv.DictReader(client.get(address).text.splitlines()))
    assert [row["id"] for row in rows] == ids
    assert all(row["labels"] or row["primary"] for row in rows)
    client.post("/files/delete", data={"id": ids[0]})
    left = client.get("/search/documents.jsonl", params={"q": "honey"})
    assert ids[0] not in {json.loads(line)["id"] for line in left.text.splitlines()}


def test_a_wildcard_that_finds_something_is_searched_for(client):
    page = client.get("/search", params={"q": "hon*"})
    assert "documents found" in page.text
    assert "no word of the query" not in page.text
    none = client.get("/search", params={"q": "zzz*"}).text
    assert "no word of the index fits zzz*" in none
    assert "no word of the query" not in none


def test_pages_of_hits_are_counted(client):
    page = client.get("/search", params={"q": "the bees", "k": 3})
    total = int(re.search(r"of (\d+) documents found", page.text)[1])
    assert total > 3
    assert f"page 1 of {-(-total // 3)}" in page.text


def test_a_category_is_typed_by_its_name_or_path(client, desk):
    page = client.get("/search", params={"q": "bees", "category": "Nature › Bees"})
    assert 'value="Nature › Bees"' in page.text
    assert "in Bees and below" in page.text
    wrong = client.get("/search", params={"q": "bees", "category": "Nature › Beez"})
    assert wrong.status_code == 400
    form = {"ticked": ["new-1"], "label": "Nature › Bees", "back": "/search?q=bees"}
    client.post("/search/label", data=form)
    assert "bees" in desk.store.record("new-1").labels
