"""Where are the files of a known collection?"""

from __future__ import annotations

import os
from pathlib import Path

from classmark.problems import Mistake

VARIABLE = "CLASSMARK_DATA"


def user_cache() -> Path:
    """Where ``classmark data get`` puts collections."""
    home = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return Path(home) / "classmark" / "data"


def where(name: str, path: Path | str | None = None) -> Path:
    """Find the folder (or file) of a collection.

    Looked at in this order: ``path`` and the folder of that name in it; the folder in
    ``CLASSMARK_DATA``; the folder in the user's cache.
    """
    found = find(name, path)
    if found is not None:
        return found
    places = _places(name, path)
    raise Mistake(
        f"the files of {name!r} are not there (looked in "
        f"{', '.join(str(place) for place in places)}): set {VARIABLE} to the folder "
        f"that holds {name}/, give path=, or run: classmark data get {name}"
    )


def find(name: str, path: Path | str | None = None) -> Path | None:
    """Find the folder (or file) of a collection, or None; see :func:`where`."""
    return next((place for place in _places(name, path) if place.exists()), None)


def _places(name: str, path: Path | str | None) -> list[Path]:
    if path is not None:
        return [Path(path) / name, Path(path)]
    given = os.environ.get(VARIABLE)
    return [*([Path(given) / name] if given else []), user_cache() / name]


def one_of(folder: Path, *patterns: str) -> Path:
    """Return the first file or folder in ``folder`` that fits a pattern.

    Raises a ``Mistake`` naming the folder and the patterns.
    """
    found = any_of(folder, *patterns)
    if found is None:
        raise Mistake(
            f"{folder} holds no {' or '.join(patterns)}: check the folder, or fetch "
            "the collection again with classmark data get"
        )
    return found


def any_of(folder: Path, *patterns: str) -> Path | None:
    """Return the first file or folder in ``folder`` that fits a pattern, or None."""
    for pattern in patterns:
        for path in sorted(folder.glob(pattern)):
            return path
    return None
