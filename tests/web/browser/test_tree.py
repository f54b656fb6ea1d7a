"""The taxonomy by mouse: sorted, searched by name, moved by dragging, however large."""

from time import thread_time

import pytest

from classmark.taxonomy.category import Category
from classmark.workbench.categories.browse import TreeOrder, level_of, tree_to
from classmark.workbench.categories.edit import move
from projects import new_desk

MANY = 50_000
QUICK = 1.0  # seconds of this thread


def lines(page):
    return page.locator("[data-tree] > li > .line > a").all_inner_texts()


def test_the_tree_is_sorted_as_one_likes(page, served):
    page.goto("/taxonomy")
    assert lines(page) == sorted(lines(page), key=str.casefold)
    page.get_by_role("link", name="documents", exact=True).click()
    counts = page.locator("[data-tree] > li > .line > .held").all_inner_texts()
    counts = [int(text.replace(",", "")) for text in counts]
    assert counts == sorted(counts, reverse=True)
    page.goto("/taxonomy")  # it stays so
    assert page.locator(".sorting b").inner_text() == "documents"
    del served


def test_a_category_is_dragged_below_another(page, served):
    tree = served.desk.tree
    moved, target = tree.roots[0], tree.roots[1]
    page.goto("/taxonomy")
    page.locator(f".line[data-category='{moved}'] > a").drag_to(
        page.locator(f".line[data-category='{target}']")
    )
    page.wait_for_url("**/taxonomy/preview**")
    assert served.desk.categories[target].name in page.locator("main").inner_text()
    page.get_by_role("button", name="Move").click()
    page.get_by_role("button", name="Undo").wait_for()
    assert served.desk.tree.path(moved) == [target, moved]


def test_a_category_is_not_dropped_below_itself(page, served):
    tree = served.desk.tree
    root = tree.roots[0]
    page.goto(f"/taxonomy?at={tree.children(root)[0]}")
    child = page.locator(f".line[data-category='{tree.children(root)[0]}']")
    page.locator(f".line[data-category='{root}'] > a").drag_to(child)
    assert "/preview" not in page.url


def test_a_picker_shows_names_and_sends_the_id(page, served):
    page.goto("/taxonomy?at=place.shore.fishing")
    page.get_by_text("Move", exact=True).click()
    page.get_by_label("Under").fill("astron")
    page.locator("details[open] [role=option]").first.click()
    assert "Astronomy" in page.get_by_label("Under").input_value()
    page.locator("details[open]").get_by_role("button", name="Preview").click()
    page.get_by_role("button", name="Move").click()
    page.get_by_role("button", name="Undo").wait_for()
    path = served.desk.tree.path("place.shore.fishing")
    assert path[-2:] == ["science.exact.sky", "place.shore.fishing"]


def test_a_name_that_is_typed_in_full_is_enough(page):
    page.goto("/taxonomy?at=place.shore.fishing")
    page.get_by_text("Move", exact=True).click()
    page.get_by_label("Under").fill("no such name")
    page.get_by_text("No category matches").wait_for()
    page.keyboard.press("Escape")
    page.locator("details[open]").get_by_role("button", name="Preview").click()
    assert "Not saved" in page.get_by_role("alert").inner_text()
    page.get_by_label("Under").fill("Astronomy")
    page.locator("details[open] [role=option]").first.wait_for()
    page.keyboard.press("Escape")
    page.locator("details[open]").get_by_role("button", name="Preview").click()
    page.get_by_role("button", name="Move").wait_for()


@pytest.fixture(scope="module")
def large(tmp_path_factory):
    """A tree of 50,000 categories in no order; the half of it at the top."""
    tree = [
        Category(
            f"c{n}",
            f"Subject {n * 7919 % MANY}",
            parents=() if n < MANY // 2 else (f"c{n % 100}",),
        )
        for n in range(MANY)
    ]
    rows = [{"id": f"d{n}", "text": "salt", "labels": [f"c{n}"]} for n in range(50)]
    with new_desk(tmp_path_factory.mktemp("large") / "p", rows, tree) as desk:
        yield desk


def test_a_large_tree_is_read_quickly(large):
    for by in ("name", "documents", "disputes"):
        order = TreeOrder(by)
        began = thread_time()
        level = tree_to(large, "c49999", order)
        assert thread_time() - began < QUICK
        assert len(level.twigs) == 200
    names = [twig.category.name for twig in level_of(large).twigs]
    assert names == sorted(names, key=lambda name: int(name.split()[1]))


def test_a_long_level_is_entered_by_its_letters(browser, serve_folder, tmp_path):
    from projects import new_project

    names = [f"{letter}{n:03}" for letter in "abc" for n in range(150)]
    folder = new_project(tmp_path / "long", [], [Category(n, n) for n in names])
    with serve_folder(folder) as served:
        context = browser.new_context(base_url=served.address)
        page = context.new_page()
        page.goto(f"/enter#{served.code}")
        page.wait_for_url("**/start")
        page.goto("/taxonomy")
        assert lines(page)[0] == "a000"
        page.get_by_role("button", name="From C").click()
        page.locator(".line > a:focus").wait_for()
        assert lines(page)[0] == "c000"
        context.close()


def test_what_moves_is_sorted_in_its_new_place(large):
    move(large, "c200", "c7", "ada")
    large.look_again()
    names = [twig.category.name for twig in level_of(large, "c7").twigs]
    assert names == sorted(names, key=lambda name: int(name.split()[1]))
