"""Put texts in their place: category ranking, query by example and search.

The public names are imported when they are first used, so that ``import classmark``
stays light. ``__init__.pyi`` lists them, for type checkers and for this module.
"""

from importlib import import_module
from typing import Any

__version__ = "0.1.0.dev0"

with open(f"{__file__}i", encoding="utf-8") as stub:  # noqa: PTH123, pathlib is slow
    _HOMES = {w[3]: w[1] for w in map(str.split, stub) if w[:1] == ["from"]}
__all__ = ["__version__", *_HOMES]  # noqa: PLE0604, the names are those of the stub


def __getattr__(name: str) -> Any:
    """Import a public name's home at its first use (PEP 562)."""
    if name not in _HOMES:
        raise AttributeError(f"module 'classmark' has no attribute {name!r}")
    if _HOMES[name] == "classmark":
        return import_module(f"classmark.{name}")
    value = getattr(import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
