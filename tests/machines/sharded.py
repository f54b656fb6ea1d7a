"""Small collections cut into shards, and machines that are this process."""

from itertools import pairwise

import numpy as np

from classmark.index.index import Index

WORDS = [f"w{number}" for number in range(24)]


class Here:
    """What ``Machines`` offers to a search, done in this process."""

    def __init__(self, workers=3, memory=0):
        self.workers, self.memory = workers, memory

    def hold(self, make, tasks):
        return [make(task) for task in tasks]

    def ask(self, work, objects, shared=(), arguments=None):
        return [
            work(each, *(() if arguments is None else (arguments[at],)), *shared)
            for at, each in enumerate(objects)
        ]


def text(rng, most):
    """Frequent words are far more frequent; some documents are all alike, for ties."""
    if rng.random() < 0.2:
        return "w0 w1 w1 w2"
    weights = 1 / np.arange(1, len(WORDS) + 1)
    size, chances = rng.integers(0, most + 1), weights / weights.sum()
    return " ".join(rng.choice(WORDS, size, p=chances))


def collection(seed, size, fields=("text",)):
    rng = np.random.default_rng(seed)
    return [
        {"id": f"d{n}", **{f: text(rng, 6 if f == "title" else 25) for f in fields}}
        for n in range(size)
    ]


def cut(folder, documents, edges, gone=()):
    """Build an index whose segments end at the edges; some documents deleted then."""
    fields = [name for name in documents[0] if name != "id"]
    bounds = [*edges, len(documents)]
    Index.build(folder, documents[: bounds[0]], fields=fields, positions=True)
    for first, last in pairwise(bounds):
        with Index.open(folder, merging="demand") as index:
            index.add(documents[first:last])
            index.commit()
    if gone:
        with Index.open(folder, merging="demand") as index:
            index.delete(gone)
            index.commit()
    return folder
