"""A desk over forty short documents on four subjects, to find things in."""

from contextlib import contextmanager

from classmark.corpus.documents import Document
from classmark.formats.records import Record
from classmark.taxonomy.category import Category
from classmark.workbench.files.importing import import_records
from classmark.workbench.project import Project, create
from classmark.workbench.search.index import index_project
from classmark.workbench.settings import SearchSettings, Settings
from classmark.workbench.team.desk import Desk

WORDS = {
    "bees": "hive honey queen swarm comb smoke nectar drone keeper pollen",
    "bread": "dough yeast rye oven loaf crust knead flour baker salt",
    "birds": "nest song feather finch egg flight migration wren perch moult",
    "boats": "keel sail oar tide harbour mast rope anchor hull tiller",
}


def records(first=0, last=10):
    """Documents ``bees-0``, ``bees-1`` …: six words of the subject, then its name."""
    for name, text in WORDS.items():
        words = (text + " " + text).split()
        for at in range(first, last):
            said = " ".join(words[at % 10 : at % 10 + 6])
            yield Record(
                Document(
                    f"{name}-{at}",
                    {"title": f"Of {words[at % 10]}", "text": f"Notes: {said} ({at})."},
                )
            )


def new_shelf(folder, *, log="no", index=True):
    create(folder, Settings("Shelf", search=SearchSettings(log)))
    with Project(folder) as project:
        project.store.put_categories([Category(name) for name in WORDS])
        import_records(project, records(), "here")
        if index:
            index_project(project, positions=True)
    return folder


@contextmanager
def shelf(folder, **wish):
    with Desk(new_shelf(folder, **wish)) as desk:
        yield desk


def subject(id_):
    return id_.split("-")[0]
