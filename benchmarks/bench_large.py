"""A project of Wikipedia-large's shape, from the import to the backup, on a ladder.

Run with ``OMP_NUM_THREADS=1 python benchmarks/bench_large.py [FOLDER] [--documents N
...] [--categories K] [--json FILE] [--page FILE]``. Wikipedia-large has 325,056
categories and 2.4 million documents; a rung of N documents has as many categories in
proportion, or K. Categories with documents are leaves of a tree whose nodes divide
their leaves by a power law; a fifth of the nodes have a second parent, and one inner
node in a thousand (one at least) is said to be above its own parent, which
``--break-cycles`` cuts. The sizes of categories follow a power law, none is empty where
there are as many documents. A document has one category, or two or three (1.6 on
average), and 30 to 45 words: 45 % by Zipf's law, 10 % of a strange leaf, the others
from words of the nodes on the ways to its categories. All but a tenth are decided.

Each step runs in a process of its own: seconds by the clock and of the processor (of
all its threads and processes), and the most memory it held. The server is a process,
too; one person uses it over loopback. Of every action there are the first time, the
median and the 95th percentile of the others in milliseconds, by the clock and of the
server's processor time (its work in the background included).
FOLDER keeps the projects; without it they are removed.
"""

from __future__ import annotations

import argparse
import json
import math
import multiprocessing
import platform
import resource
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from bench_actions import WORDS, Person, served, word
from bench_dmoz import Words, sizes_of, tree_of
from numpy.typing import NDArray

from classmark.evaluation.figures import power_laws
from classmark.workbench.files.backup import back_up
from classmark.workbench.files.importing import import_documents, import_taxonomy
from classmark.workbench.learning.train import train
from classmark.workbench.project import Project, create
from classmark.workbench.search.index import index_project
from classmark.workbench.settings import LearningSettings, Settings

DOCUMENTS, CATEGORIES = 2_400_000, 325_056
VOCABULARY = 1_600_000
LADDER = (1_000, 3_000, 10_000, 30_000, 100_000)
SHORTEST, LONGEST = 30, 45
COMMON, STRANGE, OWN = 0.45, 0.10, 60
SEVERAL = (0.55, 0.30, 0.15)  # documents with one, two and three categories
SECOND_PARENT, CYCLES = 0.2, 0.001
WAITING = 10  # one document in so many has no category
BLOCK = 20_000
TIMES = 60
IDLE = 0.02  # processor seconds in one, below which a server rests


class Rung:
    """A made-up taxonomy and its documents, as two files."""

    def __init__(self, documents: int, categories: int) -> None:
        self.documents, self.categories = documents, categories
        rng = self.rng = np.random.default_rng(0)
        self.edges, self.paths = tree_of(categories, rng)
        self.leaves = self.paths[
            np.arange(categories), (self.paths >= 0).sum(axis=1) - 1
        ]
        share = categories / CATEGORIES
        self.words = Words(self.paths, max(2000, int(VOCABULARY * share**0.6)), rng)

    def parents(self) -> dict[int, list[int]]:
        """Node → the nodes above it: the tree's, perhaps another, perhaps a cycle."""
        above = {child: [parent] for parent, child in self.edges}
        inner = sorted({parent for parent, _ in self.edges} - {0})
        for node, parents in above.items():
            if inner and self.rng.random() < SECOND_PARENT:
                other = inner[int(self.rng.integers(len(inner)))]
                if other < node and other not in parents:
                    parents.append(other)
        deep = [node for node in inner if above[node][0]]
        for node in self.rng.permutation(deep)[: 1 + int(CYCLES * len(deep))].tolist():
            above[above[node][0]].append(node)
        return above

    def write_taxonomy(self, path: Path) -> None:
        """Write the categories as CSV; the root itself is none."""
        with path.open("w") as file:
            file.write("id,parent,label\n")
            for node, above in sorted(self.parents().items()):
                drawn = self.rng.integers(WORDS, size=2).tolist()
                name = " ".join(word(each) for each in drawn).title()
                up = "|".join(f"c{parent}" for parent in above if parent)
                file.write(f"c{node},{up},{name} {node}\n")

    def write_documents(self, path: Path) -> None:
        """Write the documents, one a line."""
        enough = max(self.documents, self.categories)
        sizes = sizes_of(self.categories, enough, self.rng)
        first = self.rng.permutation(np.repeat(np.arange(self.categories), sizes))
        first = first[: self.documents]
        with path.open("w") as file:
            for low in range(0, self.documents, BLOCK):
                for offset, (text, leaves) in enumerate(self.drawn(first, low)):
                    number = low + offset
                    labels = [f"c{self.leaves[leaf]}" for leaf in leaves]
                    row = {"id": f"d{number}", "title": text[:40], "text": text}
                    if number % WAITING:
                        row["labels"] = labels
                    file.write(json.dumps(row) + "\n")

    def drawn(
        self, first: NDArray[np.int64], low: int
    ) -> Iterator[tuple[str, list[int]]]:
        """Texts and the leaves they belong to, a block of them."""
        rng, mine = self.rng, first[low : low + BLOCK]
        shape = (len(mine), LONGEST)
        labels = np.column_stack((mine, rng.choice(first, (len(mine), 2))))
        count = rng.choice(3, len(mine), p=SEVERAL) + 1
        kind = rng.random(shape)
        own = np.take_along_axis(
            labels, (rng.random(shape) * count[:, None]).astype(int), 1
        )
        leaf = np.where(
            kind < COMMON + STRANGE, rng.integers(self.categories, size=shape), own
        )
        length = self.words.lengths[leaf] - 1
        level = np.minimum(length, 1 + (rng.random(shape) * length).astype(np.int64))
        topic = self.paths[leaf, level]
        rank = (OWN * rng.random(shape) ** 2).astype(np.int64)
        numbers = np.where(
            kind < COMMON, self.words.zipf(shape), self.words.own[topic, rank]
        )
        lengths = rng.integers(SHORTEST, LONGEST + 1, len(mine))
        for row, n, names, k in zip(
            numbers.tolist(), lengths.tolist(), labels.tolist(), count.tolist(),
            strict=True,
        ):  # fmt: skip
            yield " ".join([f"w{each}" for each in row[:n]]), sorted(set(names[:k]))


