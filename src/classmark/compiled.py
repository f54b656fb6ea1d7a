"""The one door to numba: a decorator whose disk cache knows every kernel source.

numba's cache sees changes of the decorated function's own file only; a kernel that
calls a formula of another file would go on with the old formula. So the cache folder is
named by a digest of all ``kernels.py`` and ``formulas.py`` of the package.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, TypeVar, cast

F = TypeVar("F", bound=Callable[..., Any])


@cache
def cache_folder() -> Path:
    """Where compiled kernels are kept: one folder per state of the kernel sources."""
    package = Path(__file__).parent
    sources = sorted([*package.rglob("kernels.py"), *package.rglob("formulas.py")])
    digest = hashlib.blake2b(digest_size=8)
    for source in sources:
        digest.update(str(source.relative_to(package)).encode())
        digest.update(source.read_bytes())
    home = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return Path(home) / "classmark" / "kernels" / digest.hexdigest()


def compiled(function: F) -> F:
    """Compile ``function`` to machine code, without the GIL, cached between processes.

    ``NUMBA_DISABLE_JIT=1`` leaves it plain Python: for coverage and for line numbers.
    """
    import numba
    from numba.core import config as settings

    config: Any = settings

    before = config.CACHE_DIR
    config.CACHE_DIR = str(cache_folder())
    try:
        kernel: Any = numba.njit(cache=True, nogil=True, boundscheck=False)(function)
    finally:
        config.CACHE_DIR = before
    return cast("F", kernel)
