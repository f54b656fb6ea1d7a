"""The taxonomy: find, read and change categories."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import asdict
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Form, Query
from fastapi.responses import HTMLResponse, JSONResponse, RedirectResponse, Response
from pydantic import BaseModel, Field

from classmark.language import N_, _
from classmark.problems import DamagedFolder, Mistake, refusal
from classmark.taxonomy.category import Category
from classmark.web import fields
from classmark.web.decide import words_of
from classmark.web.guard.auth import Admin, Caller, Reader
from classmark.web.render import fragment, page, redirect, with_cookie
from classmark.web.reports import PRUNE, REPORT, proposed_below, work_of
from classmark.workbench.categories import edit, propose
from classmark.workbench.categories.browse import (
    ORDERS,
    TreeOrder,
    level_of,
    node_of,
    overview,
    tree_to,
)
from classmark.workbench.categories.edit import TaxonomyChange, carry_out, foresee
from classmark.workbench.categories.find import find_categories, path_of
from classmark.workbench.categories.outline import (
    add_named,
    add_outline,
    id_of_name,
    parents_of_new,
    read_outline,
)
from classmark.workbench.deciding.decide import undo_for
from classmark.workbench.deciding.history import named
from classmark.workbench.deciding.opinions import disagreements
from classmark.workbench.project import Project
from classmark.workbench.results import Logged
from classmark.workbench.team.desk import Desk

ACTS = {
    "add": N_("Add"),
    "rename": N_("Rename"),
    "move": N_("Move"),
    "merge": N_("Merge"),
    "split": N_("Split"),
    "retire": N_("Retire"),
}
DONE = {
    "add": N_("added: %(name)s"),
    "rename": N_("renamed: %(name)s"),
    "move": N_("moved: %(name)s"),
    "merge": N_("merged into: %(name)s"),
    "split": N_("split off: %(name)s"),
    "retire": N_("retired: %(name)s"),
    "describe": N_("saved: %(name)s"),
}
pages = APIRouter()
api = fields.calls("categories")

InAddress = Annotated[str, Query(max_length=1000)]
FormText = Annotated[str, Form(max_length=1000)]
LongText = Annotated[str | None, Field(max_length=20_000)]
SORT = "taxonomy-sort"  # the cookie
DESCRIPTION = {*edit.DESCRIBED, "synonyms"}
Short = Annotated[str, Field(max_length=1000)]
At = Annotated[int, Query(ge=0, le=10**9)]


class ChangeFields(BaseModel):
    """A change, as an address or a form has it."""

    act: Short = "describe"
    category: Short = ""
    to: Short = ""
    to_name: Short = ""
    new: Short = ""
    label: Short = ""
    document: Annotated[tuple[str, ...], Field(max_length=5000)] = ()
    note: LongText = None
    guideline: LongText = None
    notation: LongText = None
    synonyms: LongText = None

    @property
    def change(self) -> TaxonomyChange:
        """The same, as the workbench takes it."""
        described = self.model_dump(include=DESCRIPTION, exclude_none=True)
        return TaxonomyChange(
            self.act, self.category, self.to, self.new.strip(), self.label.strip(),
            self.document, {name: text.strip() for name, text in described.items()},
        )  # fmt: skip


@pages.get("/taxonomy/find")
def find_part(
    me: Reader,
    q: Annotated[str, Query(max_length=200)] = "",
    top: Annotated[int, Query(ge=1, le=100)] = 12,
    retired: bool = False,
) -> Response:
    """The categories that some words mean: as list items, or as JSON where asked."""
    matches = find_categories(me.desk, q, top, retired=retired)
    if "json" in me.request.headers.get("accept", ""):
        return JSONResponse([asdict(match) for match in matches])
    return fragment("taxonomy_found.html", matches=matches, words=q.strip())


@pages.get("/taxonomy/branch")
def branch_part(
    me: Reader, of: InAddress = "", after: At = 0, back: bool = False
) -> HTMLResponse:
    """The next daughters of a category; ``back`` : those before are shown then."""
    level = level_of(me.desk, of or None, after, _order(me))
    return fragment("taxonomy_level.html", level=level, back=back)


@pages.get("/taxonomy/parents")
def parents_part(me: Reader) -> HTMLResponse:
    """The categories that a new one may be put below, as options."""
    return fragment("taxonomy_parents.html", parents=parents_of_new(me.desk))


@pages.get("/taxonomy")
def taxonomy_page(
    me: Reader,
    at: InAddress = "",
    undo: InAddress = "",
    sort: Literal["", "name", "documents", "disputes"] = "",
) -> Response:
    """The tree, and one category or the overview; sort : from now on in this order."""
    if sort:
        where = redirect("/taxonomy", at=at)
        return with_cookie(where, me.request, SORT, sort, days=365)
    return _shown(me, at, undo=undo if undo.isdecimal() else "")


def _order(me: Caller) -> TreeOrder:
    """The order that somebody has chosen last."""
    by = me.request.cookies.get(SORT, "name")
    if by != "disputes":
        return TreeOrder(by if by in ORDERS else "name")
    open_ones = me.desk.once(disagreements)
    return TreeOrder(by, Counter(id_ for each in open_ones for id_ in each.over))


@pages.get("/taxonomy/preview")
def preview_page(me: Admin, query: Annotated[ChangeFields, Query()]) -> HTMLResponse:
    """What a change would do, and the button that does it."""
    try:
        query = _completed(me.desk, query)
        change = query.change
        sentences = foresee(me.desk, change)
    except Mistake as mistake:
        return _refused(me, query, mistake)
    return page(
        me, "Taxonomy", "taxonomy_preview.html", title=f"{_(ACTS[change.act])}?",
        change=change, sentences=sentences,
    )  # fmt: skip


def _completed(desk: Desk, tried: ChangeFields) -> ChangeFields:
    """With the category that a typed name or path means, and an id for a new one."""
    update = {}
    if not tried.to and (typed := tried.to_name.strip()):
        update["to"] = named(desk, typed)
    label = tried.label.strip()
    if tried.act in ("add", "split") and label and not tried.new.strip():
        parents = desk.tree.parents(tried.category) if tried.act == "split" else ()
        above = tried.category if tried.act == "add" else "".join(parents[:1])
        update["new"] = id_of_name(label, above or None, desk.categories)
    return tried.model_copy(update=update)


@pages.post("/taxonomy/change")
@pages.post("/taxonomy/describe")
def change_form(me: Admin, form: Annotated[ChangeFields, Form()]) -> Response:
    """Change the taxonomy, or say anew what belongs to a category."""
    try:
        form = _completed(me.desk, form)
        change = form.change
        logged = me.desk.write(lambda project: carry_out(project, change, me.name))
    except DamagedFolder:
        raise
    except Mistake as mistake:
        return _refused(me, form, mistake)
    new = change.id if change.act in ("add", "split", "rename") else ""
    at = change.to if change.act == "merge" else new
    at = at or change.category
    return _onward(at, _(DONE[change.act], name=at), logged.numbers[0])


@pages.post("/taxonomy/new")
def new_part(me: Admin, label: FormText, parent: FormText = "") -> HTMLResponse:
    """Make a category by its name; the answer is its line, as a search has it."""
    id_ = add_named(me.desk, label, parent, me.name)
    matches = find_categories(me.desk, label, 100)
    made = [match for match in matches if match.category == id_]
    return fragment("taxonomy_found.html", matches=made, words="")


@pages.post("/taxonomy/undo")
def undo_form(
    me: Admin, number: Annotated[int, Form(ge=0, le=fields.LARGEST)], at: FormText = ""
) -> Response:
    """Take a change back."""
    try:
        saved = undo_for(me.desk, me.name, number)
    except DamagedFolder:
        raise
    except Mistake as mistake:
        return _refused(me, ChangeFields(act="undo", category=at), mistake)
    at = at if at in me.desk.categories else ""
    return _onward(at, words_of("undo", saved))


@pages.post("/taxonomy/accept")
def accept_form(
    me: Admin,
    category: FormText,
    number: Annotated[int, Form(ge=1, le=1000)],
    new: FormText = "",
    label: FormText = "",
) -> Response:
    """Make a proposal a category."""
    names = {"id_": new.strip() or None, "label": label.strip() or None}
    try:
        logged = _accepted(me, category, number, names)
    except DamagedFolder:
        raise
    except Mistake as mistake:
        return _refused(me, ChangeFields(act="accept", category=category), mistake)
    return _onward(category, _("saved"), logged.numbers[0])


@pages.get("/taxonomy/{category:path}")
def category_page(_: Reader, category: str) -> RedirectResponse:
    """A category by its id in the path."""
    return redirect("/taxonomy", at=category)


def _shown(me: Caller, at: str, **values: Any) -> HTMLResponse:
    """The page; tried, wrong : a change that was refused, and the reason."""
    node, order = node_of(me.desk, at) if at else None, _order(me)
    values = {"undo": "", "tried": ChangeFields(act=""), "wrong": "", **values}
    return page(
        me, "Taxonomy", "taxonomy.html",
        title=_("Taxonomy") if node is None else node.twig.category.name,
        level=tree_to(me.desk, at or None, order), node=node, at=at, order=order.by,
        orders=ORDERS, target_path=path_of(me.desk, values["tried"].to),
        whole=None if at else overview(me.desk), **proposed_below(me.desk, at),
        works=[] if at else [work_of(me.desk, name) for name in (REPORT, PRUNE)],
        **values,
    )  # fmt: skip


def _refused(me: Caller, tried: ChangeFields, mistake: Mistake) -> HTMLResponse:
    """The page that a change was asked on, its form filled in, with the reason."""
    at = tried.category if tried.category in me.desk.categories else ""
    return _shown(me, at, tried=tried, wrong=str(mistake), status_code=400)


def _onward(at: str, message: str, number: int = 0) -> RedirectResponse:
    return redirect("/taxonomy", at=at, saved=message, undo=str(number or ""))


class CategoryAnswer(fields.CallAnswer):
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


class RankedAnswer(fields.CallAnswer):
    """Where the ranker had put a category when experts judged it."""

    chosen: int
    first: int
    five: int
    refused: int
    precision: float | None = Field(description="taken, of those it was the first for")


class CategoryDetail(CategoryAnswer):
    """All about one category.

    below : documents it has with all below it;  examples : (id, title) of the documents
    decided last.
    """

    below: int
    ranked: RankedAnswer
    examples: list[fields.Titled]


class Categories(fields.CallAnswer):
    """Some categories, and how many there are in all."""

    categories: list[CategoryAnswer]
    total: int


class CategoryBody(fields.Body):
    """A category to be."""

    id: fields.Id = Field(examples=["local.harbour"])
    label: fields.Note = Field("", examples=["Harbour"])
    parent: fields.Id | None = Field(
        None, description="the category above; null: the top"
    )
    note: fields.Note = ""
    guideline: fields.Note = ""

    @property
    def category(self) -> Category:
        """The same, as the workbench takes it."""
        return edit.new_category(
            self.id, self.label, self.parent, self.note, self.guideline
        )


class CategoryChange(fields.Body):
    """What is to be said of a category; what is left out stays."""

    id: fields.Id | None = Field(None, description="its new id")
    label: fields.Note | None = None
    note: fields.Note | None = None
    guideline: fields.Note | None = None
    notation: fields.Note | None = None
    synonyms: list[fields.Note] | None = Field(None, max_length=1000)

    def carry_out(self, project: Project, id_: str, who: str) -> Logged:
        """Log what belongs there first, under its old id; then its new names."""
        logged = []
        texts = self.model_dump(include=set(edit.DESCRIBED), exclude_none=True)
        if texts or self.synonyms is not None:
            logged.append(edit.describe(project, id_, texts, self.synonyms, who))
        if self.label is not None or self.id is not None:
            names = {"label": self.label, "new_id": self.id}
            logged.append(edit.rename(project, id_, **names, who=who))
        numbers = tuple(number for each in logged for number in each.numbers)
        return Logged(numbers, "; ".join(each.said for each in logged))


class MoveBody(fields.Body):
    """Where a category goes, with all below it."""

    category: fields.Id
    under: fields.Id | None = Field(None, description="null: the top")


class MergeBody(fields.Body):
    """A category, and the one that takes over its documents and daughters."""

    category: fields.Id
    into: fields.Id


class SplitBody(fields.Body):
    """Documents of a category that go to a new one."""

    category: fields.Id
    new: CategoryBody
    documents: list[fields.Id] = Field(min_length=1, max_length=10_000)


class RetireBody(fields.Body):
    """A category that no new document shall come to."""

    category: fields.Id


class PreviewBody(fields.Body):
    """A change to look at before it is made.

    category : of which, or, for add, the one above;  to : where it goes;  id, label :
    new ones;  documents : that go with a split.
    """

    act: Literal["add", "rename", "move", "merge", "split", "retire"]
    category: fields.Note = ""
    to: fields.Note = ""
    id: fields.Note = ""
    label: fields.Note = ""
    documents: tuple[fields.Id, ...] = Field((), max_length=10_000)


class PreviewAnswer(fields.CallAnswer):
    """What a change would do, a sentence each."""

    says: list[str] = Field(examples=[["Its 12 documents move there."]])


@api.get("/categories", responses=fields.MISSING)
def list_categories(
    me: Reader,
    below: Annotated[
        str | None,
        Query(max_length=1000, description="the category above; none: the top"),
    ] = None,
    after: At = 0,
    top: fields.Top = 200,
) -> Categories:
    """The categories right below one, or at the top; ``after`` so many of them."""
    if below is not None:
        fields.category_named(me.desk, below)
    ids = me.desk.tree.roots if below is None else me.desk.tree.children(below)
    categories = [_answered(me.desk, id_) for id_ in ids[after : after + top]]
    return Categories(categories=categories, total=len(ids))


@api.get("/categories/find")
def find(
    me: Reader,
    words: Annotated[
        str, Query(max_length=1000, description="words of its names or notes")
    ],
    top: fields.Top = 12,
) -> Categories:
    """Find categories by words: begun, inside of others, or with one letter wrong."""
    matches = find_categories(me.desk, words, top)
    categories = [_answered(me.desk, match.category) for match in matches]
    return Categories(categories=categories, total=len(categories))


@api.get("/categories/one/{category:path}", responses=fields.MISSING)
def read_category(me: Reader, category: fields.InPath) -> CategoryDetail:
    """All about one category: what it holds, and how often it is suggested rightly."""
    fields.category_named(me.desk, category)
    node = node_of(me.desk, category)
    detail = _answered(me.desk, category).model_dump() | {
        "below": node.twig.below,
        "ranked": node.twig.ranked,
        "examples": node.examples,
    }
    return CategoryDetail.model_validate(detail)


@api.post("/categories", status_code=201)
def add(me: Admin, body: CategoryBody) -> Logged:
    """Add a category."""
    return _written(me, edit.add, body.category)


class OutlineBody(fields.Body):
    """Categories as an indented list, one a line; an id may follow in brackets."""

    outline: Annotated[str, Field(max_length=500_000)] = Field(
        examples=["Nature\n  Bees\n  Birds [nature.fowl]"]
    )


class OutlineAnswer(fields.CallAnswer):
    """The ids of the new categories, in the order of the list."""

    ids: list[str]


@api.post("/categories/outline", status_code=201)
def add_list(me: Admin, body: OutlineBody) -> OutlineAnswer:
    """Add categories from an indented list, all or none; ids come from names."""
    lines = read_outline(body.outline, me.desk.categories)
    add_outline(me.desk, lines, me.name)
    return OutlineAnswer(ids=[line.id for line in lines])


@api.patch("/categories/one/{category:path}", responses=fields.MISSING)
def change(me: Admin, category: fields.InPath, body: CategoryChange) -> Logged:
    """Rename a category, or say anew what belongs there, or both: an act each."""
    fields.category_named(me.desk, category)
    if not body.model_fields_set:
        raise refusal(
            "no change to %(category)s was sent: give a label, a note or an id",
            category=category,
        )
    return _written(me, body.carry_out, category)


@api.post("/categories/move")
def move(me: Admin, body: MoveBody) -> Logged:
    """Put a category, with all below it, under another one, or at the top."""
    return _written(me, edit.move, body.category, body.under)


@api.post("/categories/merge")
def merge(me: Admin, body: MergeBody) -> Logged:
    """Let one category take over the documents and the daughters of another."""
    return _written(me, edit.merge, body.category, body.into)


@api.post("/categories/split", status_code=201)
def split(me: Admin, body: SplitBody) -> Logged:
    """Move documents from a category to a new one, its sister unless it says else."""
    return _written(me, edit.split, body.category, body.new.category, body.documents)


@api.post("/categories/retire")
def retire(me: Admin, body: RetireBody) -> Logged:
    """Let no new document come to a category; those that are there stay."""
    return _written(me, edit.retire, body.category)


@api.post("/categories/preview")
def preview(me: Admin, body: PreviewBody) -> PreviewAnswer:
    """What a change would do, in sentences; nothing is written."""
    says = foresee(me.desk, TaxonomyChange(**body.model_dump()))
    return PreviewAnswer(says=list(says))


class AcceptProposalBody(fields.Body):
    """A proposal of those below a category; id, label : other ones, if any."""

    category: fields.Id
    number: Annotated[int, Field(ge=1, le=1000)]
    id: fields.Id | None = None
    label: fields.Note | None = None


@api.post("/categories/accept", status_code=201, responses=fields.MISSING)
def accept_proposal(me: Admin, body: AcceptProposalBody) -> Logged:
    """Make a proposal a category below; its documents move there."""
    fields.category_named(me.desk, body.category)
    names = {"id_": body.id, "label": body.label}
    return _accepted(me, body.category, body.number, names)


def _accepted(
    me: Caller, category: str, number: int, names: dict[str, str | None]
) -> Logged:
    return me.desk.write(
        lambda project: propose.accept(project, category, number, **names, who=me.name)
    )


def _answered(desk: Desk, id_: str) -> CategoryAnswer:
    category, tree = desk.categories[id_], desk.tree
    return CategoryAnswer.model_validate(
        asdict(category)
        | {
            "label": category.name,
            "path": [desk.categories[node].name for node in tree.path(id_)],
            "children": len(tree.children(id_)),
            "retired": category.status != "active",
            "documents": desk.state.counts[id_],
        }
    )


def _written(me: Caller, change: Callable[..., Logged], *values: object) -> Logged:
    return me.desk.write(lambda project: change(project, *values, me.name))
