"""Estimator: the manners scikit-learn expects, without importing scikit-learn.

A subclass stores its keyword parameters as given, under their own names, and writes
what it learns to attributes that end with an underscore. Parameters that have changed
their names have the old ones for a version.
"""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import wraps
from typing import (
    TYPE_CHECKING,
    Any,
    ClassVar,
    ParamSpec,
    Self,
    TypeVar,
    dataclass_transform,
)

import numpy as np

from classmark.arrays import Array, Rows, rows_from
from classmark.problems import Mistake, not_fitted

INPUT = {"n_features_in_", "feature_names_in_", "classes_"}  # not yet learned
TINY = 1e-6  # an objective below counts as this much in a relative gap
T = TypeVar("T")
P = ParamSpec("P")
R = TypeVar("R")


def renamed(**names: str) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Accept old names of keyword arguments for one version, with a FutureWarning.

    >>> @renamed(top="k")
    ... def best(scores, k=1):
    ...     return sorted(scores)[-k:]
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("ignore")
    ...     best([3, 1, 2], top=2)
    [2, 3]
    """

    def accept_old_names(function: Callable[P, R]) -> Callable[P, R]:
        @wraps(function)
        def call(*args: P.args, **kwargs: P.kwargs) -> R:
            for old in names.keys() & kwargs.keys():
                new = names[old]
                if new in kwargs:
                    raise Mistake(f"{old} is the old name of {new}: give {new} alone")
                warn_renamed(function.__qualname__.removesuffix(".__init__"), old, new)
                kwargs[new] = kwargs.pop(old)
            return function(*args, **kwargs)

        call.renamed = names  # type: ignore[attr-defined]
        return call

    return accept_old_names


def warn_renamed(owner: str, old: str, new: str) -> None:
    """Warn whoever calls the caller that a name has changed."""
    warnings.warn(
        f"{owner}: {old} is now {new}; the old name goes with version 0.2",
        FutureWarning,
        stacklevel=3,
    )


@dataclass_transform(eq_default=False, field_specifiers=(field,))
def parameters(**old_names: str) -> Callable[[type[T]], type[T]]:
    """Make the constructor of an estimator: its fields are the parameters, in order.

    Fields whose names end with an underscore are what ``fit`` learns, not parameters.

    old_names : what parameters were called before, see ``renamed``.

    >>> @parameters(step="by")
    ... class Shift(Estimator):
    ...     by: float = 1.0
    >>> Shift(2.0)
    Shift(by=2.0)
    """

    def with_constructor(kind: type[T]) -> type[T]:
        fields = kind.__annotations__
        for name in [name for name in fields if name.endswith("_") and name != "_"]:
            del fields[name]
        made = dataclass(eq=False, repr=False)(kind)
        if old_names:
            made.__init__ = renamed(**old_names)(made.__init__)  # type: ignore[method-assign]
        return made

    return with_constructor


def column_names(X: Any) -> Array | None:
    """The names of a data frame's columns; None where there are none, or numbers."""
    names = getattr(X, "columns", None) if hasattr(X, "__array__") else None
    if names is None or not all(isinstance(name, str) for name in names):
        return None
    return np.array(list(names), object)


def require_names(before: Array | None, now: Array | None) -> None:
    """Refuse columns of other names, or in another order, than those learned from."""
    if before is None or now is None or np.array_equal(before, now):
        return
    unseen, missing = sorted({*now} - {*before}), sorted({*before} - {*now})
    texts = ["The feature names should match those that were passed during fit."]
    for title, names in (
        ("Feature names unseen at fit time:", unseen),
        ("Feature names seen at fit time, yet now missing:", missing),
    ):
        if names:
            texts += [title, *(f"- {name}" for name in names[:NAMED])]
            texts += ["- ..."] * (len(names) > NAMED)
    if not unseen and not missing:
        texts += ["Feature names must be in the same order as they were in fit."]
    raise Mistake("\n".join(texts) + "\n")


NAMED = 5  # of many columns that differ


