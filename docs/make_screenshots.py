"""Make the pictures of the workbench: a walk through the running program.

Run with ``python docs/make_screenshots.py``: the demo project is made in a temporary
folder, served, and used as an expert would, in a real Chromium (one is to be in PATH);
every page is photographed into ``docs/pictures``.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

PICTURES = Path(__file__).parent / "pictures"
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"]
PROGRAM = str(Path(sys.executable).with_name("classmark"))
DECIDED = 36
READY = 120_000  # milliseconds that a server may take to begin
ADDRESSES = {
    "inbox": "/inbox",
    "taxonomy": "/taxonomy?at=nature.animals.insects",
    "history": "/history",
    "progress": "/progress",
    "files": "/files",
    "settings": "/settings",
}


@contextmanager
def made() -> Iterator[Path]:
    """A folder of projects: the demo, trained and indexed, and two others."""
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place) / "library"
        for words in (
            ["demo", "--no-serve", "--dir", str(folder)],
            ["index", "--project", str(folder)],
            ["projects", "new", place, "letters", "--title", "Letters to the editor"],
            ["projects", "new", place, "maps", "--title", "Maps, 1890–1914"],
            ["projects", "archive", place, "maps"],
        ):
            subprocess.run([PROGRAM, *words], check=True, stdout=subprocess.DEVNULL)  # noqa: S603 (our own)
        yield Path(place)


@contextmanager
def served(*words: str) -> Iterator[str]:
    """What ``classmark serve`` serves; its address."""
    command = [PROGRAM, "serve", *words, "--port", "0"]
    env = os.environ | {"CLASSMARK_USER": "ada"}
    with subprocess.Popen(  # noqa: S603 (our own)
        command, stdout=subprocess.PIPE, text=True, env=env
    ) as process:
        line = process.stdout.readline() if process.stdout else ""
        found = re.search(r"http\S+", line)
        if found is None:
            sys.exit(f"the server said {line!r} instead of its address")
        try:
            yield found[0]
        finally:
            process.terminate()


def decide_some(page: Any) -> None:
    """Decide as an expert would, mostly as suggested; one document is left unsure."""
    page.set_default_timeout(READY)
    for number in range(DECIDED):
        before = page.locator("[data-decide]").get_attribute("data-document")
        page.keyboard.press("l" if number == 5 else "2" if number % 4 == 3 else "1")
        if number != 5:
            page.keyboard.press("Enter")
        page.locator(f"[data-decide]:not([data-document='{before}'])").wait_for()


def walk(page: Any) -> Iterator[str]:
    """Go from page to page; each name is a picture to take."""
    page.locator("li.choice.focused").wait_for(timeout=READY)
    page.wait_for_timeout(1500)
    yield "decide"
    for key in ("1", "/", "c", "o", "a"):
        page.keyboard.press(key)
    page.locator("#found [role=option]").first.wait_for(timeout=READY)
    page.wait_for_timeout(2000)
    yield "decide-search"
    for key in ("Escape", "1"):
        page.keyboard.press(key)
    decide_some(page)
    page.keyboard.press("F1")
    page.wait_for_timeout(300)
    yield "decide-keys"
    page.keyboard.press("Escape")
    for name, at in ADDRESSES.items():
        page.goto(at)
        page.wait_for_timeout(800)
        yield name
    page.goto("/search?q=bees+in+winter")
    page.wait_for_timeout(500)
    yield "search"
    page.locator("text=More like this").first.click()
    page.get_by_role("button", name="Find", exact=True).click()
    for key in ("y", "y", "n", "y"):
        page.wait_for_timeout(1500)
        page.keyboard.press(key)
    page.wait_for_timeout(1500)
    yield "like"
    page.emulate_media(color_scheme="dark")
    page.goto("/decide")
    page.wait_for_timeout(800)
    yield "decide-dark"


def main() -> None:
    """Photograph every page."""
    from playwright.sync_api import sync_playwright

    where = shutil.which("chromium") or shutil.which("chromium-browser")
    if where is None:
        sys.exit("no Chromium in PATH: install one, then run this again")
    PICTURES.mkdir(exist_ok=True)
    with made() as folder, sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=where, args=FLAGS)
        with served(str(folder / "library")) as address:
            page = entered(browser, address, "decide")
            for name in walk(page):
                page.screenshot(path=str(PICTURES / f"{name}.png"))
        with served(str(folder), "--projects") as address:
            page = entered(browser, address, "projects")
            page.screenshot(path=str(PICTURES / "projects.png"))
        browser.close()


def entered(browser: Any, address: str, first: str) -> Any:
    """A page of the workbench that one comes in at."""
    base, _, _ = address.partition("/enter")
    view = {"width": 1366, "height": 768}
    page = browser.new_page(viewport=view, base_url=base)
    page.goto(address)
    page.wait_for_url(f"{base}/{first}**")
    return page


if __name__ == "__main__":
    main()
