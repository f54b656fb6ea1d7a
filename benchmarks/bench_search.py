"""Queries per second beside bm25s and tantivy: the same documents, terms and queries.

Run with ``CLASSMARK_DATA=DIR python benchmarks/bench_search.py [--peers DIR] [--json
FILE]``; ``--peers`` is a folder with bm25s and tantivy (``uv pip install --target DIR
bm25s tantivy``), added behind the installed packages; one that is missing is skipped,
with the reason. The messages of 20 Newsgroups are analysed once (stop words, Porter
stems) and given to all as the same terms; the queries are their subject lines, top 10,
BM25 (Lucene's, k1 = 1.2, b = 0.75). One process, one thread, processor seconds; the
contestants take turns and medians are compared.

Signed queries have 3,000 terms: the heaviest of each group's mean vector less the mean
of all others, and random ones. ``--signed`` measures only these.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import re
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from classmark.corpus.counting import count
from classmark.index.models import MODELS
from classmark.index.postings import field_of
from classmark.index.search import Searcher
from classmark.text import Analyzer
from classmark.weighting.vectorizer import weigh

FOLDER, TERMS, K = "20newsgroups-bydate", 3000, 10
Queries = list[list[str]]
subject_of = re.compile(r"^Subject: (.*)$", re.MULTILINE).search


def load(folder: Path) -> tuple[list[str], list[str], list[str]]:
    """Return texts, subject lines and groups of all messages."""
    messages = []
    for path in sorted((folder / FOLDER).glob("*.jsonl")):
        with path.open(encoding="utf-8") as lines:
            messages += [json.loads(line) for line in lines]
    texts = [message["text"] for message in messages]
    found = [subject_of(text) for text in texts]
    titles = [match[1] if match else "" for match in found]
    return texts, titles, [message["group"] for message in messages]


class Bm25s:
    """bm25s with its numba backend, given our token numbers."""

    def __init__(self, documents: Queries, terms: Sequence[str]) -> None:
        import bm25s

        self.vocabulary = {term: number for number, term in enumerate(terms)}
        ids = [[self.vocabulary[t] for t in tokens] for tokens in documents]
        self.engine = bm25s.BM25(method="lucene", k1=1.2, b=0.75, backend="numba")
        tokens = bm25s.tokenization.Tokenized(ids=ids, vocab=self.vocabulary)
        self.engine.index(tokens, show_progress=False)

    def ids(self, queries: Queries) -> list[list[int]]:
        """Return the queries as it takes them quickest: numbers, not strings."""
        return [[self.vocabulary[term] for term in query] for query in queries]

    def one(self, query: list[int]) -> Any:
        """Answer one query."""
        return self.engine.retrieve([query], k=K, show_progress=False)

    def many(self, queries: list[list[int]]) -> Any:
        """Answer all queries in one call."""
        return self.engine.retrieve(queries, k=K, show_progress=False)


class Tantivy:
    """tantivy, in memory, given our terms apart by spaces."""

    def __init__(self, documents: Queries) -> None:
        import tantivy

        schema = tantivy.SchemaBuilder()
        schema.add_text_field("text", tokenizer_name="whitespace")
        schema.add_text_field("id", tokenizer_name="raw", stored=True)
        self.index = tantivy.Index(schema.build())
        writer = self.index.writer(num_threads=1)
        for number, tokens in enumerate(documents):
            text = " ".join(tokens)
            writer.add_document(tantivy.Document(text=text, id=str(number)))
        writer.commit()
        writer.wait_merging_threads()
        self.index.reload()
        self.searcher = self.index.searcher()

    def one(self, query: str) -> Any:
        """Answer one query, with the ids of what was found, as ours has them."""
        parsed = self.index.parse_query(query, ["text"])
        found = self.searcher.search(parsed, K).hits
        return [(self.searcher.doc(place)["id"], score) for score, place in found]

    def bare(self, query: str) -> Any:
        """Answer one query without looking ids up."""
        parsed = self.index.parse_query(query, ["text"])
        return self.searcher.search(parsed, K).hits


def seconds(act: Callable[[], Any]) -> float:
    """Return the processor seconds of an act."""
    begin = time.process_time()
    act()
    return time.process_time() - begin


def each(answer: Callable[[Any], Any], queries: Sequence[Any]) -> Callable[[], None]:
    """Make an act of answering queries one by one."""

    def act() -> None:
        for query in queries:
            answer(query)

    return act


def worst_difference(searcher: Searcher, peer: Bm25s, queries: Queries) -> float:
    """Return the largest difference between our scores and bm25s's, rank by rank."""
    ours = searcher.search_many(queries, K)
    theirs = peer.many(peer.ids(queries)).scores
    return max(
        abs(hit.score - score)
        for hits, scores in zip(ours, theirs, strict=True)
        for hit, score in zip(hits, scores.tolist(), strict=False)
    )


