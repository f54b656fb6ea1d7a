"""How fast are categories found as one types? A made-up taxonomy of 100,000 nodes.

python benchmarks/bench_finder.py [NODES]
"""

from __future__ import annotations

import random
import sys
import time
from dataclasses import replace
from types import SimpleNamespace

from classmark.taxonomy.category import Category, taxonomy_of
from classmark.workbench.categories.find import find_categories, finder_of
from classmark.workbench.store.state import State

SYLLABLES = ("ba", "re", "ton", "mi", "sel", "kor", "an", "chi", "pla", "ver", "graph")
WORDS = 40_000
ASKED = 400


class Shelf(SimpleNamespace):
    """What the finder needs of a desk."""

    __hash__ = object.__hash__


def made_up(nodes: int, draw: random.Random) -> list[Category]:
    """Categories with labels, two synonyms, a note and a class mark each."""
    words = [
        "".join(draw.choices(SYLLABLES, k=draw.randint(2, 4))) for _ in range(WORDS)
    ]

    def some(count: int) -> str:
        places = (min(int(draw.paretovariate(0.6)), WORDS) - 1 for _ in range(count))
        return " ".join(words[place] for place in places)

    return [
        Category(
            f"c{at}",
            some(3).title(),
            some(15),
            (some(2), some(2)),
            (f"c{draw.randrange(min(at, 20_000))}",) if at else (),
            f"{at // 1000}.{at % 1000}",
        )
        for at in range(nodes)
    ]


def slipped(text: str, draw: random.Random) -> str:
    """The text with one letter replaced."""
    at = draw.randrange(1, len(text) - 1)
    return text[:at] + draw.choice("abcdefgh") + text[at + 1 :]


def typed(kind: str, category: Category, draw: random.Random) -> str:
    """What somebody types who looks for a category."""
    label = category.label
    return {
        "begun": label[: draw.randint(1, len(label))],
        "whole": label,
        "slip": slipped(label, draw),
        "part": label[draw.randint(1, 3) :].split()[0],
        "mark": category.notation,
        "note": " ".join(category.note.split()[:2]),
    }[kind]


def main(nodes: int) -> None:
    """Print a row for each way of asking."""
    draw = random.Random(1)  # noqa: S311 (words, no secrets)
    shelf = Shelf(state=State())
    listed = made_up(nodes, draw)
    shelf.categories = {category.id: category for category in listed}
    shelf.tree = taxonomy_of(listed)
    started = time.perf_counter()
    finder_of(shelf)
    print(f"{nodes:,} nodes, read once in {time.perf_counter() - started:.1f} s")
    find_categories(shelf, "xqzxqz")
    changed = replace(listed[5], label="Lighthouse keeping")
    shelf.categories = {**shelf.categories, changed.id: changed}
    started = time.perf_counter()
    found = find_categories(shelf, "lighthouse")
    took = 1000 * (time.perf_counter() - started)
    print(f"{found[0].label} found {took:.0f} ms after it was renamed")
    print(f"{'asked':>6} {'median':>8} {'p95':>8} {'p95 CPU':>8}   milliseconds")
    every: list[tuple[float, float]] = []
    for kind in ("begun", "whole", "slip", "part", "mark", "note"):
        took = []
        for _ in range(ASKED):
            words = typed(kind, draw.choice(listed), draw)
            started, busy = time.perf_counter(), time.process_time()
            find_categories(shelf, words)
            spent = time.process_time() - busy
            took.append((1000 * (time.perf_counter() - started), 1000 * spent))
        every += took
        row(kind, took)
    row("all", every)


def row(name: str, took: list[tuple[float, float]]) -> None:
    """Print one row: seconds by the clock, and of the processor alone."""
    clock, spent = (sorted(column) for column in zip(*took, strict=True))
    p95 = int(0.95 * len(took))
    print(f"{name:>6} {clock[len(took) // 2]:8.1f} {clock[p95]:8.1f} {spent[p95]:8.1f}")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 100_000)
