"""Retrieval collections, learning-to-rank sets and click logs."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import numpy as np

from classmark.arrays import stack
from classmark.corpus.documents import Document
from classmark.datasets.dataset import (
    ClickSession,
    CollectionDocuments,
    Dataset,
    DatasetPart,
    Impressions,
    Link,
    any_of,
    chosen_split,
    one_of,
)
from classmark.formats.records import Judgment, Record, gather
from classmark.formats.svmlight import JudgedRows, read_letor
from classmark.formats.tables import rows
from classmark.formats.test_collections import (
    read_beir,
    read_beir_judgments,
    read_beir_queries,
    read_nfcorpus,
    read_npl,
    read_npl_judgments,
    read_qrels,
    read_smart,
    read_smart_judgments,
)
from classmark.formats.text_files import lines
from classmark.problems import Mistake

Loader = Callable[["Path", str | None], Dataset]


def _collection(
    name: str,
    documents: Callable[[], Iterable[Record]],
    queries: Iterable[Record],
    judgments: Iterable[Judgment],
    links: Iterable[Link] = (),
) -> Dataset:
    return Dataset(
        name,
        queries={query.id: query.document.text for query in queries},
        qrels=gather(judgments),
        documents=CollectionDocuments(
            lambda: (record.document for record in documents())
        ),
        links=list(links),
    )


def _three_files(
    name: str,
    files: tuple[str, str, str],
    read: Callable[..., Iterable[Record]] = read_smart,
    judgments: Callable[[Path], Iterable[Judgment]] = read_smart_judgments,
    *,
    links: bool = False,
    **options: bool,
) -> Loader:
    """Make the loader of documents, queries and judgments in a file each.

    files : patterns of their names, separated by blanks;  links : whether documents say
    which they cite;  options : how queries are read.
    """

    def load(folder: Path, _split: str | None) -> Dataset:
        documents, queries, judged = (one_of(folder, *each.split()) for each in files)
        citing = read(documents) if links else ()
        return _collection(
            name,
            lambda: read(documents),
            read(queries, **options),
            judgments(judged),
            (Link(record.id, *link) for record in citing for link in record.links),
        )

    return load


# Cranfield's judgments number the queries 1 … 225; CACM's links are its citations; ADI
# has 82 abstracts and is small enough for a test; NPL is also called Vaswani.
load_cranfield = _three_files(
    "cranfield", ("cran.all.1400 cran.all*", "cran.qry", "cranqrel"), ordinal=True
)
load_cacm = _three_files("cacm", ("cacm.all", "query.text", "qrels.text"), links=True)
load_adi = _three_files("adi", ("ADI.ALL", "ADI.QRY", "ADI.REL"))
load_npl = _three_files(
    "npl-vaswani", ("doc-text", "query-text", "rlv-ass"), read_npl, read_npl_judgments
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
    chosen_split(name, "train", "dev", "test")
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
    read = [
        [
            read_letor(path, groups=any_of(path.parent, f"{path.name}.query"))
            for path in paths
        ]
        for paths in files
    ]
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


def _part(group: list[JudgedRows], width: int) -> DatasetPart:
    """Put files one below the other; queries keep their names."""
    rows = stack([judged.rows for judged in group])
    docids = [name for judged in group for name in judged.docids]
    return DatasetPart(
        ids=[name or str(at) for at, name in enumerate(docids, 1)],
        labels=[[] for _ in docids],
        X=rows.with_width(width).to_scipy(),
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
        documents=CollectionDocuments(
            lambda: (Document(number, {"url": url}) for url, number in _named(path))
        ),
    )


def _named(path: Path) -> Iterator[tuple[str, str]]:
    file = lines(path, CHINESE)
    for _, line in file:
        cells = line.split("\t")
        if len(cells) < 2:
            file.refuse("a text, a tab and a number are needed")
        yield cells[0], cells[1]


def _sessions(path: Path) -> DatasetPart:
    sessions = []
    file = lines(path, CHINESE)
    for _, line in file:
        cells = line.split("\t")
        shown = tuple(cells[1].split()) if len(cells) > 2 else ()
        clicks = cells[2].split() if shown else []
        if len(clicks) != len(shown) or not shown or not set(clicks) <= {"0", "1"}:
            file.refuse("query, results and as many clicks (0 or 1) are needed")
        sessions.append(ClickSession(cells[0], shown, tuple(c == "1" for c in clicks)))
    ids = [str(number) for number in range(1, len(sessions) + 1)]
    return DatasetPart(ids=ids, labels=[[] for _ in ids], sessions=sessions)


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
    return Dataset(
        "obp", DatasetPart(ids, [], [[] for _ in ids], impressions=impressions)
    )


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
