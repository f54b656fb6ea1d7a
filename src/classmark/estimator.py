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

from classmark.problems import Mistake

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


class Estimator:
    """Parameters that can be listed, set, cloned and printed.

    >>> class Shift(Estimator):
    ...     def __init__(self, by=1.0):
    ...         self.by = by
    >>> Shift(by=2.0)
    Shift(by=2.0)
    >>> Shift().set_params(by=3.0).get_params()
    {'by': 3.0}
    """

    #: What scikit-learn shall take it for: "classifier", "transformer" or None.
    _kind: ClassVar[str | None] = None
    #: Whether ``fit`` takes texts instead of a matrix; whether it needs a ``y``.
    _takes_text: ClassVar[bool] = False
    _needs_y: ClassVar[bool] = False

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
            name.endswith("_") and not name.startswith("_") for name in vars(self)
        )

    def _require_fitted(self) -> None:
        """Raise a ``Mistake`` when ``fit`` has not been called."""
        if not self.__sklearn_is_fitted__():
            raise Mistake(f"this {type(self).__name__} is not fitted: call fit first")

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
        return Tags(
            estimator_type="classifier" if is_classifier else None,
            target_tags=TargetTags(required=self._needs_y),
            transformer_tags=TransformerTags() if self._kind == "transformer" else None,
            classifier_tags=ClassifierTags(multi_label=True) if is_classifier else None,
            input_tags=InputTags(
                two_d_array=not self._takes_text,
                sparse=not self._takes_text,
                string=self._takes_text,
            ),
        )
