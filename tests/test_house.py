"""The house rules no linter has."""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "src" / "classmark"
MODULES = sorted(PACKAGE.rglob("*.py"))
KERNELS = [path for path in MODULES if path.name in {"kernels.py", "formulas.py"}]
FILE_LINES = 300
BODY_LINES = 40


def named(path):
    return str(path.relative_to(PACKAGE))


def functions(path):
    tree = ast.parse(path.read_text())
    return [
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    ]


def body_lines(function):
    """Lines of the body, the docstring not counted."""
    body = function.body[1:] if ast.get_docstring(function) else function.body
    return 0 if not body else body[-1].end_lineno - body[0].lineno + 1


def is_compiled(function):
    return any(getattr(d, "id", "") == "compiled" for d in function.decorator_list)


@pytest.mark.parametrize("path", MODULES, ids=named)
def test_files_are_short_and_open_with_a_sentence(path):
    source = path.read_text()
    assert source.count("\n") <= FILE_LINES
    opening = ast.get_docstring(ast.parse(source))
    assert opening, "a module opens with one sentence"
    assert opening.split("\n\n")[0].strip()[-1] in ".?!:»"


@pytest.mark.parametrize("path", MODULES, ids=named)
def test_functions_are_short(path):
    long = [f.name for f in functions(path) if body_lines(f) > BODY_LINES]
    assert not long


@pytest.mark.parametrize("path", KERNELS, ids=named)
def test_each_kernel_has_its_oracle(path):
    """A public kernel of room R is written again, slowly, in tests/oracles/R.py."""
    room = path.parent.name
    oracles = ROOT / "tests" / "oracles" / f"{room}.py"
    slow = {f.name for f in functions(oracles)} if oracles.exists() else set()
    fast = {f.name for f in functions(path) if is_compiled(f) and f.name[0] != "_"}
    assert fast <= slow, f"write {sorted(fast - slow)} in {oracles.name}"


@pytest.mark.parametrize(
    "path", [p for p in KERNELS if p.name == "formulas.py"], ids=named
)
def test_formulas_cite_known_references(path):
    known = set(re.findall(r"@\w+\{(\w+),", (ROOT / "references.bib").read_text()))
    for function in functions(path):
        cited = set(re.findall(r"\[(\w+\d\d)\]", ast.get_docstring(function) or ""))
        assert cited, f"{function.name} cites no paper"
        assert cited <= known, f"{cited - known} is not in references.bib"


def test_every_citation_is_in_the_bibliography():
    known = set(re.findall(r"@\w+\{(\w+),", (ROOT / "references.bib").read_text()))
    for path in MODULES:
        cited = set(re.findall(r"\[([A-Z]\w+\d\d)\]", path.read_text()))
        assert cited <= known, f"{named(path)}: {sorted(cited - known)}"


def test_every_room_has_its_heading():
    plan = (ROOT / "ARCHITECTURE.md").read_text()
    rooms = {path.name for path in PACKAGE.iterdir() if (path / "__init__.py").exists()}
    headings = set(re.findall(r"^#+ `(\w+)/`", plan, flags=re.MULTILINE))
    assert rooms <= headings, f"no heading for {sorted(rooms - headings)}"
