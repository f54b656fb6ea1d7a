"""Labels and grades in every shape, the levels that follow, and what clicks prefer.

A label is a judgment on (document, category); its grade is positive: 1 for "belongs",
2 for "primary", whatever a graded source says.

A document's label at a higher level stands above every label at a lower one. Labels
that are not listed are at level 0, so a bipartite graph (relevant above all others)
lists its relevant labels only, and no edge is ever listed. A few labels may be at
level −1: they are compared with none.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable, Sequence
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from classmark.arrays import Array, Bools, Ints, Rows, keep_values, rows_from, take
from classmark.preferences.graph import PreferenceGraph
from classmark.problems import Mistake


def labels_from(
    Y: Any, n_documents: int | None = None, n_labels: int | None = None
) -> Rows:
    """Read ``Y`` as Rows of grades, shape (documents, labels).

    Y : an indicator or grade matrix (array or scipy sparse, n × k); a *list* of
        label-index lists; a 1-d integer array (one label each); or Rows.
    n_documents, n_labels : what the shape must be, where known.

    >>> labels_from([[2], [0, 1], []]).shape
    (3, 3)
    """
    if isinstance(Y, Rows):
        rows = Y
    elif isinstance(Y, np.ndarray) and (Y.dtype == object or Y.ndim == 1):
        lists = Y if Y.dtype == object else Y[:, np.newaxis]
        rows = _from_lists(list(lists), n_labels)
    elif isinstance(Y, Sequence) and not isinstance(Y, str | bytes):
        rows = _from_lists(Y, n_labels)
    else:
        rows = rows_from(Y, name="Y")
        if (rows.values < 0).any():
            at = int(np.argmax(rows.values < 0))
            row = int(np.searchsorted(rows.starts, at, side="right")) - 1
            raise Mistake(f"Y, row {row}: a grade is negative: grades are 0 or more")
    _require_as_many(len(rows), n_documents)
    if n_labels is not None and rows.width > n_labels:
        raise Mistake(
            f"Y has {rows.width} labels, {n_labels} were expected: "
            "raise n_labels or drop the extra columns"
        )
    wide = rows.width if n_labels is None else n_labels
    rows = Rows(rows.starts, rows.columns, rows.values, wide)
    return keep_values(rows, rows.values != 0)  # a grade of 0 says nothing


def _from_lists(lists: Sequence[Any], n_labels: int | None) -> Rows:
    """Label-index lists; a bare integer stands for a list of one."""
    cleaned = [_indices(entry, row, n_labels) for row, entry in enumerate(lists)]
    starts = np.cumsum([0, *map(len, cleaned)], dtype=np.int64)
    columns = np.concatenate([np.empty(0, np.uint32), *cleaned]).astype(np.uint32)
    width = int(columns.max()) + 1 if len(columns) else 0
    return Rows(starts, columns, np.ones(len(columns)), max(width, n_labels or 0))


def _indices(entry: Any, row: int, n_labels: int | None) -> Ints:
    many = entry if isinstance(entry, Iterable) else (entry,)
    if isinstance(many, str | bytes):
        raise Mistake(
            f"Y, row {row}: {many!r} is text: give label indices "
            "(number the label names first)"
        )
    indices = np.unique(np.asarray(list(many)))
    if not len(indices):
        return np.empty(0, np.int64)
    if indices.dtype.kind not in "iu":
        raise Mistake(
            f"Y, row {row}: {indices[0]!r} is not a label index: give whole numbers"
        )
    if indices[0] < 0 or (n_labels is not None and indices[-1] >= n_labels):
        wrong = int(indices[0] if indices[0] < 0 else indices[-1])
        limit = "0 or more" if n_labels is None else f"0 to {n_labels - 1}"
        raise Mistake(f"Y, row {row}: label {wrong} is out of range: use {limit}")
    return indices.astype(np.int64)


NO_LABELS = "Y requires y to be passed, but the target y is None: give the labels"


class NamedLabels(NamedTuple):
    """Labels by number, or preference graphs, and what the numbers are called.

    classes : (k,);  form : how ``Y`` came: "one", a label for each document, "names",
    lists of names, or "numbers", all else, where a label is its number.
    """

    labels: Any
    classes: Array
    form: str = "numbers"


def named_labels(
    Y: Any,
    n_documents: int | None = None,
    known: Array | None = None,
    n_labels: int | None = None,
) -> NamedLabels:
    """Read ``Y`` as ``labels_from`` does, or with labels of any name.

    Y : besides, one label for each document, or a list or set of names; from lists,
        arrays, and the columns of data frames.
    known : classes that have numbers already; others come after them;  n_labels : how
    many there can be, where labels are numbers.

    >>> named = named_labels(["tea", "ale", "tea"])
    >>> named.labels.columns.tolist(), named.classes.tolist(), named.form
    ([1, 0, 1], ['ale', 'tea'], 'one')
    >>> named_labels([["tea", "ale"], []]).labels.columns.tolist()
    [0, 1]
    """
    if Y is None:
        raise Mistake(NO_LABELS)
    if is_graphs(Y):
        checked_graphs(Y, n_documents, thresholds=True)
        return NamedLabels(Y, np.arange(Y[0].n_labels))
    if hasattr(Y, "__array__") and not isinstance(Y, np.ndarray):
        Y = np.asarray(Y)
    is_flat = isinstance(Y, np.ndarray) and Y.ndim == 1
    entries = list(Y) if is_flat or isinstance(Y, list | tuple) else []
    several = [e for e in entries if isinstance(e, Iterable) and not _is_text(e)]
    if entries and not several:
        form, lists, names = "one", [[e] for e in entries], label_column(Y)
    elif any(_is_text(name) for entry in several for name in entry):
        form, lists = "names", [[e] if _is_text(e) else list(e) for e in entries]
        names = label_column([name for entry in lists for name in entry])
    else:
        rows = labels_from(Y, n_documents, n_labels)
        return NamedLabels(rows, np.arange(rows.width))
    _require_as_many(len(entries), n_documents)
    found = np.unique(names)
    classes = found
    if known is not None:
        classes = np.concatenate([known, found[~np.isin(found, known)]])
    number = {name: at for at, name in enumerate(classes.tolist())}
    at = iter(names.tolist())
    listed = [[number[next(at)] for _ in entry] for entry in lists]
    return NamedLabels(_from_lists(listed, len(classes)), classes, form)


def some_labels(Y: Any, which: Ints, n_documents: int) -> Any:
    """The labels of some documents, in whatever form they came.

    >>> some_labels([["a"], ["b"], []], np.array([0, 2]), 3)
    [['a'], []]
    """
    if isinstance(Y, Rows):
        return take(Y, which)
    if hasattr(Y, "tocsr"):
        return Y.tocsr()[which]
    if hasattr(Y, "__array__"):
        Y = np.asarray(Y)
    _require_as_many(len(Y), n_documents)
    return Y[which] if isinstance(Y, np.ndarray) else [Y[i] for i in which.tolist()]


def _is_text(entry: Any) -> bool:
    return isinstance(entry, str | bytes)


def label_column(names: Any) -> Array:
    """One label for each document as an array: text, whole numbers, truth values.

    >>> label_column([3, 1]).tolist()
    [3, 1]
    """
    column = np.asarray(names)
    if column.dtype == object:
        column = np.array(column.tolist())
    kinds = {isinstance(name, str) for name in names}
    if column.dtype.kind == "f":
        if not np.isfinite(column).all():
            what = "NaN" if np.isnan(column).any() else "infinity"
            raise Mistake(f"Input y contains {what}: give each document its label")
        if (column != np.floor(column)).any():
            raise Mistake(
                "Unknown label type: continuous. Y has numbers that are no labels: "
                "give whole numbers or names"
            )
    elif column.dtype.kind not in "biuUS" or len(kinds) > 1:
        row = next((i for i, n in enumerate(names) if not isinstance(n, str)), 0)
        raise Mistake(
            f"Unknown label type: unknown. Y, row {row}: {list(names)[row]!r} beside "
            "others is no label: give text, or whole numbers, for each document"
        )
    return column


def _require_as_many(n_labelled: int, n_documents: int | None) -> None:
    if n_documents is not None and n_labelled != n_documents:
        raise Mistake(
            f"Y has {n_labelled} rows, X has {n_documents}: give one row per document"
        )


def number_labels(
    lists: Iterable[Iterable[str]], names: Sequence[str]
) -> list[list[int]]:
    """Names to indices; names not in ``names`` are an error.

    >>> number_labels([["b"], ["a", "b"]], ["a", "b"])
    [[1], [0, 1]]
    """
    number = {name: index for index, name in enumerate(names)}
    numbered = []
    for row, labels in enumerate(lists):
        unknown = [label for label in labels if label not in number]
        if unknown:
            raise Mistake(
                f"labels, row {row}: {unknown[0]!r} is not among the label names"
            )
        numbered.append(sorted({number[label] for label in labels}))
    return numbered


def levels_from(
    Y: Any, n_documents: int | None = None, n_labels: int | None = None
) -> Rows:
    """Labels, grades or layered graphs as Rows of levels 1, 2, …, shape (n, labels).

    Grades become levels by their order within the collection: indicator labels give
    one level (bipartite), primary and secondary labels give two.

    >>> levels_from(np.array([[2.0, 0.0, 1.0]])).values.tolist()
    [2.0, 1.0]
    """
    if is_graphs(Y):
        checked_graphs(Y, n_documents)
        if not are_layered(Y):
            raise Mistake(
                "Y holds graphs that are not layered over all labels: this needs "
                "layered graphs (PreferenceGraph.multilabel, or .layers with every "
                "label in one)"
            )
        return rows_of_levels([graph.levels for graph in Y], Y[0].n_labels)
    rows = labels_from(Y, n_documents, n_labels)
    grades = np.unique(rows.values)
    level = np.ones(rows.nnz, np.float32)
    if len(grades) > 1:
        level += np.searchsorted(grades, rows.values)
    return Rows(rows.starts, rows.columns, level, rows.width)


def levels_of(grades: Array) -> NDArray[np.float32]:
    """Levels 1, 2, … by the order of the grades within the document.

    >>> levels_of(np.array([3.0, 1.0])).tolist()
    [2.0, 1.0]
    """
    if len(grades) < 2:
        return np.ones(len(grades), np.float32)
    return (np.searchsorted(np.unique(grades), grades) + 1).astype(np.float32)


def graphs_from(
    Y: Any,
    n_documents: int | None = None,
    n_labels: int | None = None,
    *,
    thresholds: bool = False,
) -> list[PreferenceGraph]:
    """One graph per document: labels and grades become layers, graphs stay.

    thresholds : whether graphs may compare labels with the threshold.

    >>> graphs_from(np.array([[2.0, 0.0, 1.0]]))[0].edges()
    [(0, 1), (0, 2), (2, 1)]
    """
    if is_graphs(Y):
        return list(checked_graphs(Y, n_documents, thresholds=thresholds))
    rows = levels_from(Y, n_documents, n_labels)
    graphs = []
    for i in range(len(rows)):
        columns, values = rows.row(i)
        levels = np.zeros(rows.width, np.int64)
        levels[columns] = values
        graphs.append(PreferenceGraph(rows.width, levels=levels))
    return graphs


def favoured(graphs: Sequence[PreferenceGraph]) -> Rows:
    """Levels of any graphs: a label that wins more edges than it loses is at level 1.

    Layered graphs keep their levels. What is listed need not have levels at all; this
    says which labels a document speaks for, and no more.

    >>> favoured([PreferenceGraph(3, [(0, 1), (0, 2), (2, 1)])]).columns.tolist()
    [0]
    """
    levels, k = [], graphs[0].n_labels
    for graph in graphs:
        if graph.levels is not None and are_layered([graph]):
            levels.append(graph.levels)
        else:
            pairs = graph.pairs if graph.levels is None else np.array(graph.edges())
            ends = pairs.astype(np.int64).reshape(-1, 2).T
            won, lost = (np.bincount(end, minlength=k + 1) for end in ends)
            levels.append((won > lost)[:k].astype(np.int64))
    return rows_of_levels(levels, k)


def relevant(levels: Rows, Y: Any = None) -> Rows:
    """Only the labels above level 0: without those that are compared with none.

    Y : what the levels are of; of graphs, only the labels above their ``floor``.

    >>> graph = PreferenceGraph(3, levels=np.array([-1, 1, 0]))
    >>> relevant(favoured([graph])).columns.tolist()
    [1]
    """
    floor: Any = 0
    if is_graphs(Y):
        floor = np.repeat([graph.floor for graph in Y], np.diff(levels.starts))
    return keep_values(levels, levels.values > floor)


def is_graphs(Y: Any) -> bool:
    """Whether ``Y`` is a list of preference graphs."""
    return (
        isinstance(Y, Sequence)
        and len(Y) > 0
        and all(isinstance(graph, PreferenceGraph) for graph in Y)
    )


def are_layered(graphs: Sequence[PreferenceGraph]) -> bool:
    """Whether every graph is layered and compares all labels, or all but a few."""
    return all(graph.is_layered for graph in graphs)


def checked_graphs(
    graphs: Sequence[PreferenceGraph],
    n_documents: int | None,
    *,
    thresholds: bool = False,
) -> Sequence[PreferenceGraph]:
    """Refuse a wrong number of graphs, graphs over different labels, or thresholds."""
    if n_documents is not None and len(graphs) != n_documents:
        raise Mistake(
            f"Y has {len(graphs)} graphs, X has {n_documents} rows: "
            "give one graph per document"
        )
    for document, graph in enumerate(graphs):
        if graph.n_labels != graphs[0].n_labels:
            raise Mistake(
                f"Y, document {document}: the graph has {graph.n_labels} labels, "
                f"the first has {graphs[0].n_labels}: use one set of labels"
            )
        if graph.thresholds and not thresholds:
            raise Mistake(
                f"Y, document {document}: the graph compares labels with a threshold, "
                "which only PreferenceRanker learns: leave those edges out"
            )
    return graphs


def rows_of_levels(levels: Sequence[Ints], n_labels: int) -> Rows:
    """Rows of the levels other than 0, one row for each document's (n_labels,)."""
    columns = [np.flatnonzero(level) for level in levels]
    values = [level[at] for level, at in zip(levels, columns, strict=True)]
    return Rows(
        np.cumsum([0, *map(len, columns)], dtype=np.int64),
        np.concatenate([np.empty(0), *columns]).astype(np.uint32),
        np.concatenate([np.empty(0), *values]).astype(np.float32),
        n_labels,
    )


