"""Retrieval collections, learning-to-rank sets and click logs."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING

import numpy as np

from classmark.corpus.documents import Document
from classmark.datasets.dataset import (
    Dataset,
    Documents,
    Impressions,
    Link,
    Part,
    Session,
    any_of,
    one_of,
)
from classmark.formats.letor import JudgedRows, read_letor
from classmark.formats.records import Judgment, Record, gather
from classmark.formats.tables import rows
from classmark.formats.test_collections import (
    read_beir,
    read_beir_judgments,
    read_beir_queries,
    read_nfcorpus,
    read_npl,
    read_npl_judgments,
    read_smart,
    read_smart_judgments,
)
from classmark.formats.text_files import lines
from classmark.formats.trec import read_qrels
from classmark.problems import Mistake, UnreadableFile
from classmark.sparse import Rows, stack

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


def load_letor(folder: Path, split: str | None) -> Dataset:
    """Load a LETOR collection.

    split : ``"fold1"`` … ``"fold5"``, as folders ``Fold1/{train,vali,test}.txt`` or, by
    LETOR's rule, from the files S1 … S5 (or A1 … A5): fold k trains on k, k+1, k+2,
    validates on k+3, tests on k+4. By default fold 1, or, where only some of the five
    are there, all but the last train and the last tests. Files ``*train*`` and
    ``*test*``, with ``.query`` files of group sizes, are read as they are.
    """
    fold = any_of(folder, _number(split or "fold1", "Fold"))
    if fold is not None:
        files = [[one_of(fold, f"{name}.txt")] for name in ("train", "vali", "test")]
    elif any_of(folder, "[SA][1-5].txt"):
        files = _five(folder, split)
    else:
        vali = any_of(folder, "*vali*.txt", "*.vali")
        files = [
            [one_of(folder, "*train*.txt", "*.train")],
            [vali] if vali else [],
            [one_of(folder, "*test*.txt", "*.test")],
        ]
    read = [[_read(path) for path in paths] for paths in files]
    width = max(judged.rows.width for group in read for judged in group)
    train, vali_part, test = (_part(group, width) for group in read)
    return Dataset("letor", train, test, vali_part if read[1] else None)


def _number(split: str, word: str) -> str:
    match = re.fullmatch(r"fold([1-5])", split.lower())
    if match is None:
        raise Mistake(f"split={split!r}: give 'fold1' … 'fold5'")
    return f"{word}{match[1]}"


def _five(folder: Path, split: str | None) -> list[list[Path]]:
    files = sorted(folder.glob("[SA][1-5].txt"))
    if split is None and len(files) < 5:
        return [files[:-1], [], files[-1:]]
    start = int(_number(split or "fold1", "")) - 1
    names = [f"[SA]{(start + step) % 5 + 1}.txt" for step in range(5)]
    paths = [one_of(folder, name) for name in names]
    return [paths[:3], paths[3:4], paths[4:]]


def _read(path: Path) -> JudgedRows:
    groups = path.with_name(f"{path.name}.query")
    return read_letor(path, groups=groups if groups.is_file() else None)


def _part(group: list[JudgedRows], width: int) -> Part:
    """Put files one below the other; queries keep their names."""
    rows = stack([judged.rows for judged in group])
    docids = [name for judged in group for name in judged.docids]
    return Part(
        ids=[name or str(at) for at, name in enumerate(docids, 1)],
        labels=[[] for _ in docids],
        X=Rows(rows.starts, rows.columns, rows.values, width).to_scipy(),
        qids=[qid for judged in group for qid in judged.qids],
        grades=np.concatenate([np.empty(0), *(judged.grades for judged in group)]),
    )


CHINESE = "gb18030"


def load_sogou(folder: Path, _split: str | None) -> Dataset:
    """Load the Sogou sample: sessions of ten results, clicked or not.

    Queries and documents (with the field ``url``) are named by their numbers.
    """
    train, test = (_sessions(one_of(folder, f"{n}_data")) for n in ("train", "test"))
    path = one_of(folder, "url_id")
    queries = {number: text for text, number in _named(one_of(folder, "query_id"))}
    return Dataset(
        "clicks-sogou-sample",
        train,
        test,
        queries=queries,
        documents=Documents(
            lambda: (Document(number, {"url": url}) for url, number in _named(path))
        ),
    )


def _named(path: Path) -> Iterator[tuple[str, str]]:
    for number, line in lines(path, CHINESE):
        cells = line.split("\t")
        if len(cells) < 2:
            raise UnreadableFile(path, number, "a text, a tab and a number are needed")
        yield cells[0], cells[1]


def _sessions(path: Path) -> Part:
    sessions = []
    for number, line in lines(path, CHINESE):
        cells = line.split("\t")
        shown = tuple(cells[1].split()) if len(cells) > 2 else ()
        clicks = cells[2].split() if shown else []
        if len(clicks) != len(shown) or not shown or not set(clicks) <= {"0", "1"}:
            raise UnreadableFile(
                path, number, "query, results and as many clicks (0 or 1) are needed"
            )
        sessions.append(Session(cells[0], shown, tuple(c == "1" for c in clicks)))
    ids = [str(number) for number in range(1, len(sessions) + 1)]
    return Part(ids=ids, labels=[[] for _ in ids], sessions=sessions)


def load_obp(folder: Path, split: str | None) -> Dataset:
    """Load the Open Bandit sample: impressions with position, click and propensity.

    split : policy and campaign, ``"random-all"`` (the default), ``"bts-men"``, ….
    """
    policy, _, campaign = (split or "random-all").partition("-")
    if policy not in ("random", "bts") or campaign not in ("all", "men", "women"):
        raise Mistake(f"split={split!r}: give random or bts, a - and all, men or women")
    path = one_of(folder, f"{policy}/{campaign}/{campaign}.csv*")
    table = np.array(list(_impressions(path)), np.float64).reshape(-1, 4)
    items, positions, clicks = (table[:, at].astype(np.int64) for at in range(3))
    ids = [str(number) for number in range(1, len(table) + 1)]
    impressions = Impressions(items, positions, clicks, table[:, 3].copy())
    return Dataset("obp", Part(ids, [], [[] for _ in ids], impressions=impressions))


def _impressions(path: Path) -> Iterator[tuple[float, ...]]:
    columns = ("item_id", "position", "click", "propensity_score")
    table = rows(path)
    numbered = iter(table)
    _, header = next(numbered, (1, []))
    places = [header.index(name) for name in columns if name in header]
    for _, row in numbered:
        try:
            values = tuple(float(row[place]) for place in places)
        except (IndexError, ValueError):
            values = ()
        if len(values) != len(columns):
            table.refuse(f"numbers are needed in {', '.join(columns)}")
        yield values
