"""Archives are read without unpacking, and refused when they try to leave."""

import gzip
import io
import tarfile
import zipfile

import pytest
from hypothesis import given
from hypothesis import strategies as st

from classmark.formats.archive import entries, is_archive
from classmark.formats.text_files import FileLimits, whole_text
from classmark.problems import UnreadableFile

BODY = b"Plums want a dry wall."


def read_all(path, **options):
    found = {}
    for entry in entries(path, **options):
        with entry.open() as stream:
            found[entry.name] = whole_text(stream, entry.where)
    return found


def make_zip(path, name="a.txt", body=BODY, mode=0):
    info = zipfile.ZipInfo(name)
    info.external_attr = mode << 16
    info.compress_type = zipfile.ZIP_DEFLATED
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(info, body)
    return path


def make_tar(path, name="a.txt", kind=tarfile.REGTYPE, body=BODY, target=""):
    info = tarfile.TarInfo(name)
    info.type, info.linkname = kind, target
    info.size = len(body) if kind == tarfile.REGTYPE else 0
    with tarfile.open(path, "w:gz" if path.name.endswith("gz") else "w") as archive:
        archive.addfile(info, io.BytesIO(body))
    return path


def test_folder_zip_and_tar_hold_the_same(tmp_path):
    folder = tmp_path / "folder"
    (folder / "b").mkdir(parents=True)
    (folder / "b" / "c.txt").write_text("two")
    (folder / "a.txt").write_text("one")
    with zipfile.ZipFile(tmp_path / "f.zip", "w") as archive:
        archive.write(folder / "b", "b")
        archive.write(folder / "a.txt", "a.txt")
        archive.write(folder / "b" / "c.txt", "b/c.txt")
    with tarfile.open(tmp_path / "f.tar.xz", "w:xz") as archive:
        archive.add(folder, ".")
    expected = {"a.txt": "one", "b/c.txt": "two"}
    assert read_all(folder) == expected
    assert read_all(tmp_path / "f.zip") == expected
    assert read_all(tmp_path / "f.tar.xz") == expected
    assert read_all(folder / "a.txt") == {"a.txt": "one"}


def test_archives_are_known_by_their_names():
    assert is_archive("A.ZIP")
    assert is_archive("a.tar.bz2")
    assert not is_archive("a.gz")


@pytest.mark.parametrize(
    "name", ["../a.txt", "/a.txt", "b/../../a.txt", "C:/a.txt", "..\\a.txt"]
)
def test_traversal_is_refused(tmp_path, name):
    with pytest.raises(UnreadableFile, match="points outside"):
        read_all(make_zip(tmp_path / "a.zip", name))
    with pytest.raises(UnreadableFile, match="points outside"):
        read_all(make_tar(tmp_path / "a.tar", name))


@pytest.mark.parametrize(
    "kind", [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.CHRTYPE, tarfile.FIFOTYPE]
)
def test_links_and_devices_in_tars_are_refused(tmp_path, kind):
    path = make_tar(tmp_path / "a.tar.gz", kind=kind, target="/etc/hostname")
    with pytest.raises(UnreadableFile, match="link or a device"):
        read_all(path)


def test_links_in_zips_are_refused(tmp_path):
    with pytest.raises(UnreadableFile, match="link or a device"):
        read_all(make_zip(tmp_path / "a.zip", mode=0o120777))


def test_bombs_are_refused(tmp_path):
    with pytest.raises(UnreadableFile, match=r"limits\.ratio"):
        read_all(make_zip(tmp_path / "a.zip", body=bytes(20 << 20)))
    with pytest.raises(UnreadableFile, match=r"limits\.ratio"):
        read_all(make_tar(tmp_path / "a.tgz", body=bytes(20 << 20)))
    with pytest.raises(UnreadableFile, match=r"limits\.size"):
        read_all(make_zip(tmp_path / "b.zip"), limits=FileLimits(size=10))


def test_a_tar_header_cannot_fill_the_memory(tmp_path):
    info = tarfile.TarInfo("a.txt")
    info.type, info.size = tarfile.XHDTYPE, 1 << 33
    header = info.tobuf(tarfile.GNU_FORMAT)
    (tmp_path / "a.tar.gz").write_bytes(gzip.compress(header + bytes(4 << 20)))
    with pytest.raises(UnreadableFile, match="header"):
        read_all(tmp_path / "a.tar.gz")


def test_a_member_without_a_name_is_refused(tmp_path):
    with pytest.raises(UnreadableFile, match="points outside"):
        read_all(make_zip(tmp_path / "a.zip", ""))


@pytest.mark.parametrize("name", ["a.zip", "a.tar", "a.tgz"])
def test_any_damage_gives_members_or_a_reason(tmp_path_factory, name):
    path = tmp_path_factory.mktemp("noise") / name
    (make_zip if name.endswith("zip") else make_tar)(path, "é" * 90, body=BODY * 9)
    whole = path.read_bytes()

    @given(st.integers(0, len(whole)), st.integers(0, 20), st.binary(max_size=20))
    def check(start, length, noise):
        path.write_bytes(whole[:start] + noise + whole[start + length :])
        try:
            found = set(read_all(path).values())
        except UnreadableFile:
            found = set()
        assert len(found) <= 1

    check()


def test_a_zip_that_lies_about_sizes_is_refused(tmp_path):
    path = make_zip(tmp_path / "a.zip", body=bytes(20 << 20))
    real, lie = (20 << 20).to_bytes(4, "little"), (1000).to_bytes(4, "little")
    path.write_bytes(path.read_bytes().replace(real, lie))
    with pytest.raises(UnreadableFile):
        read_all(path)


def test_damaged_archives_say_so(tmp_path):
    for name in ("a.zip", "a.tar", "a.tar.gz"):
        (tmp_path / name).write_bytes(b"no archive at all" * 100)
        with pytest.raises(UnreadableFile, match="archive"):
            read_all(tmp_path / name)
    path = make_zip(tmp_path / "b.zip", body=b"abc" * 100)
    whole = bytearray(path.read_bytes())
    whole[40] ^= 0xFF
    path.write_bytes(whole)
    with pytest.raises(UnreadableFile):
        read_all(path)


def test_links_that_leave_a_folder_are_refused(tmp_path):
    outside, folder = tmp_path / "secret.txt", tmp_path / "folder"
    outside.write_text("secret")
    folder.mkdir()
    (folder / "a.txt").write_text("one")
    (folder / "same.txt").symlink_to(folder / "a.txt")
    assert read_all(folder) == {"a.txt": "one", "same.txt": "one"}
    (folder / "b.txt").symlink_to(outside)
    with pytest.raises(UnreadableFile, match="leaves"):
        read_all(folder)
    (folder / "b.txt").unlink()
    (folder / "c").symlink_to(tmp_path, target_is_directory=True)
    with pytest.raises(UnreadableFile, match="link to a folder"):
        read_all(folder)
