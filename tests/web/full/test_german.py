"""No page in German has a text that is still English: each is read in both languages.

A text that is the same in both is English, unless it is a name, a value or data of the
project.
"""

import re
from html.parser import HTMLParser

import pytest
from starlette.testclient import TestClient

from classmark.datasets.library import (
    library_arrivals,
    library_categories,
    library_records,
)
from classmark.language import catalogue
from classmark.web.serve import create_app
from classmark.workbench.deciding.decide import Decision, decide_on, note_on
from classmark.workbench.examples.like import SearchStart
from classmark.workbench.examples.open_searches import begin_for, mark
from classmark.workbench.files.importing import import_records
from classmark.workbench.store.log import whoami
from classmark.workbench.team.desk import Desk
from classmark.workbench.team.jobs import WORKS, start_work
from classmark.workbench.team.work import give
from projects import new_library, new_project
from web.browser.pages import PAGES
from web.browser.test_axe import EMPTY, MADE
from web.conftest import ADDRESS, csrf_of
from web.test_projects import admin, folder, projects, served

__all__ = ["admin", "folder", "projects", "served"]  # fixtures

BRANCH, SHORE = "nature.animals.insects", "place.shore.fishing"
PIECES = ("/choice", "/why", "/alike", "/twins", "/taxonomy/parents", "/search/jobs",
          "/taxonomy/branch?at=place", "/taxonomy/find?q=fish", "/taxonomy/find?q=zzz",
          "/files/jobs", "/settings/jobs", "/settings/meaning/job",
          "/progress/evaluation/job")  # fmt: skip
WRONG = ("/decide/none", "/search?q=bees+AND", "/search?q=zzzq", "/search?q=zq*",
         "/search?q=bees&model=none", "/search?q=bees&prior=none", "/search?k=9999",
         "/search?q=bees&ranker=7", "/inbox?category=none", "/like/9", "/history?act=x",
         "/history/range?first=9&last=1", "/inbox?page=x", "/settings/search/rankers/9",
         "/files/waiting/none", "/taxonomy?at=none", "/suggest?text=the",
         f"/taxonomy/preview?act=merge&category={SHORE}&into=none",
         f"/taxonomy/preview?act=move&category={SHORE}&to={SHORE}")  # fmt: skip
FORMS = {
    "/settings/jobs": {"work": "sing"},
    "/settings": {"learning.C": "-1"},
    "/settings/meaning": {"source": "sentences"},
    "/settings/webhooks": {"url": "none"},
    "/settings/search/tune": {"judged": "q1 salt road"},
    "/settings/search/rankers": {"queries": "q1 salt road", "qrels": "q1 0 r1001 2"},
    "/settings/search/experiment": {"experiment": "none"},
    "/history/undo": {"number": 99_999},
    "/history/correct": {"document": "r1002", "label": "none"},
    "/like": {"method": "none", "texts": "bees"},
    "/like/1/target": {"target": "9"},
    "/search/label": {"label": "Fishin", "ticked": ["r1002"]},
    "/inbox/label": {"label": "none", "ticked": ["r1002"]},
    "/taxonomy/change": {"act": "merge", "category": SHORE, "into": "none"},
    "/taxonomy/new": {"id": SHORE, "label": "none"},
    "/taxonomy/prune": {"measure": "none"},
    "/progress/evaluation": {"learners": "none"},
    "/start/categories": {"outline": ""},
    "/files/add": {"text": ""},
    "/files/delete": {"document": "none"},
    "/files/restore": {"document": "r1002"},
    "/work": {"who": "nobody", "documents": "none"},
}
VALUES = {"TREC run", "JSON Lines", "Shift JIS", "Bearer", "salt road"}
SEVERAL = re.compile(r"[A-Za-z]{2,}[^A-Za-z]* [^A-Za-z]*[A-Za-z]{2,}")
SIGNS = re.compile(r"[:;,.!?] | [·›] |[()„“]|\d\.? ")
GERMAN = catalogue("de")
TRANSLATED = {
    text for text in GERMAN._catalog  # noqa: SLF001 - all that gettext knows
    if isinstance(text, str) and GERMAN.gettext(text) != text
}  # fmt: skip
ADDRESSES = re.compile(r"https?:\S+|/\S+/\S+|\.\w+( \.\w+)*|[\w.,=]+")
SHOWN = "alt", "aria-label", "placeholder", "title"


class Texts(HTMLParser):
    """The texts of a page: what stands between tags, and what is said of them."""

    def __init__(self, page):
        super().__init__()
        self.texts = []
        self.feed(page)

    def handle_starttag(self, _tag, attrs):
        self.texts += [text for name, text in attrs if name in SHOWN and text]

    def handle_data(self, data):
        self.texts.append(data)


