"""Kernels: functions over arrays that are compiled when first called, and cached.

Called from Python a kernel is machine code, made by the first call and cached on disk;
called by another kernel it is a part of that kernel's machine code. numba is imported
by the first call that needs machine code (``classmark.machine_code``).

``kernels.json`` declares the argument types of every kernel that Python calls. A call
with another dtype is an error, so that nothing is compiled twice by accident, and all
can be compiled ahead (``classmark.compiling``). A kernel that is not declared is only
ever a part: called from Python, by a test, it runs as it stands.

numba's cache sees changes of a kernel's own file only; a kernel that calls a formula of
another file would go on with the old formula. So the cache folder is named by a digest
of all ``kernels*.py`` of the package.
"""

from __future__ import annotations

import functools
import hashlib
import json
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import FunctionType, MappingProxyType, SimpleNamespace
from typing import Any, TypeVar, cast

F = TypeVar("F", bound=Callable[..., Any])

PACKAGE = Path(__file__).parent
DECLARED = PACKAGE / "kernels.json"

_running = SimpleNamespace(plain=os.environ.get("NUMBA_DISABLE_JIT", "0") != "0")


def compiled(function: F) -> F:
    """Make a kernel of ``function``: machine code that runs without the GIL.

    ``NUMBA_DISABLE_JIT=1`` leaves it plain Python: for coverage and for line numbers.
    """
    return cast("F", Kernel(function))


def unchecked(function: F) -> F:
    """Make a kernel that is called without a look at its arguments' types.

    For the one call of a query, where the look takes longer than a short query: the
    caller makes the arguments, of exactly the one signature that is declared.
    """
    return cast("F", Kernel(function, is_checked=False))


def reordered(function: F) -> F:
    """Make a part whose sums are taken in whatever order is quickest.

    For the vectors of meaning, which are long and dense: several numbers are added at a
    time. Plain Python adds one by one, so the last digits may differ.
    """
    return cast("F", Kernel(function, options={"fastmath": {"reassoc"}}))


def instruction(function: F) -> F:
    """Make a part that is one instruction of the processor, of ``machine_code``.

    It has the name of the function, which is what plain Python does.
    """
    return cast("F", Instruction(function))


@contextmanager
def plain_kernels() -> Iterator[None]:
    """Run kernels as plain Python within: for work too small to load numba for.

    The results are those of the machine code, to the bit. It holds for the whole
    process, so it is for programs with one thread, such as a command.
    """
    before, _running.plain = _running.plain, True
    try:
        yield
    finally:
        _running.plain = before


def is_plain() -> bool:
    """Whether kernels run as plain Python."""
    return bool(_running.plain)


@functools.cache
def cache_folder() -> Path:
    """Where compiled kernels are kept: one folder per state of the kernel sources."""
    digest = hashlib.blake2b(digest_size=8)
    sources = sorted(PACKAGE.rglob("kernels*.py"))
    for source in (*sources, PACKAGE / "machine_code.py"):
        digest.update(str(source.relative_to(PACKAGE)).encode())
        digest.update(source.read_bytes())
    home = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return Path(home) / "classmark" / "kernels" / digest.hexdigest()


@functools.cache
def declared() -> dict[str, Any]:
    """What ``kernels.json`` says: types of each kernel, and which the demo calls."""
    declaration: dict[str, Any] = json.loads(DECLARED.read_text())
    return declaration


class Kernel:
    """A function over arrays, compiled when it is first called."""

    def __init__(
        self,
        plain: Callable[..., Any],
        *,
        is_checked: bool = True,
        options: Mapping[str, Any] = MappingProxyType({}),
    ) -> None:
        functools.update_wrapper(self, plain)
        self.options = options
        self.plain, self.is_checked = cast("FunctionType", plain), is_checked
        self.name = f"{plain.__module__.removeprefix('classmark.')}.{plain.__name__}"

    def __call__(self, *args: Any) -> Any:
        """Run the machine code, or the function where kernels are plain."""
        return (self.plain if _running.plain else self.door)(*args)

    @functools.cached_property
    def door(self) -> Any:
        """The machine code as Python calls it; of a mere part, the function."""
        types = declared()["types"].get(self.name)
        if types is None:
            return self.plain
        from classmark.machine_code import Door

        door = Door(self.name, self.linked(), types, cache_folder())
        return door if self.is_checked else door.unchecked()

    @functools.cached_property
    def part(self) -> Any:
        """The machine code as another kernel calls it."""
        from classmark.machine_code import KernelPart

        return KernelPart(self.linked(), self.options)

    def linked(self) -> FunctionType:
        """The function, with the kernels it calls as parts of its machine code."""
        plain = self.plain
        names = dict(plain.__globals__)
        for name in plain.__code__.co_names:
            if isinstance(names.get(name), Kernel):
                names[name] = names[name].part
        function = FunctionType(
            plain.__code__, names, plain.__name__, plain.__defaults__
        )
        functools.update_wrapper(function, plain)
        return function


class Instruction(Kernel):
    """An instruction of the processor, in the place of a function."""

    @functools.cached_property
    def part(self) -> Any:
        """The instruction as a kernel calls it."""
        from classmark import machine_code

        return getattr(machine_code, self.plain.__name__)
