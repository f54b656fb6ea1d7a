"""Is training for domination best, whatever the error? The paper's table, on RCV1.

2,316 documents of RCV1-v2 with the topic tree take the place of the paper's 66,000; the
other choices are the paper's: a label for each leaf of the tree, inner topics with a
dummy leaf; graphs of three layers; ln count + 1 of 3,200 words that each training set
selects; five folds [DekelManningSinger03]. Either the paper's boosting learns, 1,000
iterations with the smoothing that four other sets chose by a rule fixed beforehand
(``benchmarks/choose_smoothing.py``); or L-BFGS, the weight C of the loss against ½‖W‖²
being chosen, for each fold and each loss, by the error that loss stands for on a fifth
of the fold's training documents.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import numpy as np

from classmark.arrays import Floats, Ints, rows_from
from classmark.corpus.documents import folds, train_test
from classmark.measures.categories import ranking_error
from classmark.measures.significance import paired_t_test
from classmark.preferences.graph import NAMES, PreferenceGraph
from classmark.preferences.losses import loss_from
from classmark.problems import Mistake
from classmark.progress import track
from classmark.rankers.linear import LogLinearRanker
from classmark.solvers.smooth import DocumentLoss, Objective, minimise, survey
from reproductions.report import Reproduction, error_panels, half_width, holds

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

    from classmark.taxonomy.tree import Taxonomy


WORDS, LAYERS, FOLDS, ITERATIONS = 3200, 3, 5, 1000
PAPER_EDGES = 820
PAPER = {
    "zero-one": (0.63, 0.068, 0.42, 0.12),
    "disagreement": (0.73, 0.063, 0.51, 0.14),
    "domination": (0.59, 0.049, 0.35, 0.10),
    "dominated": (0.59, 0.067, 0.41, 0.10),
}
GRID = (0.1, 0.3, 1.0, 3.0, 10.0, 30.0)
HELD_OUT, TOL = 0.2, 1e-3


@dataclass(frozen=True, eq=False)
class Collection:
    """Documents as rows of weighted words, and a preference graph for each."""

    X: csr_matrix
    graphs: list[PreferenceGraph]

    @cached_property
    def edges(self) -> float:
        """Edges per graph, on average."""
        return float(np.mean([graph.n_edges for graph in self.graphs]))

    def part(self, documents: Ints, words: Ints | None = None) -> Collection:
        """Some of the documents, and of the words where given."""
        X = self.X[documents] if words is None else self.X[documents][:, words]
        return Collection(X, [self.graphs[i] for i in documents])

    def priced(self, loss: str) -> DocumentLoss:
        """The documents with a loss of their graphs."""
        return DocumentLoss(rows_from(self.X), loss_from(self.graphs, loss))

    def errors(self, scores: Floats, name: str) -> Floats:
        """The error of each document, scores of shape (documents, labels)."""
        each = zip(scores, self.graphs, strict=True)
        return np.array([ranking_error(row, graph, name) for row, graph in each])


def collection(
    data: Path | None = None,
    layers: int = LAYERS,
    words: int | None = None,
    dataset: str = "rcv1-v2-topics",
) -> Collection:
    """Load documents with all their words, or the ``words`` most frequent ones."""
    from classmark.datasets import load
    from classmark.weighting.vectorizer import Vectorizer

    split = "tokens" if dataset == "rcv1-v2-topics" else None
    loaded = load(dataset, data, split=split)
    if loaded.taxonomy is None:
        raise Mistake(f"{loaded.name} came without its topic tree: give its folder")
    labels = loaded.train.labels + loaded.test.labels
    vectorizer = Vectorizer(weighting="log", norm=None, max_features=words)
    X = vectorizer.fit_transform(loaded.train.texts + loaded.test.texts)
    return Collection(X, graphs_of(loaded.taxonomy, labels, layers))


def informative_words(train: Collection, n: int = WORDS) -> Ints:
    """The n words by which one round of boosting gains most, in order of columns.

    The round's Z of a word that a document has or lacks is 1 − Σ_y (√W+ − √W−)², W±
    being the shares of edges that want its weight for label y smaller and larger
    [SchapireSinger00]: the sum is what Theorem 1 says one update lowers the loss by.
    """
    present = Collection(train.X.sign(), train.graphs).priced("disagreement")
    state = survey(present, np.zeros(present.shape))
    gains = np.square(np.sqrt(state.down) - np.sqrt(state.up)).sum(axis=1)
    return np.sort(np.argsort(-gains, kind="stable")[:n])


def graphs_of(
    tree: Taxonomy, labels: list[list[str]], layers: int = LAYERS
) -> list[PreferenceGraph]:
    """A layered graph over the leaves for each document; inner topics get a leaf.

    The root gets none: no document ends there.
    """
    roots = set(tree.roots)
    inner = [node for node in tree if node not in roots and not tree.is_leaf(node)]
    full = tree.with_dummy_leaves(inner)
    number = {leaf: at for at, leaf in enumerate(full.leaves)}
    return [
        PreferenceGraph.layers(
            len(number),
            [
                [number[leaf] for leaf in layer]
                for layer in full.preference_layers(correct, layers)
            ],
        )
        for correct in track(labels, "drawing graphs", len(labels))
    ]


@dataclass(frozen=True, slots=True)
class Row:
    """One loss: its errors by each measure, the paper's, and each fold's choice of C.

    folds : the errors of each fold;  chance : p of a paired t-test, over documents,
    between this row and domination.
    """

    method: str
    measures: dict[str, float]
    paper: dict[str, float]
    chance: dict[str, float]
    chosen: list[float]
    folds: dict[str, list[float]]

    def half_width(self, error: str, other: Row | None = None) -> float:
        """Half of the 95 % interval of an error over folds, or of its difference."""
        values = np.array(self.folds[error])
        if other is not None:
            values = values - np.array(other.folds[error])
        return half_width(values)


@dataclass(frozen=True, slots=True)
class Table:
    """The four by four errors, the size of the graphs, and which claims hold."""

    rows: list[Row]
    documents: int
    labels: int
    words: int
    edges: float
    paper_edges: float
    claims: list[str]


def graphs_rcv1(
    data: Path | None = None, *, boosting: int | None = None, seed: int = 0
) -> Table:
    """Train for each of four errors, measure by each, five folds.

    data : the folder of the data sets, or None for that of ``CLASSMARK_DATA``;
    boosting : train by so many of the paper's iterations, without a penalty, instead.
    """
    return compare(collection(data), boosting, seed)


def compare(
    loaded: Collection, boosting: int | None, seed: int = 0, words: int = WORDS
) -> Table:
    """Do it for any collection; each training set selects its own words."""
    errors = np.empty((len(NAMES), len(NAMES), len(loaded.graphs)))
    chosen: list[list[float]] = [[] for _ in NAMES]
    parted = list(folds(len(loaded.graphs), FOLDS, seed))
    jobs = [(m, at) for at in range(FOLDS) for m in range(len(NAMES))]
    for method, at in track(jobs, "training and measuring", len(jobs)):
        selected = informative_words(loaded.part(parted[at][0]), words)
        train, test = (loaded.part(documents, selected) for documents in parted[at])
        name = NAMES[method]
        if boosting is None:
            chosen[method].append(choose(train, name, seed))
            ranker = LogLinearRanker(name, C=chosen[method][-1], tol=TOL)
        else:
            ranker = LogLinearRanker(name, solver="boosting", max_iter=boosting)
        ranker.fit(train.X, train.graphs)
        scores = ranker.decision_function(test.X)
        for measure, error in enumerate(NAMES):
            errors[method, measure, parted[at][1]] = test.errors(scores, error)
    tests = [test for _, test in parted]
    rows = [_row(at, errors, chosen[at], tests) for at in range(len(NAMES))]
    size = (len(loaded.graphs), loaded.graphs[0].n_labels)
    used = min(words, loaded.X.shape[1])
    return Table(rows, *size, used, loaded.edges, PAPER_EDGES, claims(rows))


def choose(train: Collection, name: str, seed: int = 0) -> float:
    """Choose C by the error ``name`` on a part of the training documents held out.

    Each C of the grid starts from the weights of the one before; of equals the first.
    """
    parts = train_test(len(train.graphs), HELD_OUT, seed)
    inside, outside = (train.part(part) for part in parts)
    documents = inside.priced(name)
    weights, errors = None, []
    for C in GRID:
        weights = minimise(
            Objective(documents, C, "l2"), tol=TOL, start=weights
        ).weights
        errors.append(float(outside.errors(outside.X @ weights, name).mean()))
    return GRID[int(np.argmin(errors))]


def _row(at: int, errors: Floats, chosen: list[float], parts: list[Ints]) -> Row:
    best = errors[NAMES.index("domination")]
    tests = [
        paired_t_test(own, other) for own, other in zip(errors[at], best, strict=True)
    ]
    by_fold = [[float(own[part].mean()) for part in parts] for own in errors[at]]
    return Row(
        NAMES[at],
        dict(zip(NAMES, errors[at].mean(axis=1).tolist(), strict=True)),
        dict(zip(NAMES, PAPER[NAMES[at]], strict=True)),
        dict(zip(NAMES, [test.p_value for test in tests], strict=True)),
        chosen,
        dict(zip(NAMES, by_fold, strict=True)),
    )


def claims(rows: list[Row]) -> list[str]:
    """Say whether training for domination is best, whatever the error; and by each.

    The others' differences stand with half of their 95 % intervals over the folds, and
    p of a paired t-test over documents.
    """
    own = next(row for row in rows if row.method == "domination")
    others = [row for row in rows if row is not own]
    least = {  # of equals domination, which is then named level with them
        name: min([own, *others], key=lambda row: row.measures[name]) for name in NAMES
    }
    best = sum(row is own for row in least.values())
    verdict = f"{holds(best == len(NAMES))}; best by {best} of {len(NAMES)} errors"
    sentences = [f"domination is best whatever is measured: {verdict}"]
    for name in NAMES:
        differences = [
            f"{row.method} {row.measures[name] - own.measures[name]:+.4f} "
            f"± {row.half_width(name, own):.4f} (p {row.chance[name]:.2g})"
            for row in others
        ]
        verdict = holds(least[name] is own)
        level = [r.method for r in others if r.measures[name] == own.measures[name]]
        other = "" if least[name] is own else f", {least[name].method} is least"
        other += f", level with {', '.join(level)}" if level else ""
        sentences.append(
            f"{name} error, domination is best: {verdict}{other}; "
            f"{own.measures[name]:.4f}; {', '.join(differences)}"
        )
    return sentences


def reproduce(
    data: Path | None, solver: Literal["lbfgs", "boosting"] = "lbfgs"
) -> Reproduction:
    """The four by four errors of label ranking graphs [DekelManningSinger03]."""
    boosting = ITERATIONS if solver == "boosting" else None
    return graphs_report(graphs_rcv1(data, boosting=boosting), solver)


def graphs_report(table: Table, solver: str = "lbfgs") -> Reproduction:
    """Put the table's errors, with intervals over the folds, beside the paper's."""
    rows: list[dict[str, str | float | None]] = []
    for row in table.rows:
        cells: dict[str, str | float | None] = {"trained for": row.method}
        for error in NAMES:
            measured = (row.measures[error], row.half_width(error))
            mean, half = (f"{value:.4f}".lstrip("0") for value in measured)
            cells[error] = f"{mean} ± {half} ({row.paper[error]:g})".replace("(0", "(")
        rows.append(cells)
    return Reproduction(
        f"Label ranking graphs by {solver}: error by training loss, five folds",
        rows,
        table.claims,
        partial(
            error_panels,
            {row.method: row.measures for row in table.rows},
            {row.method: row.paper for row in table.rows},
            title="Errors by training loss: measured, and as published",
        ),
        f"{table.documents:,} documents, {table.labels} labels, {table.words:,} words, "
        f"{table.edges:.0f} edges a graph (the paper's: {table.paper_edges:.0f}); ± is "
        "half of the 95 % interval of the mean over the folds; in brackets the paper's",
        asdict(table),
    )
