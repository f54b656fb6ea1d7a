"""What holds the answer is never text: keys that mean labels; numbers are facts."""

import json

import pytest

from classmark.corpus.documents import Document
from classmark.formats import read_records
from classmark.formats.jsonl import Keys, read_jsonl, record_from, write_jsonl
from classmark.formats.records import Record
from classmark.formats.tables import (
    read_delimited,
    read_parquet,
    write_delimited,
    write_parquet,
)
from classmark.formats.text_files import FilePlace
from classmark.problems import UnreadableFile

ALIKE = ["label", "category", "Category", "categories", "subjects", "class", "CLASSES"]


def from_jsonl(tmp_path, row):
    path = tmp_path / "a.jsonl"
    path.write_text(json.dumps(row))
    (record,) = read_records(path)
    return record


def from_csv(tmp_path, row):
    path = tmp_path / "a.csv"
    path.write_text(",".join(row) + "\n" + ",".join(map(str, row.values())) + "\n")
    (record,) = read_records(path)
    return record


@pytest.mark.parametrize("key", ALIKE)
@pytest.mark.parametrize("read", [from_jsonl, from_csv])
def test_a_key_that_means_labels_is_read_as_labels(tmp_path, read, key):
    record = read(tmp_path, {"id": "1", "text": "honey", key: "bees"})
    assert record.labels == {"bees": 1.0}
    assert record.document.fields == {"text": "honey"}


@pytest.mark.parametrize("read", [from_jsonl, from_csv])
@pytest.mark.parametrize(
    "more",
    [
        {"subject": "bees"},
        {"labels": "bees", "category": "bees"},
        {"label": "bees", "class": "bees"},
    ],
)
def test_what_may_or_may_not_be_labels_is_refused_with_the_remedy(tmp_path, read, more):
    with pytest.raises(UnreadableFile, match=r"line .*: .*'labels'.*text"):
        read(tmp_path, {"id": "1", "text": "honey"} | more)


def test_who_names_the_keys_decides(tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_text('{"id": 1, "topic": "bees", "subject": "Re: honey", "year": 7}')
    (record,) = read_jsonl(path, label_key="topic", fields=["subject", "year"])
    assert record.labels == {"bees": 1.0}
    assert record.document.fields == {"subject": "Re: honey", "year": "7"}
    assert not record.meta
    (record,) = read_jsonl(path, label_key="subject", fields=["topic"])
    assert record.labels == {"Re: honey": 1.0}
    with pytest.raises(UnreadableFile, match="'subject'"):
        list(read_jsonl(path, label_key="topic"))


def test_numbers_of_classes_are_names(tmp_path):
    assert from_jsonl(tmp_path, {"id": 1, "class": 3}).labels == {"3": 1.0}
    assert from_jsonl(tmp_path, {"id": 1, "labels": [3, "4"]}).labels == {
        "3": 1.0,
        "4": 1.0,
    }


def test_numbers_and_truths_in_place_of_text_are_facts(tmp_path):
    row = {"id": 1, "text": "honey", "year": 1934, "price": 2.5, "lent": True}
    record = from_jsonl(tmp_path, row)
    assert record.document.fields == {"text": "honey"}
    assert record.meta == {"year": "1934", "price": "2.5", "lent": "true"}
    titled = from_jsonl(tmp_path, {"id": 1, "title": 1984})
    assert titled.document.fields == {"title": "1984"}
    nested = from_jsonl(tmp_path, {"id": 1, "fields": {"year": 1934}})
    assert nested.document.fields == {"year": "1934"}
    with pytest.raises(UnreadableFile, match="'year' is there twice"):
        from_jsonl(tmp_path, row | {"meta": {"year": 7}})
    with pytest.raises(UnreadableFile, match="finite"):
        record_from({"id": "1", "x": float("inf")}, Keys(), FilePlace("here"))


FIELDS = {"title": "Re: honey", "subject": "hives", "Class": "x", "labels": "y"}


def write_csv(records, path):
    return write_delimited(records, path, raw=True)


@pytest.mark.parametrize(
    ("name", "write", "read"),
    [
        ("a.jsonl", write_jsonl, read_jsonl),
        ("a.csv", write_csv, read_delimited),
        pytest.param(
            "a.parquet",
            write_parquet,
            read_parquet,
            marks=pytest.mark.needs("pyarrow"),
        ),
    ],
)
def test_fields_of_such_names_are_written_and_read_back(tmp_path, name, write, read):
    record = Record(Document("1", FIELDS), {"bees": 1.0}, {"year": "1934"})
    plain = Record(Document("2", {"title": "wax"}))
    assert write([record, plain], tmp_path / name) == 2
    assert list(read(tmp_path / name)) == [record, plain]