class Estimator:
    """Parameters that can be listed, set, cloned and printed.

    After ``fit``: n_features_in_ and, of data frames, feature_names_in_.

    >>> class Shift(Estimator):
    ...     def __init__(self, by=1.0):
    ...         self.by = by
    >>> Shift(by=2.0)
    Shift(by=2.0)
    >>> Shift().set_params(by=3.0).get_params()
    {'by': 3.0}
    """

    #: What scikit-learn shall take it for: "classifier", "clusterer", "transformer".
    _kind: ClassVar[str | None] = None
    #: Whether ``fit`` takes texts instead of a matrix; whether it needs a ``y``.
    _takes_text: ClassVar[bool] = False
    _needs_y: ClassVar[bool] = False
    #: Whether a classifier takes several labels for a document, as an indicator.
    _multi_label: ClassVar[bool] = False
    #: Whether values below 0 are refused.
    _positive_only: ClassVar[bool] = False
    #: Whether it learns little of data that are no words, as scikit-learn's samples.
    _poor_score: ClassVar[bool] = False

    n_features_in_: int
    feature_names_in_: Array

    @classmethod
    def _defaults(cls) -> dict[str, Any]:
        """Parameter names in order, with their default values."""
        parameters = list(inspect.signature(cls.__init__).parameters.values())[1:]
        return {parameter.name: parameter.default for parameter in parameters}

    @classmethod
    def from_params(cls, params: Mapping[str, Any]) -> Self:
        """Make one of saved parameters, which may still have old names."""
        names = getattr(cls.__init__, "renamed", {})
        return cls(**{names.get(name, name): value for name, value in params.items()})

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters; with ``deep`` also those of nested estimators."""
        params: dict[str, Any] = {}
        for name in sorted(self._defaults()):
            value = getattr(self, name)
            params[name] = value
            if deep and hasattr(value, "get_params") and not isinstance(value, type):
                inner = value.get_params(deep=True).items()
                params |= {f"{name}__{key}": nested for key, nested in inner}
        return params

    def set_params(self, **params: Any) -> Self:
        """Set parameters by name, those of a nested estimator as ``outer__inner``."""
        defaults = self._defaults()
        for path, value in params.items():
            name, nested, rest = path.partition("__")
            name = self._present_name(name)
            if name not in defaults:
                raise Mistake(
                    f"{type(self).__name__} has no parameter {name!r}: "
                    f"it has {', '.join(defaults) or 'none'}"
                )
            if nested:
                getattr(self, name).set_params(**{rest: value})
            else:
                setattr(self, name, value)
        return self

    def _present_name(self, name: str) -> str:
        """The name of a parameter; for an old name (``renamed``), with a warning."""
        new: str | None = getattr(type(self).__init__, "renamed", {}).get(name)
        if new is None:
            return name
        warn_renamed(type(self).__name__, name, new)
        return new

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            """Read a parameter, or the gap of a solution, by its old name."""
            if name == "gap_" and "duality_gap_" in vars(self):
                warn_renamed(type(self).__name__, "gap_", "duality_gap_, a share")
                return self.duality_gap_ * max(abs(self.objective_), TINY)
            new = name if name.startswith("_") else self._present_name(name)
            if new == name:
                kind = type(self).__name__
                if hasattr(type(self), name) and name.endswith("_"):
                    self._require_fitted()
                raise AttributeError(f"{kind!r} object has no attribute {name!r}")
            return getattr(self, new)

    def __repr__(self) -> str:
        shown = [
            f"{name}={getattr(self, name)!r}"
            for name, default in self._defaults().items()
            if repr(getattr(self, name)) != repr(default)
        ]
        return f"{type(self).__name__}({', '.join(shown)})"

    def __sklearn_is_fitted__(self) -> bool:
        """Whether ``fit`` has left anything behind."""
        return any(
            name.endswith("_") and not name.startswith("_") and name not in INPUT
            for name in vars(self)
        )

    def _require_fitted(self) -> None:
        """Raise ``NotFitted``, a ``Mistake``, when ``fit`` has not been called."""
        if not self.__sklearn_is_fitted__():
            raise not_fitted(type(self).__name__)

    def _taught_rows(self, X: Any, least: int = 1, name: str = "X") -> Rows:
        """The documents to learn from, ``least`` of them; their features are noted.

        name : what the caller's parameter is called;
        n_features_in_;  feature_names_in_ : of a data frame whose columns have names.
        """
        rows, names = rows_from(X, name=name), column_names(X)
        for count, what in zip(rows.shape, ("sample", "feature"), strict=True):
            if count < least and not isinstance(X, Rows):
                raise Mistake(
                    f"{name} has 0 {what}(s) (shape={rows.shape}) while a minimum of 1 "
                    "is required: give documents to learn from"
                )
        self.n_features_in_ = rows.width
        vars(self).pop("feature_names_in_", None)
        if names is not None:
            self.feature_names_in_ = names
        return rows

    def _rows_as_taught(self, X: Any, width: int | None = None) -> Rows:
        """Documents to answer about, with the features that were learned from.

        width : how many that are, by default ``n_features_in_``.
        """
        self._require_fitted()
        require_names(vars(self).get("feature_names_in_"), column_names(X))
        rows, width = rows_from(X), self.n_features_in_ if width is None else width
        if rows.width != width:
            raise Mistake(
                f"X has {rows.width} features, but {type(self).__name__} is expecting "
                f"{width} features as input: use the vectorizer it was fitted with"
            )
        return rows

    def __sklearn_tags__(self) -> Any:
        """Say to scikit-learn (1.6 or later, which alone asks) what this is."""
        from sklearn.utils import (
            ClassifierTags,
            InputTags,
            Tags,
            TargetTags,
            TransformerTags,
        )

        is_classifier = self._kind == "classifier"
        kinds = {"multi_label": self._multi_label, "poor_score": self._poor_score}
        return Tags(
            estimator_type=None if self._kind == "transformer" else self._kind,
            target_tags=TargetTags(required=self._needs_y),
            transformer_tags=TransformerTags() if self._kind == "transformer" else None,
            classifier_tags=ClassifierTags(**kinds) if is_classifier else None,
            input_tags=InputTags(
                two_d_array=not self._takes_text,
                sparse=not self._takes_text,
                positive_only=self._positive_only,
                string=self._takes_text,
            ),
        )
