"""SMART collections and their judgments."""

from pathlib import Path

import pytest

from classmark.corpus.documents import Document
from classmark.formats.records import Judgment, Record, gather
from classmark.formats.test_collections import (
    read_qrels,
    read_smart,
    read_smart_judgments,
)
from classmark.problems import UnreadableFile

FILES = Path(__file__).parent / "files"


def test_markers():
    first, empty, third = read_smart(FILES / "garden.all")
    assert first == Record(
        Document(
            "1",
            {
                "title": "soil and patience",
                "author": "digger, d.\nmole, m.",
                "body": "clay warms late .\n.5 of the bed was sown in may .",
            },
        ),
        {"2.1": 1.0, "4.6": 1.0},
        {"source": "the garden gate 3, 1961, 4.", "note": "entered in spring"},
        (("3", ""),),
    )
    assert empty == Record(Document("2"))
    assert third.document.fields == {
        "body": "first part\nsecond part",
        "keywords": "hoe, rake",
    }


def test_queries_by_number_or_by_order():
    assert [q.id for q in read_smart(FILES / "garden.qry")] == ["4", "10"]
    counted = list(read_smart(FILES / "garden.qry", ordinal=True))
    assert [q.id for q in counted] == ["1", "2"]
    assert counted[0].document.text == "when does clay warm"


def test_judgments():
    assert list(read_smart_judgments(FILES / "garden.cranqrel")) == [
        Judgment("1", "1", 4.0),
        Judgment("1", "3", 1.0),
        Judgment("2", "2", 0.0),
    ]
    assert list(read_smart_judgments(FILES / "garden.rel")) == [
        Judgment("1", "3", 1.0),
        Judgment("2", "1", 1.0),
    ]


@pytest.mark.parametrize(
    ("text", "line"), [("words\n", 1), (".T\n", 1), (".I 1\nwords\n", 2)]
)
def test_text_before_a_marker_is_named(tmp_path, text, line):
    (tmp_path / "a.all").write_text(text)
    with pytest.raises(UnreadableFile, match="before a marker") as caught:
        list(read_smart(tmp_path / "a.all"))
    assert caught.value.line == line


@pytest.mark.parametrize("row", ["1 2", "a 2 1", "1 2 7", "1 2 1 1", "1 2 0 0 0"])
def test_bad_judgments_are_named(tmp_path, row):
    (tmp_path / "a.rel").write_text(f"1 1 2\n{row}\n")
    with pytest.raises(UnreadableFile, match="line 2"):
        list(read_smart_judgments(tmp_path / "a.rel"))


@pytest.mark.parametrize(
    ("documents", "queries", "judgments", "sizes"),
    [
        ("cran.all.1400", "cran.qry", "cranqrel", (1_400, 225, 1_837, 225)),
        ("cacm.all", "query.text", "qrels.text", (3_204, 64, 796, 52)),
        ("ADI.ALL", "ADI.QRY", "ADI.REL", (82, 35, 170, 35)),
    ],
    ids=["cranfield", "cacm", "adi"],
)
def test_real_collections(data, request, documents, queries, judgments, sizes):
    folder = data / request.node.callspec.id
    ordinal = documents.startswith("cran")
    ids = {record.id for record in read_smart(folder / documents)}
    asked = {record.id for record in read_smart(folder / queries, ordinal=ordinal)}
    judged = list(read_smart_judgments(folder / judgments))
    assert (len(ids), len(asked), len(judged), len({j.query for j in judged})) == sizes
    assert {j.query for j in judged} <= asked
    assert {j.document for j in judged} <= ids


def test_cranfield_agrees_with_its_trec_form(data):
    """Relevant or not, that is: the TREC form keeps no codes."""
    own = gather(read_smart_judgments(data / "cranfield" / "cranqrel"))
    other = gather(read_qrels(data / "cranfield" / "cranqrel.trec.txt"))
    assert relevant(own) == relevant(other)
    assert sum(map(len, relevant(own).values())) == 1_837 - 225


def relevant(judged):
    return {
        query: {document for document, grade in grades.items() if grade > 0}
        for query, grades in judged.items()
    }


def test_cacm_has_categories_and_citations(data):
    records = list(read_smart(data / "cacm" / "cacm.all"))
    assert sum(bool(record.labels) for record in records) == 1_425
    linked = {record.id: {to for to, _ in record.links} for record in records}
    assert sum(map(len, linked.values())) == 5_440
    assert all(name in linked[to] for name, links in linked.items() for to in links)
