"""What the theory says of six taxonomies, and what pruning them does: two tables.

    python benchmarks/bench_theory.py [SET …]         (needs CLASSMARK_DATA)

Training documents only, as unit vectors of (1 + ln tf) · idf; a quarter of them is held
out. «meta» is learned without the set it is applied to.
"""

from __future__ import annotations

import sys
import time

from train_meta_pruner import SETS, training_part

from classmark.hierarchies.pruning import PruningOptions, pruning_report
from classmark.hierarchies.report import taxonomy_report

POLICIES = {
    "PR-B": {"policy": "bound"},
    "PR-B, bold": {"policy": "bound", "bold": True},
    "PR-M": {"policy": "meta"},
    "PR-M, bold": {"policy": "meta", "bold": True},
    "RN": {"policy": "random"},
}


def described(report) -> dict[str, str]:
    """Pick the figures of a report that the documentation shows."""
    law = report.class_sizes
    foretold = round(report.size_top_down_foretold)
    bounds = [report.bound_flat, report.bound_top_down]
    return {
        "documents": f"{report.documents:,}",
        "features": f"{report.features:,}",
        "categories / leaves K": f"{report.nodes:,} / {report.leaves:,}",
        "depth, roots": f"{report.depth}, {report.roots}",
        "daughters mean / most": f"{report.mean_branching:.1f} / "
        f"{report.max_branching}",
        "single daughters": f"{report.single_daughters:,}",
        "leaves without documents": f"{report.empty_leaves:,}",
        "leaves with ≤ 10 documents": f"{report.rare_leaves:.0%}",
        "class sizes, exponent (r²)": f"{law.exponent:.2f} ({law.fit:.2f})",
        "complexity ratio": f"{report.complexity_ratio:.4f}",
        "held-out error flat / top-down": f"{report.error_flat:.3f} / "
        f"{report.error_top_down:.3f}",
        "error ratio (p)": f"{report.error_ratio:.2f} ({report.chance:.1g})",
        "training error ratio": f"{report.training_error_ratio:.2f}",
        "bound flat / top-down": " / ".join(f"{b.total:,.0f}" for b in bounds),
        "β, b, L": f"{report.beta:.2f}, {report.b}, {report.L}",
        "condition met": "yes" if report.condition_holds else "no",
        "weights flat": f"{report.size_flat:,}",
        "weights top-down / foretold": f"{report.size_top_down:,} / {foretold:,}",
        "scores flat / top-down": f"{report.cost_flat:,} / {report.cost_top_down:.0f}",
        "learner": report.base,
        "favoured": report.strategy,
    }


def show(rows: dict[str, dict[str, str]]) -> None:
    """Print a Markdown table, one column per name."""
    names = list(rows)
    print("| |", " | ".join(names), "|")
    print("|---" * (len(names) + 1) + "|")
    for what in rows[names[0]]:
        print(f"| {what} |", " | ".join(rows[name][what] for name in names), "|")
    print(flush=True)


def main() -> None:
    """Print the tables."""
    chosen = sys.argv[1:] or list(SETS)
    parts = {name: training_part(name) for name in chosen}
    show({name: described(taxonomy_report(*part)) for name, part in parts.items()})
    print(
        "| set | policy | removed | complexity | error before | after | p "
        "| processor seconds |"
    )
    print("|---|---|---|---|---|---|---|---|", flush=True)
    for name, part in parts.items():
        for said, options in POLICIES.items():
            without = name if options["policy"] == "meta" else None
            started = time.process_time()
            found = pruning_report(*part, PruningOptions(without=without, **options))
            seconds = time.process_time() - started
            sizes = f"{found.before.complexity:,} → {found.after.complexity:,}"
            print(
                f"| {name} | {said} | {len(found.removed)} of {found.tried} | {sizes} "
                f"| {found.before.error:.3f} | {found.after.error:.3f} "
                f"| {found.chance.p_value:.2g} | {seconds:.1f} |",
                flush=True,
            )


if __name__ == "__main__":
    main()
