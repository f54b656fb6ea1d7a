"""Every page can be used by everybody: axe finds nothing, by day and by night."""

import pytest
from axe_playwright_python.sync_playwright import Axe

from classmark.workbench.deciding.decide import note_on
from classmark.workbench.search.index import index_project
from classmark.workbench.store.log import whoami
from classmark.workbench.team.work import give
from web.browser.pages import PAGES

SCREENS = {390: 844, 768: 1024, 1366: 768, 1920: 1080}
RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]


@pytest.fixture
def told(page, served):
    """Something was decided and undone, and there is an index."""
    index_project(served.desk)
    note_on(served.desk, "r1001", f"what does @{whoami()} say?", "bo")
    give(served.desk, whoami(), "ada", documents=["r1002", "r1003"])
    served.desk.webhooks.add("https://example.org/hook", ["decided"], "ada")
    for key in ("1", "Enter", "2", "Enter", "u"):
        page.keyboard.press(key)
        page.wait_for_timeout(300)
    return page


def violations(page, name, rules):
    """What axe finds wrong in a page, a line each."""
    found = Axe().run(page, options={"runOnly": rules})
    return [
        f"{name}: {rule['id']}: {node['html'][:120]} ({node['failureSummary']})"
        for rule in found.response["violations"]
        for node in rule["nodes"]
    ]


@pytest.mark.parametrize("width", sorted(SCREENS))
def test_axe_finds_nothing(told, width):
    """By night only the colours differ."""
    wrong = []
    told.set_viewport_size({"width": width, "height": SCREENS[width]})
    for name, address in PAGES.items():
        told.emulate_media(color_scheme="light")
        told.goto(address)
        wrong += violations(told, f"{name} at {width}", RULES)
        told.emulate_media(color_scheme="dark")
        wrong += violations(told, f"{name} at {width} by night", ["color-contrast"])
    assert not wrong, "\n".join(wrong)


def test_no_page_is_wider_than_the_window(told):
    """683 × 384 is 1366 × 768 at 200 %."""
    for name, address in PAGES.items():
        told.goto(address)
        for width, height in (*SCREENS.items(), (1024, 768), (683, 384)):
            told.set_viewport_size({"width": width, "height": height})
            wide = told.evaluate("document.documentElement.scrollWidth")
            assert wide <= width, (name, width)
