"""Vectors of meaning of a project: what makes them, where they lie, which are missing.

They are a cache: each text's vector is computed once and stored below ``meaning/``, in
a folder for each source, so that a model goes on with those it was trained with while
the settings name others already.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Sequence
from dataclasses import asdict
from functools import partial
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING

from classmark.problems import Mistake, worded
from classmark.workbench.learning.models import vectors_in_service
from classmark.workbench.results import FACTS, Cell, Table
from classmark.workbench.settings import MeaningSettings
from classmark.workbench.settings_form import as_text
from classmark.workbench.store.log import whoami

if TYPE_CHECKING:
    from classmark.meaning.sources import MeaningSource
    from classmark.meaning.vector_file import ComputedVectors, VectorFile
    from classmark.workbench.project import Project

FOLDER, KEY = "meaning", "CLASSMARK_VECTORS_KEY"


def vectors_folder(folder: Path, settings: MeaningSettings) -> Path:
    """Where the vectors of a source lie in a project's folder."""
    how = asdict(settings)
    for name in ("weight", "allow_remote"):  # which change no vector
        del how[name]
    digest = blake2b(repr(sorted(how.items())).encode(), digest_size=6)
    return folder / FOLDER / digest.hexdigest()


def source_from(settings: MeaningSettings) -> MeaningSource:
    """Open what makes the vectors, as the settings describe it."""
    from classmark.meaning.models import SentenceModel, StaticVectors
    from classmark.meaning.server import VectorServer

    if settings.source == "static":
        return (
            StaticVectors(settings.model)
            if settings.model
            else StaticVectors.packaged()
        )
    if settings.source == "sentences":
        return SentenceModel(
            settings.model,
            pooling=settings.pooling or None,
            prefix=settings.prefix or None,
        )
    if settings.source == "server":
        return VectorServer(
            settings.url,
            settings.model,
            allow_remote=settings.allow_remote,
            key=os.environ.get(KEY),
        )
    raise Mistake(
        "the settings name no source of vectors: choose one "
        f"{worded('(classmark meaning set SOURCE)')}"
    )


def open_vectors(folder: Path, settings: MeaningSettings) -> VectorFile | None:
    """The stored vectors, which ask their source for those that are missing.

    None where the settings name no source.
    """
    from classmark.meaning.vector_file import VectorFile

    if not settings.remembered:
        return None
    place = vectors_folder(folder, settings)
    if settings.source == "own":
        if not place.is_dir():
            raise Mistake(
                f"{folder} has no vectors of its own yet: import documents with them"
            )
        return VectorFile(place)
    return VectorFile(place, partial(source_from, settings))


def texts_of(project: Project) -> list[str]:
    """The texts of all documents, as they are learned from."""
    return [project.text_of(record) for record in project.store.records()]


def set_meaning(project: Project, settings: MeaningSettings, who: str = "") -> Table:
    """Use this source from the next training on; it is opened first, to be sure."""
    values = {f"meaning.{k}": as_text(v) for k, v in asdict(settings).items()}
    project.change_settings(values, who or whoami())
    return status(project)


def compute(project: Project, texts: Sequence[str] | None = None) -> ComputedVectors:
    """Compute what is missing of the project's documents, or of some texts."""
    vectors = project.meaning()
    if vectors is None:
        raise Mistake(
            f"{project.folder} has no source of vectors: choose one "
            f"{worded('(classmark meaning set SOURCE)')}"
        )
    return vectors.compute(texts_of(project) if texts is None else texts)


def compute_all(project: Project) -> Table:
    """Compute what is missing of the project's documents; say how it went."""
    done = compute(project)
    row: dict[str, Cell] = {
        "new": done.new,
        "known before": done.known,
        "seconds": done.seconds,
        "texts a second": done.rate,
    }
    return Table("Vectors", [row])


def drop(project: Project, who: str = "") -> Table:
    """Use words alone from the next training on, and remove all stored vectors."""
    if vectors_in_service(project) is not None:
        raise Mistake(
            "the model in service was trained with vectors of meaning: "
            f"{worded('set none (classmark meaning set none) and run classmark train')}"
            " first"
        )
    set_meaning(project, MeaningSettings(), who)
    shutil.rmtree(project.folder / FOLDER, ignore_errors=True)
    return status(project)


def status(project: Project) -> Table:
    """Say what makes the vectors, how many there are, and what uses them."""
    facts: dict[str, Cell] = {"source": project.settings.meaning.source}
    vectors = project.meaning()
    if vectors is not None:
        texts = texts_of(project)
        stored = sum(text in vectors for text in texts)
        facts |= {
            "name": vectors.name,
            "digest": vectors.digest[:12],
            "numbers": vectors.dimension,
            "weight": project.settings.meaning.weight or vectors.weight,
            "documents": len(texts),
            "with a vector": stored,
            "bytes": vectors.size,
        }
    in_use = vectors_in_service(project)
    facts["model in service"] = "words alone" if in_use is None else str(in_use.facts)
    rows: list[dict[str, Cell]] = [{"what": k, "value": v} for k, v in facts.items()]
    return Table("Meaning", rows, "", FACTS)
