"""Should this node go? A classifier of nodes, learned on taxonomies where it was tried.

The weights are in ``meta.json``, made by ``benchmarks/train_meta_pruner.py``; the file
says on which collections, of how many nodes, and how well each collection is foretold
by the others.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.resources import files
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from classmark.arrays import Floats, Ints
from classmark.clusters.kmeans import directions
from classmark.problems import Mistake
from classmark.sparse import take

if TYPE_CHECKING:
    from classmark.hierarchies.pruning import Removals


SETS = ("sisters", "daughters", "across")
NAMES = (
    "log daughters of the parent",
    "log daughters",
    "log documents of the parent",
    "log documents",
    "log features of the parent",
    "log features",
    *(f"{kind} of cosines, {where}" for where in SETS for kind in ("mean", "max")),
    *(f"{kind} of divergences, {where}" for where in SETS for kind in ("mean", "max")),
)
MANY = 300  # daughters that are compared pair by pair: those with most documents
SMOOTHING = 0.1  # share of the parent's distribution in that of a daughter


@dataclass(frozen=True, eq=False)
class MetaClassifier:
    """Probability that removing a node helps: σ(bias + Σ weights (x − mean)/scale)."""

    mean: Floats
    scale: Floats
    weights: Floats
    bias: float

    def probability(self, features: ArrayLike) -> Floats:
        """Shape (nodes,) for features of shape (nodes, number of features)."""
        x = (np.asarray(features, np.float64) - self.mean) / self.scale
        return np.asarray(1.0 / (1.0 + np.exp(-(x @ self.weights + self.bias))))


def shipped(without: str | None = None) -> MetaClassifier:
    """The classifier in the package, or the one that was learned without one set."""
    text = (files("classmark.hierarchies") / "meta.json").read_text(encoding="utf-8")
    facts = json.loads(text)
    if without is None:
        return from_facts(facts["all"])
    if without not in facts["without"]:
        collections = ", ".join(sorted(facts["without"]))
        raise Mistake(f"without {without!r}: it was learned on {collections}")
    return from_facts(facts["without"][without])


def from_facts(facts: Mapping[str, Any]) -> MetaClassifier:
    """Read a classifier: each number beside the name of its feature."""
    mean, scale, weights = (
        np.array([facts[part][name] for name in NAMES])
        for part in ("mean", "scale", "weights")
    )
    return MetaClassifier(mean, scale, weights, float(facts["bias"]))


class Described:
    """What the classifier sees of nodes: sizes, and how alike the classes are.

    Classes are sums of their documents' rows, compared among the sisters (the daughters
    of the parent), among the node's own daughters, and across: daughters with sisters,
    which is where a classifier over both would have to decide. What sisters share is
    computed once where they are asked for one after the other.
    """

    def __init__(self, trials: Removals) -> None:
        self.trials = trials
        self._parent = -1

    def features(self, node: int, parent: int) -> Floats:
        """The numbers of ``NAMES`` for a node and its parent."""
        tree, both = self.trials.daughters, (parent, node)
        if parent != self._parent:
            self._parent = parent
            self._sisters, self._numbers = self._sums(tree[parent])
            self._background, _ = self._sums(np.array([parent]))
            self._among_sisters = self._likeness(self._sisters, self._sisters)
            self._parent_features = self._features(parent)
        down, _ = self._sums(tree[node])
        up = self._sisters[np.flatnonzero(self._numbers != node)]
        sizes = [len(tree[v]) for v in both]
        sizes += [len(self.trials.at(v)) for v in both]
        sizes += [self._parent_features, self._features(node)]
        likeness = [
            self._among_sisters, self._likeness(down, down), self._likeness(down, up)
        ]  # fmt: skip
        similarities = [
            number
            for kind in zip(*likeness, strict=True)
            for summary in kind
            for number in summary
        ]
        return np.concatenate([np.log1p(np.array(sizes, np.float64)), similarities])

    def _likeness(self, a: Any, b: Any) -> tuple[tuple[float, float], ...]:
        """Mean and largest of the cosines of two sets of rows, and of divergences.

        Of rows with themselves the diagonal is left out.
        """
        summaries = []
        cosines = np.asarray((directions(a) @ directions(b).T).toarray(), np.float64)
        for pairs in (cosines, _divergences(a, b, self._background)):
            apart = ~np.eye(len(pairs), dtype=np.bool_) if a is b else ...
            values = np.ravel(pairs[apart])
            mean, most = (values.mean(), values.max()) if values.size else (0.0, 0.0)
            summaries.append((float(mean), float(most)))
        return tuple(summaries)

    def _features(self, node: int) -> int:
        rows = take(self.trials.rows, self.trials.at(node))
        return len(np.unique(rows.columns))

    def _sums(self, nodes: Ints) -> tuple[Any, Ints]:
        """Sums of the absolute rows of nodes that have documents, and which they are.

        Of more than 300 nodes only those with most documents.
        """
        lists = [self.trials.at(int(u)) for u in nodes]
        largest = np.argsort([-len(members) for members in lists], kind="stable")[:MANY]
        chosen = np.sort(nodes[largest])
        everyone = np.unique(
            np.concatenate([np.empty(0, np.int64), *(lists[at] for at in largest)])
        )
        owners = self.trials.owners(everyone, chosen).to_scipy()
        rows = abs(take(self.trials.rows, everyone).to_scipy())
        sums = (owners.T @ rows).tocsr()
        full = np.flatnonzero(np.diff(sums.indptr))
        return sums[full], chosen[full]


def _shares(rows: Any) -> Any:
    """Each row divided by its sum."""
    sums = np.asarray(rows.sum(axis=1)).ravel()
    scaled = rows.copy()
    scaled.data *= np.repeat(1.0 / np.where(sums > 0, sums, 1.0), np.diff(rows.indptr))
    return scaled


def _divergences(a: Any, b: Any, background: Any) -> Floats:
    """KL(P ‖ (1 − s) Q + s U) for rows P of a and Q of b, U the parent's, in nats."""
    p, q, u = map(_shares, (a, b, background))
    if not u.nnz:
        return np.zeros((a.shape[0], b.shape[0]))
    common = np.zeros(u.shape[1])
    common[u.indices] = u.data
    entropy = p.copy()
    entropy.data = p.data * (np.log(p.data) - np.log(SMOOTHING * common[p.indices]))
    more = q.copy()
    more.data = np.log1p((1 - SMOOTHING) * q.data / (SMOOTHING * common[q.indices]))
    first = np.asarray(entropy.sum(axis=1)).reshape(-1, 1)
    return np.asarray(first - (p @ more.T).toarray(), np.float64)
