"""Parquet: batches in, batches out."""

import sys
from pathlib import Path

import pytest

from classmark.corpus.documents import Document
from classmark.formats.jsonl import read_jsonl
from classmark.formats.records import Record
from classmark.formats.tables import read_parquet, write_parquet
from classmark.problems import MissingExtra, Mistake, UnreadableFile

RECORDS = list(read_jsonl(Path(__file__).parents[1] / "files" / "catalogue.jsonl"))


def test_written_records_come_back(tmp_path):
    path = tmp_path / "a.parquet"
    assert write_parquet(RECORDS, path, batch=2) == 3
    assert list(read_parquet(path, batch=1)) == RECORDS
    assert list(tmp_path.iterdir()) == [path]


def test_tables_of_others_are_read(tmp_path):
    import pyarrow as pa
    import pyarrow.parquet as pq

    path = tmp_path / "a.parquet"
    table = {"name": ["a", "b"], "text": ["t", None], "tags": [["x", "y"], []]}
    pq.write_table(pa.table({**table, "size": [1, 2]}), path)
    options = {"id_column": "name", "label_column": "tags"}
    assert list(read_parquet(path, fields=["text"], **options)) == [
        Record(Document("a", {"text": "t"}), {"x": 1.0, "y": 1.0}),
        Record(Document("b")),
    ]
    assert [record.meta for record in read_parquet(path, **options)] == [
        {"size": "1"},
        {"size": "2"},
    ]
    pq.write_table(pa.table({**table, "size": [1.5, float("nan")]}), path)
    facts = [record.meta for record in read_parquet(path, **options)]
    assert facts == [{"size": "1.5"}, {}]
    pq.write_table(pa.table({**table, "sizes": [[1], [2]]}), path)
    with pytest.raises(UnreadableFile, match="'sizes' holds a list") as caught:
        list(read_parquet(path, **options))
    assert caught.value.line == 1


def test_other_files_are_refused(tmp_path):
    path = tmp_path / "a.parquet"
    write_parquet(RECORDS, path)
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(UnreadableFile, match="no Parquet file"):
        list(read_parquet(path))
    with pytest.raises(UnreadableFile, match="no such file"):
        list(read_parquet(tmp_path / "b.parquet"))


def test_fields_that_the_first_record_has_not_are_refused(tmp_path):
    with pytest.raises(Mistake, match="as a list"):
        write_parquet(iter(RECORDS), tmp_path / "a.parquet")


def test_the_extra_is_named_when_it_is_missing(tmp_path, monkeypatch):
    (tmp_path / "a.parquet").touch()
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(MissingExtra, match=r"classmark\[parquet\]"):
        list(read_parquet(tmp_path / "a.parquet"))
