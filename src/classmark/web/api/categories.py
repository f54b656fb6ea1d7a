"""Categories: find them, read them, and change them; every change is logged."""

from __future__ import annotations

from typing import Annotated

from fastapi import Query
from pydantic import Field

from classmark.web.api.calls import MISSING, calls
from classmark.web.api.naming import category_named
from classmark.web.api.shapes import (
    Answer,
    InPath,
    Titled,
    Top,
)
from classmark.web.people import OpenDesk, Reader
from classmark.workbench.categories.browse import node_of
from classmark.workbench.categories.find import find_categories
from classmark.workbench.team.desk import Desk

router = calls("categories")
Words = Annotated[
    str, Query(max_length=1000, description="words of its names or notes")
]
Below = Annotated[
    str | None, Query(max_length=1000, description="the category above; none: the top")
]


class Category(Answer):
    """A category: its names, what belongs there, where it stands."""

    id: str = Field(examples=["local.coast"])
    label: str = Field(examples=["Coast"])
    path: list[str] = Field(examples=[["Local history", "Coast"]])
    note: str = Field(description="what belongs there")
    guideline: str = Field(description="how experts decide")
    synonyms: list[str]
    notation: str = Field(description="its class mark")
    parents: list[str]
    children: int = Field(description="how many stand right below")
    retired: bool
    documents: int = Field(description="how many have it as a label")


class Ranked(Answer):
    """Where the ranker had put a category when experts judged it."""

    chosen: int
    first: int
    five: int
    refused: int
    precision: float | None = Field(description="taken, of those it was the first for")


class Detail(Category):
    """All about one category.

    below : documents it has with all below it;  examples : (id, title) of the documents
    decided last.
    """

    below: int
    ranked: Ranked
    examples: list[Titled]


class Categories(Answer):
    """Some categories, and how many there are in all."""

    categories: list[Category]
    total: int


@router.get("/categories", responses=MISSING)
def list_categories(
    desk: OpenDesk,
    _: Reader,
    below: Below = None,
    after: Annotated[int, Query(ge=0, le=10**9)] = 0,
    top: Top = 200,
) -> Categories:
    """The categories right below one, or at the top; ``after`` so many of them."""
    if below is not None:
        category_named(desk, below)
    found = desk.tree.roots if below is None else desk.tree.children(below)
    page = found[after : after + top]
    return Categories(categories=[shown(desk, id_) for id_ in page], total=len(found))


@router.get("/categories/find")
def find(desk: OpenDesk, _: Reader, words: Words, top: Top = 12) -> Categories:
    """Find categories by words: begun, inside of others, or with one letter wrong."""
    found = [shown(desk, each.category) for each in find_categories(desk, words, top)]
    return Categories(categories=found, total=len(found))


@router.get("/categories/one/{category:path}", responses=MISSING)
def read_category(desk: OpenDesk, _: Reader, category: InPath) -> Detail:
    """All about one category: what it holds, and how often it is suggested rightly."""
    category_named(desk, category)
    node = node_of(desk, category)
    told = shown(desk, category).model_dump() | {
        "below": node.twig.below,
        "ranked": node.twig.ranked,
        "examples": node.examples,
    }
    return Detail.model_validate(told)


def shown(desk: Desk, id_: str) -> Category:
    """A category as it is answered."""
    one, tree = desk.categories[id_], desk.tree
    path = [desk.categories[node].name for node in tree.path(id_)]
    return Category(
        id=one.id,
        label=one.name,
        path=path,
        note=one.note,
        guideline=one.guideline,
        synonyms=list(one.synonyms),
        notation=one.notation,
        parents=list(one.parents),
        children=len(tree.children(id_)),
        retired=one.status != "active",
        documents=desk.state.counts[id_],
    )
