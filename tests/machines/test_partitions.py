"""Partitions, one behind the other, are the file."""

import json
import os
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from classmark.corpus.documents import Document
from classmark.formats import read_records
from classmark.formats.jsonl import write_jsonl
from classmark.formats.records import Record
from classmark.formats.tables import write_parquet
from classmark.machines.files import (
    Partition,
    files_of,
    read_files,
    read_partition,
)
from classmark.problems import Mistake, UnreadableFile

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
ENDS = st.sampled_from(["\n", "\r\n", "\n\n", "\n \r\n"])


def partitions_of(paths, size, format_=None):
    """Cut files into partitions of about ``size`` bytes, in the documents' order."""
    cut = files_of(paths, format_).cut(size)
    return [partition for piece in cut for partition in piece]


def all_of(found):
    return [record for each in found for record in read_partition(each)]


def cut_at(path, edges):
    return [Partition(str(path), "jsonl", begin, end) for begin, end in pairwise(edges)]


def record(name, text="bees"):
    return Record(Document(name, {"text": text}), links=(("a", "hive"),))


@pytest.fixture
def shelf(tmp_path):
    path = tmp_path / "shelf.jsonl"
    write_jsonl([record(f"d{n}", "wild bees é " * n) for n in range(40)], path)
    return path


@given(
    st.lists(st.tuples(TEXTS, ENDS), min_size=1, max_size=8),
    st.booleans(),
    st.booleans(),
    st.lists(st.integers(0, 400), max_size=6),
)
def test_any_cut_is_the_whole(tmp_path_factory, rows, mark, ended, cuts):
    path = tmp_path_factory.mktemp("cut") / "f.jsonl"
    text = "".join(
        json.dumps({"id": str(n), "t": said}, ensure_ascii=False) + end
        for n, (said, end) in enumerate(rows)
    )
    raw = ("\ufeff" if mark else "").encode() + text.encode()
    raw = raw if ended else raw.rstrip(b"\r\n ")
    path.write_bytes(raw)
    edges = sorted({0, len(raw), *(min(cut, len(raw)) for cut in cuts)})
    whole = list(read_records(path, "jsonl"))
    assert all_of(cut_at(path, edges)) == whole
    assert len(whole) == len(rows)


def test_every_byte_is_a_place_to_cut(tmp_path):
    path = tmp_path / "f.jsonl"
    path.write_bytes(b'{"id": "a"}\r\n\n{"id": "b\xc3\xa9"}\n{"id": "c"}')
    whole = list(read_records(path, "jsonl"))
    size = path.stat().st_size
    for at in range(size + 1):
        first, second = (all_of([each]) for each in cut_at(path, [0, at, size]))
        assert first + second == whole
    assert all_of(cut_at(path, list(range(size + 1)))) == whole


