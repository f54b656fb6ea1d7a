"""Vectors that users have made, one for each document: .npy, JSONL, Parquet."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from classmark.formats.jsonl import json_lines
from classmark.formats.tables import parquet_file
from classmark.formats.text_files import LARGEST, FilePlace, Numbered, existing, lines

Place = Numbered[Any]


def read_vectors(
    path: Path | str,
    *,
    id_column: str = "id",
    vector_column: str = "vector",
    ids: Path | str | None = None,
) -> tuple[list[str], NDArray[np.float32]]:
    """Return ids and their vectors, shape (documents, numbers).

    path : JSONL or Parquet with two columns, an id and a list of numbers; or .npy, a
    matrix whose rows have the ids of a second file, one on each line;  ids : that
    file; None: beside it, named .ids instead of .npy.
    """
    place = existing(path)
    if place.suffix == ".npy":
        return _matrix(place, place.with_suffix(".ids") if ids is None else Path(ids))
    if place.suffix in {".parquet", ".pq"}:
        with parquet_file(place, str(path)) as file:
            names = file.schema_arrow.names
            for column in (id_column, vector_column):
                if column not in names:
                    FilePlace(path).refuse(
                        f"no column {column!r}: it has {', '.join(names)}"
                    )
            rows = _parquet_rows(file, str(path), [id_column, vector_column])
            return _collected(rows, id_column, vector_column)
    return _collected(json_lines(path), id_column, vector_column)


def _parquet_rows(file: Any, name: str, columns: list[str]) -> Place:
    batches = file.iter_batches(batch_size=1024, columns=columns)
    rows = chain.from_iterable(batch.to_pylist() for batch in batches)
    return Numbered(name, enumerate(rows, 1))


def _collected(
    rows: Place, id_column: str, vector_column: str
) -> tuple[list[str], NDArray[np.float32]]:
    """Ids and vectors of rows, all of one length."""
    names: list[str] = []
    vectors: list[NDArray[np.float32]] = []
    for _, row in rows:
        if row.get(id_column) is None:
            rows.refuse(f"no {id_column!r}: give every document an id")
        names.append(rows.new_id(str(row[id_column])))
        vector = rows.vector(row.get(vector_column), vector_column)
        vectors.append(np.array(vector, np.float32))
    if not names:
        rows.refuse("there is no vector in it")
    return names, np.stack(vectors)


def _matrix(path: Path, ids: Path) -> tuple[list[str], NDArray[np.float32]]:
    place = FilePlace(path)
    try:
        table = np.load(path, allow_pickle=False)
    except (ValueError, EOFError) as error:
        place.refuse(f"no array of numbers ({error}): write it with numpy.save")
    if table.ndim != 2 or table.dtype.kind not in "iuf" or not table.size:
        place.refuse(f"shape {table.shape}, type {table.dtype}: give a matrix")
    if not (np.abs(table) <= LARGEST).all():
        place.refuse("has a number that is not finite in single precision")
    names = list(_ids(ids))
    if len(names) != len(table):
        place.refuse(f"{len(table)} rows and {len(names)} ids in {ids}: give as many")
    return names, table.astype(np.float32)


def _ids(path: Path) -> Iterator[str]:
    numbered = lines(path, blank=False)
    yield from (numbered.new_id(line) for _, line in numbered)
