"""Pages on which jobs are followed, in a real browser."""

from contextlib import contextmanager
from threading import Event

import pytest

from classmark.problems import Mistake
from classmark.taxonomy.category import Category
from classmark.workbench.files.documents import add_document
from classmark.workbench.search.index import JOB, start_indexing

PLACES = {"/files": "Done.", "/search": "No index yet"}


@contextmanager
def at_work(desk, result="5 documents are indexed"):
    """A job that runs until the end of the block."""
    gate = Event()

    def work(project):
        del project
        gate.wait(60)
        if isinstance(result, Exception):
            raise result
        return result

    job = desk.jobs.start(JOB, work, "ada")
    try:
        yield
    finally:
        gate.set()
        job.wait(60)


@pytest.mark.parametrize("address", PLACES)
def test_a_page_is_shown_anew_when_its_job_has_ended(page, served, address):
    lost = []
    with at_work(served.desk):
        page.goto(address)
        page.locator("[data-poll]").wait_for()
        page.route("**/jobs", lambda route: (lost.append(route), route.abort()))
        page.wait_for_timeout(1500)
        page.unroute("**/jobs")
    assert lost  # the server did not answer once, and is asked again
    page.locator("[data-poll]").wait_for(state="detached")
    page.get_by_text(PLACES[address]).first.wait_for()


def test_what_is_in_service_is_shown_anew_when_a_job_has_ended(page, served):
    with at_work(served.desk):
        page.goto("/settings/model")
        page.locator("[data-poll]").wait_for()
        facts = page.locator("dl.facts").first.inner_text()
        with served.desk.writing() as project:
            project.store.put_categories([Category("new")])
    page.wait_for_function(
        "facts => document.querySelector('dl.facts').innerText !== facts", arg=facts
    )
    assert page.locator("#jobs .state.done").count() == 1


def test_what_is_typed_while_a_job_runs_is_not_lost(page, served):
    with at_work(served.desk):
        page.goto("/search")
        page.locator("[data-poll]").wait_for()
        page.keyboard.type("bees in wint")
        page.wait_for_timeout(2500)
        assert page.locator("#q").input_value() == "bees in wint"
    page.get_by_text("The index is ready").wait_for()
    page.keyboard.type("er")
    assert page.locator("#q").input_value() == "bees in winter"


def test_a_job_that_failed_says_why_where_it_was_begun(page, served):
    with at_work(served.desk, Mistake("the disk is full: make room")):
        page.goto("/search")
        page.locator("[data-poll]").wait_for()
    page.get_by_text("the disk is full: make room").wait_for()


def test_jobs_that_have_ended_do_not_pile_up(page, served):
    for count in range(4):
        with at_work(served.desk, f"job {count} is done"):
            pass
    page.goto("/files")
    assert page.locator("[data-jobs] .message").all_inner_texts()[0].startswith("Done.")
    assert page.locator("[data-jobs] .message").count() == 1
    assert "job 3 is done" in page.locator("[data-jobs]").inner_text()
    with at_work(served.desk):
        page.reload()
        assert page.locator("[data-jobs] .message").count() == 2


def test_search_shows_new_documents_by_itself(page, served):
    start_indexing(served.desk, "me").wait(60)
    with served.desk.writing() as project:
        add_document(project, "late", {"title": "Late bees"}, "me")
    page.goto("/search?q=late+bees")
    page.get_by_role("link", name="Late bees").wait_for(timeout=20_000)
