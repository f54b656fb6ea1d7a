"""All readers: named, guessed, light to import."""

import subprocess
import sys
from pathlib import Path

import pytest

from classmark.formats import READERS, guess_format, read_records
from classmark.problems import Mistake

FILES = Path(__file__).parent / "files"
GUESSES = {
    "catalogue.jsonl": "jsonl",
    "catalogue.csv": "csv",
    "catalogue.tsv": "csv",
    "shelf": "folder",
    "newsgroups": "newsgroups",
    "wire.sgm": "reuters",
    "garden.all": "smart",
    "garden.qry": "smart",
    "allotment.trec": "trec",
    "allotment.topics": "trec-topics",
    "beir": "beir",
    "kitchen.docs": "nfcorpus",
    "notes.tsv": "annif",
    "notes.csv": "annif-csv",
    "annif-folder": "annif-folder",
}


@pytest.mark.parametrize("name", GUESSES)
def test_formats_are_guessed_and_read(name):
    assert guess_format(FILES / name) == GUESSES[name]
    if name != "catalogue.tsv":
        assert list(read_records(FILES / name))


def test_a_guess_sees_through_compression_and_queries(tmp_path):
    assert guess_format("shelf.jsonl.gz") == "jsonl"
    assert guess_format("doc-text") == "npl"
    (tmp_path / "topics.trec").write_text("<top>\n")
    assert guess_format(tmp_path / "topics.trec") == "trec-topics"
    (tmp_path / "topics.trec").write_text("<top>\n", encoding="utf-8-sig")
    assert guess_format(tmp_path / "topics.trec") == "trec-topics"


def test_formats_that_share_names_are_told_apart_by_the_first_line(tmp_path):
    path = tmp_path / "a.tsv"
    path.write_text("\n\nsome text\t<uri>\n")
    assert guess_format(path) == "annif"
    path.write_text("id\ttitle\n")
    assert guess_format(path) == "csv"
    assert guess_format("missing.tsv") == "csv"


def test_unknown_formats_list_the_known_ones(tmp_path):
    for attempt in (
        lambda: read_records("a.jsonl", "word-star"),
        lambda: guess_format("a.doc"),
        lambda: guess_format(tmp_path),
    ):
        with pytest.raises(Mistake, match="jsonl, csv, parquet"):
            attempt()


def test_every_reader_is_there():
    for name, reader in READERS.items():
        assert callable(reader.load()), name
        assert reader.reads


def test_the_registry_is_light():
    code = (
        "import sys, classmark.formats;"
        "heavy = {'pyarrow', 'scipy', 'numba', 'defusedxml', 'csv'};"
        "sys.exit(str(heavy & set(sys.modules) or ''))"
    )
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, check=False, capture_output=True)  # noqa: S603 - our own code
    assert done.stderr.strip() == b""
