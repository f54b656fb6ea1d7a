"""Do a few examples and a collection make a query? The tables of [ZhangLee09].

A topic's relevant training documents are the examples P, all test documents the
collection U; each method learns a query and ranks U by it. Precision–recall break-even
point, average precision, processor seconds and non-zero weights, means over the topics,
with the paper's C and with C chosen without a label of U (``qbme_methods``).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from classmark.arrays import Floats
from classmark.experiments.qbme_claims import Claims
from classmark.experiments.qbme_methods import METHODS, Method, ask
from classmark.experiments.qbme_tasks import Task, news20, reuters, siam
from classmark.progress import track
from classmark.sparse import take

MORE_THAN = 5  # examples: the paper's topics of Reuters
FORMS = {"prbep": ".4f", "map": ".4f", "seconds": ".3f", "nonzeros": ",.0f"}
MEASURES = tuple(FORMS)
DRAWN = (
    "Centroid",
    "SVM_1c, C = 100",
    "Rocchio",
    "SVM_ba, tuned",
    "SVM_pr, tuned",
    "auto",
)
PAPER: dict[str, dict[str, tuple[float, ...]]] = {
    "news20": {
        "Centroid": (0.4299, 0.4011, 11533),
        "SVM_1c": (0.3874, 0.3436, 5179),
        "Rocchio": (0.6628, 0.6867, 41023),
        "SVM_ba": (0.7969, 0.8200, 22919),
        "SVM_pr": (0.7976, 0.8236, 22943),
    },
    "siam": {
        "Centroid": (0.2453, 0.2115, 9627),
        "SVM_1c": (0.2618, 0.2239, 3597),
        "Rocchio": (0.4754, 0.4627, 19146),
        "SVM_ba": (0.5685, 0.5635, 12258),
        "SVM_pr": (0.5613, 0.5565, 12348),
    },
    "reuters": {
        "Centroid": (0.6278, 0.6833, 1306),
        "SVM_1c": (0.6531, 0.6974, 1048),
        "Rocchio": (0.6474, 0.7138, 7241),
        "SVM_ba": (0.6621, 0.7194, 4786),
        "SVM_pr": (0.6711, 0.7289, 4391),
    },
}
TASKS: dict[str, Callable[[Path | None], Task]] = {
    "news20": news20,
    "reuters": reuters,
    "siam": siam,
}


@dataclass(frozen=True, slots=True)
class Row:
    """One method: a value for each topic, and their means.

    cost : where C comes from;  topics : measure → values;  means : of these;  paper :
    PRBEP, MAP and non-zeros as published, beside the paper's C alone.
    """

    method: str
    cost: str
    topics: dict[str, list[float]]
    means: dict[str, float]
    paper: dict[str, float]

    @property
    def label(self) -> str:
        """The method and where its C comes from."""
        return f"{self.method}{NOTES[self.cost]}"


@dataclass(frozen=True, slots=True)
class Table:
    """The rows over some topics of a collection.

    examples : how many each topic has;  documents : of U.
    """

    name: str
    topics: list[str]
    examples: list[int]
    documents: int
    features: int
    rows: list[Row]
    claims: list[str]


NOTES = {
    "none": "",
    "paper": ", C = 100",
    "one": ", C_P = 1",
    "tenth": ", C_P = 0.1",
    "tuned": ", tuned",
}


def qbme(name: str, data: Path | None = None) -> list[Table]:
    """Compute the table of a collection; of Reuters also that of all 90 topics.

    name : "news20", "reuters" or "siam";  data : the folder of the data sets, or None
    for that of ``CLASSMARK_DATA``.
    """
    task = TASKS[name](data)
    found = compare(task, METHODS)
    if name != "reuters":
        return [tabled(name, task, found)]
    large = [
        at for at, topic in enumerate(task.topics) if len(topic.examples) > MORE_THAN
    ]
    return [
        tabled("reuters", task, found, large),
        tabled("reuters, 90 topics", task, found),
    ]


def compare(task: Task, methods: Sequence[Method]) -> dict[Method, dict[str, Floats]]:
    """Measure each method on each topic: method → measure → (topics,)."""
    size = len(task.topics)
    found = {method: {key: np.empty(size) for key in MEASURES} for method in methods}
    _load_kernels(task, methods)
    for at, topic in enumerate(track(task.topics, f"topics of {task.name}", size)):
        P = task.examples(topic)
        for method in methods:
            asked = ask(method, P, task.collection)
            scores = asked.query.decision_function(task.collection)
            good = task.measure(topic, scores)
            values = (*good, asked.seconds, float(asked.query.nonzero_))
            for key, value in zip(MEASURES, values, strict=True):
                found[method][key][at] = value
    return found


def _load_kernels(task: Task, methods: Sequence[Method]) -> None:
    """Ask each once for little, so that no topic's seconds hold what is done once."""
    P, U = (take(rows, range(5)) for rows in (task.train, task.collection))
    for method in methods:
        ask(method, P, U)


def tabled(
    name: str,
    task: Task,
    found: Mapping[Method, Mapping[str, Floats]],
    which: Sequence[int] | None = None,
) -> Table:
    """Make a table of some of the topics, or of all."""
    chosen = list(range(len(task.topics)) if which is None else which)
    published = PAPER.get(name, {})
    rows = [
        _row(method, {key: each[chosen] for key, each in values.items()}, published)
        for method, values in found.items()
    ]
    return Table(
        name,
        [task.topics[at].name for at in chosen],
        [len(task.topics[at].examples) for at in chosen],
        *task.collection.shape,
        rows,
        Claims({row.label: row.topics for row in rows}).all(),
    )


def _row(
    method: Method,
    values: Mapping[str, Floats],
    published: Mapping[str, tuple[float, ...]],
) -> Row:
    theirs = published.get(method.name, ()) if method.cost in {"none", "paper"} else ()
    return Row(
        method.name,
        method.cost,
        {key: each.tolist() for key, each in values.items()},
        {key: float(each.mean()) for key, each in values.items()},
        dict(zip(("prbep", "map", "nonzeros"), theirs, strict=False)),
    )
