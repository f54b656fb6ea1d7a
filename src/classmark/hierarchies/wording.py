"""The figures of a taxonomy in words."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from classmark.hierarchies.bounds import Bound
    from classmark.hierarchies.report import TaxonomyReport

WORDS = {
    "nodes": "categories",
    "leaves": "leaves, K",
    "depth": "depth",
    "roots": "roots",
    "mean_branching": "daughters, mean",
    "max_branching": "daughters, most",
    "single_daughters": "nodes with a single daughter",
    "documents": "documents",
    "features": "features",
    "empty_leaves": "leaves without documents",
    "rare_leaves": "share of leaves with at most 10 documents",
    "complexity_ratio": "complexity, top-down / flat",
    "base": "learner at the nodes",
    "error_flat": "held-out error, flat",
    "error_top_down": "held-out error, top-down",
    "error_ratio": "held-out error, top-down / flat",
    "chance": "p of the difference (sign test)",
    "training_error_flat": "training error, flat",
    "training_error_top_down": "training error, top-down",
    "bound_flat": "bound, flat",
    "bound_top_down": "bound, top-down",
    "class_sizes": "documents of a leaf by rank",
    "feature_laws": "features of a node by rank",
    "beta": "β, the least of all levels",
    "b": "b, most daughters",
    "L": "L, levels",
    "condition": "proven smaller if",
    "condition_holds": "condition met",
    "size_flat": "weights, flat",
    "size_top_down": "weights, top-down",
    "size_top_down_foretold": "weights, top-down, foretold",
    "cost_flat": "scores per document, flat",
    "cost_top_down": "scores per document, top-down",
    "strategy": "favoured",
    "why": "why",
}


def lines_of(report: TaxonomyReport) -> list[dict[str, Any]]:
    """Each figure that is known, as {what, value}."""
    found = []
    for name, what in WORDS.items():
        value = report[name]
        if value is not None and value != "":
            found.append({"what": what, "value": _said(name, value)})
    return found


def _said(name: str, value: Any) -> Any:
    if name.startswith("bound_"):
        return _bound(value)
    if name == "class_sizes":
        return f"{value.head:.1f} · rank^−{value.exponent:.2f} (r² {value.fit:.2f})"
    if name == "feature_laws":
        laws = (f"level {at}: β {law.exponent:.2f}" for at, law in value.items())
        return ", ".join(laws) or "too few nodes"
    if name == "size_top_down_foretold":
        return round(value)
    return ("yes" if value else "no") if isinstance(value, bool) else value


def _bound(bound: Bound) -> str:
    return (
        f"{bound.total:,.2f} = errors {bound.empirical:.3f} + complexity "
        f"{bound.complexity:,.2f} + confidence {bound.confidence:.3f}"
    )
