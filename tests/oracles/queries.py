"""Queries as they are typed, printed from their trees."""

from classmark.index.query_language import (
    And,
    Belief,
    Clause,
    Group,
    Leaf,
    Not,
    Or,
    Parts,
    Phrase,
)


def printed(node):
    """Return a query that is read as this tree."""
    if isinstance(node, Leaf):
        text = f'"{node.text}"' if isinstance(node, Phrase) else node.text
        return f"{node.field}:{text}" if node.field else text
    if isinstance(node, Not):
        return f"NOT {_wrapped(node.part, Leaf, Not, Belief)}"
    if isinstance(node, Parts):
        inner, sign = ((And,), " OR ") if isinstance(node, Or) else ((), " AND ")
        return sign.join(_wrapped(p, Leaf, Not, Belief, *inner) for p in node.parts)
    if isinstance(node, Clause):
        inner = () if node.sign else (And, Or)
        return f"{node.sign}{_wrapped(node.part, Leaf, Belief, *inner)}"
    if isinstance(node, Group):
        return " ".join(map(printed, node.clauses))
    parts = list(map(printed, node.parts))
    if node.weights:
        numbers = (repr(weight).removesuffix(".0") for weight in node.weights)
        parts = [f"{n} {p}" for n, p in zip(numbers, parts, strict=True)]
    return f"#{node.name}({' '.join(parts)})"


def _wrapped(part, *plain):
    return printed(part) if isinstance(part, plain) else f"({printed(part)})"
