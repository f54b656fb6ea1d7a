"""What is in a project, and is it whole?"""

from __future__ import annotations

from typing import TYPE_CHECKING

from classmark.workbench.results import FACTS, Cell, Table

if TYPE_CHECKING:
    from classmark.workbench.project import Project


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
    from classmark.workbench.learning.live import by_nodes, how_trained

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
    from classmark.workbench.learning.models import check_model
    from classmark.workbench.store.replay import require_replayed

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
