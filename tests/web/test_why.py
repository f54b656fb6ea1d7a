"""Why, by call and on the page: words and meaning, sentences and documents."""

import pytest

from classmark.web.serve import create_app
from classmark.workbench.settings import MeaningSettings
from projects import TREE, new_desk, parish

TEXT = "The committee met in the vestry. An apiarist told of beeswax and swarms!"
STATIC = MeaningSettings("static")
NEEDS = [pytest.mark.needs(n) for n in ("tokenizers", "safetensors", "wordllama")]


@pytest.fixture
def desk(request, tmp_path):
    """A project that ranks by words and meaning, or (``words``) by words alone."""
    words = getattr(request, "param", "") == "words"
    documents = parish(decided=True, waiting=True)
    how = {} if words else {"meaning": STATIC}
    with new_desk(tmp_path / "both", documents, TREE, trained=True, **how) as desk:
        yield desk


words_alone = pytest.mark.parametrize("desk", ["words"], indirect=True)


class TestWithAStaticTable:
    pytestmark = NEEDS

    def test_a_suggestion_is_parted_and_explained(self, reader):
        answer = reader.post("/suggest", {"text": TEXT, "top": 1, "why": 1})
        (best,) = answer.json()["suggestions"]
        assert best["category"] == "bees"
        asked = {"text": TEXT, "category": "bees"}
        answer = reader.post("/suggest/why", asked)
        assert answer.status_code == 200, answer.text
        reasons = answer.json()
        assert reasons["words"] == pytest.approx(best["words"])
        assert reasons["meaning"] == pytest.approx(best["meaning"])
        assert reasons["path"] == ["Nature", "Bees"]
        first = reasons["sentences"][0]
        assert first["sentence"] == "An apiarist told of beeswax and swarms!"
        assert first["part"] > 0
        assert len(reasons["documents"]) == 3
        assert reasons["documents"][0].keys() == {"document", "title", "cosine"}
        assert reasons["note"] == ""

    def test_a_document_is_explained_by_others(self, reader):
        asked = {"document": "bees-3", "category": "bees"}
        found = reader.post("/suggest/why", asked).json()
        assert "bees-3" not in [each["document"] for each in found["documents"]]
        sheet = reader.get("/sheet/new-2").json()
        ranked = [each for each in sheet["choices"] if each["rank"] is not None]
        assert ranked
        assert all(choice["meaning"] is not None for choice in ranked)

    def test_what_is_not_there_is_refused(self, reader):
        asked = {"text": TEXT, "category": "ships"}
        assert reader.post("/suggest/why", asked).status_code == 404
        asked = {"document": "none", "category": "bees"}
        assert reader.post("/suggest/why", asked).status_code == 404
        assert reader.post("/suggest/why", {"category": "bees"}).status_code == 400

    def test_the_page_tells_both_and_reads_the_rest_when_asked(self, client):
        page = client.get("/decide/new-2").text
        assert 'data-meaning="bees"' in page
        assert " from words</summary>" in page
        assert "% similar" not in page
        asked = {"document": "new-2", "category": "bees"}
        part = client.get("/why", params=asked)
        assert part.status_code == 200
        assert part.text.count("% similar") == 3
        assert "<q data-sentence>A note on" in part.text
        assert client.get("/why", params={**asked, "category": "x"}).status_code == 400


@words_alone
def test_words_alone_have_nothing_of_it(reader, client):
    (best,) = reader.post("/suggest", {"text": "hive", "top": 1, "why": 1}).json()[
        "suggestions"
    ]
    assert best["words"] is best["meaning"] is None
    found = reader.post("/suggest/why", {"text": "hive", "category": "bees"}).json()
    assert found["meaning"] is None
    assert found["note"] == "the model ranks by words alone"
    page = client.get("/decide/new-2").text
    assert "data-meaning" not in page
    assert "<kbd>m</kbd>" not in page


@words_alone
def test_the_description_tells_what_the_numbers_are(desk):
    schemas = create_app(desk).openapi()["components"]["schemas"]
    for name in ("Explained", "MeaningReasons"):
        assert {"words", "meaning"} <= schemas[name]["properties"].keys()
    assert "null" in str(schemas["Explained"]["properties"]["meaning"])
