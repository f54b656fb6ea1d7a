"""CSV and TSV: cells, labels, formulas, and the csv module left as it was."""

import csv
from pathlib import Path

import pytest

from classmark.corpus.documents import Document
from classmark.formats.records import Record
from classmark.formats.tables import read_delimited, rows, write_delimited
from classmark.problems import Mistake, UnreadableFile

FILES = Path(__file__).parent / "files"


def test_csv_columns():
    first, second = read_delimited(FILES / "catalogue.csv")
    assert first == Record(
        Document(
            "g1",
            {
                "title": "Pruning old apple trees",
                "body": "Cut in late winter,\nabove an outward bud.",
            },
        ),
        {"fruit": 2.0, "tools": 1.0},
        {"year": "1998"},
    )
    assert second.labels == {"herbs": 1.0, "indoors": 1.0}
    assert second.document.fields["body"] == 'Basil "sulks" in a draught.'
    assert second.links == (("g1", "winter work"),)


def test_tsv_with_another_separator():
    first, second = read_delimited(
        FILES / "catalogue.tsv", label_column="subjects", label_separator=";"
    )
    assert first.labels == {"fruit": 1.0, "tools": 1.0}
    assert second == Record(Document("g2", {"body": "Mint, never sulking."}))


@pytest.mark.parametrize("name", ["a.csv", "a.tsv", "a.csv.gz"])
def test_written_records_come_back(tmp_path, name):
    records = list(read_delimited(FILES / "catalogue.csv"))
    assert write_delimited(records, tmp_path / name, raw=True) == 2
    assert list(read_delimited(tmp_path / name)) == records


@pytest.mark.parametrize("start", ["=", "+", "-", "@", "\t", "\r"])
def test_formulas_are_disarmed_unless_raw(tmp_path, start):
    path = tmp_path / "a.csv"
    text = start + "cmd|' /C calc'!A0"
    write_delimited([Record(Document(text, {"body": text}), {}, {"m": text})], path)
    (_, row) = rows(path)
    assert [cell for cell in row[1] if cell] == ["'" + text] * 3
    write_delimited([Record(Document("a", {"body": text}))], path, raw=True)
    assert next(read_delimited(path)).document.fields == {"body": text}


def test_long_fields_and_no_trace_in_the_csv_module(tmp_path):
    path, long = tmp_path / "a.csv", "word " * 100_000
    before = csv.field_size_limit()
    write_delimited([Record(Document("a", {"body": long}))] * 1, path)
    reading = read_delimited(path)
    assert next(reading).document.fields["body"] == long
    assert csv.field_size_limit() == before


def test_columns_of_a_stream_are_those_of_its_first_record(tmp_path):
    records = [Record(Document("a", {"x": "1"})), Record(Document("b", {"y": "2"}))]
    path = tmp_path / "a.csv"
    write_delimited(records, path, raw=True)
    assert list(read_delimited(path)) == records
    with pytest.raises(Mistake, match="as a list"):
        write_delimited(iter(records), path)


@pytest.mark.parametrize(
    ("record", "message"),
    [
        (Record(Document("a"), {"x|y": 1.0}), "label_separator"),
        (Record(Document("a"), {"x": 3.0}), "grades 1 and 2"),
        (Record(Document("a", {" x": "y"})), "cannot name a column"),
        (Record(Document("a"), {}, {" x": "y"}), "cannot name a column"),
    ],
)
def test_what_a_table_cannot_hold_is_refused(tmp_path, record, message):
    with pytest.raises(Mistake, match=message):
        write_delimited([record], tmp_path / "a.csv")


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ("", 1, "empty"),
        ("id,id\n", 1, "two have the same"),
        ("id,body\na,b\n\nc\n", 4, "1 cells under 2"),
        ('id,body\na,"b\nc\n', 2, "close quotes"),
        ('id,body\na,"b"c\n', 2, "close quotes"),
        ("id,body\na,b\na,c\n", 3, "second time"),
        ("name,body\na,b\n", 2, "id_column"),
        ("id,links\na,[1\n", 2, "not JSON"),
        ("id,body\n,c\n", 2, "empty id"),
        ('id,links\na,"[], ""id"": ""b"""\n', 2, "one JSON list"),
    ],
)
def test_bad_rows_are_named(tmp_path, text, line, message):
    path = tmp_path / "a.csv"
    path.write_text(text)
    with pytest.raises(UnreadableFile, match=message) as caught:
        list(read_delimited(path))
    assert caught.value.line == line
