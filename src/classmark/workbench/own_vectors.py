"""Vectors of meaning that users bring, with their documents or in a file."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from classmark.language import _, whole
from classmark.problems import refusal, worded
from classmark.workbench.meaning import (
    OWN,
    document_texts,
    stored_vectors,
    vectors_folder,
)
from classmark.workbench.results import Cell, Table
from classmark.workbench.store.log import whoami

if TYPE_CHECKING:
    from classmark.formats.records import Record
    from classmark.meaning.vector_file import ComputedVectors
    from classmark.workbench.project import Project


class OwnVectorsImport:
    """Vectors that come with documents: stored, where the project's are users' own.

    source : the name of the file.
    """

    def __init__(self, project: Project, source: str) -> None:
        self.project, self.source = project, source
        self.settings = project.settings.meaning
        self.n_with = self.n_without = 0

    def require_length(self, records: Iterable[Record]) -> None:
        """Refuse vectors of another length than those here."""
        if self.settings.source == OWN:
            vectors = stored_vectors(self.project)
            for record in records:
                if record.vector and vectors is not None:
                    self.require(record.id, len(record.vector), vectors.dimension)

    def require(self, id_: str, length: int, dimension: int) -> None:
        """Refuse a vector of another length."""
        if length != dimension:
            raise refusal(
                "%(source)s, document %(id)r: a vector of %(length)s numbers, "
                "those here have %(dimension)s: give the same model's, or choose "
                "another name for these %(remedy)s",
                source=self.source,
                id=id_,
                length=length,
                dimension=dimension,
                remedy=worded("(classmark meaning set own NAME)"),
            )

    def add(self, records: Sequence[Record]) -> None:
        """Store the vectors of some documents."""
        self.require_length(records)
        bringing = [record for record in records if record.vector]
        self.n_with += len(bringing)
        self.n_without += len(records) - len(bringing)
        if bringing and self.settings.source == OWN:
            texts = [self.project.text_of(record) for record in bringing]
            ids = [record.id for record in bringing]
            _add(self.project, ids, texts, [record.vector for record in bringing])

    @property
    def notes(self) -> list[str]:
        """What is to be said of it."""
        if self.settings.source == OWN and self.n_without:
            remedy = worded("import some (classmark meaning import FILE)")
            return [
                _(
                    "documents that came without a vector: %(n)s; %(remedy)s",
                    n=whole(self.n_without),
                    remedy=remedy,
                )
            ]
        if self.settings.source != OWN and self.n_with:
            source = worded("(classmark meaning set own)")
            return [
                _(
                    "their vectors were left out: choose the source own %(how)s",
                    how=source,
                )
            ]
        return []


def _add(
    project: Project, ids: Sequence[str], texts: Sequence[str], vectors: object
) -> ComputedVectors:
    import numpy as np

    from classmark.meaning.sources import OWN as NAME
    from classmark.meaning.vector_file import OtherVector, VectorFile

    settings, table = project.settings.meaning, np.asarray(vectors, np.float32)
    place = vectors_folder(project.folder, settings)
    file = VectorFile.of_imported(place, table.shape[1], settings.model or NAME)
    try:
        return file.add(texts, table)
    except OtherVector as problem:
        raise refusal(
            "document %(ids)r: %(problem)s", ids=ids[problem.number], problem=problem
        ) from problem


def import_vectors(project: Project, path: Path, who: str = "") -> Table:
    """Take vectors of documents that are here: JSONL, Parquet, or .npy with .ids."""
    from classmark.formats.vectors import read_vectors

    settings = project.settings.meaning
    if settings.source != OWN:
        raise refusal(
            "the source of vectors is %(source)s: choose own %(remedy)s to bring "
            "your own",
            source=settings.source,
            remedy=worded("(classmark meaning set own)"),
        )
    ids, vectors = read_vectors(path)
    rows = {id_: row for row, id_ in enumerate(ids)}
    texts = {
        id_: text for block in document_texts(project) for id_, text in block
        if id_ in rows
    }  # fmt: skip
    if unknown := [id_ for id_ in ids if id_ not in texts]:
        raise refusal(
            "%(path)s: there is no document %(unknown)r in the project (%(n)s of "
            "%(n2)s): import it first",
            path=path,
            unknown=unknown[0],
            n=whole(len(unknown)),
            n2=whole(len(ids)),
        )
    if (stored := stored_vectors(project)) is not None:
        importing = OwnVectorsImport(project, str(path))
        importing.require(ids[0], vectors.shape[1], stored.dimension)
    done = _add(project, ids, [texts[id_] for id_ in ids], vectors)
    facts = {"count": len(ids), "new": done.new}
    project.store.note_event(
        "vectors imported", who or whoami(), source=str(path), **facts
    )
    row: dict[str, Cell] = {"vectors": len(ids), "new": done.new}
    return Table(f"Imported {path}", [row])
