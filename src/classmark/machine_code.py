"""The one module that imports numba: kernels as machine code.

A *door* is a kernel that Python calls: optimised, with a wrapper, cached on disk. A
*part* is a kernel within another: it is linked into the door's code and optimised with
it, once; numba by itself would optimise, emit, wrap and cache each part of a chain, and
its callers again with all their parts, at a cost that grows with the chain's square.
"""

from __future__ import annotations

import hashlib
import pickle  # noqa: TID251, numba's form of machine code: kernel_files.py checks it
import sys
from collections.abc import Callable, Iterator, Mapping
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numba
from llvmlite import ir
from numba.core import types
from numba.core.caching import NullCache
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler, CompileResult
from numba.core.registry import CPUDispatcher
from numba.core.serialize import dumps
from numba.extending import intrinsic

from classmark import kernel_files
from classmark.progress import working

OPTIONS = {"nopython": True, "nogil": True, "boundscheck": False}
NO_WRAPPERS = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}


class PartLibrary(JITCodeLibrary):  # type: ignore[misc]
    """Code to be linked into a door, which optimises it together with its own."""

    codegen = SimpleNamespace(set_env=lambda _name, _environment: None)

    def _optimize_final_module(self) -> None:
        """Leave that to the door."""

    def _finalize_final_module(self) -> None:
        """Emit nothing."""
        self._finalize_dynamic_globals()
        self._finalized = True


class PartCompiler(Compiler):  # type: ignore[misc]
    """numba's compiler, into a ``PartLibrary``."""

    def __init__(self, typing: Any, target: Any, _library: Any, *rest: Any) -> None:
        super().__init__(typing, target, PartLibrary(target.codegen(), "part"), *rest)


class KernelPart(CPUDispatcher):  # type: ignore[misc]
    """A kernel within another: literals are numbers, whole numbers come as int64.

    So calls with 0, with a column of type uint32 and with a count use the same code.
    options : of numba, beside the usual ones.
    """

    def __init__(
        self, function: Callable[..., Any], options: Mapping[str, Any]
    ) -> None:
        chosen = {**OPTIONS, **NO_WRAPPERS, **options}
        super().__init__(function, targetoptions=chosen, pipeline_class=PartCompiler)
        self.is_whole = [a in {"int", int} for a in function.__annotations__.values()]

    def get_call_template(self, args: Any, kws: Any) -> Any:
        """Choose the code for arguments of the types ``args``."""
        plain = [types.unliteral(a) for a in args]
        for at, whole in enumerate(self.is_whole[: len(plain)]):
            if whole and isinstance(plain[at], types.Integer):
                plain[at] = types.int64
        return super().get_call_template(plain, kws)


class Door(CPUDispatcher):  # type: ignore[misc]
    """A kernel that Python calls, with the types that are declared for it."""

    def __init__(
        self, name: str, function: Callable[..., Any], declared: list[str], cache: Path
    ) -> None:
        super().__init__(function, targetoptions=dict(OPTIONS))
        self.kernel, self.declared = name, declared
        folder = kernel_files.own_folder(cache)
        if folder is not None:
            self._cache = CachedCode(name, function, folder)

    def compile(self, sig: Any) -> Any:
        """Compile for arguments of the types ``sig``, or read it from the cache."""
        self.check(sig)
        with working(f"compiling {self.kernel}, once per version"):
            return super().compile(sig)

    def unchecked(self) -> Any:
        """Return the machine code of the one declared signature."""
        (declared,) = self.declared
        sig = tuple(parse_types(declared))
        self.compile(sig)
        return self.overloads[sig].entry_point

    def check(self, sig: Any) -> None:
        """Refuse dtypes that are not declared."""
        signature = " ".join(type_name(t) for t in sig)
        if _dtypes(signature) not in map(_dtypes, self.declared):
            raise TypeError(
                f"the kernel {self.kernel} is called with the types\n  {signature}\n"
                "but kernels.json declares\n  " + "\n  ".join(self.declared)
            )


