"""The page Find by example: begin, answer, take back, go for nearly all."""

import csv
import io
import re
import time

import pytest

from classmark.workbench.examples import open_searches
from classmark.workbench.examples.searches import (
    acts_by_document,
    list_searches,
    search_by_number,
)
from classmark.workbench.store.store import titles
from concepts import STATIC, use_concepts
from projects import new_project

ROOT = "/api/v1"

HOSTILE = '<script>alert(1)</script>"><img src=x onerror=alert(2)>'


def begin(client, **form):
    answer = client.post("/like", data=form or {"examples": "bees-0, bees-5"})
    assert answer.status_code == 200, answer.text
    return answer


def path_of(answer):
    return answer.url.path


def shown(answer):
    return re.findall(r'name="yes" value="([^"]+)"', answer.text)


def said(desk, number=1):
    store = desk.store
    return acts_by_document(store, search_by_number(store, number))


def test_begin_by_ids_answer_and_take_back(client, desk):
    first = begin(client)
    assert path_of(first) == "/like/1"
    assert shown(first)[0].startswith("bees")
    best, second = shown(first)[:2]
    after = client.post("/like/1/say", data={"yes": best})
    assert "saved" in after.text
    assert best not in shown(after)
    client.post("/like/1/say", data={"no": second})
    assert said(desk) == {
        "bees-0": "example",
        "bees-5": "example",
        best: "yes",
        second: "no",
    }
    assert second in shown(client.post("/like/1/undo"))
    assert second not in shown(client.post("/like/1/redo"))
    assert said(desk)[second] == "no"


def version_of(answer):
    return re.search(r'name="version" value="(\d+)"', answer.text)[1]


def test_an_answer_on_an_old_list_changes_no_newer_one(client, desk):
    first = begin(client)
    best, second = shown(first)[:2]
    old = version_of(first)
    client.post("/like/1/say", data={"yes": best, "version": old})
    late = client.post("/like/1/say", data={"no": best, "version": old})
    assert late.status_code == 409
    assert f"&#39;{best}&#39; was marked meanwhile" in late.text
    assert best not in shown(late)
    assert said(desk)[best] == "yes"
    client.post("/like/1/say", data={"no": second, "version": old})
    assert said(desk)[second] == "no"
    now = version_of(client.get("/like/1"))
    assert client.post("/like/1/say", data={"no": best, "version": now}).is_success
    assert said(desk)[best] == "no"


def test_as_many_are_shown_after_an_answer_as_before(client):
    begin(client)
    more = client.get("/like/1", params={"k": 30})
    after = client.post("/like/1/say", data={"no": shown(more)[25], "k": 30})
    assert len(shown(after)) == len(shown(more)) == 30


def test_begin_by_text_and_by_ticked_hits(client, desk):
    text = begin(client, text="wax and a wick", name="light")
    assert "light" in text.text
    assert shown(text)[0].startswith("candles")
    ticked = client.post("/like", data={"ticked": ["birds-1", "birds-2"]})
    assert shown(ticked)[0].startswith(("birds", "new"))
    listed = client.get("/like").text
    assert ">light<" in listed
    called = titles(desk.store, ["birds-1"])["birds-1"][:60].strip()
    assert f">{called}<" in listed


def test_begin_by_a_category_from_the_page_of_another(client):
    asked = client.get("/like", params={"category": "bees", "example": "new-1"})
    assert 'name="category" value="bees"' in asked.text
    assert 'name="examples" value="new-1"' in asked.text
    found = begin(client, category="bees")
    assert "10</span></h2>" in found.text


def test_what_auto_has_chosen_is_said(client):
    found = begin(client)
    words = re.search(r"Learned by auto: 50 % SVM \(C = 1, (\d+) hopeful", found.text)
    first, second = client.get("/api/v1/like/1").json()["averaged"]
    assert (first["kind"], first["C"], first["share"]) == ("svm", 1.0, 0.5)
    assert first["hopeful"] == int(words[1])
    assert second == {
        "kind": "rocchio", "share": 0.5, "C": None, "hopeful": 0, "gamma": 1.0,
    }  # fmt: skip


