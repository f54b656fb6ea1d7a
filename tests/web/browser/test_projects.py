"""Several projects under one server, in a real browser: made, filled, archived."""

import shutil

import pytest

from classmark.web.serve_projects import create_projects_app
from classmark.workbench.projects import Projects
from classmark.workbench.team.desk import Desk
from web.browser.conftest import VIEW, is_wrong, listening
from web.browser.keyboard import names, onward, press
from web.browser.test_axe import SCREENS, violations
from web.browser.test_first_run import LIST, TEXTS, pictured


@pytest.fixture
def folder(stocked, tmp_path):
    """The library, learned, and a project that is damaged."""
    place = tmp_path / "projects"
    shutil.copytree(stocked, place / "library")
    (place / "cellar").mkdir()
    (place / "cellar" / "store.sqlite").write_bytes(b"no database")
    return place


@pytest.fixture
def list_page(browser, folder):
    """The page of the projects; what goes wrong in the browser is a failure."""
    projects = Projects(folder)
    with Desk(projects.server, begin=False) as desk:
        opened = create_projects_app(projects, desk)
        with listening(opened) as address:
            context = browser.new_context(
                viewport=VIEW, base_url=address, accept_downloads=True
            )
            page, wrong = context.new_page(), []
            page.on("pageerror", lambda error: wrong.append(str(error)))
            page.on(
                "console",
                lambda said: wrong.append(said.text) if is_wrong(said) else None,
            )
            page.goto(f"{address}/enter#{opened.app.state.doors.code}")
            page.wait_for_url("**/projects")
            page.served = opened
            yield page
            context.close()
            assert not wrong
        opened.close_all()


def new_project(page, title):
    page.get_by_label("Name", exact=True).first.wait_for(state="attached")
    form = page.locator("section", has=page.get_by_role("heading", name="New project"))
    form.get_by_label("Name", exact=True).fill(title)
    form.get_by_role("button", name="Create the project").click()
    page.wait_for_url("**/start")


def fill(page):
    """Documents and categories, up to the first document to decide on."""
    page.get_by_label("Texts").fill(TEXTS)
    page.get_by_role("button", name="Add documents").click()
    page.get_by_text("4 in the project").wait_for()
    page.get_by_label("One category per line").fill(LIST)
    page.get_by_role("button", name="Preview").click()
    page.get_by_role("button", name="Add categories").click()
    page.get_by_role("link", name="Start deciding").click()
    page.locator("[data-decide]").wait_for()


def test_a_project_is_made_decided_archived_and_restored(list_page, tmp_path):
    page = list_page
    new_project(page, "Bees and bread")
    assert page.url.endswith("/p/bees-and-bread/start")
    fill(page)
    assert names(page) == ["Crafts", "Bread", "Candles", "Nature", "Bees"]
    press(page, "5")
    decided = onward(page, "Enter")
    pictured(page, "projects-decide")
    page.get_by_role("link", name="Projects", exact=True).click()
    card = page.locator(".project", has=page.get_by_text("Bees and bread"))
    assert "1 of 4 decided" in card.inner_text()
    pictured(page, "projects")
    with page.expect_download() as saved:
        card.get_by_role("link", name="Backup").click()
    backup = tmp_path / "bees.zip"
    saved.value.save_as(backup)
    archive(page, card)
    restore(page, backup)
    page.goto("/p/bees-and-bread-2/history")
    assert decided in page.content()
    page.goto("/projects")
    page.get_by_role("button", name="Bring back").click()
    page.get_by_text("bees-and-bread has been brought back").wait_for()
    assert page.goto("/p/bees-and-bread/inbox").status == 200


def archive(page, card):
    card.get_by_role("button", name="Archive").click()
    page.get_by_role("heading", name="Archived").wait_for()
    assert page.goto("/p/bees-and-bread/inbox").status == 403
    pictured(page, "projects-closed")
    page.get_by_role("link", name="All projects").click()
    pictured(page, "projects-archived")


def restore(page, backup):
    page.get_by_label("Backup, .zip or .jsonl").set_input_files(backup)
    page.get_by_role("button", name="Restore").click()
    page.get_by_text("bees-and-bread-2 has been restored").wait_for()
    page.get_by_role("link", name="Bees and bread", exact=True).click()
    page.wait_for_url("**/p/bees-and-bread-2/decide/**")


def test_keys_and_the_finder_work_below_a_prefix(list_page):
    page = list_page
    page.get_by_role("link", name="Eskerton town library", exact=True).click()
    page.wait_for_url("**/p/library/decide/**")
    press(page, "/")
    page.keyboard.type("fishing")
    page.locator("#finder [data-category]").first.wait_for()
    page.keyboard.press("Escape")
    press(page, "e")
    page.wait_for_timeout(500)
    assert page.locator("[role=alert]:visible").count() == 0
    press(page, "1")
    onward(page, "Enter")
    assert "/p/library/decide" in page.url
    press(page, "u")
    page.wait_for_timeout(300)
    page.goto("/p/library/taxonomy")
    page.locator("[data-seeker] input").first.fill("fishing")
    page.locator("[role=option]").first.click()
    page.wait_for_url("**/p/library/taxonomy?at=*")
    page.goto("/p/library/like")
    assert page.locator("a[href^='/p/library/']").count() > 5


def test_the_pages_can_be_used_by_everybody(list_page):
    wrong = []
    for width, height in SCREENS.items():
        list_page.set_viewport_size({"width": width, "height": height})
        for name in ("projects", "settings/people", "settings/me", "p/library/inbox"):
            list_page.emulate_media(color_scheme="light")
            list_page.goto(f"/{name}")
            wide = list_page.evaluate("document.documentElement.scrollWidth")
            assert wide <= width, (name, width)
            wrong += violations(list_page)
            pictured(list_page, f"{name.replace('/', '-')}-{width}")
            list_page.emulate_media(color_scheme="dark")
            wrong += violations(list_page)
            pictured(list_page, f"{name.replace('/', '-')}-{width}-dark")
    assert not wrong, "\n".join(wrong)


def test_the_list_fits_in_german_too(list_page):
    list_page.goto("/settings/me")
    list_page.get_by_role("button", name="Deutsch").click()
    list_page.locator("html[lang=de]").wait_for()
    for width, height in SCREENS.items():
        list_page.set_viewport_size({"width": width, "height": height})
        list_page.goto("/projects")
        list_page.get_by_role("heading", name="Projekte", exact=True).wait_for()
        assert list_page.evaluate("document.documentElement.scrollWidth") <= width
        assert not violations(list_page)
