"""The first minutes of a newcomer: a fresh clone, empty caches, the README's commands.

    python benchmarks/first_minutes.py [--uv PATH] [demo] [test]

Times ``make demo`` (to the address or the command that opens the workbench) and ``make
test`` in a clone of this repository's HEAD, with a home folder that holds nothing, and
prints a table for docs/benchmarks.md. Without ``--uv`` packages come by pip.
"""

from __future__ import annotations

import argparse
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).parent.parent
HIDDEN = ("PYTHONDONTWRITEBYTECODE", "VIRTUAL_ENV", "CLASSMARK_DATA")


def main():
    """Clone, make, measure."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--uv", type=Path, help="the uv program; pip without it")
    parser.add_argument("verbs", nargs="*", default=["demo"])
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        clone, home = Path(folder) / "classmark", Path(folder) / "home"
        home.mkdir()
        run("git", "clone", "-q", str(ROOT), str(clone))
        environment = empty_environment(home, options.uv)
        rows = [timed(verb, clone, environment) for verb in options.verbs]
        print("\n| command | seconds | processor seconds |\n|---|---|---|")
        for verb, seconds, busy in rows:
            print(f"| make {verb} | {seconds:.1f} | {busy:.1f} |")
        print(f"\nenvironment: {megabytes(clone / '.venv'):.0f} MB")


def run(*words, **options):
    """Run a program, which must succeed."""
    subprocess.run(words, check=True, **options)  # noqa: S603, our own words


def empty_environment(home, uv):
    """The environment of a user who has just been made, with uv or without."""
    environment = {k: v for k, v in os.environ.items() if k not in HIDDEN}
    paths = [p for p in environment["PATH"].split(":") if not (Path(p) / "uv").exists()]
    if uv:
        (home / "bin").mkdir()
        (home / "bin" / "uv").symlink_to(shutil.which(str(uv)) or uv)
        paths.insert(0, str(home / "bin"))
    caches = {name: str(home / ".cache") for name in ("XDG_CACHE_HOME", "UV_CACHE_DIR")}
    environment |= {
        "HOME": str(home),
        "PATH": ":".join(paths),
        "PYTHON": sys.executable,
    }
    return environment | caches | {"PIP_NO_CACHE_DIR": "1", "CI": "1"}


def timed(verb, clone, environment):
    """Make it; return the verb, its seconds and those of the processors."""
    before, started = children_seconds(), time.perf_counter()
    run("make", verb, cwd=clone, env=environment)
    return verb, time.perf_counter() - started, children_seconds() - before


def children_seconds():
    """Processor seconds of the processes that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def megabytes(folder):
    """What a folder takes on disk."""
    blocks = {f.lstat().st_ino: f.lstat().st_blocks for f in folder.rglob("*")}
    return 512 * sum(blocks.values()) / 2**20


if __name__ == "__main__":
    main()
