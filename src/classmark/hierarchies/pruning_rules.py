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
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from classmark.arrays import Floats, Ints
from classmark.problems import Mistake
from classmark.sparse import take

if TYPE_CHECKING:
    from classmark.hierarchies.pruning import Documents


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
STEPS = 50


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
    """Read what ``to_facts`` wrote."""
    mean, scale, weights = (
        np.array([facts[part][name] for name in NAMES])
        for part in ("mean", "scale", "weights")
    )
    return MetaClassifier(mean, scale, weights, float(facts["bias"]))


def to_facts(learned: MetaClassifier) -> dict[str, Any]:
    """The classifier as JSON: each number beside the name of its feature."""
    arrays = {
        "mean": learned.mean,
        "scale": learned.scale,
        "weights": learned.weights,
    }
    named = {
        part: {name: round(float(x), 6) for name, x in zip(NAMES, values, strict=True)}
        for part, values in arrays.items()
    }
    return {**named, "bias": round(learned.bias, 6)}


def fit_meta(
    features: ArrayLike, targets: ArrayLike, trust: ArrayLike, penalty: float = 1.0
) -> MetaClassifier:
    """Logistic regression on standardised features, by Newton's method.

    Minimises Σ trust · (−t ln p − (1 − t) ln(1 − p)) + penalty/2 ‖weights‖².

    targets : in [0, 1], how sure it is that the removal helped, shape (nodes,);
    trust : the weight of each node.
    """
    x = np.asarray(features, np.float64)
    mean, scale = x.mean(axis=0), x.std(axis=0)
    scale[scale == 0] = 1.0
    A = np.column_stack([(x - mean) / scale, np.ones(len(x))])
    t, c = np.asarray(targets, np.float64), np.asarray(trust, np.float64)
    ridge = np.full(A.shape[1], penalty)
    ridge[-1] = 1e-6
    w = np.zeros(A.shape[1])
    for _ in range(STEPS):
        p = 1.0 / (1.0 + np.exp(-(A @ w)))
        slope = A.T @ (c * (p - t)) + ridge * w
        curve = (A * (c * p * (1 - p))[:, np.newaxis]).T @ A + np.diag(ridge)
        step = np.linalg.solve(curve, slope)
        w -= step
        if np.abs(step).max() < 1e-8:
            break
    return MetaClassifier(mean, scale, w[:-1], float(w[-1]))


class Described:
    """What the classifier sees of nodes: sizes, and how alike the classes are.

    Classes are sums of their documents' rows, compared among the sisters (the daughters
    of the parent), among the node's own daughters, and across: daughters with sisters,
    which is where a classifier over both would have to decide. What sisters share is
    computed once where they are asked for one after the other.
    """

    def __init__(self, documents: Documents) -> None:
        self.documents = documents
        self._parent = -1
        self._family: _Family

    def features(self, node: int, parent: int) -> Floats:
        """The numbers of ``NAMES`` for a node and its parent."""
        if parent != self._parent:
            self._parent, self._family = parent, self._family_of(parent)
        family, tree = self._family, self.documents.daughters
        down, _ = self._sums(tree[node])
        up = family.rows[np.flatnonzero(family.numbers != node)]
        sizes = [
            len(tree[parent]),
            len(tree[node]),
            len(self.documents.at(parent)),
            len(self.documents.at(node)),
            family.features,
            self._features(node),
        ]
        similarities = [
            *family.cosines,
            *_summary(_cosines(down, down), same=True),
            *_summary(_cosines(down, up), same=False),
            *family.divergences,
            *_summary(_divergences(down, down, family.background), same=True),
            *_summary(_divergences(down, up, family.background), same=False),
        ]
        return np.concatenate([np.log1p(np.array(sizes, np.float64)), similarities])

    def _family_of(self, parent: int) -> _Family:
        rows, numbers = self._sums(self.documents.daughters[parent])
        background, _ = self._sums(np.array([parent]))
        return _Family(
            rows,
            numbers,
            background,
            self._features(parent),
            _summary(_cosines(rows, rows), same=True),
            _summary(_divergences(rows, rows, background), same=True),
        )

    def _features(self, node: int) -> int:
        rows = take(self.documents.rows, self.documents.at(node))
        return len(np.unique(rows.columns))

    def _sums(self, nodes: Ints) -> tuple[Any, Ints]:
        """Sums of the absolute rows of nodes that have documents, and which they are.

        Of more than 300 nodes only those with most documents.
        """
        lists = [self.documents.at(int(u)) for u in nodes]
        largest = np.argsort([-len(members) for members in lists], kind="stable")[:MANY]
        chosen = np.sort(nodes[largest])
        everyone = np.unique(
            np.concatenate([np.empty(0, np.int64), *(lists[at] for at in largest)])
        )
        owners = self.documents.owners(everyone, chosen).to_scipy()
        rows = abs(take(self.documents.rows, everyone).to_scipy())
        sums = (owners.T @ rows).tocsr()
        full = np.flatnonzero(np.diff(sums.indptr))
        return sums[full], chosen[full]


class _Family(NamedTuple):
    """The daughters of one parent: sums of rows, the parent's, and how alike."""

    rows: Any
    numbers: Ints
    background: Any
    features: int
    cosines: tuple[float, float]
    divergences: tuple[float, float]


def _scaled(rows: Any, lengths: Floats) -> Any:
    from scipy.sparse import diags

    return (diags(1.0 / np.where(lengths > 0, lengths, 1.0)) @ rows).tocsr()


def _cosines(a: Any, b: Any) -> Floats:
    parts = []
    for rows in (a, b):
        squares = np.asarray(rows.multiply(rows).sum(axis=1)).ravel()
        parts.append(_scaled(rows, np.sqrt(squares)))
    return np.asarray((parts[0] @ parts[1].T).toarray(), np.float64)


def _divergences(a: Any, b: Any, background: Any) -> Floats:
    """KL(P ‖ (1 − s) Q + s U) for rows P of a and Q of b, U the parent's, in nats."""
    p, q, u = (
        _scaled(r, np.asarray(r.sum(axis=1)).ravel()) for r in (a, b, background)
    )
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


def _summary(pairs: Floats, *, same: bool) -> tuple[float, float]:
    """Mean and largest; of rows with themselves the diagonal is left out."""
    values = pairs[~np.eye(len(pairs), dtype=np.bool_)] if same else pairs.ravel()
    return (float(values.mean()), float(values.max())) if values.size else (0.0, 0.0)
