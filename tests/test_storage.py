"""A saved folder is whole, or it is refused."""

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from classmark.problems import DamagedFolder, Mistake
from classmark.storage import (
    FolderWriter,
    Generations,
    let_go,
    open_folder,
    pack_strings,
    save,
    unchecked,
    unpack_strings,
)

FORMAT = "test"


@pytest.fixture
def saved(tmp_path):
    arrays = {"a": np.arange(50.0), "empty": np.empty((0, 3), np.uint32)}
    save(tmp_path / "model", FORMAT, 1, arrays, {"k1": 1.2, "name": "Müller"})
    return tmp_path / "model"


def test_open_gives_back_what_was_saved_memory_mapped(saved):
    found = open_folder(saved, FORMAT, 1)
    assert found.settings == {"k1": 1.2, "name": "Müller"}
    assert (found.arrays["a"] == np.arange(50.0)).all()
    assert isinstance(found.arrays["a"], np.memmap)
    assert found.arrays["empty"].shape == (0, 3)


def test_nothing_is_overwritten(saved):
    with pytest.raises(Mistake, match="already there"):
        save(saved, FORMAT, 1, {}, {})


def test_every_flipped_byte_is_noticed(saved):
    for path in sorted(saved.iterdir()):
        whole = path.read_bytes()
        for at in range(len(whole)):
            broken = bytearray(whole)
            broken[at] ^= 0xFF
            path.write_bytes(bytes(broken))
            with pytest.raises(DamagedFolder):
                open_folder(saved, FORMAT, 1)
        path.write_bytes(whole)
    assert open_folder(saved, FORMAT, 1).version == 1


def test_large_files_may_be_compared_with_their_checksums_later(saved, monkeypatch):
    monkeypatch.setattr("classmark.storage.LARGE", 1)
    path = saved / "a.npy"
    whole = path.read_bytes()
    path.write_bytes(whole[:-1] + bytes([whole[-1] ^ 0xFF]))
    with pytest.raises(DamagedFolder):
        open_folder(saved, FORMAT, 1)
    with unchecked(saved.parent) as files:
        open_folder(saved, FORMAT, 1)
    assert path in {file.path for file in files}
    with pytest.raises(DamagedFolder, match="checksum"):
        [file.check() for file in files]
    path.write_bytes(whole[:-1])
    with unchecked(saved.parent), pytest.raises(DamagedFolder, match="checksum"):
        open_folder(saved, FORMAT, 1)
    path.write_bytes(whole)
    for file in files:
        file.check()


def test_whole_numbers_and_what_is_elsewhere_are_compared_at_once(
    saved, tmp_path, monkeypatch
):
    monkeypatch.setattr("classmark.storage.LARGE", 1)
    save(tmp_path / "whole", FORMAT, 1, {"place": np.arange(50)}, {})
    path = tmp_path / "whole" / "place.npy"
    path.write_bytes(path.read_bytes()[:-1] + b"\xff")
    with unchecked(tmp_path), pytest.raises(DamagedFolder, match="checksum"):
        open_folder(tmp_path / "whole", FORMAT, 1)
    with unchecked(tmp_path / "elsewhere") as files:
        open_folder(saved, FORMAT, 1)
    assert files == []


@pytest.mark.parametrize("name", ["a.npy", "manifest.json"])
def test_missing_and_truncated_files_are_noticed(saved, name):
    path = saved / name
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(DamagedFolder, match="checksum"):
        open_folder(saved, FORMAT, 1)
    path.unlink()
    with pytest.raises(DamagedFolder, match=r"missing|has no"):
        open_folder(saved, FORMAT, 1)


def test_other_and_newer_formats_are_refused_with_the_remedy(tmp_path, saved):
    with pytest.raises(DamagedFolder, match="not a 'index'"):
        open_folder(saved, "index", 1)
    save(tmp_path / "newer", FORMAT, 2, {}, {})
    with pytest.raises(DamagedFolder, match="upgrade classmark"):
        open_folder(tmp_path / "newer", FORMAT, 1)


def test_pickles_are_never_loaded(tmp_path):
    with pytest.raises(ValueError, match="pickle"):
        save(tmp_path / "evil", FORMAT, 1, {"a": np.array([object()])}, {})
    assert list(tmp_path.iterdir()) == [], "a failed save leaves nothing behind"


