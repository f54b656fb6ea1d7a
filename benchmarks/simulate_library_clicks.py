"""Simulate the click log of the embedded library: nobody clicked, each line says so.

Run with ``python benchmarks/simulate_library_clicks.py``: it rewrites ``clicks.jsonl``
beside the queries, the same bytes each time.

The user model. A session asks one query or more; the query of popularity rank i is
asked with a probability in proportion to 1/√i. One of four rankings is shown, ten
results of it: stemmed words, words as they are, titles only, and feedback (the query
and the mean of its first five stemmed results). A ranking with fewer than ten hits is
filled up from feedback. In one list of four, two neighbouring results change places.

The user is the ``User`` of ``reproductions.click_model`` with the numbers
below: judged 0 and not judged are the same to them, and clicks on the results of one
list are independent of each other.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import date, timedelta
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from classmark.datasets.library import library_folder, library_records
from classmark.formats.jsonl import json_lines
from classmark.formats.test_collections import read_qrels
from classmark.text import Analyzer
from classmark.validation import generator
from classmark.weighting.vectorizer import Vectorizer
from reproductions.click_model import User

SEED = 1911
IMPRESSIONS = 1_500
SHOWN = 10
USER = User(attraction=(0.04, 0.3, 0.6, 0.85), eta=0.8, mistake=0.01)
SWAPPED = 0.25
ANOTHER = 0.4
FIRST_DAY = date(2024, 1, 8)
SESSIONS_A_DAY = 3
FEEDBACK = 5
DIGITS = 6


def best_first(scores: NDArray[np.float64]) -> list[int]:
    """Return the items with a positive score, best first, ties in catalogue order.

    Scores are rounded first, so that the last bit of a sum changes no order.
    """
    rounded = np.round(scores, DIGITS)
    order = np.argsort(-rounded, kind="stable")
    return [int(item) for item in order if rounded[item] > 0]


def rankings(
    texts: list[str], titles: list[str], queries: list[str]
) -> dict[str, list[list[int]]]:
    """Rank the catalogue for each query in the four ways; SHOWN items each."""
    plain = Analyzer(stem=False)
    found: dict[str, list[list[int]]] = {}
    for name, analyzer, fields in (
        ("stem", None, texts),
        ("word", plain, texts),
        ("title", None, titles),
    ):
        vectorizer = Vectorizer(analyzer, "log-tfidf")
        X = vectorizer.fit_transform(fields)
        scores = (vectorizer.transform(queries) @ X.T).toarray()
        found[name] = [best_first(row) for row in scores]
        if name == "stem":
            found["feedback"] = [
                best_first(row + np.asarray((X[hits[:FEEDBACK]] @ X.T).mean(0)).ravel())
                for row, hits in zip(scores, found[name], strict=True)
            ]
    return {
        name: [
            list(dict.fromkeys(hits + more))[:SHOWN]
            for hits, more in zip(lists, found["feedback"], strict=True)
        ]
        for name, lists in found.items()
    }


def asked(rng: np.random.Generator, queries: int) -> Iterator[tuple[int, int]]:
    """Yield (session, query) for ever; a session never asks the same query twice."""
    weight = np.arange(1, queries + 1) ** -0.5
    weight = rng.permutation(weight)
    session = 0
    while True:
        session += 1
        order = np.argsort(-np.log(rng.random(queries)) / weight, kind="stable")
        for query in order:
            yield session, int(query)
            if rng.random() >= ANOTHER:
                break


def impressions(
    ids: list[str],
    queries: list[str],
    found: dict[str, list[list[int]]],
    grades: dict[tuple[str, str], int],
) -> Iterator[dict[str, object]]:
    """Yield the lines of the log, in the order of their dates."""
    rng = generator(SEED)
    names = sorted(found)
    visits = asked(rng, len(queries))
    for _ in range(IMPRESSIONS):
        session, query = next(visits)
        name = names[int(rng.random() * len(names))]
        shown = [ids[item] for item in found[name][query]]
        if rng.random() < SWAPPED:
            place = int(rng.random() * (len(shown) - 1))
            shown[place : place + 2] = shown[place : place + 2][::-1]
        clicked = USER.clicks([grades.get((queries[query], i), 0) for i in shown], rng)
        yield {
            "simulated": True,
            "session": f"s{session:04}",
            "date": str(FIRST_DAY + timedelta(days=session // SESSIONS_A_DAY)),
            "query": queries[query],
            "ranking": name,
            "shown": shown,
            "clicked": [i for i, hit in zip(shown, clicked, strict=True) if hit],
        }


def simulate(folder: Path) -> str:
    """Return the whole log of the catalogue in a folder."""
    records = list(library_records(folder))
    asks = [row for _, row in json_lines(folder / "queries.jsonl")]
    judged = read_qrels(folder / "qrels.tsv", columns=3)
    found = rankings(
        [record.document.text for record in records],
        [record.document.fields["title"] for record in records],
        [str(ask["text"]) for ask in asks],
    )
    lines = impressions(
        [record.id for record in records],
        [str(ask["id"]) for ask in asks],
        found,
        {(query, item): int(grade) for query, item, grade in judged},
    )
    return "".join(json.dumps(line, separators=(",", ":")) + "\n" for line in lines)


if __name__ == "__main__":
    place = library_folder()
    log = simulate(place)
    (place / "clicks.jsonl").write_text(log, encoding="utf-8")
    print(f"{log.count(chr(10)):,} simulated impressions, {len(log):,} bytes")
