"""Files of compiled kernels: any damage is noticed, nobody else's file is read."""

import os
import pickle  # noqa: TID251 - what an attacker would plant
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from classmark import kernel_files
from classmark.compiled import declared, is_plain
from classmark.compiling import compile_ahead
from classmark.kernels import scores_of

pytestmark = pytest.mark.skipif(is_plain(), reason="needs compiled kernels")
COLUMNS, VALUES = np.arange(3, dtype=np.uint32), np.ones(3, np.float32)


def scores(folder):
    """Score with a kernel that this process has not loaded yet; who was asked."""
    from classmark.machine_code import Door

    types = declared()["types"][scores_of.name]
    door = Door(scores_of.name, scores_of.linked(), types, folder)
    out = np.zeros(2, np.float32)
    door(COLUMNS, VALUES, np.ones((3, 2), np.float32), out)
    assert out.tolist() == [3, 3]


@pytest.fixture(scope="module")
def code(tmp_path_factory):
    """Return the name and the bytes of a compiled kernel's file."""
    folder = tmp_path_factory.mktemp("compiled") / "kernels"
    scores(folder)
    (file,) = folder.iterdir()
    return file.name, file.read_bytes()


@pytest.fixture
def file(tmp_path, code):
    """Return a compiled kernel's file, in a folder of its own."""
    folder = kernel_files.own_folder(tmp_path / "kernels")
    path = folder / code[0]
    path.write_bytes(code[1])
    path.chmod(0o600)
    return path


def lines(caplog):
    """The lines in the log, of this module."""
    return [r.getMessage() for r in caplog.records if r.name == kernel_files.__name__]


def flipped(data, place):
    return data[:place] + bytes([data[place] ^ 255]) + data[place + 1 :]


