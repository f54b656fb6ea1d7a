"""A training in a folder goes on where it was, here or on many machines."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from classmark.hierarchies.descending.trained import Trained
from classmark.hierarchies.finished import Finished
from classmark.hierarchies.kept import Kept, keep_again, keep_pieces, open_kept, tidy
from classmark.hierarchies.lessons import Nodes
from classmark.hierarchies.places import Places
from classmark.hierarchies.spread import forget, learn_spread
from classmark.hierarchies.training import (
    Settings,
    fingerprint,
    largest_first,
    learned,
)
from classmark.spreading import spreader

UNTRAINED = Trained((), 0.0)


def trained_in(
    folder: Path,
    nodes: Nodes,
    settings: Settings,
    kept: Callable[[Places, Trained, int], Kept],
) -> Trained:
    """Go on with the training in a folder; in the end its model is there, mapped.

    What was finished here is not done again by machines, nor the other way round. A
    finished model is written again where it was kept with other settings.
    """
    with Finished(folder, fingerprint(nodes, settings)) as done:
        model, width = folder / "model", nodes.rows.width
        tidy(folder)
        if not model.exists():
            _learn(nodes, settings, done)
            pieces = (done.piece(at) for at in range(len(nodes.shape)))
            unmade = kept(nodes.places, UNTRAINED, width)
            keep_pieces(model, unmade, nodes.shape, pieces)
        done.forget()
        forget(folder)
        there = open_kept(model)
        wanted = kept(nodes.places, there.trained, width)
        if there.settings != wanted.settings:
            keep_again(folder, wanted)
            there = open_kept(model)
    return there.trained


def _learn(nodes: Nodes, settings: Settings, done: Finished) -> None:
    """Learn what is not finished."""
    left = [at for at in largest_first(nodes) if at not in done]
    machines = spreader()
    if machines is not None and left:
        learn_spread(machines, nodes, settings, left, done)
        return
    for at, piece in learned(nodes, settings, left):
        done.add(at, piece)
