"""What does this file hold?"""

from __future__ import annotations

import re
from collections import Counter
from fnmatch import fnmatch
from importlib import import_module
from itertools import islice
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, NamedTuple, cast

from classmark.language import _
from classmark.problems import UnreadableFile, refusal, worded
from classmark.progress import track

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterable, Iterator

    from classmark.formats.records import Record

__all__ = ["READERS", "Reader", "guess_format", "read_records"]

LOOK = 200
ROW_FORMATS = (  # whose columns people may name: those of ``rows.SOURCES``, and files
    "csv", "jsonl", "xlsx", "ris", "nbib", "enw", "endnote-xml", "bib", "docx", "pdf",
    "txt", "files",
)  # fmt: skip


class Reader(NamedTuple):
    """A function that reads a file, and how files of its format are recognised.

    function : module of this folder and name, or the function itself;  reads : what
    users are told;  patterns : names such files have, separated by blanks;  begins :
    what the first line holds, where formats share their names;  line_ids : documents
    may have no ids but the file's name, which ``function`` takes as ``name``, and line.
    """

    function: str | Callable[..., Iterator[Record]]
    reads: str
    patterns: str = ""
    begins: str = ""
    line_ids: bool = False

    def load(self) -> Callable[..., Iterator[Record]]:
        """Import the reader; heavy packages wait until then."""
        if not isinstance(self.function, str):
            return self.function
        module, _, name = self.function.partition(".")
        reader = getattr(import_module(f"classmark.formats.{module}"), name)
        return cast("Callable[..., Iterator[Record]]", reader)

    def read(self, path: Path | str, name: str = "") -> Iterator[Record]:
        """Yield a file's records; name : of one that lies under another name."""
        return self.load()(path, **({"name": name} if self.line_ids else {}))

    def fits(self, name: str) -> bool:
        """Whether files of the format have such names, compression left out."""
        from classmark.formats.text_files import plain_name

        plain = plain_name(name).name
        return any(fnmatch(plain, pattern) for pattern in self.patterns.split())


READERS = {
    "jsonl": Reader("jsonl.read_jsonl", "one JSON object per line", "*.jsonl *.ndjson"),
    "csv": Reader(
        "tables.read_delimited", "CSV or TSV with a header", "*.csv *.tsv *.tab"
    ),
    "parquet": Reader("tables.read_parquet", "Parquet tables", "*.parquet *.pq"),
    "xlsx": Reader("columns.read_xlsx", "Excel spreadsheets", "*.xlsx", line_ids=True),
    "ris": Reader("columns.read_ris", "references in RIS", "*.ris", line_ids=True),
    "nbib": Reader("columns.read_nbib", "PubMed references", "*.nbib", line_ids=True),
    "enw": Reader("columns.read_enw", "EndNote references", "*.enw", line_ids=True),
    "bib": Reader("columns.read_bib", "references in BibTeX", "*.bib", line_ids=True),
    "docx": Reader("columns.read_docx", "a Word document", "*.docx", line_ids=True),
    "pdf": Reader("columns.read_pdf", "a PDF document", "*.pdf", line_ids=True),
    "txt": Reader("columns.read_txt", "a plain text", line_ids=True),
    "files": Reader(
        "columns.read_rows", "a folder or zip of any of these", line_ids=True
    ),
    "folder": Reader("archive.read_text_folder", "texts, subfolders as labels"),
    "newsgroups": Reader("archive.read_newsgroups", "20 Newsgroups folders"),
    "reuters": Reader("reuters.read_reuters", "Reuters-21578 SGML", "*.sgm *.sgml"),
    "reuters-xml": Reader(
        "reuters.read_reuters_xml", "Reuters Corpus XML", "*newsML.xml"
    ),
    "endnote-xml": Reader(
        "columns.read_endnote_xml", "EndNote's XML", "*.xml", r"<xml>\s*<records>", True
    ),
    "libsvm": Reader(
        "feature_lines.read_feature_lines",
        "vectors of counts: LIBSVM, LSHTC",
        "*.svm *.libsvm *.svmlight",
        line_ids=True,
    ),
    "rcv1": Reader(
        "reuters.read_rcv1_tokens", "RCV1-v2 token files", "lyrl2004_tokens_*.dat"
    ),
    "smart": Reader(
        "test_collections.read_smart",
        "SMART documents or queries",
        "cran.all* *.all *.ALL *.qry *.QRY query.text",
    ),
    "lisa": Reader(
        "test_collections.read_lisa",
        "LISA documents or queries",
        "LISA[0-9].[0-9][0-9][0-9] LISA.QUE lisa*.que",
    ),
    "time": Reader(
        "test_collections.read_time",
        "TIME documents or queries",
        "*.all *.ALL *.que *.QUE",
        r"^\*(TEXT|FIND)\b",
    ),
    "npl": Reader(
        "test_collections.read_npl", "NPL documents or queries", "doc-text query-text"
    ),
    "trec": Reader("test_collections.read_trec", "TREC documents", "*.trec"),
    "trec-topics": Reader(
        "test_collections.read_trec_topics",
        "TREC topics",
        "*.topics *.trec",
        r"^\s*<(?i:top)\b",
    ),
    "trec-xml": Reader("test_collections.read_xml_topics", "TREC topics in XML"),
    "beir": Reader("test_collections.read_beir", "the documents of a BEIR folder"),
    "beir-queries": Reader(
        "test_collections.read_beir_queries", "the queries of a BEIR folder"
    ),
    "nfcorpus": Reader(
        "test_collections.read_nfcorpus", "NFCorpus texts", "*.docs *.queries"
    ),
    "annif": Reader("annif.read_annif", "Annif short texts", "*.tsv", "\t<", True),
    "annif-csv": Reader(
        "annif.read_annif_csv",
        "Annif short texts in CSV",
        "*.csv",
        "subject_uris",
        line_ids=True,
    ),
    "annif-folder": Reader("annif.read_annif_folder", "Annif full texts"),
    "pages": Reader(
        "pages.read_pages",
        "web pages: HTML files, or a crawl (WARC)",
        "*.html *.htm *.xhtml *.warc",
        line_ids=True,
    ),
    "pages-whole": Reader(
        "pages.read_whole_pages", "web pages with their navigation", line_ids=True
    ),
}


