"""Words and meaning on the Decide page: opened by a key, marked in the text."""

import shutil
import time

import pytest

from classmark.datasets.library import library_arrivals
from classmark.workbench.files.importing import import_records
from classmark.workbench.project import Project
from classmark.workbench.settings import MeaningSettings
from projects import new_library
from web.browser.conftest import serving
from web.browser.keyboard import onward, press
from web.browser.test_axe import violations

pytestmark = [pytest.mark.needs(n) for n in ("tokenizers", "safetensors", "wordllama")]
MARKED = ".document .text .says"
OPEN = ".of-focused > div:not([hidden]) details[open]"


@pytest.fixture(scope="module")
def stocked(tmp_path_factory):
    """The embedded library, learned with a table of token vectors."""
    folder = tmp_path_factory.mktemp("stocked") / "library"
    new_library(folder, trained=True, meaning=MeaningSettings("static"))
    with Project(folder) as project:
        import_records(project, library_arrivals(), "the new arrivals")
    return folder


@pytest.fixture
def served(stocked, tmp_path):
    with serving(shutil.copytree(stocked, tmp_path / "library")) as found:
        yield found


def test_m_shows_sentences_and_documents_and_marks_the_text(page):
    asked = []
    page.on("request", lambda r: asked.append(r.url) if "/why?" in r.url else None)
    assert page.locator("summary", has_text="from words").count() == 10
    press(page, "m")
    quotes = page.locator(f"{OPEN} [data-sentence]")
    quotes.first.wait_for()
    assert len(asked) == 1
    assert page.locator(f"{OPEN} a").count() == 3
    before = page.locator(".document .text").inner_text()
    text = " ".join(before.split())
    shown = [each.rstrip(" …") for each in quotes.all_inner_texts()]
    marked = "".join(page.locator(MARKED).all_inner_texts())
    expected = [each for each in shown if each in text]
    assert sorted("".join(marked.split())) == sorted("".join(expected).replace(" ", ""))
    assert marked
    press(page, "j")
    assert page.locator(MARKED).count() == 0
    assert page.locator(".document .text").inner_text() == before
    press(page, "k", "m", "m")
    page.locator(MARKED).first.wait_for()
    assert len(asked) == 1, "what was read is not asked for again"


def test_the_next_document_comes_without_it_being_read(page):
    asked = []
    page.on("request", lambda r: asked.append(r.url) if "/why?" in r.url else None)
    press(page, "m")
    page.locator(f"{OPEN} [data-sentence]").first.wait_for()
    onward(page, "Enter")
    assert page.locator(MARKED).count() == 0
    onward(page, "Enter")
    time.sleep(0.5)
    assert len(asked) == 1


def test_what_cannot_be_read_is_said_and_tried_again(page):
    page.route("**/why?*", lambda route: route.abort())
    press(page, "m")
    page.get_by_text("The server does not respond.").wait_for()
    page.unroute("**/why?*")
    press(page, "m", "m")
    page.locator(f"{OPEN} [data-sentence]").first.wait_for()


def test_everybody_can_use_it(page):
    press(page, "m")
    page.locator(f"{OPEN} [data-sentence]").first.wait_for()
    assert not violations(page)
    page.emulate_media(color_scheme="dark")
    assert not violations(page)