def contest(acts: dict[str, Callable[[], Any]], n: int, repeats: int) -> dict[str, Any]:
    """Let the contestants take turns; return queries a second, by the median."""
    for act in acts.values():
        act()
    taken: dict[str, list[float]] = {name: [] for name in acts}
    for _ in range(repeats):
        for name, act in acts.items():
            taken[name].append(seconds(act))
    return {name: n / statistics.median(times) for name, times in taken.items()}


def prototypes(counted: Any, groups: list[str]) -> list[dict[str, float]]:
    """Return the heaviest terms of each group's mean vector less that of the others."""
    X = weigh(counted.rows, counted.statistics).to_scipy()
    names, of = np.unique(groups, return_inverse=True)
    terms = counted.vocabulary.terms
    queries = []
    for group in range(len(names)):
        inside = of == group
        w = np.asarray(X[inside].mean(axis=0) - X[~inside].mean(axis=0)).ravel()
        heaviest = np.argsort(-abs(w), kind="stable")[:TERMS]
        queries.append({terms[t]: float(w[t]) for t in heaviest})
    return queries


def random_vectors(terms: Sequence[str], n: int) -> list[dict[str, float]]:
    """Return signed weights of random terms."""
    rng = np.random.default_rng(0)
    return [
        dict(
            zip(
                (terms[t] for t in rng.choice(len(terms), TERMS, replace=False)),
                rng.normal(size=TERMS).tolist(),
                strict=True,
            )
        )
        for _ in range(n)
    ]


def reading_kernels() -> tuple[Any, Any]:
    """Compile two loops: sum some lists of one array, and of two, each list once."""
    import numba

    @numba.njit
    def total(values: Any, begin: Any, end: Any) -> int:
        found = np.uint64(0)
        for j in range(np.uint64(begin), np.uint64(end)):
            found += np.uint64(values[j])
        return found

    @numba.njit
    def read(begins: Any, ends: Any, numbers: Any, values: Any) -> int:
        found = np.uint64(0)
        for t in numbers:
            found += total(values, begins[t], ends[t])
        return found

    @numba.njit
    def read_both(begins: Any, ends: Any, numbers: Any, items: Any, counts: Any) -> int:
        found = np.uint64(0)
        for t in numbers:
            found += total(items, begins[t], ends[t]) + total(
                counts, begins[t], ends[t]
            )
        return found

    return read, read_both


def adding_kernel() -> Any:
    """Compile a loop that adds 1 to the accumulators of some items."""
    import numba

    @numba.njit
    def add(items: Any, acc: Any) -> None:
        for j in range(np.uint64(len(items))):
            acc[items[j]] += 1.0

    return add


def floors(searcher: Searcher, ready: list[Any]) -> dict[str, Callable[[], Any]]:
    """Return acts that do with the touched postings the least that can be done.

    They are read, summing them, as they lie in memory: in 2 bytes (4 where a count is
    over 3), and in the 8 of the decoded lists; and 1 is added to the accumulator of
    each, all postings of a query being one list of one count.
    """
    (read, read_both), add = reading_kernels(), adding_kernel()
    products, acc = searcher.products, np.zeros(1 << 16)
    slots, _, edges = products.runs
    edges = np.ascontiguousarray(edges[:, 0])
    items, counts, *bounds = products.field.whole
    asked = [products.order[query.places] for query in ready]
    listed = [listed_items(products.field.whole, numbers) for numbers in asked]
    return {
        "reading": each(lambda q: read(edges, edges[1:], q.places, slots), ready),
        "reading 8 bytes a posting": each(
            lambda numbers: read_both(*bounds, numbers, items, counts), asked
        ),
        "adding": each(lambda items: add(items, acc), listed),
    }


def listed_items(lists: Any, numbers: Any) -> Any:
    """Return the items of some lists, one after another, as 16 bits each."""
    runs = [lists.items[lists.begins[t] : lists.ends[t]] for t in numbers]
    return np.concatenate(runs).astype(np.uint16)


def signed(searcher: Searcher, queries: list[dict[str, float]]) -> dict[str, float]:
    """Measure long signed queries beside reading their postings; milliseconds each."""
    ready = [searcher.weigh(query) for query in queries]
    acts = {
        "mapping": each(lambda query: searcher.search_vector(query, K), queries),
        "made ready": each(lambda query: searcher.search_vector(query, K), ready),
        "making ready": each(searcher.weigh, queries),
        **floors(searcher, ready),
    }
    per_second = contest(acts, len(queries), 15)
    taken = {name: 1e3 / speed for name, speed in per_second.items()}
    products = searcher.products
    postings = sum(
        int(products.field.df[products.order[query.places]].sum()) for query in ready
    )
    return {"postings": postings / len(queries), **taken}


