"""How is a file opened: as numbered lines of text, decompressed within limits."""

from __future__ import annotations

import bz2
import codecs
import gzip
import lzma
import math
import secrets
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from io import BytesIO, TextIOWrapper
from itertools import chain
from pathlib import Path, PurePath
from typing import IO, TYPE_CHECKING, Any, BinaryIO, Generic, NoReturn, TypeVar, cast

from classmark.language import _, whole
from classmark.problems import UnreadableFile, refusal, worded

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element

    from _typeshed import SupportsRead

T = TypeVar("T")
CHUNK = 1 << 16
COMPRESSIONS = (".gz", ".bz2", ".xz")
BROKEN = (OSError, EOFError, zlib.error, lzma.LZMAError)


@dataclass(frozen=True, slots=True)
class FileLimits:
    """What a file may cost: bytes once decompressed, how many times more, one line.

    ``ratio`` is not asked of the first MiB: small files may repeat themselves.
    """

    size: int = 1 << 36
    ratio: int = 200
    line: int = 1 << 26


LIMITS = FileLimits()
LARGEST = 3.4028234663852886e38  # in single precision


class FilePlace:
    """A file and a line of it, for messages, and the ids that were read there.

    >>> FilePlace("notes.tsv", 3).refuse("no tab: put one after the id")
    Traceback (most recent call last):
    classmark.problems.UnreadableFile: notes.tsv, line 3: no tab: put one after the id
    """

    def __init__(
        self, path: Path | str, line: int | None = None, ids: set[str] | None = None
    ) -> None:
        self.path, self.line = str(path), line
        self.ids: set[str] = set() if ids is None else ids
        self.dimension = 0

    def refuse(self, problem: str) -> NoReturn:
        """Raise :class:`UnreadableFile` with the file, the line and the problem."""
        raise UnreadableFile(self.path, self.line, problem)

    def refusal(self, problem: str, /, **values: object) -> UnreadableFile:
        """The same, to be raised; the problem is a text of the catalogues."""
        return UnreadableFile(self.path, self.line, _(problem, **values))

    def new_id(self, name: str) -> str:
        """Return the id, or refuse it when it is empty or was there before."""
        if not name or name.isspace():
            raise self.refusal("an empty id: give every document one")
        if name in self.ids:
            raise self.refusal(
                "id %(name)r is there a second time: make ids unique", name=name
            )
        self.ids.add(name)
        return name

    def vector(self, value: Any, name: str) -> tuple[float, ...]:
        """Return a list of finite numbers, as long as those before, or refuse it."""
        numbers = value if isinstance(value, list) else []
        if not numbers or not all(type(number) in {int, float} for number in numbers):
            raise self.refusal(
                "%(name)r is no list of numbers: write [0.1, 0.2, …]", name=name
            )
        if not all(abs(number) <= LARGEST for number in numbers):
            raise self.refusal(
                "%(name)r has a number that is not finite in single precision",
                name=name,
            )
        self.dimension = self.dimension or len(numbers)
        if len(numbers) != self.dimension:
            raise self.refusal(
                "%(n)s numbers after vectors of %(dimension)s: give all "
                "documents vectors of one length",
                n=whole(len(numbers)),
                dimension=self.dimension,
            )
        return tuple(map(float, numbers))

    def line_id(self, name: str = "") -> str:
        """An id for what has none: the name of the file, and the line.

        name : of the file, where it does not lie under its name.

        >>> FilePlace("short texts.tsv.gz", 3).line_id()
        'short_texts.tsv:3'
        """
        plain = plain_name(name or self.path).name
        return f"{'_'.join(plain.split())}:{self.line}"

    def finite(self, value: Any, name: str) -> float:
        """Return a finite number, or refuse what is none."""
        try:
            number = float(value)
        except (TypeError, ValueError):
            number = math.nan
        if not math.isfinite(number):
            raise self.refusal(
                "%(name)s is %(value)s: give a finite number",
                name=name,
                value=f"{value!r:.40}",
            )
        return number


