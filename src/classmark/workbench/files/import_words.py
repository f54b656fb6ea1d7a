"""What came of an import, in words."""

from __future__ import annotations

from classmark.language import N_, _, joined, remade, whole
from classmark.workbench.results import Table

COUNTS = {
    "documents": N_("documents"), "new": N_("new"), "replaced": N_("replaced"),
    "unchanged": N_("unchanged"), "changed": N_("changed"), "judgments": N_("labels"),
    "new categories": N_("new categories"), "categories": N_("categories"),
    "leaves": N_("without subcategories"), "levels": N_("levels"),
    "preferences": N_("preferences"),
}  # fmt: skip


@remade
def import_words(name: str, table: Table) -> str:
    """What came of importing a file; counts of 0 are left out.

    >>> import_words("a.csv", Table("", [{"documents": 2, "new": 0, "judgments": 3}]))
    'a.csv: 2 documents, 3 labels'
    """
    counts = {what: int(n) for what, n in table.rows[0].items() if n}
    shown = [f"{whole(n)} {_(COUNTS.get(what, what))}" for what, n in counts.items()]
    first = f"{name}: {', '.join(shown) or _('nothing')}"
    return joined(first, *str(table.note).split("\n"))
