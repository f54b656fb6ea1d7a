"""Retrieval collections: documents, queries and judgments."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING

from classmark.datasets.dataset import Dataset, Documents, Link
from classmark.datasets.where import any_of, one_of
from classmark.formats.beir import read_beir, read_beir_judgments, read_beir_queries
from classmark.formats.judged import Judgment, gather
from classmark.formats.nfcorpus import read_nfcorpus
from classmark.formats.npl import read_npl, read_npl_judgments
from classmark.formats.record import Record
from classmark.formats.smart import read_smart, read_smart_judgments
from classmark.formats.trec import read_qrels
from classmark.problems import Mistake

if TYPE_CHECKING:
    from pathlib import Path


Reader = Callable[[], Iterable[Record]]


def _collection(
    name: str,
    documents: Reader,
    queries: Iterable[Record],
    judgments: Iterable[Judgment],
    links: Iterable[Link] = (),
) -> Dataset:
    return Dataset(
        name,
        queries={query.id: query.document.text for query in queries},
        qrels=gather(judgments),
        documents=Documents(lambda: (record.document for record in documents())),
        links=list(links),
    )


def load_cranfield(folder: Path, _split: str | None) -> Dataset:
    """Load Cranfield 1400; queries are numbered 1 … 225, as the judgments do."""
    path = one_of(folder, "cran.all.1400", "cran.all*")
    return _collection(
        "cranfield",
        lambda: read_smart(path),
        read_smart(one_of(folder, "cran.qry"), ordinal=True),
        read_smart_judgments(one_of(folder, "cranqrel")),
    )


def load_cacm(folder: Path, _split: str | None) -> Dataset:
    """Load CACM; links are its citations."""
    path = one_of(folder, "cacm.all")
    return _collection(
        "cacm",
        lambda: read_smart(path),
        read_smart(one_of(folder, "query.text")),
        read_smart_judgments(one_of(folder, "qrels.text")),
        (Link(r.id, *link) for r in read_smart(path) for link in r.links),
    )


def load_adi(folder: Path, _split: str | None) -> Dataset:
    """Load ADI, 82 abstracts: small enough for a test."""
    path = one_of(folder, "ADI.ALL")
    return _collection(
        "adi",
        lambda: read_smart(path),
        read_smart(one_of(folder, "ADI.QRY")),
        read_smart_judgments(one_of(folder, "ADI.REL")),
    )


def load_npl(folder: Path, _split: str | None) -> Dataset:
    """Load NPL, also called Vaswani."""
    path = one_of(folder, "doc-text")
    return _collection(
        "npl-vaswani",
        lambda: read_npl(path),
        read_npl(one_of(folder, "query-text")),
        read_npl_judgments(one_of(folder, "rlv-ass")),
    )


def load_beir(folder: Path, split: str | None) -> Dataset:
    """Load a BEIR folder (scifact, nfcorpus, …); split : the qrels, by default test."""
    return _collection(
        folder.name,
        lambda: read_beir(folder),
        read_beir_queries(folder),
        read_beir_judgments(folder, split or "test"),
    )


def load_nfcorpus(folder: Path, split: str | None) -> Dataset:
    """Load NFCorpus, in its own layout or as a BEIR folder.

    split : ``"dev"`` (the default), ``"train"`` or ``"test"``; with a field after a
    dot, such as ``"dev.all"``, the queries are that field, else their titles. Documents
    are those of every ``*.docs`` that is not empty, each once. A BEIR folder is read by
    :func:`load_beir`, whose default is ``"test"``.
    """
    if any_of(folder, "corpus.jsonl*"):
        return load_beir(folder, split)
    name, _, kind = (split or "dev").partition(".")
    if name not in ("train", "dev", "test"):
        raise Mistake(f"split={split!r}: nfcorpus has 'train', 'dev' and 'test'")
    files = [path for path in sorted(folder.glob("*.docs")) if path.stat().st_size]
    return _collection(
        "nfcorpus",
        lambda: _once(files),
        read_nfcorpus(one_of(folder, f"{name}.{kind or 'titles'}.queries")),
        read_qrels(one_of(folder, f"{name}.3-2-1.qrel")),
    )


def _once(files: list[Path]) -> Iterator[Record]:
    seen: set[str] = set()
    for path in files:
        for record in read_nfcorpus(path):
            if record.id not in seen:
                seen.add(record.id)
                yield record
