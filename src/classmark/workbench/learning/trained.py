"""How a model was trained, as the log tells."""

from __future__ import annotations

from math import inf
from typing import TYPE_CHECKING, Any, NamedTuple

from classmark.workbench.learning import fit
from classmark.workbench.older_settings import with_loss
from classmark.workbench.settings import LearningSettings, MeaningSettings

if TYPE_CHECKING:
    from classmark.workbench.project import Project
    from classmark.workbench.store.store import Store

TRAINED = "trained"  # the event


class Training(NamedTuple):
    """How a model was trained, as the log tells; what it does not tell is None.

    upto : the last act it was trained on;  how : its settings, what was chosen written
    out;  asked, select : the settings as they were given, and whether C was to be
    chosen;  without : acts up to ``upto`` that it was trained without, because they
    were undone later;  seconds : how long it took;  meaning : its source of vectors.
    """

    upto: int | None = None
    how: LearningSettings | None = None
    asked: LearningSettings | None = None
    select: bool = False
    without: frozenset[int] = frozenset()
    seconds: float = inf
    meaning: MeaningSettings = MeaningSettings()

    def is_outdated(self, store: Store) -> bool:
        """Whether other acts that it was trained on, or without, hold now."""
        return self.upto is not None and store.undone_since(self.upto) != self.without


def training_of(project: Project, base: str) -> Training:
    """How a model was trained; of a model that is none, nothing."""
    facts = project.store.last_event(TRAINED, model=base) if base else {}
    how, asked = (_settings(facts.get(name)) for name in ("settings", "asked"))
    return Training(
        facts.get("upto"),
        how,
        asked or how,
        facts.get("select", False),
        frozenset(facts.get("without", ())),
        facts.get("seconds", inf),
        MeaningSettings(**facts.get("meaning", {})),
    )


def _settings(values: dict[str, Any] | None) -> LearningSettings | None:
    first = {"strategy": fit.PLAIN}  # of models from before there were strategies
    return LearningSettings(**first | with_loss(values)) if values else None
