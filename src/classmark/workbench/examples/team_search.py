"""Find by example on the desk: begin, say yes or no, take it back, see what stands."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from itertools import chain, count
from pathlib import Path
from typing import TYPE_CHECKING

from classmark.problems import Mistake
from classmark.workbench.examples.example_search import Liking
from classmark.workbench.examples.like import (
    export_likes,
    export_weights,
    marks_of_category,
)
from classmark.workbench.examples.open_searches import (
    KIND,
    Basket,
    BeingRead,
    Likeness,
    Saved,
    Sifting,
    search_of,
)
from classmark.workbench.examples.screening import Begun, StoppingRule, answered
from classmark.workbench.examples.screening import begin as begin_screening
from classmark.workbench.examples.searches import (
    LIKE,
    Mark,
    Said,
    Search,
    add_marks,
    begin_search,
    change_settings,
    list_searches,
    redo_marks,
    require_documents,
    standing_marks,
    undo_marks,
)
from classmark.workbench.examples.vectors import rows_of_texts
from classmark.workbench.store.store import titles

if TYPE_CHECKING:
    from classmark.workbench.examples.example_search import Reasons
    from classmark.workbench.examples.vectors import Collection
    from classmark.workbench.project import Project
    from classmark.workbench.team.desk import Desk


SHOWN = 20
SURE = "auto"  # learns from any example; whether others can is tried at once
BEHIND = "documents came that are not ranked yet: they are being read"
LONGEST = 200_000  # letters of a text of one's own
NAMED = 60  # letters of the name of a search that was given none
ACTS = ("example", "yes", "no", "skip")


@dataclass(frozen=True, slots=True)
class Wanted:
    """What a search begins with.

    name : "" to be called after its example;  examples, no : ids;  texts : of one's
    own, by name;  category : its documents, and those rejected from it;  screening : go
    for nearly all, as ``rule`` says;  method : how to learn.
    """

    name: str = ""
    examples: tuple[str, ...] = ()
    no: tuple[str, ...] = ()
    texts: Mapping[str, str] = field(default_factory=dict)
    category: str = ""
    screening: bool = False
    rule: StoppingRule = field(default_factory=StoppingRule)
    method: str = "auto"


def warm(desk: Desk) -> None:
    """Have the documents read before somebody waits for it."""
    with suppress(BeingRead):
        desk.shelf.collection(desk)


def begin(desk: Desk, who: str, wanted: Wanted) -> int:
    """Begin a search, all of it or nothing; return its number."""
    collection = desk.shelf.collection(desk)
    for text in wanted.texts.values():
        _require_text(text)
    with desk.writing() as project:
        require_documents(project.store, [*wanted.examples, *wanted.no])
        rows_of_texts(project, collection, wanted.texts)
        if not (wanted.examples or wanted.texts or wanted.category):
            raise Mistake("there is no example: pick a document, or paste a text")
        name = wanted.name.strip() or _free_name(project, wanted)
        if wanted.screening:
            begun = Begun(
                wanted.examples, (), wanted.category or None, wanted.texts,
                wanted.no, who,
            )  # fmt: skip
            search = begin_screening(project, begun, wanted.rule, name, collection)
            return search.number
        return _begin_liking(project, who, wanted, name, collection)


def show(desk: Desk, number: int, k: int = SHOWN) -> Basket:
    """A search as it stands, with what it finds."""
    with desk.shelf.taken(desk, number) as held:
        _read_on(desk, held)
        basket = held.basket(desk.project, k)
    if basket.screening or not desk.shelf.is_behind(desk):
        return basket
    return replace(basket, notes=(*basket.notes, BEHIND))


def say(desk: Desk, who: str, number: int, said: Mapping[str, Said]) -> None:
    """Say of documents what they are: example, yes, no or skip; durable, then learned.

    The last word on a document holds.
    """
    if not said:
        raise Mistake("nothing is said: mark a document with yes or no")
    for act in said.values():
        if act not in ACTS:
            raise Mistake(f"{act!r} is no mark: use one of {', '.join(ACTS)}")
    with desk.shelf.taken(desk, number, who) as held:
        with desk.writing() as project:
            require_documents(project.store, list(said))
            held.note(said)
        held.take_in(said)
        _read_on(desk, held)


def undo(desk: Desk, who: str, number: int) -> list[Mark]:
    """Take back what this person said last; return it."""
    with desk.shelf.taken(desk, number, who) as held:
        with desk.writing() as project:
            back = undo_marks(project.store, search_of(project, number), who)
            _require_examples(project, number)
        held.take_back(back)
        if isinstance(held, Sifting):
            again = held.shown_again(back)
            with desk.writing():
                held.keep(again)
    return back


def redo(desk: Desk, who: str, number: int) -> list[Mark]:
    """Bring back what this person took back last; return it."""
    with desk.shelf.taken(desk, number, who) as held:
        with desk.writing() as project:
            again = redo_marks(project.store, search_of(project, number), who)
        held.take_back(again)
        _read_on(desk, held)
    return again


def screen(desk: Desk, who: str, number: int) -> int:
    """Begin a screening with what a search knows; return its number."""
    search = search_of(desk.project, number)
    marks = [found.mark for found in standing_marks(desk.project.store, search)]
    known = {act: tuple(m.document for m in marks if m.act == act) for act in ACTS}
    taken = {each.name for each in searches(desk)}
    name = f"{search.name}, all"
    while name in taken:
        name += "'"
    wanted = Wanted(
        name, (*known["example"], *known["yes"]), known["no"],
        search.settings.get("texts", {}), screening=True,
    )  # fmt: skip
    return begin(desk, who, wanted)


def add_text(desk: Desk, number: int, text: str) -> None:
    """Put a text of one's own into the basket."""
    _require_text(text)
    collection = desk.shelf.collection(desk)
    with desk.writing() as project:
        search = search_of(project, number)
        texts = dict(search.settings.get("texts", {}))
        name = next(
            n for i in range(1, len(texts) + 2) if (n := f"text {i}") not in texts
        )
        rows_of_texts(project, collection, {name: text})
        settings = {**search.settings, "texts": {**texts, name: text}}
        change_settings(project.store, search, settings)


