"""Uploaded files: looked through, kept, and imported as a job.

A file is read once from end to end, piece by piece, before anything is made of it.
"""

from __future__ import annotations

import json
import re
import secrets
import shutil
import time
import zipfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, NamedTuple, Self

from classmark.formats import READERS, ROW_FORMATS, some_of
from classmark.formats.columns import ColumnGuess, layout_of, open_rows
from classmark.formats.rows import Layout, LeftOut
from classmark.formats.taxonomies import (
    TAXONOMY_READERS,
    is_taxonomy_header,
    read_categories,
)
from classmark.language import N_, _, joined, remade, whole
from classmark.problems import Mistake, UnreadableFile, refusal, worded
from classmark.progress import track
from classmark.workbench.files.documents import past_imports, undo_import
from classmark.workbench.files.file_sizes import (
    OFFICE,
    PACKED,
    REFERENCES,
    TABLES,
    inspect,
)
from classmark.workbench.files.import_acts import import_preferences
from classmark.workbench.files.importing import (
    append_note,
    compare,
    import_records,
    languages_for,
    likely_format,
    open_columns,
    put_taxonomy,
    rows_left_out,
)
from classmark.workbench.meaning import start_computing

__all__ = ["ColumnGuess", "Layout", "layout_of"]  # for the skins

if TYPE_CHECKING:
    from classmark.formats.records import Record
    from classmark.workbench.project import Project
    from classmark.workbench.results import Table
    from classmark.workbench.team.desk import Desk
    from classmark.workbench.team.jobs import Job


