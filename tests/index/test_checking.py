"""A byte that is not as it was written is found, wherever it is."""

import shutil

import pytest

from classmark.index.index import Index
from classmark.index.snapshot import check
from classmark.problems import DamagedFolder, Mistake


@pytest.fixture
def index(tmp_path):
    documents = [(f"d{n}", f"bee hive w{n % 3} " * (n + 1)) for n in range(6)]
    index = Index.build(tmp_path / "index", documents, positions=True)
    index.add([("new", "wasp")])
    index.delete(["d2"])
    return index.commit()


def test_a_sound_index_is_sound(index):
    found = index.check()
    assert (found.documents, found.segments) == (6, 2)
    assert found.postings == 6 * 3 + 1
    assert found.bytes > 1000


def test_a_flipped_byte_is_found_in_every_file(index):
    files = [path for path in index.path.rglob("*") if path.is_file()]
    files = [path for path in files if path.name != ".lock"]
    assert len(files) > 20
    for path in files:
        content = path.read_bytes()
        for at in sorted({0, len(content) // 3, len(content) // 2, len(content) - 1}):
            damaged = bytearray(content)
            damaged[at] ^= 0x11
            path.write_bytes(damaged)
            with pytest.raises(DamagedFolder):
                check(index.path)
        path.write_bytes(content)
    assert index.check().documents == 6


def test_a_missing_file_is_found(index):
    for path in sorted(index.path.glob("segment-*/*")):
        kept = path.with_suffix(".kept")
        path.rename(kept)
        with pytest.raises(DamagedFolder):
            Index.open(index.path)
        kept.rename(path)
    shutil.rmtree(next(index.path.glob("segment-*")))
    with pytest.raises(DamagedFolder):
        Index.open(index.path)


@pytest.mark.parametrize("array", ["0-lengths", "id-order", "0-terms"])
def test_content_that_contradicts_itself_is_found(index, array, monkeypatch):
    """Even where all checksums are right."""
    from classmark.index import segment as segments

    honest = segments.open_folder

    def lying(folder, *rest):
        saved = honest(folder, *rest)
        if array in saved.arrays and len(saved.arrays[array]) > 1:
            changed = saved.arrays[array].copy()
            changed[0] += 25
            saved.arrays[array] = changed
        return saved

    monkeypatch.setattr(segments, "open_folder", lying)
    with pytest.raises(Mistake):
        check(index.path)


def test_a_folder_without_an_index_is_refused(tmp_path):
    with pytest.raises(Mistake, match="build one"):
        Index.open(tmp_path / "nothing")