def test_the_learned_query_and_the_reasons_are_readable(client):
    found = begin(client)
    assert re.search(r"What it learned.*?honey|hive", found.text, re.DOTALL)
    best = shown(found)[0]
    why = client.get(f"/like/1/why/{best}")
    assert "is the sum of these parts" in why.text
    assert client.get("/like/1/why/nobody").status_code == 400


def test_nearly_all_tells_how_many_are_left(client):
    begin(client)
    page = client.post("/like/1/screen")
    assert path_of(page) == "/like/2"
    for _ in range(4):
        likely = shown(page)
        yes = [id_ for id_ in likely if id_.startswith("bees")]
        no = [id_ for id_ in likely if not id_.startswith("bees")]
        page = client.post("/like/2/say", data={"yes": yes, "no": no})
    assert "more to find (90 % interval" in page.text
    assert "drawn at random" in page.text
    assert "recall: at least" in page.text


def test_basket_by_text_and_by_id(client, desk):
    begin(client)
    client.post("/like/1/text", data={"text": "flame and tallow"})
    page = client.post("/like/1/say", data={"examples": "bread-1, bread-2"})
    assert "flame and tallow" in page.text
    assert said(desk)["bread-2"] == "example"
    page = client.post("/like/1/say", data={"skip": "bread-2"})
    assert said(desk)["bread-2"] == "skip"
    page = client.post("/like/1/drop", data={"name": "text 1"})
    assert "flame and tallow" not in page.text


@pytest.mark.parametrize(
    ("path", "form", "told"),
    [
        ("/like", {}, "no example"),
        ("/like", {"examples": "nobody"}, "no document"),
        ("/like", {"examples": "bees-0", "target": "200"}, "target"),
        ("/like/1/say", {}, "no document is marked"),
        ("/like/1/say", {"yes": "nobody"}, "no document"),
        ("/like/99/say", {"yes": "bees-1"}, "no search 99"),
        ("/like/x/say", {"yes": "bees-1"}, "is not a whole number"),
        ("/like/1/redo", {}, "nothing to bring back"),
        ("/like/1/text", {"text": " "}, "empty"),
    ],
)
def test_what_cannot_be_done_is_told_and_changes_nothing(
    client, desk, path, form, told
):
    begin(client)
    before = said(desk)
    answer = client.post(path, data=form)
    assert answer.status_code == 400
    assert told in answer.text
    assert said(desk) == before
    assert len(list_searches(desk.store)) == 1


@pytest.mark.parametrize("ending", [".csv", ".jsonl", ".run", ".ris", ".bib"])
def test_what_was_said_yes_to_is_taken_along(client, ada, ending):
    first, second, third = shown(begin(client))[:3]
    client.post("/like/1/say", data={"yes": first, "no": second, "skip": third})
    client.post("/like/1/screen")
    (wrong, right) = shown(client.get("/like/2"))[:2]
    client.post("/like/2/say", data={"yes": right, "no": wrong})
    for number, wanted, unwanted in (
        (1, {"bees-0", "bees-5", first}, {second, third}),
        (2, {"bees-0", "bees-5", first, right}, {second, wrong}),
    ):
        page = client.get(f"/like/{number}/found{ending}").text
        call = ada.get(f"/like/{number}/found", format=ending[1:]).text
        for ids in (set(re.findall(r"[\w-]+", text)) for text in (page, call)):
            assert wanted <= ids
            assert not unwanted & ids


def test_what_was_found_is_taken_along_when_nothing_is_left(client, desk):
    begin(client)
    client.post("/like/1/say", data={"yes": list(desk.state.ids)})
    assert client.get("/like/1/found.csv").text.count("yes") == len(desk.state.ids)


@pytest.mark.parametrize("ending", [".csv", ".jsonl", ".run", ".ris", ".bib", ".tsv"])
def test_what_was_found_is_taken_along(client, desk, ending):
    begin(client)
    file = client.get(f"/like/1/found{ending}")
    assert file.status_code == 200
    assert f'filename="found{ending}"' in file.headers["content-disposition"]
    assert "bees-1" in file.text or ending == ".tsv"
    assert not list((desk.folder / "exports").iterdir())


