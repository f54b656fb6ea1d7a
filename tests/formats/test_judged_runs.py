"""Topics and judgments in the shapes they come in."""

from pathlib import Path

import pytest

from classmark.formats.judged_runs import (
    judgment_format,
    read_judgments,
    read_run_table,
    read_topics,
)
from classmark.problems import Mistake, UnreadableFile

FILES = Path(__file__).parent / "files"
EXPECTED = {"q1": {"d1": 1.0, "d2": 0.0}, "q2": {"d1": 2.0}}


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.qrels", "q1 0 d1 1\nq1 0 d2 0\nq2 0 d1 2\n"),
        ("a.txt", "q1 d1 1\nq1 d2 0\n\nq2 d1 2\n"),
        ("a.tsv", "query-id\tcorpus-id\tscore\nq1\td1\t1\nq1\td2\t0\nq2\td1\t2\n"),
        ("a.csv", "query,document,grade\nq1,d1,1\nq1,d2,0\nq2,d1,2\n"),
    ],
)
def test_grades_are_read_in_three_or_four_columns(tmp_path, name, text):
    (tmp_path / name).write_text(text)
    assert read_judgments(tmp_path / name) == EXPECTED


def test_judgments_of_test_collections_are_known_by_their_names(tmp_path):
    smart = read_judgments(FILES / "garden.cranqrel")
    assert smart["1"] == {"1": 4.0, "3": 1.0}  # code 1 is the best
    assert smart["2"]["2"] == 0.0
    (tmp_path / "rlv-ass").write_bytes((FILES / "pond-rlv").read_bytes())
    assert read_judgments(tmp_path / "rlv-ass")["1"] == {"1": 1.0, "7": 1.0}
    (tmp_path / "cranqrel.trec.txt").write_text("1 0 184 1\n")
    assert read_judgments(tmp_path / "cranqrel.trec.txt") == {"1": {"184": 1.0}}
    assert read_judgments(FILES / "beir")
    assert judgment_format(FILES / "beir") == "beir"


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.csv", "query,winner,loser\nq1,d1,d2\nq1,d3,d2\n"),
        ("a.tsv", "winner\tloser\tquery\nd1\td2\tq1\nd3\td2\tq1\n"),
        (
            "a.jsonl",
            (
                '{"query": "q1", "winner": "d1", "loser": "d2"}\n'
                '{"query": "q1", "winner": "d3", "loser": "d2"}\n'
            ),
        ),
        ("a.pairs", "q1 d1 d2\nq1 d3 d2\n"),
    ],
)
def test_pairs_are_read_from_tables_and_lines(tmp_path, name, text):
    (tmp_path / name).write_text(text)
    assert read_judgments(tmp_path / name) == {"q1": [("d1", "d2"), ("d3", "d2")]}
    if name == "a.pairs":
        (tmp_path / "b").write_text(text)
        assert read_judgments(tmp_path / "b", "pairs")


@pytest.mark.parametrize(
    ("name", "text", "problem"),
    [
        ("a.qrels", "q 0 d 1\nq 0 e 1\nq 0 d x\n", "line 3: query, document and grade"),
        ("a.qrels", "q 0 d 1\nq 0 d 2\n", "a.qrels: query 'q', document 'd': both"),
        ("a.qrels", "", "nothing in it"),
        ("a.pairs", "q d d\n", "line 1: query 'q': 'd' cannot be above itself"),
        ("a.csv", "query,winner,loser\nq,a,b\nq,b,a\n", "line 3: query 'q', 'b' over"),
        ("a.pairs", "q a\n", "line 1: not 'query winner loser'"),
        ("a.csv", "query,winner,loser,weight\nq,a,b,2\n", "line 2: unknown 'weight'"),
        ("a.pairs", "q a b\nq b a\n", "line 2: query 'q', 'b' over 'a'"),
    ],
)
def test_bad_judgments_are_refused_with_their_place(tmp_path, name, text, problem):
    (tmp_path / name).write_text(text)
    with pytest.raises(Mistake, match=problem):
        read_judgments(tmp_path / name)


def test_an_unknown_format_of_judgments_is_refused_with_those_there_are(tmp_path):
    with pytest.raises(Mistake, match="trec, smart, time, lisa, npl, beir, pairs"):
        read_judgments(tmp_path / "a", "excel")


