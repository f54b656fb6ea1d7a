"""Commands for vectors of meaning: choose their source, compute, count, drop."""

from __future__ import annotations

from pathlib import Path

from classmark.cli.options import (
    FOLDER,
    JSON,
    argument,
    command,
    deferred,
    flag,
    option,
)
from classmark.workbench.results import Table

with deferred():
    from classmark.workbench import meaning as vectors
    from classmark.workbench import own_vectors, settings
    from classmark.workbench.project import Project


@command(JSON)
def set_(
    project: Project = FOLDER,
    source: str = argument("none, static, sentences, server or own.", "SOURCE"),
    model: str = argument(
        "Its folder, the server's model, or a name; none: the packaged table.",
        "MODEL",
        "",
    ),
    url: str = option("Of a server: http://127.0.0.1:8080/v1/embeddings.", ""),
    allow_remote: bool = flag("Send texts to another machine.", "--allow-remote"),
    weight: float = option("The part of meaning beside words of length 1.", 0.0),
    pooling: str = option("mean, cls, max or lasttoken, if the folder is silent.", ""),
    prefix: str = option("What a sentence model is to read before each text.", ""),
) -> Table:
    """Choose where vectors come from; they count from the next training on."""
    chosen = settings.MeaningSettings(
        source, model, url, allow_remote, weight, pooling, prefix
    )
    return vectors.set_meaning(project, chosen)


@command(JSON)
def status(project: Project = FOLDER) -> Table:
    """Say what makes the vectors, how many there are, and what uses them."""
    return vectors.status(project)


@command(JSON)
def compute(project: Project = FOLDER) -> Table:
    """Compute the vectors that are missing; stopped, it goes on where it was."""
    return vectors.compute_all(project)


@command(JSON)
def import_(
    project: Project = FOLDER,
    path: Path = argument("JSONL or Parquet with id and vector, or .npy.", "FILE"),
) -> Table:
    """Bring vectors of your own for documents that are here (source own)."""
    return own_vectors.import_vectors(project, path)


@command(JSON)
def drop(project: Project = FOLDER) -> Table:
    """Remove all vectors; words alone count from the next training on."""
    return vectors.drop(project)
