"""Inbox and Taxonomy with the mouse unplugged, in a real browser."""

import re

import pytest


def press(page, *keys):
    for key in keys:
        page.keyboard.press(key)


def test_a_document_is_opened_from_the_inbox_by_keys(page):
    page.goto("/inbox")
    press(page, "j", "j")
    title = page.evaluate("document.activeElement.textContent")
    assert title == page.locator("[data-rows] .title").nth(1).inner_text()
    press(page, "Enter")
    page.wait_for_url("**/decide/**")
    assert page.locator("h1").first.inner_text() == title


def test_words_narrow_the_inbox_and_deciding_follows(page, served):
    page.goto("/inbox")
    press(page, "/")
    page.keyboard.type("harbour")
    press(page, "Enter")
    page.wait_for_url("**words=harbour**")
    shown = page.locator("[data-rows] tbody tr").count()
    assert 0 < shown < 10
    page.get_by_role("button", name="Decide in this order").focus()
    press(page, "Enter")
    page.wait_for_url("**/decide/**")
    document = page.locator("[data-decide]").get_attribute("data-document")
    assert "harbour" in served.desk.store.document(document).text.lower()


def test_sure_guesses_are_accepted_but_for_one(page, served):
    assert served.desk.background.ordered(60)
    page.goto("/inbox/accept?least=0.8")
    count = page.locator("input[name=pick]").count()
    assert count > 1
    press(page, "j", "Space")
    assert page.locator("input[name=pick]:checked").count() == count - 1
    left = page.locator("[data-rows] .title").first.inner_text()
    page.get_by_role("button", name="Accept what is ticked").click()
    page.wait_for_url("**/inbox?saved**")
    said = page.locator(".saved").inner_text()
    assert f"accepted {count - 1} documents" in said
    waiting = {
        served.desk.store.document(id_).fields["title"]
        for id_ in served.desk.state.waiting
    }
    assert left in waiting


def test_the_tree_is_walked_by_keys(page):
    page.goto("/taxonomy")
    press(page, "j", "l")
    first = page.locator("[data-tree] > .twig").first
    first.locator(".level .twig").first.wait_for()
    press(page, "l", "l", "l")
    page.wait_for_timeout(300)
    press(page, "Enter")
    page.wait_for_url("**/taxonomy?at=*")
    assert page.locator(".line.at").count() == 1
    assert page.locator(".way a").count() >= 1
    press(page, "k", "h")
    page.locator(".line.at").first.wait_for()


def test_search_as_you_type(page):
    page.goto("/taxonomy")
    press(page, "/")
    page.keyboard.type("herri")
    page.locator("#seeker-found [role=option]").first.wait_for()
    press(page, "ArrowDown", "ArrowUp", "Enter")
    page.wait_for_url(re.compile(r"at=place\.shore\.fishing"))
    assert "Fishing and boatbuilding" in page.locator(".node .name").inner_text()


def test_a_merge_by_keys_and_back(page, served):
    page.goto("/taxonomy?at=place.shore.fishing")
    page.get_by_text("Merge into another").focus()
    press(page, "Enter", "Tab")
    page.keyboard.type("wrecks")
    page.locator("details[open] [role=option]").first.wait_for()
    press(page, "Enter")
    assert page.locator("details[open] input[name=to]").input_value() == (
        "place.shore.rescue"
    )
    press(page, "Enter")
    page.wait_for_url("**/taxonomy/preview**")
    assert "Documents that move there: 52" in page.locator(".foreseen").inner_text()
    press(page, "Enter")
    page.wait_for_url("**at=place.shore.rescue**")
    assert "place.shore.fishing" not in served.desk.categories
    page.get_by_role("button", name="Undo").click()
    page.locator(".saved", has_text="undone").wait_for()
    assert "place.shore.fishing" in served.desk.categories


def test_a_guideline_is_written_and_read(page, served):
    page.goto("/taxonomy?at=place.shore.fishing")
    page.get_by_text("Description and guideline").click()
    page.locator("textarea[name=guideline]").fill("Boats for pleasure go elsewhere.")
    page.get_by_role("button", name="Save", exact=True).click()
    page.locator(".prose", has_text="Boats for pleasure").wait_for()
    category = served.desk.categories["place.shore.fishing"]
    assert category.guideline == "Boats for pleasure go elsewhere."


@pytest.mark.parametrize("where", ["/inbox", "/taxonomy?at=place.shore.fishing"])
def test_nothing_sticks_out_at_twice_the_size(page, where):
    page.set_viewport_size({"width": 683, "height": 384})
    page.goto(where)
    wide = page.evaluate("document.documentElement.scrollWidth - innerWidth")
    assert wide <= 0
