"""Old formats say no encoding: UTF-8 where all of a file is that, else Latin-1."""

import tarfile
import zipfile
from functools import partial

import pytest

from classmark.formats.archive import read_newsgroups
from classmark.formats.reuters import read_reuters
from classmark.formats.test_collections import (
    read_npl,
    read_smart,
    read_smart_judgments,
    read_trec,
    read_trec_topics,
)
from classmark.formats.text_files import CHUNK

STORY = (
    '<REUTERS TOPICS="YES" LEWISSPLIT="TRAIN" NEWID="1"><TEXT><BODY>'
    "Köln — naïve</BODY></TEXT></REUTERS>\n"
)
FILES = {
    "a.all": (read_smart, ".I 1\n.W\nKöln — naïve\n"),
    "doc-text": (read_npl, "1\nKöln — naïve\n/\n"),
    "a.trec": (read_trec, "<DOC><DOCNO>1</DOCNO>Köln — naïve</DOC>\n"),
    "a.topics": (read_trec_topics, "<top><num>1<title>Köln — naïve</top>\n"),
    "a.sgm": (read_reuters, STORY),
}


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "latin-1"])
@pytest.mark.parametrize("name", FILES)
def test_both_encodings_are_read(tmp_path, name, encoding):
    read, text = FILES[name]
    if encoding == "latin-1":
        text = text.replace("—", "-")
    (tmp_path / name).write_bytes(text.encode(encoding))
    (record,) = read(tmp_path / name)
    assert record.id == "1"
    assert record.document.text == ("Köln - naïve" if "-" in text else "Köln — naïve")


def test_messages_are_read_in_both_encodings_too(tmp_path):
    for name, encoding in (("1", "utf-8"), ("2", "latin-1")):
        (tmp_path / "group").mkdir(exist_ok=True)
        (tmp_path / "group" / name).write_bytes("Köln".encode(encoding))
    assert [r.document.text for r in read_newsgroups(tmp_path)] == ["Köln", "Köln"]


@pytest.mark.parametrize("pack", ["zip", "tar.gz"])
def test_files_in_an_archive_have_encodings_of_their_own(tmp_path, pack):
    other = STORY.replace('"1"', '"2"').replace("—", "-").encode("latin-1")
    for name, content in (("a.sgm", STORY.encode()), ("b.sgm", other)):
        (tmp_path / name).write_bytes(content)
    path = tmp_path / f"news.{pack}"
    opened = zipfile.ZipFile if pack == "zip" else partial(tarfile.open)
    with opened(path, "w" if pack == "zip" else "w:gz") as archive:
        add = archive.write if pack == "zip" else archive.add
        for name in ("a.sgm", "b.sgm"):
            add(tmp_path / name, name)
    texts = [record.document.text for record in read_reuters(path)]
    assert texts == ["Köln — naïve", "Köln - naïve"]


@pytest.mark.parametrize("last", [b"\xc3\xa9", b"\xe9", b"\xc3"])
def test_all_of_a_file_decides_however_long_it_is(tmp_path, last):
    body = b"K\xc3\xb6ln\n" + b"x " * CHUNK + b"\n"
    (tmp_path / "a.all").write_bytes(b".I 1\n.W\n" + body + last + b"\n")
    ((record),) = read_smart(tmp_path / "a.all")
    whole = last == b"\xc3\xa9"
    assert record.document.text.startswith("Köln" if whole else "KÃ¶ln")
    assert record.document.text.endswith("é" if last != b"\xc3" else "Ã")


def test_judgments_may_begin_with_a_byte_order_mark(tmp_path):
    (tmp_path / "a.rel").write_bytes("1 2 0 0\n".encode("utf-8-sig"))
    assert len(list(read_smart_judgments(tmp_path / "a.rel"))) == 1
