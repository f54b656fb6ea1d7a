"""Web pages: HTML files, folders of them, and crawls (WARC), with their links.

A page becomes a record: its id is its address (of a crawl, with the host in small
letters and the fragment left out) or its path in the folder; fields ``title`` and
``body``; links to the ids of others with their anchor texts; in ``meta`` the
``encoding``, and, where known, the ``language`` and the ``date`` of the capture.
Scripts are not run and not read. Parsed by Resiliparse (extra ``pages``).
"""

from __future__ import annotations

import re
import warnings
from collections import Counter
from collections.abc import Iterator, Mapping
from functools import partial
from importlib import import_module
from itertools import islice
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import quote, unquote, urljoin, urlsplit, urlunsplit

from classmark.corpus.documents import Document
from classmark.formats.archive import ArchiveFile, entries, is_archive
from classmark.formats.records import Record
from classmark.formats.text_files import LIMITS, FileLimits, FilePlace, plain_name
from classmark.problems import MissingExtra, UnreadableFile
from classmark.progress import remark

if TYPE_CHECKING:
    from fastwarc.warc import WarcRecord
    from resiliparse.parse.html import HTMLTree

    from classmark.formats.text_files import Measured

HTML = (".html", ".htm", ".xhtml")
WARC = ".warc"
TYPES = ("text/html", "application/xhtml+xml")
LARGEST = 1 << 23  # bytes of a page
MOST_ELEMENTS, DEEPEST, MOST_ATTRIBUTES = 100_000, 5_000, 1_000
NODES, ANCHOR = 200, 500  # looked at, and characters, of the text of a link
HEADERS = 1 << 15  # bytes before a body
REDIRECTS = 10  # followed one after the other
NOT_HTML, REDIRECT, DAMAGED = "not HTML", "redirected", "damaged"
CUT_SHORT = "cut short by the end of the file"
TOO_LARGE = f"larger than {LARGEST >> 20} MiB"
MARKS = {b"\xef\xbb\xbf": "utf-8", b"\xfe\xff": "utf-16-be", b"\xff\xfe": "utf-16-le"}


class Capture(NamedTuple):
    """A page as it was fetched.

    base : the address that links are relative to;  charset : as the header names it.
    """

    id: str
    base: str
    content: bytes
    charset: str = ""
    date: str = ""


class Skipped(Exception):
    """What is not read as a page, and why."""


class Tally:
    """How many records were passed over, by reason, and the first damaged one."""

    def __init__(self, path: Path | str) -> None:
        self.path, self.counts, self.first = path, Counter[str](), ""

    def skip(self, reason: str, place: str = "") -> None:
        """Count one."""
        self.counts[reason] += 1
        self.first = self.first or place

    def tell(self) -> None:
        """Report the counts, if there are any."""
        if self.counts:
            parts = [f"{count:,} {reason}" for reason, count in self.counts.items()]
            first = f" (the first: {self.first})" if self.first else ""
            remark(f"{self.path}: passed over: {', '.join(parts)}{first}")


def read_pages(
    path: Path | str,
    *,
    name: str = "",
    whole: bool = False,
    limits: FileLimits = LIMITS,
) -> Iterator[Record]:
    """Yield the pages of a file, of a folder or archive of files, or of crawls.

    name : of the file, where it does not lie under its name;  whole : navigation,
    headers and footers are part of the text; else they are left out where something
    remains. Of a crawl, links to a page that redirects lead to where it redirects to,
    and the first capture of an address counts. What is not HTML, was not fetched, or is
    damaged, too large or too deeply nested is passed over, and counted in a remark.
    """
    _require_packages()
    tally, ids = Tally(name or path), set[str]()
    several = Path(path).is_dir() or is_archive(path)
    crawls = partial(_entries, path, (WARC,), limits, name)
    if several or _fits(name or str(path), (WARC,)):
        redirects = _redirects(crawls())
        for file in crawls():
            for capture in _captures(file, tally, ids):
                yield from _page(capture, tally, redirects, whole=whole)
    if several or not _fits(name or str(path), (WARC,)):
        for file in _entries(path, HTML if several else (), limits, name):
            try:
                with file.open() as stream:
                    content = _content(stream)
            except Skipped as reason:
                tally.skip(str(reason), file.where)
                continue
            id_ = FilePlace(file.where, None, ids).new_id(file.name)
            capture = Capture(id_, f"file:///{quote(id_)}", content)
            yield from _page(capture, tally, {}, whole=whole)
    tally.tell()


