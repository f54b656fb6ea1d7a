"""NPL's slash-separated blocks."""

from pathlib import Path

import pytest

from classmark.corpus.documents import Document
from classmark.formats.records import Judgment, Record
from classmark.formats.test_collections import (
    read_npl,
    read_npl_judgments,
    read_qrels,
    read_trec,
    read_trec_topics,
)
from classmark.problems import UnreadableFile

FILES = Path(__file__).parent / "files"


def test_blocks():
    assert list(read_npl(FILES / "pond-text")) == [
        Record(Document("1", {"body": "frogs return in march\nif the ice is gone"})),
        Record(Document("2")),
        Record(Document("7", {"body": "newts / and water beetles"})),
    ]
    assert list(read_npl_judgments(FILES / "pond-rlv")) == [
        Judgment("1", "1", 1.0),
        Judgment("1", "7", 1.0),
        Judgment("2", "7", 1.0),
    ]


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ("words\n/\n", 1, "should begin a block"),
        ("1\nwords\n", 1, "not ended"),
        ("1\n/\n1\n/\n", 3, "second time"),
    ],
)
def test_bad_blocks_are_named(tmp_path, text, line, message):
    (tmp_path / "a").write_text(text)
    with pytest.raises(UnreadableFile, match=message) as caught:
        list(read_npl(tmp_path / "a"))
    assert caught.value.line == line


def test_bad_judgments_are_named(tmp_path):
    (tmp_path / "a").write_text("1\n 4 5\n 6 x\n/\n")
    with pytest.raises(UnreadableFile, match="line 3"):
        list(read_npl_judgments(tmp_path / "a"))


def test_vaswani_agrees_with_its_trec_form(data):
    folder = data / "npl-vaswani"
    own = {r.id: r.document.text for r in read_npl(folder / "doc-text")}
    assert len(own) == 11_429
    assert own == {
        r.id: r.document.text for r in read_trec(folder / "trec" / "doc-text.trec")
    }
    asked = {r.id: r.document.text.split() for r in read_npl(folder / "query-text")}
    assert len(asked) == 93
    topics = read_trec_topics(folder / "trec" / "query-text.trec")
    assert asked == {r.id: r.document.text.split() for r in topics}
    judged = list(read_npl_judgments(folder / "rlv-ass"))
    assert len(judged) == 2_083
    assert set(judged) == set(read_qrels(folder / "trec" / "qrels"))
