"""Documents like one on the desk: by cosine, with their labels, without itself."""

import numpy as np
import pytest

from classmark.arrays import rows_from
from classmark.corpus.documents import Document
from classmark.formats.records import Record
from classmark.problems import Mistake
from classmark.workbench.deciding.similar import alike, cosines_to, nearly_same
from classmark.workbench.files.importing import import_records
from projects import new_desk

TEXTS = {
    "one": "honey from the hive of a keeper",
    "two": "the keeper sells honey and wax from every hive",
    "three": "a wren sings on the wall",
    "four": "wax candles, dipped by hand " + "in a shed behind the church " * 12,
}


@pytest.fixture
def desk(tmp_path):
    rows = [
        {"id": id_, "text": text, "labels": ["bees"] if id_ == "two" else []}
        for id_, text in TEXTS.items()
    ]
    with new_desk(tmp_path / "notes", rows) as desk:
        yield desk


def test_the_most_alike_comes_first_and_itself_never(desk):
    found = alike(desk, "one")
    assert [each.document for each in found][:1] == ["two"]
    assert "one" not in [each.document for each in found]
    assert found[0].labels == ("bees",)
    assert 0 < found[0].cosine < 1


def test_a_long_text_is_cut_at_a_word(desk):
    (found,) = [each for each in alike(desk, "two") if each.document == "four"]
    assert found.beginning.endswith(" …")
    assert len(found.beginning) < 170
    assert found.title == "four"


def test_nothing_in_common_is_not_alike(desk):
    assert "three" not in [each.document for each in alike(desk, "one")]


def test_a_document_that_is_not_there(desk):
    with pytest.raises(Mistake, match="nobody"):
        alike(desk, "nobody")


def test_what_is_nearly_the_same(desk):
    again = Document("again", {"text": TEXTS["two"] + "; by a wren"})
    with desk.writing() as project:
        import_records(project, [Record(again)], "more notes")
    desk.look_again()
    assert [each.document for each in nearly_same(desk, "two")] == ["again"]
    assert nearly_same(desk, "three") == []


def test_nobody_waits_for_a_large_collection_to_be_read(desk, monkeypatch):
    again = Document("again", {"text": TEXTS["two"]})
    with desk.writing() as project:
        import_records(project, [Record(again)], "more notes")
    desk.look_again()
    monkeypatch.setattr("classmark.workbench.deciding.similar.AT_ONCE", 2)
    assert nearly_same(desk, "two") == []
    alike(desk, "two")
    assert [each.document for each in nearly_same(desk, "two")] == ["again"]


def test_cosines_are_products_of_unit_rows():
    rng = np.random.default_rng(7)
    X = rng.random((6, 5)) * (rng.random((6, 5)) < 0.6)
    X /= np.maximum(np.linalg.norm(X, axis=1, keepdims=True), 1e-12)
    for at in range(6):
        expected = [sum(a * b for a, b in zip(x, X[at], strict=True)) for x in X]
        assert cosines_to(rows_from(X), at).tolist() == pytest.approx(expected)
