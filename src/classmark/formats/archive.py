"""Files inside a folder, a zip or a tar; folders of texts, subfolders as labels.

A zip or tar of such a folder is read the same way, without unpacking it.
"""

from __future__ import annotations

import io
import os
import re
import stat
import tarfile
import zipfile
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path, PurePosixPath
from typing import IO, Any, BinaryIO, cast

from classmark.corpus.documents import Document
from classmark.formats.records import SECONDARY, Record
from classmark.formats.text_files import (
    BROKEN,
    EITHER,
    LIMITS,
    FileLimits,
    FilePlace,
    Measured,
    decompressed,
    encoding_of,
    existing,
    open_bytes,
    whole_text,
)
from classmark.problems import UnreadableFile

ZIPS = (".zip",)
PACKED = {
    **dict.fromkeys((".tgz", ".tar.gz"), ".gz"),
    **dict.fromkeys((".tbz2", ".tar.bz2"), ".bz2"),
    **dict.fromkeys((".txz", ".tar.xz"), ".xz"),
}
TARS = (".tar", *PACKED)
HEADER = 1 << 20


@dataclass(frozen=True, slots=True)
class ArchiveFile:
    """One file inside: its relative name, where it lies, and how to read it.

    ``name`` uses ``/``; ``where`` is what an error message shows. Entries of an archive
    are to be opened before the next one is asked for.
    """

    name: str
    where: str
    open: Callable[[], AbstractContextManager[Measured]]

    def encoding(self) -> str:
        """UTF-8 where all of it is that, else Latin-1."""
        with self.open() as stream:
            return encoding_of(stream)

    def text(self, encoding: str = "utf-8", limits: FileLimits = LIMITS) -> str:
        """Return all its text."""
        with self.open() as stream:
            return whole_text(stream, self.where, encoding, limits)


def is_archive(path: Path | str) -> bool:
    """Tell by the name whether a path is a zip or a tar.

    >>> is_archive("news.tar.gz"), is_archive("news.txt.gz")
    (True, False)
    """
    return str(path).lower().endswith(ZIPS + TARS)


def entries(path: Path | str, limits: FileLimits = LIMITS) -> Iterator[ArchiveFile]:
    """Yield the files inside a folder (sorted), a zip or a tar (as they come).

    Nothing is written. Refused, with the member's name: absolute names, ``..``, links,
    devices, and members that grow beyond ``limits``, one by one or together.
    """
    path = Path(path)
    if not path.exists():
        raise FilePlace(path).refusal("no such folder or file: give the path of one")
    if path.is_dir():
        yield from _folder(path, limits)
    elif is_archive(path):
        members = _zip if path.name.lower().endswith(ZIPS) else _tar
        yield from members(existing(path), limits)
    else:
        yield ArchiveFile(
            path.name, str(existing(path)), partial(open_bytes, path, limits)
        )


def _folder(root: Path, limits: FileLimits) -> Iterator[ArchiveFile]:
    real = root.resolve()
    for folder, folders, names in os.walk(root):
        folders.sort()
        for name in folders:
            if (Path(folder) / name).is_symlink():
                raise FilePlace(Path(folder) / name).refusal(
                    "a link to a folder: copy the folder"
                )
        for name in sorted(names):
            path = Path(folder) / name
            if not path.resolve().is_relative_to(real):
                raise FilePlace(path).refusal(
                    "a link that leaves %(root)s: copy the file into it", root=root
                )
            inside = path.relative_to(root).as_posix()
            yield ArchiveFile(inside, str(path), partial(open_bytes, path, limits))


class _Members(FilePlace):
    """The checks of an archive's members: names, kinds, and bytes together."""

    def __init__(self, path: Path, limits: FileLimits) -> None:
        super().__init__(path)
        self.used = 0
        packed = path.stat().st_size
        self.allowed = min(limits.size, max(1 << 20, packed * limits.ratio))

    def entry(self, name: str, size: int, opener: Callable[[str], Any]) -> ArchiveFile:
        """Return a plain file as an entry, and count its bytes."""
        self.used += size
        if self.used > self.allowed:
            raise self.refusal(
                "its members hold more than %(allowed)s bytes: raise limits.size "
                "and limits.ratio if you trust it",
                allowed=self.allowed,
            )
        where = f"{self.path}:{name}"
        return ArchiveFile(name, where, partial(opener, where))

    def name(self, name: str, *, plain: bool) -> str:
        """Return a member's name; refuse one outside, a link and a device."""
        slashed = name.replace("\\", "/")
        parts = PurePosixPath(slashed).parts
        drive = bool(parts) and parts[0].endswith(":")
        if not name or slashed.startswith("/") or ".." in parts or drive:
            raise self.refusal(
                "member %(name)r points outside: do not trust this archive",
                name=name,
            )
        if not plain:
            raise self.refusal(
                "member %(slashed)r is a link or a device: remove it",
                slashed=slashed,
            )
        return str(PurePosixPath(slashed))


DAMAGED = (zipfile.BadZipFile, tarfile.TarError, *BROKEN)


