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
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from classmark.corpus.documents import Document
from classmark.formats.records import SECONDARY, Ids, Record
from classmark.formats.text_files import (
    BROKEN,
    LIMITS,
    Limits,
    Measured,
    Seekable,
    decompressed,
    existing,
    open_bytes,
    whole_text,
)
from classmark.problems import UnreadableFile

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


ZIPS = (".zip",)
PACKED = {
    **dict.fromkeys((".tgz", ".tar.gz"), ".gz"),
    **dict.fromkeys((".tbz2", ".tar.bz2"), ".bz2"),
    **dict.fromkeys((".txz", ".tar.xz"), ".xz"),
}
TARS = (".tar", *PACKED)
HEADER = 1 << 20


@dataclass(frozen=True, slots=True)
class Entry:
    """One file inside: its relative name, where it lies, and how to read it.

    ``name`` uses ``/``; ``where`` is what an error message shows. Entries of an archive
    are to be opened before the next one is asked for.
    """

    name: str
    where: str
    open: Callable[[], AbstractContextManager[Measured]]


def is_archive(path: Path | str) -> bool:
    """Tell by the name whether a path is a zip or a tar.

    >>> is_archive("news.tar.gz"), is_archive("news.txt.gz")
    (True, False)
    """
    return str(path).lower().endswith(ZIPS + TARS)


def entries(path: Path | str, limits: Limits = LIMITS) -> Iterator[Entry]:
    """Yield the files inside a folder (sorted), a zip or a tar (as they come).

    Nothing is written. Refused, with the member's name: absolute names, ``..``, links,
    devices, and members that grow beyond ``limits``, one by one or together.
    """
    path = Path(path)
    if path.is_dir():
        yield from _folder(path, limits)
    elif str(path).lower().endswith(ZIPS):
        yield from _zip(existing(path), limits)
    elif str(path).lower().endswith(TARS):
        yield from _tar(existing(path), limits)
    else:
        existing(path)
        yield Entry(path.name, str(path), lambda: open_bytes(path, limits))


def _folder(root: Path, limits: Limits) -> Iterator[Entry]:
    real = root.resolve()
    for folder, folders, names in os.walk(root):
        folders.sort()
        for name in folders:
            if (Path(folder) / name).is_symlink():
                raise UnreadableFile(
                    Path(folder) / name, None, "a link to a folder: copy the folder"
                )
        for name in sorted(names):
            path = Path(folder) / name
            if not path.resolve().is_relative_to(real):
                raise UnreadableFile(
                    path, None, f"a link that leaves {root}: copy the file into it"
                )
            yield Entry(
                path.relative_to(root).as_posix(), str(path), _opener(path, limits)
            )


def _opener(
    path: Path, limits: Limits
) -> Callable[[], AbstractContextManager[Measured]]:
    return lambda: open_bytes(path, limits)


def safe_name(archive: Path, name: str) -> str:
    """Return a member's name, or refuse one that points outside the archive."""
    slashed = name.replace("\\", "/")
    parts = PurePosixPath(slashed).parts
    drive = bool(parts) and parts[0].endswith(":")
    if not name or slashed.startswith("/") or ".." in parts or drive:
        raise UnreadableFile(
            archive, None, f"member {name!r} points outside: do not trust this archive"
        )
    return str(PurePosixPath(slashed))


class _Budget:
    """The bytes all members may use together."""

    def __init__(self, path: Path, limits: Limits) -> None:
        self.path, self.limits, self.used = path, limits, 0
        self.packed = path.stat().st_size

    def spend(self, size: int) -> None:
        self.used += size
        allowed = min(self.limits.size, max(1 << 20, self.packed * self.limits.ratio))
        if self.used > allowed:
            raise UnreadableFile(
                self.path,
                None,
                f"its members hold more than {allowed} bytes: raise limits.size and "
                "limits.ratio if you trust it",
            )


def _zip(path: Path, limits: Limits) -> Iterator[Entry]:
    try:
        archive = zipfile.ZipFile(path)
    except (zipfile.BadZipFile, ValueError, NotImplementedError, *BROKEN) as error:
        raise UnreadableFile(
            path, None, f"no zip archive ({error}): fetch it again"
        ) from error
    budget = _Budget(path, limits)
    with archive:
        for info in archive.infolist():
            name = safe_name(path, info.filename)
            mode = info.external_attr >> 16
            if stat.S_IFMT(mode) not in {0, stat.S_IFREG, stat.S_IFDIR}:
                raise UnreadableFile(
                    path, None, f"member {name!r} is a link or a device: remove it"
                )
            if info.is_dir():
                continue
            budget.spend(info.file_size)
            yield Entry(
                name, f"{path}:{name}", _zip_opener(archive, info, path, limits)
            )


def _zip_opener(
    archive: zipfile.ZipFile, info: zipfile.ZipInfo, path: Path, limits: Limits
) -> Callable[[], AbstractContextManager[Measured]]:
    where = f"{path}:{info.filename}"

    @contextmanager
    def opened() -> Iterator[Measured]:
        try:
            stream = archive.open(info)
        except (zipfile.BadZipFile, RuntimeError, ValueError, *BROKEN) as error:
            raise UnreadableFile(
                where, None, f"cannot be read ({error}): pack it again without password"
            ) from error
        with stream:
            yield _Member(stream, where, limits, info.compress_size)

    return opened


