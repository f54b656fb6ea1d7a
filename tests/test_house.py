"""The house rules no linter has. Each test names every place that breaks its rule."""

import ast
import re
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "src" / "classmark"
MODULES = sorted(PACKAGE.rglob("*.py"))
KERNELS = [p for p in MODULES if re.fullmatch(r"kernels\w*\.py", p.name)]
FILE_LINES = 600
BODY_LINES = 40


def named(path):
    return str(path.relative_to(PACKAGE))


def listed(places):
    """One line for each place: the message of an assertion."""
    return "\n" + "\n".join(places)


@cache
def parsed(path):
    return ast.parse(path.read_text())


def functions(path):
    return [
        node
        for node in ast.walk(parsed(path))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    ]


def body_lines(function):
    """Lines of the body, the docstring not counted."""
    body = function.body[1:] if ast.get_docstring(function) else function.body
    return 0 if not body else body[-1].end_lineno - body[0].lineno + 1


def is_compiled(function):
    names = [getattr(d, "func", d) for d in function.decorator_list]
    return any(getattr(name, "id", "") in {"compiled", "unchecked"} for name in names)


def bibliography():
    return set(re.findall(r"@\w+\{(\w+),", (ROOT / "references.bib").read_text()))


def test_files_are_short():
    lengths = {path: path.read_text().count("\n") for path in MODULES}
    long = [f"{named(p)}: {n} lines" for p, n in lengths.items() if n > FILE_LINES]
    assert not long, listed(long)


def test_every_module_opens_with_a_sentence():
    openings = {path: ast.get_docstring(parsed(path)) or "" for path in MODULES}
    silent = [
        named(path)
        for path, opening in openings.items()
        if not opening or opening.split("\n\n")[0].strip()[-1] not in ".?!:»"
    ]
    assert not silent, listed(silent)


def test_functions_are_short():
    long = [
        f"{named(path)}: {function.name} has {body_lines(function)} lines"
        for path in MODULES
        for function in functions(path)
        if body_lines(function) > BODY_LINES
    ]
    assert not long, listed(long)


def test_each_kernel_has_its_oracle():
    """Every public kernel is written again, slowly, in a file of tests/oracles."""
    missing = []
    oracles = (ROOT / "tests" / "oracles").glob("*.py")
    slow = {function.name for path in oracles for function in functions(path)}
    for path in KERNELS:
        fast = {f.name for f in functions(path) if is_compiled(f) and f.name[0] != "_"}
        missing += [f"{named(path)}: {name}" for name in sorted(fast - slow)]
    assert any(is_compiled(f) for path in KERNELS for f in functions(path))
    assert not missing, listed(missing)


def test_formulas_cite_known_references():
    known, wrong = bibliography(), []
    for path in KERNELS:
        for function in functions(path):
            said = ast.get_docstring(function) or ""
            is_formula = ">>>" in said
            cited = set(re.findall(r"\[(\w+\d\d)\]", said))
            if is_formula and (not cited or cited - known):
                wrong.append(f"{named(path)}: {function.name} cites {sorted(cited)}")
    assert not wrong, listed(wrong)


def test_every_citation_is_in_the_bibliography():
    known = bibliography()
    cited = {p: set(re.findall(r"\[([A-Z]\w+\d\d)\]", p.read_text())) for p in MODULES}
    wrong = [f"{named(p)}: {sorted(c - known)}" for p, c in cited.items() if c - known]
    assert not wrong, listed(wrong)


def test_every_room_has_its_heading():
    plan = (ROOT / "ARCHITECTURE.md").read_text()
    rooms = {path.name for path in PACKAGE.iterdir() if (path / "__init__.py").exists()}
    headings = set(re.findall(r"^#+ `(\w+)/`", plan, flags=re.MULTILINE))
    assert rooms <= headings, f"no heading for {sorted(rooms - headings)}"
