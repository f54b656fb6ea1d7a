"""How somebody wishes to search, as typed, and what that means to an index."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from classmark.index.feedback import Feedback, feedback_from
from classmark.problems import Mistake

if TYPE_CHECKING:
    from classmark.index.search import Prior

OPTIONS = {
    "model": "--model",
    "fields": "--weight",
    "feedback": "--feedback",
    "prior": "--prior",
    "k": "-k",
}


@dataclass(frozen=True, slots=True)
class Wish:
    """How to search, as typed: the model, its parameters, feedback, a prior.

    parameters : ``name=value`` each;  weights : ``field=number`` each, 1 where not
    given;  feedback : ``rm3`` or ``rm3:terms=10``;  prior :
    ``pagerank`` or ``pagerank:weight``;  ranker : the number of a learned ranker, or
    ``none``; None: the one in service.
    """

    model: str | None = None
    parameters: Sequence[str] = ()
    k: int = 10
    feedback: str | None = None
    prior: str | None = None
    explain: bool = False
    weights: Sequence[str] = ()
    ranker: str | None = None


def options_of(
    fields: Sequence[str], wish: Wish, prior: Prior | None
) -> dict[str, Any]:
    """Return how to search, as ``Index.question`` and ``Index.ask`` take it."""
    options = named_values(wish.parameters, "--set")
    for name in options:
        if name in OPTIONS:
            raise Mistake(f"--set {name}: {name} is no parameter: use {OPTIONS[name]}")
    if wish.weights:
        options["fields"] = _weights(fields, wish.weights)
    if wish.feedback is not None:
        options["feedback"] = feedback_of(wish.feedback)
    if prior is not None:
        options["prior"] = prior
    return options


def named_values(texts: Sequence[str], where: str) -> dict[str, Any]:
    """Read ``name=value`` each: numbers where they are, else words.

    >>> named_values(["k1=0.9", "variant=bm25l"], "--set")
    {'k1': 0.9, 'variant': 'bm25l'}
    """
    found: dict[str, Any] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals or not name.strip() or not value.strip():
            example = "title=2" if where == "--weight" else "k1=0.9"
            raise Mistake(f"{where} {text!r}: write name=value, as in {example}")
        found[name.strip()] = number_in(value.strip())
    return found


def feedback_of(text: str) -> Feedback:
    """Read ``rm3`` or ``rm3:terms=10,documents=5``."""
    name, _, rest = text.partition(":")
    values = named_values(rest.split(",") if rest else (), "--feedback")
    return feedback_from(name, values)


def number_in(text: str) -> float | str:
    """Read a number where there is one, else the word itself."""
    try:
        return int(text) if text.isdecimal() else float(text)
    except ValueError:
        return text


def _weights(fields: Sequence[str], texts: Sequence[str]) -> dict[str, float]:
    named = named_values(texts, "--weight")
    for name, weight in named.items():
        if isinstance(weight, str):
            raise Mistake(f"--weight {name}={weight}: give a number, 0 or more")
    return dict.fromkeys(fields, 1.0) | named
