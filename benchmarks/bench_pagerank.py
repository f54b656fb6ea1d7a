"""How long does PageRank take, beside networkx and a power iteration in scipy?

Run with ``CLASSMARK_DATA=DIR OPENBLAS_NUM_THREADS=1 python
benchmarks/bench_pagerank.py [--links N]``: one thread. Known webs (wiki-Vote, polblogs,
Debian's dependencies, wikispeedia) and a synthetic one: as many pages as a tenth of its
links, numbers of links out and in by power laws, one page in twenty without links.
Every program starts from what it likes best (networkx from its graph, the others from a
CSR matrix) and stops when the answer is within 1e-10 of the exact one in L1, by the
same bound. Best of some runs, processor time. «apart» is the L1 distance to
Gauss–Seidel's answer at tol 1e-13.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest.mock import patch

import networkx as nx
import numpy as np
from bench_plm import table
from numpy.typing import NDArray
from scipy import sparse

from classmark.arrays import Rows, rows_from
from classmark.datasets import load
from classmark.datasets.dataset import where
from classmark.links import kernels
from classmark.links.pagerank import METHODS, graph_of_edges, pagerank

DAMPING, TOL = 0.85, 1e-10
CHANGE = TOL * (1 - DAMPING) / DAMPING
Vector = NDArray[np.float64]


def known(name: str) -> Rows:
    """The links of a known collection."""
    if name == "wikispeedia":
        lines = (where(name) / "links.tsv").read_text("utf-8").splitlines()
        pairs = (line.split("\t") for line in lines if line and line[0] != "#")
        return graph_of_edges((source, target) for source, target in pairs)[0]
    data = load(name)
    return graph_of_edges((link[:2] for link in data.links), data.train.ids)[0]


def synthetic(links: int, seed: int = 0) -> Rows:
    """A web of ``links`` links and a tenth as many pages; hubs at random numbers."""
    rng = np.random.default_rng(seed)
    n = links // 10
    out = rng.pareto(1.5, n) + 1.0
    out[rng.random(n) < 0.05] = 0.0
    ends = np.cumsum(out * (1.35 * links / out.sum())).astype(np.int64)
    out = np.minimum(np.diff(ends, prepend=0), n // 20)
    sources = np.repeat(np.arange(n), out)
    popular = rng.permutation(n)
    targets = popular[(n * rng.random(len(sources)) ** 4).astype(np.int64)]
    places = np.unique(sources * n + targets)
    places = np.sort(rng.permutation(places)[:links])
    starts = np.searchsorted(places, np.arange(n + 1) * n)
    columns = (places % n).astype(np.uint32)
    return Rows(starts.astype(np.int64), columns, np.ones(len(places)), n)


def by_scipy(A: sparse.csr_matrix) -> Vector:
    """The usual power iteration: a product with the transposed matrix."""
    n = A.shape[0]
    out = np.asarray(A.sum(axis=1)).ravel()
    lost = out == 0
    scale = DAMPING / np.where(lost, 1.0, out)
    turned = A.T.tocsr()
    x = np.full(n, 1.0 / n)
    while True:
        jump = (1 - DAMPING + DAMPING * x[lost].sum()) / n
        after = turned @ (x * scale) + jump
        change = np.abs(after - x).sum()
        x = after
        if change <= CHANGE:
            return x / x.sum()


def by_networkx(graph: nx.DiGraph) -> Vector:
    """Ranks in the order of the nodes; its own rule stops at N · tol."""
    found = nx.pagerank(graph, DAMPING, tol=CHANGE / len(graph), max_iter=1000)
    return np.fromiter(found.values(), float, len(found))


def timed(do: Callable[[], Vector], runs: int) -> tuple[float, Vector]:
    """Return the least processor time of some runs, and the answer."""
    least = np.inf
    for _ in range(runs):
        began = time.process_time()
        x = do()
        least = min(least, time.process_time() - began)
    return least, x


def passes(rows: Rows, method: str) -> tuple[int, float]:
    """How many passes a method makes over the links, and seconds of one."""
    name = {"power": "follow_links", "gauss-seidel": "relax_pages"}[method]
    kernel, took = getattr(kernels, name), []

    def counted(*arrays: Any) -> float:
        began = time.process_time()
        change: float = kernel(*arrays)
        took.append(time.process_time() - began)
        return change

    with patch.object(kernels, name, counted):
        pagerank(rows, DAMPING, method=method, tol=TOL)
    return len(took), float(np.median(took))


def race(name: str, rows: Rows, runs: int) -> list[dict[str, Any]]:
    """Time every program on one web."""
    A = rows.to_scipy()
    exact = pagerank(A, DAMPING, method="gauss-seidel", tol=1e-13)
    rivals: dict[str, Callable[[], Vector]] = {
        method: lambda m=method: pagerank(A, DAMPING, method=m, tol=TOL)
        for method in METHODS
    }
    rivals["scipy power iteration"] = lambda: by_scipy(A)
    if rows.nnz < 500_000:
        graph = nx.from_scipy_sparse_array(A, create_using=nx.DiGraph)
        rivals["networkx"] = lambda: by_networkx(graph)
    found = {rival: timed(do, runs) for rival, do in rivals.items()}
    ours = found["power"][0]
    return [
        {
            "web": f"{name}, {len(rows):,} pages, {rows.nnz:,} links",
            "by": rival,
            "ms": 1e3 * seconds,
            "times power's": seconds / ours,
            "apart": float(np.abs(x - exact).sum()),
        }
        for rival, (seconds, x) in found.items()
    ]


def main() -> None:
    """Race on every web, print, write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--links", type=int, default=10_000_000)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--json", type=Path, help="write the values here")
    options = parser.parse_args()
    pagerank(rows_from(np.eye(9)))  # kernels are loaded
    rows, speeds = [], []
    names = ("graph-polblogs", "graph-wiki-vote", "wikispeedia", "debian-depends-graph")
    webs: dict[str, Callable[[], Rows]] = {
        name: lambda n=name: known(n) for name in names
    }
    webs["synthetic"] = lambda: synthetic(options.links)
    for name, make in webs.items():
        web = make()
        rows += race(name, web, options.runs if web.nnz < 10**6 else 2)
        speed: dict[str, Any] = {"web": name}
        for method in ("power", "gauss-seidel"):
            count, seconds = passes(web, method)
            speed[f"{method}: passes"] = count
            speed[f"{method}: ns a link"] = 1e9 * seconds / web.nnz
        speeds.append(speed)
    print(table(rows), table(speeds), sep="\n\n")
    if options.json:
        options.json.write_text(json.dumps({"races": rows, "passes": speeds}, indent=1))


if __name__ == "__main__":
    main()
