"""What a public call takes or returns can be named: it is public, too."""

import ast
import inspect
import sys
import typing

import pytest
from scipy.sparse import csr_matrix

import classmark as cm
from classmark import datasets, measures

ROOMS = {"": cm, "datasets.": datasets, "measures.": measures}
PUBLIC = {
    prefix + name: getattr(room, name)
    for prefix, room in ROOMS.items()
    for name in getattr(room, "__all__", vars(room))
    if not name.startswith("_") and not inspect.ismodule(getattr(room, name))
}

#: Classes that are public as results; what else they can do is for the package itself.
RESULTS = {
    "LiveTextRanker", "NodeLearner", "PruningReport", "Question", "RowSource",
    "ScreeningProgress", "Searcher", "Snapshot", "SpreadSearcher", "StoredField",
    "TaxonomyReport", "TextRanker",
}  # fmt: skip


def calls_of(value):
    """The functions that users of a public name call."""
    if inspect.isfunction(value):
        yield value
    if not inspect.isclass(value):
        return
    for name, member in inspect.getmembers(value):
        if not name.startswith("_") or name in {"__init__", "__call__"}:
            function = member.fget if isinstance(member, property) else member
            if inspect.isfunction(function) or inspect.ismethod(function):
                yield function


def types_of(function):
    """Our own classes in the annotations of a function."""
    function = inspect.unwrap(function)
    module = sys.modules[function.__module__]
    names = dict(vars(module))
    for node in ast.parse(inspect.getsource(module)).body:
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            exec(compile(ast.Module(node.body, []), "imports", "exec"), names)  # noqa: S102
    names["csr_matrix"] = csr_matrix  # what the name Csr stands for
    hints = typing.get_type_hints(function, names, {"Self": typing.Any})
    waiting = list(hints.values())
    while waiting:
        hint = waiting.pop()
        waiting += hint if isinstance(hint, list) else typing.get_args(hint)
        kind = typing.get_origin(hint) or hint
        if inspect.isclass(kind) and kind.__module__.startswith("classmark."):
            yield kind


@pytest.mark.parametrize("name", sorted(PUBLIC.keys() - RESULTS))
def test_what_a_public_call_takes_or_returns_is_public(name):
    public = {id(value) for value in PUBLIC.values()}
    hidden = {
        f"{kind.__module__}.{kind.__name__}"
        for function in calls_of(PUBLIC[name])
        if function.__module__.startswith("classmark")
        for kind in types_of(function)
        if id(kind) not in public
    }
    assert not hidden
