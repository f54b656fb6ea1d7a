"""Which category a label means that is a name: its id, by label, then by synonym."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from classmark.formats.records import Record
from classmark.problems import Mistake, refusal
from classmark.taxonomy.category import Category

if TYPE_CHECKING:
    from classmark.workbench.store.store import Store


class LabelLookup:
    """Categories by what they are called: by label before synonym, case before none.

    >>> bees = Category("u:1", "Bees", synonyms=("Apis",))
    >>> LabelLookup([bees]).id_of("apis")
    'u:1'
    """

    def __init__(self, categories: Iterable[Category]) -> None:
        self.ids: tuple[dict[str, list[str]], ...] = ({}, {}, {}, {})
        for category in categories:
            for at, names in enumerate(([category.label], category.synonyms)):
                for name in filter(None, dict.fromkeys(names)):
                    for by, key in ((0, name), (1, name.casefold())):
                        ids = self.ids[2 * at + by].setdefault(key, [])
                        ids += [category.id] * (category.id not in ids)

    def id_of(self, name: str) -> str | None:
        """The category of this name; None where there is none."""
        for by, ids in enumerate(self.ids):
            several = ids.get(name.casefold() if by % 2 else name, [])
            if len(several) > 1:
                raise refusal(
                    "label %(name)r is the name of several categories (%(ids)s): give "
                    "its URI, in a .tsv file",
                    name=name,
                    ids=", ".join(several[:5]),
                )
            if several:
                return several[0]
        return None


def with_ids(records: Iterable[Record], store: Store) -> Iterator[Record]:
    """Records whose labels are ids; names that no category has stay as they are."""
    names, known = LabelLookup(()), set[str]()
    for record in records:
        if not record.by_name:
            yield record
            continue
        if not known:
            categories = list(store.categories())
            names, known = LabelLookup(categories), {c.id for c in categories}
        try:
            labels = {
                label if label in known else names.id_of(label) or label: grade
                for label, grade in record.labels.items()
            }
        except Mistake as problem:
            raise refusal(
                "document %(id)r: %(problem)s", id=record.id, problem=problem
            ) from problem
        yield replace(record, labels=labels)
