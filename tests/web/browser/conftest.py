"""A project served on this machine, and a real browser that looks at it."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from threading import Thread
from time import monotonic, sleep

import pytest

from classmark.datasets.library import (
    library_arrivals,
)
from classmark.workbench.files.importing import import_records
from classmark.workbench.project import Project
from classmark.workbench.team.desk import Desk
from projects import new_library

PATIENCE = 20.0
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"]
VIEW = {"width": 1366, "height": 768}


def pytest_configure(config):
    config.addinivalue_line("markers", "browser: needs a Chromium")


@dataclass(frozen=True)
class Served:
    """A desk, and the address its pages are served at."""

    desk: Desk
    address: str
    code: str

    def enter(self, page):
        """Open the workbench as the machine's own user."""
        page.goto(f"{self.address}/enter#{self.code}")
        page.wait_for_url(f"{self.address}/decide**")
        return page


@pytest.fixture(scope="session")
def stocked(tmp_path_factory):
    """The embedded library, learned; its new arrivals wait. Copy it, do not write."""
    folder = tmp_path_factory.mktemp("stocked") / "library"
    new_library(folder, trained=True, name="Eskerton town library")
    with Project(folder) as project:
        import_records(project, library_arrivals(), "the new arrivals")
    return folder


@contextmanager
def serving(folder: Path) -> Iterator[Served]:
    """Serve a project in a thread, at a free port of this machine."""
    from classmark.web.serve import create_app

    with Desk(folder) as desk:
        app = create_app(desk)
        with listening(app) as address:
            yield Served(desk, address, app.state.doors.code)


@contextmanager
def listening(app) -> Iterator[str]:
    """Serve an application in a thread; its address."""
    import uvicorn

    config = uvicorn.Config(
        app,
        host="127.0.0.1",
        port=0,
        log_level="error",
        timeout_graceful_shutdown=1,
    )
    server = uvicorn.Server(config)
    thread = Thread(target=server.run, daemon=True)
    thread.start()
    deadline = monotonic() + PATIENCE
    while not server.started:
        assert monotonic() < deadline, "the server does not start"
        sleep(0.01)
    port = server.servers[0].sockets[0].getsockname()[1]
    yield f"http://127.0.0.1:{port}"
    server.should_exit = True
    thread.join(PATIENCE)


@pytest.fixture
def serve_folder():
    """Serve any project: a context manager that takes its folder."""
    return serving


@pytest.fixture
def served(stocked, tmp_path):
    """A copy of the library, served."""
    with serving(shutil.copytree(stocked, tmp_path / "library")) as found:
        yield found


@pytest.fixture(scope="module")
def browser():
    """A Chromium; skip, with the reason, without one."""
    playwright = pytest.importorskip("playwright.sync_api")
    where = shutil.which("chromium") or shutil.which("chromium-browser")
    if where is None:
        pytest.skip("needs a Chromium: none is in the path")
    with playwright.sync_playwright() as driver:
        found = driver.chromium.launch(executable_path=where, args=FLAGS)
        yield found
        found.close()


def is_wrong(said):
    """Whether a browser complains, and not of an answer such as 400 or 409."""
    return said.type == "error" and not said.text.startswith("Failed to load resource")


@pytest.fixture
def page(browser, served):
    """A page of the served library, 1366 × 768; what goes wrong in it is a failure."""
    context = browser.new_context(viewport=VIEW, base_url=served.address)
    found = context.new_page()
    found.set_default_timeout(1000 * PATIENCE / 2)
    wrong = []
    found.on("pageerror", lambda error: wrong.append(str(error)))
    found.on(
        "console",
        lambda said: wrong.append(said.text) if is_wrong(said) else None,
    )
    yield served.enter(found)
    context.close()
    assert not wrong
