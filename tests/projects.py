"""Small projects for tests: one function makes them, and three collections fill them.

``NOTES``: ten short texts on three subjects, nothing decided. ``parish``: titled notes
on four subjects below a tree of six categories. ``LIBRARY``: the embedded library.
"""

import shutil
from contextlib import contextmanager
from functools import cache
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory

from classmark.datasets.library import library_categories, library_records
from classmark.formats.jsonl import Keys, record_from
from classmark.formats.records import Record
from classmark.formats.text_files import FilePlace
from classmark.taxonomy.category import Category
from classmark.workbench.files.importing import import_records, put_taxonomy
from classmark.workbench.learning.fit import TEST
from classmark.workbench.learning.train import train
from classmark.workbench.project import Project, create
from classmark.workbench.search.index import index_project
from classmark.workbench.settings import Settings, StoreSettings
from classmark.workbench.team.desk import Desk

TEXTS = {
    "b1": "honey in the hive",
    "b2": "a queen bee swarms",
    "b3": "bees and hive smoke",
    "d1": "dough in the oven",
    "d2": "rye bread and yeast",
    "d3": "knead dough and yeast",
    "c1": "a wick in tallow",
    "c2": "a burning wick",
    "c3": "tallow dips and a flame",
    "t1": "an oven and a flame",
}
NAMES = ["bees", "bread", "candles"]
RIGHT = {"b": "bees", "d": "bread", "c": "candles", "t": "bread"}
NOTES = [
    {"id": id_, "text": text, "meta": {"part": TEST} if id_[0] == "t" else {}}
    for id_, text in TEXTS.items()
]

WORDS = {
    "bread": "dough yeast rye oven loaf crust knead flour baker salt",
    "candles": "wick tallow wax flame mould dip chandler stearin snuff light",
    "bees": "hive honey queen swarm comb smoke nectar drone keeper pollen",
    "birds": "nest song feather finch egg flight migration wren perch moult",
}
TREE = [
    Category("crafts", "Crafts", note="what hands make"),
    Category("bread", "Bread", parents=("crafts",), note="loaves and ovens"),
    Category("candles", "Candles", parents=("crafts",), note="wax and wicks"),
    Category("nature", "Nature"),
    Category("bees", "Bees", parents=("nature",), note="hives and honey"),
    Category("birds", "Birds", parents=("nature",), note="nests and song"),
]


def new_project(
    folder, documents=NOTES, categories=None, *, trained=False, indexed=False, **parts
):
    """Make a project in a folder, which is returned.

    documents : id → text, or records, or rows as in a file of JSON lines;
    categories : or their names; without them, those of the notes, or those that labels
    name;
    parts : of the settings. A project is made once and then copied, unless its store is
    on a server.
    """
    if categories is None:
        categories = NAMES if documents is NOTES else []
    settings = Settings(**{"name": "shelf", **parts})
    contents = (records_of(documents), categories_of(categories), trained, indexed)
    if settings.store != StoreSettings():
        _fill(folder, settings, *contents)
        return folder
    digest = sha256(repr((settings, contents)).encode()).hexdigest()
    made = Path(_made().name) / digest / "project"
    if not made.exists():
        _fill(made, settings, *contents)
    return shutil.copytree(made, folder)


@cache
def _made():
    """Where projects are that were made once; removed at the end."""
    return TemporaryDirectory(prefix="classmark-projects-", ignore_cleanup_errors=True)


def _fill(folder, settings, records, categories, trained, indexed):
    create(folder, settings)
    with Project(folder) as project:
        if categories:
            put_taxonomy(project, categories, "a tree")
        if records:
            import_records(project, records, "a file")
        if trained:
            train(project)
        if indexed:
            index_project(project, positions=True)


@contextmanager
def new_desk(folder, *contents, **parts):
    """Open a desk over a new project."""
    with Desk(new_project(folder, *contents, **parts)) as desk:
        yield desk


def records_of(documents):
    """Make records of id → text or of rows; records stay as they are."""
    if isinstance(documents, dict):
        documents = [{"id": id_, "text": text} for id_, text in documents.items()]
    place = FilePlace("here")
    return [
        row if isinstance(row, Record) else record_from(row, Keys(), place)
        for row in documents
    ]


def categories_of(names):
    """Make categories of names; categories stay as they are."""
    return [name if isinstance(name, Category) else Category(name) for name in names]


def parish(first=0, last=10, *, decided=False, waiting=False):
    """Notes ``bread-0``, ``bread-1`` … ; with eight more, ``new-0`` …, that wait."""
    rows = [
        {**note(f"{name}-{at}", name, at), **({"primary": name} if decided else {})}
        for name in WORDS
        for at in range(first, last)
    ]
    if waiting:
        both = enumerate([*WORDS, *WORDS])
        rows += [note(f"new-{at}", name, 9 - at) for at, name in both]
    return records_of(rows)


def note(id_, name, at):
    """One document: its title and its text are of the words of a category."""
    words = (WORDS[name] + " " + WORDS[name]).split()[at % 10 : at % 10 + 6]
    text = f"A note on {', '.join(words)} from the {name} of the parish."
    return {"id": id_, "title": f"Of {words[0]} and {words[1]}", "text": text}


def subject(id_):
    """Return the category that a note of the parish is about."""
    return id_.split("-")[0]


def new_parish(folder, **parts):
    """Make a project of notes, decided but for eight; with a ranker and an index."""
    documents = parish(decided=True, waiting=True)
    return new_project(folder, documents, TREE, trained=True, indexed=True, **parts)


def new_library(folder, most=None, **parts):
    """Make a project of the embedded library, or of its first records."""
    records = list(library_records())[:most]
    return new_project(folder, records, library_categories(), **parts)