def test_texts_are_never_html(client):
    page = begin(client, text=f"honey {HOSTILE}", name=HOSTILE)
    again = client.get("/like")
    for answer in (page, again):
        assert "<script>alert" not in answer.text
        assert "<img src=x" not in answer.text
        assert " onerror=alert" not in answer.text.replace(
            "&gt;&lt;img src=x onerror", ""
        )
    assert "&lt;script&gt;" in page.text


def test_while_documents_are_read_the_page_says_so(client, monkeypatch):
    begin(client)
    monkeypatch.setattr(
        open_searches.SearchCache,
        "vectors",
        lambda *_: (_ for _ in ()).throw(
            open_searches.BeingRead("they are being read")
        ),
    )
    page = client.get("/like/1")
    assert page.status_code == 200
    assert "Reading the documents" in page.text


def test_strangers_and_forged_forms_do_not_get_in(client, stranger):
    assert client.get("/like").status_code == 200
    del client.headers["X-CSRF"]
    assert client.post("/like", data={"examples": "bees-0"}).status_code == 403
    stranger.cookies.clear()
    answer = stranger.get("/like", follow_redirects=False)
    assert answer.status_code == 303
    assert answer.headers["location"].startswith("/enter")


def test_other_endings_are_refused(client):
    begin(client, text="wax and a wick")
    answer = client.get("/like/1/found.exe")
    assert answer.status_code == 400
    assert "use .csv, .jsonl" in answer.text


def test_a_search_that_cannot_begin_keeps_what_was_written(client, monkeypatch):
    asked = {"text": "wax & wick", "examples": "nowhere", "goal": "all"}
    answer = client.post("/like", data=asked)
    assert answer.status_code == 400
    assert "wax &amp; wick</textarea>" in answer.text
    assert 'value="all" checked' in answer.text
    monkeypatch.setattr(open_searches, "AT_ONCE", 0)
    while client.post("/like", data={"text": "a wick"}).status_code == 400:
        time.sleep(0.01)  # documents are read, by a job


def test_a_search_may_begin_with_a_kernel_and_refuses_what_has_no_effect(client):
    form = {"examples": "bees-0", "method": "precision@k", "k": "3", "sample": ""}
    curved = begin(client, **form, kernel="rbf", gamma="0.5")
    assert "precision@k, C = 100, k = 3, kernel = rbf, gamma = 0.5" in curved.text
    assert "no reasons are shown" in curved.text
    refused = client.post("/like", data={"examples": "bees-0", "k": "3"})
    assert refused.status_code == 400
    assert "K is of precision@k and recall@k, not of auto" in refused.text
    assert 'name="k" value="3"' in refused.text
    call = {"examples": ["bees-0"], "method": "balanced", "kernel": "polynomial"}
    answer = client.post("/api/v1/like", json={**call, "degree": 3})
    assert answer.status_code == 201, answer.text
    assert answer.json()["learned"].endswith("kernel = polynomial, degree = 3")
    no_effect = client.post("/api/v1/like", json={**call, "kernel": "rbf", "degree": 3})
    assert no_effect.status_code == 400
    unknown = client.post("/api/v1/like", json={**call, "kernel": "tanh"})
    assert unknown.status_code == 400
    assert "kernel" in unknown.text


class TestWithMeaning:
    @pytest.fixture
    def project_folder(self, tmp_path, monkeypatch):
        use_concepts(monkeypatch)
        texts = {"b1": "Honey of the hive", "b2": "An apiary", "d1": "Dough in an oven"}
        return new_project(tmp_path / "shelf", texts, meaning=STATIC)

    def test_meaning_is_one_part_among_words(self, client):
        first = begin(client, examples="b1")
        assert shown(first)[0] == "b2"
        assert re.search(r"words, and \d+ % meaning", first.text)
        why = client.get("/like/1/why/b2")
        assert "(meaning) is the part" in why.text
        view = client.get(f"{ROOT}/like/1").json()
        assert 0 < view["meaning"] < 1
        parts = client.get(f"{ROOT}/like/1/why/b2").json()["parts"]
        assert [part["word"] for part in parts if part["part"] > 0] == ["(meaning)"]
        words = client.get("/like/1/found.tsv").text
        for page in (first.text, why.text, str(view), words):
            assert "meaning[" not in page


def begun(client, **more):
    body = {"examples": ["bees-0"], "name": "bees", **more}
    return client.post("/api/v1/like", json=body).json()["number"]


