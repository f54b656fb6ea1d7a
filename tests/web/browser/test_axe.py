"""Every page can be used by everybody: axe finds nothing, by day and by night."""

import pytest
from axe_playwright_python.sync_playwright import Axe

from classmark.corpus.documents import Document
from classmark.formats.records import Record
from classmark.workbench.deciding.decide import Decision, decide_on, note_on
from classmark.workbench.examples.like import SearchStart
from classmark.workbench.examples.open_searches import begin_for, mark
from classmark.workbench.files.importing import import_records
from classmark.workbench.search.index import index_project
from classmark.workbench.search.interleaving import begin_experiment
from classmark.workbench.store.log import whoami
from classmark.workbench.team.work import give
from projects import new_project
from web.browser.pages import PAGES

SCREENS = {390: 844, 768: 1024, 1366: 768, 1920: 1080}
RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]
FULL = "nature.animals.insects"  # a category with documents to group
MADE = {  # pages of what the fixture has made
    "an upload": "",
    "a search by example": "/like/1",
    "its answers": "/like/1/answered?show=answered",
    "why": "/like/1/why/r1010",
    "a range": "/history/range?first=1&last=900",
    "documents labelled": "/inbox?labelled=1",
    "the tree analysed": "/taxonomy",
    "subcategories proposed": f"/taxonomy?at={FULL}",
}
RUN = """rules => axe.run(document, {runOnly: rules, resultTypes: ["violations"]})
  .then(found => found.violations.flatMap(rule => rule.nodes.map(node =>
    `${rule.id}: ${node.html.slice(0, 120)} (${node.failureSummary})`)))"""


@pytest.fixture
def told(page, served, tmp_path):
    """Something was decided and undone, searched, analysed and sent."""
    desk = served.desk
    for address, summary, button in (
        ("/taxonomy", "Analyse the tree", "Analyse"),
        (f"/taxonomy?at={FULL}", "Propose subcategories", "Propose"),
    ):
        page.goto(address)
        page.locator("summary", has_text=summary).click()
        page.get_by_role("button", name=button, exact=True).click()
        desk.jobs.wait(120)
    page.goto("/decide")
    linked = Document("n0", {"title": "Hives", "text": "of straw"})
    with desk.writing() as project:
        import_records(project, [Record(linked, links=(("r1001", "a"),))], "a file")
    index_project(desk)
    note_on(desk, "r1001", f"what does @{whoami()} say?", "bo")
    give(desk, whoami(), "ada", documents=["r1002", "r1003"])
    desk.webhooks.add("https://example.org/hook", ["decided"], "ada")
    begin_experiment(desk, "swaps", "ada")
    mark(desk, "ada", begin_for(desk, "ada", SearchStart(("r1004",))), {"r1010": "yes"})
    for key in ("1", "Enter", "2", "Enter", "u"):
        page.keyboard.press(key)
        page.wait_for_timeout(300)
    (path := tmp_path / "notes.csv").write_text("id;text;x\nn1;a hive;\nn2;rye;5\n")
    page.goto("/files")
    page.locator("input[type=file]").first.set_input_files(path)
    page.get_by_role("button", name="Upload and preview").click()
    page.wait_for_url("**/files/waiting/**")
    return page


def addresses(page):
    """Name → address of every page there is."""
    return PAGES | MADE | {"an upload": page.url}


def violations(page):
    """What axe finds wrong in a page, a line each."""
    if not page.evaluate("typeof axe === 'object'"):
        page.evaluate(Axe().axe_script)
    return page.evaluate(RUN, RULES)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing(told, scheme):
    """Each page is loaded once, and looked at in every width."""
    wrong = []
    told.emulate_media(color_scheme=scheme)
    for name, address in addresses(told).items():
        told.goto(address)
        for width, height in SCREENS.items():
            told.set_viewport_size({"width": width, "height": height})
            found = violations(told)
            wrong += [f"{name} at {width}, {scheme}: {each}" for each in found]
    assert not wrong, "\n".join(wrong)


EMPTY = ("start", "inbox", "taxonomy", "like", "search", "suggest", "history",
         "progress", "progress/agreement", "progress/evaluation", "files", "work",
         "settings/model", "settings/search")  # fmt: skip


def everywhere(page, name):
    """What axe finds wrong in a page that is shown, in every width, day and night."""
    wrong = []
    for scheme in ("dark", "light"):
        page.emulate_media(color_scheme=scheme)
        for width, height in SCREENS.items():
            page.set_viewport_size({"width": width, "height": height})
            found = violations(page)
            wrong += [f"{name} at {width}, {scheme}: {each}" for each in found]
            if page.evaluate("document.documentElement.scrollWidth") > width:
                wrong.append(f"{name} is wider than {width}")
    return wrong


def test_axe_finds_nothing_in_an_empty_project(browser, serve_folder, tmp_path):
    folder = new_project(tmp_path / "empty", [], [])
    with serve_folder(folder) as served:
        context = browser.new_context(base_url=served.address)
        page = context.new_page()
        page.goto("/enter")
        wrong = everywhere(page, "log-in")
        page.goto(f"{served.address}/enter#{served.code}")
        page.wait_for_url("**/start")
        for address in EMPTY:
            page.goto(f"/{address}")
            wrong += everywhere(page, address)
        context.close()
    assert not wrong, "\n".join(wrong)


def test_axe_finds_nothing_in_what_opens_on_decide(page, served):
    wrong = []
    dialogs = {"/": "#finder", "n": "#note", "g": "#guideline", "?": "#keys"}
    for key, dialog in dialogs.items():
        page.keyboard.press(key)
        page.locator(f"{dialog}[open]").wait_for()
        wrong += everywhere(page, dialog)
        page.keyboard.press("Escape")
    page.keyboard.press("e")
    page.locator("[data-alike] li a").first.wait_for()
    page.keyboard.press("1")
    wrong += everywhere(page, "similar documents, a choice")
    document = page.locator("[data-decide]").get_attribute("data-document")
    decide_on(served.desk, document, Decision(("place.shore.fishing",)), {}, "bo")
    page.keyboard.press("Enter")
    page.get_by_role("heading", name="Their decision").wait_for()
    wrong += everywhere(page, "two decisions")
    assert not wrong, "\n".join(wrong)


def test_no_page_is_wider_than_the_window(told):
    """683 × 384 is 1366 × 768 at 200 %."""
    for name, address in addresses(told).items():
        told.goto(address)
        for width, height in (*SCREENS.items(), (1024, 768), (683, 384)):
            told.set_viewport_size({"width": width, "height": height})
            wide = told.evaluate("document.documentElement.scrollWidth")
            assert wide <= width, (name, width)
