"""From an empty project to the first learned decision, in a real browser."""

import os

import pytest

from web.browser.keyboard import chips, names, onward, press

TEXTS = """Bees in May
The queen leaves the hive with half of the swarm.

A loaf of rye
Dough rests in the oven's warmth until the yeast has worked.

Wax
Bees make comb, and the hive smells of honey.

Crust
The oven is hot, the dough is knead, the loaf is rye."""
LIST = "Crafts\n  Bread\n  Candles\nNature\n  - Bees"


def pictured(page, name):
    """Keep a picture where PICTURES names a folder."""
    if folder := os.environ.get("PICTURES"):
        page.screenshot(path=f"{folder}/{name}.png")


@pytest.fixture
def empty(browser, serve_folder, new_folder):
    """The pages of a project with nothing in it."""
    with serve_folder(new_folder) as served:
        context = browser.new_context(
            viewport={"width": 1366, "height": 768}, base_url=served.address
        )
        page = context.new_page()
        page.goto(f"{served.address}/enter#{served.code}")
        page.wait_for_url("**/start")
        page.served = served
        yield page
        context.close()


@pytest.fixture
def new_folder(tmp_path):
    from projects import new_project

    return new_project(tmp_path / "empty", [], [])


def test_an_empty_project_leads_to_the_first_decision(empty):
    page, desk = empty, empty.served.desk
    pictured(page, "start")
    page.get_by_label("Texts").fill(TEXTS)
    page.get_by_role("button", name="Add documents").click()
    page.get_by_text("4 in the project").wait_for()
    page.get_by_label("One category per line").fill(LIST)
    page.get_by_role("button", name="Preview").click()
    ids = page.locator("input[name=id]")
    assert [each.input_value() for each in ids.all()] == [
        "crafts", "crafts.bread", "crafts.candles", "nature", "nature.bees",
    ]  # fmt: skip
    pictured(page, "start-preview")
    page.get_by_label("Id of Bees").fill("bees")
    page.get_by_role("button", name="Add categories").click()
    page.get_by_text("5 in the taxonomy").wait_for()
    page.get_by_role("link", name="Start deciding").click()
    page.locator("[data-decide]").wait_for()
    pictured(page, "start-decide")
    assert names(page) == ["Crafts", "Bread", "Candles", "Nature", "Bees"]
    assert "Training is due after 50" in page.locator(".document").inner_text()
    press(page, "Enter")  # nothing is ranked, so nothing is accepted unseen
    page.get_by_text("Nothing is chosen yet").wait_for()
    press(page, "5")
    assert chips(page) == ["Bees"]
    first = onward(page, "Enter")
    assert set(desk.store.record(first).labels) == {"bees"}
    press(page, "2")
    onward(page, "Enter")
    assert desk.learned()
    onward(page, "s")
    assert names(page) == ["Crafts", "Bread", "Candles", "Nature", "Bees"]
    assert page.locator("[data-unranked]").count() == 1  # so Enter accepts no guess


def test_a_category_is_made_where_it_is_missed(empty):
    page, desk = empty, empty.served.desk
    page.get_by_label("Texts").fill(TEXTS)
    page.get_by_role("button", name="Add documents").click()
    page.get_by_label("One category per line").fill("Bees\nBread")
    page.get_by_role("button", name="Preview").click()
    page.get_by_role("button", name="Add categories").click()
    page.get_by_role("link", name="Start deciding").click()
    page.locator("[data-decide] li.focused").wait_for()
    press(page, "/")
    page.keyboard.type("Candle wax")
    page.get_by_role("button", name="New category").click()
    page.get_by_label("Under").select_option("bees")
    pictured(page, "new-category")
    page.get_by_role("button", name="Add and choose it").click()
    page.locator("#new-category").wait_for(state="hidden")
    assert chips(page) == ["Candle wax"]
    decided = onward(page, "Enter")
    assert set(desk.store.record(decided).labels) == {"bees.candle-wax"}
    assert sorted(names(page)) == ["Bees", "Bread", "Candle wax"]


def test_a_list_that_cannot_be_read_is_refused_with_its_line(empty):
    empty.get_by_text("Type a list").click()
    empty.get_by_label("One category per line").fill("Bees [b]\nBread [b]")
    empty.get_by_role("button", name="Preview").click()
    assert "line 2" in empty.get_by_role("alert").inner_text()
