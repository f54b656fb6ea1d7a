"""Results of searches by example and screenings as files: records, runs, weights."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from classmark.formats.citations import reference_of, write_bibtex, write_ris
from classmark.formats.records import Reference
from classmark.formats.tables import FORMULAS
from classmark.formats.text_files import writing
from classmark.formats.weights import QueryWeights, write_weights
from classmark.problems import refusal
from classmark.workbench.examples.example_search import hit_as_json
from classmark.workbench.examples.searches import AGAINST, FOR
from classmark.workbench.search.hits import DocumentHit
from classmark.workbench.store.store import title_of

if TYPE_CHECKING:
    from classmark.workbench.examples.example_search import (
        ExampleRanking,
        ExampleSearch,
    )
    from classmark.workbench.store.store import Store

ENDINGS = (".csv", ".jsonl", ".run", ".ris", ".bib")
OF_WEIGHTS = (".tsv", ".json")
RANKED = ("rank", "id", "title", "score", "why", "mark")  # the first columns


def export_ranking(
    ranking: ExampleRanking, path: Path, store: Store | None = None
) -> int:
    """Write the ranked documents, by the name's ending; return how many.

    ``.csv`` and ``.jsonl`` have all that is shown, ``.ris`` and ``.bib`` references
    with the rank and score as a note; with a store, each with the whole record: its
    text, its facts, its labels, and whether it was included.  ``.run`` is TREC's, the
    search its query.
    """
    require_target(path)
    match path.suffix:
        case ".csv":
            _write_table(ranking, path, store)
        case ".jsonl":
            with writing(path) as file:
                for hit, facts in zip(
                    ranking.hits, _records(ranking, store), strict=True
                ):
                    row = {**hit_as_json(hit), **({"record": facts} if facts else {})}
                    file.write(json.dumps(row, ensure_ascii=False) + "\n")
        case ".run":
            from classmark.formats.test_collections import write_run

            scores = {hit.id: float(hit.score or 0.0) for hit in ranking.hits}
            write_run({"-".join(ranking.search.split()): scores}, path)
        case ".ris":
            write_ris(_references(ranking, store), path)
        case _:
            write_bibtex(_references(ranking, store), path)
    return len(ranking.hits)


def with_the_rest(ranking: ExampleRanking, store: Store) -> ExampleRanking:
    """The ranking, and behind it all documents that are not in it, without a mark."""
    first = len(ranking.hits) + 1
    rest = sorted(store.ids() - {hit.id for hit in ranking.hits})
    hits = [
        DocumentHit(rank, id_, title_of(store.document(id_)), 1 / rank)
        for rank, id_ in enumerate(rest, start=first)
    ]
    return replace(ranking, hits=[*ranking.hits, *hits])


def _records(
    ranking: ExampleRanking, store: Store | None
) -> Iterator[Mapping[str, str]]:
    """What is known of each document by column: text, facts, labels, decision."""
    for hit in ranking.hits:
        if store is None:
            yield {}
            continue
        facts = dict(reference_of(store.record(hit.id), hit.title).facts)
        facts.pop("included", None)  # the screening says it anew
        if hit.mark in FOR + AGAINST:
            facts["included"] = str(int(hit.mark in FOR))
        yield facts


def _write_table(ranking: ExampleRanking, path: Path, store: Store | None) -> None:
    """Write a CSV; cells that a spreadsheet would run begin with an apostrophe."""
    columns = dict.fromkeys(RANKED)
    for facts in _records(ranking, store):
        columns |= dict.fromkeys(facts)
    with writing(path) as file:
        table = csv.writer(file)
        table.writerow(columns)
        for hit, facts in zip(ranking.hits, _records(ranking, store), strict=True):
            row: dict[str, Any] = {
                **facts,
                "rank": hit.rank,
                "id": hit.id,
                "title": hit.title,
                "score": repr(hit.score),
                "why": " ".join(hit.parts),
                "mark": hit.mark,
            }
            table.writerow([
                f"'{cell}" if name not in _NUMBERS and cell.startswith(FORMULAS)
                else cell
                for name, cell in ((name, row.get(name, "")) for name in columns)
            ])  # fmt: skip


_NUMBERS = ("rank", "score")


def require_target(path: Path, endings: tuple[str, ...] = ENDINGS) -> None:
    """Refuse a file that is there already, or whose ending names no format."""
    if path.exists():
        raise refusal(
            "%(path)s is already there: choose another name or remove it", path=path
        )
    if path.suffix not in endings:
        names = ", ".join(endings)
        raise refusal(
            "%(path)s: its ending names no format: use one of %(names)s",
            path=path,
            names=names,
        )


def export_weights(search: ExampleSearch, path: Path) -> int:
    """Write the learned query as readable weights of words; return how many.

    Of its meaning only the share is written.
    """
    require_target(path, OF_WEIGHTS)
    search.require_weights()
    vectorizer, weights = search.vectors.vectorizer, search.weights
    words = weights[: len(search.terms)]
    query = QueryWeights(
        str(vectorizer.analyzer_), vectorizer.weighting, str(vectorizer.norm),
        search.query.method_, search.query.C_,
        {search.terms[at]: float(words[at]) for at in np.flatnonzero(words)},
        search.meaning_share(weights) or None,
    )  # fmt: skip
    return write_weights(query, path)


def _references(ranking: ExampleRanking, store: Store | None) -> Iterator[Reference]:
    for hit, facts in zip(ranking.hits, _records(ranking, store), strict=True):
        note = f"{ranking.search}: rank {hit.rank}, score {hit.score:.4g}"
        if hit.mark:
            note += f", {hit.mark}"
        yield Reference(hit.id, hit.title, note, facts)
