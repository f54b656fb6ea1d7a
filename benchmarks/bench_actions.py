"""Every page and action of a fresh server with empty caches, on large projects.

Run with ``python benchmarks/bench_actions.py [FOLDER] [--only NAME] [--times N]``.
Three made-up projects: 50,000 categories in one level (10,000 documents), 50,000 in a
tree (20,000 documents), and 1,000 categories with 100,000 documents; all but a tenth of
the documents are decided, there is a ranker and an index. FOLDER keeps them between
runs (making and training them takes some minutes). Each is copied without its caches
and served by a process of its own; one person then does everything once, and N times.
Of every action there are the first call, as soon as the server answers, and the 95th
percentile of those after it, in milliseconds, by the clock and of the server's
processor time (with its work in the background), to whatever page it leads; where a
page says that something is being read, until it says so. Kernels have been compiled
before. A row over 1 s, or over 200 ms, is marked.
"""

from __future__ import annotations

import argparse
import os
import platform
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx2 as httpx
import numpy as np

from classmark.corpus.documents import Document
from classmark.formats.records import Record
from classmark.taxonomy.category import Category
from classmark.workbench.files.importing import import_records, put_taxonomy
from classmark.workbench.learning.train import train
from classmark.workbench.project import Project, create
from classmark.workbench.search.index import index_project
from classmark.workbench.settings import LearningSettings, Settings

PROGRAM = str(Path(sys.executable).with_name("classmark"))
MOST_FIRST, MOST_P95 = 1000, 200  # milliseconds
OWN, WORDS = 3, 4000  # words of a category; of all documents
SETS = {  # branches of the tree, documents, strategy
    "flat": ((50_000,), 10_000, "auto"),
    "tree": ((20, 50, 49), 20_000, "top-down"),
    "documents": ((20, 50), 100_000, "auto"),
}
COMMON = {"flat": 400}  # words of all documents, where weights would take gigabytes
CACHES = ("like",)
SYLLABLES = ("ba", "re", "ton", "mi", "sel", "kor", "an", "chi", "pla", "ver", "graph")


def word(number: int) -> str:
    """A word that people could have, by its number."""
    letters = []
    for _ in range(4):
        number, last = divmod(number, len(SYLLABLES))
        letters.append(SYLLABLES[last])
    return "".join(letters)


def categories(branches: tuple[int, ...], above: str = "c") -> Iterator[Category]:
    """A tree with so many below each node of a level."""
    rng = random.Random(above)  # noqa: S311 (words, no secrets)
    for at in range(branches[0]):
        id_ = f"{above}.{at}"
        name = " ".join(word(rng.randrange(WORDS)) for _ in range(2)).title()
        parents = (above,) if above != "c" else ()
        yield Category(id_, f"{name} {at}", parents=parents)
        if len(branches) > 1:
            yield from categories(branches[1:], id_)


def records(leaves: list[str], count: int, most: int) -> Iterator[Record]:
    """Documents of common words and some of their category's own, of so many words."""
    rng = np.random.default_rng(0)
    for number in range(count):
        leaf = int(rng.integers(len(leaves)))
        own = np.random.default_rng(leaf).integers(most, size=OWN)
        words = [*np.minimum(rng.zipf(1.3, 60), most), *rng.choice(own, 12)]
        text = " ".join(word(int(each)) for each in rng.permutation(words))
        fields = {"title": f"No. {number}: {text[:40]}", "text": text}
        labels = {leaves[leaf]: 1.0} if number < 0.9 * count else {}
        meta = {"date": f"{1950 + number % 70}-05-01"}
        yield Record(Document(f"d{number}", fields), labels, meta=meta)


def make(folder: Path, name: str) -> None:
    """A project, trained and indexed."""
    branches, count, strategy = SETS[name]
    learning = LearningSettings(strategy=strategy, characters=0)
    create(folder, Settings(name, learning=learning))
    with Project(folder) as project:
        listed = list(categories(branches))
        depth = len(branches)
        leaves = [each.id for each in listed if each.id.count(".") == depth]
        put_taxonomy(project, listed, "made up")
        most = COMMON.get(name, WORDS)
        import_records(project, records(leaves, count, most), "made up")
        train(project)
        index_project(project)


@contextmanager
def served(folder: Path) -> Iterator[tuple[httpx.Client, int]]:
    """A server of its own process, and a browser that has come in."""
    words = [PROGRAM, "serve", str(folder), "--port", "0"]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as process:  # noqa: S603 (our own)
        try:
            line = process.stdout.readline() if process.stdout else ""
            ((address, code),) = re.findall(r"(http://[\d.:]+)/enter#(\S+)", line)
            with httpx.Client(base_url=address, timeout=600) as browser:
                browser.headers["Accept"] = "text/html,*/*"
                browser.post("/enter", data={"code": code})
                page = browser.get("/settings").text
                (csrf,) = set(re.findall(r'name="csrf" value="([^"]+)"', page))
                browser.headers["X-CSRF"] = csrf
                browser.follow_redirects = True
                yield browser, process.pid
        finally:
            process.terminate()


