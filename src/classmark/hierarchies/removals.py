"""What if this node were gone? Tried with documents that its classifiers never saw."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from classmark.arrays import Bools, Ints
from classmark.hierarchies.bounds import complexity
from classmark.hierarchies.trials import Documents, Learner
from classmark.randomness import generator

FOLDS = 3
MOST = 2000  # documents of a node that a trial looks at


class Removal(NamedTuple):
    """What the removal of a node does.

    gain : documents brought to the right daughter more than before;  changed : those
    whose fate changed;  tested : documents tried;  terms : the rise in complexity, Σ
    |D(v)|(|D(v)| − 1).
    """

    node: int
    parent: int
    gain: float
    changed: int
    tested: int
    terms: int

    @property
    def spread(self) -> float:
        """The standard error of the gain, as documents."""
        return float(np.sqrt(self.changed))


class _Fate(NamedTuple):
    """Documents of a node, increasing, the daughter chosen, and whether rightly."""

    documents: Ints
    chosen: Ints
    right: Bools


class Removals:
    """A working tree whose inner nodes can be tried without, and taken out.

    Every document is judged by classifiers trained on the folds it is not in. A trial
    of node v with parent p counts, over the documents of p, who comes to a right
    daughter: through p and then v as the tree stands, or by one classifier over the
    daughters of both; only this one is trained anew. Of a node with very many documents
    the same 2,000 are always taken.
    """

    def __init__(
        self,
        documents: Documents,
        learner: Learner | None = None,
        *,
        folds: int = FOLDS,
        most: int = MOST,
        seed: int = 0,
    ) -> None:
        self.documents = documents
        self.learner = learner or Learner()
        self.folds, self.most = folds, most
        rng = generator(seed)
        self._place = rng.permutation(len(documents))
        self.fold_of = self._place % folds
        self._fates: dict[int, _Fate] = {}
        self._tried: dict[int, _Fate] = {}
        self._parents: dict[int, list[int]] = {}
        for v, below in documents.daughters.items():
            for u in below.tolist():
                self._parents.setdefault(u, []).append(v)

    def removable(self) -> list[int]:
        """Inner nodes below the root with one parent, upper ones first."""
        tree = self.documents.daughters
        return [v for v in tree if len(self._parents.get(v, ())) == 1]

    def parent(self, node: int) -> int:
        """The one parent of a removable node."""
        return self._parents[node][0]

    def attempt(self, node: int) -> Removal:
        """Try the tree without a node; the tree stays as it is."""
        tree, p = self.documents.daughters, self.parent(node)
        joined = self._joined(node)
        before, after = (len(tree[p]), len(tree[node])), len(joined)
        rise = complexity([after]) - complexity(before)
        sample = self._sample(p)
        if min(before) == 1:
            self._tried[node] = self._same(node)
            return Removal(node, p, 0.0, 0, len(sample), rise)
        fate = self._judged(sample, joined)
        now = self._through(p, node)
        difference = fate.right.astype(np.int64) - now
        self._tried[node] = fate
        return Removal(
            node,
            p,
            float(difference.sum()),
            int(np.abs(difference).sum()),
            len(sample),
            rise,
        )

    def remove(self, node: int) -> None:
        """Take a node out; its daughters become its parent's."""
        tree, p = self.documents.daughters, self.parent(node)
        joined = self._joined(node)
        for u in tree[node].tolist():
            others = [v for v in self._parents[u] if v not in (node, p)]
            self._parents[u] = [p, *others]
        tree[p] = joined
        del tree[node]
        self._fates.pop(p, None)
        if node in self._tried:
            self._fates[p] = self._tried[node]
        self._tried.clear()

    def _joined(self, node: int) -> Ints:
        tree = self.documents.daughters
        rest = tree[self.parent(node)]
        return np.union1d(rest[rest != node], tree[node])

    def _sample(self, node: int) -> Ints:
        found = self.documents.at(node)
        if len(found) > self.most:
            found = np.sort(found[np.argsort(self._place[found])[: self.most]])
        return found

    def _fate(self, node: int) -> _Fate:
        if node not in self._fates:
            daughters = self.documents.daughters[node]
            self._fates[node] = self._judged(self._sample(node), daughters)
        return self._fates[node]

    def _judged(self, documents: Ints, daughters: Ints) -> _Fate:
        chosen = np.full(len(documents), daughters[0], np.int64)
        fold = self.fold_of[documents]
        for out in range(self.folds) if len(daughters) > 1 else ():
            learn, ask = documents[fold != out], documents[fold == out]
            if len(learn) and len(ask):
                model = self.documents.fit(self.learner, learn, daughters)
                found = self.documents.choices(model, ask, daughters)
                chosen[fold == out] = found
        return _Fate(documents, chosen, self.documents.belong(documents, chosen))

    def _through(self, parent: int, node: int) -> Ints:
        """Who is right after the parent and, where it sends them there, the node."""
        first, second = self._fate(parent), self._fate(node)
        sent = (first.chosen == node) & first.right
        right = first.right.astype(np.int64)
        where = np.searchsorted(second.documents, first.documents[sent])
        right[sent] = second.right[where]
        return right

    def _same(self, node: int) -> _Fate:
        """One of the two decides nothing: the other's choices stand."""
        p = self.parent(node)
        first, second = self._fate(p), self._fate(node)
        chosen, right = first.chosen.copy(), first.right.copy()
        sent = chosen == node
        if len(self.documents.daughters[node]) == 1:
            chosen[sent] = self.documents.daughters[node][0]
            return _Fate(first.documents, chosen, right)
        return second
