"""TIME and LISA as they are distributed with SMART; judgments told by their lines."""

from pathlib import Path

import pytest

from classmark.formats import read_records
from classmark.formats.judged_runs import judgment_format, read_judgments, read_topics
from classmark.formats.test_collections import read_lisa, read_time
from classmark.problems import UnreadableFile

FILES = Path(__file__).parent / "files"


def test_documents_of_time_are_counted_as_its_judgments_count_them():
    first, second = read_records(FILES / "almanac.ALL")
    assert (first.id, second.id) == ("1", "2")
    assert first.meta == {"number": "017", "date": "01/04/63", "page": "020"}
    assert second.document.text == "A CAFÉ OPENED BESIDE THE HARBOUR ."


def test_files_of_time_in_either_encoding(tmp_path):
    text = (FILES / "almanac.ALL").read_text(encoding="utf-8")
    (tmp_path / "old.all").write_text(text, encoding="latin-1")
    here = [record.document for record in read_records(FILES / "almanac.ALL")]
    assert [record.document for record in read_records(tmp_path / "old.all")] == here


def test_documents_of_lisa_have_titles():
    first, second = read_records(FILES / "LISA0.001")
    assert first.document.fields == {
        "title": "HONEY IN THE LIBRARY. A\nSHORT ACCOUNT.",
        "body": "A HIVE STANDS ON THE ROOF OF THE LIBRARY.\n\nITS HONEY IS SOLD.",
    }
    assert second.document.fields["body"] == "TREES BY VARIETY."


def test_queries():
    assert read_topics(FILES / "almanac.QUE") == {
        "1": "MEETINGS OF KEEPERS OF\nBEES .",
        "2": "CAFÉS .",
    }
    assert read_topics(FILES / "LISA.QUE") == {
        "1": "I AM INTERESTED IN BEES THAT\nLIVE ON ROOFS.",
        "2": "ORCHARDS",
    }


def test_judgments():
    assert read_judgments(FILES / "almanac-time.REL") == {
        "1": {"1": 1.0},
        "2": {"1": 1.0, "2": 1.0},
        "3": {"1": 1.0, "2": 1.0, "4": 1.0, "5": 1.0},
    }
    assert read_judgments(FILES / "lisa-almanac.rel") == {
        "1": {"1": 1.0},
        "2": {"1": 1.0, "2": 1.0, "7": 1.0},
    }


@pytest.mark.parametrize(
    ("lines", "name"),
    [
        (" 1  28  0 0.000000\n 1  35  0 0.000000\n", "smart"),
        ("01 1410  0 0\n", "smart"),
        ("1 0 28 1\n1 0 35 0\n", "trec"),
        ("1 0 0 0\n", "trec"),
        ("q1 0 d7 1\n", "trec"),
        ("1 28 1\n", "trec"),
        ("1 3 5 9 11\n2 7\n", "time"),
        ("\nQuery 1\n2 Relevant Refs:\n3 4 -1\n", "lisa"),
    ],
)
def test_judgments_are_told_by_their_lines_whatever_their_name(tmp_path, lines, name):
    for file in ("judged.txt", "judged.qrels", "JUDGED.REL"):
        (tmp_path / file).write_text(lines)
        assert judgment_format(tmp_path / file) == name


@pytest.mark.parametrize(
    ("read", "text", "problem"),
    [
        (read_time, "A LINE\n*TEXT 017\n", "before a header"),
        (read_lisa, "Document 1\nTITLE\n\nTEXT\n", "is not ended"),
        (read_lisa, "A LINE\n", "where Document NUMBER should stand"),
    ],
)
def test_what_is_no_such_file_is_refused(tmp_path, read, text, problem):
    (tmp_path / "file").write_text(text)
    with pytest.raises(UnreadableFile, match=problem):
        list(read(tmp_path / "file"))
