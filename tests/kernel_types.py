"""Which kernels Python calls, and with which types: makes ``kernels.json`` anew.

    python -m pytest -p kernel_types tests/index tests/rankers …

notes the types of every kernel that a module of the package calls while the tests run,
and adds them to the file; ``--fresh-kernels`` begins with an empty one. Run it after a
kernel was added or its arguments changed, over all tests.
"""

import ast
import json
import os
import re
import sys
from pathlib import Path

import pytest

from classmark import compiled, machine_code

KERNELS = re.compile(r"kernels(_\w+)?")
NOTES = "CLASSMARK_KERNEL_NOTES"  # where processes note what they called


def kernels_called_by_python():
    """The kernels that are named outside ``kernels*.py``."""
    called = set()
    for source in compiled.PACKAGE.rglob("*.py"):
        if not KERNELS.fullmatch(source.stem):
            called |= _kernels_named_in(ast.parse(source.read_text()))
    return called


def _kernels_named_in(tree):
    """Kernels imported by name, and those taken from an imported ``kernels`` module."""
    named, modules = set(), set()
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module:
            room = node.module.removeprefix("classmark.")
            if KERNELS.fullmatch(room.rpartition(".")[2]):
                named |= {f"{room}.{a.name}" for a in node.names}
            modules |= {f"{room}.{a.name}" for a in node.names if _holds_kernels(a)}
    if modules:  # kernels.unite, or getattr(kernels, "unite")
        names = {getattr(n, "attr", getattr(n, "value", "")) for n in ast.walk(tree)}
        words = {
            name for name in names if isinstance(name, str) and name.isidentifier()
        }
        named |= {f"{room}.{word}" for room in modules for word in words}
    return {name for name in named if _is_kernel(name)}


def _holds_kernels(alias):
    return KERNELS.fullmatch(alias.name) is not None


def _is_kernel(name):
    room, _, function = name.rpartition(".")
    source = compiled.PACKAGE / f"{room.replace('.', '/')}.py"
    kernel = re.compile(rf"@(compiled|unchecked)\ndef {function}\(")
    return source.exists() and kernel.search(source.read_text()) is not None


class _Everything(dict):
    """A declaration in which every kernel stands."""

    def get(self, _name):
        return []


def _note(door, signature):
    """Note the types of a kernel that a module of the package calls."""
    frame = sys._getframe()  # noqa: SLF001, whose call is it?
    while frame.f_code.co_filename in OWN or "/numba/" in frame.f_code.co_filename:
        frame = frame.f_back
    if Path(frame.f_code.co_filename).is_relative_to(compiled.PACKAGE):
        types = " ".join(machine_code.type_name(t) for t in signature)
        with Path(os.environ[NOTES]).open("a") as notes:
            notes.write(json.dumps([door.kernel, types]) + "\n")


OWN = {__file__, compiled.__file__, machine_code.__file__}


def pytest_addoption(parser):
    parser.addoption(
        "--fresh-kernels", action="store_true", help="forget the old types"
    )


def pytest_configure(config):
    before = compiled.declared()
    compiled.declared = lambda: before | {"types": _Everything()}
    machine_code.Door.check = _note
    machine_code.Door.unchecked = lambda door: door
    if NOTES not in os.environ:
        notes = Path(str(config.rootpath), ".pytest_cache", "kernels.jsonl")
        notes.parent.mkdir(exist_ok=True)
        notes.write_text("")
        os.environ[NOTES] = str(notes)
        config.stash[WRITER] = {} if config.getoption("--fresh-kernels") else before


WRITER = pytest.StashKey()


def pytest_unconfigure(config):
    if WRITER not in config.stash:
        return
    before = config.stash[WRITER]
    types = {name: set(known) for name, known in before.get("types", {}).items()}
    for line in Path(os.environ[NOTES]).read_text().splitlines():
        name, signature = json.loads(line)
        types.setdefault(name, set()).add(signature)
    write(before.get("demo", {}), types)


def write(demo, types):
    """Write ``kernels.json``: the demo's kernels, and the types of each kernel."""
    called = kernels_called_by_python()
    declared = {name: sorted(types[name]) for name in sorted(called & set(types))}
    compiled.DECLARED.write_text(
        json.dumps({"demo": demo, "types": declared}, indent=1) + "\n"
    )
