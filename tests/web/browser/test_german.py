"""The pages in German, whose words are longer: nothing overflows or is left over."""

import pytest

from web.browser.keyboard import onward
from web.browser.pages import PAGES
from web.browser.test_axe import SCREENS, told, violations
from web.browser.test_layout import boxes

__all__ = ["told"]  # a fixture

NARROW = (390, 1366)


@pytest.fixture
def german(told):
    """The same pages, for somebody who has chosen German."""
    told.goto("/settings/me")
    told.get_by_role("button", name="Deutsch").click()
    told.locator("html[lang=de]").wait_for()
    return told


@pytest.mark.parametrize("width", NARROW)
def test_every_page_in_german(german, width):
    wrong = []
    german.set_viewport_size({"width": width, "height": SCREENS[width]})
    for name, address in PAGES.items():
        german.goto(address)
        assert german.locator("html").get_attribute("lang") == "de", name
        wide = german.evaluate("document.documentElement.scrollWidth")
        wrong += [f"{name} is {wide} wide"] if wide > width else []
        wrong += [f"{name}: {each}" for each in violations(german)]
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("width", [1366, 1280])
def test_the_header_stays_a_line_high_in_german(german, width):
    german.set_viewport_size({"width": width, "height": 768})
    german.goto("/inbox")
    links = boxes(german, ".top nav a")
    assert len({box["y"] for box in links}) == 1
    assert boxes(german, ".top")[0]["height"] < 60


def test_scripts_speak_german_too(german):
    german.goto("/decide")
    german.keyboard.press("1")
    name = german.locator("li.choice").first.get_attribute("data-name")
    accepts = german.locator("[data-accepts]")
    assert accepts.inner_text() == f"{name} annehmen"
    german.keyboard.press("2")
    assert accepts.inner_text() == "2 annehmen und weiter"
    onward(german, "Enter")
    assert "gespeichert #" in german.locator(".foot .saved").inner_text()


@pytest.mark.parametrize("width", NARROW)
def test_what_accepts_is_to_be_read_in_german(german, width):
    """All four buttons are in one line, and the first says that it accepts."""
    german.set_viewport_size({"width": width, "height": SCREENS[width]})
    german.goto("/decide")
    buttons = boxes(german, ".acts button")
    assert len(buttons) == 4
    assert len({round(box["y"]) for box in buttons}) == 1
    assert buttons[0]["width"] > 90
