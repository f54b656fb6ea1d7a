"""Find by example, Search and Import with the mouse unplugged, in a real browser."""

import json

import pytest

from classmark.workbench.deciding.decide import Decision, decide_on
from classmark.workbench.examples.searches import current_marks, search_by_number
from classmark.workbench.search.index import index_project, start_indexing

HOSTILE = "<img src=x onerror=alert(1)><script>alert(2)</script>\"'>"

WORKING = (
    "/like", "/search?q=bees", "/history", "/progress", "/progress/agreement",
    "/files", "/settings", "/settings/model", "/settings/people", "/settings/me",
)  # fmt: skip


def rows(page):
    return page.locator("[data-row]").evaluate_all(
        "all => all.map(row => row.dataset.id)"
    )


def settled(page, before):
    """Wait until the list is another one."""
    page.wait_for_function(
        "before => Array.from(document.querySelectorAll('[data-row]'), "
        "row => row.dataset.id).join() !== before",
        arg=",".join(before),
    )
    rest(page)
    return rows(page)


def rest(page):
    """Wait until the list takes answers again."""
    page.locator("[data-live]:not([aria-busy])").wait_for()


def said(served, number=1):
    store = served.desk.store
    marks = current_marks(store, search_by_number(store, number))
    return {mark.document: mark.act for mark in marks}


def begin(page, text="bees, hives and honey in winter"):
    page.goto("/like")
    page.get_by_label("Example text").fill(text)
    page.get_by_role("button", name="Find", exact=True).press("Enter")
    page.wait_for_url("**/like/*")
    return rows(page)


def test_yes_no_undo_and_redo_by_keys(page, served):
    first = begin(page)
    page.keyboard.press("y")  # the first row has the focus from the start
    second = settled(page, first)
    assert first[0] not in second
    assert page.locator(".foot .saved").inner_text() == "saved"
    page.keyboard.press("n")  # the row that came in its place has the focus
    third = settled(page, second)
    assert said(served) == {first[0]: "yes", second[0]: "no"}
    page.keyboard.press("u")
    assert settled(page, third) == second
    page.keyboard.press("Shift+U")
    assert settled(page, second) == third
    page.keyboard.press("s")
    settled(page, third)
    assert said(served)[third[0]] == "skip"
    assert "saved" not in page.url


def test_a_screening_keeps_its_place_while_it_is_answered(page, served):
    begin(page)
    page.get_by_role("button", name="Find nearly all").press("Enter")
    page.wait_for_url("**/like/2**")
    batch = rows(page)
    for count in range(1, 4):
        page.keyboard.press("n")
        page.locator(f".candidate.answered >> nth={count - 1}").wait_for()
        rest(page)
        assert rows(page) == batch
    assert list(said(served, 2).values()) == ["no", "no", "no"]


def go_for_nearly_all(page):
    begin(page)
    page.get_by_role("button", name="Find nearly all").press("Enter")
    page.wait_for_url("**/like/2**")
    return rows(page)


def focused(page):
    return page.evaluate("document.activeElement.closest('[data-row]')?.dataset.id")


def answer_all_but_the_last(page, batch):
    for count in range(1, len(batch)):
        page.keyboard.press("n")
        page.locator(f".candidate.answered >> nth={count - 1}").wait_for()
        rest(page)


def hold_answers(page):
    """Let answers wait on their way; return what lets them go."""
    waiting = []

    def hold(route):  # a method of a list is no handler for playwright
        waiting.append(route)

    page.route("**/say", hold)

    def release():
        for route in waiting:
            route.continue_()
        page.unroute("**/say")
        return len(waiting)

    return release


def test_a_new_batch_begins_at_its_first_row(page, served):
    batch = go_for_nearly_all(page)
    assert focused(page) == batch[0]
    answer_all_but_the_last(page, batch)
    page.keyboard.press("y")
    fresh = settled(page, batch)
    assert focused(page) == fresh[0]
    page.keyboard.press("y")
    page.locator(".candidate.answered").wait_for()
    assert said(served, 2) == {
        **dict.fromkeys(batch[:-1], "no"), batch[-1]: "yes", fresh[0]: "yes",
    }  # fmt: skip
    assert focused(page) == fresh[1]


