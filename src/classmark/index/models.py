"""The retrieval models, their parameters, and the properties of each."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import NamedTuple

from classmark.problems import Mistake


class Parameter(NamedTuple):
    """A number a model takes at query time: its default and where it may lie."""

    default: float
    low: float
    high: float = math.inf
    open_low: bool = False
    open_high: bool = False

    def __contains__(self, value: object) -> bool:
        if not isinstance(value, int | float) or isinstance(value, bool):
            return False
        above = value > self.low if self.open_low else value >= self.low
        below = value < self.high if self.open_high else value <= self.high
        return above and below and math.isfinite(value)

    def __str__(self) -> str:
        least = f"{'above' if self.open_low else 'at least'} {self.low:g}"
        if self.high == math.inf:
            return least
        return f"{least} and {'below' if self.open_high else 'at most'} {self.high:g}"


class Model(NamedTuple):
    """A model: its number in the kernels, its parameters in order, its nature.

    grows : a part never falls when tf grows or the document gets shorter, so that
    bounds of blocks hold.  has_document_part : documents score something of their own.
    """

    name: str
    code: int
    parameters: Mapping[str, Parameter]
    grows: bool = True
    has_document_part: bool = False


_BM25 = {"k1": Parameter(1.2, 0.0), "b": Parameter(0.75, 0.0, 1.0)}
_MU = {"mu": Parameter(2000.0, 0.0, open_low=True)}
_C = {"c": Parameter(1.0, 0.0, open_low=True)}
_LAMBDA = {"lambda": Parameter(0.1, 0.0, 1.0, open_low=True)}
_P = {"p": Parameter(0.5, 0.0, 1.0, open_low=True, open_high=True)}

MODELS: dict[str, Model] = {
    model.name: model
    for model in (
        Model("bm25", 0, _BM25),
        Model("robertson", 1, _BM25),
        Model("atire", 2, _BM25),
        Model("bm25+", 3, _BM25 | {"delta": Parameter(1.0, 0.0)}),
        Model("bm25l", 4, _BM25 | {"delta": Parameter(0.5, 0.0)}),
        Model("bim", 5, _P),
        Model("jm", 6, _LAMBDA),
        Model("dirichlet", 7, _MU, has_document_part=True),
        Model("kl", 8, _MU, has_document_part=True),
        Model("pl2", 9, _C, grows=False),
        Model("inl2", 10, _C),
        Model("dph", 11, {}, grows=False),
        Model("lgd", 12, _C),
        Model("spl", 13, _C),
        Model("cosine", 14, {}, grows=False),
        Model("tf", 15, {}),
        Model("idf", 16, {}),
        Model("tfidf", 17, {}),
        Model("inquery", 18, {}),
    )
}
VARIANTS = {"lucene": "bm25"} | {
    name: name for name in ("robertson", "atire", "bm25+", "bm25l")
}


def resolve(
    name: str, parameters: Mapping[str, float | str]
) -> tuple[Model, tuple[float, ...]]:
    """Return the model of a name and its parameters' values, defaults filled in.

    ``variant=`` of "bm25" is another way to name one of its kin. A trailing underscore
    is left out: ``lambda_`` is λ, as Python keeps the word for itself.

    >>> model, values = resolve("bm25", {"b": 0.3})
    >>> model.code, values
    (0, (1.2, 0.3))
    >>> resolve("bm25", {"variant": "bm25l"})[0].name
    'bm25l'
    """
    overrides = {key.rstrip("_"): value for key, value in parameters.items()}
    if name == "bm25" and "variant" in overrides:
        variant = overrides.pop("variant")
        if variant not in VARIANTS:
            raise Mistake(f"variant is {variant!r}: choose one of {_names(VARIANTS)}")
        name = VARIANTS[str(variant)]
    if name not in MODELS:
        raise Mistake(f"model is {name!r}: choose one of {_names(MODELS)}")
    model = MODELS[name]
    for key, value in overrides.items():
        if key not in model.parameters:
            allowed = _names(model.parameters) or "none"
            raise Mistake(f"{name} has no parameter {key!r}: it takes {allowed}")
        if value not in model.parameters[key]:
            raise Mistake(
                f"{key} of {name} is {value!r}: give a number {model.parameters[key]}"
            )
    values = {key: p.default for key, p in model.parameters.items()} | overrides
    return model, tuple(float(values[key]) for key in model.parameters)


def _names(choices: Mapping[str, object]) -> str:
    return ", ".join(map(repr, choices))
