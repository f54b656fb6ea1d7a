"""Every page can be used by everybody: axe finds nothing, by day and by night."""

import pytest
from axe_playwright_python.sync_playwright import Axe

from classmark.workbench.indexing import index_project
from web.browser.pages import PAGES

RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]


@pytest.fixture
def told(page, served):
    """Something was decided and undone, and there is an index."""
    index_project(served.desk.project)
    for key in ("1", "Enter", "2", "Enter", "u"):
        page.keyboard.press(key)
        page.wait_for_timeout(300)
    return page


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing(told, scheme):
    told.emulate_media(color_scheme=scheme)
    wrong = []
    for name, address in PAGES.items():
        told.goto(address)
        found = Axe().run(told, options={"runOnly": RULES})
        wrong += [
            f"{name}: {one['id']}: {node['html'][:120]} ({node['failureSummary']})"
            for one in found.response["violations"]
            for node in one["nodes"]
        ]
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize(("width", "height"), [(1366, 768), (1024, 768), (683, 384)])
def test_no_page_is_wider_than_the_window(told, width, height):
    """683 × 384 is 1366 × 768 at 200 %."""
    told.set_viewport_size({"width": width, "height": height})
    for name, address in PAGES.items():
        told.goto(address)
        wide = told.evaluate("document.documentElement.scrollWidth")
        assert wide <= width, name
