"""Documents put in the tree as deep as can be said: the call, the page, accepting."""

import html
import re

import pytest
from starlette.testclient import TestClient

from classmark.taxonomy.category import Category
from classmark.web.serve import create_app
from projects import new_desk, records_of
from web.conftest import ADDRESS, csrf_of, program

LEAVES = {
    "bread": "dough oven loaf", "cakes": "sugar icing sponge",
    "bees": "hive comb honey", "birds": "nest song feather",
}  # fmt: skip
TREE = [("crafts", ()), ("nature", ())] + [
    (leaf, ("crafts" if leaf in ("bread", "cakes") else "nature",)) for leaf in LEAVES
]


@pytest.fixture
def desk(tmp_path):
    """A desk over a tree of two levels, with places learned and four that wait."""
    rows = [
        {"id": f"{leaf}-{at}", "text": f"{words} number {at}", "labels": [leaf]}
        for leaf, words in LEAVES.items()
        for at in range(15)
    ]
    rows += [{"id": f"w-{leaf}", "text": words} for leaf, words in LEAVES.items()]
    tree = [Category(id_, id_.title(), parents=parents) for id_, parents in TREE]
    with new_desk(tmp_path / "p", records_of(rows), tree, trained=True) as desk:
        yield desk


@pytest.fixture
def app(desk):
    return create_app(desk)


def places(answer):
    assert answer.status_code == 200, answer.text
    return {each["document"]: each for each in answer.json()["places"]}


def test_what_waits_is_placed_and_nothing_is_written(reader, desk):
    acts = len(list(desk.store.log()))
    answer = reader.post("/place", {"precision": 0.8})
    put = places(answer)
    assert set(put) == {f"w-{leaf}" for leaf in LEAVES}
    assert put["w-bees"]["path"][0] == "Nature"
    assert put["w-bees"]["category"] in {"bees", "nature"}
    assert 0.5 < put["w-bees"]["probability"] <= 1
    assert (
        "80 % of all documents placed are to be right, at a right"
        in answer.json()["note"]
    )
    assert len(list(desk.store.log())) == acts


def test_documents_may_be_named(reader):
    put = places(reader.post("/place", {"documents": ["w-bread", "bees-1"]}))
    assert list(put) == ["w-bread", "bees-1"]
    missing = reader.post("/place", {"documents": ["ghost"]})
    assert missing.status_code == 404
    for body in ({"precision": 1}, {"precision": 0}, {"top": 0}, {"top": 1001}):
        assert reader.post("/place", body).status_code == 400


def test_places_are_accepted_and_the_log_says_so(ada, desk):
    put = places(ada.post("/place", {"precision": 0.8}))["w-bees"]
    guess = {
        "document": "w-bees", "category": put["category"],
        "score": put["probability"], "version": put["version"],
    }  # fmt: skip
    body = {"guesses": [guess], "least": 0.8, "places": True}
    assert ada.post("/accept", body).json()["left"] == []
    assert list(desk.store.labels()["w-bees"]) == [put["category"]]
    line = ada.get("/history", document="w-bees").json()["lines"][0]
    assert line["note"] == "placed at once, 80 % of such places are to be right"


def test_the_page_offers_places_and_takes_them(app, desk):
    with TestClient(app, base_url=ADDRESS) as browser:
        browser.post("/enter", data={"code": app.state.doors.code})
        browser.headers["X-CSRF"] = csrf_of(app, browser)
        assert "Place in bulk" in browser.get("/inbox").text
        page = browser.get("/inbox/place", params={"precision": 0.8})
        assert page.status_code == 200
        picks = re.findall(r'name="pick" value="([^"]*)"', page.text)
        assert picks
        form = {"pick": html.unescape(picks[0]), "least": "0.8", "places": "true"}
        done = browser.post("/inbox/accept", data=form)
        assert "1 document accepted" in done.text
        assert browser.get("/inbox/place?precision=1").status_code == 400
        assert sum(id_.startswith("w-") for id_ in desk.store.labels()) == 1


def test_a_model_that_knows_no_places_says_what_to_do(tmp_path):
    with new_desk(tmp_path / "bare", trained=False) as desk:
        caller = program(create_app(desk), desk, "ada", "classifier")
        refused = caller.post("/place", {})
        assert refused.status_code == 400
        assert refused.json()["error"]["remedy"].endswith("call POST /train")