class Person:
    """What somebody does, an action a method; ``turn`` counts from 0 for each."""

    def __init__(self, browser: httpx.Client, ids: list[str]) -> None:
        self.browser, self.ids = browser, ids
        self.document, self.search, self.made = "", "", 0
        self.told: float | None = None  # when a page first said that something is read

    def get(self, path: str, **query: Any) -> httpx.Response:
        """Ask for a page; it has to be answered well."""
        answer = self.browser.get(path, params=query)
        while "come back in a moment" in answer.text or "being read" in answer.text:
            self.told = self.told or time.perf_counter()
            time.sleep(0.1)
            answer = self.browser.get(path, params=query)
        return self._known(answer)

    def post(self, path: str, **form: Any) -> httpx.Response:
        """Send a form."""
        return self._known(self.browser.post(path, data=form))

    def _known(self, answer: httpx.Response) -> httpx.Response:
        if answer.status_code >= 400:
            sys.exit(f"{answer.url}: {answer.status_code} {answer.text[:2000]}")
        shown = re.fullmatch(r"/decide/(.+)", answer.url.path)
        self.document = shown[1] if shown else self.document
        return answer

    def category(self, turn: int) -> str:
        """One after the other, far from each other."""
        return self.ids[(turn * 7919 + 13) % len(self.ids)]

    def decide(self, **form: Any) -> None:
        """Say something of the document that is shown."""
        self.post(f"/decide/{self.document}", **form)

    def typing(self, turn: int) -> None:
        """One more letter of a name."""
        name = word(turn // 8 * 37 % WORDS)
        self.get("/taxonomy/find", q=name[: turn % 8 + 1])

    def uploaded(self, turn: int) -> None:
        """Send a small file, look at it, and throw it away."""
        rows = "".join(f"n{turn}-{n};{word(n)} {word(2 * n)}\n" for n in range(100))
        sent = {"file": ("notes.csv", f"id;text\n{rows}".encode(), "text/csv")}
        self._known(self.browser.post("/files/upload", files=sent))

    def begun(self, turn: int) -> None:
        """Begin a search by three examples."""
        texts = ", ".join(f"d{(turn * 31 + n) * 7}" for n in range(3))
        answer = self.post("/like", examples=texts, name=f"search {turn}")
        self.search = answer.url.path

    def answered(self) -> None:
        """Say yes to one of the answers."""
        page = self.get(self.search).text
        id_ = re.findall(r'name="yes" value="([^"]+)"', page)
        self.post(f"{self.search}/say", yes=id_[:1], version="")

    def changed(self, act: str, category: str, **how: str) -> None:
        """Look at a change, and make it."""
        self.get("/taxonomy/preview", act=act, category=category, **how)
        self.post("/taxonomy/change", act=act, category=category, **how)


def actions(me: Person) -> dict[str, Callable[[int], object]]:
    """All of them, in the order of a first day."""
    w = lambda turn: word(turn * 37 % WORDS)  # noqa: E731 (a word for a turn)
    return {
        "Decide": lambda _: me.get("/decide"),
        "accept, next": lambda t: me.decide(assign=me.category(t)),
        "reject, next": lambda t: me.decide(reject=me.category(t)),
        "undo": lambda _: me.post("/decide", act="undo"),
        "redo": lambda _: me.post("/decide", act="redo"),
        "skip": lambda _: me.decide(act="skip"),
        "postpone": lambda _: me.decide(act="unsure"),
        "note": lambda t: me.decide(act="note", note=f"note {t}"),
        "finder, a letter more": me.typing,
        "a category beside": lambda t: me.get(
            "/choice", document=me.document, category=me.category(t)
        ),
        "similar documents": lambda t: me.get("/alike", document=f"d{t * 7}"),
        "nearly the same": lambda t: me.get("/twins", document=f"d{t * 7}"),
        "Inbox": lambda _: me.get("/inbox"),
        "likely first": lambda _: me.get("/inbox", order="likely"),
        "random": lambda _: me.get("/inbox", order="random"),
        "like the last": lambda _: me.get("/inbox", order="similar"),
        "decided": lambda t: me.get("/inbox", show="decided", page=t + 1),
        "words": lambda t: me.get("/inbox", words=w(t), show="all"),
        "a branch": lambda t: me.get("/inbox", branch=me.category(t), show="all"),
        "accept at once": lambda _: me.get("/inbox/accept"),
        "Taxonomy": lambda _: me.get("/taxonomy"),
        "by documents": lambda _: me.get("/taxonomy", sort="documents"),
        "by disagreement": lambda _: me.get("/taxonomy", sort="disputes"),
        "by name": lambda _: me.get("/taxonomy", sort="name"),
        "a category's page": lambda t: me.get("/taxonomy", at=me.category(t)),
        "the next of a level": lambda t: me.get("/taxonomy/branch", after=200 * t),
        "add one": lambda t: me.changed("add", "", new=f"new{t}", label=f"New {t}"),
        "rename": lambda t: me.changed("rename", f"new{t}", label=f"Newer {t}"),
        "move": lambda t: me.changed("move", f"new{t}", to=me.category(t)),
        "find the new one": lambda t: me.get("/taxonomy/find", q=f"newer {t}"),
        "retire": lambda t: me.changed("retire", f"new{t}"),
        "Decide again": lambda _: me.get("/decide"),
        "Search": lambda _: me.get("/search"),
        "a word": lambda t: me.get("/search", q=w(t)),
        "three words": lambda t: me.get("/search", q=f"{w(t)} {w(t + 1)} {w(t + 2)}"),
        "undecided": lambda t: me.get("/search", q=w(t), show="undecided"),
        "in a category": lambda t: me.get("/search", q=w(t), category=me.category(t)),
        "since, page 2": lambda t: me.get("/search", q=w(t), since="1990", page=2),
        "a slip": lambda t: me.get("/search", q=w(t)[:-1] + "zq"),
        "paste a text": lambda t: me.post("/suggest", text=f"{w(t)} {w(t + 5)}"),
        "Find by example": lambda _: me.get("/like"),
        "begin": me.begun,
        "yes": lambda _: me.answered(),
        "History": lambda _: me.get("/history"),
        "by category": lambda t: me.get("/history", category=me.category(t)),
        "Progress": lambda _: me.get("/progress"),
        "Agreement": lambda _: me.get("/progress/agreement"),
        "Evaluation": lambda _: me.get("/progress/evaluation"),
        "Session": lambda _: me.get("/session"),
        "Work": lambda _: me.get("/work"),
        "Files": lambda _: me.get("/files"),
        "upload, preview": me.uploaded,
        "Settings": lambda _: me.get("/settings"),
        "Model": lambda _: me.get("/settings/model"),
        "Meaning": lambda _: me.get("/settings/meaning"),
        "search order": lambda _: me.get("/settings/search"),
        "People": lambda _: me.get("/settings/people"),
    }


def processor(pid: int) -> float:
    """Seconds of the processor that a process has had."""
    facts = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2]
    return sum(map(int, facts.split()[11:13])) / os.sysconf("SC_CLK_TCK")


