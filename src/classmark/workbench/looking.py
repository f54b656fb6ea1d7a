"""What is in the project, and what does its taxonomy look like?"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from classmark.problems import Mistake
from classmark.taxonomy.category import taxonomy_of
from classmark.workbench.views import FACTS, Cell, Column, Table

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


def info(project: Project, *, check: bool = False) -> Table:
    """Counts, settings and the model in service; ``check`` reads every byte first."""
    rows: list[dict[str, Cell]] = [
        {"what": "name", "value": project.settings.name},
        {"what": "directory", "value": str(project.folder)},
    ]
    if project.settings.store.url:
        rows.append({"what": "store", "value": project.store.engine.place})
    rows += [{"what": k, "value": v} for k, v in project.store.counts().items()]
    rows += [
        {"what": "analyzer", "value": project.settings.text.analyzer},
        {"what": "weighting", "value": project.settings.learning.weighting},
        {"what": "learner", "value": project.settings.learning.learner},
        {"what": "strategy", "value": project.settings.learning.strategy},
    ]
    rows += _in_service(project)
    note = ""
    if check:
        note = _checked(project)
    return Table("Project", rows, note, FACTS)


def _in_service(project: Project) -> list[dict[str, Cell]]:
    """The model in service, and how it was trained."""
    from classmark.workbench.live import by_nodes, how_trained

    current = project.models.current()
    if current is None:
        return [{"what": "model in service", "value": None}]
    rows: list[dict[str, Cell]] = [{"what": "model in service", "value": current.name}]
    if how := how_trained(project, current.name):
        rows += [
            {"what": "its learner", "value": how.learner},
            {"what": "its strategy", "value": how.strategy},
        ]
        if by_nodes(how):
            rows.append({"what": "its base", "value": how.base})
    return rows


def _checked(project: Project) -> str:
    from classmark.index.index import Index
    from classmark.rankers.live import LiveTextRanker
    from classmark.workbench.models import check_model
    from classmark.workbench.replay import require_replayed

    project.store.check()
    require_replayed(project.store)
    for number in project.models.numbers():
        check_model(project.models.folder / f"{number:06d}")
    if (live := project.lives.current()) is not None:
        LiveTextRanker.open(live)
    if project.index.current() is not None:
        Index.open(project.index.folder).check()
    return (
        "checked: the store, every model and the index are whole, and the log says "
        "what holds"
    )


def show_taxonomy(project: Project, below: str | None = None) -> Table:
    """Each category with its level, scope note and number of documents."""
    categories = {category.id: category for category in project.store.categories()}
    tree = taxonomy_of(categories.values())
    count: dict[str, int] = {}
    for labels in project.store.labels().values():
        for name in labels:
            count[name] = count.get(name, 0) + 1
    top: list[Any] = tree.roots if below is None else [tree.nodes[tree.number(below)]]
    rows: list[dict[str, Cell]] = []
    for root in top:
        for node in _depth_first(tree, root):
            category = categories[node]
            level = tree.depth_of(node)
            rows.append(
                {
                    "category": "  " * level + category.name,
                    "id": category.id,
                    "documents": count.get(node, 0),
                    "scope note": category.note,
                }
            )
    return Table(f"Taxonomy of {project.settings.name}", rows)


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


def _depth_first(tree: Any, root: Any) -> list[Any]:
    found, waiting = [], [root]
    seen = set()
    while waiting:
        node = waiting.pop()
        if node not in seen:
            seen.add(node)
            found.append(node)
            waiting.extend(reversed(tree.children(node)))
    return found
