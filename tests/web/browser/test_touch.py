"""Decide with the keyboard unplugged: by mouse, and by touch on a phone."""

import re

import pytest

from web.browser.keyboard import acts, category, chips, document, names

PHONE = {"width": 390, "height": 664}  # what a phone of 844 leaves below its own bars


@pytest.fixture
def phone(browser, served):
    """The workbench on a phone."""
    context = browser.new_context(
        viewport=PHONE, base_url=served.address, has_touch=True, is_mobile=True
    )
    page = context.new_page()
    yield served.enter(page)
    context.close()


def button(page, words):
    return page.locator(".foot, .acts").get_by_role("button", name=words)


def onward(page, words):
    """Press a button that leads to another document."""
    before = document(page)
    button(page, words).click()
    page.locator(f"[data-decide]:not([data-document='{before}'])").wait_for()
    return before


def test_every_key_has_a_button(page):
    shown = [each.inner_text() for each in page.locator("button:visible").all()]
    for key in [*"slupx>/gwenU?", "Enter"]:
        assert any(re.search(rf"(^|\s){re.escape(key)}(\s|$)", s) for s in shown), key


def test_a_row_is_rejected_and_made_primary_by_its_own_buttons(page, served):
    one, three = category(page, 1), category(page, 3)
    rows = page.locator("li.choice")
    rows.nth(2).get_by_role("button", name="primary").click()
    rows.nth(0).get_by_role("button", name="Reject").click()
    assert sorted(chips(page)) == sorted(
        [f"not {names(page)[0]}", f"★ {names(page)[2]}"]
    )
    decided = onward(page, "Accept")
    assert set(acts(served, decided)) == {("reject", one), ("primary", three)}


def test_one_category_is_preferred_by_three_clicks(page, served):
    button(page, "prefer").click()
    assert "better category" in page.locator("[data-chosen]").inner_text()
    rows = page.locator("li.choice label .name")
    rows.nth(4).click()
    rows.nth(1).click()
    five, two = category(page, 5), category(page, 2)
    decided = onward(page, "Save")
    assert set(served.desk.store.preferences()[decided]) == {(five, two)}


def test_the_pointer_shows_reasons_and_the_row_of_before_comes_back(page):
    page.keyboard.press("j")
    page.mouse.move(10, 200)
    page.locator("li.choice").nth(6).hover()
    shown = page.locator(".of-focused > div:not([hidden]) .where")
    assert names(page)[6] in shown.inner_text()
    page.locator(".document h1").hover()
    assert names(page)[1] in shown.inner_text()
    button(page, "primary").click()
    assert chips(page) == [f"★ {names(page)[1]}"]


def test_a_note_similar_documents_evidence_and_the_guideline_by_buttons(page):
    button(page, "evidence").click()
    assert page.locator(".decide.quiet").count() == 1
    button(page, "similar").click()
    page.locator("[data-alike] li a").first.wait_for()
    for words, dialog in (
        ("comment", "#note"), ("guideline", "#guideline"), ("search", "#finder"),
        ("help", "#keys"),
    ):  # fmt: skip
        button(page, words).click()
        page.locator(f"{dialog}[open]").get_by_role("button", name="Close").click()
        assert page.locator("dialog[open]").count() == 0


def test_undo_and_redo_by_buttons_and_keys_go_on_working(page, served):
    first = onward(page, "Accept")
    button(page, "Undo").click()
    page.locator(f"[data-decide][data-document='{first}']").wait_for()
    assert not served.desk.store.record(first).labels
    button(page, "redo").click()
    page.get_by_text(re.compile("^redone #")).wait_for()
    assert served.desk.store.record(first).labels
    onward(page, "Skip")
    button(page, "next").click()
    assert page.locator("li.choice").nth(1).get_attribute("class").endswith("focused")
    page.keyboard.press("Enter")
    page.get_by_text(re.compile("^saved #")).wait_for()


def test_a_phone_shows_document_five_suggestions_and_accept(phone):
    seen = [
        phone.locator(".document h1"),
        phone.locator(".document .text mark").first,
        *phone.locator("li.choice").all()[:5],
        phone.locator(".acts .main"),
    ]
    bar = phone.locator(".acts").bounding_box()
    for each in seen[:-1]:
        box = each.bounding_box()
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= PHONE["width"]
        assert box["y"] + box["height"] <= bar["y"]
    assert bar["y"] + bar["height"] <= PHONE["height"]
    assert phone.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]
    assert phone.evaluate("scrollY") == 0


def test_a_phone_decides_by_touch(phone, served):
    two = category(phone, 2)
    phone.locator("li.choice label .name").nth(1).tap()
    assert chips(phone) == [names(phone)[1]]
    before = document(phone)
    phone.locator(".acts .main").tap()
    phone.locator(f"[data-decide]:not([data-document='{before}'])").wait_for()
    assert acts(served, before) == [("assign", two)]
    phone.locator(".foot").get_by_role("button", name="comment").tap()
    assert phone.locator("dialog#note").is_visible()
