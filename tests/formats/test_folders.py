"""Folders of texts and of newsgroups."""

import json
import tarfile
from pathlib import Path

import pytest

from classmark.formats.archive import read_newsgroups, read_text_folder
from classmark.problems import UnreadableFile

FILES = Path(__file__).parent / "files"


def test_ids_are_paths_and_subfolders_labels():
    records = {record.id: record for record in read_text_folder(FILES / "shelf")}
    assert list(records) == ["notice", "fruit/stone/plum", "herbs/mint"]
    assert records["fruit/stone/plum"].labels == {"fruit/stone": 1.0}
    assert records["herbs/mint"].document.text == "Mint wants a pot.\n"
    assert not records["notice"].labels
    assert not any(r.labels for r in read_text_folder(FILES / "shelf", labels=False))


def test_another_suffix():
    (record,) = read_text_folder(FILES / "shelf", suffix=".png")
    assert record.id == "herbs/picture"


def test_newsgroups_keep_or_lose_their_headers():
    test, train = read_newsgroups(FILES / "newsgroups")
    assert train.id == "garden-train/rec.garden/101"
    assert train.labels == {"rec.garden": 1.0}
    assert train.meta == {"part": "garden-train"}
    assert train.document.text.startswith("From:")
    assert "naïve" in train.document.text
    assert test.labels == {"sci.soil": 1.0}
    (bare,) = read_newsgroups(FILES / "newsgroups" / "garden-test", headers=False)
    assert bare.id == "sci.soil/7"
    assert bare.meta == {"part": "garden-test"}
    assert bare.document.text == "Add sand?\n\nNo.\n"


def test_newsgroups_from_an_archive(tmp_path):
    path = tmp_path / "news.tar.gz"
    with tarfile.open(path, "w:gz") as archive:
        archive.add(FILES / "newsgroups", ".")
    found = {record.id: record.document for record in read_newsgroups(path)}
    assert found == {r.id: r.document for r in read_newsgroups(FILES / "newsgroups")}


def test_a_member_that_comes_twice_is_named(tmp_path):
    path = tmp_path / "a.tar"
    with tarfile.open(path, "w") as archive:
        archive.add(FILES / "shelf" / "notice.txt", "a.txt")
        archive.add(FILES / "shelf" / "notice.txt", "a.txt")
    with pytest.raises(UnreadableFile, match="second time"):
        list(read_text_folder(path))


def test_wrong_places_are_named(tmp_path):
    with pytest.raises(UnreadableFile, match="no such folder"):
        list(read_text_folder(tmp_path / "no"))
    with pytest.raises(UnreadableFile, match="group/number"):
        list(read_newsgroups(FILES / "shelf"))
    (tmp_path / "a.txt").write_bytes(b"one\n\xff")
    with pytest.raises(UnreadableFile, match=r"a\.txt, line 2"):
        list(read_text_folder(tmp_path))


def test_links_out_of_the_folder_are_refused(tmp_path):
    (tmp_path / "out.txt").write_text("secret")
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.txt").symlink_to(tmp_path / "out.txt")
    with pytest.raises(UnreadableFile, match="leaves"):
        list(read_text_folder(tmp_path / "in"))


def test_the_newsgroups_as_folders(data, tmp_path):
    counts = {}
    for part in ("test", "train"):
        source = data / "20newsgroups-bydate" / f"20news-bydate-{part}.jsonl"
        with source.open(encoding="utf-8") as lines:
            for line in lines:
                row = json.loads(line)
                folder = tmp_path / f"20news-bydate-{part}" / row["group"]
                folder.mkdir(parents=True, exist_ok=True)
                (folder / row["id"]).write_bytes(row["text"].encode("latin-1"))
    for record in read_newsgroups(tmp_path):
        counts[record.meta["part"]] = counts.get(record.meta["part"], 0) + 1
        (group,) = record.labels
        assert record.id == f"{record.meta['part']}/{group}/{record.id.split('/')[-1]}"
    assert counts == {"20news-bydate-test": 7_532, "20news-bydate-train": 11_314}
