"""Does what is called 80 % likely come true eight times in ten?

Asked of documents that the trained model has not learned from: those set apart for
testing, and those that were decided after it was trained.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from classmark.arrays import Bools, Floats
from classmark.measures import calibration_error, reliability
from classmark.ranking import top
from classmark.workbench.deciding.queue import shuffled
from classmark.workbench.learning.lessons import TEST

if TYPE_CHECKING:
    from classmark.rankers.text_ranker import TextRanker
    from classmark.workbench.project import Project


BINS = 10
ASKED = 300  # documents at most, drawn at random
SHOWN = 10  # suggestions of each, those that people see
FEWEST = 20  # documents below which nothing is said
CELLS = 1 << 21  # scores that are looked at without being asked for
UNLEARNED = """
SELECT d.id FROM documents AS d WHERE d.id IN (SELECT document FROM labels) AND (
  d.meta LIKE ? OR (SELECT min(seq) FROM judgments AS j WHERE j.document = d.id
    AND j.act IN ('assign', 'primary')) > ?)
ORDER BY d.id
"""


@dataclass(frozen=True, slots=True)
class Bin:
    """Suggestions about equally likely: promised, and the share that came true."""

    promised: float
    kept: float
    count: int


@dataclass(frozen=True, slots=True)
class Promises:
    """What was promised of suggestions, and what came true.

    documents : that were asked of;  error : the expected calibration error;  reason :
    why nothing is known, else "";  waits : whether it takes long and was not asked for.
    """

    documents: int = 0
    bins: tuple[Bin, ...] = ()
    error: float = 0.0
    reason: str = ""
    waits: bool = False


def promises(project: Project, *, ask: bool = False) -> Promises:
    """Compare probabilities with decisions; ``ask`` : also where it takes long."""
    folder = project.models.current()
    if folder is None:
        return Promises(reason="no model was trained yet: there are no probabilities")
    ids = project.once(_unlearned, folder.name)
    derived = project.state.derived
    kept: tuple[object, Promises] | None = derived.get(Promises)
    if kept is not None and kept[0] == (folder.name, len(ids)):
        return kept[1]
    if len(ids) < FEWEST:
        return Promises(
            len(ids),
            reason=f"{len(ids)} documents were decided since the model was trained, or "
            f"set apart: from {FEWEST} on this is measured",
        )
    asked = min(ASKED, len(ids))
    if not ask and asked * max(1, len(project.categories)) > CELLS:
        earlier = kept[1] if kept is not None else Promises(asked)
        return replace(earlier, waits=True)
    found = _measured(project, ids)
    derived[Promises] = (folder.name, len(ids)), found
    return found


def _unlearned(project: Project) -> list[str]:
    """Decided documents that the model in service has not learned from."""
    folder = project.models.current()
    name = "" if folder is None else folder.name
    upto = int(project.store.last_event("trained", model=name).get("upto", -1))
    rows = project.store.run(UNLEARNED, (f'%"part":"{TEST}"%', upto))
    return [id_ for (id_,) in rows]


def _measured(project: Project, ids: Sequence[str]) -> Promises:
    from classmark.workbench.learning.models import as_of_now, open_model, with_votes

    folder = project.models.current()
    if folder is None:
        return Promises(reason="no model was trained yet: there are no probabilities")
    model = as_of_now(project, with_votes(project, open_model(folder)))
    if model.calibrator is None:
        return Promises(reason="the model is not calibrated: too few decisions")
    chosen = [ids[at] for at in shuffled(ids, "calibration")[:ASKED].tolist()]
    pairs = list(_shown(project, model, chosen))
    likely = np.concatenate([p for p, _ in pairs])
    true = np.concatenate([came for _, came in pairs])
    seen = reliability(likely, true, BINS)
    bins = zip(seen.promised, seen.kept, seen.counts, strict=True)
    return Promises(
        len(chosen),
        tuple(Bin(float(p), float(k), int(n)) for p, k, n in bins if n),
        calibration_error(likely, true, BINS),
    )


def _shown(
    project: Project, model: TextRanker, ids: Sequence[str]
) -> Iterator[tuple[Floats, Bools]]:
    """Of each document the probabilities of the first ten, and whether they hold."""
    for id_ in ids:
        record = project.store.record(id_)
        scores = model.scores([project.text_of(record)])
        ranked = np.flatnonzero(np.isfinite(scores[0]))
        likely: Any = model.probabilities(scores[:, ranked])
        best = top(scores[0, ranked], min(SHOWN, len(ranked)))
        names = [model.categories[at] in record.labels for at in ranked[best].tolist()]
        yield likely[0, best], np.array(names)
