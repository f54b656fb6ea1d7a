"""What is in the project, and what does its taxonomy look like?"""

from __future__ import annotations

from typing import TYPE_CHECKING

from classmark.problems import Mistake
from classmark.workbench.views import Cell, Column, Table

if TYPE_CHECKING:
    from classmark.workbench.project import Project

HISTORY = """
SELECT j.seq AS number, at, who, document, act, c.id AS category, o.id AS other,
  CASE WHEN u.seq IS NOT NULL THEN 'undone'
    WHEN undoes IS NOT NULL THEN 'undoes ' || undoes
    WHEN within IS NOT NULL THEN 'within ' || within ELSE '' END AS state,
  undoes, within, grade, model, rank, score, j.note AS note
FROM judgments AS j LEFT JOIN undone AS u USING (seq)
LEFT JOIN categories AS c ON c.number = j.category
LEFT JOIN categories AS o ON o.number = j.other
WHERE document = ?1 OR ?1 IS NULL
ORDER BY j.seq DESC LIMIT ?2
"""
ACTS = ("who", "document", "act", "category", "other", "state", "note")
DETAILS = ("at", "undoes", "within", "grade", "model", "rank", "score")


def history(project: Project, document: str | None = None, top: int = 20) -> Table:
    """The newest lines of the judgment log, newest first; of one document or all."""
    if top < 1:
        raise Mistake(f"n is {top}: ask for at least one line")
    if document is not None:
        project.store.document(document)
    found = project.store.run(HISTORY, (document, top))
    columns = [name for name, *_ in found.description]
    rows: list[dict[str, Cell]] = [
        dict(zip(columns, row, strict=True)) for row in found
    ]
    shown = [Column("number", format="d"), *map(Column, ACTS)]
    shown += [Column(name, brief=False) for name in DETAILS]
    note = "newest first; undo any with classmark undo NUMBER"
    return Table("History", rows, note, shown)
