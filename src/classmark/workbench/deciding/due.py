"""When training is due, and what it will bring."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

from classmark.rankers.calibration import ENOUGH
from classmark.workbench.learning.learner import TRAINED

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
            when = (
                f"Training is due after {ENOUGH} decisions ({self.decided:,} so far)."
            )
            if self.is_due:
                when = f"Training is due: {self.decided:,} documents are decided."
            return (
                f"{when} It brings percentages instead of scores, and settings chosen "
                "for these documents."
            )
        if self.is_due:
            return (
                f"Training is due: {self.decided:,} documents are decided, "
                f"{self.learned:,} when the model was trained. It brings percentages "
                "that rest on all of them, and settings chosen anew."
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
