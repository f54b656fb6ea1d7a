"""Which documents a query describes, document by document, from their texts."""

from classmark.index.query_language import And, Group, Not, Or, Phrase, Word
from classmark.text import words


def described(analyzer, documents, tree):
    """Return the ids of the documents described, in order; documents: id → fields."""
    said = {id_: holds(analyzer, fields, tree) for id_, fields in documents.items()}
    return [id_ for id_, holds_here in said.items() if holds_here]


def holds(analyzer, fields, node):
    """Say whether a node holds for a document; None where it says nothing."""
    if isinstance(node, Word | Phrase):
        return _leaf(analyzer, fields, node)
    if isinstance(node, Not):
        inner = holds(analyzer, fields, node.part)
        return None if inner is None else not inner
    if isinstance(node, And | Or):
        join = all if isinstance(node, And) else any
        return _joined(join, [holds(analyzer, fields, part) for part in node.parts])
    assert isinstance(node, Group)
    of = {
        sign: [
            holds(analyzer, fields, clause.part)
            for clause in node.clauses
            if clause.sign == sign
        ]
        for sign in ("+", "", "-")
    }
    found, gone = _joined(all, of["+"]), _joined(any, of["-"])
    if found is None:
        found = _joined(any, of[""])
    if gone is None:
        return found
    return found is not False and not gone


def _joined(join, values):
    said = [value for value in values if value is not None]
    return join(said) if said else None


def _leaf(analyzer, fields, node):
    wanted = analyzer.terms(words(node.text))
    if not any(wanted):
        return None
    named = [node.field] if node.field else list(fields)
    texts = [analyzer.terms(words(fields.get(name, ""))) for name in named]
    if isinstance(node, Word):
        return any(set(filter(None, wanted)) <= set(terms) for terms in texts)
    return any(_side_by_side(wanted, terms) for terms in texts)


def _side_by_side(wanted, terms):
    """Look at every start, also before the text: words that are no terms are any."""
    padded = [""] * len(wanted) + terms + [""] * len(wanted)
    return any(
        all(not want or padded[at + i] == want for i, want in enumerate(wanted))
        for at in range(len(terms) + len(wanted))
    )