Item = TypeVar("Item", bound=Hashable)
STRATEGIES = (
    "clicked-over-skipped",
    "last-click-over-skipped-above",
    "click-over-previous",
    "skip-above",
)


def click_preferences(
    shown: Sequence[Item],
    clicked: Collection[Item],
    strategy: str = "clicked-over-skipped",
) -> list[tuple[Item, Item]]:
    """Return (winner, loser) for a list d_1, d_2, … and the set C clicked in it.

    A click says little alone; with what was passed over it says more. Each strategy
    compares a clicked document with some that were not [JoachimsEtAl05].

    - ``clicked-over-skipped``: every clicked one over every other;
    - ``last-click-over-skipped-above``: the lowest clicked one over the others above;
    - ``click-over-previous``: a clicked one over the one just above, d_i over d_{i−1};
    - ``skip-above``: every clicked one over the others above it.

    No loser was clicked. C is a set: the order in which ``clicked`` comes says nothing,
    the last click is the lowest.

    >>> click_preferences(["a", "b", "c", "d"], {"b", "d"}, "skip-above")
    [('b', 'a'), ('d', 'a'), ('d', 'c')]
    """
    place = {item: at for at, item in enumerate(shown)}
    if len(place) < len(shown):
        twice = next(item for at, item in enumerate(shown) if place[item] != at)
        raise Mistake(f"shown has {twice!r} twice: give each document once")
    require_shown(place, clicked)
    flags = [item in clicked for item in shown]
    return [
        (shown[winner], shown[loser])
        for _, winner, loser in np.argwhere(preferred_places(flags, strategy)).tolist()
    ]