def make(folder: Path, documents: int, categories: int) -> dict[str, Any]:
    """Write the files of a rung."""
    rung = Rung(documents, categories)
    rung.write_taxonomy(folder / "taxonomy.csv")
    rung.write_documents(folder / "documents.jsonl")
    return {"megabytes": (folder / "documents.jsonl").stat().st_size / 1e6}


def taxonomy_in(folder: Path, memory: str) -> dict[str, Any]:
    """Create the project and bring in the taxonomy."""
    learning = LearningSettings(strategy="top-down", characters=0, memory=memory)
    create(folder / "project", Settings("large", learning=learning))
    cut: list[tuple[str, str]] = []
    with Project(folder / "project") as project:
        table = import_taxonomy(project, folder / "taxonomy.csv", None, cut=cut)
    return {**table.rows[0], "cut": len(cut)}


def documents_in(folder: Path) -> dict[str, Any]:
    """Import the documents."""
    with Project(folder / "project") as project:
        return dict(import_documents(project, folder / "documents.jsonl").rows[0])


def indexed(folder: Path) -> dict[str, Any]:
    """Build the index for searching."""
    with Project(folder / "project") as project:
        index_project(project)
    return {"megabytes": size_of(folder / "project" / "index")}


def trained(folder: Path) -> dict[str, Any]:
    """Learn, top-down over the tree."""
    with Project(folder / "project") as project:
        facts = train(project)
    return {
        "model megabytes": size_of(folder / "project" / "models"),
        "calibrated on": facts.calibrated_on,
        "features": facts.features,
    }


def backed_up(folder: Path) -> dict[str, Any]:
    """Write a backup, and remove it."""
    path = folder / "backup.zip"
    with Project(folder / "project") as project:
        back_up(project, path)
    megabytes = path.stat().st_size / 1e6
    path.unlink()
    return {"megabytes": megabytes}


def size_of(folder: Path) -> float:
    """The megabytes in a folder."""
    return sum(f.stat().st_size for f in folder.rglob("*") if f.is_file()) / 1e6


def measured(work: Callable[..., dict[str, Any]], *arguments: Any) -> dict[str, Any]:
    """Do some work in this process, and say what it took."""
    started, before = time.perf_counter(), used()[0]
    facts = work(*arguments)
    spent, most = used()
    facts["seconds"] = round(time.perf_counter() - started, 2)
    facts["cpu seconds"] = round(spent - before, 2)
    facts["peak MB"] = round(most / 1024)
    return facts