class Measured(FilePlace):
    """A stream that stops, with a reason, when it grows beyond its limits.

    packed : its bytes before they are decompressed;  broken : the errors of damage.
    """

    def __init__(
        self,
        stream: SupportsRead[bytes],
        path: str,
        limits: FileLimits,
        packed: int | None = None,
        broken: tuple[type[Exception], ...] = BROKEN,
    ) -> None:
        super().__init__(path)
        self.stream, self.limits, self.broken, self.seen = stream, limits, broken, 0
        self.most = limits.size if packed is None else packed * limits.ratio

    def read(self, size: int = CHUNK, /) -> bytes:
        """Give the next bytes, or raise :class:`UnreadableFile`."""
        try:
            chunk = self.stream.read(size)
        except self.broken as error:
            raise self.refusal(
                "damaged (%(error)s): fetch the file again", error=error
            ) from error
        self.seen += len(chunk)
        if self.seen > self.limits.size:
            raise self.refusal(
                "over %(size)s bytes: raise limits.size if you trust it",
                size=self.limits.size,
            )
        if self.seen > max(1 << 20, self.most):
            raise self.refusal(
                "grows more than %(ratio)s times when decompressed: raise "
                "limits.ratio if you trust it",
                ratio=self.limits.ratio,
            )
        return chunk


def plain_name(path: Path | str) -> PurePath:
    """The path without the suffix of a compression.

    >>> plain_name("shelf.csv.gz").name
    'shelf.csv'
    """
    name = PurePath(path)
    return name.with_suffix("") if name.suffix in COMPRESSIONS else name


def existing(path: Path | str) -> Path:
    """Return the path of a plain file; ``UnreadableFile`` where there is none."""
    path = Path(path)
    try:
        exists, plain = path.exists(), path.is_file()
    except (OSError, ValueError) as error:
        raise UnreadableFile(
            path, None, _("no usable name: %(error)s", error=error)
        ) from error
    if not plain:
        problem = _("not a plain file") if exists else _("no such file")
        raise UnreadableFile(
            path, None, _("%(problem)s: give the path of a file", problem=problem)
        )
    return path


def open_plain(path: Path | str) -> BinaryIO:
    """Open a file for reading, as it is; ``UnreadableFile`` where that fails."""
    path = existing(path)
    try:
        return path.open("rb")
    except OSError as error:
        raise UnreadableFile(
            path, None, _("cannot be opened: %(error)s", error=error)
        ) from error


@contextmanager
def open_bytes(path: Path | str, limits: FileLimits = LIMITS) -> Iterator[Measured]:
    """Open a file for reading; ``.gz``, ``.bz2`` and ``.xz`` are decompressed."""
    path = Path(path)
    with open_plain(path) as raw:
        packed = None if path.suffix not in COMPRESSIONS else path.stat().st_size
        yield Measured(decompressed(raw, path.suffix), str(path), limits, packed)


def decompressed(raw: BinaryIO, suffix: str, mode: str = "rb") -> Any:
    """Wrap a stream of bytes by what its suffix says; no time of day is written."""
    if suffix == ".gz":
        return gzip.GzipFile("", mode, fileobj=raw, mtime=0)
    if suffix in {".bz2", ".xz"}:
        return (bz2.BZ2File if suffix == ".bz2" else lzma.LZMAFile)(raw, mode)  # type: ignore[call-overload]
    return raw


EITHER = "utf-8 or latin-1"


def encoding_of(stream: SupportsRead[bytes]) -> str:
    r"""UTF-8 where all of a stream is that, else Latin-1, which knows any byte.

    A byte order mark of UTF-16 decides where the stream is decoded (``texts``).

    >>> encoding_of(BytesIO("Köln".encode())), encoding_of(BytesIO(b"K\xf6ln"))
    ('utf-8', 'latin-1')
    """
    try:
        for _ in codecs.iterdecode(iter(lambda: stream.read(CHUNK), b""), "utf-8"):
            pass
    except UnicodeDecodeError:
        return "latin-1"
    return "utf-8"


