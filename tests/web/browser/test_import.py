"""Files as people have them are sent, looked at and imported, within a minute each."""

from pathlib import Path
from time import monotonic
from typing import NamedTuple

import pytest

import own_files

pytest.importorskip("openpyxl")
pytest.importorskip("pypdf")
pytest.importorskip("bibtexparser")
MINUTE = 60.0


class OwnFile(NamedTuple):
    """A file, what its preview shows, what is corrected, and what is then here.

    corrected : a label of the page and what is chosen there;  documents : id → words
    of its text;  labels : id → its labels;  facts : id → some of its facts.
    """

    files: dict
    shown: tuple
    corrected: tuple = ()
    documents: dict = {}  # noqa: RUF012 - a tuple's default
    labels: dict = {}  # noqa: RUF012
    facts: dict = {}  # noqa: RUF012
    categories: tuple = ()


OWN = {
    "semicolons": OwnFile(
        {"catalogue.csv": own_files.SEMICOLONS},
        ("The hive", "nature, bees", "2 new"),
        documents={"7": "smoke in the orchard", "8": "hot oven"},
        labels={"7": {"nature", "bees"}},
    ),
    "Latin-1": OwnFile(
        {"staedte.csv": own_files.LATIN.encode("latin-1")},
        ("Köln", "Straßen und Bäckereien"),
        documents={"k1": "Straßen und Bäckereien am Fluß", "k2": "Öl und Tränen"},
    ),
    "a number in a field, category as labels": OwnFile(
        {"notes.jsonl": own_files.NUMBERS},
        ("The hive", "year: 1934"),
        documents={"1": "honey", "2": "rye"},
        labels={"1": {"bees"}, "2": {"bread"}},
        facts={"1": {"year": "1934"}, "2": {"rating": "4.5"}},
    ),
    "a taxonomy with the README's header": OwnFile(
        {"tree.csv": own_files.TAXONOMY},
        ("Kilns", "ovens for clay"),
        categories=("crafts", "kilns"),
    ),
    "a spreadsheet": OwnFile(
        {"list.xlsx": lambda: own_files.xlsx(own_files.SHEET)},
        ("The hive", "bees", "nr: 1"),
        documents={"list.xlsx:2": "behind the old mill"},
        labels={"list.xlsx:2": {"bees"}, "list.xlsx:3": {"bread"}},
    ),
    "ASReview's table": OwnFile(
        {"review.csv": own_files.ASREVIEW},
        ("Wax in old hives", "not included"),
        documents={"review.csv:2": "at combs", "review.csv:4": "Not read yet"},
        labels={"review.csv:2": {"included"}, "review.csv:3": {"not included"}},
        facts={"review.csv:2": {"authors": "Ash, A.; Elm, E."}},
    ),
    "references in RIS": OwnFile(
        {"hits.ris": own_files.RIS},
        ("Wax in old hives", "doi: 10.1000/wax"),
        documents={"hits.ris:1": "We looked at wax, and at combs."},
        labels={"hits.ris:1": {"included"}},
        facts={"hits.ris:1": {"year": "2014", "doi": "10.1000/wax"}},
    ),
    "references of PubMed": OwnFile(
        {"hits.nbib": own_files.NBIB},
        ("Wax in old hives", "doi: 10.1000/wax"),
        documents={"101": "We looked at wax", "102": "We baked"},
        facts={"101": {"authors": "Ash, Ada; Elm, Eve", "year": "2014"}},
    ),
    "references in BibTeX": OwnFile(
        {"refs.bib": own_files.BIB},
        ("Wax in old Hives", "ash2014"),
        documents={"ash2014": "We looked at wax", "oak2001": "über alles"},
    ),
    "Word, PDF and text at once": OwnFile(
        own_files.several(),
        ("The mill", "Tar", "A wick burns in tallow."),
        documents={
            "mill": "grinds rye", "tar": "keels of boats", "wick": "tallow",
        },
    ),
    "a column that may be labels or text": OwnFile(
        {"mails.csv": own_files.SUBJECTS},
        ("choose what it contains",),
        ("Contents of subject", "title"),
        documents={"m1": "turns in the wind", "m2": "Boats"},
    ),
    "rows that cannot be read": OwnFile(
        {"ragged.csv": "id,text\nr1,wax\nr1,again\nr2,tar,and more\nr3,rye\n"},
        ("2 rows cannot be read", "line 3", "line 4"),
        ("Leave out rows that cannot be read or have no text", True),
        documents={"r1": "wax", "r3": "rye"},
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", OWN)
def test_a_person_imports_it_in_under_a_minute(page, served, tmp_path, name):
    own = OWN[name]
    paths = [write(tmp_path / "sent", *each) for each in own.files.items()]
    started = monotonic()
    page.goto(f"{served.address}/files")
    page.get_by_label("Files with documents").set_input_files(paths)
    page.get_by_role("button", name="Upload and preview").click()
    page.wait_for_url("**/files/waiting/*")
    seen = page.locator("main")
    for words in own.shown:
        assert words in seen.inner_text()
    if own.corrected:
        label, choice = own.corrected
        field = page.get_by_label(label)
        field.check() if choice is True else field.select_option(label=choice)
    page.get_by_role("button", name="Import").click()
    page.get_by_text("Done.").wait_for()
    assert monotonic() - started < MINUTE
    require_imported(served.desk, own)


def write(folder, name, content):
    folder.mkdir(exist_ok=True)
    data = content() if callable(content) else content
    path = Path(folder / name)
    path.write_bytes(data if isinstance(data, bytes) else data.encode())
    return path


def require_imported(desk, own):
    """The documents, labels and facts are here, and nothing but what was sent."""
    for id_, words in own.documents.items():
        assert words in desk.store.document(id_).text
    labels = desk.store.labels()
    for id_, names in own.labels.items():
        assert labels[id_].keys() == names
    for id_, facts in own.facts.items():
        assert facts.items() <= desk.store.record(id_).meta.items()
    assert set(own.categories) <= {c.id for c in desk.store.categories()}


def test_an_import_is_undone_and_brought_back_in_the_list(page, served, tmp_path):
    path = write(tmp_path / "sent", "catalogue.csv", own_files.SEMICOLONS)
    page.goto(f"{served.address}/files")
    page.get_by_label("Files with documents").set_input_files([path])
    page.get_by_role("button", name="Upload and preview").click()
    page.get_by_role("button", name="Import").click()
    page.get_by_role("button", name="Undo catalogue.csv").click()
    page.get_by_role("button", name="Redo catalogue.csv").wait_for()
    assert "7" not in served.desk.store.ids()
    page.get_by_role("button", name="Redo catalogue.csv").click()
    page.get_by_role("button", name="Undo catalogue.csv").wait_for()
    assert {"7", "8"} <= served.desk.store.ids()


def test_a_document_is_added_deleted_and_restored_by_hand(page, served):
    page.goto(f"{served.address}/files")
    page.get_by_text("Add a document by hand").click()
    page.get_by_label("Title").fill("The mill")
    page.get_by_label("Text", exact=True).fill("It turns in the wind.")
    page.get_by_label("Id (optional)").fill("mill")
    page.get_by_role("button", name="Add").click()
    assert served.desk.store.document("mill").title == "The mill"
    page.get_by_text("Delete a document").click()
    page.get_by_label("Document id").fill("mill")
    page.get_by_role("button", name="Delete").click()
    page.get_by_role("button", name="Restore The mill").click()
    page.wait_for_load_state()
    assert "mill" in served.desk.store.ids()


def test_what_was_said_of_columns_is_remembered(page, served, tmp_path):
    for name, corrects in (("one.csv", True), ("two.csv", False)):
        content = own_files.SUBJECTS.replace("m1", name).replace("m2", f"2{name}")
        path = write(tmp_path / "sent", name, content)
        page.goto(f"{served.address}/files")
        page.get_by_label("Files with documents").set_input_files([path])
        page.get_by_role("button", name="Upload and preview").click()
        if corrects:
            page.get_by_label("Contents of subject").select_option(label="title")
        page.get_by_role("button", name="Import").click()
        page.get_by_text("Done.").first.wait_for()  # of the file before, at first
        deadline = monotonic() + MINUTE
        while name not in served.desk.store.ids() and monotonic() < deadline:
            page.wait_for_timeout(50)
        assert served.desk.store.document(name).title == "Re: the mill"