def drop_text(desk: Desk, number: int, name: str) -> None:
    """Take a text of one's own out of the basket."""
    with desk.writing() as project:
        search = search_of(project, number)
        texts = dict(search.settings.get("texts", {}))
        if texts.pop(name, None) is None:
            raise Mistake(f"there is no text {name!r} in the basket")
        change_settings(project.store, search, {**search.settings, "texts": texts})
        _require_examples(project, number)


def explain(desk: Desk, number: int, document: str) -> Reasons:
    """Every word's part of the score of a document in a search."""
    require_documents(desk.project.store, [document])
    with desk.shelf.taken(desk, number) as held:
        return held.explain(document)


def searches(desk: Desk) -> list[Saved]:
    """All searches by example, the one used last first."""
    return [
        _saved(desk.project, search)
        for kind in (LIKE, KIND)
        for search in list_searches(desk.project.store, kind)
    ]


def write_found(desk: Desk, number: int, path: Path, k: int = 1000) -> None:
    """Write what a search found: .csv .jsonl .run .ris .bib, or .tsv for its words."""
    with desk.shelf.taken(desk, number) as held:
        if isinstance(held, Likeness) and path.suffix == ".tsv":
            export_weights(held.liking, path)
        elif isinstance(held, Likeness):
            export_likes(held.liking.rank(k), path)
        else:
            export_likes(answered(desk.project, held.search.name), path)


def _begin_liking(
    project: Project, who: str, wanted: Wanted, name: str, collection: Collection
) -> int:
    settings = {"method": wanted.method, "texts": dict(wanted.texts)}
    search = begin_search(project.store, name, settings, who=who)
    marks = [Mark(id_, "example") for id_ in dict.fromkeys(wanted.examples)]
    marks += [Mark(id_, "no") for id_ in wanted.no if id_ not in wanted.examples]
    if wanted.category:
        known = {mark.document for mark in marks}
        found = marks_of_category(project.store, wanted.category)
        marks += [mark for mark in found if mark.document not in known]
    if marks:
        add_marks(project.store, search, marks, who)
    if wanted.method != SURE:
        Liking(project, search, collection)
    return search.number


def _read_on(desk: Desk, held: Likeness | Sifting) -> None:
    """Choose what a screening shows next, once all that it shows is answered."""
    if isinstance(held, Sifting) and held.waits:
        shown = held.next_batch()
        with desk.writing():
            held.keep(shown)


def _require_examples(project: Project, number: int) -> None:
    """Refuse what would leave a search without an example."""
    search = search_of(project, number)
    acts = {each.mark.act for each in standing_marks(project.store, search)}
    if not search.settings.get("texts") and not acts & {"example", "yes"}:
        raise Mistake(
            "that would leave the search without an example: add another first"
        )


def _require_text(text: str) -> None:
    if not text.strip():
        raise Mistake("the text is empty: paste one, or pick documents")
    if len(text) > LONGEST:
        raise Mistake(f"the text has {len(text):,} letters: at most {LONGEST:,} count")


def _free_name(project: Project, wanted: Wanted) -> str:
    """What a search is called after: its first text, document or category."""
    store = project.store
    words = [*wanted.texts.values(), *titles(store, wanted.examples[:1]).values()]
    name = " ".join([*words, wanted.category][0].split())[:NAMED].strip()
    taken = {each for (each,) in store.run("SELECT name FROM searches").fetchall()}
    others = (f"{name} ({number})" for number in count(2))
    return next(each for each in chain([name], others) if each not in taken)


def _saved(project: Project, search: Search) -> Saved:
    marks = standing_marks(project.store, search)
    acts = Counter(found.mark.act for found in marks)
    own = len(search.settings.get("texts", {}))
    return Saved(
        search.number, search.name, search.settings.get("kind") == KIND,
        acts["example"] + own, acts["yes"], acts["no"], search.created, search.who,
    )  # fmt: skip
