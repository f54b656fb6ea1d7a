"""The Decide page as the tests use it: keys, and what is to be seen."""


def document(page):
    return page.locator("[data-decide]").get_attribute("data-document")


def names(page):
    return page.locator("li.choice .name").all_inner_texts()


def chips(page):
    return page.locator("[data-chosen] .chip > span").all_inner_texts()


def press(page, *keys):
    for key in keys:
        page.keyboard.press(key)


def onward(page, key):
    """Press a key that leads to another document; wait until it is there."""
    before = document(page)
    page.keyboard.press(key)
    page.locator(f"[data-decide]:not([data-document='{before}'])").wait_for()
    return before


def at(page, document):
    """Wait until a document is there."""
    page.locator(f"[data-decide][data-document='{document}']").wait_for()


def acts(served, document):
    rows = served.desk.store.run(
        "SELECT act, c.id FROM judgments AS j LEFT JOIN categories AS c "
        "ON c.number = j.category WHERE document = ? ORDER BY seq",
        (document,),
    )
    return [tuple(row) for row in rows]


def category(page, number):
    return page.locator("li.choice").nth(number - 1).get_attribute("data-category")