def test_a_screening_says_how_much_is_left_to_each_share(client):
    number = begun(client, screening=True)
    page = client.get(f"/like/{number}")
    assert re.search(r"80 %</th><td class=\"number\">about \d+", page.text)
    assert 'id="recall"' in page.text
    answer = client.get(f"/api/v1/like/{number}").json()
    assert [stop["target"] for stop in answer["stops"]] == [0.8, 0.9, 0.95]
    assert answer["curve"][0] == {"read": 0, "estimated": 0.0, "proved": 0.0}


def test_the_table_alone_says_how_much_is_left_in_every_language(client):
    number = begun(client, screening=True)
    page = client.get(f"/like/{number}", headers={"accept-language": "de"}).text
    assert "noch zu lesen" in page
    assert "aufhören bei" not in page


def test_a_screening_aims_at_another_share(client):
    number = begun(client, screening=True)
    page = client.post(f"/like/{number}/target", data={"target": "80"})
    assert "80 % of the relevant documents" in page.text
    answer = client.put(f"/api/v1/like/{number}/target", json={"target": 0.5}).json()
    assert [stop["target"] for stop in answer["stops"]] == [0.5, 0.8, 0.9, 0.95]
    plain = client.post("/api/v1/like", json={"examples": ["bees-1"]}).json()["number"]
    refused = client.put(f"/api/v1/like/{plain}/target", json={"target": 0.5})
    assert refused.status_code == 400


def test_a_saved_search_is_renamed_deleted_and_restored(client):
    number = begun(client)
    page = client.post(
        f"/like/{number}/manage", data={"act": "rename", "name": "hives"}
    )
    assert "<h1>hives</h1>" in page.text
    listed = client.post(f"/like/{number}/manage", data={"act": "delete"})
    assert f'href="/like/{number}"' not in listed.text
    assert "Deleted searches: 1" in listed.text
    assert client.get(f"/api/v1/like/{number}").status_code == 404
    assert begun(client, name="hives") != number  # the name is free again
    back = client.post(f"/like/{number}/manage", data={"act": "restore"})
    assert f'href="/like/{number}"' in back.text
    assert client.get(f"/api/v1/like/{number}").json()["name"] == "hives'"
    renamed = client.patch(f"/api/v1/like/{number}", json={"name": "old"})
    assert renamed.json()["name"] == "old"
    assert client.delete(f"/api/v1/like/{number}").status_code == 204
    again = client.post(f"/api/v1/like/{number}/restore")
    assert again.json()["name"] == "old"


def test_answers_are_listed_exported_and_labelled_by_a_filter(client, desk):
    number = begun(client)
    marks = {"new-2": "yes", "bread-1": "no", "birds-1": "skip"}
    client.post(f"/api/v1/like/{number}/mark", json={"marks": marks})
    for show, ids in {
        "relevant": ["bees-0", "new-2"], "rejected": ["bread-1"],
        "skipped": ["birds-1"], "answered": ["bees-0", "new-2", "bread-1", "birds-1"],
    }.items():  # fmt: skip
        page = client.get(f"/like/{number}/answered", params={"show": show})
        assert re.findall(r'<p class="soft small">(.*?)</p>', page.text) == ids
        table = client.get(f"/like/{number}/answered.csv", params={"show": show})
        rows = list(csv.DictReader(io.StringIO(table.text)))
        assert [row["id"] for row in rows] == ids
        call = client.get(f"/api/v1/like/{number}/answered?show={show}&format=csv")
        assert call.text == table.text
    client.post(f"/like/{number}/label", data={"label": "bees", "show": "relevant"})
    assert desk.state.labels["new-2"] == ("bees",)
    assert client.get(f"/like/{number}/answered.exe").status_code == 400


def test_a_small_collection_begins_with_a_lower_target(client, desk):
    page = client.get("/like").text
    assert 'name="target" value="80"' in page
    assert "43 % of them to prove a recall of 80 %" in page
    path = path_of(begin(client))
    client.post(f"{path}/screen")
    (rule,) = [
        search.settings["rule"]
        for number in (1, 2)
        if "rule" in (search := search_by_number(desk.store, number)).settings
    ]
    assert rule["target"] == 0.8
