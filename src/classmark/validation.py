"""Checks of the arguments that estimators take."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any

from classmark.problems import Mistake


def require_numbers(
    estimator: Any, *names: str, whole: bool = False, or_none: bool = False
) -> None:
    """Refuse parameters that are not numbers, or not whole ones."""
    kind, wanted = (Integral, "a whole number") if whole else (Real, "a number")
    more = ", or None" if or_none else ""
    for name in names:
        value = getattr(estimator, name)
        if or_none and value is None:
            continue
        if isinstance(value, bool) or not isinstance(value, kind):
            raise Mistake(f"{name} is {value!r}: give {wanted}{more}")