def texts(
    stream: SupportsRead[bytes], name: str, encoding: str = "utf-8"
) -> Iterator[str]:
    """Decode a stream piece by piece; a byte order mark is dropped.

    One of UTF-8 or UTF-16 decides over Latin-1 and UTF-8, which formats are read in
    that do not say their encoding.
    """
    try:
        "a".encode(encoding)
        codec = codecs.lookup(encoding).name
    except (LookupError, UnicodeError) as error:
        raise refusal(
            "encoding=%(encoding)r is not known: use 'utf-8', 'latin-1', 'cp1252'…",
            encoding=encoding,
        ) from error
    line, first = 1, stream.read(CHUNK)
    codec = _marked(first, codec)
    try:
        chunks = chain([first], iter(lambda: stream.read(CHUNK), b""))
        for text in codecs.iterdecode(chunks, codec):
            line += text.count("\n")
            yield text
    except UnicodeError as error:
        if isinstance(error, UnicodeDecodeError):
            line += error.object[: error.start].count(b"\n")
        remedy = worded("give --encoding (encoding=)")
        if not remedy:
            raise FilePlace(name, line).refusal(
                "not %(encoding)s (%(error)s): save the file as UTF-8",
                encoding=encoding,
                error=error,
            ) from error
        raise FilePlace(name, line).refusal(
            "not %(encoding)s (%(error)s): save the file as UTF-8, or %(remedy)s, as "
            "in latin-1",
            encoding=encoding,
            error=error,
            remedy=remedy,
        ) from error


def _marked(first: bytes, codec: str) -> str:
    """The codec that a byte order mark names; without one, the one given."""
    if codec in {"utf-8", "iso8859-1"}:
        if first.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
            return "utf-16"
        if codec == "utf-8" or first.startswith(codecs.BOM_UTF8):
            return "utf-8-sig"
    return codec


def lines_of(
    stream: SupportsRead[bytes],
    name: str,
    encoding: str = "utf-8",
    limits: FileLimits = LIMITS,
    end: str = "\n",
) -> Iterator[tuple[int, str]]:
    r"""Yield (line number, line) of a stream, where ``\n`` ends a line.

    end : what is put in the place of the ``\n``.
    """
    number, pending, length = 1, [], 0
    for text in texts(stream, name, encoding):
        first, *others = text.split("\n")
        pending.append(first)
        length += len(first)
        if others:
            *whole, last = others
            yield number, "".join(pending) + end
            for line in whole:
                number += 1
                yield number, line + end
            number, pending, length = number + 1, [last], len(last)
        if length > limits.line:
            raise FilePlace(name, number).refusal(
                "a line of more than %(line)s characters: raise limits.line if "
                "that is right",
                line=limits.line,
            )
    if length:
        yield number, "".join(pending)


def raw_lines(
    path: Path | str,
    encoding: str = "utf-8",
    limits: FileLimits = LIMITS,
    end: str = "\n",
) -> Iterator[tuple[int, str]]:
    """Yield (line number, line) of a file; see :func:`lines_of`.

    encoding : or ``EITHER``, for formats whose files do not say theirs.
    """
    if encoding == EITHER:
        with open_bytes(path, limits) as stream:
            encoding = encoding_of(stream)
    with open_bytes(path, limits) as stream:
        yield from lines_of(stream, stream.path, encoding, limits, end)


class Numbered(FilePlace, Generic[T]):
    """Lines, rows or other parts of a file with the number of their first line.

    ``line`` is the number of the part that was read last, so that ``refuse``, called
    while it is looked at, names it.
    """

    def __init__(
        self,
        path: Path | str,
        parts: Iterable[tuple[int, T]],
        ids: set[str] | None = None,
    ) -> None:
        super().__init__(path, None, ids)
        self.parts = parts

    def __iter__(self) -> Iterator[tuple[int, T]]:
        for number, part in self.parts:
            self.line = number
            yield number, part


