"""What an address names, or 404."""

from __future__ import annotations

from typing import TYPE_CHECKING

from classmark.web.api.calls import Missing, or_missing

if TYPE_CHECKING:
    from classmark.taxonomy.category import Category
    from classmark.workbench.store.log import Judged
    from classmark.workbench.team.desk import Desk


def record_named(desk: Desk, id_: str) -> Judged:
    """A document with all that was said of it."""
    with or_missing(f"there is no document {id_!r}: correct its id"):
        return desk.project.store.record(id_)


def require_document(desk: Desk, id_: str) -> None:
    """Refuse an id that no document has."""
    if id_ in desk.state.ids:
        return
    with or_missing(f"there is no document {id_!r}: correct its id"):
        desk.project.store.document(id_)


def text_named(desk: Desk, id_: str) -> str:
    """The text of a document that is learned from."""
    return desk.project.text_of(record_named(desk, id_))


def category_named(desk: Desk, id_: str) -> Category:
    """A category that stands."""
    if id_ not in desk.categories:
        raise Missing(f"there is no category {id_!r}: correct its id, or add it")
    return desk.categories[id_]