def test_settings_that_are_not_json_leave_nothing_behind(tmp_path):
    with pytest.raises(TypeError):
        save(tmp_path / "x", FORMAT, 1, {}, {"what": object()})
    assert list(tmp_path.iterdir()) == []


@given(st.lists(st.text()))
def test_strings_pack_and_unpack(strings):
    assert unpack_strings(*pack_strings(strings)) == strings


def test_manifest_is_readable_json_but_for_its_seal(saved):
    body = (saved / "manifest.json").read_text().rstrip("\n").rsplit("\n", 1)[0]
    assert json.loads(body)["files"]["a"]["bytes"] > 400


def test_a_generation_dropped_while_it_is_looked_for_gives_way_to_the_next(
    tmp_path, monkeypatch
):
    """Another process puts one into service between reading CURRENT and looking."""
    models, read = Generations(tmp_path), Path.read_text
    for _ in range(2):
        models.next().mkdir()
    models.put_in_service(tmp_path / "000001")

    def read_and_then_replaced(path, *options, **more):
        text = read(path, *options, **more)
        if path.name == "CURRENT" and (tmp_path / "000001").exists():
            models.put_in_service(tmp_path / "000002")
            (tmp_path / "000001").rmdir()
        return text

    monkeypatch.setattr(Path, "read_text", read_and_then_replaced)
    assert models.current() == tmp_path / "000002"


def test_generations_move_forward_and_old_ones_are_dropped(tmp_path):
    models = Generations(tmp_path / "models")
    assert models.current() is None
    assert models.numbers() == []
    for expected in range(1, 5):
        folder = models.next()
        assert folder.name == f"{expected:06d}"
        save(folder, FORMAT, 1, {}, {})
        models.put_in_service(folder)
        assert models.current() == folder
    models.put_in_service(tmp_path / "models" / "000001")
    models.drop_old(2)
    assert models.numbers() == [1, 3, 4], "the one in service stays"


def test_a_pointer_to_nowhere_is_told(tmp_path):
    models = Generations(tmp_path)
    (tmp_path / "CURRENT").write_text("000007\n")
    with pytest.raises(DamagedFolder, match="generation '000007'"):
        models.current()


def test_an_array_written_in_pieces_is_as_if_written_at_once(tmp_path):
    writer = FolderWriter(tmp_path / "pieces")
    for piece in (np.arange(3, dtype=np.uint32), np.empty(0, np.uint32), [7, 8]):
        writer.append("a", np.asarray(piece, np.uint32))
    writer.append("none", np.empty(0, np.uint8))
    assert not (tmp_path / "pieces").exists()
    writer.close(FORMAT, 1, {"k": 1})
    found = open_folder(tmp_path / "pieces", FORMAT, 1)
    assert found.arrays["a"].tolist() == [0, 1, 2, 7, 8]
    assert found.arrays["a"].dtype == np.uint32
    assert found.arrays["none"].shape == (0,)
    let_go(found.arrays["a"])
    assert found.arrays["a"].tolist() == [0, 1, 2, 7, 8]
    let_go(np.arange(3))


@pytest.mark.parametrize("kind", ["u1", "<u2", "<f4", "<i8"])
@pytest.mark.parametrize("length", [0, 7, 12_345])
def test_pieces_have_the_bytes_of_an_array_written_whole(tmp_path, kind, length):
    whole = np.arange(length).astype(kind)
    writer = FolderWriter(tmp_path / "pieces")
    writer.append("a", whole[:3])
    writer.append("a", whole[3:])
    writer.put("b", np.eye(2))
    writer.close(FORMAT, 1, {"k": 1})
    save(tmp_path / "saved", FORMAT, 1, {"a": whole, "b": np.eye(2)}, {"k": 1})
    for name in ("a.npy", "b.npy", "manifest.json"):
        one, other = (tmp_path / folder / name for folder in ("pieces", "saved"))
        assert one.read_bytes() == other.read_bytes()


def test_a_folder_that_is_discarded_leaves_no_trace(tmp_path):
    writer = FolderWriter(tmp_path / "pieces")
    writer.append("a", np.arange(3))
    writer.discard()
    assert not list(tmp_path.iterdir())