def fragments(client, address, language, form=None):
    """What a page says, parted at its signs."""
    headers = {"accept-language": language}
    if form is None:
        answer = client.get(address, headers=headers)
    else:
        answer = client.post(address, data=form, headers=headers)
    assert answer.status_code < 500, (address, answer.text)
    texts = (re.sub(r"\s+", " ", text) for text in Texts(answer.text).texts)
    return {part.strip(" …·") for text in texts for part in SIGNS.split(text)}


def english(client, address, data, form=None):
    """Fragments of a page that are the same in both languages, and are not data."""
    both = fragments(client, address, "en", form)
    both &= fragments(client, address, "de", form)
    left = {text for text in both if SEVERAL.search(text) or text in TRANSLATED}
    return {text for text in left - VALUES if not data.has(text)}


class Data:
    """What people wrote: texts of documents, names of categories and of files."""

    def __init__(self, *texts):
        self.text = re.sub(r"\s+", " ", " ".join(texts))

    def has(self, text):
        """Whether they wrote it, or it is an address, a number or a value."""
        return text in self.text or ADDRESSES.fullmatch(text) is not None


RECORDS = *library_records(), *library_arrivals()
LIBRARY = Data(
    *(text for record in RECORDS for text in record.document.fields.values()),
    *(f"{name} {text}" for record in RECORDS for name, text in record.meta.items()),
    *(f"creator {record.document.fields.get('creator')}" for record in RECORDS),
    *(f"{c.name} {c.note} {' '.join(c.synonyms)}" for c in library_categories()),
    "Eskerton town library · Classmark · a file · a tree · notes.csv · a hive · rye",
    f"Relevant · bees garden winter · bees AND · zq* · {whoami()} (import)",
)


@pytest.fixture
def library(tmp_path):
    """A browser of a project in which much has happened, and its upload."""
    place = new_library(tmp_path / "town", 400, trained=True, indexed=True,
                        name="Eskerton town library")  # fmt: skip
    with Desk(place) as desk, TestClient(app := create_app(desk)) as client:
        client.base_url = ADDRESS
        client.post("/enter", data={"code": app.state.doors.code})
        client.headers["X-CSRF"] = csrf_of(app, client)
        with desk.writing() as project:
            import_records(project, library_arrivals(), "a file")
        desk.look_again()
        for work in WORKS:
            start_work(desk, work.name, "ada").wait(120)
        for form in ("taxonomy/report", f"taxonomy/propose?category={BRANCH}"):
            client.post(f"/{form}", data={"category": BRANCH})
        decide_on(desk, "r1002", Decision((SHORE,)), {}, "bo")
        note_on(desk, "r1001", f"@{whoami()}", "bo")
        give(desk, whoami(), "ada", documents=["r1003"])
        start = SearchStart(("r1004",))
        mark(desk, "ada", begin_for(desk, "ada", start), {"r1010": "yes"})
        file = {"file": ("notes.csv", b"id;text;x\nn1;a hive;\nn2;rye;5\n")}
        sent = client.post("/files/upload", files=file)
        desk.jobs.wait(60)
        yield client, sent.url.path


def test_no_page_of_a_full_project_is_english(library):
    client, upload = library
    pages = [*PAGES.values(), *filter(None, MADE.values()), *PIECES, *WRONG, upload]
    wrong = {page: english(client, page, LIBRARY) for page in pages}
    for form, values in FORMS.items():
        wrong[f"POST {form}"] = english(client, form, LIBRARY, values)
    assert not {page: texts for page, texts in wrong.items() if texts}


def test_no_page_of_an_empty_project_is_english(tmp_path):
    place = new_project(tmp_path / "empty", [], [])
    with Desk(place) as desk, TestClient(app := create_app(desk)) as client:
        client.base_url = ADDRESS
        wrong = {"log-in": english(client, "/enter", Data("shelf"))}
        client.post("/enter", data={"code": app.state.doors.code})
        more = "decide", "inbox/accept", "inbox/place", "mentions", "session"
        for page in (*EMPTY, *more, "search?q=bees", "suggest?text=bees"):
            wrong[page] = english(client, f"/{page}", Data("shelf"))
    assert not {page: texts for page, texts in wrong.items() if texts}


def test_the_list_of_projects_is_not_english(admin):
    data = Data("Parish notes", "The shelf")
    assert not english(admin, "/projects", data)
    assert not english(admin, "/projects/new", data, {"name": "No name", "title": ""})
    assert not english(admin, "/projects/none", data)
