"""Compile kernels before they are called: on all cores, once per version.

``python -m classmark.compiling demo`` compiles what the demo calls, ``… all`` all there
is. Compiled kernels stay on disk (``classmark.compiled.cache_folder``).
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections import defaultdict
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from contextlib import contextmanager
from importlib import import_module
from multiprocessing import get_context

from classmark.compiled import cache_folder, declared, is_plain
from classmark.kernel_files import own_folder
from classmark.progress import track

DEMO, ALL = "demo", "all"
NICE = 15  # of work that nobody waits for
HEAVY = {"index.kernels_search", "solvers.kernels_dual", "solvers.kernels_sparse"}


def is_compiled(group: str) -> bool:
    """Whether nothing of a group is left to compile ahead."""
    if is_plain():
        return True
    folder = own_folder(cache_folder())
    return folder is None or any((folder / f"{g}.done").exists() for g in (group, ALL))


def compile_ahead(group: str, say: Callable[[str], None]) -> None:
    """Compile the kernels of a group, unless they are compiled.

    ``say`` gets one line before it begins. Where what tracks it raises an error, what
    was not begun is left.
    """
    folder = own_folder(cache_folder())
    if is_compiled(group) or folder is None:
        return
    kernels = declared()["types"]
    if group == DEMO:
        kernels = {name: [types] for name, types in declared()[DEMO].items()}
    say(f"compiling {len(kernels)} kernels, once per version")
    rooms: dict[str, dict[str, list[str]]] = defaultdict(dict)
    for name, types in kernels.items():
        rooms[name.rpartition(".")[0]][name] = types
    with ProcessPoolExecutor(os.cpu_count(), get_context("spawn")) as pool:
        order = sorted(rooms, key=lambda room: room not in HEAVY)
        jobs = [pool.submit(compile_kernels, room, rooms[room]) for room in order]
        try:
            for job in track(as_completed(jobs), "rooms of kernels", len(jobs)):
                job.result()
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise
    (folder / f"{group}.done").touch()


@contextmanager
def compiling_beside(group: str) -> Iterator[None]:
    """Compile a group in a process of its own, after everything else, while inside."""
    if is_compiled(group):
        yield
        return
    command = [sys.executable, "-m", "classmark.compiling", group, "gently"]
    process = subprocess.Popen(command, stderr=subprocess.DEVNULL)  # noqa: S603
    try:
        yield
    finally:
        process.terminate()
        process.wait()


def compile_kernels(room: str, kernels: dict[str, list[str]]) -> None:
    """Compile the kernels of one module, which share their parts.

    kernels : by name, the types of the arguments, one signature after another.
    """
    from classmark.machine_code import parse_types

    module = import_module(f"classmark.{room}")
    for name, signatures in kernels.items():
        kernel = getattr(module, name.rpartition(".")[2])
        for signature in signatures if kernel.is_checked else ():
            kernel.door.compile(tuple(parse_types(signature)))
        kernel.door  # noqa: B018, an unchecked one is compiled by its door


if __name__ == "__main__":
    if "gently" in sys.argv:
        os.nice(NICE)
    compile_ahead(sys.argv[1], lambda line: print(line, file=sys.stderr))  # noqa: T201