def lines(
    path: Path | str,
    encoding: str = "utf-8",
    limits: FileLimits = LIMITS,
    *,
    blank: bool = True,
) -> Numbered[str]:
    r"""Return the (line number, line without ``\n`` or ``\r\n``) pairs of a file.

    Without ``blank``, lines of white space are passed over.
    """
    numbered = (
        (number, line.removesuffix("\r"))
        for number, line in raw_lines(path, encoding, limits, end="")
        if blank or (line and not line.isspace())
    )
    return Numbered(path, numbered)


def whole_text(
    stream: SupportsRead[bytes],
    name: str,
    encoding: str = "utf-8",
    limits: FileLimits = LIMITS,
) -> str:
    """Return all the text of one document's stream; ``limits.line`` bounds it."""
    if encoding == EITHER:
        content = bytearray()
        while len(content) <= 4 * limits.line and (chunk := stream.read(CHUNK)):
            content += chunk
        encoding, stream = encoding_of(BytesIO(content)), BytesIO(content)
    pieces, length = [], 0
    for text in texts(stream, name, encoding):
        pieces.append(text)
        length += len(text)
        if length > limits.line:
            raise FilePlace(name).refusal(
                "a document of more than %(line)s characters: raise limits.line "
                "if that is right",
                line=limits.line,
            )
    return "".join(pieces)


def safe_xml(path: Path | str, text: bytes) -> Element:
    """Parse XML; DTDs and entities are refused."""
    from xml.etree.ElementTree import ParseError

    from defusedxml.common import DefusedXmlException
    from defusedxml.ElementTree import fromstring

    try:
        return cast("Element", fromstring(text, forbid_dtd=True))
    except DefusedXmlException as error:
        raise FilePlace(path).refusal(
            "XML with a DTD or entities is refused (%(error)s)", error=error
        ) from error
    except (ParseError, ValueError, LookupError) as error:
        line = getattr(error, "position", (None,))[0]
        raise UnreadableFile(
            path, line, _("not XML: %(error)s", error=error)
        ) from error


@contextmanager
def replacing(path: Path | str, mode: int = 0o666) -> Iterator[Path]:
    """Give a new file beside; it takes the place when all that is written went well.

    mode : who may read it, as far as the umask says so too.
    """
    path = Path(path)
    if not path.parent.is_dir():
        raise refusal(
            "%(path)s: its folder does not exist: make %(parent)s first",
            path=path,
            parent=path.parent,
        )
    beside = path.with_name(f".{path.name}.{secrets.token_hex(8)}.part")
    beside.touch(mode, exist_ok=False)
    try:
        yield beside
        beside.replace(path)
    finally:
        beside.unlink(missing_ok=True)


@contextmanager
def writing(path: Path | str, mode: int = 0o666) -> Iterator[IO[str]]:
    """Open a text file for writing; it appears, whole, when the block ends well.

    Names ending in ``.gz``, ``.bz2`` or ``.xz`` are compressed. mode : as in
    ``replacing``.
    """
    try:
        with (
            replacing(path, mode) as beside,
            beside.open("wb") as raw,
            decompressed(raw, Path(path).suffix, "wb") as packed,
            TextIOWrapper(packed, encoding="utf-8", newline="") as text,
        ):
            yield text
    except UnicodeEncodeError as error:
        raise refusal(
            "%(path)s: text that is not Unicode (%(error)s): correct it",
            path=path,
            error=error,
        ) from error


def write_lines(texts: Iterable[str], path: Path | str) -> int:
    """Write texts that end with their line ends, and return how many there were."""
    count = 0
    with writing(path) as file:
        for text in texts:
            file.write(text)
            count += 1
    return count
