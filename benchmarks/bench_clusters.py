"""Clustering beside scikit-learn and scipy in one run: quality and speed.

python benchmarks/bench_clusters.py [--json FILE]    (CLASSMARK_DATA: the data sets)

Every time is that of one process with one thread; compare within a run only.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from scipy.cluster.hierarchy import linkage
from sklearn.cluster import KMeans
from sklearn.metrics import adjusted_rand_score, normalized_mutual_info_score

from classmark.clusters.agglomerative import Agglomerative, near_duplicates
from classmark.clusters.kmeans import SoftMixture, SphericalKMeans, choose_n_clusters
from classmark.datasets import load
from classmark.weighting.vectorizer import Vectorizer

SEEDS = (0, 1, 2)


def main() -> None:
    """Print a table a task; write all values where asked."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", type=Path)
    asked = parser.parse_args()
    found: dict[str, Any] = {}
    for name in ("library", "20newsgroups-bydate"):
        X, y = documents(name)
        _warm(X[:60])
        found[name] = flat(X, y) | {"documents": X.shape[0], "topics": len(set(y))}
        found[name] |= {"chosen k": choose_n_clusters(X)}
        print(
            f"\n{name}: {found[name]['documents']} documents, "
            f"{found[name]['topics']} topics, {found[name]['chosen k']} by silhouette"
        )
        show(found[name]["methods"])
    found["merging"] = merging(X[:2000])
    found["near-duplicates"] = duplicates(X)
    for what in ("merging", "near-duplicates"):
        print(f"\n{what}")
        show(found[what])
    if asked.json:
        asked.json.write_text(json.dumps(found, indent=1))


def documents(name: str) -> tuple[Any, list[str]]:
    """Unit rows of log-tfidf, and one topic a document."""
    data = load(name)
    parts = [data.train, data.test]
    texts = [text for part in parts for text in part.texts]
    topics = [str(labels[0]) for part in parts for labels in part.labels]
    return Vectorizer(weighting="log-tfidf").fit_transform(texts), topics


def flat(X: Any, y: list[str]) -> dict[str, Any]:
    """As many clusters as there are topics, by each method, one start a seed."""
    k, rows = len(set(y)), []
    makers: dict[str, Callable[[int], Any]] = {
        "SphericalKMeans": lambda s: SphericalKMeans(k, n_init=1, random_state=s),
        "sklearn KMeans": lambda s: KMeans(k, n_init=1, random_state=s),
        "SoftMixture": lambda s: SoftMixture(k, random_state=s),
        "Agglomerative ward": lambda s: Agglomerative(k, random_state=s),
    }
    for name, make in makers.items():
        runs = [_timed(lambda s=s, m=make: m(s).fit(X).labels_) for s in SEEDS]
        rows.append(
            {
                "method": name,
                "sum of cosines": np.mean([_cosines(X, labels) for _, labels in runs]),
                "adjusted Rand": np.mean(
                    [adjusted_rand_score(y, own) for _, own in runs]
                ),
                "NMI": np.mean(
                    [normalized_mutual_info_score(y, own) for _, own in runs]
                ),
                "seconds": np.median([seconds for seconds, _ in runs]),
            }
        )
    return {"methods": rows}


def merging(X: Any) -> list[dict[str, Any]]:
    """The whole tree of average and Ward linkage, beside scipy's of given distances."""
    rows, cosines = [], (X @ X.T).toarray().astype(np.float64)
    between = np.triu_indices(X.shape[0], 1)
    given = {"average": 1 - cosines[between]}
    given["ward"] = np.sqrt(np.maximum(2 * given["average"], 0))
    for how, distances in given.items():
        ours, model = _timed(lambda h=how: Agglomerative(1, linkage=h).fit(X))
        theirs, tree = _timed(lambda h=how, d=distances: linkage(d, h))
        rows.append(
            {
                "linkage": how,
                "documents": X.shape[0],
                "seconds, distances included": ours,
                "scipy's seconds, without": theirs,
                "apart in height at most": float(
                    np.abs(model.tree_.heights - tree[:, 2]).max()
                ),
            }
        )
    return rows


def duplicates(X: Any) -> list[dict[str, Any]]:
    """Groups by cosine, beside brute force over all pairs in blocks."""
    rows = []
    brute, _ = _timed(
        lambda: [(X[b : b + 500] @ X.T).max() for b in range(0, 2000, 500)]
    )
    for threshold in (0.95, 0.8, 0.6):
        seconds, groups = _timed(lambda t=threshold: near_duplicates(X, t))
        sizes = np.bincount(groups)
        rows.append(
            {
                "cosine": threshold,
                "documents": X.shape[0],
                "seconds": seconds,
                "all pairs, seconds (from 2,000 rows)": brute * X.shape[0] / 2000,
                "groups of two or more": int((sizes > 1).sum()),
                "documents in them": int(sizes[sizes > 1].sum()),
            }
        )
    return rows


def show(rows: list[dict[str, Any]]) -> None:
    """Print rows under their names."""
    print(" | ".join(rows[0]))
    for row in rows:
        cells = (f"{v:.4g}" if isinstance(v, float) else str(v) for v in row.values())
        print(" | ".join(cells))


def _cosines(X: Any, labels: Any) -> float:
    return sum(
        float(np.linalg.norm(np.asarray(X[labels == c].sum(axis=0))))
        for c in np.unique(labels)
    )


def _timed(work: Callable[[], Any]) -> tuple[float, Any]:
    started = time.perf_counter()
    done = work()
    return time.perf_counter() - started, done


def _warm(X: Any) -> None:
    """Let the kernels be compiled before anything is timed."""
    SphericalKMeans(2).fit(X)
    Agglomerative(2).fit(X)
    near_duplicates(X)


if __name__ == "__main__":
    main()
