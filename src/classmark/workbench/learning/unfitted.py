"""Rankers and vectorizers that have not learned, as the settings describe them."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from classmark.problems import refusal
from classmark.rankers.auto import AUTO, PAPER
from classmark.rankers.ensemble import EnsembleRanker
from classmark.rankers.text_ranker import learner
from classmark.workbench.settings import (
    MMP_LOSSES,
    LearningSettings,
    MeaningSettings,
)

if TYPE_CHECKING:
    from classmark.rankers.linear import LinearRanker
    from classmark.weighting.vectorizer import Vectorizer
    from classmark.workbench.project import Project

LEARNER = "plm"  # the one whose start can be smoothed along the tree
ENSEMBLE, TREE = "ensemble", "tree"  # several learners; the one that starts so
USUAL_C = {"plm": 0.1, "loglinear": 30.0}
USUAL_PASSES = {"mmp": 5, "perceptron": 1}
PRECISION = 1e-2  # relative duality gap
CENTER = LearningSettings().center
MEMBERS = ("plm", "loglinear", TREE, "rocchio", "mmp", "perceptron")


def members_of(learning: LearningSettings) -> dict[str, LearningSettings]:
    """The learners of an ensemble, each with the settings that are its defaults."""
    plain = LearningSettings(memory=learning.memory)
    return {
        name: replace(plain, learner=LEARNER if name == TREE else name)
        for name in learning.members.split()
    }


def shares_by_member(
    ranker: LinearRanker, learning: LearningSettings
) -> tuple[tuple[str, float], ...]:
    """The learners of an ensemble and what each counts; of others nothing."""
    if not isinstance(ranker, EnsembleRanker):
        return ()
    return tuple(zip(members_of(learning), ranker.shares_.tolist(), strict=True))


def require_members(learning: LearningSettings) -> None:
    """Refuse an ensemble of learners that are not known, or of fewer than two."""
    members = learning.members.split() if learning.learner == ENSEMBLE else MEMBERS
    if unknown := [name for name in members if name not in MEMBERS]:
        raise refusal(
            "members has %(unknown)r: use some of %(members)s",
            unknown=unknown[0],
            members=", ".join(MEMBERS),
        )
    if len(members) < 2 or len(set(members)) < len(members):
        raise refusal(
            "members is %(members)r: use two different ones, or more",
            members=learning.members,
        )


def new_ranker(learning: LearningSettings) -> LinearRanker:
    """An unfitted ranker as the settings describe it, whatever the tree."""
    name, price = learning.learner, learning.C or USUAL_C.get(learning.learner)
    if name == ENSEMBLE:
        members = members_of(learning).values()
        return EnsembleRanker([new_ranker(each) for each in members])
    parameters: dict[str, dict[str, Any]] = {
        "plm": preference_parameters(learning),
        "loglinear": {
            "loss": PAPER.loss if learning.loss == AUTO else learning.loss,
            "C": price,
            "solver": learning.solver,
            "memory": learning.memory,
        },
        "mmp": {"loss": int(learning.loss) if learning.loss in MMP_LOSSES else 1},
    }
    chosen = parameters.get(name, {})
    if chosen.get("solver") == "boosting":  # which cannot minimise the l2 penalty
        chosen |= {"C": learning.C or None}
        chosen |= {"penalty": "natural"} if learning.C else {}
    if name in USUAL_PASSES:
        usual = chosen.get("loss") == 1 and not learning.vote
        chosen |= {
            "passes": learning.passes or USUAL_PASSES[name],
            "average": {"yes": True, "no": False}.get(learning.average, usual),
            "vote": learning.vote,
        }
    return learner(name, **chosen)


def preference_parameters(learning: LearningSettings) -> dict[str, Any]:
    """Those of a ``PreferenceRanker``: what the settings leave open, it chooses."""
    chooses = not learning.C and learning.loss != "svm"
    on_card = learning.device == "gpu"  # which takes no center
    is_open = (chooses or on_card) and learning.center == CENTER
    return {
        "loss": learning.loss,
        "C": None if chooses else learning.C or USUAL_C[LEARNER],
        "center": AUTO if is_open else learning.center or None,
        "prior": learning.prior or (AUTO if chooses else None),
        "noise": learning.noise or (AUTO if chooses else None),
        "tol": PRECISION,
        "memory": learning.memory,
        "device": learning.device,
        "thresholds": learning.learned_thresholds,
    }


def new_vectorizer(
    project: Project,
    settings: LearningSettings | None = None,
    meaning: MeaningSettings | None = None,
) -> Vectorizer:
    """An unfitted vectorizer as these settings describe it, or the project's."""
    from classmark.weighting.vectorizer import Vectorizer

    learning = settings or project.settings.learning
    meaning = meaning or project.settings.meaning
    return Vectorizer(
        meaning=project.meaning(meaning),
        meaning_weight=meaning.weight or AUTO,
        analyzer=project.settings.text.analyzer,
        weighting=learning.weighting,
        norm=learning.scaled,
        min_df=learning.min_df,
        slope=learning.slope,
        characters=learning.characters,
        first_line=max(1, learning.first_line),
    )
