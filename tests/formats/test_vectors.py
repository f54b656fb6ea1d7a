"""Vectors that users have made, by document."""

import json

import numpy as np
import pytest

from classmark import OwnVectors, read_vectors
from classmark.formats.jsonl import read_jsonl
from classmark.formats.jsonl import write_jsonl as write_records
from classmark.formats.tables import write_delimited
from classmark.problems import Mistake, UnreadableFile

IDS, VECTORS = ["a", "b"], [[1.0, 0.5], [-2.0, 0.25]]


def write_jsonl(path, rows):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def write_npy(folder, vectors=VECTORS, ids=IDS):
    path = folder / "own.npy"
    np.save(path, np.array(vectors))
    (folder / "own.ids").write_text("".join(f"{id_}\n" for id_ in ids))
    return path


def same(result):
    ids, vectors = result
    assert vectors.dtype == np.float32
    return (ids, vectors.tolist()) == (IDS, VECTORS)


def test_vectors_are_read_from_jsonl(tmp_path):
    rows = [{"id": i, "v": v, "note": 1} for i, v in zip(IDS, VECTORS, strict=True)]
    path = write_jsonl(tmp_path / "own.jsonl", rows)
    assert same(read_vectors(path, vector_column="v"))


def test_vectors_are_read_from_a_matrix_and_its_ids(tmp_path):
    path = write_npy(tmp_path)
    assert same(read_vectors(path))
    (tmp_path / "own.ids").rename(tmp_path / "names.txt")
    assert same(read_vectors(path, ids=tmp_path / "names.txt"))


@pytest.mark.needs("pyarrow")
def test_vectors_are_read_from_parquet(tmp_path):
    import pyarrow as pa
    import pyarrow.parquet as pq

    path = tmp_path / "own.parquet"
    pq.write_table(pa.table({"id": IDS, "vector": VECTORS, "text": IDS}), path)
    assert same(read_vectors(path))
    with pytest.raises(UnreadableFile, match="no column 'v': it has id, vector, text"):
        read_vectors(path, vector_column="v")


def test_what_was_read_is_a_source(tmp_path):
    own = OwnVectors(*read_vectors(write_npy(tmp_path)), {"b": "A hive"})
    assert own.encode(["A hive"]).tolist() == [VECTORS[1]]


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ({"id": "c", "vector": [1.0]}, "line 2: 1 numbers after vectors of 2"),
        ({"id": "a", "vector": [1.0, 2.0]}, "line 2: id 'a' is there a second time"),
        ({"id": "c", "vector": [1.0, "x"]}, "line 2: 'vector' is no list of numbers"),
        ({"id": "c", "vector": [1.0, True]}, "line 2: 'vector' is no list of numbers"),
        ({"id": "c"}, "line 2: 'vector' is no list of numbers"),
        ({"vector": [1.0, 2.0]}, "line 2: no 'id'"),
        ({"id": "c", "vector": [1e300, 2.0]}, "line 2: .* not finite"),
    ],
)
def test_a_line_that_does_not_fit_is_named(tmp_path, row, message):
    first = {"id": "a", "vector": [1.0, 2.0]}
    path = write_jsonl(tmp_path / "own.jsonl", [first, row])
    with pytest.raises(UnreadableFile, match=message):
        read_vectors(path)


@pytest.mark.parametrize(
    ("vectors", "ids", "message"),
    [
        (VECTORS, ["a"], "2 rows and 1 ids"),
        (VECTORS, ["a", "a"], "line 2: id 'a' is there a second time"),
        ([1.0, 2.0], IDS, "give a matrix"),
        ([[np.nan], [1.0]], IDS, "not finite"),
    ],
)
def test_a_matrix_that_does_not_fit_its_ids_is_refused(tmp_path, vectors, ids, message):
    with pytest.raises(UnreadableFile, match=message):
        read_vectors(write_npy(tmp_path, vectors, ids))


def test_a_pickle_is_not_opened(tmp_path):
    path = tmp_path / "own.npy"
    np.save(path, np.array([{"a": 1}], dtype=object), allow_pickle=True)
    with pytest.raises(UnreadableFile, match="no array of numbers"):
        read_vectors(path)


def test_an_empty_file_is_refused(tmp_path):
    with pytest.raises(UnreadableFile, match="there is no vector in it"):
        read_vectors(write_jsonl(tmp_path / "own.jsonl", []))


def test_a_record_has_its_vector_and_is_written_with_it(tmp_path):
    rows = [
        {"id": "a", "text": "A hive", "vector": [1, 2.5]},
        {"id": "b", "text": "A road", "vector": "an arrow"},
        {"id": "c", "text": "None", "vector": 7},
    ]
    path = write_jsonl(tmp_path / "records.jsonl", rows)
    first, second, third = records = list(read_jsonl(path))
    assert (first.vector, dict(first.document.fields)) == ((1, 2.5), {"text": "A hive"})
    assert (second.vector, second.document.fields["vector"]) == ((), "an arrow")
    assert (third.vector, third.meta) == ((), {"vector": "7"})
    write_records(records, tmp_path / "again.jsonl")
    assert list(read_jsonl(tmp_path / "again.jsonl")) == records
    with pytest.raises(
        Mistake, match="has vector, which a table of documents does not"
    ):
        write_delimited(records, tmp_path / "again.csv")


@pytest.mark.parametrize(
    ("vector", "message"),
    [
        ([1.0], "line 2: 1 numbers after vectors of 2"),
        ([1.0, None], "line 2: 'vector' is no list of numbers"),
        ([], "line 2: 'vector' is no list of numbers"),
        ([1.0, 1e39], "line 2: 'vector' has a number that is not finite"),
    ],
)
def test_a_record_whose_vector_does_not_fit_is_named(tmp_path, vector, message):
    rows = [{"id": "a", "vector": [1.0, 2.0]}, {"id": "b", "vector": vector}]
    path = write_jsonl(tmp_path / "records.jsonl", rows)
    with pytest.raises(UnreadableFile, match=message):
        list(read_jsonl(path))
