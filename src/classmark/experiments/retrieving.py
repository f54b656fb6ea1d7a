"""Judged queries over an index: run them under a model, and measure the runs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import numpy as np

from classmark.arrays import Floats
from classmark.index.feedback import Feedback, Found
from classmark.index.plans import Choice
from classmark.measures import retrieval_per_query
from classmark.problems import Mistake
from classmark.randomness import Seed, generator

if TYPE_CHECKING:
    from classmark.datasets.dataset import Dataset
    from classmark.index.index import Index
    from classmark.index.search import Hit, Searcher

DEPTH = 1000
Run = dict[str, dict[str, float]]


@dataclass(frozen=True, eq=False)
class JudgedQueries:
    """Queries as analysed terms, and the grades of documents for them.

    queries : query → terms, repeats counting;  qrels : query → document → grade.
    """

    name: str
    searcher: Searcher
    queries: Mapping[str, Sequence[str]]
    qrels: Mapping[str, Mapping[str, float]]

    def only(self, ids: Sequence[str]) -> JudgedQueries:
        """Keep some of the queries."""
        return replace(
            self,
            queries={id_: self.queries[id_] for id_ in ids},
            qrels={id_: self.qrels[id_] for id_ in ids},
        )

    def halves(self, seed: Seed = 0) -> tuple[JudgedQueries, JudgedQueries]:
        """Part the queries in two by chance: one half to tune on, one to report."""
        ids = np.array(list(self.queries))
        order = generator(seed).permutation(len(ids))
        half = len(ids) // 2
        tuned, reported = sorted(order[:half]), sorted(order[half:])
        return self.only(ids[tuned].tolist()), self.only(ids[reported].tolist())


def judged_queries(
    index: Index,
    queries: Mapping[str, str],
    qrels: Mapping[str, Mapping[str, float]],
    name: str = "queries",
) -> JudgedQueries:
    """Analyse queries as the index's documents were; those without judgments go."""
    known = {id_: index.terms(text) for id_, text in queries.items() if qrels.get(id_)}
    if not known:
        raise Mistake(
            f"{name}: none of {len(queries)} queries has a judgment (those of "
            f"{len(qrels)} queries are there): give queries and judgments with the "
            "same ids"
        )
    return JudgedQueries(
        name, index.searcher, known, {id_: qrels[id_] for id_ in known}
    )


@contextmanager
def indexed(
    dataset: Dataset, opening: Callable[[Path], Index] | None = None
) -> Iterator[JudgedQueries]:
    """Index a collection, each document as one text, for as long as it is needed.

    opening : what opens the index that was made, if not ``Index.open``.
    """
    from classmark.index.index import Index

    if not dataset.queries or not dataset.qrels:
        raise Mistake(f"{dataset.name} has no judged queries: choose another data set")
    with TemporaryDirectory() as folder:
        documents = ((document.id, document.text) for document in dataset.documents)
        path = Path(folder) / "index"
        Index.build(path, documents).close()
        with (opening or Index.open)(path) as index:
            yield judged_queries(index, dataset.queries, dataset.qrels, dataset.name)


def run_queries(
    asked: JudgedQueries,
    choice: Choice,
    k: int = DEPTH,
    *,
    feedback: Feedback | None = None,
) -> Run:
    """Answer every query: query → document → score, best first."""
    searcher, (model, parameters) = asked.searcher, choice
    wanted: list[Sequence[str] | Mapping[str, float]] = list(asked.queries.values())
    if feedback is not None:
        hits = _answers(searcher, wanted, choice, feedback.documents)
        counts = [_counted(terms) for terms in asked.queries.values()]
        found = [_found(best, model) for best in hits]
        wanted = list(searcher.lengthen(counts, found, feedback))
    answers = _answers(searcher, wanted, (model, parameters), k)
    return {
        id_: {hit.id: hit.score for hit in best}
        for id_, best in zip(asked.queries, answers, strict=True)
    }


def measure(asked: JudgedQueries, run: Run, names: Sequence[str]) -> dict[str, Floats]:
    """Return each measure's value for each query, in the queries' order."""
    found = retrieval_per_query(run, asked.qrels, names)
    return {
        name: np.array([found[name][id_] for id_ in asked.queries]) for name in names
    }


def _answers(
    searcher: Searcher,
    queries: Sequence[Sequence[str] | Mapping[str, float]],
    choice: Choice,
    k: int,
) -> list[list[Hit]]:
    model, parameters = choice
    if len(searcher.fields) == 1:
        return searcher.search_many(queries, k, model, **parameters)
    return [
        searcher.search(terms, k, model, fields=None, prior=None, **parameters)
        for terms in queries
    ]


def _counted(terms: Sequence[str]) -> dict[str, float]:
    counts: dict[str, float] = {}
    for term in terms:
        counts[term] = counts.get(term, 0.0) + 1.0
    return counts


def _found(best: Sequence[Hit], model: str) -> Found:
    items = np.array([hit.number for hit in best], np.int64)
    return Found(items, np.array([hit.score for hit in best]), model)