class _Member(Measured):
    """A member's stream: a wrong checksum is a damaged file."""

    def read(self, size: int = 1 << 16, /) -> bytes:
        try:
            return super().read(size)
        except (zipfile.BadZipFile, tarfile.TarError) as error:
            raise UnreadableFile(
                self.name, None, f"damaged ({error}): fetch the archive again"
            ) from error


class _Unpacked(io.BufferedIOBase):
    """The bytes of a tar; a header that asks for too many of them is refused."""

    def __init__(self, stream: Seekable, path: Path) -> None:
        self.stream, self.path = stream, path

    def read(self, size: int | None = -1, /) -> bytes:
        if size is None or not 0 <= size <= HEADER:
            raise UnreadableFile(
                self.path,
                None,
                f"a header of more than {HEADER} bytes: do not trust it",
            )
        return self.stream.read(size)

    def seek(self, place: int, whence: int = 0, /) -> int:
        return self.stream.seek(place, whence)

    def tell(self) -> int:
        return self.stream.tell()


def _tar(path: Path, limits: Limits) -> Iterator[Entry]:
    budget = _Budget(path, limits)
    name = path.name.lower()
    suffix = next((to for end, to in PACKED.items() if name.endswith(end)), "")
    try:
        with (
            path.open("rb") as raw,
            tarfile.open(
                fileobj=_Unpacked(decompressed(raw, suffix), path), mode="r:"
            ) as archive,
        ):
            for info in archive:
                yield from _tar_member(archive, info, path, limits, budget)
    except UnreadableFile:
        raise
    except (tarfile.TarError, ValueError, OverflowError, *BROKEN) as error:
        raise UnreadableFile(
            path, None, f"no tar archive ({error}): fetch it again"
        ) from error


def _tar_member(
    archive: tarfile.TarFile,
    info: tarfile.TarInfo,
    path: Path,
    limits: Limits,
    budget: _Budget,
) -> Iterator[Entry]:
    name = safe_name(path, info.name)
    if info.isdir():
        return
    if not info.isreg():
        raise UnreadableFile(
            path, None, f"member {name!r} is a link or a device: remove it"
        )
    budget.spend(info.size)
    yield Entry(name, f"{path}:{name}", _tar_opener(archive, info, path, limits))


def _tar_opener(
    archive: tarfile.TarFile, info: tarfile.TarInfo, path: Path, limits: Limits
) -> Callable[[], AbstractContextManager[Measured]]:
    where = f"{path}:{info.name}"

    @contextmanager
    def opened() -> Iterator[Measured]:
        stream = archive.extractfile(info)
        if stream is None:
            raise UnreadableFile(where, None, "not a plain file: remove it")
        with stream:
            yield _Member(stream, where, limits)

    return opened


BLANK_LINE = re.compile(r"\r?\n[ \t]*\r?\n")


def read_text_folder(
    path: Path | str,
    *,
    labels: bool = True,
    suffix: str = ".txt",
    encoding: str = "utf-8",
    limits: Limits = LIMITS,
) -> Iterator[Record]:
    """Yield one record per file with the suffix; others are passed over.

    The id is the path inside the folder without the suffix; with ``labels`` the
    subfolder is the label (``bees/wild/a.txt`` has the label ``bees/wild``). Links that
    leave the folder are refused.
    """
    ids = Ids()
    for entry in _files(path, limits):
        if entry.name.endswith(suffix) and PurePosixPath(entry.name).name != suffix:
            name = ids.new(entry.name.removesuffix(suffix), entry.where, None)
            folder = str(PurePosixPath(name).parent)
            body = _text(entry, encoding, limits)
            grades = {folder: SECONDARY} if labels and folder != "." else {}
            yield Record(Document(name, {"body": body}), grades)


def _files(path: Path | str, limits: Limits) -> Iterator[Entry]:
    if not Path(path).exists():
        raise UnreadableFile(path, None, "no such folder: give the path of a folder")
    return entries(path, limits)


def _text(entry: Entry, encoding: str, limits: Limits) -> str:
    with entry.open() as stream:
        return whole_text(stream, entry.where, encoding, limits)


def read_newsgroups(
    path: Path | str, *, headers: bool = True, limits: Limits = LIMITS
) -> Iterator[Record]:
    """Yield the messages of 20 Newsgroups folders, ``group/number`` in latin-1.

    ``path`` is one part (``20news-bydate-train``) or the folder of several. The id is
    ``group/number``, with the part before it when there are several; the label is the
    group, ``meta["part"]`` the part. Without ``headers`` all up to the first blank
    line is left out.
    """
    ids = Ids()
    for entry in _files(path, limits):
        parts = PurePosixPath(entry.name).parts
        if len(parts) not in {2, 3} or any(part.startswith(".") for part in parts):
            raise UnreadableFile(
                entry.where, None, "not at group/number: give the folder of the groups"
            )
        body = _text(entry, "latin-1", limits)
        yield Record(
            Document(
                ids.new(entry.name, entry.where, None),
                {"body": body if headers else without_headers(body)},
            ),
            {parts[-2]: SECONDARY},
            {"part": parts[0] if len(parts) == 3 else _part(path)},
        )


def _part(path: Path | str) -> str:
    return Path(path).resolve().name


def without_headers(message: str) -> str:
    r"""Return a message after its first blank line; all of it when there is none.

    >>> without_headers("Subject: bees\n\nThey swarm.")
    'They swarm.'
    """
    blank = BLANK_LINE.search(message)
    return message[blank.end() :] if blank else message
