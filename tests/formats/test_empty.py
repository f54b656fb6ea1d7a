"""A file or folder without a document is refused, with the remedy."""

import pytest

from classmark.formats import READERS, read_records
from classmark.machines.files import read_files
from classmark.problems import UnreadableFile

REMEDY = r"in it: give another one, or give --format \(format=\)"


def test_a_folder_without_texts_is_refused(tmp_path):
    (tmp_path / "notes.md").write_text("bees")
    with pytest.raises(UnreadableFile, match=f"no file .* ends in .txt {REMEDY}"):
        list(read_records(tmp_path, "folder"))


@pytest.mark.parametrize("name", ["jsonl", "csv", "smart", "trec", "annif"])
def test_a_file_without_documents_is_refused(tmp_path, name):
    (tmp_path / "none").write_text("id,text\n" if name == "csv" else "")
    with pytest.raises(UnreadableFile, match=f"none: there is no document {REMEDY}"):
        list(read_records(tmp_path / "none", name))


def test_of_several_files_some_may_be_empty_but_not_all(tmp_path):
    one, other = tmp_path / "a.csv", tmp_path / "b.csv"
    one.write_text("id,text\n")
    other.write_text("id,text\n1,bees\n")
    assert [record.id for record in read_files([one, other])] == ["1"]
    other.write_text("id,text\n")
    with pytest.raises(UnreadableFile, match=r"a\.csv, .*b\.csv: there is no document"):
        list(read_files([one, other]))


def test_every_reader_of_one_file_is_tried():
    assert {"jsonl", "csv", "smart", "trec", "annif"} <= READERS.keys()
