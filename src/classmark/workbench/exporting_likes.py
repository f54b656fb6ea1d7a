"""Write what was found for other programs: tables, runs, lists of references."""

from __future__ import annotations

import csv
import json
from dataclasses import asdict
from typing import TYPE_CHECKING

from classmark.formats.citations import write_bibtex, write_ris
from classmark.formats.records import Reference
from classmark.formats.text_files import writing
from classmark.formats.trec import write_run
from classmark.formats.weights import write_weights
from classmark.problems import Mistake
from classmark.workbench.liking import weights_of

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from classmark.workbench.likes import Liked, Likes
    from classmark.workbench.liking import Liking

ENDINGS = (".csv", ".jsonl", ".run", ".ris", ".bib")
OF_WEIGHTS = (".tsv", ".json")
FORMULAS = ("=", "+", "-", "@", "\t", "\r")  # a spreadsheet would run such cells


def export_likes(likes: Likes, path: Path) -> int:
    """Write the documents found, by the name's ending; return how many.

    ``.csv`` and ``.jsonl`` have all that is shown; ``.run`` is TREC's, the search its
    query; ``.ris`` and ``.bib`` have ids and titles, the rank and score as a note.
    """
    require_target(path)
    match path.suffix:
        case ".csv":
            return _write_csv(likes.found, path)
        case ".jsonl":
            return _write_jsonl(likes.found, path)
        case ".run":
            query = "-".join(likes.search.split())
            scores = {found.id: found.score for found in likes.found}
            return write_run({query: scores}, path)
        case ".ris":
            return write_ris(_references(likes), path)
        case _:
            return write_bibtex(_references(likes), path)


def require_target(path: Path, endings: tuple[str, ...] = ENDINGS) -> None:
    """Refuse a file that is there already, or whose ending names no format."""
    if path.exists():
        raise Mistake(f"{path} is already there: choose another name or remove it")
    if path.suffix not in endings:
        known = ", ".join(endings)
        raise Mistake(f"{path}: its ending names no format: use one of {known}")


def export_weights(liking: Liking, path: Path) -> int:
    """Write the learned query as readable weights; return how many."""
    require_target(path, OF_WEIGHTS)
    return write_weights(weights_of(liking), path)


def _write_csv(found: Sequence[Liked], path: Path) -> int:
    with writing(path) as file:
        writer = csv.writer(file)
        writer.writerow(["rank", "id", "title", "score", "why", "mark"])
        for each in found:
            cells = [each.id, each.title, " ".join(each.why)]
            id_, title, why = (
                f"'{cell}" if cell.startswith(FORMULAS) else cell for cell in cells
            )
            writer.writerow([each.rank, id_, title, repr(each.score), why, each.mark])
    return len(found)


def _write_jsonl(found: Sequence[Liked], path: Path) -> int:
    with writing(path) as file:
        for each in found:
            file.write(json.dumps(asdict(each), ensure_ascii=False) + "\n")
    return len(found)


def _references(likes: Likes) -> list[Reference]:
    return [
        Reference(
            each.id,
            each.title,
            f"{likes.search}: rank {each.rank}, score {each.score:.4g}",
        )
        for each in likes.found
    ]
