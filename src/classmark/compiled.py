"""The one door to numba: kernels are compiled when first called, and cached on disk.

A *kernel* is a Python function over arrays. Called from Python it is machine code, made
by the first call and cached between processes; called by another kernel it is a part of
that kernel's machine code, without a wrapper, an optimisation or a cache entry of its
own. numba is imported by the first call that needs machine code.

``kernels.json`` lists the argument types of every kernel that Python calls. A call with
other types is an error, so that nothing is compiled twice by accident, and everything
can be compiled ahead (``classmark.compiling``).

numba's cache sees changes of the decorated function's own file only; a kernel that
calls a formula of another file would go on with the old formula. So the cache folder is
named by a digest of all ``kernels.py`` and ``formulas.py`` of the package.
"""

from __future__ import annotations

import functools
import hashlib
import json
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FunctionType, SimpleNamespace
from typing import Any, TypeVar, cast

F = TypeVar("F", bound=Callable[..., Any])

PACKAGE = Path(__file__).parent
DECLARED = PACKAGE / "kernels.json"
RECORD = "CLASSMARK_RECORD_KERNELS"  # a file that gains each signature compiled
OPTIONS = {"nopython": True, "nogil": True, "boundscheck": False}
PART = OPTIONS | {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}

_running = SimpleNamespace(plain=os.environ.get("NUMBA_DISABLE_JIT", "0") != "0")


def compiled(function: F) -> F:
    """Make a kernel of ``function``: machine code that runs without the GIL.

    ``NUMBA_DISABLE_JIT=1`` leaves it plain Python: for coverage and for line numbers.
    """
    return cast("F", Kernel(function))


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


@functools.cache
def cache_folder() -> Path:
    """Where compiled kernels are kept: one folder per state of the kernel sources."""
    sources = sorted([*PACKAGE.rglob("kernels.py"), *PACKAGE.rglob("formulas.py")])
    digest = hashlib.blake2b(digest_size=8)
    for source in (*sources, Path(__file__)):
        digest.update(str(source.relative_to(PACKAGE)).encode())
        digest.update(source.read_bytes())
    home = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return Path(home) / "classmark" / "kernels" / digest.hexdigest()


@functools.cache
def declared_types() -> dict[str, list[str]]:
    """The types of the arguments that each kernel may be called with, by its name."""
    types: dict[str, list[str]] = json.loads(DECLARED.read_text())
    return types


class Kernel:
    """A function over arrays, compiled when it is first called."""

    def __init__(self, plain: Callable[..., Any]) -> None:
        functools.update_wrapper(self, plain)
        self.plain = cast("FunctionType", plain)
        self.name = f"{plain.__module__.removeprefix('classmark.')}.{plain.__name__}"

    def __call__(self, *args: Any) -> Any:
        if _running.plain:
            return self.plain(*args)
        return self.door(*args)

    @functools.cached_property
    def door(self) -> Any:
        """The machine code as Python calls it."""
        return _numba().Door(self)

    @functools.cached_property
    def part(self) -> Any:
        """The machine code as another kernel calls it."""
        return _numba().Part(self)

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
        return functools.update_wrapper(function, plain)


@functools.cache
def _numba() -> SimpleNamespace:
    """What a kernel needs of numba, which is imported here and nowhere else."""
    from numba.core import config, types
    from numba.core.codegen import JITCodeLibrary
    from numba.core.compiler import Compiler
    from numba.core.registry import CPUDispatcher

    class PartLibrary(JITCodeLibrary):  # type: ignore[misc]
        """Code to be linked into a kernel, which optimises it together with its own."""

        codegen = SimpleNamespace(set_env=lambda _name, _environment: None)

        def _optimize_final_module(self) -> None:
            """Leave that to the kernel."""

        def _finalize_final_module(self) -> None:
            self._finalize_dynamic_globals()
            self._finalized = True

    class PartCompiler(Compiler):  # type: ignore[misc]
        def __init__(self, typing: Any, target: Any, _library: Any, *rest: Any) -> None:
            library = PartLibrary(target.codegen(), "part")
            super().__init__(typing, target, library, *rest)

    class Part(CPUDispatcher):  # type: ignore[misc]
        """A kernel within another: whole numbers come as int64, literals are numbers.

        So one call with 0, one with a column of type uint32 and one with a count all
        use the same code.
        """

        def __init__(self, kernel: Kernel) -> None:
            super().__init__(
                kernel.linked(), targetoptions=dict(PART), pipeline_class=PartCompiler
            )
            annotations = kernel.plain.__annotations__.values()
            self.whole = [annotation in {"int", int} for annotation in annotations]

        def get_call_template(self, args: Any, kws: Any) -> Any:
            plain = [types.unliteral(a) for a in args]
            for at, whole in enumerate(self.whole[: len(plain)]):
                if whole and isinstance(plain[at], types.Integer):
                    plain[at] = types.int64
            return super().get_call_template(plain, kws)

    class Door(CPUDispatcher):  # type: ignore[misc]
        """A kernel that Python calls, with the types that are declared for it."""

        def __init__(self, kernel: Kernel) -> None:
            super().__init__(kernel.linked(), targetoptions=dict(OPTIONS))
            self.kernel = kernel
            before, config.CACHE_DIR = config.CACHE_DIR, str(cache_folder())
            try:
                self.enable_caching()
            finally:
                config.CACHE_DIR = before

        def compile(self, sig: Any) -> Any:
            _check(self.kernel.name, tuple(sig))
            return super().compile(sig)

    return SimpleNamespace(Door=Door, Part=Part)


def _check(name: str, signature: tuple[Any, ...]) -> None:
    """Refuse types that are not declared for the kernel ``name``."""
    types = " ".join(type_name(t) for t in signature)
    if record := os.environ.get(RECORD):
        with Path(record).open("a") as file:
            file.write(json.dumps([name, types]) + "\n")
    elif DECLARED.exists() and types not in declared_types().get(name, ()):
        raise TypeError(
            f"the kernel {name} is called with arguments of the types\n  {types}\n"
            f"and {DECLARED.name} declares\n  "
            + "\n  ".join(declared_types().get(name, ["nothing"]))
        )


def type_name(type_: Any) -> str:
    """Name a numba type in a word: ``f4[,]`` is a table of float32, ``!`` read only.

    A layout other than C is named, too: ``i8[,]A``.
    """
    from numba.core import types

    if isinstance(type_, types.Array):
        layout = "" if type_.layout == "C" else type_.layout
        shape = "[" + "," * (type_.ndim - 1) + "]"
        return type_name(type_.dtype) + shape + layout + "!" * (not type_.mutable)
    if isinstance(type_, types.BaseTuple):
        cls = getattr(type_, "instance_class", None)
        name = f"{cls.__module__}.{cls.__qualname__}" if cls else ""
        return f"{name}({' '.join(type_name(t) for t in type_)})"
    if isinstance(type_, types.Boolean):
        return "b1"
    if isinstance(type_, types.Number):
        kind = "f" if isinstance(type_, types.Float) else "i" if type_.signed else "u"
        return f"{kind}{type_.bitwidth // 8}"
    return str(type_)
