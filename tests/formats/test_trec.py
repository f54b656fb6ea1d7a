"""TREC documents, topics, qrels and runs."""

from pathlib import Path

import pytest

from classmark.corpus.documents import Document
from classmark.formats.records import Judgment, Record, Retrieved, gather
from classmark.formats.test_collections import (
    read_qrels,
    read_run,
    read_trec,
    read_trec_topics,
    write_qrels,
    write_run,
)
from classmark.problems import Mistake, UnreadableFile

FILES = Path(__file__).parent / "files"


def test_documents():
    tagged, bare, small = read_trec(FILES / "allotment.trec")
    assert tagged == Record(
        Document(
            "AL-001",
            {
                "title": "Sheds & their roofs",
                "body": "Tar paper lasts three winters.",
            },
        ),
        {},
        {"date": "May 1, 1990"},
    )
    assert bare.document.fields == {"body": "Untagged words, if 3 < 4."}
    assert small == Record(Document("AL-003", {"body": "One line."}))


def test_topics_closed_and_not():
    open_, closed = read_trec_topics(FILES / "allotment.topics")
    assert open_ == Record(
        Document(
            "051",
            {
                "title": "Shed roofs",
                "description": "What keeps the rain\nout of a shed?",
                "narrative": "A relevant text names a material: tar, slate or turf.",
                "domain": "Gardens",
            },
        )
    )
    assert closed == Record(Document("52", {"title": "Rats"}))


def test_qrels_in_and_out(tmp_path):
    judged = list(read_qrels(FILES / "allotment.qrels"))
    assert judged == [
        Judgment("51", "AL-001", 2.0),
        Judgment("51", "AL-002", 0.0),
        Judgment("52", "AL-003", 1.0),
    ]
    assert write_qrels(judged, tmp_path / "a.qrels") == 3
    assert list(read_qrels(tmp_path / "a.qrels")) == judged
    (tmp_path / "b.qrels").write_text("E11 2286 1\n")
    assert list(read_qrels(tmp_path / "b.qrels", columns=3)) == [
        Judgment("E11", "2286", 1.0)
    ]


def test_runs_in_and_out(tmp_path):
    lines = list(read_run(FILES / "allotment.run"))
    assert lines[1] == Retrieved("51", "AL-003", -0.001, 2, "first")
    run = gather(lines)
    assert run == {"51": {"AL-001": 9.25, "AL-003": -0.001}, "52": {"AL-003": 4.0}}
    assert write_run(run, tmp_path / "a.run", name="first") == 3
    assert list(read_run(tmp_path / "a.run")) == lines


def test_runs_are_sorted_and_equal_scores_stay_as_they_are(tmp_path):
    path = tmp_path / "a.run"
    write_run({"q": {"c": 1.0, "b": 2.5, "a": 1.0}}, path)
    assert path.read_text() == (
        "q Q0 b 1 2.5 classmark\nq Q0 c 2 1 classmark\nq Q0 a 3 1 classmark\n"
    )


@pytest.mark.parametrize(
    "row", ["q Q0 d 1 2", "q Q0 d x 2 r", "q Q0 d 1 x r", "q Q0 d 1 nan r"]
)
def test_bad_runs_are_named(tmp_path, row):
    (tmp_path / "a.run").write_text(f"q Q0 d 1 2 r\n{row}\n")
    with pytest.raises(UnreadableFile, match=r"a\.run, line 2"):
        list(read_run(tmp_path / "a.run"))


@pytest.mark.parametrize("row", ["q 0 d", "q 0 d x", "q 0 d inf", "q 0 d 1 1"])
def test_bad_qrels_are_named(tmp_path, row):
    (tmp_path / "a.qrels").write_text(f"q 0 d 1\n{row}\n")
    with pytest.raises(UnreadableFile, match=r"a\.qrels, line 2"):
        list(read_qrels(tmp_path / "a.qrels"))


def test_what_cannot_be_written_is_refused(tmp_path):
    with pytest.raises(Mistake, match="blanks"):
        write_run({"q 1": {"d": 1.0}}, tmp_path / "a.run")
    with pytest.raises(Mistake, match="finite"):
        write_run({"q": {"d": float("nan")}}, tmp_path / "a.run")
    with pytest.raises(Mistake, match="blanks"):
        write_qrels([Judgment("q", "", 1.0)], tmp_path / "a.qrels")
    with pytest.raises(Mistake, match="columns=5"):
        list(read_qrels(tmp_path / "a.qrels", columns=5))


def test_contradictions_are_refused():
    same = [Judgment("q", "d", 1.0)] * 2
    assert gather(same) == {"q": {"d": 1.0}}
    with pytest.raises(Mistake, match="both"):
        gather([*same, Judgment("q", "d", 2.0)])


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ("<DOC>\n<DOCNO>1</DOCNO>", 1, "not closed"),
        ("<DOC>\n</DOC>", 1, "empty id"),
        ("words\n<DOC></DOC>", 1, "outside <DOC>"),
        ("<DOC><DOCNO>1</DOCNO></DOC>\n<DOC><DOCNO>1</DOCNO></DOC>", 2, "second time"),
    ],
)
def test_bad_documents_are_named(tmp_path, text, line, message):
    (tmp_path / "a.trec").write_text(text)
    with pytest.raises(UnreadableFile, match=message) as caught:
        list(read_trec(tmp_path / "a.trec"))
    assert caught.value.line == line


@pytest.mark.parametrize("text", ["<top></top>", "<top><title>Rats</top>"])
def test_topics_without_a_number_are_named(tmp_path, text):
    (tmp_path / "a.topics").write_text("\n" + text)
    with pytest.raises(UnreadableFile, match="line 2: an empty id"):
        list(read_trec_topics(tmp_path / "a.topics"))


def test_label_file_of_rcv1(data):
    path = data / "rcv1-v2-topics" / "rcv1-v2.topics.qrels"
    documents, topics, count = set(), set(), 0
    for topic, document, _ in read_qrels(path, columns=3):
        documents.add(document)
        topics.add(topic)
        count += 1
    assert (count, len(documents), len(topics)) == (2_606_875, 804_414, 103)