def test_a_batch_half_answered_goes_on_at_its_first_open_row(page, served):
    batch = go_for_nearly_all(page)
    page.keyboard.press("n")
    page.locator(".candidate.answered").wait_for()
    page.reload()
    assert focused(page) == batch[1]
    page.keyboard.press("y")
    page.locator(".candidate.answered.yes").wait_for()
    assert said(served, 2) == {batch[0]: "no", batch[1]: "yes"}


def test_a_key_that_comes_while_the_batch_is_replaced_answers_nothing(page, served):
    batch = go_for_nearly_all(page)
    answer_all_but_the_last(page, batch)
    release = hold_answers(page)
    page.keyboard.press("n")
    for _ in range(3):
        page.keyboard.press("y")
    page.wait_for_timeout(100)
    assert release() == 1
    fresh = settled(page, batch)
    page.wait_for_timeout(200)
    assert said(served, 2) == dict.fromkeys(batch, "no")
    assert focused(page) == fresh[0]


def test_a_key_that_comes_while_the_list_is_ranked_anew_answers_nothing(page, served):
    first = begin(page)
    release = hold_answers(page)
    page.keyboard.press("y")
    page.keyboard.press("n")
    page.keyboard.press("s")
    page.wait_for_timeout(100)
    assert release() == 1
    second = settled(page, first)
    assert focused(page) == second[0]
    assert said(served) == {first[0]: "yes"}


def test_a_key_that_is_held_down_answers_once(page, served):
    first = begin(page)
    for _ in range(4):
        page.keyboard.down("y")
    page.keyboard.up("y")
    settled(page, first)
    page.wait_for_timeout(200)
    assert said(served) == {first[0]: "yes"}


def test_what_was_not_saved_is_told(page, served):
    first = begin(page)
    page.route("**/say", lambda route: route.abort())
    page.keyboard.press("y")
    page.get_by_text("Not saved").wait_for()
    assert rows(page) == first
    page.unroute("**/say")
    assert said(served) == {}
    page.get_by_text("Add an example").click()
    page.get_by_label("Ids of documents").fill("nobody")
    page.keyboard.press("Enter")
    page.get_by_text("there is no document 'nobody'").wait_for()
    page.keyboard.press("Escape")


def test_search_open_and_find_more(page, served):
    start_indexing(served.desk).wait(60)
    page.goto("/search")
    page.keyboard.type("bees in winter")
    page.keyboard.press("Enter")
    page.wait_for_url("**/search?q=*")
    page.locator("mark").first.wait_for()
    ids = page.locator("input[name=ticked]").evaluate_all(
        "all => all.map(x => x.value)"
    )
    page.locator("summary", has_text="score").first.press("Enter")
    page.locator(".explain[open]").wait_for()
    page.keyboard.press("j")
    page.keyboard.press("o")
    page.wait_for_url("**/decide/*")
    page.go_back()
    page.locator("input[name=ticked]").first.press("Space")
    page.get_by_role("button", name="More like these").press("Enter")
    page.wait_for_url("**/like/1**")
    assert said(served) == {ids[0]: "example"}


def test_hostile_texts_and_names_are_inert(page, served, tmp_path):
    dialogs = []
    page.on("dialog", lambda dialog: (dialogs.append(dialog), dialog.dismiss()))
    row = {"id": HOSTILE, "title": HOSTILE, "text": f"bees {HOSTILE} honey hive"}
    file = tmp_path / "<img src=x onerror=alert(3)>.jsonl"
    file.write_text(json.dumps(row))
    page.goto("/files")
    page.locator("input[type=file]").set_input_files(file)
    page.get_by_role("button", name="Upload and preview").press("Enter")
    page.get_by_text("The first rows").wait_for()
    page.get_by_role("button", name="Import").press("Enter")
    page.get_by_text("1 documents").first.wait_for()
    served.desk.jobs.wait(60)
    start_indexing(served.desk).wait(60)
    page.goto("/search?q=bees+honey+hive&k=50")
    assert page.locator(".hits-form img, .hits-form script").count() == 0
    begin(page, f"bees honey hive {HOSTILE}")
    assert HOSTILE in rows(page)
    assert page.locator("main img, main script").count() == 0
    page.locator(f"[data-row] >> nth={rows(page).index(HOSTILE)}").locator(
        "a.score"
    ).press("Enter")
    page.get_by_text("is the sum of these parts").wait_for()
    assert not dialogs