def require_shown(shown: Collection[Item], clicked: Collection[Item]) -> None:
    """Refuse clicks on what was not shown."""
    for item in clicked:
        if item not in shown:
            raise Mistake(
                f"clicked has {item!r}, which is not in shown: give what was there"
            )


def preferred_places(clicked: ArrayLike, strategy: str) -> Bools:
    """Say of many lists at once which place wins against which.

    clicked : shape (lists, places), or (places,) for one list;  return : shape
    (lists, places, places), [list, winner, loser].
    """
    if strategy not in STRATEGIES:
        raise Mistake(
            f"strategy {strategy!r} is not known: use {', '.join(STRATEGIES)}"
        )
    flags = np.atleast_2d(np.asarray(clicked, np.bool_))
    places = flags.shape[1]
    wins: Bools = flags[:, :, np.newaxis] & ~flags[:, np.newaxis, :]
    if strategy == "click-over-previous":
        wins &= np.eye(places, k=-1, dtype=np.bool_)
    elif strategy != "clicked-over-skipped":
        wins &= np.tri(places, k=-1, dtype=np.bool_)
    if strategy == "last-click-over-skipped-above":
        not_above = np.cumsum(flags[:, ::-1], axis=1)[:, ::-1]
        wins &= (not_above == 1)[:, :, np.newaxis]
    return wins
