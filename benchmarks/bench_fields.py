"""How fields are best searched together: summed scores, one text, a title that counts.

Run with ``CLASSMARK_DATA=DIR python benchmarks/bench_fields.py [--json FILE]``: MAP and
nDCG@10 on design collections whose documents have several fields. "sum" adds the scores
that the model gives in each field; "one text" adds counts and lengths before scoring,
the title's so many times (``classmark.index.united``; of BM25 it is BM25F with one b).
"""

from __future__ import annotations

import argparse
import json
import os
import time
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from classmark.datasets import load
from classmark.evaluation.retrieval import answer_queries, judged_queries, measure
from classmark.index.index import Index

COLLECTIONS = ("library", "adi", "cranfield", "cacm")
MODELS = ("bm25", "dirichlet", "lgd")
NAMES = ("map", "ndcg@10")
SUM = 1.0 + 1e-9  # no whole number: scores of fields are summed


def measured(name: str, data: Path) -> list[dict[str, Any]]:
    """Measure every way on a collection; seconds for all queries."""
    collection = load(name, None if name == "library" else data)
    rows = []
    with TemporaryDirectory() as folder:
        index = Index.build(Path(folder) / "index", collection.documents)
        queries, qrels = collection.queries, collection.qrels
        judged = judged_queries(index, queries, qrels, name)
        for model in MODELS:
            for times in (0, 1, 2, 3, 4, 5):
                weights = dict.fromkeys(index.fields, SUM if not times else 1.0)
                if times:
                    weights["title"] = float(times)
                begin = time.process_time()
                how = ((model, {}), weights, None)
                run = answer_queries(index.searcher, judged.queries, how)
                seconds = time.process_time() - begin
                values = measure(judged, run, NAMES)
                way = f"one text, title × {times}" if times else "sum"
                row: dict[str, Any] = {"collection": name, "model": model, "way": way}
                row |= {key: float(each.mean()) for key, each in values.items()}
                rows.append(row | {"seconds": seconds})
    return rows


def main() -> None:
    """Measure, print, and keep the rows."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    data, rows = Path(os.environ.get("CLASSMARK_DATA", ".")), []
    for name in COLLECTIONS:
        rows += measured(name, data)
        for row in rows[-18:]:
            print(
                "  ".join(
                    f"{v:.4f}" if isinstance(v, float) else v for v in row.values()
                )
            )
    if options.json:
        options.json.write_text(json.dumps(rows, indent=1) + "\n")


if __name__ == "__main__":
    main()
