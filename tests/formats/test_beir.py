"""BEIR folders, and NFCorpus in its own layout."""

from pathlib import Path

import pytest

from classmark.corpus.documents import Document
from classmark.formats.records import Judgment, Record
from classmark.formats.test_collections import (
    read_beir,
    read_beir_judgments,
    read_beir_queries,
    read_nfcorpus,
    read_qrels,
    write_beir,
)
from classmark.problems import Mistake, UnreadableFile

FILES = Path(__file__).parent / "files"
BEIR = FILES / "beir"


def test_a_folder():
    first, second = read_beir(BEIR)
    assert first == Record(
        Document("b1", {"title": "Rain barrels", "body": "Put a lid on it."}),
        {},
        {"year": "1999", "hand": "left"},
    )
    assert second == Record(Document("b2", {"body": "Moss likes the north side."}))
    (query,) = read_beir_queries(BEIR)
    assert query.id == "q1"
    assert list(read_beir_judgments(BEIR)) == [
        Judgment("q1", "b1", 2.0),
        Judgment("q1", "b2", 0.0),
    ]


def test_in_and_out(tmp_path):
    parts = [list(read(BEIR)) for read in (read_beir, read_beir_queries)]
    judged = list(read_beir_judgments(BEIR))
    write_beir(tmp_path, *parts, {"test": judged})
    assert [list(read_beir(tmp_path)), list(read_beir_queries(tmp_path))] == parts
    assert list(read_beir_judgments(tmp_path)) == judged


@pytest.mark.parametrize(
    "line", ['{"_id": 1}', '{"_id": "a", "text": 2}', '{"_id": "a", "metadata": [1]}']
)
def test_bad_lines_are_named(tmp_path, line):
    (tmp_path / "corpus.jsonl").write_text('{"_id": "x", "text": "y"}\n' + line)
    with pytest.raises(UnreadableFile, match="line 2"):
        list(read_beir(tmp_path))


@pytest.mark.parametrize(
    "text", ["query-id\tscore\nq\t1\n", "query-id\tcorpus-id\tscore\nq\td\tx\n"]
)
def test_bad_tables_are_named(tmp_path, text):
    (tmp_path / "qrels").mkdir()
    (tmp_path / "qrels" / "dev.tsv").write_text(text)
    with pytest.raises(UnreadableFile, match=r"dev\.tsv, line 2"):
        list(read_beir_judgments(tmp_path, "dev"))
    with pytest.raises(UnreadableFile, match=r"no qrels/test\.tsv"):
        list(read_beir_judgments(tmp_path))


def test_what_cannot_be_written_is_refused(tmp_path):
    with pytest.raises(Mistake, match="whole numbers"):
        write_beir(tmp_path, [], [], {"test": [Judgment("q", "d", 0.5)]})
    with pytest.raises(Mistake, match="rename"):
        write_beir(tmp_path, [], [], {"test": [Judgment("q\t", "d", 1.0)]})


def test_nfcorpus_lines(tmp_path):
    assert list(read_nfcorpus(FILES / "kitchen.docs")) == [
        Record(Document("KIT-1", {"body": "bread dough rises slowly"})),
        Record(Document("KIT-2", {"body": "soup keeps"})),
    ]
    (tmp_path / "a.docs").write_text("KIT-1\tsoup\nKIT-2 soup")
    with pytest.raises(UnreadableFile, match="line 2: no tab"):
        list(read_nfcorpus(tmp_path / "a.docs"))


def test_empty_files_are_refused(tmp_path):
    (tmp_path / "a.docs").touch()
    with pytest.raises(UnreadableFile, match="empty"):
        list(read_nfcorpus(tmp_path / "a.docs"))


def test_nfcorpus_becomes_a_beir_folder(data, tmp_path):
    folder = data / "nfcorpus"
    documents = list(read_nfcorpus(folder / "dev.docs"))
    queries = list(read_nfcorpus(folder / "dev.all.queries"))
    judged = list(read_qrels(folder / "dev.3-2-1.qrel"))
    assert (len(documents), len(queries), len(judged)) == (3_193, 325, 14_589)
    assert {j.document for j in judged} <= {record.id for record in documents}
    assert {j.query for j in judged} == {record.id for record in queries}
    write_beir(tmp_path, documents, queries, {"dev": judged})
    assert list(read_beir(tmp_path)) == documents
    assert list(read_beir_queries(tmp_path)) == queries
    assert list(read_beir_judgments(tmp_path, "dev")) == judged


def test_nfcorpus_train_files(data):
    folder = data / "nfcorpus"
    with pytest.raises(UnreadableFile, match="empty"):
        list(read_nfcorpus(folder / "train.docs"))
    assert sum(1 for _ in read_nfcorpus(folder / "train.titles.queries")) == 2_594
    assert sum(1 for _ in read_qrels(folder / "train.3-2-1.qrel")) == 139_350
