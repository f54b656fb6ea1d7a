"""Search is improved in the browser: rankers learned and compared, orders tried."""

import pytest

from classmark.datasets import load
from classmark.workbench.search.clicks import read_impressions
from classmark.workbench.search.index import index_project
from web.browser.test_axe import everywhere

PATIENCE = 120_000  # milliseconds of a training
HERE = "/settings/search"


@pytest.fixture
def judged():
    """Queries of the library, a line each, and their judgments: two halves."""
    library = load("library")
    names = sorted(library.qrels)
    return [
        (
            "\n".join(f"{name}\t{library.queries[name]}" for name in half),
            "\n".join(
                f"{name} 0 {document} {grade:g}"
                for name in half
                for document, grade in library.qrels[name].items()
            ),
        )
        for half in (names[::2], names[1::2])
    ]


def begin(page, button, judged):
    """Fill in judged queries, and press the button of their form."""
    form = page.locator("form", has=page.get_by_role("button", name=button))
    queries, judgments = judged
    form.get_by_label("Queries, one per line").fill(queries)
    form.get_by_label("Judgments, one per line").fill(judgments)
    if (force := form.get_by_label("use it even if")).count():
        force.check()
    with page.expect_navigation():
        form.get_by_role("button", name=button).press("Enter")


def test_a_ranker_is_trained_read_stopped_used_and_compared(page, served, judged):
    index_project(served.desk)
    page.goto(HERE)
    begin(page, "Train on judgments", judged[0])
    report = page.get_by_role("link", name="ranker 1", exact=True)
    report.wait_for(timeout=PATIENCE)
    report.press("Enter")
    page.get_by_role("heading", name="Most important features").wait_for()
    assert not everywhere(page, page.url)
    page.goto(HERE)
    page.get_by_role("button", name="Stop using ranker 1").press("Enter")
    page.get_by_role("button", name="Use ranker 1").press("Enter")
    page.get_by_role("button", name="Stop using ranker 1").wait_for()
    page.goto("/search?q=bees")
    page.locator("summary", has_text="Model and parameters").press("Enter")
    assert "ranker 1 (in use)" in page.get_by_label("Order by").inner_text()
    page.goto(HERE)
    begin(page, "Compare", judged[1])
    served.desk.jobs.wait(PATIENCE / 1000)
    page.goto(HERE)
    cells = page.locator(".rows-wide td").all_inner_texts()
    assert {"ranker 1", "in service"} <= set(cells)
    assert not everywhere(page, page.url)


def test_two_orders_are_tried_on_those_who_search(page, served):
    index_project(served.desk)
    page.goto(HERE)
    choice = page.get_by_label("Experiment with searches")
    choice.select_option(label="swap neighbouring results at random")
    page.get_by_role("button", name="Set", exact=True).press("Enter")
    page.get_by_text("the experiment has started").wait_for()
    for words in ("bees", "harbour", "bread"):
        page.goto(f"/search?q={words}")
        assert "logged without your name" in page.locator(".foot").inner_text()
        page.locator(".hits h2 a").first.press("Enter")
        page.wait_for_url("**/decide/**")
    lists = read_impressions(served.desk.store)
    assert [len(each.clicked) for each in lists] == [1, 1, 1]
    page.goto(HERE)
    chosen = page.get_by_label("Experiment with searches")
    assert chosen.input_value() == "swaps"
    assert not everywhere(page, page.url)
