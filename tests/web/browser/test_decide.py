"""Decide with the mouse unplugged, in a real browser."""

import re

from classmark.workbench.deciding.decide import Decision, decide_on
from classmark.workbench.deciding.sheet import notes_on
from web.browser.keyboard import (
    acts,
    at,
    category,
    chips,
    document,
    names,
    onward,
    press,
)

NEXT = 0.150  # seconds from the key to the next document; make promises has the p95


def test_digits_choose_and_the_decision_is_on_disk_when_saved_shows(page, served):
    two, four = category(page, 2), category(page, 4)
    press(page, "2", "4", "1", "1")
    assert len(chips(page)) == 2
    decided = onward(page, "Enter")
    assert set(acts(served, decided)) == {("assign", two), ("assign", four)}
    saved = page.locator(".foot .saved").inner_text()
    number = int(re.fullmatch(r"saved #(\d+) · \d\d:\d\d:\d\d", saved)[1])
    (found,) = served.desk.store.run(
        "SELECT document FROM judgments WHERE seq = ?", (number,)
    ).fetchone()
    assert found == decided


def test_zero_is_the_tenth_and_enter_alone_takes_the_focused_one(page, served):
    ten, three = category(page, 10), category(page, 3)
    press(page, "0")
    assert chips(page) == [names(page)[9]]
    press(page, "0", "k", "k", "k", "k", "k", "k", "k")
    assert page.locator("[data-accepts]").inner_text() == f"Accept {names(page)[2]}"
    decided = onward(page, "Enter")
    assert acts(served, decided) == [("assign", three)] != [("assign", ten)]


def test_primary_and_not_this(page, served):
    one, two, three = (category(page, n) for n in (1, 2, 3))
    press(page, "p", "j", "p", "j", "x")
    assert [chip.removeprefix("★ ") for chip in chips(page)][:2] == names(page)[:2]
    decided = onward(page, "Enter")
    assert set(acts(served, decided)) == {
        ("assign", one), ("primary", two), ("reject", three),
    }  # fmt: skip


def test_this_over_that_by_two_presses_and_by_a_digit(page, served):
    press(page, ">", "j", ">")
    press(page, ">", "4")
    first, second, *_, fourth = (category(page, n) for n in (1, 2, 4))
    assert len(chips(page)) == 2
    decided = onward(page, "Enter")
    rows = served.desk.store.preferences()[decided]
    assert set(rows) == {(first, second), (second, fourth)}


def test_escape_drops_a_preference_half_said(page):
    press(page, ">")
    assert "over …" in page.locator("[data-chosen]").inner_text()
    press(page, "Escape")
    assert page.locator("[data-chosen]").inner_text() == "nothing chosen yet"


def test_the_tree_is_searched_and_the_list_keeps_its_order(page, served):
    before = names(page)
    wanted = next(
        c for c in served.desk.categories.values() if c.name not in before and c.parents
    )
    press(page, "/")
    page.keyboard.type(wanted.name)
    page.locator("#found [role=option]").first.wait_for()
    page.wait_for_function(
        "name => document.querySelector('#found [role=option]').dataset.name === name",
        arg=wanted.name,
    )
    press(page, "Enter")
    assert names(page) == [*before, wanted.name]
    assert chips(page) == [wanted.name]
    decided = onward(page, "Enter")
    assert acts(served, decided) == [("assign", wanted.id)]


def test_undo_and_redo_as_often_as_one_likes(page, served):
    first = onward(page, "Enter")
    second = onward(page, "Enter")
    assert onward(page, "u") not in (first, second)
    assert document(page) == second
    press(page, "Control+z")
    at(page, first)
    labels = served.desk.store.record
    assert not labels(first).labels
    assert not labels(second).labels
    for again in (first, second):
        press(page, "Shift+U")
        at(page, again)
        page.get_by_text(re.compile("^redone #")).wait_for()
        assert labels(again).labels
    press(page, "Shift+U")
    page.locator("[data-trouble]:not([hidden])").wait_for()
    assert "nothing to redo" in page.locator("[data-trouble]").inner_text()


def decide_all_but(served, document):
    for id_ in served.desk.state.ids:
        record = served.desk.store.record(id_)
        if id_ != document and not record.labels:
            decide_on(served.desk, id_, Decision(aside=True), {}, "ada")


def test_the_last_decision_is_undone_when_nothing_waits_any_more(page, served):
    last = document(page)
    decide_all_but(served, last)
    press(page, "Enter")
    page.get_by_text("All caught up").wait_for()
    assert served.desk.store.record(last).labels
    press(page, "j", "1", "Enter", "s", ">")  # nothing is there to decide on
    press(page, "u")
    at(page, last)
    page.get_by_text(re.compile("^undone #")).wait_for()
    assert not served.desk.store.record(last).labels
    onwards = page.locator("[data-accepts]").inner_text()
    assert onwards.startswith("Accept ")
    press(page, "Enter")
    page.get_by_text("All caught up").wait_for()
    page.reload()
    press(page, "Control+z")
    at(page, last)
    assert not served.desk.store.record(last).labels


def test_skip_and_postpone_move_on(page, served):
    skipped = onward(page, "s")
    assert acts(served, skipped) == [("skip", None)]
    postponed = onward(page, "l")
    assert acts(served, postponed) == [("unsure", None)]
    assert served.desk.store.record(postponed).aside


def test_a_note_is_kept_and_what_was_chosen_stays(page, served):
    press(page, "2", "n")
    page.keyboard.type("the <b>second</b> volume is missing")
    press(page, "Control+Enter")
    page.locator("[data-notes] li").wait_for()
    assert "the <b>second</b> volume" in page.locator("[data-notes]").inner_text()
    assert len(chips(page)) == 1
    noted = document(page)
    (note,) = notes_on(served.desk.store, noted)
    assert note.note == "the <b>second</b> volume is missing"
    assert onward(page, "Enter") == noted


def test_why_similar_guideline_and_keys_open_and_close(page):
    assert page.locator("mark.for").count() > 0
    press(page, "w")
    assert page.locator(".decide.quiet").count() == 1
    press(page, "w", "e")
    page.locator("[data-alike] li a").first.wait_for()
    press(page, "Escape")
    assert page.locator("[data-alike]").is_hidden()
    for key, dialog in (
        ("g", "#guideline"),
        ("F1", "#keys"),
        ("?", "#keys"),
        ("/", "#finder"),
        ("n", "#note"),
    ):
        press(page, key)
        assert page.locator(dialog).is_visible(), key
        press(page, "Escape")
        assert page.locator(dialog).is_hidden(), key


def test_evidence_is_of_the_category_one_is_on(page):
    first = page.locator("mark.for").all_inner_texts()
    press(page, "j")
    assert page.locator("mark.for").all_inner_texts() != first
    shown = page.locator(".of-focused > div:not([hidden]) .where").inner_text()
    assert names(page)[1] in shown
    assert re.search(r"\d+ % likely \(calibrated on \d+ decisions\) · rank 2 of", shown)