def _require_packages() -> None:
    """Import what parses, before anything is read; it warns of names of its own."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)
            for name in ("fastwarc.warc", "resiliparse.parse.html"):
                import_module(name)
    except ImportError as error:
        raise MissingExtra("Web pages", "pages") from error


def read_whole_pages(path: Path | str, *, name: str = "") -> Iterator[Record]:
    """Yield pages with their navigation, headers and footers; see `read_pages`."""
    return read_pages(path, name=name, whole=True)


def _fits(name: str, suffixes: tuple[str, ...]) -> bool:
    return plain_name(name).name.lower().endswith(suffixes or "")


def _entries(
    path: Path | str, suffixes: tuple[str, ...], limits: FileLimits, name: str
) -> Iterator[ArchiveFile]:
    """Yield the files of some suffixes; one that is named alone, under ``name``."""
    single = not (Path(path).is_dir() or is_archive(path))
    for file in entries(path, limits):
        shown = plain_name(name or file.name).name if single else file.name
        if _fits(shown, suffixes):
            if is_archive(path) and plain_name(shown) != PurePosixPath(shown):
                FilePlace(file.where).refuse("packed twice: unpack the archive first")
            yield ArchiveFile(shown, file.where, file.open)


def _content(stream: Measured) -> bytes:
    """All of a page's bytes, unless they are too many."""
    content = bytearray()
    while chunk := stream.read():
        content += chunk
        if len(content) > LARGEST:
            raise Skipped(TOO_LARGE)
    return bytes(content)


# -- crawls


class _Stream:
    """The bytes of a crawl as FastWARC takes them: read once, from front to end."""

    def __init__(self, stream: Measured) -> None:
        self.read, self.stream = stream.read, stream

    def tell(self) -> int:
        return self.stream.seen

    def seek(self, *_: int) -> int:
        raise OSError("read once")  # never asked for

    def close(self) -> None:
        """Leave it to whoever opened it."""


def _responses(
    file: ArchiveFile, tally: Tally | None = None
) -> Iterator[tuple[WarcRecord, str]]:
    """Yield what a crawl fetched, with the number and address of each record."""
    from fastwarc.warc import ArchiveIterator, WarcRecordType

    kinds = WarcRecordType.response | WarcRecordType.resource
    with file.open() as stream:
        place, end = "its beginning", 0
        try:
            records = ArchiveIterator(
                _Stream(stream), parse_http=False, stream_detect=False
            )
            for number, record in enumerate(records, 1):
                url = record.headers.get("WARC-Target-URI") or ""
                place = f"record {number}, at byte {record.stream_pos:,}"
                length = record.headers.get("Content-Length") or ""
                if not length.isdecimal():
                    place += ": no Content-Length: fetch the file again"
                    FilePlace(file.where).refuse(place)
                end = record.stream_pos + int(length)
                if record.record_type & kinds:
                    yield record, f"record {number}, {url}"
        except UnreadableFile as error:
            after = "" if error.problem in place else f"after byte {stream.seen:,}: "
            FilePlace(file.where).refuse(f"{after}{error.problem}")
        except OSError as error:
            FilePlace(file.where).refuse(
                f"after {place}: no WARC record ({error}): fetch the file again, or "
                "cut it there"
            )
        if end > stream.seen and tally is not None and not tally.counts[CUT_SHORT]:
            tally.skip(CUT_SHORT, place)


def _redirects(files: Iterator[ArchiveFile]) -> dict[str, str]:
    """Where pages of crawls redirect to: address → address."""
    targets: dict[str, str] = {}
    for file in files:
        for record, _ in _responses(file):
            head = record.reader.read(min(HEADERS, record.content_length))
            if re.match(rb"HTTP/[\d.]+ 30[12378]\b", head):
                url = normal_address(record.headers.get("WARC-Target-URI") or "")
                location = re.search(rb"(?im)^location:[ \t]*([^\r\n]+)", head)
                if url and location:
                    target = _joined(url, location[1].decode("utf-8", "replace"))
                    targets.setdefault(url, target)
    return targets


def _captures(file: ArchiveFile, tally: Tally, ids: set[str]) -> Iterator[Capture]:
    """Yield the HTML pages of a crawl, each address once."""
    for record, place in _responses(file, tally):
        url = normal_address(record.headers.get("WARC-Target-URI") or "")
        try:
            content, charset = _fetched(record)
        except Skipped as reason:
            wrong = str(reason) in {DAMAGED, CUT_SHORT, TOO_LARGE}
            tally.skip(str(reason), place if wrong else "")
            continue
        if not url:
            tally.skip("without an address on the web", place)
        elif url in ids:
            tally.skip("captured again")
        else:
            ids.add(url)
            date = record.headers.get("WARC-Date") or ""
            yield Capture(url, url, content, charset, date)


