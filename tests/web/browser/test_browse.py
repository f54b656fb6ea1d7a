"""Inbox and Taxonomy with the mouse unplugged, in a real browser."""

import json
import re

import pytest

from classmark.workbench.search.index import index_project


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
    page.get_by_role("button", name="Accept ticked documents").click()
    page.wait_for_url("**/inbox?saved**")
    said = page.locator(".saved").inner_text()
    assert f"{count - 1} document" in said
    waiting = {
        served.desk.store.document(id_).fields["title"]
        for id_ in served.desk.state.waiting
    }
    assert left in waiting


@pytest.mark.parametrize("width", [390, 1366])
def test_inbox_documents_are_labelled_together_and_taken_back(page, served, width):
    page.set_viewport_size({"width": width, "height": 800})
    before = dict(served.desk.state.labels)
    page.goto("/inbox")
    press(page, "j", "Space", "j", "Space")
    ticked = page.locator("input[name=ticked]:checked")
    ids = ticked.evaluate_all("all => all.map(each => each.value)")
    assert len(ids) == 2
    page.get_by_label("Category").fill("Insects and bees")
    page.get_by_role("button", name="Label selected").press("Enter")
    page.get_by_text("The documents have been labelled.").wait_for()
    now = served.desk.state.follow(served.desk.store).labels
    assert set(now) - set(before) == set(ids)
    page.get_by_role("button", name="Undo").press("Enter")
    page.get_by_text("undone").wait_for()
    assert served.desk.state.follow(served.desk.store).labels == before
    page.goto("/inbox?words=harbour")
    page.get_by_label("Category").fill("Insects and bees")
    page.get_by_role("button", name="matching document").press("Enter")
    page.get_by_text("No matching documents").wait_for()
    page.get_by_role("button", name="Undo").press("Enter")
    page.locator("[data-rows] .title").first.wait_for()
    assert served.desk.state.follow(served.desk.store).labels == before


def test_what_the_filters_leave_is_exported(page, served, tmp_path):
    index_project(served.desk)
    counts = []
    for address in ("/inbox?words=harbour", "/search?q=harbour&show=decided"):
        page.goto(address)
        page.locator("summary", has_text="Export").press("Enter")
        with page.expect_download() as sent:
            page.get_by_role("link", name="jsonl").press("Enter")
        sent.value.save_as(path := tmp_path / f"{len(counts)}.jsonl")
        rows = [json.loads(line) for line in path.read_text().splitlines()]
        assert all("harbour" in json.dumps(row).lower() for row in rows)
        counts.append([bool(row.get("labels")) for row in rows])
    assert set(counts[0]) == {False}
    assert set(counts[1]) == {True}


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
    first = page.locator("details[open] [role=option]:first-child")
    first.filter(has_text="Wrecks").wait_for()
    press(page, "Enter")
    chosen = page.locator("details[open] input[name=to_name]").input_value()
    assert chosen.endswith(" › Wrecks, lifeboats, smuggling")
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


@pytest.mark.parametrize(
    "address",
    ["/search?q=bees&show=all&category=place.shore", "/history", "/inbox"],
)
def test_categories_are_found_by_their_names_on_every_page(page, served, address):
    index_project(served.desk)
    page.goto(address)
    page.evaluate(
        "for (const each of document.querySelectorAll('details')) each.open = true"
    )
    field = page.locator("[data-picker] input").first
    field.fill("")
    field.press_sequentially("herri")
    first = page.locator("[data-picker] [role=option]").first
    first.filter(has_text="Fishing").wait_for()
    field.press("Enter")
    assert field.input_value().endswith(" › Fishing and boatbuilding")


def test_a_search_in_a_category_is_asked_and_shown_by_its_name(page, served):
    index_project(served.desk)
    page.goto("/search?q=the&category=Fishing+and+boatbuilding")
    shown = page.get_by_label("Category, including those below").input_value()
    assert shown.endswith(" › Fishing and boatbuilding")
    assert (
        "in Fishing and boatbuilding and below" in page.locator(".facets").inner_text()
    )


def test_a_new_category_needs_a_name_alone(page, served):
    page.goto("/taxonomy?at=place.shore.fishing")
    page.get_by_text("Add a category below").click()
    page.locator("details[open] [name=label]").fill("Nets & lines")
    page.locator("details[open] [name=label]").press("Enter")
    page.wait_for_url("**/taxonomy/preview**")
    page.locator(".foreseen button.main").click()
    page.locator(".saved", has_text="added").wait_for()
    assert (
        served.desk.categories["place.shore.fishing.nets-lines"].name == "Nets & lines"
    )