def used() -> tuple[float, int]:
    """Processor seconds of this process and its children; the most kilobytes of one."""
    whose = (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    facts = [resource.getrusage(who) for who in whose]
    spent = sum(each.ru_utime + each.ru_stime for each in facts)
    return spent, max(each.ru_maxrss for each in facts)


def apart(work: Callable[..., dict[str, Any]], *arguments: Any) -> dict[str, Any]:
    """The same in a fresh process, so that its peak memory is its own."""
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        facts: dict[str, Any] = pool.apply(measured, (work, *arguments))
    return facts


def letters(turn: int) -> str:
    """What has been typed of a category's name after one more letter."""
    return word(turn // 6 * 37 % WORDS)[: turn % 6 + 1]


def acts(me: Person) -> dict[str, Callable[[int], object]]:
    """What a person does, an action at a time."""
    text = lambda t: " ".join(f"w{(t * 97 + n * n * 13) % 5000 + 1}" for n in range(30))  # noqa: E731 (a text for a turn)
    return {
        "suggest": lambda t: me.post("/suggest", text=text(t)),
        "Decide": lambda _: me.get("/decide"),
        "decide, next": lambda t: me.decide(assign=me.category(t)),
        "undo": lambda _: me.post("/decide", act="undo"),
        "a letter": lambda t: me.get("/taxonomy/find", q=letters(t)),
        "Taxonomy": lambda _: me.get("/taxonomy"),
        "category": lambda t: me.get("/taxonomy", at=me.category(t)),
        "Progress": lambda _: me.get("/progress"),
        "Inbox": lambda _: me.get("/inbox"),
        "search": lambda t: me.get("/search", q=f"w{t + 50} w{t * 7 + 300}"),
        "similar": lambda t: me.get("/alike", document=f"d{t * 7}"),
    }


def spent_by(pid: int) -> float:
    """Seconds of the processor that the threads of a process have had."""
    tasks = Path(f"/proc/{pid}/task").iterdir()
    return sum(int((t / "schedstat").read_text().split()[0]) for t in tasks) / 1e9


def rest(pid: int) -> None:
    """Wait until a process has done what it does in the background."""
    before = -1.0
    while (now := spent_by(pid)) - before > IDLE:
        before = now
        time.sleep(1.0)


def memory_of(pid: int) -> dict[str, float]:
    """Megabytes that a process has now, of its own and of files; and had at most."""
    lines = Path(f"/proc/{pid}/status").read_text(encoding="utf-8").splitlines()
    facts = dict(line.split(":", 1) for line in lines)
    names = {"VmHWM": "peak MB", "VmRSS": "RSS MB", "RssAnon": "own MB"}
    return {said: int(facts[name].split()[0]) // 1024 for name, said in names.items()}


def serving(folder: Path, times: int) -> dict[str, Any]:
    """Use the served project; figures of opening, of each action, and of memory."""
    rung_ids = (folder / "taxonomy.csv").read_text().splitlines()[1:]
    ids = [line.split(",", 1)[0] for line in rung_ids]
    began = time.perf_counter()
    with served(folder / "project") as (browser, pid):
        facts: dict[str, Any] = {"answers s": time.perf_counter() - began}
        while browser.get("/decide").status_code == 503:
            time.sleep(0.05)
        facts["opens s"] = time.perf_counter() - began
        facts["opens cpu s"] = spent_by(pid)
        facts["opened"] = memory_of(pid)
        rest(pid)
        facts["warm cpu s"] = spent_by(pid)
        me = Person(browser, ids)
        for name, act in acts(me).items():
            rows = []
            for turn in range(times):
                started, spent = time.perf_counter(), spent_by(pid)
                act(turn)
                rows.append((time.perf_counter() - started, spent_by(pid) - spent))
            table = 1000 * np.array(rows)
            facts[name] = {
                "first": round(table[0, 0], 1),
                "p50": round(float(np.median(table[1:, 0])), 1),
                "p95": round(float(np.percentile(table[1:, 0], 95)), 1),
                "cpu p50": round(float(np.median(table[1:, 1])), 1),
                "cpu p95": round(float(np.percentile(table[1:, 1], 95)), 1),
            }
            facts[name] |= memory_of(pid)
            print(f"  {name}: {json.dumps(facts[name])}", flush=True)
        facts["served"] = memory_of(pid)
    return facts


def climbed(
    folder: Path, documents: int, categories: int, told: argparse.Namespace
) -> dict[str, Any]:
    """All steps of one rung, or some; what FOLDER has figures of is not redone."""
    steps: dict[str, Callable[[], dict[str, Any]]] = {
        "make": partial(apart, make, folder, documents, categories),
        "import taxonomy": partial(apart, taxonomy_in, folder, told.memory),
        "import documents": partial(apart, documents_in, folder),
        "index": partial(apart, indexed, folder),
        "train": partial(apart, trained, folder),
        "serve": partial(serving, folder, told.times),
        "back up": partial(apart, backed_up, folder),
    }
    done = folder / "done.json"
    row: dict[str, Any] = {"documents": documents, "categories": categories}
    if done.exists():
        row = json.loads(done.read_text())
    for name, step in steps.items():
        if name in row or name not in (told.steps or steps):
            continue
        row[name] = step()
        print(f"{documents} {name} {json.dumps(row[name])}", flush=True)
        done.write_text(json.dumps(row))
    return row


STEPS = ("import taxonomy", "import documents", "index", "train", "back up")
ACTIONS = (
    "suggest", "decide, next", "undo", "a letter", "Taxonomy", "Progress", "search",
)  # fmt: skip
PANELS = {  # file → what is drawn, of what, the figure, and the least that is drawn
    "growth-seconds": ("processor seconds", STEPS, "cpu seconds", 0.01),
    "growth-memory": ("megabytes at most", (*STEPS, "serve"), "peak MB", 1.0),
    "growth-actions": ("processor milliseconds", ACTIONS, "cpu p50", 0.25),
}
BEGIN, END = "<!-- figures: benchmarks/bench_large.py -->", "<!-- end of figures -->"
HEAD = "| what | first | last | slope | between two sizes | first over 1 |\n|"


def value_of(row: dict[str, Any], name: str, figure: str) -> float:
    """A figure of a rung; not a number where it was not measured."""
    served = row.get("serve", {})
    facts = served.get("served", {}) if name == "serve" else served.get(name, {})
    return float(row.get(name, facts).get(figure, facts.get(figure, math.nan)))


def growth(rows: list[dict[str, Any]], plots: Path | None) -> str:
    """Tables of exponents, and where one first exceeds 1; the figures are drawn."""
    text = []
    for file, (unit, names, figure, least) in PANELS.items():
        series: dict[str, tuple[list[float], list[float]]] = {}
        lines = []
        for name in names:
            values = [(row["documents"], value_of(row, name, figure)) for row in rows]
            known = [(n, max(y, least)) for n, y in values if not math.isnan(y)]
            if len(known) < 2:
                continue
            x, y = (list(map(float, each)) for each in zip(*known, strict=True))
            series[name] = x, y
            local = np.diff(np.log(y)) / np.diff(np.log(x))
            slope = float(np.polyfit(np.log(x), np.log(y), 1)[0])
            over = [f"{x[at + 1]:,.0f}" for at, one in enumerate(local) if one > 1]
            steps = ", ".join(f"{one:.2f}" for one in local).replace("-", "−")
            cells = (f"{y[0]:.4g}", f"{y[-1]:,.4g}", f"{slope:.2f}", steps)
            first = over[0] if over else "nowhere"
            lines.append(f"| {name} | {' | '.join(cells)} | {first} |")
        table = "\n".join([HEAD + "---|" * 6, *lines])
        title = unit[0].upper() + unit[1:]
        text.append(f"**{title}**\n\n![{title}]({file}.svg)\n\n{table}")
        if plots:
            power_laws(series, plots / f"{file}.svg", title, ("documents", unit))
    return "\n\n".join(text)


def write_page(page: Path, text: str) -> None:
    """Put the tables where the page has its figures."""
    before, _, rest = page.read_text(encoding="utf-8").partition(BEGIN)
    after = rest.partition(END)[2]
    page.write_text(f"{before}{BEGIN}\n\n{text}\n\n{END}{after}", encoding="utf-8")


def main() -> None:
    """Climb the ladder; print, draw, write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", nargs="?", type=Path)
    parser.add_argument("--documents", type=int, nargs="*", default=LADDER)
    parser.add_argument("--categories", type=int)
    parser.add_argument("--memory", default="4GB")
    parser.add_argument("--times", type=int, default=TIMES)
    parser.add_argument("--steps", nargs="*", help="only these")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--page", type=Path, help="gets the tables; figures beside it")
    told = parser.parse_args()
    print(platform.platform(), flush=True)
    rows = []
    with tempfile.TemporaryDirectory() as there:
        for n in told.documents:
            k = told.categories or max(20, round(n * CATEGORIES / DOCUMENTS))
            folder = (told.folder or Path(there)) / f"{n}-{k}"
            folder.mkdir(parents=True, exist_ok=True)
            rows.append(climbed(folder, n, k, told))
            if told.folder is None:
                shutil.rmtree(folder)
    if told.steps:
        return
    if told.json:
        told.json.write_text(json.dumps(rows, indent=1) + "\n")
    text = growth(rows, told.page and told.page.parent)
    print(text)
    if told.page:
        write_page(told.page, text)


if __name__ == "__main__":
    main()