def measure(folder: Path, ids: list[str], times: int) -> dict[str, list[float]]:
    """Action → milliseconds: the first call, and the 95th percentile of those after it.

    Each by the clock and of the server's processor time, background work included.
    """
    rows: dict[str, list[float]] = {}
    began = time.perf_counter()
    with served(folder) as (browser, pid):
        waited = time.perf_counter() - began
        while browser.get("/decide").status_code == 503:
            time.sleep(0.1)
        ready = time.perf_counter() - began
        print(f"answers after {waited:.1f} s, ranks after {ready:.1f} s", flush=True)
        me = Person(browser, ids)
        for name, act in actions(me).items():
            took = []
            for turn in range(times):
                me.told, started, spent = None, time.perf_counter(), processor(pid)
                act(turn)
                ended = time.perf_counter()
                clock = (me.told or ended) - started
                took.append((1000 * clock, 1000 * (processor(pid) - spent)))
                if me.told:
                    print(f"{name}: says that it reads for {ended - me.told:.1f} s")
            p95, p95_spent = np.percentile(took[1:], 95, axis=0).tolist()
            rows[name] = [*took[0], p95, p95_spent]
            mark = " first!" * (took[0][0] > MOST_FIRST) + " p95!" * (p95 > MOST_P95)
            print(f"{name:<24} " + "".join(f"{x:7.0f}" for x in rows[name]) + mark)
            sys.stdout.flush()
    return rows


def main() -> None:
    """Make, serve and measure each project; print one table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", nargs="?", type=Path)
    parser.add_argument("--only", choices=SETS)
    parser.add_argument("--times", type=int, default=20)
    told = parser.parse_args()
    print(platform.platform(), flush=True)
    tables = {}
    with tempfile.TemporaryDirectory() as there:
        for name in [told.only] if told.only else SETS:
            folder = (told.folder or Path(there)) / name
            if not folder.exists():
                started = time.perf_counter()
                make(folder, name)
                print(f"{name}: made in {time.perf_counter() - started:.0f} s")
            copy = Path(there) / f"{name} copied"
            shutil.copytree(folder, copy, ignore=shutil.ignore_patterns(*CACHES))
            ids = [each.id for each in categories(SETS[name][0])]
            print(name, flush=True)
            tables[name] = measure(copy, ids, told.times)
            shutil.rmtree(copy)
    print("| | " + " | ".join(f"{name}: first | p95" for name in tables) + " |")
    print("|---|" + "---:|---:|" * len(tables))
    for action in next(iter(tables.values())):
        rows = [rows[action] for rows in tables.values()]
        cells = [
            f"{clock:.0f} ({cpu:.0f})"
            for a, b, c, d in rows
            for clock, cpu in ((a, b), (c, d))
        ]
        print(f"| {action} | " + " | ".join(cells) + " |")


if __name__ == "__main__":
    main()
