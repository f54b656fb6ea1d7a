"""Learned rankers, tuning and links: the calls and the page that starts them."""

import re

import pytest

from classmark.workbench import meaning
from concepts import STATIC, use_concepts
from projects import WORDS
from web.conftest import program

QUERIES = {
    f"{name}-{at}": word
    for name, words in WORDS.items()
    for at, word in enumerate(words.split()[:4])
}
QRELS = {
    query: {f"{query.split('-')[0]}-{at}": 1 + at % 2 for at in range(10)}
    for query in QUERIES
}
QUICK = {"queries": QUERIES, "qrels": QRELS, "C": [0.01]}
TREC = "\n".join(
    f"{query} 0 {document} {grade}"
    for query, grades in QRELS.items()
    for document, grade in grades.items()
)
LINES = "\n".join(f"{query}\t{words}" for query, words in QUERIES.items())


def finished(caller, desk, path, body):
    """Begin some work, and read the job when it has ended."""
    begun = caller.post(path, body)
    assert begun.status_code == 202, begun.text
    desk.jobs.wait(120)
    return caller.get(f"/jobs/{begun.json()['id']}").json()


def test_a_ranker_is_trained_listed_read_and_switched(admin, reader, desk):
    job = finished(admin, desk, "/rankers", QUICK | {"force": True})
    assert (job["state"], job["mistake"]) == ("done", "")
    result = job["result"]
    assert (result["number"], result["used"]) == (1, True)
    assert {row["order"] for row in result["table"]["rows"]} >= {
        "learned",
        "in service",
    }
    (listed,) = reader.get("/rankers").json()["rankers"]
    assert (listed["number"], listed["in_service"]) == (1, True)
    assert listed["means"]["learned"]["map"] > 0
    assert "queries" not in listed
    report = reader.get("/rankers/1").json()
    assert report["taught"] + report["held_out"] == len(QUERIES)
    assert len(report["queries"]) == report["held_out"]
    assert sum(each["weight"] for each in report["importance"]) == pytest.approx(1)
    assert reader.post("/search", {"query": "honey"}).json()["ranker"] == 1
    out = admin.put("/rankers/service", {"number": None}).json()
    assert out["said"].startswith("no ranker is in service")
    assert reader.post("/search", {"query": "honey"}).json()["ranker"] is None
    assert admin.put("/rankers/service", {"number": 1}).status_code == 200
    assert reader.get("/search").json()["ranker"] == 1
    (who,) = desk.store.run(
        "SELECT DISTINCT who FROM events WHERE what = 'ranker'"
    ).fetchone()
    assert who == "ada"


def test_judgments_are_read_as_texts_too(admin, desk):
    body = {"queries": LINES, "qrels": TREC, "C": [0.01], "force": True}
    by_text = finished(admin, desk, "/rankers", body)["result"]["table"]["rows"]
    by_json = finished(admin, desk, "/rankers", QUICK)["result"]["table"]["rows"]
    assert by_text[0] == by_json[0]
    fresh = {"queries": {"x": "candle wax"}, "qrels": {"x": {"candles-1": 1}}}
    job = finished(admin, desk, "/rankers/evaluate", fresh | {"rankers": [1, 2]})
    orders = {row["order"] for row in job["result"]["table"]["rows"]}
    assert orders == {"ranker 1", "ranker 2", "in service"}


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ({}, "queries and qrels, or from clicks"),
        ({"queries": LINES}, "queries and qrels, or from clicks"),
        (QUICK | {"clicks": True}, "queries and qrels, or from clicks"),
        (QUICK | {"propensities": True}, "propensities weigh clicks"),
        (QUICK | {"learner": "guess"}, "learner 'guess' is not known"),
        (QUICK | {"measure": "guess"}, "guess"),
        (QUICK | {"queries": "q1"}, "queries, line 1"),
        (QUICK | {"qrels": "a b c d e\nf"}, "qrels, line 1"),
        (QUICK | {"queries": {}}, "judged queries are empty"),
        (QUICK | {"qrels": ""}, "judged queries are empty"),
        (QUICK | {"C": [-1]}, "C"),
        (QUICK | {"share": 1}, "share"),
        (QUICK | {"dataset": "library"}, "dataset"),
    ],
)
def test_what_cannot_be_learned_from_is_refused_at_once(admin, desk, body, said):
    refused = admin.post("/rankers", body)
    assert refused.status_code == 400
    assert refused.headers["content-type"] == "application/problem+json"
    assert said in refused.json()["detail"]
    assert not list(desk.jobs)


