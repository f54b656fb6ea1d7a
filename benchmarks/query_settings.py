"""Which settings ``auto`` chooses among, and by which rule: design collections only.

Run with ``OMP_NUM_THREADS=1 CLASSMARK_DATA=DIR python benchmarks/query_settings.py
PART --tried FILE``:

explore : every setting of ``CANDIDATES`` by itself, the ranks of left-out examples by
          which ``auto`` would choose, and the single methods, on ``DESIGN``.
choose  : every rule of ``rules`` on what ``explore`` wrote: how far the settings it
          chooses are below the best single method of a collection and a number of
          examples (0 where they are not), and, for each collection, what it gets from
          the rule that the other collections would choose.

The collections, and those that judge, are listed in ``bench_examples.py``.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Sequence
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from bench_examples import DESIGN, MAKERS, collection_task

from classmark.arrays import Rows
from classmark.examples import auto
from classmark.examples.auto import SETTINGS, Setting
from classmark.examples.problem import training_set
from reproductions.qbme_tasks import Task, Topic

CANDIDATES = (
    *SETTINGS,
    Setting(1.0, 1.0, hopes=True),
    Setting(1.0, 4.0, hopes=False),
)
SINGLE = ("Rocchio", "balanced, C_P = 1", "LinearSVC")
NUMBERS = (5, 10, 20, None)  # of examples
SOME = 12  # topics of a collection
TOL = 0.01  # as ExampleQuery has it


def one(task: Task, topic: Topic, P: Rows) -> dict[str, Any]:
    """What each setting and each single method gets, and left-out examples' ranks."""
    U = task.collection
    training = training_set(P, U)
    shares = auto.left_out_shares(training, 1.0, CANDIDATES)
    queries = [auto.learn(training, 1.0, TOL, None, each) for each in CANDIDATES]
    scores = [U.to_scipy() @ query.solution.weights for query in queries]
    values = [task.measure(topic, each).ap for each in scores]
    single = [
        task.measure(topic, MAKERS[name]().fit(P, U).decision_function(U)).ap
        for name in SINGLE
    ]
    return {"shares": shares.tolist(), "ap": values, "single": single}


def explore(data: Path) -> list[dict[str, Any]]:
    """Measure on every design collection."""
    rows = []
    for name in DESIGN:
        task = collection_task(name, data).some(SOME)
        for topic, size in product(task.topics, NUMBERS):
            found = one(task, topic, task.examples(topic, size))
            rows.append({"set": name, "size": size or 0, **found})
        print(name, file=sys.stderr, flush=True)
    return rows


Rule = tuple[tuple[int, ...], float, float]


def rules() -> list[Rule]:
    """Lists of candidates by number, the first being that of doubt; offset; doubt."""
    lists = (
        tuple(range(6)), tuple(range(7)), tuple(range(8)), (0, 2, 4), (0, 1, 2, 5),
        (0, 1, 5), (0, 2, 3, 4), (6, 0, 1, 2, 4, 5), (0,), (2,), (6,),
    )  # fmt: skip
    return list(product(lists, (1 / 30, 1 / 100, 1 / 300), (0.0, 0.3, 0.6, 1.0)))


def chosen(row: dict[str, Any], rule: Rule) -> float:
    """The average precision of the setting that a rule chooses."""
    which, offset, doubt = rule
    best = auto.preferred(np.array(row["shares"])[list(which)], offset, doubt)
    return float(row["ap"][which[best]])


def differences(rows: Sequence[dict[str, Any]], rule: Rule) -> dict[str, list[float]]:
    """By collection: MAP less that of the best single method, a number a size."""
    found: dict[str, list[float]] = {}
    for name, size in dict.fromkeys((row["set"], row["size"]) for row in rows):
        here = [row for row in rows if (row["set"], row["size"]) == (name, size)]
        best = np.mean([row["single"] for row in here], axis=0).max()
        gain = np.mean([chosen(row, rule) for row in here]) - best
        found.setdefault(name, []).append(float(gain))
    return found


def choose(rows: Sequence[dict[str, Any]]) -> str:
    """The rule with the least shortfall; and, set by set, that of all the others."""
    tried = {rule: differences(rows, rule) for rule in rules()}
    present: Rule = (tuple(range(len(SETTINGS))), auto.OFFSET, auto.DOUBT)

    def shortfall(rule: Rule, sets: Sequence[str]) -> float:
        return float(np.mean([np.minimum(tried[rule][name], 0.0) for name in sets]))

    def best(sets: Sequence[str]) -> Rule:
        return max(tried, key=lambda rule: shortfall(rule, sets))

    names = list(tried[present])
    order = sorted(tried, key=lambda rule: -shortfall(rule, names))
    lines = ["| rule: settings, offset, doubt | mean shortfall | worst | mean |"]
    lines.append("|---|---|---|---|")
    for rule in [*order[:10], present, *(((i,), 0.01, 0.6) for i in (0, 2, 6))]:
        values = np.array(list(differences(rows, rule).values()))
        numbers = (np.minimum(values, 0.0).mean(), values.min(), values.mean())
        lines.append(
            f"| {written(rule)} | {' | '.join(f'{v:+.4f}' for v in numbers)} |"
        )
    lines += ["", "| left out | rule of the others | 5 | 10 | 20 | all |"]
    lines.append("|---|---|---|---|---|---|")
    for name in names:
        rule = best([other for other in names if other != name])
        cells = " | ".join(f"{value:+.4f}" for value in tried[rule][name])
        lines.append(f"| {name} | {written(rule)} | {cells} |")
    return "\n".join(lines)


def written(rule: Rule) -> str:
    """A rule in a cell."""
    which, offset, doubt = rule
    return f"{', '.join(map(str, which))}; {offset:.4f}; {doubt}"


def main() -> None:
    """Run a part."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("part", choices=["explore", "choose"])
    parser.add_argument("--data", type=Path, default=os.environ.get("CLASSMARK_DATA"))
    parser.add_argument("--tried", type=Path, required=True)
    options = parser.parse_args()
    if options.part == "choose":
        print(choose(json.loads(options.tried.read_text())))
        return
    if options.data is None:
        parser.error("give --data, or set CLASSMARK_DATA")
    options.tried.write_text(json.dumps(explore(Path(options.data))) + "\n")


if __name__ == "__main__":
    main()
