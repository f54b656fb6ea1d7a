"""Search by words and meaning, in a real browser."""

from classmark.workbench import meaning
from classmark.workbench.search.index import start_indexing
from concepts import STATIC, use_concepts


def test_words_and_meaning_or_words_alone_by_keys(page, served, monkeypatch):
    use_concepts(monkeypatch)
    meaning.set_meaning(served.desk, STATIC)
    meaning.compute(served.desk)
    start_indexing(served.desk, "me")
    served.desk.jobs.wait(60)
    page.goto("/search")
    page.keyboard.type("apiary")
    page.keyboard.press("Enter")
    page.get_by_text("ranked by words and meaning").wait_for()
    assert page.get_by_label("words and meaning").is_checked()
    assert page.get_by_text("words 0.000 · meaning").count()
    page.get_by_label("words and meaning").focus()
    page.keyboard.press("ArrowDown")  # the other one
    page.keyboard.press("Enter")
    page.wait_for_url("**hybrid=no**")
    assert page.get_by_label("words alone").is_checked()
    assert not page.get_by_text("· meaning").count()