def test_pieces_are_of_the_wanted_size_and_in_order(shelf):
    size = shelf.stat().st_size
    found = partitions_of(shelf, size // 5 + 1)
    assert len(found) == 5
    assert [each.begin for each in found][1:] == [each.end for each in found][:-1]
    assert found[-1].end == size
    assert all_of(found) == list(read_records(shelf))
    assert found == partitions_of(shelf, size // 5 + 1)


def test_an_error_names_the_line_of_the_file(shelf):
    lines = shelf.read_text().splitlines()
    lines[30] = "{no json"
    shelf.write_text("\n".join(lines))
    with pytest.raises(UnreadableFile) as local:
        list(read_records(shelf))
    with pytest.raises(UnreadableFile, match="line 31: not JSON") as ranged:
        all_of(partitions_of(shelf, 1000))
    assert str(ranged.value) == str(local.value)


def test_a_mark_within_the_file_is_no_beginning(tmp_path):
    path = tmp_path / "f.jsonl"
    first = b'{"id": "a"}\n'
    path.write_bytes(first + '\ufeff{"id": "b"}\n'.encode())
    with pytest.raises(UnreadableFile, match="line 2"):
        all_of(cut_at(path, [0, len(first), 99]))


def test_bytes_that_are_no_text_are_refused_by_line(tmp_path):
    path = tmp_path / "f.jsonl"
    path.write_bytes(b'{"id": "a"}\n{"id": "b"}\n{"id": "\xff"}\n')
    with pytest.raises(UnreadableFile, match="line 3: not utf-8"):
        all_of(partitions_of(path, 13))


def test_parquet_is_cut_at_row_groups(tmp_path):
    path = tmp_path / "f.parquet"
    write_parquet([record(f"d{n}", "bees" * n) for n in range(50)], path, batch=7)
    found = partitions_of(path, 1)
    assert len(found) == 8
    assert all_of(found) == list(read_records(path))
    assert len(partitions_of(path, 1 << 20)) == 1
    address = partitions_of(path.as_uri(), 1)
    assert all_of(address) == all_of(found)


def test_a_bad_row_is_named_by_its_number(tmp_path):
    path = tmp_path / "f.parquet"
    rows = [record(f"d{n}") for n in range(20)]
    rows[15] = record(" ")
    write_parquet(rows, path, batch=4)
    with pytest.raises(UnreadableFile, match="line 16: an empty id"):
        all_of(partitions_of(path, 1))


def test_what_is_no_parquet_is_refused(tmp_path):
    path = tmp_path / "f.parquet"
    path.write_bytes(b"PAR0")
    with pytest.raises(UnreadableFile, match="no Parquet file"):
        partitions_of(path, 1)


def test_a_folder_a_pattern_and_a_list_of_files(tmp_path):
    for name in ("b", "a", "c"):
        write_jsonl(
            [record(f"{name}{n}") for n in range(3)], tmp_path / f"{name}.jsonl"
        )
    write_parquet([record("p")], tmp_path / "d.parquet")
    (tmp_path / "notes.md").write_text("no documents")
    names = [r.id for r in read_files(tmp_path)]
    assert names == [*("a0", "a1", "a2", "b0", "b1", "b2", "c0", "c1", "c2"), "p"]
    assert [r.id for r in read_files(tmp_path, "parquet")] == ["p"]
    some = tmp_path / "[bc].jsonl"
    assert [r.id for r in read_files(some)] == names[3:9]
    listed = [tmp_path / "c.jsonl", str(tmp_path / "a.jsonl")]
    assert [r.id for r in read_files(listed)] == [*names[6:9], *names[:3]]
    assert [
        r.id for r in read_files(some.as_uri().replace("%5B", "[").replace("%5D", "]"))
    ] == names[3:9]
    assert [r.id for r in read_files(tmp_path.as_uri() + "/*.jsonl")] == names[:9]


def test_small_files_share_a_piece(tmp_path):
    for n in range(10):
        write_jsonl([record(f"{n}")], tmp_path / f"{n}.jsonl")
    found = files_of(tmp_path)
    assert [len(piece) for piece in found.cut(found.total)] == [10]
    assert [len(piece) for piece in found.cut(found.total // 2 + 1)] == [5, 5]
    assert [len(piece) for piece in found.cut(1)][:2] == [1, 1]


def test_compressed_files_and_other_formats_are_one_partition(tmp_path):
    packed = tmp_path / "f.jsonl.gz"
    write_jsonl([record(f"d{n}") for n in range(9)], packed)
    table = tmp_path / "f.csv"
    table.write_text("id,text\na,bees\nb,wasps\n")
    texts = tmp_path / "texts"
    texts.mkdir()
    (texts / "a.txt").write_text("bees")
    for path in (packed, table, texts):
        found = partitions_of(path, 1)
        assert len(found) == 1
        assert all_of(found) == list(read_records(path))


def test_elsewhere_only_what_can_be_cut_is_read(tmp_path):
    (tmp_path / "f.csv").write_text("id,text\na,bees\n")
    with pytest.raises(Mistake, match="plain JSONL and Parquet are read"):
        files_of((tmp_path / "f.csv").as_uri())
    with pytest.raises(Mistake, match="plain JSONL and Parquet are read"):
        files_of((tmp_path / "f.csv").as_uri(), "csv")
    with pytest.raises(Mistake, match="plain JSONL and Parquet are read"):
        files_of((tmp_path / "f.jsonl.gz").as_uri(), "jsonl")
    with pytest.raises(UnreadableFile, match="no such file"):
        files_of((tmp_path / "g.jsonl").as_uri())
    with pytest.raises(Mistake, match="cannot be reached"):
        files_of("nowhere://f.jsonl")
    with pytest.raises(UnreadableFile, match="no such file"):
        files_of(tmp_path / "g.jsonl")
    with pytest.raises(Mistake, match="there is no such file"):
        files_of(tmp_path / "*.jsonl")
    with pytest.raises(Mistake, match="is not known"):
        files_of(tmp_path / "f.csv", "yaml")
    with pytest.raises(Mistake, match="no parquet files"):
        files_of(tmp_path, "parquet")


def test_an_address_of_fsspec_is_read_as_a_path_is(shelf):
    found = partitions_of(shelf.as_uri(), 2000)
    assert len(found) > 3
    assert all_of(found) == list(read_records(shelf))


def test_memory_of_fsspec(shelf):
    import fsspec

    with fsspec.open("memory://shelf/a.jsonl", "wb") as file:
        file.write(shelf.read_bytes())
    for address in ("memory://shelf/a.jsonl", "memory://shelf", "memory://shelf/*"):
        assert all_of(partitions_of(address, 3000)) == list(read_records(shelf))


def test_a_store_that_fails_in_its_own_way_is_told(monkeypatch):
    from fsspec.implementations.memory import MemoryFileSystem

    class Denied(Exception):
        """As stores have them: of no kind that Python knows."""

    def denied(*_, **__):
        raise Denied("no credentials")

    monkeypatch.setattr(MemoryFileSystem, "info", denied)
    with pytest.raises(UnreadableFile, match=r"cannot be reached \(no credentials\)"):
        files_of("memory://a.jsonl")
    monkeypatch.setattr(MemoryFileSystem, "info", lambda *_, **__: {"size": None})
    monkeypatch.setattr(MemoryFileSystem, "isdir", lambda *_: False)
    monkeypatch.setattr(MemoryFileSystem, "ukey", lambda *_: "")
    with pytest.raises(Mistake, match="its size is not told there: copy it here"):
        files_of("memory://a.jsonl")


def test_an_empty_file_has_no_partition(tmp_path):
    path = tmp_path / "f.jsonl"
    path.touch()
    assert partitions_of(path, 1) == []
    with pytest.raises(UnreadableFile, match="there is no document in it"):
        list(read_files(path))


def test_the_fingerprint_follows_the_contents(shelf):
    before = files_of(shelf)
    assert files_of(shelf).fingerprint == before.fingerprint
    shelf.write_text(shelf.read_text() + '{"id": "new"}\n')
    assert files_of(shelf).fingerprint != before.fingerprint
    other = replace(before, formats=("csv",))
    assert other.fingerprint != before.fingerprint


def test_the_fingerprint_knows_a_file_of_equal_size_and_time(shelf):
    before, seen = files_of(shelf).fingerprint, shelf.stat()
    shelf.write_text(shelf.read_text().replace("wild", "tame"))
    os.utime(shelf, ns=(seen.st_atime_ns, seen.st_mtime_ns))
    assert shelf.stat().st_size == seen.st_size
    assert files_of(shelf).fingerprint != before


def test_the_fingerprint_of_a_folder_follows_its_files(tmp_path):
    (tmp_path / "a.txt").write_text("bees")
    before = files_of(tmp_path).fingerprint
    assert files_of(tmp_path).fingerprint == before
    (tmp_path / "a.txt").write_text("wasps")
    assert files_of(tmp_path).fingerprint != before


def test_partitions_are_named_absolutely(shelf, monkeypatch):
    monkeypatch.chdir(shelf.parent)
    (found,) = partitions_of("shelf.jsonl", 1 << 30)
    assert Path(found.address) == shelf