def read_records(path: Path | str, format: str | None = None) -> Iterator[Record]:  # noqa: A002 - the word users know
    """Yield the records of a file or folder; ``format`` is a name of ``READERS``.

    One that holds none is refused when it has been read.
    """
    name = guess_format(path) if format is None else format
    if name not in READERS:
        raise refusal(
            "format=%(name)r is not known: use one of %(readers)s",
            name=name,
            readers=", ".join(READERS),
        )
    return some_of(track(READERS[name].read(path), f"reading {path}"), path, name)


def some_of(
    records: Iterable[Record], path: Path | str, name: str = ""
) -> Iterator[Record]:
    """Yield the records; refuse the file or folder if there is none.

    name : of the format, where one is known.
    """
    record = None
    for record in records:
        yield record
    if record is None:
        texts = name in {"folder", "annif-folder"}
        wrong = _("no file whose name ends in .txt") if texts else _("no document")
        remedy = worded("give --format (format=)")
        raise UnreadableFile(
            path,
            None,
            _(
                "there is %(wrong)s in it: give another one, or %(remedy)s",
                wrong=wrong,
                remedy=remedy,
            ),
        )


def guess_format(path: Path | str) -> str:
    """Tell the format by names, and by the first line where names are not enough.

    >>> guess_format("shelf.parquet")
    'parquet'
    """
    from classmark.formats.archive import is_archive

    path = Path(path)
    name = _by_content(path) if path.is_dir() or is_archive(path) else None
    name = name or named_format(path)
    if name is None:
        raise refusal(
            "%(path)s: its format is not clear from its name: %(remedy)s, one of "
            "%(readers)s",
            path=path,
            remedy=worded("give --format (format=)"),
            readers=", ".join(READERS),
        )
    return name


def named_format(path: Path, among: Container[str] = READERS) -> str | None:
    """Tell the format by the name, and by the first line where several share it."""
    from classmark.formats.text_files import lines

    fitting = (name for name, reader in READERS.items() if reader.fits(path.name))
    names = [name for name in fitting if name in among]
    if len(names) > 1 and path.is_file():
        first = next((line for _, line in lines(path, "latin-1", blank=False)), "")
        for name in names:
            begins = READERS[name].begins
            if begins and re.search(begins, first):
                return name
    return names[0] if names else None


def _by_content(path: Path) -> str | None:
    """Tell the format of a folder or archive by the names of its first files."""
    from classmark.formats.archive import entries
    from classmark.formats.rows import source_of

    names = [PurePosixPath(entry.name) for entry in islice(entries(path), LOOK)]
    suffixes = Counter(name.suffix for name in names)
    fitting = {
        name: sum(reader.fits(each.name) for each in names)
        for name, reader in READERS.items()
    }
    holds = {
        "beir": any(str(name).startswith("corpus.jsonl") for name in names),
        "reuters": suffixes[".sgm"],
        "reuters-xml": fitting["reuters-xml"] or _all(names, r"\d{8}\.zip"),
        "rcv1": fitting["rcv1"],
        "pages": fitting["pages"] > suffixes[".txt"],  # sites have a robots.txt
        "annif-folder": suffixes[".txt"] and (suffixes[".key"] or suffixes[".tsv"]),
        "files": sum(source_of(name.name) not in {None, "txt"} for name in names),
        "folder": suffixes[".txt"],
        "newsgroups": _all(names, r"([^/]+/)?[^/]+/\d+"),
    }
    return next((name for name, is_there in holds.items() if is_there), None)


def _all(names: list[PurePosixPath], pattern: str) -> bool:
    return bool(names) and all(re.fullmatch(pattern, str(name)) for name in names)