def test_pages_work_without_scripts(browser, served):
    context = browser.new_context(java_script_enabled=False, base_url=served.address)
    context.request.post(
        f"{served.address}/enter",
        form={"code": served.code},
        headers={"Origin": served.address},
        max_redirects=0,
    )
    page = context.new_page()
    first = begin_plainly(page)
    page.locator("button[name=yes]").first.click()
    page.wait_for_url("**/like/1?saved=saved**")
    assert said(served) == {first: "yes"}
    context.close()


def begin_plainly(page):
    page.goto("/like")
    page.get_by_label("Example text").fill("bees and honey")
    page.get_by_role("button", name="Find", exact=True).click()
    page.wait_for_url("**/like/1**")
    return page.locator("button[name=yes]").first.get_attribute("value")


@pytest.mark.parametrize("width", [1024, 683])
def test_nothing_is_wider_than_the_window(served, page, width):
    document = next(iter(served.desk.state.ids))
    decide_on(served.desk, document, Decision(aside=True), {}, "ada")
    page.set_viewport_size({"width": width, "height": 384})
    for address in WORKING:
        page.goto(address)
        wide = "document.getElementById('main').scrollWidth - innerWidth"
        assert page.evaluate(wide) <= 0, address


def test_a_screening_is_aimed_at_another_share(page):
    go_for_nearly_all(page)
    row = page.locator(".stops tr", has_text="90 %")
    row.get_by_role("button", name="make it the target").press("Enter")
    page.locator(".stops tr[aria-current]", has_text="90 %").wait_for()
    assert page.locator("figure#recall svg").is_visible()
    assert "about" in page.locator(".stops tr", has_text="95 %").inner_text()


def test_a_saved_search_is_renamed_deleted_and_restored(page):
    begin(page)
    page.get_by_text("Rename or delete").press("Enter")
    page.get_by_label("Name of the search").fill("hives")
    page.get_by_role("button", name="Rename").press("Enter")
    page.get_by_role("heading", name="hives").wait_for()
    page.get_by_text("Rename or delete").press("Enter")
    page.get_by_role("button", name="Delete").press("Enter")
    page.get_by_text("Deleted searches: 1").press("Enter")
    page.get_by_role("button", name="Restore").press("Enter")
    page.get_by_role("link", name="hives").press("Enter")
    page.get_by_role("heading", name="hives").wait_for()


def test_hits_are_filtered_labelled_together_and_taken_back(page, served):
    index_project(served.desk)
    before = dict(served.desk.state.labels)
    page.goto("/search?q=honney")
    page.get_by_role("link", name="honey", exact=True).press("Enter")
    page.wait_for_url("**/search?q=honey")
    page.locator(".facets a").first.press("Enter")
    page.wait_for_url("**category=**")
    assert page.locator("details[open] select[name=show]").is_visible()
    title = served.desk.store.document(served.desk.state.waiting[0]).title
    words = "+".join(word for word in title.split() if word.isalpha())
    page.goto(f"/search?q={words}&show=undecided")
    found = page.locator("input[name=ticked]").count()
    assert found
    page.locator("input[name=ticked]").first.press("Space")
    page.locator("input[name=label]").fill("Insects and bees")
    page.get_by_role("button", name="Label selected").press("Enter")
    page.get_by_text("The documents have been labelled.").wait_for()
    now = served.desk.state.follow(served.desk.store).labels
    assert len(now) == len(before) + 1
    assert page.locator("input[name=ticked]").count() == found - 1
    page.get_by_role("button", name="Undo").press("Enter")
    page.get_by_text("undone").wait_for()
    assert served.desk.state.follow(served.desk.store).labels == before


def test_a_pasted_text_gets_categories(page):
    page.goto("/suggest")
    page.get_by_label("Text").fill("smoke calms the bees of a hive")
    page.get_by_role("button", name="Suggest").press("Enter")
    page.get_by_role("link", name="Insects and bees").wait_for()