TOPICS = {"1": "bees in winter", "2": "honey"}


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.tsv", "1\tbees in winter\n2\thoney\n"),
        ("a.tsv", "id\tquery\n1\tbees in winter\n2\thoney\n"),
        ("a.csv", "1,bees in winter\n2,honey\n"),
        ("a.csv", "qid,query\n1,bees in winter\n2,honey\n"),
        ("a.txt", "1\tbees in winter\n2\thoney\n"),
        ("a.jsonl", '{"id": 1, "text": "bees in winter"}\n{"id": 2, "text": "honey"}'),
        (
            "a.jsonl",
            '{"qid": 1, "query": "bees in winter"}\n{"qid": 2, "query": "honey"}',
        ),
        (
            "a.jsonl",
            (
                '{"_id": "1", "text": "bees in winter", "metadata": {}}\n'
                '{"_id": "2", "text": "honey", "metadata": {}}\n'
            ),
        ),
        ("a", ".I 1\n.W\nbees in winter\n.I 2\n.W\nhoney\n"),
        (
            "topics.1-2",
            (
                "<top>\n<num> Number: 1\n<title> bees in winter\n</top>\n"
                "<top>\n<num> Number: 2\n<title> honey\n</top>\n"
            ),
        ),
        ("cran.qry", ".I 007\n.W\nbees in winter\n.I 009\n.W\nhoney\n"),
        (
            "a.xml",
            (
                '<?xml version="1.0"?>\n<topics task="x">\n<topic number="1">\n'
                "<query>bees in\nwinter</query></topic>\n"
                '<topic number="2"><query>honey</query></topic>\n</topics>\n'
            ),
        ),
        (
            "a.topics",
            (
                "<topics><topic><num>1</num>bees in winter</topic>\n"
                '<topic id="2">honey</topic></topics>\n'
            ),
        ),
        ("a.txt", "1:bees in winter\n\n2: honey\n"),
    ],
)
def test_topics_are_told_by_their_first_line(tmp_path, name, text):
    (tmp_path / name).write_text(text)
    assert read_topics(tmp_path / name) == TOPICS


@pytest.mark.parametrize(
    ("name", "text", "problem"),
    [
        ("a.xml", "<topics><topic>x</topic></topics>", "an empty id"),
        ("a.xml", "<topics><topic number='1'>x</topics>", "line 1: not XML"),
        ("a.doc", "bees\n", "topics of which format.* one of trec-topics, .*id:query$"),
    ],
)
def test_topics_that_cannot_be_read_are_refused(tmp_path, name, text, problem):
    (tmp_path / name).write_text(text)
    with pytest.raises(Mistake, match=problem):
        read_topics(tmp_path / name)
    (tmp_path / "b.txt").write_text("1:bees\n2\n")
    with pytest.raises(UnreadableFile, match="line 2: not 'id:query'"):
        read_topics(tmp_path / "b.txt", "id:query")


@pytest.mark.parametrize("encoding", ["utf-16", "utf-8-sig", "latin-1"])
def test_judgments_topics_and_runs_are_read_in_the_encodings_they_come_in(
    tmp_path, encoding
):
    (tmp_path / "a.qrels").write_bytes("q1 0 dö 1\n".encode(encoding))
    assert read_judgments(tmp_path / "a.qrels") == {"q1": {"dö": 1.0}}
    (tmp_path / "a.run").write_bytes("q1 Q0 dö 1 2.5 me\n".encode(encoding))
    assert read_run_table(tmp_path / "a.run") == {"q1": {"dö": 2.5}}
    (tmp_path / "a.pairs").write_bytes("q1 dö e\n".encode(encoding))
    assert read_judgments(tmp_path / "a.pairs") == {"q1": [("dö", "e")]}
    topics = "<top>\n<num> 1\n<title> Öl\n</top>\n".encode(encoding)
    (tmp_path / "a.topics").write_bytes(topics)
    assert read_topics(tmp_path / "a.topics") == {"1": "Öl"}


def test_some_fields_of_topics_can_be_chosen(tmp_path):
    path = tmp_path / "t.topics"
    path.write_text("<top>\n<num> 1\n<title> bees\n<desc> bees in winter\n</top>\n")
    assert read_topics(path, fields=["title"]) == {"1": "bees"}
    assert read_topics(path, fields=["description"]) == {"1": "bees in winter"}
    assert read_topics(path) == {"1": "bees\nbees in winter"}
    with pytest.raises(
        Mistake, match="topic '1' has no field 'narrative': it has title"
    ):
        read_topics(path, fields=["narrative"])
    assert list(read_topics(FILES / "beir")) == ["q1"]


def test_topics_without_any_are_refused(tmp_path):
    (tmp_path / "a.csv").write_text("id,query\n")
    with pytest.raises(UnreadableFile, match=r"a\.csv"):
        read_topics(tmp_path / "a.csv")
    (tmp_path / "b.csv").write_text("1,bees,wax\n")
    with pytest.raises(UnreadableFile, match="line 1: 3 cells"):
        read_topics(tmp_path / "b.csv")


def test_a_run_keeps_the_order_of_its_file(tmp_path):
    path = tmp_path / "a.run"
    path.write_text("q Q0 b 1 2 x\nq Q0 a 2 2 x\n")
    assert list(read_run_table(path)["q"]) == ["b", "a"]
