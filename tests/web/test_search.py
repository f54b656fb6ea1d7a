"""The page Search: one box, marked words, what each adds, and what is kept."""

import re
import shutil

import pytest

from classmark.workbench import meaning
from classmark.workbench.project import Project
from classmark.workbench.search.clicks import read_impressions
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
    assert "Searches and clicks are not kept" in page.text


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
        ({"q": "honey AND"}, "query:10"),
        ({"q": "honey", "set": "k1"}, "write name=value"),
        ({"q": "honey", "model": "magic"}, "magic"),
        ({"q": "honey", "ranker": "9"}, "no ranker 9"),
        ({"q": "honey", "k": "1000"}, "cannot be used"),
        ({"q": "honey", "prior": "pagerank"}, "links"),
        ({"q": "a" * 5000}, "cannot be used"),
    ],
)
def test_what_cannot_be_searched_is_told(client, params, told):
    page = client.get("/search", params=params)
    assert page.status_code == 400
    assert told in page.text


def test_nothing_found_is_said(client):
    page = client.get("/search", params={"q": "zebra"})
    assert page.status_code == 200
    assert "Nothing was found" in page.text


@pytest.mark.usefixtures("logging")
def test_clicks_are_kept_and_the_page_says_so(client, desk):
    page = client.get("/search", params={"q": "honey"})
    assert "are kept with your name" in page.text
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
    assert "There is no index yet" in page.text
    made = client.post("/search/index", data={"q": "honey", "positions": "1"})
    assert made.status_code == 200
    desk.jobs.wait(60)
    page = client.get("/search", params={"q": '"hive honey"'})
    assert 'name="ticked"' in page.text


def test_documents_that_came_since_are_told(client, desk):
    new = b'{"id": "later", "text": "honey for later"}'
    sent = client.post("/files/upload", files={"file": ("new.jsonl", new)})
    client.post(sent.url.path, data={"act": "import"})
    desk.jobs.wait(60)
    page = client.get("/search", params={"q": "honey", "k": "50"})
    assert "Documents came since the index was made" in page.text
    assert "later" not in page.text.replace("for later", "")
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
    assert "Nothing was found" in page.text
    assert re.search(r'value="no" checked> words alone', page.text)
    assert "also documents without the word" in client.get("/search").text
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
    assert re.search(r'aria-label="Any category">in Nature or below', page.text)
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
