"""PreferenceRanker: the preference learning model, solved to a certified optimum."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from copy import copy
from dataclasses import KW_ONLY, replace
from typing import Any, Self

import numpy as np

from classmark.arrays import (
    Array,
    Floats,
    Rows,
    rows_from,
    take,
    with_constant,
)
from classmark.estimator import parameters, renamed
from classmark.preferences.graph import (
    LOSSES,
    Loss,
    PreferenceGraph,
    decompositions,
    grouped,
    short_name,
)
from classmark.preferences.labels import (
    are_layered,
    checked_graphs,
    favoured,
    graphs_from,
    is_graphs,
    labels_from,
    levels_from,
    levels_of,
    relevant,
)
from classmark.problems import Mistake
from classmark.rankers.auto import (
    AUTO,
    CARD,
    PreferenceSetting,
    caps_of,
    chosen,
    require_card,
    require_parameters,
    shares_of,
    stated,
)
from classmark.rankers.linear import Evidence, LiveRanker, Rocchio, Words
from classmark.solvers.ascent import Solution, ascend
from classmark.solvers.hinge import Similarity, features_of, kernel_of
from classmark.solvers.live_arrays import from_arrays, to_arrays
from classmark.solvers.live_documents import Lesson, lesson_of
from classmark.solvers.preference import (
    CODES,
    Center,
    CompositeDual,
    ExplicitDual,
    ImplicitDual,
    fits,
)
from classmark.solvers.preference_gpu import GpuDual
from classmark.solvers.preference_live import (
    LiveDual,
    from_batch,
    from_nothing,
    less_prior,
)
from classmark.solvers.preference_sparse import SparseDual

Problem = ImplicitDual | ExplicitDual | CompositeDual | SparseDual | GpuDual
SUPPORTS = ("values", "columns", "starts", "shape", "parts")  # as they are saved


@parameters(mapping="loss", budget="time_budget", keep="max_documents")
class PreferenceRanker(LiveRanker):
    """Prototypes by a large margin over preferences [AiolliSebastianiSperduti08].

    min ½‖w‖² + C Σ_g ξ_g   s.t. ⟨w_u − w_v, x⟩ ≥ 1 − ξ_g for every preference u over v
    of group g, ξ_g ≥ 0: one slack per group. ``loss`` says what a group is:

    "dis": each preference alone; "dom": a document's label over all below it; "dme":
    all labels over one; "dom-dme": both costs added; "svm": each label against its own
    threshold, alone (independent binary SVMs, the baseline); or a function from a
    ``PreferenceGraph`` to groups of its edges.

    Y may hold labels, grades (a higher grade over a lower) or preference graphs, some
    layered, some listed; a group costs C times the mean weight of its edges. Solved by
    block coordinate ascent on the dual, each group's step exact, until the relative
    duality gap is at most ``tol``.

    Where C is None, ``fit`` chooses it, and with it what of loss, center, prior and
    noise is "auto", by ``classmark.rankers.auto.chosen``; ``setting_`` tells. With a C,
    what is "auto" is as in the paper: "dom", no center, no prior, no noise. tol None is
    1e-2 where C is chosen, else 1e-3.

    class_weight : "balanced" divides C among the labels so that each label's groups
        together cost as much as those of any other: rare labels are not drowned; a
        dict says by class what C is multiplied by, 1 for those it lacks.
    kernel : None for linear scores; "linear", "polynomial", "rbf" (with ``gamma``,
        ``degree``, ``coef0``) or a function of two matrices: then ⟨w_r, x⟩ becomes
        Σ_i dual_coef_[i, r] k(x_i, x), at a cost of n² memory.
    center : None for ½‖w‖² as in the paper; a length for ½‖w − w₀‖² with w₀ Rocchio's
        prototypes of that length. Labels with few documents then stay near their
        means, those with many move to the margin: better where data are few.
    prior : None, or the value of one more feature that every document has: its weights
        learn how far a label is ahead before a word is read, and are had, negative, as
        thresholds_. Not with a kernel, thresholds or the loss "svm".
    noise : None, or the square of one more feature of each document that no other has.
        What it misses of a margin is then paid for by its square up to noise · C, and
        beyond that as before: with a large C the loss is the squared hinge. With it, a
        document with labels or layers is compared with ``center`` as it would be
        without the document. Not with sparse weights.
    memory : what the weights may take. If features × labels need more, they are kept
        sparse (loss "dom", one thread): the same optimum, less a part shared by all
        labels, which no order sees; weights_ is then a scipy csr matrix.
    n_jobs : threads.
    device : "cpu"; or "gpu": the weights of all labels are learned in the memory of one
        card by batches of documents (extra ``gpu``), to the same optimum up to ``tol``,
        and are sparse afterwards: store_ is "sparse". For labels, with the loss "dom",
        without kernel, center, noise and thresholds. Where C is None it is 10, with
        the prior 0.3.
    thresholds : None; or "common" or "category": w = (w_1 … w_m, τ) has a threshold for
        all labels, or one for each, and beside the groups of ``loss`` each label of a
        document over its threshold is a group, and each other one below it. ``predict``
        says which labels belong to a document. Layers and labels say so for every
        label, listed edges by those that name the threshold. Not with sparse weights.

    ``partial_fit`` learns document by document: an exact step on each new one, then
    visits to documents kept before, ``revisits`` of them or, with a ``time_budget`` of
    seconds per document, as many as it allows. ``max_documents`` bounds how many are
    kept.

    Attributes: weights_, store_ ("dense" or "sparse"), coef_, objective_ (primal),
    duality_gap_ (relative), n_iter_, thresholds_ (shape (labels,); where there is one
    for all, its value for each; svm: ranked by ⟨w_c, x⟩ − τ_c, a threshold for each),
    setting_ (loss, C, center, prior, tol and noise as used).
    """

    takes_graphs = True
    loss: Loss = AUTO
    C: float | None = None
    tol: float | None = None
    _: KW_ONLY
    kernel: str | Similarity | None = None
    gamma: float = 1.0
    degree: int = 2
    coef0: float = 1.0
    max_iter: int = 1000
    class_weight: str | Mapping[Any, float] | None = None
    center: float | str | None = AUTO
    prior: float | str | None = AUTO
    noise: float | str | None = AUTO
    memory: str = "2GB"
    n_jobs: int = 1
    device: str = "cpu"
    random_state: int = 0
    revisits: int = 100
    time_budget: float | None = None
    max_documents: int | None = None
    thresholds: str | None = None
    live_: LiveDual | None = None
    problem_: Problem | None = None
    setting_: PreferenceSetting | None = None

    @property
    def _how(self) -> PreferenceSetting:
        """What is learned with: as ``fit`` has chosen, or as the parameters say."""
        return self.setting_ or stated(self)

    @property
    def kept_as(self) -> tuple[str, dict[str, Any]]:
        """It is saved with what was chosen, so that it goes on with the same."""
        return "", self.get_params() | self._how._asdict()

    @property
    def takes_thresholds(self) -> bool:
        """Whether the graphs may compare labels with the threshold."""
        return bool(self._loss != "svm")

    @property
    def _thresholds(self) -> str | None:
        """Which thresholds are learned: "svm" has one per label unless told."""
        return self.thresholds or ("category" if self._loss == "svm" else None)

    @property
    def orders_scores(self) -> bool:
        """Whether ⟨w_c, x⟩ orders labels, as groups compare it; not ⟨w_c, x⟩ − τ_c."""
        return self.thresholds == "category" and self._loss != "svm"

    @property
    def limits(self) -> Floats | None:
        """The scores above which labels belong, (labels,); None without thresholds."""
        if self.thresholds_ is None or self._thresholds is None:
            return None
        return self.thresholds_ * float(self.orders_scores)

    def category_scores(self, X: Any) -> Floats:
        """Scores of all labels, shape (documents, labels).

        Thresholds are taken off, but for ``thresholds="category"``: there labels are
        compared by ⟨w_c, x⟩ alone (except with the loss "svm").
        """
        return self._scores(X) if self.orders_scores else super().category_scores(X)

    @property
    def _loss(self) -> Any:
        """The name of a loss that has kernels, the function of any other."""
        short = short_name(self._how.loss)
        if callable(short) or short in CODES:
            return short
        if short in LOSSES:
            return LOSSES[short]
        known = dict.fromkeys([*CODES, *map(short_name, LOSSES)])
        raise Mistake(
            f"loss {self.loss!r} is not known: use {', '.join(known)} or a function"
        )

    @renamed(Y="y")
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn from documents X, shape (n, features), and labels, grades or graphs.

        sample_weight : (n,), what C is multiplied by for each document. With it all
        preferences are listed: memory as documents × labels.
        """
        self._check()
        self.setting_ = None
        rows, Y, weights = self._taught(X, y, sample_weight)
        if weights is not None and self._loss == "svm":
            raise Mistake("sample_weight: the loss 'svm' takes none, 'dom' does")
        self.setting_ = self.chosen(rows, Y)
        problem, tol = self._problem(rows, Y, weights), self._how.tol
        self._settle(problem, ascend(problem, tol, self.max_iter, self.random_state))
        on_card = self.device == "gpu"
        self.problem_, self.live_ = None if on_card else problem, None
        return self

    def _taught(
        self, X: Any, y: Any, sample_weight: Any = None
    ) -> tuple[Rows, Any, Floats | None]:
        """Documents, with a kernel as they are in its own space, labels, weights."""
        rows, Y, weights = super()._taught(X, y, sample_weight)
        self._remember(rows, Y)
        if self.kernel is not None:
            self.documents_ = rows.to_scipy()
            rows = rows_from(features_of(kernel_of(self)(self.documents_, None)))
        return rows, Y, weights

    def chosen(self, rows: Rows, Y: Any) -> PreferenceSetting:
        """The setting for documents and labels, grades or graphs: given, or chosen."""
        if self.C is not None or self.kernel is not None or self._loss == "svm":
            return stated(self)
        if self.device == "gpu":
            return stated(self, CARD)
        return chosen(self, rows, Y)

    def partial_fit(
        self, X: Any, Y: Any, n_labels: int | None = None, *, classes: Any = None
    ) -> Self:
        """Learn from more documents, one by one; after ``fit``, go on from there.

        X may have more columns than before, Y more labels: both grow. n_labels : how
        many labels there are at least;  classes : what they are called, where ``Y``
        names them. ``revisits_`` says how many visits were made.
        """
        self._check()
        rows = self._more_rows(X)
        Y = self._more_names(Y, len(rows), classes)
        live = self._started(rows.values.dtype)
        width, lessons = self._lessons(rows, Y, max(live.n_labels, n_labels or 0))
        live.grow(rows.width, width)
        self.live_, self.revisits_ = live, 0
        for lesson in lessons:
            live.learn(lesson)
            self.revisits_ += self.revisit()
        self.show_stream()
        self.n_features_in_ = len(self.weights_)
        return self

    def _lessons(
        self, rows: Rows, Y: Any, n_labels: int
    ) -> tuple[int, Iterator[Lesson]]:
        """The number of labels, ``n_labels`` or more, and a lesson per document.

        All of Y is checked before any lesson is made.
        """
        if is_graphs(Y):
            decompositions(self._loss)
            graphs = checked_graphs(Y, len(rows), thresholds=True)
            n_labels = max(n_labels, graphs[0].n_labels)
        else:
            labels = labels_from(Y, len(rows))
            n_labels = max(n_labels, labels.width)
            if not callable(self._loss):
                each = (labels.row(i) for i in range(len(rows)))
                return n_labels, (
                    Lesson(*rows.row(i), listed, levels_of(grades))
                    for i, (listed, grades) in enumerate(each)
                )
            graphs = graphs_from(labels.with_width(n_labels))
        return n_labels, (
            lesson_of(rows.row(i), graph, self._loss, thresholds=bool(self.thresholds))
            for i, graph in enumerate(graphs)
        )

    @property
    def can_go_on(self) -> bool:
        """Whether ``partial_fit`` can go on from what ``fit`` has learned."""
        layered = isinstance(self.problem_, ImplicitDual) and self._loss != "svm"
        return layered or isinstance(self.problem_, ExplicitDual | CompositeDual)

    def begin_stream(self) -> None:
        """Be ready to learn document by document, from what ``fit`` has learned."""
        if callable(short_name(self._how.loss)):
            raise Mistake("loss is a function: use the name of a loss")
        is_fitted = self.__sklearn_is_fitted__()
        self.live_ = self._started(self.weights_.dtype if is_fitted else np.float32)
        self.show_stream()

    def lesson(self, words: Words, labels: PreferenceGraph | Sequence[int]) -> Any:
        """What labels, or a graph, say of a document with these words."""
        if not isinstance(labels, PreferenceGraph):
            width = 0 if self.live_ is None else self.live_.n_labels
            labels = PreferenceGraph.multilabel(width, labels)
        thresholds = bool(self.thresholds)
        loss = short_name(self._how.loss)
        return lesson_of(words, labels, loss, thresholds=thresholds)

    def stream_arrays(self) -> dict[str, Array]:
        """Everything that decides what is learned next, and ``weights``."""
        if self.live_ is None:
            raise Mistake("no document was learned by itself: call begin_stream first")
        return to_arrays(self.live_)

    def open_stream(self, arrays: Mapping[str, Array]) -> None:
        """Go on from what ``stream_arrays`` described."""
        self.live_ = from_arrays(arrays, short_name(self._how.loss), self.thresholds)
        self.show_stream()

    def show_stream(self) -> None:
        """Have the weights of the documents learned one by one so far."""
        live = self.live_
        if live is not None:
            self.weights_, self.store_ = live.W, "dense"
            self.thresholds_ = live.thresholds_

    def revisit(self, count: int | None = None) -> int:
        """Visit kept documents again: ``count``, or as set; return how many visits."""
        live = self.live_
        if live is None:
            raise Mistake("there is nothing to visit again: call partial_fit first")
        if count is not None:
            return live.revisit(count)
        if self.time_budget is not None:
            return live.revisit_for(self.time_budget)
        return live.revisit(self.revisits)

    def _started(self, kind: Any) -> LiveDual:
        """The live problem: the present one, that of ``fit``, or a new one."""
        if self.live_ is not None:
            return self.live_
        if self.kernel is not None:
            raise Mistake(
                "with a kernel, documents cannot be learned one by one: use "
                "kernel=None, or MMP with a kernel"
            )
        loss = "dom" if callable(self._loss) else self._loss
        if self.problem_ is not None:
            return from_batch(
                self.problem_,
                self._how.C,
                self.max_documents,
                loss,
                thresholds=self.thresholds,
                prior=self._how.prior,
            )
        how = self._how
        if how.center is not None or self.class_weight is not None:
            raise Mistake(
                "center and class_weight need all documents at once: fit on those "
                "there are, then partial_fit, or leave them None"
            )
        params: dict[str, Any] = {
            "thresholds": self.thresholds,
            "prior": how.prior,
            "noise": how.noise,
        }
        return from_nothing(loss, how.C, kind, self.max_documents, **params)

    def path(self, X: Any, Y: Any, Cs: Sequence[float]) -> Iterator[Self]:
        """Fit for each C in increasing order, each starting from the one before.

        Yields fitted copies: the duals of a smaller C are feasible for a larger one.
        What is "auto" is as in the paper: nothing is chosen beside C.
        """
        self._check()
        first = copy(self).set_params(C=min(Cs))
        first.problem_ = first.live_ = first.setting_ = None
        problem, last = first._problem(*first._taught(X, Y)), min(Cs)  # noqa: SLF001 (a copy of this one)
        for C in sorted(Cs):
            problem.raise_caps(C / last)
            tol = first._how.tol  # noqa: SLF001 (a copy of this one)
            solution = ascend(problem, tol, self.max_iter, self.random_state)
            ranker = copy(first).set_params(C=C)
            ranker.setting_ = stated(ranker)
            ranker._settle(problem, replace(solution, weights=solution.weights.copy()))  # noqa: SLF001 (a copy of this one)
            last = C
            yield ranker

    def _problem(self, rows: Rows, Y: Any, weights: Floats | None = None) -> Problem:
        """Layers stay layers; other graphs, or all with weights, list their edges."""
        if self.device == "gpu":
            require_card(self, Y, weights)
            return self._on_card(rows, levels_from(Y, len(rows)))
        if weights is not None:
            graphs = graphs_from(Y, len(rows), thresholds=True)
            return self._mixed(rows, graphs, weights)
        if callable(self._loss) or (is_graphs(Y) and not are_layered(Y)):
            return self._mixed(rows, graphs_from(Y, len(rows), thresholds=True))
        levels = levels_from(Y, len(rows))
        able = self._loss == "dom" and self.kernel is None and not self.thresholds
        in_memory = fits(rows, levels.width, self.memory, sparse=able)
        shares = shares_of(self, levels)
        prototypes, parts = self._prototypes(rows, relevant(levels, Y))
        rows = self._with_prior(rows)
        if in_memory:
            return self._implicit(rows, levels, shares, Center(prototypes, parts))
        if self._how.noise:
            raise Mistake(
                f"noise is {self.noise} beside sparse weights: use noise=None, or a "
                f"larger memory than {self.memory!r}"
            )
        caps = caps_of(self, levels, shares).listed[levels.columns]
        least = 0.1 * self._how.tol / max(1.0, float(caps.max(initial=0.0)))
        seed = self.random_state
        return SparseDual(rows, levels, caps, center=prototypes, least=least, seed=seed)

    def _on_card(self, rows: Rows, labels: Rows) -> GpuDual:
        caps = caps_of(self, labels, shares_of(self, labels)).listed[labels.columns]
        least = 0.1 * self._how.tol / max(1.0, float(caps.max(initial=0.0)))
        return GpuDual(self._with_prior(rows), labels, caps, least=least)

    def _mixed(
        self,
        rows: Rows,
        graphs: Sequence[PreferenceGraph],
        weights: Floats | None = None,
    ) -> Problem:
        decompositions(self._loss)
        levels = favoured(graphs)
        if self.kernel is None:
            fits(rows, levels.width, self.memory, sparse=False)
        shares = shares_of(self, levels)
        center = Center(self._prototypes(rows, relevant(levels, graphs))[0])
        rows = self._with_prior(rows)
        free = callable(self._loss) or weights is not None
        listed = np.array([free or not graph.is_layered for graph in graphs])
        if listed.all():
            return self._explicit(rows, graphs, shares, center, weights=weights)
        first = self._implicit(
            take(rows, ~listed), take(levels, ~listed), shares, center
        )
        chosen = [graphs[int(i)] for i in np.flatnonzero(listed)]
        shared = first.W, first.tau if self.thresholds else np.zeros(1)
        second = self._explicit(take(rows, listed), chosen, shares, center, shared)
        return CompositeDual(first, second, listed)

    def _implicit(
        self, rows: Rows, levels: Rows, shares: Floats, center: Center
    ) -> ImplicitDual:
        caps, loss = caps_of(self, levels, shares), str(self._loss)
        how: dict[str, Any] = {"threads": self.n_jobs, "center": center}
        how |= {"thresholds": self._thresholds, "noise": self._how.noise}
        return ImplicitDual(rows, levels, loss, caps, **how)

    def _explicit(
        self,
        rows: Rows,
        graphs: Sequence[PreferenceGraph],
        shares: Floats,
        center: Center,
        shared: tuple[Floats, Floats] | None = None,
        weights: Floats | None = None,
    ) -> ExplicitDual:
        """List the groups: for graphs that are not layered, and for functions."""
        chosen, apart = decompositions(self._loss), bool(self.thresholds)
        decomposed = [grouped(graph, chosen, shares, apart) for graph in graphs]
        groups = [document for document, _ in decomposed]
        caps = np.array([w for _, prices in decomposed for w in prices], float)
        if weights is not None:
            caps *= np.repeat(weights, [len(prices) for _, prices in decomposed])
        k = graphs[0].n_labels
        if shared is None and self.thresholds == "category":
            shared = np.zeros((rows.width, k), rows.values.dtype), np.zeros(k)
            center.add_to(shared[0])
        caps, noise = self._how.C * caps, self._how.noise
        return ExplicitDual(rows, k, groups, caps, center, shared, noise=noise)

    def _prototypes(self, rows: Rows, labels: Rows) -> tuple[Any, Any]:
        """Prototypes, ``center`` times as long, without a prior; and their shares."""
        if self._how.center is None:
            return None, None
        prototypes, shares = self.prototypes(rows, labels)
        prototypes = prototypes * float(self._how.center)
        if shares is not None:
            shares = shares * float(self._how.center)
        if not self._how.prior:
            return prototypes, shares
        from scipy.sparse import csr_matrix, vstack

        nothing = csr_matrix((1, prototypes.shape[1]), dtype=prototypes.dtype)
        return vstack([nothing, prototypes], format="csr"), shares

    def _with_prior(self, rows: Rows) -> Rows:
        """The documents, with the constant column first where there is a prior."""
        prior = self._how.prior
        return with_constant(rows, prior, first=True) if prior else rows

    def prototypes(self, rows: Rows, labels: Rows) -> tuple[Any, Floats | None]:
        """The w₀ of ``center``, csr (features, labels), each of length 1: Rocchio's.

        And what a document of each label has in it, (labels,), or None.
        """
        rocchio = Rocchio().fit(rows, labels)
        return rocchio.weights_, rocchio.document_shares_

    def _settle(self, problem: Problem, solution: Solution) -> None:
        prior, weights = self._how.prior, solution.weights
        self.weights_ = weights[1:] if prior else weights
        is_sparse = isinstance(problem, SparseDual | GpuDual)
        self.store_ = "sparse" if is_sparse else "dense"
        self.thresholds_ = None
        self.objective_ = solution.objective
        self.duality_gap_ = solution.relative_gap
        self.n_iter_ = solution.n_iter
        self.trace_ = solution.trace
        if self._thresholds or getattr(problem, "has_threshold", False):
            tau: Any = problem.tau  # type: ignore[union-attr]
            self.thresholds_ = np.broadcast_to(tau, problem.W.shape[1:]).copy()
        if prior:
            first: Any = weights[:1]
            row = np.ravel(first.toarray() if self.store_ == "sparse" else first)
            self.thresholds_ = less_prior(self.thresholds_, prior, row)
        if self.kernel is not None and not isinstance(problem, SparseDual | GpuDual):
            self.dual_coef_ = problem.coefficients()

    def _scores(self, X: Any) -> Floats:
        if self.live_ is not None:
            return self._live_scores(X)
        if self.kernel is None:
            return super()._scores(X)
        self._require_fitted()
        similar = kernel_of(self)(rows_from(X).to_scipy(), self.documents_)
        return np.asarray(similar @ self.dual_coef_)

    @property
    def supports(self) -> dict[str, Array]:
        """With a kernel, the documents that have a part in a score, and their parts."""
        if self.kernel is None:
            return {}
        self._require_fitted()
        some = np.flatnonzero(self.dual_coef_.any(axis=1))
        rows = self.documents_[some].tocsr()
        parts = (rows.data, rows.indices, rows.indptr, np.array(rows.shape))
        return dict(zip(SUPPORTS, (*parts, self.dual_coef_[some]), strict=True))

    @supports.setter
    def supports(self, arrays: Mapping[str, Array]) -> None:
        if self.kernel is None:
            return
        if not arrays.keys() >= set(SUPPORTS):
            raise Mistake(
                "this ranker has a kernel, and was saved without its support "
                "documents: train it again and save it"
            )
        from scipy.sparse import csr_matrix

        *parts, shape, self.dual_coef_ = (arrays[name] for name in SUPPORTS)
        self.documents_ = csr_matrix(tuple(parts), shape=tuple(shape.tolist()))

    def evidence(self, X: Any, category: int) -> Evidence:
        """Each feature's part in a score; with a kernel there is no such part."""
        if self.kernel is not None:
            raise Mistake(
                "with a kernel, scores have no parts by feature: use kernel=None"
            )
        return super().evidence(X, category)

    def _check(self) -> None:
        self._loss  # noqa: B018 (refuses a name that is not known)
        require_parameters(self)
