"""A live problem as arrays that can be stored, and from them the same problem again."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from classmark.arrays import Array, Floats, Growing, Rows, rows_in
from classmark.solvers.live_documents import ListedGroups
from classmark.solvers.preference import Caps, ImplicitDual, Pool
from classmark.solvers.preference_live import LiveDual, less_prior, threshold_of_label
from classmark.storage import prefixed, with_prefix

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
        **problem.rows.arrays("words"),
        **problem.levels.arrays("levels"),
        "slots": problem.slots[:, : problem.levels.nnz],
        "own": problem.own[: len(problem.rows)],
        "pool_label": pool.label[:used],
        "pool_alpha": pool.alpha[:used],
        "naps": problem.naps,
        "costs": problem.costs,
        "alive": shelf.alive,
        "place": live.place.array,
        "owner": live.owner.array,
        "retired": np.array(sorted(live.retired), np.int64),
        "numbers": np.array([live.visits, -1 if live.keep is None else live.keep]),
        "prices": np.array([live.C, *live.tau[: max(1, width)]]),
    }
    if problem.noise:
        arrays["noise"] = np.array([problem.noise])
        arrays["self_scores"] = problem.self_scores
    if live.prior:
        arrays["prior"] = np.array([live.prior, *problem.W[0, :width]])
    return arrays | _listed_arrays(live)


def thresholds_in(arrays: Mapping[str, Array], thresholds: str | None) -> Floats | None:
    """The threshold of each label in what ``to_arrays`` described, or None."""
    n_labels, prior = arrays["weights"].shape[1], arrays.get("prior", np.zeros(1))
    tau = threshold_of_label(arrays["prices"][1:], n_labels, thresholds)
    return less_prior(tau, prior[0], prior[1:])


def from_arrays(
    arrays: Mapping[str, Array], loss: str, thresholds: str | None = None
) -> LiveDual:
    """The live problem that ``to_arrays`` described."""
    visits, keep = (int(n) for n in arrays["numbers"])
    C, tau = float(arrays["prices"][0]), arrays["prices"][1:]
    prior, weights = _weights_in(arrays)
    problem = _problem_in(arrays, weights, loss, thresholds)
    live = LiveDual(problem, C, None if keep < 0 else keep, prior=prior)
    live.shelf.alive[:] = arrays["alive"]
    live.place, live.owner = Growing(arrays["place"]), Growing(arrays["owner"])
    live.visits = visits
    size = live.n_labels if thresholds == "category" else 1
    live.tau[:size] = tau[:size]
    for label in arrays["retired"]:
        live.retire(int(label))
    stored = with_prefix("listed_", arrays)
    listed: Any = {name: np.array(array) for name, array in stored.items()}
    words = Rows(listed["words"], listed["columns"], listed["values"], len(weights))
    labels = Rows(listed["named"], listed["labels"], np.empty(0), weights.shape[1])
    names = ("groups", "edges", "pairs", "weights")
    groups = ListedGroups(*(listed[name] for name in names))
    taught = groups.lessons(words, labels), groups.split(listed["duals"])
    for handle, lesson, duals in zip(listed["handles"].tolist(), *taught, strict=True):
        live.listed.put(handle, lesson, live.shelf.problem.W, duals)
    return live


def _problem_in(
    arrays: Mapping[str, Array], weights: Array, loss: str, thresholds: str | None
) -> ImplicitDual:
    """The layered documents, with their duals."""
    rows = rows_in(arrays, "words", weights.shape[0])
    levels = rows_in(arrays, "levels", weights.shape[1])
    caps = Caps(*[np.array(arrays["caps"])] * 2)
    noise = float(arrays.get("noise", np.zeros(1))[0])
    problem = ImplicitDual(rows, levels, loss, caps, thresholds=thresholds, noise=noise)
    problem.self_scores = np.array(arrays.get("self_scores", problem.self_scores))
    problem.W = weights
    problem.slots = np.array(arrays["slots"])
    if thresholds:
        problem.own = np.array(arrays["own"])
    problem.naps, problem.costs = np.array(arrays["naps"]), np.array(arrays["costs"])
    label, alpha = np.array(arrays["pool_label"]), np.array(arrays["pool_alpha"])
    problem.pools = [Pool(np.arange(len(rows)), label, alpha, np.array([len(label)]))]
    return problem


def _weights_in(arrays: Mapping[str, Array]) -> tuple[float, Array]:
    """The prior, 0 for none, and all weights, those of its column first."""
    prior, *constant = arrays.get("prior", np.zeros(1)).tolist()
    weights = np.array(arrays["weights"])
    if not prior:
        return 0.0, weights
    return prior, np.vstack([np.array(constant, weights.dtype), weights])


def _listed_arrays(live: LiveDual) -> Arrays:
    documents = list(live.listed.values())
    lessons = [document.lesson for document in documents]
    groups = [group for lesson in lessons for group in lesson.groups or []]
    pairs = [edge for group in groups for edge in group]
    lists: dict[str, tuple[list[Any], Any]] = {
        "columns": ([lesson.columns for lesson in lessons], np.uint32),
        "values": ([lesson.values for lesson in lessons], live.W.dtype),
        "labels": ([lesson.labels for lesson in lessons], np.uint32),
        "weights": ([lesson.weights for lesson in lessons], np.float64),
        "duals": ([document.duals for document in documents], np.float64),
    }
    parts: dict[str, list[Any]] = {
        "words": lists["columns"][0],
        "named": lists["labels"][0],
        "groups": [lesson.groups or [] for lesson in lessons],
        "edges": groups,
    }
    arrays: Arrays = {
        "handles": np.array(list(live.listed), np.int64),
        "pairs": np.array(pairs, np.int64).reshape(-1, 2),
    }
    for name, (each, kind) in lists.items():
        arrays[name] = np.concatenate([np.empty(0, kind), *each]).astype(kind)
    for name, each in parts.items():
        arrays[name] = np.cumsum([0, *map(len, each)], dtype=np.int64)
    return prefixed("listed_", arrays)