def test_without_clicks_the_job_says_what_to_do(admin, desk):
    job = finished(admin, desk, "/rankers", {"clicks": True})
    assert job["state"] == "failed"
    assert "nothing has been clicked yet" in job["mistake"]
    assert "POST /click" in job["mistake"]


def test_rankers_that_are_not_there_are_missing(admin, reader):
    assert reader.get("/rankers").json() == {"rankers": []}
    assert reader.get("/rankers/7").status_code == 404
    assert admin.put("/rankers/service", {"number": 7}).status_code == 404
    body = {"queries": QUERIES, "qrels": QRELS, "rankers": [7]}
    assert admin.post("/rankers/evaluate", body).status_code == 404


def test_parameters_are_tried_and_the_best_is_named(admin, desk):
    body = {
        "queries": QUERIES, "qrels": TREC, "measure": "ndcg@10",
        "parameters": {"b": "0:1:0.5", "k1": [0.9, 1.2]},
    }  # fmt: skip
    job = finished(admin, desk, "/tune", body)
    assert (job["state"], job["mistake"]) == ("done", "")
    rows = job["result"]["table"]["rows"]
    assert len(rows) == 6
    best = job["result"]["best"]
    assert best["ndcg@10"] == max(row["ndcg@10"] for row in rows)
    assert job["said"].startswith(f"best: b = {best['b']:g}, k1 = {best['k1']:g}")


@pytest.mark.parametrize(
    "parameters",
    [{}, {"b": "0:1"}, {"b": "0:1:0.01", "k1": "0:1:0.01"}, {"b": []}, {"": "1"}],
)
def test_what_cannot_be_tried_is_refused(admin, desk, parameters):
    body = {"queries": QUERIES, "qrels": QRELS, "parameters": parameters}
    assert admin.post("/tune", body).status_code == 400
    assert not list(desk.jobs)


def test_an_unknown_model_fails_and_is_named(admin, desk):
    body = {"queries": QUERIES, "qrels": QRELS, "model": "../x"}
    job = finished(admin, desk, "/tune", body | {"parameters": {"b": [0.5]}})
    assert job["state"] == "failed"
    assert "../x" in job["mistake"]


def test_documents_are_ranked_by_their_links(ada, reader):
    refused = reader.get("/pagerank")
    assert refused.status_code == 400
    assert "links to another" in refused.json()["error"]["message"]
    for at in range(3):
        content = {"fields": {"text": "see"}, "links": [{"id": "bees-1"}]}
        ada.put(f"/documents/linking-{at}", content)
    table = reader.get("/pagerank", top=2, damping=0.5).json()
    assert table["rows"][0]["id"] == "bees-1"
    assert table["rows"][0]["links in"] == 3
    assert reader.get("/pagerank", personalise="ghost").status_code == 400
    assert reader.get("/pagerank", damping=1).status_code == 400


def test_links_of_ones_own_are_ranked(reader):
    body = {"links": [["a", "b"], ["c", "b"]], "method": "gauss-seidel"}
    table = reader.post("/pagerank", body).json()
    assert table["rows"][0]["id"] == "b"
    assert reader.post("/pagerank", {"links": []}).status_code == 400
    assert reader.post("/pagerank", {"links": [["a"]]}).status_code == 400


def test_the_page_trains_switches_and_reports(client, desk):
    assert "No ranker has been trained yet" in client.get("/settings/search").text
    form = {"source": "judgments", "queries": LINES, "qrels": TREC, "force": "true"}
    begun = client.post("/settings/search/rankers", data=form, follow_redirects=False)
    assert begun.headers["location"] == "/settings/search"
    desk.jobs.wait(120)
    page = client.get("/settings/search").text
    assert "Ranker 1 is now in service" in page
    out = client.post("/settings/search/service", data={})
    assert "no ranker is in service" in out.text
    back = client.post("/settings/search/service", data={"number": "1"})
    assert "Stop using" in back.text
    report = client.get("/settings/search/rankers/1").text
    assert len(re.findall(r"<tr><td>\w+</td>", report)) >= 8
    assert client.get("/settings/search/rankers/9").status_code == 404
    part = client.get("/settings/search/jobs/train").text
    assert "data-jobs" in part