class CachedCode(NullCache):  # type: ignore[misc]
    """The machine code of a door on disk, one file per signature.

    numba's own cache reads files unchecked, and an index of them, which two processes
    that compile two signatures at once leave with one's name for the other's code.
    """

    def __init__(self, name: str, function: Callable[..., Any], folder: Path) -> None:
        self.name, self.folder = name, folder
        self.code = function.__code__.co_code

    def path(self, sig: Any, codegen: Any) -> Path:
        """Return the file of a signature, for this machine, Python and numba."""
        made_by = numba.__version__, sys.implementation.cache_tag, codegen.magic_tuple()
        digest = hashlib.blake2b(repr((sig, made_by)).encode(), digest_size=8)
        digest.update(self.code)
        return self.folder / f"{self.name}.{digest.hexdigest()}.code"

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Return the machine code of a signature; None if it is to be compiled."""
        target_context.refresh()
        code = kernel_files.read(self.path(sig, target_context.codegen()))
        if code is None:
            return None
        try:
            parts = pickle.loads(code)  # noqa: S301, this user wrote it, to the byte
        except (ImportError, AttributeError):  # a class of its arguments has moved
            return None
        return CompileResult._rebuild(target_context, *parts)  # noqa: SLF001

    def save_overload(self, sig: Any, data: Any) -> None:
        """Write the machine code of a signature."""
        code = dumps(data._reduce())  # noqa: SLF001
        kernel_files.write(self.path(sig, data.codegen), code)


@intrinsic  # type: ignore[untyped-decorator]
def prefetch(_typing: Any, array: Any, at: Any) -> Any:
    """The processor is told that it will need array[at] soon; nothing is read."""

    def emit(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        data = context.make_array(signature.args[0])(context, builder, args[0]).data
        byte, number = ir.IntType(8).as_pointer(), ir.IntType(32)
        takes = ir.FunctionType(ir.VoidType(), [byte, number, number, number])
        told = builder.module.declare_intrinsic("llvm.prefetch", [byte], takes)
        place = builder.bitcast(builder.gep(data, [args[1]]), byte)
        to_read, often, data_cache = number(0), number(3), number(1)
        builder.call(told, [place, to_read, often, data_cache])
        return context.get_dummy_value()

    return types.none(array, at), emit


def _dtypes(names: str) -> str:
    """The types without what the owner of an array decides.

    That is float32 or float64, read only or not, and the layout.
    """
    for owned, common in (("!", ""), ("]A", "]"), ("]F", "]"), ("f4", "f8")):
        names = names.replace(owned, common)
    return names


def type_name(type_: Any) -> str:
    """Name a numba type in a word: ``f4[,]`` is a table of float32, ``!`` read only.

    A layout other than C is named, too: ``i8[,]A``.
    """
    if isinstance(type_, types.Array):
        flags = ("" if type_.layout == "C" else type_.layout) + "!" * (
            not type_.mutable
        )
        return f"{type_name(type_.dtype)}[{',' * (type_.ndim - 1)}]{flags}"
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


def parse_types(names: str) -> list[Any]:
    """Read the types that ``type_name`` has named.

    >>> parse_types("f4[,] (i8 u1[]!)")[0]
    Array(float32, 2, 'C', False, aligned=True)
    """
    return list(_parsed(iter(names.replace("(", " ( ").replace(")", " ) ").split())))


def _parsed(words: Iterator[str]) -> Iterator[Any]:
    """Yield the types up to the end of the words, or of the tuple."""
    cls = None
    for word in words:
        if word == ")":
            return
        if word == "(":
            parts = tuple(_parsed(words))
            yield types.NamedTuple(parts, cls) if cls else types.Tuple(parts)
            cls = None
        elif "." in word:
            room, _, name = word.rpartition(".")
            cls = getattr(import_module(room), name)
        else:
            yield _type(word)


def _type(word: str) -> Any:
    """Read one type that is not a tuple."""
    if "[" in word:
        dtype, _, rest = word.partition("[")
        shape, _, flags = rest.partition("]")
        layout, dims = flags.rstrip("!") or "C", shape.count(",") + 1
        return types.Array(_type(dtype), dims, layout, readonly=flags.endswith("!"))
    if word == "b1":
        return types.boolean
    kind = {"i": "int", "u": "uint", "f": "float"}[word[0]]
    return getattr(types, f"{kind}{8 * int(word[1:])}")
