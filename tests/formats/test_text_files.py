"""Files are opened safely: encodings, compression, limits, whole or not at all."""

import bz2
import gzip
import lzma

import pytest

from classmark.formats.text_files import (
    FileLimits,
    FilePlace,
    lines,
    open_bytes,
    raw_lines,
    whole_text,
    write_lines,
    writing,
)
from classmark.problems import Mistake, UnreadableFile

PACKERS = {".gz": gzip.compress, ".bz2": bz2.compress, ".xz": lzma.compress}


def test_lines_are_numbered_and_lose_their_ends(tmp_path):
    path = tmp_path / "a.txt"
    path.write_bytes(b"\xef\xbb\xbffirst\r\n\nthird\rstill third")
    assert list(lines(path)) == [(1, "first"), (2, ""), (3, "third\rstill third")]
    assert next(raw_lines(path)) == (1, "first\r\n")


def test_blank_lines_may_be_passed_over_and_keep_their_numbers(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("first\n \t\n\nfourth")
    assert list(lines(path, blank=False)) == [(1, "first"), (4, "fourth")]


def test_the_line_that_was_read_last_is_named(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("1\n\nx\n")
    file = lines(path, blank=False)
    with pytest.raises(UnreadableFile, match="line 3: grade is 'x': give a finite"):
        assert [file.finite(line, "grade") for _, line in file]
    file = lines(path)
    with pytest.raises(UnreadableFile, match="line 2: an empty id"):
        assert [file.new_id(line) for _, line in file]


def test_an_id_is_there_once_in_all_files_that_share_their_ids():
    ids = set()
    FilePlace("a", 1, ids).new_id("x")
    with pytest.raises(UnreadableFile, match="b: id 'x' is there a second time"):
        FilePlace("b", None, ids).new_id("x")


def test_lines_that_are_written_are_counted(tmp_path):
    assert write_lines((f"{n}\n" for n in range(3)), tmp_path / "a.gz") == 3
    assert [line for _, line in lines(tmp_path / "a.gz")] == ["0", "1", "2"]


def test_no_line_in_an_empty_file(tmp_path):
    path = tmp_path / "a.txt"
    path.touch()
    assert list(lines(path)) == []


@pytest.mark.parametrize("suffix", PACKERS)
def test_compressed_files_read_as_plain_ones(tmp_path, suffix):
    path = tmp_path / f"a.txt{suffix}"
    path.write_bytes(PACKERS[suffix]("über\nneben".encode()))
    assert list(lines(path)) == [(1, "über"), (2, "neben")]


@pytest.mark.parametrize("suffix", ["", *PACKERS])
def test_what_is_written_is_read(tmp_path, suffix):
    path = tmp_path / f"a.txt{suffix}"
    with writing(path) as file:
        file.write("über\r\nneben\n")
    assert [line for _, line in raw_lines(path)] == ["über\r\n", "neben\n"]
    assert list(tmp_path.iterdir()) == [path]


def test_compressed_files_do_not_tell_the_time(tmp_path):
    for name in ("a.gz", "b.gz"):
        with writing(tmp_path / name) as file:
            file.write("same")
    assert (tmp_path / "a.gz").read_bytes() == (tmp_path / "b.gz").read_bytes()


def test_a_failed_write_leaves_the_old_file(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("old")
    with pytest.raises(TypeError), writing(path) as file:
        file.writelines(["new", 5])
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_half_characters_cannot_be_written(tmp_path):
    with pytest.raises(Mistake, match="not Unicode"), writing(tmp_path / "a") as file:
        file.write("\ud800")
    assert list(tmp_path.iterdir()) == []


def test_writing_needs_the_folder(tmp_path):
    with pytest.raises(Mistake, match="make"), writing(tmp_path / "no" / "a.txt"):
        pass


def test_wrong_bytes_name_the_line_and_the_remedy(tmp_path):
    path = tmp_path / "a.txt"
    path.write_bytes(b"good\n" * 50_000 + b"na\xefve\n")
    with pytest.raises(UnreadableFile, match="as in latin-1") as caught:
        list(lines(path))
    assert caught.value.line == 50_001
    assert list(lines(path, "latin-1"))[-1] == (50_001, "naïve")


def test_wide_encodings_are_split_at_line_ends(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("eins\nzwei Ċ\n", encoding="utf-16")
    assert list(lines(path, "utf-16")) == [(1, "eins"), (2, "zwei Ċ")]


@pytest.mark.parametrize("encoding", ["klingon", "base64"])
def test_unknown_encodings_are_a_mistake(tmp_path, encoding):
    path = tmp_path / "a.txt"
    path.touch()
    with pytest.raises(Mistake, match=encoding):
        list(lines(path, encoding))


@pytest.mark.parametrize("suffix", PACKERS)
def test_bombs_are_stopped_by_the_ratio(tmp_path, suffix):
    path = tmp_path / f"a{suffix}"
    path.write_bytes(PACKERS[suffix](bytes(20 << 20)))
    with pytest.raises(UnreadableFile, match=r"limits\.ratio"):
        list(lines(path))


def test_a_trusted_bomb_may_be_read(tmp_path):
    path = tmp_path / "a.gz"
    path.write_bytes(gzip.compress(b"x\n" * (2 << 20)))
    assert sum(1 for _ in lines(path, limits=FileLimits(ratio=10_000))) == 2 << 20


def test_size_and_line_are_limited(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("x" * 300_000)
    with pytest.raises(UnreadableFile, match=r"limits\.size"):
        list(lines(path, limits=FileLimits(size=200_000)))
    with pytest.raises(UnreadableFile, match=r"limits\.line"):
        list(lines(path, limits=FileLimits(line=200_000)))
    with (
        open_bytes(path) as stream,
        pytest.raises(UnreadableFile, match=r"limits\.line"),
    ):
        whole_text(stream, "a.txt", limits=FileLimits(line=200_000))


@pytest.mark.parametrize("suffix", PACKERS)
def test_damaged_archives_say_so(tmp_path, suffix):
    path = tmp_path / f"a{suffix}"
    path.write_bytes(PACKERS[suffix](b"some words\n" * 100)[:-9])
    with pytest.raises(UnreadableFile, match="fetch"):
        list(lines(path))


def test_missing_files_and_folders_say_so(tmp_path):
    with pytest.raises(UnreadableFile, match="no such file"):
        list(lines(tmp_path / "a.txt"))
    with pytest.raises(UnreadableFile, match="not a plain file"):
        list(lines(tmp_path))
