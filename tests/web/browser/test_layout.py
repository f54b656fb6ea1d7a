"""Where things stand on a screen of 1366 × 768, by their boxes."""

import pytest

from classmark.corpus.documents import Document
from classmark.formats.records import Record
from classmark.workbench.deciding.decide import Decision, decide_on, undo_for
from classmark.workbench.files.importing import import_records
from classmark.workbench.search.index import index_project
from web.browser.keyboard import onward
from web.browser.pages import PAGES

LONG = "wilhelmina.van-der-meulen-oudkerk@libraries.example.org"
TALLY = "128,816 / 1,128,620"
SAY = f"document.querySelector('.tally .brief').textContent = '{TALLY}'"


def boxes(page, selector):
    return [
        box
        for each in page.locator(selector).all()
        if (box := each.bounding_box()) is not None and box["width"]
    ]


@pytest.fixture
def busy(served):
    """A project in which people with long names said much of long documents."""
    ids = ["urn:nbn:eskerton-" + "0123456789" * 3 + str(at) for at in range(3)]
    with served.desk.writing() as project:
        records = [
            Record(Document(id_, {"title": f"On bees {id_}", "text": "Bees and hives"}))
            for id_ in ids
        ]
        import_records(project, records, "a file")
    categories = list(served.desk.categories)
    for at, id_ in enumerate(ids):
        first, second, third = categories[at], categories[at + 9], categories[at + 18]
        decision = Decision((first, second), over=((first, third),), note="long" * 40)
        decide_on(served.desk, id_, decision, None, LONG)
    undo_for(served.desk, LONG)
    return served


@pytest.mark.parametrize("width", [1366, 1280])
def test_the_buttons_of_history_are_to_be_seen(page, busy, width):
    del busy
    page.set_viewport_size({"width": width, "height": 768})
    page.goto("/history")
    buttons = boxes(page, ".change button, .change summary")
    assert len(buttons) > 10
    edge = page.evaluate("document.documentElement.clientWidth")
    assert max(box["x"] + box["width"] for box in buttons) <= edge
    assert min(box["x"] for box in buttons) > edge / 2
    page.locator(".correct summary").first.click()
    opened = boxes(page, ".correct[open] form, .correct[open] :is(input, button, a)")
    assert max(box["x"] + box["width"] for box in opened) <= edge


@pytest.mark.parametrize("address", ["/decide", "/inbox", "/taxonomy", "/history"])
def test_the_page_begins_and_ends_where_the_header_does(page, address):
    page.set_viewport_size({"width": 1920, "height": 1080})
    page.goto(address)
    (brand,) = boxes(page, ".brand")
    (person,) = boxes(page, ".person")
    (first,) = boxes(page, "footer.foot > :first-child")[:1] or boxes(page, ".brand")
    sheets = boxes(page, "main .sheet, main h1, main table")
    assert abs(min(box["x"] for box in sheets) - brand["x"]) <= 1
    ends = max(box["x"] + box["width"] for box in sheets)
    assert abs(ends - (person["x"] + person["width"])) <= 1
    assert abs(first["x"] - brand["x"]) <= 1


@pytest.mark.parametrize("width", [1280, 1366, 1440])
def test_nothing_jumps_when_something_is_decided(page, width):
    """Of two documents of one kind, all but the text stays where it was."""
    fixed = ".top, .top *, .foot .hint-key, .beside, .choices, .of-focused, .acts > *"
    page.set_viewport_size({"width": width, "height": 768})
    before = boxes(page, fixed)
    for key in ("Enter", "s", "Enter", "u"):
        onward(page, key)
        page.locator("[data-learned]:not(:empty)").wait_for()
        assert boxes(page, fixed) == before


@pytest.mark.parametrize("width", [1366, 1280])
def test_the_header_stays_a_line_high_after_decisions(page, served, width):
    page.set_viewport_size({"width": width, "height": 768})
    (before,) = boxes(page, ".top")
    name = {"name": "Eskerton and Cold Hythe, county record office"}
    served.desk.change_settings(name, "ada")
    for _ in range(2):
        onward(page, "Enter")
    page.locator("[data-learned]:not(:empty)").wait_for()
    assert boxes(page, ".top") == [before]
    page.evaluate(SAY)
    assert boxes(page, ".top") == [before]
    for address in PAGES.values():
        page.goto(address)
        page.evaluate(SAY)
        assert boxes(page, ".top") == [before], address
        links = boxes(page, ".top nav a")
        (tally,) = boxes(page, ".top .tally")
        assert max(box["x"] + box["width"] for box in links) < tally["x"]
        assert tally["x"] + tally["width"] <= width
        assert is_whole(page, ".tally"), address


def is_whole(page, selector):
    """Whether nothing of a line is cut."""
    return page.locator(selector).evaluate("it => it.scrollWidth <= it.clientWidth")


def test_every_curve_of_a_plot_is_to_be_seen(page):
    """Its stroke, by the style: an evaluation may compare many learners."""
    strokes = page.evaluate("""() => Array.from({length: 12}, (_, at) => {
      const figure = document.createElement("figure");
      figure.className = "plot";
      figure.innerHTML = `<svg><polyline class="curve c${at + 1}"/></svg>`;
      document.body.append(figure);
      return getComputedStyle(figure.querySelector("polyline")).stroke;
    })""")
    assert "none" not in strokes
    assert len(set(strokes[:5])) == 5


def test_facets_leave_the_first_screen_of_a_phone_to_the_hits(page, served):
    index_project(served.desk)
    page.set_viewport_size({"width": 390, "height": 844})
    page.goto("/search?q=the+bees+garden")
    (facets,) = boxes(page, ".facets")
    (first,) = boxes(page, ".hits > li:first-child")
    assert facets["height"] < 60
    assert first["y"] < 500


def test_the_last_row_of_a_table_has_no_line_below(page):
    page.goto("/inbox")
    widths = page.evaluate("""() => {
      const place = document.createElement("div");
      place.className = "rows-wide";
      place.innerHTML = "<table><tbody><tr><th>a</th><td>b</td></tr></tbody></table>";
      document.body.append(place);
      return [...place.querySelectorAll("th, td")].map(
        (it) => getComputedStyle(it).borderBottomWidth);
    }""")
    assert widths == ["0px", "0px"]


def test_the_tally_is_whole_beside_the_link_to_several_projects(page):
    page.set_viewport_size({"width": 1366, "height": 768})
    page.evaluate("""() => {
      const link = document.querySelector(".top nav a").cloneNode();
      link.textContent = "Projects";
      document.querySelector(".top nav").prepend(link);
    }""")
    page.evaluate(SAY)
    assert is_whole(page, ".tally")
    (top,) = boxes(page, ".top")
    assert max(box["x"] + box["width"] for box in boxes(page, ".top *")) <= top["width"]
