"""What stands for what is looked for: ids, files of one's own, or a category."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from classmark.formats import guess_format, read_records
from classmark.formats.text_files import open_bytes, whole_text
from classmark.problems import Mistake
from classmark.workbench.collecting import text_of
from classmark.workbench.searches import Mark

if TYPE_CHECKING:
    from classmark.workbench.project import Project
    from classmark.workbench.store import Store


def ids_of(texts: Iterable[str], store: Store, option: str) -> tuple[str, ...]:
    """Read ids with commas between them; an id may hold commas itself.

    option : where they were given, for what is told of an empty list.
    """
    found: dict[str, None] = {}
    for text in texts:
        whole = store.run("SELECT 1 FROM documents WHERE id = ?", (text,)).fetchone()
        ids = [text] if whole else [part.strip() for part in text.split(",")]
        found |= dict.fromkeys(id_ for id_ in ids if id_)
        if not any(ids):
            raise Mistake(f"{option} is empty: give ids, as in {option} a1,a7,b3")
    return tuple(found)


def marks_of_category(store: Store, category: str) -> list[Mark]:
    """Documents assigned to a category as examples, those rejected from it as no."""
    store.number_of(category)
    acts = {"assign": "example", "primary": "example", "reject": "no"}
    marks = [
        Mark(document, "no" if acts[said[category][0]] == "no" else "example")
        for document, said in store.standing().items()
        if category in said and said[category][0] in acts
    ]
    if all(mark.act == "no" for mark in marks):
        raise Mistake(
            f"no document is assigned to category {category!r}: assign some, or give "
            "--examples"
        )
    return marks


def texts_of(project: Project, files: Sequence[Path]) -> dict[str, str]:
    """Name → text of each example in files: records where the format is known.

    A file whose name tells no format is one example, its text as it is.
    """
    found: dict[str, str] = {}
    for path in files:
        if not path.exists():
            raise Mistake(f"--file {path}: no such file")
        if path.suffix == ".pdf":
            raise Mistake(f"--file {path}: take its text out first, and give that")
        if _is_plain(path):
            with open_bytes(path) as stream:
                texts = {str(path): whole_text(stream, str(path))}
        else:
            texts = {
                f"{path}:{record.id}": text_of(project, record)
                for record in read_records(path)
            }
        if not any(text.strip() for text in texts.values()):
            raise Mistake(f"--file {path}: there is no text in it")
        found |= texts
    return found


def _is_plain(path: Path) -> bool:
    if path.is_dir():
        return False
    try:
        guess_format(path)
    except Mistake:
        return True
    return False