FOLDER, ABOUT, DATA = "uploads", "about.json", "data"
LARGEST = 1 << 30
WAITING = 20
KEPT = 24 * 3600.0
DOCUMENTS, TAXONOMY, PREFERENCES = "documents", "taxonomy", "preferences"
PAGES = (".html", ".htm", ".warc")
ONLY_TREES = (".ttl", ".rdf", ".nt", ".taxonomy", ".orig", ".xml")
ENDINGS = (
    ".jsonl", ".ndjson", *TABLES, ".txt", *OFFICE, *REFERENCES, ".zip", ".sgm", *PAGES,
    *ONLY_TREES,
)  # fmt: skip
_TOKEN = re.compile(r"[0-9a-f]{32}")
COUNTS = {
    "documents": N_("documents"), "new": N_("new"), "replaced": N_("replaced"),
    "unchanged": N_("unchanged"), "changed": N_("changed"), "judgments": N_("labels"),
    "new categories": N_("new categories"), "categories": N_("categories"),
    "leaves": N_("without subcategories"), "levels": N_("levels"),
    "preferences": N_("preferences"),
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class UploadedFile:
    """A file that waits to be imported.

    token : its name here;  name : as the sender called it, to be shown and no more;
    size, unpacked : bytes;  kind : documents, taxonomy or preferences.
    """

    token: str
    name: str
    ending: str
    size: int
    unpacked: int
    kind: str
    who: str


class Receiving:
    """A file that is being sent: a context manager; kept only by ``keep``.

    Nothing of it stands in memory, and no name that was sent names a file here.
    """

    def __init__(self, desk: Desk, name: str) -> None:
        ending = ending_of(name)
        self._name = _shown_name(name)
        _forget_old(desk)
        self._path = _room(desk) / secrets.token_hex(16) / f"{DATA}{ending}"
        self._path.parent.mkdir(parents=True, mode=0o700)
        self._file = self._path.open("xb")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()
        if not (self._path.parent / ABOUT).exists():
            shutil.rmtree(self._path.parent, ignore_errors=True)

    def write(self, piece: bytes) -> None:
        """Take the next bytes."""
        self._put(piece)
        if self._file.tell() > LARGEST:
            raise refusal(
                "%(name)s is larger than %(n)s MiB: send it in parts, or %(remedy)s",
                name=self._name,
                n=whole(LARGEST >> 20),
                remedy=worded("import it with classmark import"),
            )

    def _put(self, piece: bytes) -> None:
        self._file.write(piece)

    def keep(self, who: str) -> UploadedFile:
        """Look the file through, and keep it until it is imported or thrown away."""
        size, folder = self._file.tell(), self._path.parent
        if not size:
            raise refusal("%(name)s is empty: choose another file", name=self._name)
        self._file.close()
        ending = self._path.name.removeprefix(DATA)
        with called(self._path, self._name):
            unpacked = inspect(self._path, taxonomy=ending in ONLY_TREES)
        kind = kind_of(self._name, ending, self._path)
        upload = UploadedFile(
            folder.name, self._name, ending, size, unpacked, kind, who
        )
        about = json.dumps(asdict(upload), ensure_ascii=False)
        (folder / ABOUT).write_text(about, encoding="utf-8")
        return upload


class ReceivingSeveral(Receiving):
    """Several files that are sent together: one archive of them is kept.

    names : as the sender calls them.
    """

    def __init__(self, desk: Desk, names: Sequence[str]) -> None:
        for name in names:
            if ending_of(name) in (".zip", *ONLY_TREES):
                raise refusal("%(name)s: send archives and taxonomies alone", name=name)
        super().__init__(desk, ".zip")
        self._name = f"{len(names)} files"
        self._archive = zipfile.ZipFile(self._file, "w", zipfile.ZIP_DEFLATED)
        self._member: IO[bytes] | None = None

    def begin(self, name: str) -> None:
        """Take the next file; one that is called as another gets a number."""
        self._end_member()
        plain, names = _shown_name(name), set(self._archive.namelist())
        stem, dot, ending = plain.rpartition(".")
        again = 2
        while plain in names:
            plain, again = f"{stem} ({again}){dot}{ending}", again + 1
        self._member = self._archive.open(plain, "w", force_zip64=True)

    def _put(self, piece: bytes) -> None:
        if self._member is not None:
            self._member.write(piece)

    def _end_member(self) -> None:
        if self._member is not None:
            self._member.close()
            self._member = None

    def __exit__(self, *details: object) -> None:
        self._end_member()
        if self._archive.fp is not None:
            self._archive.close()
        super().__exit__(*details)

    def keep(self, who: str) -> UploadedFile:
        """Look the archive through, and keep it."""
        self._end_member()
        self._archive.close()
        return super().keep(who)


def _shown_name(name: str) -> str:
    """The name of a file without folders, as it is shown."""
    return " ".join(re.split(r"[\\/]", name)[-1].split())[:200] or "file"


@contextmanager
def called(path: Path, name: str) -> Iterator[None]:
    """What goes wrong with a file is told by the name that its sender knows."""
    try:
        yield
    except Mistake as mistake:
        if str(path) not in str(mistake):
            raise
        raise Mistake(str(mistake).replace(str(path), name)) from mistake


def ending_of(name: str) -> str:
    """The ending of a name, if it is one of those that are read.

    >>> ending_of("News.JSONL"), ending_of("news.tsv.gz")
    ('.jsonl', '.tsv.gz')
    """
    low = name.lower()
    packed = PACKED if low.endswith(PACKED) else ""
    plain = low.removesuffix(PACKED)
    ending = next((e for e in ENDINGS if plain.endswith(e)), "")
    if not ending or (packed and ending in (".zip", *ONLY_TREES)):
        problem = _("its ending is none of %(endings)s", endings=", ".join(ENDINGS))
        raise UnreadableFile(Path(name).name or _("the file"), None, problem)
    return ending + packed


def kind_of(name: str, ending: str, path: Path) -> str:
    """What a file most likely holds, by its ending, its columns or its name."""
    if ending in ONLY_TREES:
        return TAXONOMY
    if ".preferences." in name.lower():
        return PREFERENCES
    if ending in TABLES:
        try:
            columns = [column.name for column in open_rows(path).columns]
        except Mistake:  # its preview says why it cannot be read
            columns = []
        if is_taxonomy_header(columns):
            return TAXONOMY
    return DOCUMENTS


def upload_of(desk: Desk, token: str) -> UploadedFile:
    """A file that waits, by its name here."""
    about = _room(desk) / token / ABOUT
    if not _TOKEN.fullmatch(token) or not about.is_file():
        raise refusal("this file has expired or been imported: upload it again")
    return UploadedFile(**json.loads(about.read_text(encoding="utf-8")))


def path_of(desk: Desk, upload: UploadedFile) -> Path:
    """Where the bytes of a file are."""
    return _room(desk) / upload.token / f"{DATA}{upload.ending}"


def waiting(desk: Desk) -> list[UploadedFile]:
    """The files that wait to be imported."""
    room = _room(desk)
    tokens = [p.parent.name for p in sorted(room.glob(f"*/{ABOUT}"), key=_age)]
    return [upload_of(desk, token) for token in tokens if _TOKEN.fullmatch(token)]


def throw_away(desk: Desk, upload: UploadedFile) -> None:
    """Remove a file."""
    shutil.rmtree(_room(desk) / upload.token, ignore_errors=True)


def _room(desk: Desk) -> Path:
    return desk.folder / FOLDER


def _age(path: Path) -> float:
    return path.stat().st_mtime


def _forget_old(desk: Desk) -> None:
    """Remove files that nobody imported for a day; and refuse more than some."""
    room, now = _room(desk), time.time()
    for folder in room.iterdir() if room.is_dir() else ():
        if _TOKEN.fullmatch(folder.name) and now - _age(folder) > KEPT:
            shutil.rmtree(folder, ignore_errors=True)
    if len(waiting(desk)) >= WAITING:
        raise refusal("%(n)s files are waiting: import or discard some", n=WAITING)


IMPORTING, UNDOING = "import", "undo import"
MOST_IMPORTS = 1000  # that can be undone here
Cells = tuple[str, ...]


class FileKind(NamedTuple):
    """What a file may hold: its formats, and the headings of its preview."""

    formats: Cells
    heads: Cells


KINDS = {
    DOCUMENTS: FileKind(
        (
            *ROW_FORMATS, "folder", "annif", "annif-csv", "annif-folder",
            "newsgroups", "reuters", "beir", "pages", "pages-whole",
        ),
        (N_("id"), N_("title"), N_("text"), N_("labels"), N_("facts")),
    ),
    TAXONOMY: FileKind(
        tuple(TAXONOMY_READERS), (N_("id"), N_("parents"), N_("name"), N_("note"))
    ),
    PREFERENCES: FileKind(
        (), (N_("document"), N_("preferred"), N_("over"), N_("weight"))
    ),
}  # fmt: skip
KIND_WORDS = {
    DOCUMENTS: N_("documents"),
    TAXONOMY: N_("taxonomy"),
    PREFERENCES: N_("preferences"),
}


def start_import(  # noqa: PLR0913 (what a page and a call say)
    desk: Desk,
    who: str,
    token: str,
    kind: str = "",
    format_: str = "",
    layout: Layout | None = None,
    *,
    replace: bool = False,
) -> Job:
    """Take a file in, as a job; nothing, if it cannot be read to its end.

    replace : documents that are here may be replaced.
    """
    upload, path, kind = chosen(desk, token, kind)
    name = upload.name
    with called(path, name):
        format_ = format_ or guessed(path, kind)

    def work(_: Project) -> str:
        with called(path, name):
            if kind == DOCUMENTS:
                source = _source(desk, path, format_, layout, name)
                table = _import(desk, source, name, who, replace=replace)
            elif kind == TAXONOMY:
                languages = languages_for(desk)
                categories = read_categories(path, format_ or None, languages=languages)
                table = put_taxonomy(desk, categories, name, who)
            else:
                table = import_preferences(desk, path, who)
        throw_away(desk, upload)
        if kind == DOCUMENTS:
            start_computing(desk, who)
        return import_words(name, table)

    return desk.jobs.start(IMPORTING, work, who)


def start_undoing(desk: Desk, act: int, who: str) -> Job:
    """Undo an import, or bring it back, as a job; refused where there is none."""
    if act not in {each.act for each in past_imports(desk, MOST_IMPORTS)}:
        raise refusal("act %(n)s is not a recent import: see the list", n=act)

    def work(_: Project) -> str:
        logged = desk.write(lambda project: undo_import(project, act, who))
        desk.after_write([], who, logged)
        desk.look_again()
        return logged.said

    return desk.jobs.start(UNDOING, work, who)


def chosen(desk: Desk, token: str, kind: str) -> tuple[UploadedFile, Path, str]:
    """A file that waits, where its bytes are, and what it is taken to hold."""
    upload = upload_of(desk, token)
    kind = kind or upload.kind
    if kind not in KINDS:
        raise refusal("%(kind)r cannot be imported: choose from the list", kind=kind)
    return upload, path_of(desk, upload), kind


class _Source(NamedTuple):
    """What yields the records of a file, as often as it is called.

    layout : how its rows are read;  left_out : the rows that were not.
    """

    read: Callable[[], Iterator[Record]]
    layout: Layout | None = None
    left_out: LeftOut | None = None


def _source(
    desk: Desk, path: Path, format_: str, layout: Layout | None, name: str
) -> _Source:
    if format_ not in ROW_FORMATS:
        return _Source(lambda: records_of(path, format_, name))
    file = open_columns(desk, path, format_, layout, name)
    left_out = LeftOut(skips=file.layout.skip)

    def read() -> Iterator[Record]:
        left_out.clear()
        return some_of(file.read(left_out), name)

    return _Source(read, file.layout, left_out)


def _import(
    desk: Desk, source: _Source, name: str, who: str, *, replace: bool
) -> Table:
    """Read a file to its end, then write what it holds; others write in between."""
    before = compare(desk, track(source.read(), _("reading %(name)s", name=name)), name)
    if not replace:
        before.require_none_replaced(name, whole=True)
    total = sum(before.counts.values())
    records = track(source.read(), _("importing %(name)s", name=name), total)
    table = import_records(
        desk, records, name, who, desk.writing, replace=replace, layout=source.layout
    )
    for note in rows_left_out(source.left_out):
        table = append_note(table, note)
    return table


def guessed(path: Path, kind: str) -> str:
    if kind != DOCUMENTS:
        return ""
    format_ = likely_format(path)
    if format_ not in KINDS[DOCUMENTS].formats:
        raise refusal("this seems to be %(name)s: choose a format listed", name=format_)
    return format_


def records_of(path: Path, format_: str, name: str) -> Iterator[Record]:
    """The records of a file that its sender called by a name."""
    if format_ not in KINDS[DOCUMENTS].formats:
        raise refusal("format %(name)r is not read here: choose another", name=format_)
    return some_of(READERS[format_].read(path, name), name, format_)


@remade
def import_words(name: str, table: Table) -> str:
    """What came of importing a file; counts of 0 are left out.

    >>> from classmark.workbench.results import Table
    >>> import_words("a.csv", Table("", [{"documents": 2, "new": 0, "judgments": 3}]))
    'a.csv: 2 documents, 3 labels'
    """
    counts = {what: int(n) for what, n in table.rows[0].items() if n}
    shown = [f"{whole(n)} {_(COUNTS.get(what, what))}" for what, n in counts.items()]
    first = f"{name}: {', '.join(shown) or _('nothing')}"
    return joined(first, *str(table.note).split("\n"))