def _fetched(record: WarcRecord) -> tuple[bytes, str]:
    """The body of a response with its charset; raises `Skipped` where there is none."""
    if record.content_length > LARGEST + HEADERS:
        raise Skipped(TOO_LARGE)
    body = record.reader.read(record.content_length)
    if len(body) < record.content_length:
        raise Skipped(CUT_SHORT)
    content_type = record.headers.get("Content-Type") or ""
    if record.is_http:
        body, content_type = _answer(body)
    kind, _, rest = content_type.lower().partition(";")
    if kind.strip() not in TYPES and (kind.strip() or body.lstrip()[:1] != b"<"):
        raise Skipped(NOT_HTML)
    if len(body) > LARGEST:
        raise Skipped(TOO_LARGE)
    charset = re.search(r"charset\s*=\s*[\"']?([\w.:-]+)", rest)
    return body, charset[1] if charset else ""


def _answer(block: bytes) -> tuple[bytes, str]:
    """The body of an HTTP answer, decoded, with its type.

    It is read from a record of its own, so that damage inside stays inside.
    """
    from fastwarc.warc import WarcRecord

    copy = WarcRecord()
    copy.set_bytes_content(block)
    copy.is_http = True
    try:
        copy.parse_http("all")
        status = copy.http_headers.status_code
        body = copy.reader.read(LARGEST + 1)
    except OSError as error:
        raise Skipped(DAMAGED) from error
    if status is None:
        raise Skipped(DAMAGED)
    if status != 200:
        raise Skipped(REDIRECT if 300 <= status < 400 else f"HTTP {status}")
    return body, copy.http_headers.get("Content-Type") or ""


# -- addresses

DEFAULT_PORTS = {"http": 80, "https": 443}
UNSAFE = "/%:@!$&'()*+,;=~-._?"


def normal_address(url: str) -> str:
    """An address on the web as it is compared; "" for others, such as javascript:.

    >>> normal_address("HTTP://Eskerton.example:80/b%c3%a4r?q=1#top")
    'http://eskerton.example/b%C3%A4r?q=1'
    """
    try:
        parts = urlsplit(url)
        host, port = parts.hostname or "", parts.port
    except ValueError:
        return ""
    if parts.scheme not in DEFAULT_PORTS or not host:
        return ""
    host = f"[{host}]" if ":" in host else host
    if port is not None and port != DEFAULT_PORTS[parts.scheme]:
        host = f"{host}:{port}"
    path, query = (
        re.sub("%[0-9a-fA-F]{2}", lambda m: m[0].upper(), quote(text, UNSAFE))
        for text in (parts.path or "/", parts.query)
    )
    return urlunsplit((parts.scheme, host, path, query, ""))


def _joined(base: str, link: str) -> str:
    """The id of what a link on a page leads to, or "".

    In a folder, base is file:///path: links inside lead to paths, those to the web to
    host/path, where tools that copy sites put pages; a folder is its index.html.
    """
    try:
        url = urljoin(base, link.strip())
        parts = urlsplit(url)
    except ValueError:
        return ""
    if not base.startswith("file:"):
        return normal_address(url)
    if parts.scheme not in {"file", *DEFAULT_PORTS}:
        return ""
    path = f"{parts.netloc}{unquote(parts.path)}".lstrip("/")
    return f"{path}index.html" if path.endswith("/") or not path else path


# -- pages


def _page(
    capture: Capture, tally: Tally, redirects: Mapping[str, str], *, whole: bool
) -> Iterator[Record]:
    """Yield the record of a page, or nothing."""
    from resiliparse.extract.html2text import extract_plain_text
    from resiliparse.parse.encoding import bytes_to_str
    from resiliparse.parse.html import HTMLTree

    encoding = _encoding(capture)
    text = bytes_to_str(capture.content, encoding, "replace")
    if _is_intricate(text):
        tally.skip("nested too deeply, or of too many elements", capture.id)
        return
    tree = HTMLTree.parse(text)
    options = {"links": False, "list_bullets": False, "alt_texts": True}
    body = "" if whole else extract_plain_text(tree, main_content=True, **options)
    body = body or extract_plain_text(tree, main_content=False, **options)
    fields = {"title": " ".join((tree.title or "").split()), "body": body.strip()}
    root = tree.document.query_selector("html")
    language = "" if root is None else root.getattr("lang") or ""
    meta = {"encoding": encoding, "language": language[:35], "date": capture.date}
    yield Record(
        Document(capture.id, {name: text for name, text in fields.items() if text}),
        meta={name: fact for name, fact in meta.items() if fact},
        links=tuple(_links(tree, capture, redirects)),
    )