def signed_kinds(
    searcher: Searcher, counted: Any, groups: list[str]
) -> dict[str, dict[str, float]]:
    """Measure both kinds of signed queries."""
    at_random = random_vectors(counted.vocabulary.terms, 20)
    return {
        "signed, of groups": signed(searcher, prototypes(counted, groups)),
        "signed, random": signed(searcher, at_random),
    }


def overhead(searcher: Searcher) -> float:
    """Return the microseconds of a query whose one term has one posting."""
    field = searcher.one_field("overhead").field
    rare = field.term(int(np.flatnonzero(np.asarray(field.df) == 1)[0]))
    queries = [[rare, rare, rare, rare]] * 20_000
    act = each(searcher.search, queries)
    act()
    return seconds(act) / len(queries) * 1e6


def compare(folder: Path, repeats: int, only_signed: bool) -> dict[str, Any]:
    """Run everything."""
    texts, titles, groups = load(folder)
    analyzer = Analyzer(stem="porter")
    counted = count(texts, analyzer)
    terms = counted.vocabulary.terms
    searcher = Searcher(field_of(counted.rows, terms))
    long = signed_kinds(searcher, counted, groups)
    if only_signed:
        return long
    queries = [query for title in titles if (query := analyzer(title))]
    documents = [analyzer(text) for text in texts]
    single: dict[str, Any] = {"classmark": each(searcher.search, queries)}
    batch: dict[str, Any] = {
        "classmark": lambda: searcher.rank(queries, K),
        "classmark, as hits": lambda: searcher.search_many(queries, K),
    }
    skipped, difference = {}, None
    try:
        peer = Bm25s(documents, terms)
    except ImportError as reason:
        skipped["bm25s"] = str(reason)
    else:
        ids = peer.ids(queries)
        single["bm25s"] = each(peer.one, ids)
        batch["bm25s"] = lambda: peer.many(ids)
        difference = worst_difference(searcher, peer, queries)
    try:
        other = Tantivy(documents)
    except ImportError as reason:
        skipped["tantivy"] = str(reason)
    else:
        typed = [" ".join(query) for query in queries]
        single["tantivy"] = each(other.one, typed)
        single["tantivy, without ids"] = each(other.bare, typed)
    return {
        "machine": f"{os.cpu_count()} cores; Python {platform.python_version()}",
        "documents": len(texts),
        "queries": len(queries),
        "skipped": skipped,
        "difference": difference,
        "overhead_microseconds": overhead(searcher),
        "single": contest(single, len(queries), repeats),
        "batch": contest(batch, len(queries), repeats),
        "models": contest(
            {
                name: lambda name=name: searcher.rank(queries, K, name)
                for name in MODELS
            },
            len(queries),
            max(1, repeats // 3),
        ),
        **long,
    }


def long_report(result: dict[str, Any]) -> str:
    """Write what was measured of signed queries as Markdown."""
    groups, at_random = result["signed, of groups"], result["signed, random"]
    lines = ["| 3,000 signed terms, ms | of groups | random |", "|---|---|---|"]
    for name, value in groups.items():
        digits = ",.0f" if name == "postings" else ".3f"
        lines.append(f"| {name} | {value:{digits}} | {at_random[name]:{digits}} |")
    return "\n".join(lines)


def report(result: dict[str, Any]) -> str:
    """Write the result as Markdown."""
    lines = [
        f"{result['documents']} documents, {result['queries']} queries, top {K}.",
        f"Largest difference from bm25s's scores: {result['difference']}.",
        f"A query of one posting: {result['overhead_microseconds']:.1f} µs.",
        "",
        "| contestant | queries/s | ratio |",
        "|---|---|---|",
    ]
    for act in ("single", "batch"):
        ours = result[act]["classmark"]
        for name, speed in result[act].items():
            ratio = f"{ours / speed:.2f}"
            lines.append(f"| {act}: {name} | {speed:,.0f} | {ratio} |")
    lines += ["", "| model, batch | queries/s |", "|---|---|"]
    lines += [f"| {name} | {s:,.0f} |" for name, s in result["models"].items()]
    lines += ["", long_report(result)]
    lines += [f"\nskipped {name}: {why}" for name, why in result["skipped"].items()]
    return "\n".join(lines)


def main() -> None:
    """Compare, print, write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=os.environ.get("CLASSMARK_DATA"))
    parser.add_argument("--peers", type=Path)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--signed", action="store_true")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    if options.data is None:
        parser.error("give --data, or set CLASSMARK_DATA")
    if options.peers:
        sys.path.append(str(options.peers))
    result = compare(Path(options.data), options.repeats, options.signed)
    print(long_report(result) if options.signed else report(result))
    if options.json:
        options.json.write_text(json.dumps(result, indent=2) + "\n")


if __name__ == "__main__":
    main()