def test_two_orders_are_mixed_and_the_page_says_which_is_preferred(client, desk):
    form = {"source": "judgments", "queries": LINES, "qrels": TREC, "force": "true"}
    client.post("/settings/search/rankers", data=form)
    desk.jobs.wait(120)
    same = client.post("/settings/search/experiment", data={"experiment": "1"})
    assert "already in service" in same.text
    for wrong in ("9", "ghost"):
        odd = client.post("/settings/search/experiment", data={"experiment": wrong})
        assert odd.status_code == 400
    begun = client.post("/settings/search/experiment", data={"experiment": "model"})
    assert "the experiment has started" in begun.text
    assert desk.settings.search.log == "anonymous"
    for word in QUERIES.values():
        page = client.get("/search", params={"q": word}).text
        assert "mixed with those of bm25" in page or "No word" in page
        again = client.get("/search", params={"q": word}).text
        links = re.findall(r"/search/open/\d+/([^\"]+)", page)
        assert links == re.findall(r"/search/open/\d+/([^\"]+)", again)
        number = re.findall(r"/search/open/(\d+)/", page)[0]
        client.get(f"/search/open/{number}/{links[0]}")
    page = client.get("/settings/search").text
    assert "ranker 1</td><td>bm25" in page
    assert "not certain yet" in page
    (compared,) = client.get("/api/v1/clicks").json()["comparisons"]
    assert compared["opened"] == len(QUERIES)
    assert compared["shown"] == 2 * len(QUERIES)
    assert sum(compared[each] for each in ("wins", "losses", "ties")) == len(QUERIES)
    ended = client.post("/settings/search/experiment", data={"experiment": "no"})
    assert "searches use the usual order" in ended.text
    assert "mixed with" not in client.get("/search", params={"q": "honey"}).text


def test_the_page_tries_parameters_and_shows_links(client, desk):
    form = {"queries": LINES, "qrels": TREC, "parameters": "b=0:1:0.5 k1=0.9"}
    client.post("/settings/search/tune", data=form)
    desk.jobs.wait(60)
    assert "Best: b = " in client.get("/settings/search").text
    wrong = client.post("/settings/search/tune", data=form | {"qrels": "x"})
    assert wrong.status_code == 400
    assert "qrels, line 1" in wrong.text
    for odd in ({"queries": "\0"}, {"model": "x" * 101}, {"parameters": ""}):
        odd_form = client.post("/settings/search/tune", data=form | odd)
        assert odd_form.status_code == 400
    none = client.post("/settings/search/rankers", data={"source": "clicks"})
    assert none.status_code == 200
    desk.jobs.wait(60)
    assert "nothing has been clicked yet" in client.get("/settings/search").text
    assert client.get("/settings/search/links").status_code == 400


def test_readers_see_rankers_and_no_buttons(app, desk):
    page = program(app, desk, "rea", "reader").http.get("/settings/search")
    assert page.status_code == 200
    assert "Learned rankers" in page.text
    assert "Train" not in page.text


def test_the_weight_of_meaning_is_learned(admin, desk, monkeypatch):
    """By a call and from the page; the desk then searches with it."""
    use_concepts(monkeypatch)
    meaning.set_meaning(desk, STATIC)
    meaning.compute(desk)
    queries = {"q1": "apiary", "q2": "loaf"}
    qrels = {"q1": {"bees-1": 1}, "q2": {"bread-1": 1}}
    body = {"queries": queries, "qrels": qrels, "hybrid": True, "use": True}
    job = finished(admin, desk, "/tune", body | {"parameters": {"weight": [0, 5]}})
    assert job["result"]["best"]["weight"] == 5
    assert desk.settings.search.meaning_weight == 5
    refused = admin.post("/tune", body | {"parameters": {"b": "0,1"}})
    assert "tries the weight of meaning" in refused.text


def test_the_page_learns_the_weight_of_meaning(client, desk, monkeypatch):
    assert "Tune the weight of meaning" not in client.get("/settings/search").text
    use_concepts(monkeypatch)
    meaning.set_meaning(desk, STATIC)
    meaning.compute(desk)
    assert "Tune the weight of meaning" in client.get("/settings/search").text
    form = {"queries": "q1 apiary", "qrels": "q1 0 bees-1 1", "hybrid": "true"}
    client.post("/settings/search/tune", data=form)
    desk.jobs.wait(60)
    page = client.get("/settings/search")
    assert "Best: weight = " in page.text


def test_where_a_ranker_orders_nothing_else_is_offered(
    client, admin, desk, monkeypatch
):
    use_concepts(monkeypatch)
    meaning.set_meaning(desk, STATIC)
    meaning.compute(desk)
    assert "words alone" in client.get("/search", params={"q": "apiary honey"}).text
    finished(admin, desk, "/rankers", QUICK | {"force": True})
    page = client.get("/search", params={"q": "apiary honey"})
    assert "ordered by ranker 1" in page.text
    assert "words alone" not in page.text
    page = client.get("/search", params={"q": "apiary honey", "ranker": "none"})
    assert "ranked by words and meaning" in page.text
    assert "words alone" in page.text
    importance = client.get("/settings/search/rankers/1").text
    assert "meaning" in importance
