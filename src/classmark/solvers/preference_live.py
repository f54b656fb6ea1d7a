"""The preference learning problem while documents and labels come and go.

Why an exact step and visits again reach the optimum of all documents, and how one is
taken back: docs/mathematics.md, section 8.
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from classmark.arrays import (
    Array,
    Bools,
    Floats,
    Growing,
    Ints,
    Rows,
    with_room,
)
from classmark.kernels import scores_of
from classmark.problems import Mistake
from classmark.solvers.live_documents import (
    ONE,
    Lesson,
    ListedDuals,
    LiveImplicitDual,
    groups_of,
)
from classmark.solvers.preference import (
    CODES,
    Caps,
    CompositeDual,
    ExplicitDual,
    ImplicitDual,
)

GOLDEN = np.uint64(0x9E3779B97F4A7C15)
WASTE = 1000  # places of forgotten documents that are left as they are
SAMPLE = 16  # documents of which the least needed is let go


def turns(first: int, count: int, total: int) -> Ints:
    """Numbers below ``total``, by the golden ratio: any run of them is spread evenly.

    >>> turns(0, 5, 10).tolist()
    [0, 6, 2, 8, 4]
    """
    steps = np.arange(first, first + count, dtype=np.uint64) * GOLDEN
    half = np.uint64(32)
    return (((steps >> half) * np.uint64(total)) >> half).astype(np.int64)


AT_ONCE = 16  # re-visits between two looks at the clock
ALIGNED = 16  # columns of W that are made at once


class LiveDual:
    """min ½‖w − w₀‖² + C Σ_g ξ_g over documents that come one by one.

    A new document's groups are moved to their optimum by the exact step of the batch;
    then documents kept before are visited again, as in LaRank [BordesEtAl07]. The more
    visits, the nearer to the optimum of all documents together. What a document has
    added to w is known by its duals, so it can be taken back.

    layered, listed : problems over one W to begin with;  is_listed :
    which of all their documents the second has: its handle is a document's number;
    keep : documents kept at most; beyond it, of a few the one with the least Σα is let
    go: what it taught stays in w, but it is not visited again and not forgotten;
    prior : 0, or the value of the problems' first column, which every document has: the
    columns of lessons, scores and ``W`` are those after it.
    """

    def __init__(
        self,
        layered: ImplicitDual,
        C: float,
        keep: int | None = None,
        listed: ExplicitDual | None = None,
        is_listed: Bools | None = None,
        prior: float = 0.0,
    ) -> None:
        self.C, self.keep, self.prior = float(C), keep, prior
        self.n_features, self.n_labels = layered.W.shape
        self.retired: set[int] = set()
        self.visits = 0
        own = layered.tau if layered.thresholds else np.zeros(1)
        self.shelf = LiveImplicitDual(layered)
        self.listed = ListedDuals(C, own, layered.noise)
        if is_listed is None:
            is_listed = np.full((listed or layered).n_documents, listed is not None)
        self.owner = Growing(np.flatnonzero(~is_listed))
        self.place = Growing(np.where(is_listed, -1, np.cumsum(~is_listed) - 1))
        if listed is not None:
            self.tau[:] = listed.tau
            groups, handles = groups_of(listed, C), np.flatnonzero(is_listed).tolist()
            taught = groups.lessons(listed.rows), groups.split(listed.alpha)
            for handle, lesson, duals in zip(handles, *taught, strict=True):
                self.listed.put(handle, lesson, layered.W, duals)
        self._resize(self.n_features, self.n_labels)

    @property
    def tau(self) -> Floats:
        """The thresholds: one, (1,), or one per label, with room for more."""
        return self.listed.tau

    @property
    def thresholds_(self) -> Floats | None:
        """The threshold of each label, (labels,); None where none was learned."""
        tau = threshold_of_label(self.tau, self.n_labels, self.shelf.problem.thresholds)
        constant = self.shelf.problem.W[0, : self.n_labels] if self.prior else None
        return less_prior(tau, self.prior, constant)

    @property
    def W(self) -> Array:  # noqa: N802 (mathematics)
        """The weights, shape (features, labels): a view."""
        return self._words[: self.n_features - self._first, : self.n_labels]

    @property
    def _first(self) -> int:
        """The first column that is a word's."""
        return int(self.prior > 0)

    @property
    def _words(self) -> Array:
        """The weights of all words there is room for, contiguous."""
        weights: Array = self.shelf.problem.W
        return weights[self._first :]

    def __len__(self) -> int:
        """How many documents are kept."""
        return int(self.shelf.alive.sum()) + len(self.listed)

    def scores(self, columns: NDArray[np.uint32], values: Any) -> Array:
        """Scores of one document, (labels,); words never seen add nothing."""
        mask = columns < self.n_features - self._first
        if not mask.all():
            columns, values = columns[mask], values[mask]
        weights = self._words
        out = np.empty(weights.shape[1], weights.dtype)
        scores_of(columns, values.astype(weights.dtype, copy=False), weights, out)
        return out[: self.n_labels]

    def learn(self, lesson: Lesson) -> int:
        """One exact step on a new document, which is kept; return its handle."""
        handle = len(self.place)
        self.place.append([-1])
        self._put(handle, lesson)
        if self.keep is not None and len(self) > self.keep:
            self._let_go(handle)
        return handle

    def replace(self, handle: int, lesson: Lesson) -> None:
        """Take back what a document taught, and learn the new lesson instead."""
        self.forget(handle)
        self._put(handle, lesson)

    def forget(self, handle: int) -> None:
        """Take a document's part out of the weights; it is not kept any longer."""
        if handle in self.listed:
            lesson, parts = self.listed.drop(handle)
            self._add(lesson, -parts)
            return
        place = self._place_of(handle)
        lesson = self.shelf.lesson(place)
        shift = np.zeros_like(self.shelf.problem.tau)
        self._add(lesson, -self.shelf.parts(place, shift))
        self.shelf.problem.tau -= shift
        self._remove(handle, place)

    def lesson(self, handle: int) -> Lesson:
        """The lesson of a document that is kept."""
        return self._lesson(handle).without_first(self._first)

    def _lesson(self, handle: int) -> Lesson:
        """The same as the problems have it, the constant column first."""
        if handle in self.listed:
            return self.listed[handle].lesson
        return self.shelf.lesson(self._place_of(handle))

    def knows(self, handle: int) -> bool:
        """Whether a document is kept, and so can be forgotten or replaced."""
        in_range = 0 <= handle < len(self.place)
        return handle in self.listed or (
            in_range and bool(self.place.array[handle] >= 0)
        )

    def revisit(self, count: int) -> int:
        """Visit kept documents again, spread evenly over all of them; return count."""
        if not len(self):
            return count
        whole, documents = bool(self.shelf.alive.all()), list(self.listed.values())
        alive = np.empty(0, np.int64) if whole else np.flatnonzero(self.shelf.alive)
        places = len(self.shelf) if whole else len(alive)
        drawn = turns(self.visits, count, places + len(documents))
        ends = np.flatnonzero(drawn >= places)
        for begin, end in zip([0, *(ends + 1)], [*ends, len(drawn)], strict=True):
            run = drawn[begin:end]
            if len(run):
                self.shelf.problem.visit(run if whole else alive[run])
            if end < len(drawn):
                documents[int(drawn[end]) - places].problem.learn(ONE)
        self.visits += count
        return count

    def revisit_for(self, seconds: float) -> int:
        """Visit kept documents again until the time is over; return how many visits."""
        end, count = time.perf_counter() + seconds, 0
        while len(self) and time.perf_counter() < end:
            count += self.revisit(AT_ONCE)
        return count

    def grow(self, features: int, labels: int) -> None:
        """Have at least so many features and labels; new ones have no weight."""
        features += self._first
        if features > self.n_features or labels > self.n_labels:
            self._resize(max(features, self.n_features), max(labels, self.n_labels))

    def reserve(self) -> None:
        """Make room for new features ahead, which takes long where there are many W."""
        self._resize(self.n_features, self.n_labels, spare=1)

    def retire(self, label: int) -> None:
        """Compare the label with no other from now on.

        What was learned of it stays, and stays known: it can be taken back.
        """
        self.hide(self.retired | {label})

    def hide(self, labels: Iterable[int]) -> None:
        """Compare these labels with no other from now on, and all others again."""
        hidden = set(labels)
        self._check(*hidden)
        self.retired = hidden
        self._mark_absent()

    def merge(self, label: int, into: int) -> None:
        """Read every preference of a label as one of another; the first is retired.

        What both have learned adds up: w_into += w_label. Documents that this leaves
        with duals that are not feasible are learned anew: those that list both, or one
        of them beside a label that was to be above the other.
        """
        self._check(label, into)
        if label == into:
            raise Mistake(f"label {label} cannot be merged with itself: name another")
        again = [
            *self.owner.array[self.shelf.torn_by(label, into)].tolist(),
            *self.listed.naming(label, into),
        ]
        lessons = [self.lesson(handle).reading(label, into) for handle in again]
        for handle in again:
            self.forget(handle)
        for handle in self.listed.naming(label):
            self.listed.rename(handle, label, into)
        weights = self.shelf.problem.W
        weights[:, into] += weights[:, label]
        weights[:, label] = 0.0
        if self.shelf.problem.thresholds == "category":
            self.tau[into] += self.tau[label]
            self.tau[label] = 0.0
        self.shelf.join(label, into)
        self.retire(label)
        for handle, lesson in zip(again, lessons, strict=True):
            self._put(handle, lesson)

    def move(self, handles: Iterable[int], label: int, to: int) -> None:
        """Let documents of one label have another instead, with what they taught.

        The two exchange their parts; a document that has both is learned anew, and so
        is any where labels are compared with thresholds.
        """
        self._check(label)
        self.grow(0, to + 1)
        self._check(to)
        for handle, lesson in [(h, self.lesson(h)) for h in handles]:
            caps, by_threshold = self.shelf.problem.caps, self.shelf.problem.thresholds
            if label == to or label not in lesson.labels:
                continue
            if by_threshold or to in lesson.labels or caps[label] != caps[to]:
                self.replace(handle, lesson.reading(label, to))
                continue
            before = self._parts(handle)
            if handle in self.listed:
                self.listed.rename(handle, label, to)
            else:
                self.shelf.swap(label, to, self._place_of(handle))
            self._add(self._lesson(handle), self._parts(handle) - before)

    def _check(self, *labels: int) -> None:
        for label in labels:
            if not 0 <= label < self.n_labels:
                raise Mistake(
                    f"label {label} is not known: use 0 to {self.n_labels - 1}, or "
                    "grow first"
                )

    def _parts(self, handle: int) -> Floats:
        """What a document adds to w_r is parts[r] · x, shape (labels,)."""
        if handle in self.listed:
            return self.listed[handle].parts()[: self.shelf.problem.W.shape[1]]
        return self.shelf.parts(self._place_of(handle))

    def _put(self, handle: int, lesson: Lesson) -> None:
        columns, labels = lesson.columns, lesson.labels
        self.grow(
            int(columns[-1]) + 1 if len(columns) else 0,
            int(labels.max()) + 1 if len(labels) else 0,
        )
        if self.prior:
            lesson = lesson.with_first(self.prior)
        if lesson.groups is not None:
            self.listed.put(handle, lesson, self.shelf.problem.W)
            return
        place = self.shelf.put(lesson)
        self.place.array[handle] = place
        self.owner.append([handle])
        self.shelf.problem.visit(np.array([place]))

    def _add(self, lesson: Lesson, parts: Floats) -> None:
        """W += x ⊗ parts."""
        changed = np.flatnonzero(parts)
        weights = self.shelf.problem.W
        where = np.ix_(lesson.columns.astype(np.int64), changed)
        weights[where] += np.outer(lesson.values, parts[changed])

    def _remove(self, handle: int, place: int) -> None:
        self.shelf.drop(place)
        self.place.array[handle] = -1
        dead = len(self.shelf) - int(self.shelf.alive.sum())
        if dead > WASTE and 2 * dead > len(self.shelf):
            left = self.shelf.tidy()
            self.owner = Growing(self.owner.array[left])
            self.place.array[self.owner.array] = np.arange(len(left))

    def _let_go(self, newest: int) -> None:
        """Drop the document of the least Σα, of a few that are not the newest."""
        owner, handles = self.owner.array, [h for h in self.listed if h != newest]
        places = np.flatnonzero(self.shelf.alive)
        places = places[owner[places] != newest]
        drawn = np.unique(turns(SAMPLE * newest, SAMPLE, len(places) + len(handles)))
        sample = places[drawn[drawn < len(places)]]
        others = [handles[d] for d in drawn[drawn >= len(places)] - len(places)]
        sums = [float(self.listed[handle].duals.sum()) for handle in others]
        least = int(np.argmin([*self.shelf.dual_sums(sample), *sums]))
        if least < len(sample):
            self._remove(int(owner[sample[least]]), int(sample[least]))
        else:
            del self.listed[others[least - len(sample)]]

    def _place_of(self, handle: int) -> int:
        if not self.knows(handle):
            raise Mistake(
                f"document {handle} is not kept any longer: learn from all documents "
                "anew to take it back"
            )
        return int(self.place.array[handle])

    def _resize(self, features: int, labels: int, spare: int = 0) -> None:
        """Make W large enough: rows doubled, columns in steps, all spare ones zero.

        spare : so many rows more than the features, at least.
        """
        problem = self.shelf.problem
        height, width = problem.W.shape
        if features + spare > height:
            height = max(features + spare, 2 * height, 1024)
        if labels > width:
            width = -(-max(labels, width + width // 4) // ALIGNED) * ALIGNED
        if (height, width) != problem.W.shape:
            before = problem.W[: self.n_features, : self.n_labels]
            larger = with_room(before, (height, width), problem.W.dtype)
            problem.W = larger
            caps = np.full(width, self.C)
            caps[: len(problem.caps)] = problem.caps
            problem.caps = problem.rest_caps = caps
            self.shelf.widen(width)
            if problem.thresholds == "category":
                problem.tau = np.pad(self.tau, (0, width - len(self.tau)))
                self.listed.tau = problem.tau
            self.listed.rebase(larger)
        self.n_features, self.n_labels = features, labels
        self._mark_absent()

    def _mark_absent(self) -> None:
        unborn = np.arange(self.n_labels, self.shelf.problem.W.shape[1])
        hidden = np.array(sorted(self.retired), np.int64)
        self.shelf.problem.absent = np.concatenate([hidden, unborn])
        self.listed.hide(self.retired)


def threshold_of_label(
    tau: Floats, n_labels: int, thresholds: str | None
) -> Floats | None:
    """The threshold of each label; thresholds : which are learned of all documents.

    Where none are, there is one if a listed document has moved it.
    """
    if thresholds == "category":
        return tau[:n_labels].copy()
    return np.full(n_labels, tau[0]) if thresholds or tau[0] else None


def less_prior(tau: Floats | None, prior: float, weights: Any) -> Floats | None:
    """Thresholds less what a constant column adds to every score, (labels,).

    tau : the thresholds, or None;  prior : the column's value, 0 for none;  weights :
    the column's, (labels,), which are not looked at where there is none.
    """
    if not prior:
        return tau
    ahead: Floats = float(prior) * weights.astype(np.float64)
    return -ahead if tau is None else tau - ahead


LIVE = tuple(name for name in CODES if name != "svm")


def from_nothing(  # noqa: PLR0913 (what a solver is asked)
    loss: str,
    C: float,
    dtype: Any = np.float32,
    keep: int | None = None,
    *,
    thresholds: str | None = None,
    prior: float = 0.0,
    noise: float = 0.0,
) -> LiveDual:
    """No documents yet, no words, no labels.

    prior, noise : as of ``PreferenceRanker``, 0 for none.
    """
    if loss not in LIVE:
        raise Mistake(
            f"loss {loss!r} cannot learn document by document: use "
            f"{', '.join(LIVE)}, or fit on all documents"
        )
    how: dict[str, Any] = {"thresholds": thresholds, "noise": noise}
    layered = _empty(loss, C, dtype, (int(prior > 0), 0), **how)
    return LiveDual(layered, C, keep, prior=prior)


def from_batch(
    problem: Any,
    C: float,
    keep: int | None = None,
    loss: str = "dom",
    *,
    thresholds: str | None = None,
    prior: float = 0.0,
) -> LiveDual:
    """Go on from a batch problem: its documents, duals and weights are kept.

    Document i of the batch has the handle i. loss : of layered documents to come,
    where the batch has none;  thresholds, prior : those of the batch.
    """
    how: Any = {"keep": keep, "prior": prior}
    if isinstance(problem, CompositeDual):
        problem.settle()
        problem.implicit.share_one_pool()
        explicit, is_listed = problem.explicit, problem.is_listed
        return LiveDual(
            problem.implicit, C, listed=explicit, is_listed=is_listed, **how
        )
    if isinstance(problem, ExplicitDual):
        dtype, n_labels = problem.rows.values.dtype, problem.W.shape[1]
        layered = _empty(loss, C, dtype, (0, n_labels), thresholds=thresholds)
        layered.W, layered.noise = problem.W, problem.noise
        return LiveDual(layered, C, listed=problem, **how)
    if isinstance(problem, ImplicitDual) and len(problem.slots):
        problem.settle()
        problem.share_one_pool()
        return LiveDual(problem, C, **how)
    raise Mistake(
        "this model cannot learn document by document: it needs dense weights (a "
        "larger memory) and a loss other than 'svm'"
    )


def _empty(
    loss: str, C: float, dtype: Any, shape: tuple[int, int], **how: Any
) -> ImplicitDual:
    """A problem without documents; shape : (features, labels)."""
    none = np.zeros(1, np.int64), np.empty(0, np.uint32)
    rows = Rows(*none, np.empty(0, dtype), shape[0])
    levels = Rows(*none, np.empty(0, np.float32), shape[1])
    caps = Caps(*[np.full(shape[1], float(C))] * 2)
    return ImplicitDual(rows, levels, loss, caps, **how)
