import io
import json
import tarfile
import zipfile
from contextlib import contextmanager
from hashlib import sha256
from types import SimpleNamespace

import pytest

from classmark.datasets import fetch
from classmark.datasets.dataset import PublicCollection, Source
from classmark.problems import Mistake, UnreadableFile

ADDRESS = "https://data.example/adi.tar.gz"


def tar_of(files):
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as archive:
        for name, text in files.items():
            info = tarfile.TarInfo(name)
            info.size = len(text)
            archive.addfile(info, io.BytesIO(text.encode()))
    return packed.getvalue()


@pytest.fixture
def web(monkeypatch):
    """Serve addresses from a dictionary, and know one collection."""
    served = {ADDRESS: tar_of({"adi/ADI.ALL": "bees", "adi/ADI.QRY": "?"})}

    @contextmanager
    def opened(address):
        if address not in served:
            raise OSError("no route")
        answer = io.BytesIO(served[address])
        answer.headers = {"Content-Length": str(len(served[address]))}
        yield answer

    source = Source(ADDRESS, "adi.tar.gz")
    entry = SimpleNamespace(
        known=PublicCollection("adi", "w", "adi", "l", sources=(source,))
    )
    monkeypatch.setattr(fetch, "_opened", opened)
    monkeypatch.setattr(fetch, "known", lambda _: entry.known)
    return SimpleNamespace(served=served, entry=entry)


def test_download_unpack_and_pin(tmp_path, web):
    got = fetch.get("adi", to=tmp_path)
    digest = sha256(web.served[ADDRESS]).hexdigest()
    assert got.path == tmp_path / "adi"
    assert (got.path / "ADI.ALL").read_text() == "bees"
    assert not (got.path / "adi.tar.gz").exists()
    assert got.sums == got.pinned == {ADDRESS: digest}
    assert json.loads((tmp_path / "checksums.json").read_text()) == {ADDRESS: digest}
    assert fetch.get("adi", to=tmp_path).sums == {}, "it is there already"
    again = fetch.get("adi", to=tmp_path, again=True)
    assert again.sums
    assert not again.pinned
    assert sorted(path.name for path in tmp_path.iterdir()) == ["adi", "checksums.json"]


def test_a_changed_file_is_refused_and_the_old_one_stays(tmp_path, web):
    fetch.get("adi", to=tmp_path)
    web.served[ADDRESS] = tar_of({"ADI.ALL": "wasps"})
    with pytest.raises(Mistake, match="the checksum is"):
        fetch.get("adi", to=tmp_path, again=True)
    assert (tmp_path / "adi" / "ADI.ALL").read_text() == "bees"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["adi", "checksums.json"]


def test_the_catalogue_checksum_wins(tmp_path, web):
    source = Source(ADDRESS, "adi.tar.gz", "0" * 64)
    web.entry.known = PublicCollection("adi", "w", "adi", "l", sources=(source,))
    with pytest.raises(Mistake, match="not 0000"):
        fetch.get("adi", to=tmp_path)
    assert not (tmp_path / "adi").exists()


def test_without_network(tmp_path, web):
    web.served.clear()
    with pytest.raises(Mistake, match=r"no route.*data get adi --from"):
        fetch.get("adi", to=tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_plain_files_and_no_address(tmp_path, web):
    web.served["https://data.example/a/b.csv"] = b"x"
    source = Source("https://data.example/a/b.csv", "a/b.csv")
    web.entry.known = PublicCollection("obp", "w", "obp", "l", sources=(source,))
    got = fetch.get("obp", to=tmp_path)
    assert (got.path / "a" / "b.csv").read_bytes() == b"x"
    web.entry.known = PublicCollection(
        "letor", "w", "letor", "l", page="https://p.example"
    )
    with pytest.raises(Mistake, match=r"fetch it from https://p\.example"):
        fetch.get("letor", to=tmp_path)
    web.entry.known = PublicCollection("library", "w", "library", "l")
    with pytest.raises(Mistake, match="comes with Classmark"):
        fetch.get("library", to=tmp_path)


@pytest.mark.parametrize("address", ["http://x.example/a", "file:///etc/passwd"])
def test_only_https(tmp_path, address):
    with pytest.raises(Mistake, match="only https"):
        fetch.download(Source(address, "a"), tmp_path / "a", "", "adi")
    with pytest.raises(Mistake, match="only https"):
        fetch.OnlyHttps().redirect_request(None, None, 302, "", {}, address)


def test_from_a_folder_an_archive_and_a_file(tmp_path, web):
    given = tmp_path / "given"
    given.mkdir()
    (given / "ADI.ALL").write_text("bees")
    home = tmp_path / "home"
    assert (fetch.get("adi", from_=given, to=home).path / "ADI.ALL").exists()
    packed = tmp_path / "adi.tar.gz"
    packed.write_bytes(web.served[ADDRESS])
    got = fetch.get("adi", from_=packed, to=home, again=True)
    assert (got.path / "ADI.QRY").exists()
    got = fetch.get("adi", from_=given / "ADI.ALL", to=home, again=True)
    assert [path.name for path in got.path.iterdir()] == ["ADI.ALL"]
    with pytest.raises(Mistake, match="no such file or folder"):
        fetch.get("adi", from_=tmp_path / "none", to=home, again=True)
    assert (home / "adi" / "ADI.ALL").exists(), "a failure leaves the old one"


def test_wicked_archives_write_nothing(tmp_path, web):
    home = tmp_path / "home"
    outside = tmp_path / "evil"
    web.served[ADDRESS] = tar_of({"../../evil": "x"})
    with pytest.raises(UnreadableFile, match="points outside"):
        fetch.get("adi", to=home)
    link = tmp_path / "link.tar"
    with tarfile.open(link, "w") as archive:
        info = tarfile.TarInfo("a")
        info.type, info.linkname = tarfile.SYMTYPE, "/etc/passwd"
        archive.addfile(info)
    with pytest.raises(UnreadableFile, match="link"):
        fetch.get("adi", from_=link, to=home)
    bomb = tmp_path / "bomb.zip"
    with zipfile.ZipFile(bomb, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("a", b"\0" * (30 << 20))
    with pytest.raises(UnreadableFile, match="more than"):
        fetch.get("adi", from_=bomb, to=home)
    folder = tmp_path / "linked"
    folder.mkdir()
    (folder / "a").symlink_to("/etc/passwd")
    with pytest.raises(UnreadableFile, match="leaves"):
        fetch.get("adi", from_=folder, to=home)
    assert not outside.exists()
    assert list(home.iterdir()) == []


def test_damaged_pins_are_named(tmp_path, web):  # noqa: ARG001 (no network)
    (tmp_path / "checksums.json").write_text("{")
    with pytest.raises(Mistake, match=r"checksums\.json is damaged"):
        fetch.get("adi", to=tmp_path)
