"""What does this file hold?"""

from __future__ import annotations

from fnmatch import fnmatch
from importlib import import_module
from itertools import islice
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, NamedTuple, cast

from classmark.problems import Mistake
from classmark.progress import track

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from classmark.formats.records import Record

__all__ = ["READERS", "Reader", "guess_format", "read_records"]

LOOK = 200


class Reader(NamedTuple):
    """Where a reader lives, what it reads, and the names such files have."""

    module: str
    function: str
    reads: str
    names: tuple[str, ...] = ()

    def load(self) -> Callable[[Path | str], Iterator[Record]]:
        """Import the reader; heavy packages wait until then."""
        module = import_module(f"classmark.formats.{self.module}")
        return cast(
            "Callable[[Path | str], Iterator[Record]]", getattr(module, self.function)
        )


READERS: dict[str, Reader] = {
    "jsonl": Reader(
        "jsonl", "read_jsonl", "one JSON object per line", ("*.jsonl", "*.ndjson")
    ),
    "csv": Reader(
        "tables", "read_delimited", "CSV or TSV with a header", ("*.csv", "*.tab")
    ),
    "parquet": Reader(
        "tables", "read_parquet", "Parquet tables", ("*.parquet", "*.pq")
    ),
    "folder": Reader("archive", "read_text_folder", "texts, subfolders as labels"),
    "newsgroups": Reader("archive", "read_newsgroups", "20 Newsgroups folders"),
    "reuters": Reader(
        "reuters", "read_reuters", "Reuters-21578 SGML", ("*.sgm", "*.sgml")
    ),
    "smart": Reader(
        "test_collections",
        "read_smart",
        "SMART documents or queries",
        ("cran.all*", "*.all", "*.ALL", "*.qry", "*.QRY", "query.text"),
    ),
    "npl": Reader(
        "test_collections",
        "read_npl",
        "NPL documents or queries",
        ("doc-text", "query-text"),
    ),
    "trec": Reader("trec", "read_trec", "TREC documents", ("*.trec",)),
    "trec-topics": Reader("trec", "read_trec_topics", "TREC topics", ("*.topics",)),
    "beir": Reader("test_collections", "read_beir", "the documents of a BEIR folder"),
    "beir-queries": Reader(
        "test_collections", "read_beir_queries", "the queries of a BEIR folder"
    ),
    "nfcorpus": Reader(
        "test_collections", "read_nfcorpus", "NFCorpus texts", ("*.docs", "*.queries")
    ),
    "annif": Reader("annif", "read_annif", "Annif short texts", ("*.tsv",)),
    "annif-csv": Reader("annif", "read_annif_csv", "Annif short texts in CSV"),
    "annif-folder": Reader("annif", "read_annif_folder", "Annif full texts"),
}


def read_records(path: Path | str, format: str | None = None) -> Iterator[Record]:  # noqa: A002 - the word users know
    """Yield the records of a file or folder; ``format`` is a name of ``READERS``."""
    name = guess_format(path) if format is None else format
    if name not in READERS:
        raise Mistake(f"format={name!r} is not known: use one of {', '.join(READERS)}")
    return iter(track(READERS[name].load()(path), f"reading {path}"))


def guess_format(path: Path | str) -> str:
    """Tell the format by names, and by the first line where names are not enough.

    >>> guess_format("shelf.parquet")
    'parquet'
    """
    from classmark.formats.archive import is_archive

    name = _by_content(path) if Path(path).is_dir() or is_archive(path) else None
    name = name or _by_name(Path(path))
    if name is None:
        raise Mistake(
            f"{path}: its format cannot be told by its name: give --format (format=), "
            f"one of {', '.join(READERS)}"
        )
    return name


def _by_name(path: Path) -> str | None:
    from classmark.formats.text_files import COMPRESSIONS

    plain = path.stem if path.suffix in COMPRESSIONS else path.name
    for name, reader in READERS.items():
        if any(fnmatch(plain, pattern) for pattern in reader.names):
            return _by_first_line(path, name) if path.is_file() else name
    return None


def _by_first_line(path: Path, name: str) -> str:
    """Tell apart formats that share their names."""
    from classmark.formats.text_files import lines

    if name not in {"csv", "annif", "trec"}:
        return name
    first = next((line for _, line in lines(path, "latin-1") if line.strip()), "")
    if name == "csv":
        return "annif-csv" if "subject_uris" in first else "csv"
    if name == "annif":
        return "annif" if "\t<" in first else "csv"
    return "trec-topics" if first.strip().lower().startswith("<top") else "trec"


def _by_content(path: Path | str) -> str | None:
    from classmark.formats.archive import entries

    names = [PurePosixPath(entry.name) for entry in islice(entries(path), LOOK)]
    suffixes = {name.suffix for name in names}
    if any(str(name).startswith("corpus.jsonl") for name in names):
        return "beir"
    if ".sgm" in suffixes:
        return "reuters"
    if ".txt" in suffixes:
        return "annif-folder" if suffixes & {".key", ".tsv"} else "folder"
    if names and all(
        len(name.parts) in {2, 3} and name.name.isdecimal() for name in names
    ):
        return "newsgroups"
    return None
