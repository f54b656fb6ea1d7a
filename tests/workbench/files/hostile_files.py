"""Files that somebody could send to do harm, each made in a folder."""

import gzip
import io
import stat
import struct
import zipfile
import zlib


def zip_with(path, name, content=b"text", mode=stat.S_IFREG | 0o644):
    info = zipfile.ZipInfo(name)
    info.external_attr = mode << 16
    info.compress_type = zipfile.ZIP_DEFLATED
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(info, content)


def slip(path):
    zip_with(path, "../../../escaped.txt")


def absolute(path):
    zip_with(path, "/tmp/escaped-absolute.txt")  # noqa: S108 - the name is the attack


def backslashes(path):
    zip_with(path, "..\\..\\escaped.txt")


def symlink(path):
    zip_with(path, "link.txt", b"/etc/passwd", stat.S_IFLNK | 0o777)


def bomb(path):
    """A thousand to one: 256 MiB of zeros, written piece by piece."""
    with (
        zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive,
        archive.open("zeros.txt", "w", force_zip64=True) as member,
    ):
        for _ in range(256):
            member.write(bytes(1 << 20))


def many_bombs(path):
    """Members that are each small enough, and together are not."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for at in range(150):
            archive.writestr(f"{at}.txt", b"0" * (1 << 20))


def gzip_bomb(path):
    with gzip.open(path, "wb", compresslevel=9) as file:
        for _ in range(256):
            file.write(bytes(1 << 20))


def claim(path):
    """A header that claims ten gigabytes."""
    zip_with(path, "claimed.txt", b"small")
    _claim(path, 10 << 30)


def lying(path):
    """A header that claims five bytes of what are fifty million."""
    zip_with(path, "lying.txt", b"a" * 50_000_000)
    _claim(path, 5)


def _claim(path, size):
    content = bytearray(path.read_bytes())
    at = content.index(b"PK\x01\x02")
    small = min(size, 0xFFFFFFFE)
    content[at + 24 : at + 28] = struct.pack("<I", small)
    path.write_bytes(content)


def crowd(path):
    """Half a million names without contents: 30 MB of table alone."""
    out = io.BytesIO()
    local = b"PK\x03\x04" + bytes(26)
    out.write(local)
    start = out.tell()
    for at in range(500_000):
        name = b"%07d.txt" % at
        head = struct.pack(
            "<4s6H3I5H2I", b"PK\x01\x02", 20, 20, 0, 0, 0, 0, zlib.crc32(b""), 0, 0,
            len(name), 0, 0, 0, 0, 0, 0,
        )  # fmt: skip
        out.write(head + name)
    size = out.tell() - start
    out.write(
        struct.pack("<4s4H2IH", b"PK\x05\x06", 0, 0, 0xFFFF, 0xFFFF, size, start, 0)
    )
    path.write_bytes(out.getvalue())


def long_line(path):
    """One object of sixty million letters on a line."""
    with gzip.open(path, "wb", compresslevel=1) as file:
        file.write(b'{"id": "a", "text": "')
        for at in range(60):
            file.write(b"%07d " % at * 125_000)
        file.write(b'"}\n')


def open_quote(path):
    """A cell that is never closed: thousands of lines of one row."""
    line = b'%07d,"some words that are no row of their own' + b"\n"
    with path.open("wb") as file:
        file.write(b'id,text\n1,"')
        for at in range(100_000):
            file.write((line % at).replace(b'"', b""))


def no_zip(path):
    path.write_bytes(b"PK\x03\x04 and nothing more")


def script(path):
    path.write_bytes(b"#!/bin/sh\necho harm\n")


HOSTILE = {
    "slip.zip": slip,
    "absolute.zip": absolute,
    "backslashes.zip": backslashes,
    "symlink.zip": symlink,
    "bomb.zip": bomb,
    "many.zip": many_bombs,
    "bomb.jsonl.gz": gzip_bomb,
    "claim.zip": claim,
    "lying.zip": lying,
    "crowd.zip": crowd,
    "line.jsonl.gz": long_line,
    "quote.csv": open_quote,
    "none.zip": no_zip,
    "harm.sh": script,
}
