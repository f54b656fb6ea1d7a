"""Pages say what the server still prepares, and wait for nothing without a word."""

import time

import pytest
from starlette.testclient import TestClient

from classmark.web.readiness import Readiness, Stopped
from classmark.web.serve import create_app, warm_up
from classmark.workbench.deciding.decide import Decision, decide_on
from classmark.workbench.learning.live import Service
from classmark.workbench.learning.train import train
from classmark.workbench.project import Project
from classmark.workbench.settings import LearningSettings
from classmark.workbench.team.desk import Desk
from projects import TREE, new_project, parish
from web.conftest import ADDRESS

HTML = {"Accept": "text/html"}


@pytest.fixture
def readiness():
    return Readiness()


@pytest.fixture
def browser(desk, readiness):
    app = create_app(desk, None, readiness)
    with TestClient(app, base_url=ADDRESS) as client:
        client.post("/enter", data={"code": app.state.doors.code})
        yield client


def test_a_page_says_what_is_prepared_within_a_second(browser, readiness):
    with readiness.preparing("loading the ranker"):
        began = time.monotonic()
        answer = browser.get("/decide", headers=HTML)
        assert time.monotonic() - began < 1.5
        assert answer.status_code == 503
        assert "loading the ranker" in answer.text
        assert 'http-equiv="refresh"' in answer.text
        assert browser.get("/settings", headers=HTML).status_code == 200
    assert browser.get("/decide", headers=HTML).status_code == 200


def test_it_says_how_far_it_is(browser, readiness):
    with readiness.preparing("compiling"):
        for at, _ in enumerate(readiness.track([1, 2, 3], "rooms", None)):
            if at == 2:
                assert 'value="2"' in browser.get("/inbox", headers=HTML).text


def test_a_program_is_not_kept_from_its_answer(browser, readiness):
    with readiness.preparing("loading the ranker"):
        assert browser.get("/taxonomy/find?q=bees").status_code == 200


def test_nothing_more_is_prepared_once_the_server_ends(readiness):
    readiness.is_over = lambda: True
    with pytest.raises(Stopped), readiness.preparing("compiling"):
        list(readiness.track([1, 2], "rooms", None))
    assert readiness.is_ready


def test_a_server_warms_up_and_learns_beside_sparse_weights(tmp_path):
    documents = parish(decided=True, waiting=True)
    folder = new_project(tmp_path / "parish", documents, TREE)
    with Project(folder) as project:
        assert train(project, LearningSettings(memory="500B", strategy="plain")).live
    with Desk(folder, begin=False) as desk:
        warm_up(desk, Readiness(), lambda: False)
        decide_on(desk, "new-0", Decision(("birds",)), {}, "eve")
        assert desk.background.learned(30)
        assert desk.service.upto == desk.state.upto


def test_what_cannot_be_loaded_ahead_keeps_nobody_from_learning(
    project_folder, monkeypatch
):
    def broken(_):
        raise RuntimeError("no kernels")

    monkeypatch.setattr(Service, "warm", broken)
    with Desk(project_folder, begin=False) as desk:
        with pytest.raises(RuntimeError, match="no kernels"):
            warm_up(desk, Readiness(), lambda: False)
        assert desk.background.runs