def _encoding(capture: Capture) -> str:
    """By byte order mark, header, ``<meta>``, or frequencies of letters (uchardet)."""
    from resiliparse.parse.encoding import detect_encoding, map_encoding_to_html5

    for mark, name in MARKS.items():
        if capture.content.startswith(mark):
            return name
    declared: str | None = map_encoding_to_html5(capture.charset, fallback_utf8=False)
    return declared or str(detect_encoding(capture.content, from_html_meta=True))


def _links(
    tree: HTMLTree, capture: Capture, redirects: Mapping[str, str]
) -> Iterator[tuple[str, str]]:
    """Yield (id, anchor text), each once; links of a page to itself are left out."""
    home = tree.document.query_selector("base[href]")
    base = capture.base
    if home is not None:
        base = _base(base, home.getattr("href"))
    seen = set[tuple[str, str]]()
    for element in tree.document.query_selector_all("a[href], area[href]"):
        target = _joined(base, element.getattr("href") or "")
        for _ in range(REDIRECTS):
            target = redirects.get(target, target)
        link = target, _anchor(element)
        if target not in {"", capture.id} and link not in seen:
            seen.add(link)
            yield link


def _base(base: str, href: str) -> str:
    try:
        url = urljoin(base, href.strip())
    except ValueError:
        return base
    return url if url.startswith((base.partition(":")[0] + ":", "http")) else base


def _anchor(element: Any) -> str:
    """The text of a link, and of its pictures; the beginning, where it is long."""
    parts = [] if element.tag == "a" else [element.getattr("alt") or ""]
    for node in islice(element, NODES):
        if node.tag == "#text":
            parts.append(node.text)
        elif node.tag == "img":
            parts.append(node.getattr("alt") or "")
    return " ".join("".join(f"{part} " for part in parts).split())[:ANCHOR]


# An opening or closing tag with its attributes, as the HTML standard reads them.
NAME = r"[\s/]*+=?[^\s/>=]++"
VALUE = r"\s*+=\s*+(?:\"[^\"]*+\"?|'[^']*+'?|[^\s>\"'][^\s>]*+)?"
ATTRIBUTES = rf"((?:{NAME}(?:{VALUE})?)*+)[\s/]*+>?"
RAW = "script|style|xmp|iframe|noembed|noframes|textarea|title"
TAGS = re.compile(
    r"<!--(?:-?>|.*?(?:--!?>|\Z))|<[!?][^>]*+>|</[^a-zA-Z][^>]*+>"
    rf"|<(?P<raw>{RAW})(?=[\s/>]){ATTRIBUTES}.*?(?=</(?P=raw)[\s/>]|\Z)"
    rf"|<(?P<end>/?)(?P<name>[a-zA-Z][^\s/>]*+){ATTRIBUTES}",
    re.IGNORECASE | re.DOTALL,
)
ATTRIBUTE = re.compile(rf"{NAME}(?:{VALUE})?")
BLOCKS = re.compile(  # before which a parser looks for an open element, far up
    "address|article|aside|blockquote|center|details|dialog|dir|div|dl|fieldset|"
    "figure|figcaption|footer|form|h[1-6]|h(group|eader)|listing|main|menu|nav|ol|"
    "plaintext|pre|search|section|summary|table|ul|button|r[bpt]|rtc"
)


def _is_intricate(text: str) -> bool:
    """Whether parsing would take time out of all proportion.

    Parsers take time in the square of the depth of blocks, of elements in all, and of
    the attributes of one.
    """
    depth, elements, opened = 0, 0, Counter[str]()
    for tag in TAGS.finditer(text):
        elements += not tag["end"]
        attributes = ATTRIBUTE.finditer(tag[2] or tag[5] or "")
        if next(islice(attributes, MOST_ATTRIBUTES, None), None):
            return True
        name = (tag["name"] or "").lower()
        if BLOCKS.fullmatch(name):
            step = -1 if tag["end"] else 1
            if step > 0 or opened[name]:
                opened[name] += step
                depth += step
        if depth > DEEPEST or elements > MOST_ELEMENTS:
            return True
    return False
