"""Settings of [learning] for this once: which are changed, and what they mean."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from classmark.problems import Mistake
from classmark.workbench.learning.fit import (
    FLAT,
    PLAIN,
    PRUNED,
    TOP_DOWN,
    by_nodes,
    has_tree,
    require,
)
from classmark.workbench.learning.unfitted import LEARNER
from classmark.workbench.settings import LAYERED, MMP_LOSSES, LearningSettings

if TYPE_CHECKING:
    from classmark.workbench.project import Project

NOTED = {  # by learners other than that
    "ensemble": {"members", "memory"},
    "loglinear": {"loss", "C", "memory", "layers", "solver"},
    "mmp": {"loss", "passes", "average", "vote", "memory"},
    "perceptron": {"passes", "average", "vote", "memory"},
}
OPTIONS = {
    "loss": "use --strategy plain or flat, or --learner loglinear or mmp",
    "passes": "use --learner mmp or perceptron",
    "average": "use --learner mmp or perceptron",
    "vote": "use --learner mmp or perceptron",
    "base": "use a tree of categories and --strategy flat, top-down or pruned",
    "memory": "use --learner plm",
    "device": "use --learner plm, with --strategy plain or auto",
    "policy": "use --strategy pruned",
    "bold": "use --strategy pruned",
    "C": "use --learner plm or loglinear",
    "solver": "use --learner loglinear",
    "layers": "use --learner plm or loglinear",
    "members": "use --learner ensemble",
    "names": "use --strategy plain or flat",
    "thresholds": "use --learner plm, with --strategy plain or flat and the base svm",
}


def changed(project: Project, options: Mapping[str, Any]) -> LearningSettings:
    """The project's settings, with the options that were given for this once."""
    values = {name: value for name, value in options.items() if value is not None}
    return replace(project.settings.learning, **values)


def for_learner(learning: LearningSettings, name: str) -> LearningSettings:
    """The settings with another learner, without what it does not look at."""
    values: dict[str, Any] = {} if name == LEARNER else {"strategy": PLAIN}
    if name != "mmp" and learning.loss in MMP_LOSSES:
        values["loss"] = LearningSettings().loss
    if name not in LAYERED:
        values["layers"] = 0
    if name != LEARNER:
        values["thresholds"] = "none"
    return replace(learning, learner=name, **values)


def require_effect(
    project: Project, several: Sequence[LearningSettings], options: Mapping[str, Any]
) -> None:
    """Refuse an option for this once that means nothing in any of the settings."""
    tree = has_tree(project.tree)
    for settings in several:
        require(settings)
        if settings.learner == "mmp" and options.get("loss") not in (None, *MMP_LOSSES):
            raise Mistake(
                f"loss {settings.loss!r} is none of mmp: use {', '.join(MMP_LOSSES)}"
            )
        _require_slope_used(settings, options.get("slope"))
    used = set().union(*(_used(settings, tree=tree) for settings in several))
    for name, value in options.items():
        if value is not None and name in OPTIONS and name not in used:
            raise Mistake(
                f"--{name} has no effect {_with(several[0], tree=tree)}: leave it out, "
                f"or {OPTIONS[name]}"
            )


def _require_slope_used(settings: LearningSettings, slope: float | None) -> None:
    """Refuse a slope for this once where the weights have none, or lose it again."""
    used = settings.weighting == "pivoted" and settings.scaled is None
    if slope is not None and not used:
        raise Mistake(
            f"--slope has no effect with the weighting {settings.weighting} and the "
            f"norm {settings.norm}: leave it out, or use --weighting pivoted and the "
            "norm none"
        )


def _used(settings: LearningSettings, *, tree: bool) -> set[str]:
    """Those of ``OPTIONS`` that the settings look at."""
    if settings.learner != LEARNER:
        return NOTED.get(settings.learner, set()) | {"names"}
    learned = {"loss", "thresholds", "names"}
    by_strategy = {
        "auto": {"device", *learned} | ({"base", "policy", "bold"} if tree else set()),
        PLAIN: {"device", *learned},
        FLAT: {"base", "names"} if settings.base != "svm" else {"base", *learned},
        TOP_DOWN: {"base"},
        PRUNED: {"base", "policy", "bold"},
    }
    return {"memory", "C", "layers"} | by_strategy[settings.strategy]


def _with(settings: LearningSettings, *, tree: bool) -> str:
    if settings.learner != LEARNER:
        return f"with the learner {settings.learner}"
    if settings.strategy == "auto" and not tree:
        return "where the categories have no tree"
    base = f" and the base {settings.base}" if by_nodes(settings) else ""
    return f"with the strategy {settings.strategy}{base}"
