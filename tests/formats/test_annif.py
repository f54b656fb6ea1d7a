"""Annif's corpora and vocabularies."""

import zipfile
from dataclasses import replace
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
    write_vocabulary,
)
from classmark.formats.records import Record
from classmark.formats.taxonomies import read_categories
from classmark.problems import Mistake, UnreadableFile
from classmark.taxonomy.category import Category

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
    assert [each.by_name for each in records] == [True, False, False]
    again = [replace(each, by_name=False) for each in records]
    assert list(read_annif_folder(tmp_path)) == again


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


def test_vocabularies_are_categories(tmp_path):
    tsv = tmp_path / "subjects.tsv"
    tsv.write_text("<http://x/1>\tbees\t59.1\n<http://x/2>\tbread\n", encoding="utf-8")
    bees = Category("http://x/1", "bees", notation="59.1")
    assert read_categories(tsv) == [bees, Category("http://x/2", "bread")]
    assert write_vocabulary(read_categories(tsv), tmp_path / "again.tsv") == 2
    assert read_categories(tmp_path / "again.tsv") == read_categories(tsv)


def test_a_vocabulary_in_csv_has_labels_in_several_languages(tmp_path):
    path = tmp_path / "subjects.csv"
    path.write_text(
        "uri,label_fi,label_en,notation\n<http://x/1>,mehiläiset,bees,59\n"
        "http://x/2,leipä,,\n",
        encoding="utf-8",
    )
    english, finnish = (read_categories(path, languages=(c,)) for c in ("en", "fi"))
    assert [each.label for each in english] == ["bees", "leipä"]
    assert [each.label for each in finnish] == ["mehiläiset", "leipä"]
    assert finnish[0] == Category("http://x/1", "mehiläiset", notation="59")
    path.write_text("uri,label_fi\n,leipä\n", encoding="utf-8")
    with pytest.raises(UnreadableFile, match="no uri"):
        read_categories(path)
