"""JSONL: the keys it documents, and what it refuses."""

from pathlib import Path

import pytest

from classmark.corpus.documents import Document
from classmark.formats.jsonl import read_jsonl, write_jsonl
from classmark.formats.records import Record
from classmark.problems import Mistake, UnreadableFile

FILE = Path(__file__).parent / "files" / "catalogue.jsonl"


def test_keys_become_fields_labels_facts_and_links():
    first, second, third = read_jsonl(FILE)
    assert first.labels == {"fruit": 2.0, "tools": 1.0}
    assert first.meta == {"year": "1998", "shelf": "north"}
    assert list(first.document.fields) == ["title", "body"]
    assert second.labels == {"herbs": 1.0, "indoors": 1.0}
    assert second.document.fields["text"].startswith("Basil")
    assert second.links == (("g1", "winter work"), ("g3", ""))
    assert third.id == "3"
    assert third.labels == {"soil": 3.0, "animals": 0.5}
    assert third.links == (("g2", "pots"),)


def test_keys_can_be_named(tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_text('{"name": "n", "group": "g", "text": "t", "size": 4, "id": "x"}')
    options = {"id_key": "name", "label_key": "group", "fields": ["text"]}
    assert list(read_jsonl(path, **options)) == [
        Record(Document("n", {"text": "t"}), {"g": 1.0})
    ]


def test_written_records_come_back(tmp_path):
    records = list(read_jsonl(FILE))
    path = tmp_path / "a.jsonl.gz"
    assert write_jsonl(iter(records), path) == 3
    assert list(read_jsonl(path)) == records


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("{", "not JSON"),
        ("[1]", "no object"),
        ('{"id": NaN}', "not JSON"),
        ("[" * 100_000, "not JSON"),
        ('{"id": "a"}', "second time"),
        ('{"id": " "}', "empty id"),
        ('{"body": "b"}', "no id"),
        ('{"id": true}', "no id"),
        ('{"id": "b", "year": 1e999}', "'year' is inf"),
        ('{"id": "b", "x": ["y"]}', "'x' holds a list"),
        ('{"id": "b", "labels": true}', "'labels' must be"),
        ('{"id": "b", "labels": [5.5]}', "'labels' must be"),
        ('{"id": "b", "labels": [" "]}', "'labels' must be"),
        ('{"id": "b", "labels": {"l": "x"}}', "finite number"),
        ('{"id": "b", "labels": {"l": 1e999}}', "finite number"),
        ('{"id": "b", "labels": {"l": true}}', "finite number"),
        ('{"id": "b", "meta": "x"}', "'meta' must be"),
        ('{"id": "b", "meta": {"x": []}}', "meta 'x' holds"),
        ('{"id": "b", "links": "x"}', "links must be"),
        ('{"id": "b", "links": [["x"]]}', "a link must be"),
        ('{"id": "b", "fields": "x"}', "'fields' must be"),
        ('{"id": "b", "body": "\\ud800"}', "not JSON"),
    ],
)
def test_bad_lines_are_named(tmp_path, line, message):
    path = tmp_path / "a.jsonl"
    path.write_text('{"id": "a"}\n\n' + line)
    with pytest.raises(UnreadableFile, match=message) as caught:
        list(read_jsonl(path))
    assert caught.value.line == 3
    assert str(path) in str(caught.value)


def test_grades_must_be_finite_to_be_written(tmp_path):
    record = Record(Document("a"), {"l": float("inf")})
    with pytest.raises(Mistake, match="'a'"):
        write_jsonl([record], tmp_path / "a.jsonl")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(("part", "count"), [("train", 11_314), ("test", 7_532)])
def test_newsgroups_as_jsonl(data, part, count):
    path = data / "20newsgroups-bydate" / f"20news-bydate-{part}.jsonl"
    with pytest.raises(UnreadableFile, match="second time"):
        list(read_jsonl(path, label_key="group"))
    records = list(read_jsonl_with_groups(path))
    assert len(records) == count
    assert len({label for record in records for label in record.labels}) == 20


def read_jsonl_with_groups(path):
    """The ids of that set repeat between groups: they are read with their group."""
    from classmark.formats.jsonl import Keys, json_lines, record_from

    rows = json_lines(path)
    for _, row in rows:
        named = row | {"id": f"{row['group']}/{row['id']}"}
        yield record_from(named, Keys(labels="group"), rows)


def test_packages_as_jsonl(data):
    records = list(
        read_jsonl(
            data / "pypi-topics" / "packages.jsonl",
            id_key="name",
            label_key="topics",
            fields=["summary", "description"],
        )
    )
    assert len(records) == 2_900
    assert len({label for record in records for label in record.labels}) == 198
