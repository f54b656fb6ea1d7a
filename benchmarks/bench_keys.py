"""From the key to the next document, in a real Chromium, on the demo project.

Run with ``python benchmarks/bench_keys.py`` (a Chromium is to be in PATH): the demo is
made in a temporary folder and served; forty documents are decided with ``1`` and
``Enter``. The time is the page's own, from the key to the frame that shows the next
document's title: the decision is on disk by then. Server and browser share the machine.
"""

from __future__ import annotations

import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

DECIDED, REST, WARM = 40, 0.35, 8.0
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"]
PROGRAM = str(Path(sys.executable).with_name("classmark"))
PRESS = """() => new Promise(done => {
  const title = () => document.querySelector("article h1").textContent;
  const press = key => document.body.dispatchEvent(
    new KeyboardEvent("keydown", {key, bubbles: true}));
  const before = title(), start = performance.now();
  const look = () => title() === before ? setTimeout(look, 1)
    : requestAnimationFrame(() => done(performance.now() - start));
  press("1"); press("Enter"); look();
})"""


def times(page: Any) -> list[float]:
    """Milliseconds of each decision, the shortest first."""
    found = []
    for _ in range(DECIDED):
        found.append(float(page.evaluate(PRESS)))
        time.sleep(REST)
    return sorted(found)


def main() -> None:
    """Make, serve, decide, and print."""
    from playwright.sync_api import sync_playwright

    where = shutil.which("chromium") or shutil.which("chromium-browser")
    if where is None:
        sys.exit("no Chromium in PATH: install one, then run this again")
    with tempfile.TemporaryDirectory() as place:
        folder = str(Path(place) / "library")
        made = [PROGRAM, "demo", "--no-serve", "--dir", folder]
        subprocess.run(made, check=True, stdout=subprocess.DEVNULL)  # noqa: S603 (our own)
        command = [PROGRAM, "serve", folder, "--port", "0"]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:  # noqa: S603 (our own)
            try:
                line = process.stdout.readline() if process.stdout else ""
                address = re.findall(r"http\S+", line)[0]
                with sync_playwright() as driver:
                    browser = driver.chromium.launch(executable_path=where, args=FLAGS)
                    page = browser.new_page(viewport={"width": 1366, "height": 768})
                    page.goto(address)
                    page.wait_for_url("**/decide/**")
                    time.sleep(WARM)
                    found = times(page)
            finally:
                process.terminate()
    late = found[round(0.95 * len(found)) - 1]
    middle = statistics.median(found)
    print(f"median {middle:.0f} ms, p95 {late:.0f} ms, longest {found[-1]:.0f} ms")


if __name__ == "__main__":
    main()
