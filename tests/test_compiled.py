"""Kernels: declared types, parts and doors, plain Python, compiling ahead."""

import subprocess
import sys

import numpy as np
import pytest

from classmark.compiled import declared, is_plain, plain_kernels
from classmark.compiling import compile_ahead
from classmark.kernels import fill, scores_of
from kernel_types import kernels_called_by_python

needs_machine_code = pytest.mark.skipif(is_plain(), reason="needs compiled kernels")


def test_every_kernel_that_python_calls_is_declared():
    assert set(declared()["types"]) == kernels_called_by_python(), (
        "declare them: python -m pytest -p kernel_types tests"
    )


def test_the_demo_calls_declared_kernels():
    for name, types in declared()["demo"].items():
        assert types in declared()["types"][name]


@needs_machine_code
def test_names_of_types_are_read_as_they_are_written():
    from classmark.machine_code import parse_types, type_name

    for signatures in declared()["types"].values():
        for names in signatures:
            assert " ".join(type_name(t) for t in parse_types(names)) == names


@needs_machine_code
def test_another_dtype_is_refused_with_what_is_declared():
    W, out = np.zeros((2, 3), np.float16), np.zeros(3, np.float16)
    with pytest.raises(TypeError, match=r"scores_of is called with the types\s+u4\[\]"):
        scores_of(np.zeros(1, np.uint32), np.zeros(1, np.float16), W, out)


def test_a_part_runs_as_it_stands():
    assert fill.door is fill.plain


@needs_machine_code
def test_machine_code_and_plain_python_agree_to_the_bit():
    random = np.random.default_rng(0)
    columns = np.arange(7, dtype=np.uint32)
    values, W = random.random(7, np.float32), random.random((7, 5), np.float32)
    fast, slow = np.empty(5, np.float32), np.empty(5, np.float32)
    scores_of(columns, values, W, fast)
    with plain_kernels():
        assert is_plain()
        scores_of(columns, values, W, slow)
    assert not is_plain()
    assert fast.tobytes() == slow.tobytes()


def test_what_is_compiled_is_not_compiled_again(tmp_path, monkeypatch):
    monkeypatch.setattr("classmark.compiling.cache_folder", lambda: tmp_path)
    (tmp_path / "demo.done").touch()
    compile_ahead("demo", pytest.fail)


@needs_machine_code
def test_kernels_are_compiled_ahead(tmp_path, monkeypatch):
    name = "solvers.kernels_groups.compact"
    few = {"demo": {name: declared()["demo"][name]}, "types": declared()["types"]}
    monkeypatch.setattr("classmark.compiling.declared", lambda: few)
    monkeypatch.setattr("classmark.compiling.cache_folder", lambda: tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    lines = []
    compile_ahead("demo", lines.append)
    assert lines == ["compiling 1 kernels, once per version"]
    assert list(tmp_path.rglob("solvers.kernels_groups.compact*.code"))
    assert (tmp_path / "demo.done").exists()


def test_numba_is_not_imported_by_importing_kernels():
    code = "import sys, classmark.solvers.kernels_dual; print('numba' in sys.modules)"
    done = subprocess.run(  # noqa: S603, our own words
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert done.stdout == "False\n"