DAMAGES = {
    "empty": lambda _: b"",
    "one byte": lambda data: data[:1],
    "the seal alone": lambda data: data[: kernel_files.SEAL],
    "cut in the middle": lambda data: data[: len(data) // 2],
    "without its last byte": lambda data: data[:-1],
    "longer": lambda data: data + b"\0",
    "zeros": lambda data: bytes(len(data)),
    "first byte": lambda data: flipped(data, 0),
    "first byte of the code": lambda data: flipped(data, kernel_files.SEAL),
    "middle byte": lambda data: flipped(data, len(data) // 2),
    "last byte": lambda data: flipped(data, len(data) - 1),
    "a pickle": lambda _: pickle.dumps({"a": 1}),
}


def test_a_whole_file_is_read_and_nothing_is_said(file, caplog):
    before = file.stat()
    scores(file.parent)
    assert lines(caplog) == []
    assert (file.stat().st_ino, file.stat().st_mtime_ns) == (
        before.st_ino,
        before.st_mtime_ns,
    )


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_file_is_named_and_made_anew(file, code, caplog, damage):
    file.write_bytes(DAMAGES[damage](code[1]))
    scores(file.parent)
    (line,) = lines(caplog)
    assert str(file) in line
    assert "damaged" in line
    assert kernel_files.read(file) is not None
    scores(file.parent)
    assert len(lines(caplog)) == 1


def test_any_flipped_byte_is_found(file, code):
    places = np.random.default_rng(0).integers(0, len(code[1]), 200)
    for place in places.tolist():
        file.write_bytes(flipped(code[1], place))
        assert kernel_files.read(file) is None


def test_a_file_under_another_name_is_damage(file, caplog):
    other = file.with_name("other.code")
    file.rename(other)
    assert kernel_files.read(other) is None
    assert "damaged" in lines(caplog)[0]


def test_a_folder_in_its_place_is_passed_by(file, caplog):
    file.unlink()
    file.mkdir()
    scores(file.parent)
    read, written = lines(caplog)
    assert "Is a directory" in read
    assert "not cached" in written
    assert [path.name for path in file.parent.iterdir()] == [file.name]


def test_a_link_or_a_pipe_in_its_place_is_made_anew(file, caplog):
    elsewhere = file.rename(file.parent.parent / "elsewhere.code")
    file.symlink_to(elsewhere)
    scores(file.parent)
    file.unlink()
    os.mkfifo(file)
    scores(file.parent)
    assert len(lines(caplog)) == 2
    assert file.is_file()
    assert not file.is_symlink()


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read anything")
def test_an_unreadable_file_is_made_anew(file, caplog):
    file.chmod(0)
    scores(file.parent)
    assert "Permission denied" in lines(caplog)[0]
    assert kernel_files.read(file) is not None


def test_a_file_that_cannot_be_opened_is_made_anew(file, caplog, monkeypatch):
    opened = os.open

    def refusing(path, flags, *mode):
        if path == str(file):
            raise PermissionError(13, "Permission denied")
        return opened(path, flags, *mode)

    monkeypatch.setattr(os, "open", refusing)
    scores(file.parent)
    assert "Permission denied" in lines(caplog)[0]


@pytest.mark.parametrize("mode", [0o620, 0o602, 0o666])
def test_a_file_that_others_can_write_is_not_read(file, caplog, mode):
    file.chmod(mode)
    scores(file.parent)
    assert "others can write it" in lines(caplog)[0]
    assert file.stat().st_mode & 0o777 == 0o600


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files away")
def test_another_users_file_is_not_read(file, caplog):
    os.chown(file, 12345, -1)
    scores(file.parent)
    assert "another user (12345)" in lines(caplog)[0]


def test_the_folder_is_its_owners_alone(tmp_path):
    before = os.umask(0)
    try:
        folder = kernel_files.own_folder(tmp_path / "kernels" / "version")
    finally:
        os.umask(before)
    assert folder.stat().st_mode & 0o777 == 0o700
    assert folder.parent.stat().st_mode & 0o777 == 0o700


class Planted:
    """Unpickled, it makes a folder."""

    def __init__(self, trace):
        self.trace = trace

    def __reduce__(self):
        return os.mkdir, (str(self.trace),)


def others_write(folder):
    folder.chmod(0o777)


def group_writes(folder):
    folder.chmod(0o770)


def another_owns(folder):
    if os.geteuid() != 0:
        pytest.skip("only root gives folders away")
    os.chown(folder, 12345, -1)


def no_folder(folder):
    for file in folder.iterdir():
        file.unlink()
    folder.rmdir()
    folder.touch()


@pytest.mark.parametrize("open_up", [others_write, group_writes, another_owns])
@pytest.mark.parametrize("which", ["folder", "parent"])
def test_nothing_planted_where_others_write_is_run(file, caplog, open_up, which):
    """Even if the seal is right: it is no secret."""
    trace = file.parent.parent / "trace"
    code = pickle.dumps(Planted(trace))
    kernel_files.write(file, code)
    assert kernel_files.read(file) == code
    folder = file.parent
    open_up(folder if which == "folder" else folder.parent)
    kernel_files.own_folder.cache_clear()
    scores(folder)
    (line,) = lines(caplog)
    assert "Remedy" in line
    assert "XDG_CACHE_HOME" in line
    assert not trace.exists()


def test_without_a_folder_kernels_are_compiled_in_memory(file, caplog, monkeypatch):
    no_folder(file.parent)
    kernel_files.own_folder.cache_clear()
    scores(file.parent)
    scores(file.parent)
    assert len(lines(caplog)) == 1, "it is said once"
    monkeypatch.setattr("classmark.compiling.cache_folder", lambda: file.parent)
    compile_ahead("demo", pytest.fail)


def test_a_full_disk_leaves_no_piece_and_no_error(file, caplog, monkeypatch):
    file.unlink()

    def full(_path, _data):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_bytes", full)
    kernel_files.write(file, b"code")
    assert "No space left on device" in lines(caplog)[0]
    assert list(file.parent.iterdir()) == []


def test_processes_that_write_at_once_leave_a_whole_file(file):
    codes = [bytes([n]) * 100_000 for n in range(8)]
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda code: kernel_files.write(file, code), codes * 4))
    assert kernel_files.read(file) in codes
    assert [path.name for path in file.parent.iterdir()] == [file.name]
