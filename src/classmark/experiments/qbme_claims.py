"""Which claims of the paper on query by examples hold here, and how surely?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from classmark.arrays import Floats
from classmark.measures import paired_t_test

SURE, ALIKE = 0.005, 0.05
NAMES = {"prbep": "PRBEP", "map": "MAP"}
DEARER = 3.0  # times SVM_ba that SVM_pr may cost
PAPER, TUNED, ONE = ", C = 100", ", tuned", ", C_P = 1"


@dataclass(frozen=True, slots=True)
class Claims:
    """What was measured: method → measure → a value for each topic."""

    found: Mapping[str, Mapping[str, Sequence[float]]]

    def all(self) -> list[str]:
        """Say it of each claim, with the paper's C and with C chosen from P and U."""
        said = [self.above("Rocchio", "Centroid")]
        for cost in (PAPER, TUNED):
            said += [
                self.above(f"SVM_ba{cost}", f"SVM_1c{cost}"),
                self.above(f"SVM_ba{cost}", "Rocchio"),
                self.above(f"SVM_pr{cost}", "Rocchio"),
                self.alike(f"SVM_ba{cost}", f"SVM_pr{cost}"),
                self.alike(f"SVM_1c{cost}", "Centroid"),
                self.sparser(f"SVM_1c{cost}", "Centroid"),
            ]
        said += [
            self.cheap(f"SVM_pr{PAPER}", f"SVM_ba, literal{PAPER}"),
            self.cheap(f"SVM_pr, weighted{ONE}", f"SVM_ba{ONE}"),
            self.cheap(f"SVM_pr, weighted{TUNED}", f"SVM_ba{TUNED}"),
            self.above(f"SVM_pr, weighted{TUNED}", "Rocchio"),
            self.alike(f"SVM_ba{TUNED}", f"SVM_pr, weighted{TUNED}"),
            self.best("auto"),
        ]
        return said

    def above(self, own: str, other: str) -> str:
        """Whether one is surely better than another, one-sided."""
        parts, good = [], True
        for key in NAMES:
            p = paired_t_test(*self._pair(own, other, key), "greater").p_value
            good = good and p < SURE
            parts.append(f"{self._means(own, other, key)} ({_chance(p)})")
        return f"{own} ≫ {other}: {_holds(good)}; {'; '.join(parts)}"

    def alike(self, own: str, other: str) -> str:
        """Whether no difference is seen: two-sided, which is no proof of equality."""
        parts, good = [], True
        for key in NAMES:
            p = paired_t_test(*self._pair(own, other, key)).p_value
            good = good and p >= ALIKE
            parts.append(f"{self._means(own, other, key)} ({_chance(p)})")
        return f"{own} ≈ {other}: {_holds(good)}; {'; '.join(parts)}"

    def sparser(self, own: str, other: str) -> str:
        """Whether one has fewer weights than another."""
        few, many = (self._mean(name, "nonzeros") for name in (own, other))
        return (
            f"{own} is sparser than {other}: {_holds(few < many)}; {few:,.0f} and "
            f"{many:,.0f} weights"
        )

    def cheap(self, own: str, other: str) -> str:
        """Whether one costs at most three times another, in all and topic by topic."""
        a, b = self._pair(own, other, "seconds")
        ratio = float(a.sum() / b.sum())
        each = a / np.maximum(b, 1e-6)
        return (
            f"{own} costs at most {DEARER:g} × {other}: {_holds(ratio <= DEARER)}; "
            f"{ratio:.2f} × in all, median topic {np.median(each):.2f}, worst "
            f"{each.max():.2f}"
        )

    def best(self, own: str) -> str:
        """Whether one is at least as good as every other by MAP, and against whom."""
        others = [name for name in self.found if name != own]
        best = max(others, key=lambda name: self._mean(name, "map"))
        p = paired_t_test(*self._pair(own, best, "map")).p_value
        good = self._mean(own, "map") >= self._mean(best, "map")
        means = self._means(own, best, "map")
        return f"{own} is best: {_holds(good)}; next is {best}, {means} ({_chance(p)})"

    def _pair(self, own: str, other: str, key: str) -> tuple[Floats, Floats]:
        return np.array(self.found[own][key]), np.array(self.found[other][key])

    def _mean(self, name: str, key: str) -> float:
        return float(np.mean(self.found[name][key]))

    def _means(self, own: str, other: str, key: str) -> str:
        a, b = self._mean(own, key), self._mean(other, key)
        return f"{NAMES[key]} {a:.4f} and {b:.4f}"


def _holds(true: bool) -> str:
    return "holds" if true else "does not hold"


def _chance(p: float) -> str:
    return "p < 0.001" if p < 0.001 else f"p = {p:.3f}"
