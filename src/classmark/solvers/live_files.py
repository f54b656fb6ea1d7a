"""How is a live problem kept on disk? As arrays, exactly as it stands."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import accumulate
from typing import Any

import numpy as np

from classmark.arrays import Array, Ints
from classmark.solvers.live_documents import Growing, Lesson
from classmark.solvers.preference import Caps, ImplicitDual, Pool
from classmark.solvers.preference_live import LiveDual
from classmark.sparse import Rows

Arrays = dict[str, Array]


def to_arrays(live: LiveDual) -> Arrays:
    """Everything that decides what the problem does next.

    Opened again and gone on with, it is the same, bit by bit, as if never closed.
    """
    shelf, problem = live.shelf, live.shelf.problem
    pool, width = problem.pools[0], live.n_labels
    used = int(pool.used[0])
    arrays: Arrays = {
        "weights": np.ascontiguousarray(live.W),
        "caps": problem.caps[:width],
        "codes": problem.codes,
        "words_starts": problem.rows.starts,
        "words_columns": problem.rows.columns,
        "words_values": problem.rows.values,
        "levels_starts": problem.levels.starts,
        "levels_columns": problem.levels.columns,
        "levels_values": problem.levels.values,
        "slots": problem.slots[:, : problem.levels.nnz],
        "pool_label": pool.label[:used],
        "pool_alpha": pool.alpha[:used],
        "naps": problem.naps,
        "costs": problem.costs,
        "alive": shelf.alive,
        "place": live.place.array,
        "owner": live.owner.array,
        "retired": np.array(sorted(live.retired), np.int64),
        "numbers": np.array([live.visits, -1 if live.keep is None else live.keep]),
        "prices": np.array([live.C, live.tau[0]]),
    }
    return arrays | _listed_arrays(live)


def from_arrays(arrays: Mapping[str, Array], mapping: str) -> LiveDual:
    """The live problem that ``to_arrays`` described."""
    visits, keep = (int(n) for n in arrays["numbers"])
    C, tau = (float(n) for n in arrays["prices"])
    live = LiveDual(_problem(arrays, mapping), C, None if keep < 0 else keep)
    live.shelf.alive[:] = arrays["alive"]
    live.place, live.owner = Growing(arrays["place"]), Growing(arrays["owner"])
    live.visits = visits
    live.tau[0] = tau
    for label in arrays["retired"]:
        live.retire(int(label))
    for handle, lesson, duals in _listed_lessons(arrays):
        live.listed.put(handle, lesson, live.shelf.problem.W, duals)
    return live


def _problem(arrays: Mapping[str, Array], mapping: str) -> ImplicitDual:
    weights = np.array(arrays["weights"])
    parts = ("starts", "columns", "values")
    rows = Rows(*(arrays[f"words_{p}"] for p in parts), weights.shape[0])  # type: ignore[call-arg, arg-type]
    levels = Rows(*(arrays[f"levels_{p}"] for p in parts), weights.shape[1])  # type: ignore[call-arg, arg-type]
    problem = ImplicitDual(rows, levels, mapping, Caps(*[np.array(arrays["caps"])] * 2))
    problem.W = weights
    problem.slots = np.array(arrays["slots"])
    problem.naps, problem.costs = np.array(arrays["naps"]), np.array(arrays["costs"])
    label, alpha = np.array(arrays["pool_label"]), np.array(arrays["pool_alpha"])
    documents, used = np.arange(len(rows)), np.array([len(label)])
    problem.pools = [Pool(documents, label, alpha, used)]
    return problem


def _listed_arrays(live: LiveDual) -> Arrays:
    lessons = live.listed.lessons()
    groups = [group for _, lesson in lessons for group in lesson.groups or []]
    edges = [edge for group in groups for edge in group]
    duals = [live.listed.duals(handle) for handle, _ in lessons]
    return {
        "listed_handles": np.array([handle for handle, _ in lessons], np.int64),
        "listed_words": _ends([len(lesson.columns) for _, lesson in lessons]),
        "listed_columns": _joined([lesson.columns for _, lesson in lessons], np.uint32),
        "listed_values": _joined(
            [lesson.values for _, lesson in lessons], live.W.dtype
        ),
        "listed_labels": _joined([lesson.labels for _, lesson in lessons], np.uint32),
        "listed_named": _ends([len(lesson.labels) for _, lesson in lessons]),
        "listed_groups": _ends([len(lesson.groups or []) for _, lesson in lessons]),
        "listed_weights": np.array([w for _, o in lessons for w in o.weights], float),
        "listed_edges": _ends([len(group) for group in groups]),
        "listed_pairs": np.array(edges, np.int64).reshape(-1, 2),
        "listed_duals": _joined(duals, np.float64),
    }


def _listed_lessons(arrays: Mapping[str, Array]) -> Any:
    words, named, groups, edges = (
        arrays[f"listed_{name}"] for name in ("words", "named", "groups", "edges")
    )
    for i, handle in enumerate(arrays["listed_handles"]):
        group_range = range(groups[i], groups[i + 1])
        pairs = [
            arrays["listed_pairs"][edges[g] : edges[g + 1]].tolist()
            for g in group_range
        ]
        row, own_labels = slice(*words[i : i + 2]), slice(*named[i : i + 2])
        labels = np.array(arrays["listed_labels"][own_labels])
        lesson = Lesson(
            np.array(arrays["listed_columns"][row]),
            np.array(arrays["listed_values"][row]),
            labels,
            np.zeros(len(labels), np.float32),
            [[(u, v) for u, v in group] for group in pairs],
            tuple(arrays["listed_weights"][groups[i] : groups[i + 1]].tolist()),
        )
        span = slice(edges[groups[i]], edges[groups[i + 1]])
        yield int(handle), lesson, arrays["listed_duals"][span]


def _ends(lengths: list[int]) -> Ints:
    return np.array([0, *accumulate(lengths)], np.int64)


def _joined(parts: list[Array], dtype: Any) -> Array:
    return np.concatenate([np.empty(0, dtype), *parts])
