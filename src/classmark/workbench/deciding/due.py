"""When training is due, and what it will bring."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

from classmark.language import _, whole
from classmark.rankers.calibration import ENOUGH
from classmark.workbench.learning.trained import TRAINED

if TYPE_CHECKING:
    from classmark.workbench.project import Project


DOUBLED = 2  # times as many decisions as the model has learned from
FEWEST = 20  # new decisions that are worth a training
LEARNED = """
SELECT count(DISTINCT document) FROM judgments
WHERE act IN ('assign', 'primary') AND seq <= ?
"""


@dataclass(frozen=True, slots=True)
class TrainingDue:
    """Whether to train, by the documents decided now and when the model was trained.

    decided : documents that have a label;  learned : how many had one at the last
    training; None: there was none.
    """

    decided: int
    learned: int | None

    @property
    def is_due(self) -> bool:
        """Whether a training would change much.

        >>> TrainingDue(60, None).is_due, TrainingDue(60, 40).is_due
        (True, False)
        """
        if self.learned is None:
            return self.decided >= ENOUGH
        enough = max(ENOUGH, DOUBLED * self.learned, self.learned + FEWEST)
        return self.decided >= enough

    @property
    def words(self) -> str:
        """What training will bring, or when it is due; "" where neither is near.

        >>> TrainingDue(20, None).words[:41]
        'Training is due after 50 decisions (20 so'
        """
        if self.learned is None:
            when = _(
                "Training is due after %(enough)s decisions (%(decided)s so far).",
                enough=ENOUGH,
                decided=whole(self.decided),
            )
            if self.is_due:
                when = _(
                    "Training is due: %(decided)s documents are decided.",
                    decided=whole(self.decided),
                )
            brings = _(
                "It adds percentages to the scores and chooses settings that suit "
                "these documents."
            )
            return f"{when} {brings}"
        if self.is_due:
            return _(
                "Training is due: %(decided)s documents are decided, %(learned)s when "
                "the model was trained. It recalculates the percentages and settings "
                "from all of them.",
                decided=whole(self.decided),
                learned=whole(self.learned),
            )
        return ""


def training_due(project: Project) -> TrainingDue:
    """Whether the project should be trained; quick, so that every page may ask."""
    decided = len(project.state.labels)
    folder = project.models.current()
    if folder is None:
        return TrainingDue(decided, None)
    derived = project.state.derived
    name, learned = derived.get(TrainingDue, ("", 0))
    if name != folder.name:
        upto = project.store.last_event(TRAINED, model=folder.name).get("upto", 0)
        (learned,) = project.store.run(LEARNED, (upto,)).fetchone()
        derived[TrainingDue] = folder.name, learned
    return TrainingDue(decided, cast("int", learned))
