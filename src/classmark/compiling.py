"""Compile kernels before they are called: on all cores, once per version.

``python -m classmark.compiling demo`` compiles what the demo calls, ``… all`` all there
is. Compiled kernels stay on disk (``classmark.compiled.cache_folder``).
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor, as_completed
from importlib import import_module
from multiprocessing import get_context

from classmark.compiled import cache_folder, declared, is_plain
from classmark.progress import track

DEMO, ALL = "demo", "all"


def compile_ahead(group: str, say: Callable[[str], None]) -> None:
    """Compile the kernels of a group, unless they are compiled.

    ``say`` gets one line before it begins.
    """
    done = cache_folder() / f"{group}.done"
    if is_plain() or done.exists():
        return
    kernels = declared()["types"]
    if group == DEMO:
        kernels = {name: [types] for name, types in declared()[DEMO].items()}
    say(f"compiling {len(kernels)} kernels, once per version")
    with ProcessPoolExecutor(os.cpu_count(), get_context("spawn")) as pool:
        jobs = [pool.submit(compile_kernel, *kernel) for kernel in kernels.items()]
        for job in track(as_completed(jobs), "kernels", len(jobs)):
            job.result()
    done.touch()


def compile_kernel(name: str, types: list[str]) -> None:
    """Compile one kernel for arguments of these types, one signature after another."""
    from classmark.machine_code import parse_types

    room, _, function = name.rpartition(".")
    door = getattr(import_module(f"classmark.{room}"), function).door
    for signature in types:
        door.compile(tuple(parse_types(signature)))


def main() -> None:
    """Compile the group that is named on the command line."""
    compile_ahead(sys.argv[1], lambda line: print(line, file=sys.stderr))  # noqa: T201


if __name__ == "__main__":
    main()
