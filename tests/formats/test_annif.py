"""Annif's corpora and vocabularies."""

import zipfile
from pathlib import Path

import pytest

from classmark.corpus.documents import Document
from classmark.formats.annif import (
    Subject,
    read_annif,
    read_annif_csv,
    read_annif_folder,
    read_subjects,
    write_annif,
    write_annif_csv,
    write_annif_folder,
    write_subjects,
)
from classmark.formats.records import Record
from classmark.problems import Mistake, UnreadableFile

FILES = Path(__file__).parent / "files"
BEES = {"http://example.org/bees": 1.0, "http://example.org/winter": 1.0}


def test_short_texts(tmp_path):
    records = list(read_annif(FILES / "notes.tsv"))
    assert records == [
        Record(Document("notes.tsv:1", {"body": "Bees in winter: they huddle."}), BEES),
        Record(Document("notes.tsv:2", {"body": "Nothing on this one."})),
    ]
    assert write_annif(records, tmp_path / "notes.tsv.gz") == 2
    assert list(read_annif(tmp_path / "notes.tsv.gz")) == records


def test_short_texts_in_csv(tmp_path):
    records = list(read_annif_csv(FILES / "notes.csv"))
    assert records == [
        Record(Document("n1", {"body": "Bees, in winter"}), BEES, {"year": "1990"}),
        Record(Document("notes.csv:3", {"body": "No id here"})),
    ]
    assert write_annif_csv(records, tmp_path / "a.csv") == 2
    again = list(read_annif_csv(tmp_path / "a.csv"))
    assert [(r.document, r.labels) for r in again] == [
        (r.document, r.labels) for r in records
    ]


def test_full_texts(tmp_path):
    ants, bees, moths = records = list(read_annif_folder(FILES / "annif-folder"))
    assert bees == Record(
        Document("bees", {"body": "Bees huddle.\nIn winter.\n"}), BEES
    )
    assert ants.labels == {"ants": 1.0, "stores": 1.0}
    assert not moths.labels
    with zipfile.ZipFile(tmp_path / "texts.zip", "w") as archive:
        for path in (FILES / "annif-folder").iterdir():
            archive.write(path, path.name)
    packed = read_annif_folder(tmp_path / "texts.zip")
    assert sorted(packed, key=lambda record: record.id) == records
    assert write_annif_folder(records, tmp_path) == 3
    assert list(read_annif_folder(tmp_path)) == records


def test_subjects(tmp_path):
    subjects = list(read_subjects(FILES / "subjects.tsv"))
    assert subjects == [
        Subject("http://example.org/bees", "bees", "59.57"),
        Subject("http://example.org/winter", "winter"),
    ]
    assert write_subjects(subjects, tmp_path / "a.tsv") == 2
    assert list(read_subjects(tmp_path / "a.tsv")) == subjects


def test_bad_lines_are_named(tmp_path):
    path = tmp_path / "a.tsv"
    path.write_text("text\t<u>\nno tab\n")
    with pytest.raises(UnreadableFile, match="line 2"):
        list(read_annif(path))
    path.write_text("<u>\tlabel\n<v>\n")
    with pytest.raises(UnreadableFile, match="line 2"):
        list(read_subjects(path))
    path.write_text("text,uris\na,b\n")
    with pytest.raises(UnreadableFile, match="subject_uris"):
        list(read_annif_csv(path))
    with pytest.raises(UnreadableFile, match="no such folder"):
        list(read_annif_folder(path))


def test_what_cannot_be_written_is_refused(tmp_path):
    with pytest.raises(Mistake, match="no URI"):
        write_annif([Record(Document("a"), {"two words": 1.0})], tmp_path / "a.tsv")
    with pytest.raises(Mistake, match="leaves the folder"):
        write_annif_folder([Record(Document("../a"))], tmp_path / "b")
    with pytest.raises(Mistake, match="tab"):
        write_subjects([Subject("u", "a\tb")], tmp_path / "a.tsv")


def test_makupalat(data, tmp_path):
    folder = data / "annif-makupalat"
    sizes, classes = [], set()
    for part in ("train", "validate", "test"):
        records = list(read_annif(folder / f"makupalat-{part}.tsv"))
        sizes.append(len(records))
        classes |= {uri for r in records for uri in r.labels if part == "train"}
        write_annif(records, tmp_path / "a.tsv")
        again = list(read_annif(tmp_path / "a.tsv"))
        assert [r.labels for r in again] == [r.labels for r in records]
    assert sizes == [15_212, 398, 537]
    assert len(classes) == 1_179
    assert sum(1 for _ in read_subjects(folder / "yso-en.tsv")) == 27_754
    assert sum(1 for _ in read_subjects(folder / "yso-fi.tsv")) == 27_760
