"""Do the claims on flat and top-down classification hold here?"""

from __future__ import annotations

from collections.abc import Iterable

from classmark.experiments.taxonomy_lshtc import Row, Table

SURE = 0.05


def claims(table: Table) -> list[str]:
    """What the paper says of its collections, said of these, each with its values."""
    said = [
        *_lower(table, "FH", "FL"),
        *_lower(table, "PR-B", "FH"),
        *_lower(table, "PR-M", "FH"),
        *_lower(table, "PR-M", "RN"),
    ]
    return [*said, _balance(table), *_costs(table)]


def by_strategy(rows: Iterable[Row]) -> dict[tuple[str, str], dict[str, Row]]:
    """Rows by collection and learner, then by strategy."""
    found: dict[tuple[str, str], dict[str, Row]] = {}
    for row in rows:
        found.setdefault((row.collection, row.base), {})[row.strategy] = row
    return found


def _lower(table: Table, one: str, other: str) -> list[str]:
    """One strategy errs at most as often as another; for pairs with FH, how surely."""
    said = []
    for base in dict.fromkeys(row.base for row in table.rows):
        parts, held = [], 0
        pairs = {
            name: here
            for (name, own), here in by_strategy(table.rows).items()
            if own == base
        }
        for name, here in pairs.items():
            mine, theirs = here[one], here[other]
            held += mine.error <= theirs.error
            chance = mine.sign if other == "FH" else theirs.sign
            sure = f", p = {chance:.2g}" if "FH" in (one, other) else ""
            parts.append(f"{name} {mine.error:.3f} and {theirs.error:.3f}{sure}")
        verdict = "holds" if held == len(pairs) else f"holds on {held} of {len(pairs)}"
        verdict = verdict if held else "does not hold"
        said.append(
            f"{base}, {one} errs no more than {other}: {verdict} ({'; '.join(parts)})"
        )
    return said


def _balance(table: Table) -> str:
    """Flat wins with SVM where categories are balanced: the most even collection."""
    even = max(table.sizes, key=lambda name: table.sizes[name].evenness)
    listed = []
    for name in sorted(table.sizes, key=lambda name: -table.sizes[name].evenness):
        here = by_strategy(table.rows).get((name, "svm"))
        if here is not None:
            gain = here["FH"].error - here["FL"].error
            listed.append((name, table.sizes[name].evenness, gain))
    wins = [name for name, _, gain in listed if gain > 0]
    verdict = "holds" if even in wins else "does not hold"
    told = "; ".join(f"{n} evenness {e:.2f}, FH − FL {g:+.3f}" for n, e, g in listed)
    return (
        f"svm, FL wins where categories are balanced: {verdict} on the most even "
        f"collection; FL errs less on {len(wins)} of {len(listed)} ({told})"
    )


def _costs(table: Table) -> list[str]:
    """FH trains faster, and is smaller, than FL."""
    said = []
    for what in ("seconds", "megabytes"):
        ratios = {
            key: getattr(here["FL"], what) / max(1e-9, getattr(here["FH"], what))
            for key, here in by_strategy(table.rows).items()
        }
        less = sum(ratio > 1 for ratio in ratios.values())
        told = "; ".join(
            f"{name} {base} {ratio:.2g}×" for (name, base), ratio in ratios.items()
        )
        word = "trains faster" if what == "seconds" else "is smaller"
        said.append(f"FH {word} than FL: {less} of {len(ratios)} (FL/FH: {told})")
    return said
