"""Which queries ``auto`` averages, and by which rule: design collections only.

Run with ``OMP_NUM_THREADS=1 CLASSMARK_DATA=DIR python benchmarks/query_settings.py
PART --tried FILE``:

explore : on ``DESIGN``, what every rule of ``rules`` gets, and the single methods.
choose  : from what ``explore`` wrote, for fewer than 20 examples and for more: how far
          the rules are below the best single method of a collection and a number of
          examples (0 where they are not), and, for each collection, what it gets from
          the rule that the other collections would choose.

A rule is settings, how many of their queries are averaged, and the offset by which
left-out examples vote for them; with fewer than 20 examples there is no vote, and all
count the same.
The collections, and those that judge, are listed in ``bench_examples.py``.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Sequence
from itertools import combinations, product
from pathlib import Path
from typing import Any

import numpy as np
from bench_examples import DESIGN, MAKERS, collection_task

from classmark.arrays import Rows
from classmark.estimator import TINY
from classmark.examples import auto
from classmark.examples.auto import OF_FEW, ROCCHIO, SETTINGS, Setting
from classmark.examples.problem import training_set
from reproductions.qbme_tasks import Task, Topic

EARLIER = (Setting(0.3), Setting(1.0), Setting(4.0))
CANDIDATES = (*SETTINGS, OF_FEW, *EARLIER)
SINGLE = ("Centroid", "SVM_1c", "Rocchio", "balanced, C_P = 1", "LinearSVC")
NUMBERS = (1, 3, 5, 10, 20, None)  # of examples
SOME = 12  # topics of a collection
TOL = 0.01  # as ExampleQuery has it
Rule = tuple[tuple[int, ...], int, float]
PRESENT: Rule = (tuple(range(len(SETTINGS))), auto.AVERAGED, auto.OFFSET)
PRESENT_FEW: Rule = ((CANDIDATES.index(ROCCHIO), CANDIDATES.index(auto.OF_TEN)), 2, 0.0)


def rules(few: bool) -> list[Rule]:
    """Settings by their numbers in ``CANDIDATES``; of few examples at most three."""
    every = range(len(CANDIDATES))
    if few:
        return [(which, n, 0.0) for n in (1, 2, 3) for which in combinations(every, n)]
    present = PRESENT[0]
    fewer = [tuple(at for at in present if at != out) for out in present]
    more = [(*present, at) for at in every if at not in present]
    voting = (present, *fewer, *more)
    return list(product(voting, (1, 2, 3, len(CANDIDATES)), (0.01, 0.03, 0.1)))


def one(task: Task, topic: Topic, P: Rows) -> dict[str, Any]:
    """What each rule and each single method gets."""
    U, training, few = task.collection, training_set(P, task.collection), len(P) < 20
    shares = None if few else auto.left_out_shares(training, 1.0, CANDIDATES)
    learned = [auto.learn(training, 1.0, TOL, None, each) for each in CANDIDATES]
    single = [MAKERS[name]().fit(P, U) for name in SINGLE]
    scores = [each.decision_function(U) for each in single]
    weights = [each.weights for each in learned]
    units = [
        U.to_scipy() @ (each / max(np.linalg.norm(each), TINY)) for each in weights
    ]
    averages = []
    for which, averaged, offset in rules(few):
        votes = np.ones(len(which))
        if shares is not None:
            votes = auto.votes(shares[list(which)], offset)
        best = np.argsort(-votes, kind="stable")[:averaged]
        averages.append(sum(votes[i] * units[which[i]] for i in best))
    ap, other = (
        [task.measure(topic, each).ap for each in some] for some in (averages, scores)
    )
    return {"ap": ap, "single": other}


def explore(data: Path) -> list[dict[str, Any]]:
    """Measure on every design collection."""
    rows = []
    for name in DESIGN:
        task = collection_task(name, data).some(SOME)
        for topic, size in product(task.topics, NUMBERS):
            measured = one(task, topic, task.examples(topic, size))
            rows.append({"set": name, "size": size or 0, **measured})
        print(name, file=sys.stderr, flush=True)
    return rows


def differences(rows: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """By collection: MAP less that of the best single method, (sizes, rules)."""
    gains: dict[str, list[Any]] = {}
    for name, size in dict.fromkeys((row["set"], row["size"]) for row in rows):
        here = [row for row in rows if (row["set"], row["size"]) == (name, size)]
        best = np.mean([row["single"] for row in here], axis=0).max()
        mean = np.mean([row["ap"] for row in here], axis=0)
        gains.setdefault(name, []).append(mean - best)
    return {name: np.array(each) for name, each in gains.items()}


def choose(rows: Sequence[dict[str, Any]], few: bool) -> str:
    """The rule with the least shortfall; and, set by set, that of all the others."""
    tried, known = rules(few), differences(rows)
    sizes = list(dict.fromkeys(row["size"] or "all" for row in rows))

    def shortfall(sets: Sequence[str]) -> Any:
        return np.mean([np.minimum(known[name], 0.0).mean(axis=0) for name in sets], 0)

    names = list(known)
    order = np.argsort(-shortfall(names), kind="stable")[:8].tolist()
    lines = ["| rule: settings, averaged, offset | mean shortfall | worst | mean |"]
    lines.append("|---|---|---|---|")
    for at in [*order, tried.index(PRESENT_FEW if few else PRESENT)]:
        values = np.array([known[name][:, at] for name in names])
        cells = (np.minimum(values, 0.0).mean(), values.min(), values.mean())
        lines.append(
            f"| {written(tried[at])} | {' | '.join(f'{v:+.4f}' for v in cells)} |"
        )
    lines += ["", f"| left out | rule of the others | {' | '.join(map(str, sizes))} |"]
    lines.append("|---" * (2 + len(sizes)) + "|")
    for name in names:
        at = int(np.argmax(shortfall([other for other in names if other != name])))
        cells_ = " | ".join(f"{value:+.4f}" for value in known[name][:, at])
        lines.append(f"| {name} | {written(tried[at])} | {cells_} |")
    return "\n".join(lines)


def written(rule: Rule) -> str:
    """A rule in a cell."""
    which, averaged, offset = rule
    return f"{', '.join(map(str, which))}; {averaged}; {offset}"


def main() -> None:
    """Run a part."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("part", choices=["explore", "choose"])
    parser.add_argument("--data", type=Path, default=os.environ.get("CLASSMARK_DATA"))
    parser.add_argument("--tried", type=Path, required=True)
    options = parser.parse_args()
    if options.part == "choose":
        rows = json.loads(options.tried.read_text())
        for few in (True, False):
            some = [row for row in rows if (0 < row["size"] < auto.LEAST) == few]
            print(f"{choose(some, few)}\n")
        return
    if options.data is None:
        parser.error("give --data, or set CLASSMARK_DATA")
    options.tried.write_text(json.dumps(explore(Path(options.data))) + "\n")


if __name__ == "__main__":
    main()