def _zip(path: Path, limits: FileLimits) -> Iterator[ArchiveFile]:
    try:
        archive = zipfile.ZipFile(path)
    except (zipfile.BadZipFile, ValueError, NotImplementedError, *BROKEN) as error:
        raise FilePlace(path).refusal(
            "no zip archive (%(error)s): fetch it again", error=error
        ) from error

    @contextmanager
    def opened(info: zipfile.ZipInfo, where: str) -> Iterator[Measured]:
        try:
            stream = archive.open(info)
        except (zipfile.BadZipFile, RuntimeError, ValueError, *BROKEN) as error:
            raise FilePlace(where).refusal(
                "cannot be read (%(error)s): pack it again without password",
                error=error,
            ) from error
        with stream:
            yield Measured(stream, where, limits, info.compress_size, DAMAGED)

    members = _Members(path, limits)
    with archive:
        for info in archive.infolist():
            kind = stat.S_IFMT(info.external_attr >> 16)
            plain = kind in {0, stat.S_IFREG, stat.S_IFDIR}
            name = members.name(info.filename, plain=plain)
            if not info.is_dir():
                yield members.entry(name, info.file_size, partial(opened, info))


class _Unpacked(io.BufferedIOBase):
    """The bytes of a tar; a header that asks for too many of them is refused."""

    def __init__(self, stream: BinaryIO, path: Path) -> None:
        self.stream, self.path = stream, path
        self.seek, self.tell = stream.seek, stream.tell  # type: ignore[method-assign]

    def read(self, size: int | None = -1, /) -> bytes:
        if size is None or not 0 <= size <= HEADER:
            raise FilePlace(self.path).refusal(
                "a header of more than %(header)s bytes: do not trust it",
                header=HEADER,
            )
        return self.stream.read(size)


def _tar(path: Path, limits: FileLimits) -> Iterator[ArchiveFile]:
    name = path.name.lower()
    suffix = next((to for end, to in PACKED.items() if name.endswith(end)), "")
    members = _Members(path, limits)
    try:
        with (
            path.open("rb") as raw,
            tarfile.open(
                fileobj=_Unpacked(decompressed(raw, suffix), path), mode="r:"
            ) as archive,
        ):

            @contextmanager
            def opened(info: tarfile.TarInfo, where: str) -> Iterator[Measured]:
                with cast("IO[bytes]", archive.extractfile(info)) as stream:
                    yield Measured(stream, where, limits, broken=DAMAGED)

            for info in archive:
                name = members.name(info.name, plain=info.isdir() or info.isreg())
                if info.isreg():
                    yield members.entry(name, info.size, partial(opened, info))
    except UnreadableFile:
        raise
    except (tarfile.TarError, ValueError, OverflowError, *BROKEN) as error:
        raise FilePlace(path).refusal(
            "no tar archive (%(error)s): fetch it again", error=error
        ) from error


BLANK_LINE = re.compile(r"\r?\n[ \t]*\r?\n")


def read_text_folder(
    path: Path | str,
    *,
    labels: bool = True,
    suffix: str = ".txt",
    encoding: str = "utf-8",
    limits: FileLimits = LIMITS,
) -> Iterator[Record]:
    """Yield one record per file with the suffix; others are passed over.

    The id is the path inside the folder without the suffix; with ``labels`` the
    subfolder is the label (``bees/wild/a.txt`` has the label ``bees/wild``). Links that
    leave the folder are refused.
    """
    ids: set[str] = set()
    for entry in entries(path, limits):
        if entry.name.endswith(suffix) and PurePosixPath(entry.name).name != suffix:
            place = FilePlace(entry.where, None, ids)
            name = place.new_id(entry.name.removesuffix(suffix))
            folder = str(PurePosixPath(name).parent)
            grades = {folder: SECONDARY} if labels and folder != "." else {}
            body = entry.text(encoding, limits)
            yield Record(Document(name, {"body": body}), grades)


def read_newsgroups(
    path: Path | str, *, headers: bool = True, limits: FileLimits = LIMITS
) -> Iterator[Record]:
    """Yield the messages of 20 Newsgroups folders, ``group/number``.

    ``path`` is one part (``20news-bydate-train``) or the folder of several. The id is
    ``group/number``, with the part before it when there are several; the label is the
    group, ``meta["part"]`` the part. Without ``headers`` all up to the first blank
    line is left out. A message is UTF-8 where all of it is that, else Latin-1.
    """
    ids: set[str] = set()
    for entry in entries(path, limits):
        place = FilePlace(entry.where, None, ids)
        parts = PurePosixPath(entry.name).parts
        if len(parts) not in {2, 3} or any(part.startswith(".") for part in parts):
            raise place.refusal("not at group/number: give the folder of the groups")
        body = entry.text(EITHER, limits)
        fields = {"body": body if headers else without_headers(body)}
        part = parts[0] if len(parts) == 3 else Path(path).resolve().name
        yield Record(
            Document(place.new_id(entry.name), fields),
            {parts[-2]: SECONDARY},
            {"part": part},
        )


def without_headers(message: str) -> str:
    r"""Return a message after its first blank line; all of it when there is none.

    >>> without_headers("Subject: bees\n\nThey swarm.")
    'They swarm.'
    """
    blank = BLANK_LINE.search(message)
    return message[blank.end() :] if blank else message
