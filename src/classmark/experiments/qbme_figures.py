"""How hard is each topic, and for whom?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from classmark.experiments.paper_figures import STYLE, save
from classmark.figures import HUES, LINE


def hardness_curves(
    curves: Mapping[str, Sequence[float]], path: Path, title: str
) -> None:
    """Draw a measure of every topic, a line per method, the hardest topics first.

    Topics stand in the order of their mean over the methods, as in the figures of
    [ZhangLee09].
    """
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    order = np.argsort(np.mean(list(curves.values()), axis=0), kind="stable")
    places = np.arange(1, len(order) + 1)
    with rc_context(STYLE):
        figure = Figure()
        axes = figure.subplots()
        for hue, (name, values) in zip(
            HUES * len(curves), curves.items(), strict=False
        ):
            axes.plot(
                places,
                np.asarray(values)[order],
                color=hue,
                label=name,
                marker=".",
                linewidth=1.2,
            )
        axes.set(title=title, xlabel="topics, the hardest first", ylabel="PRBEP")
        axes.set_ylim(0, 1.03)
        axes.grid(axis="y", color=LINE, linewidth=0.6)
        axes.legend(
            frameon=False,
            labelcolor="linecolor",
            loc="upper center",
            bbox_to_anchor=(0.5, -0.14),
            ncols=3,
        )
        save(figure, path)
