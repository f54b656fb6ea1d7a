"""How do numbers look? Plots as SVG, drawn without any package.

A figure is data (``Figure``, ``Panel``, ``Axis``, ``Series``); one function draws it.
Equal data give equal bytes.
"""

from classmark.figures.drawing import require_svg, svg, write_figure
from classmark.figures.elements import HUES, INK, LINE, PAPER, SOFT
from classmark.figures.panels import Axis, Figure, Panel, Series

__all__ = [
    "HUES", "INK", "LINE", "PAPER", "SOFT", "Axis", "Figure", "Panel", "Series",
    "require_svg", "svg", "write_figure",
]  # fmt: skip
