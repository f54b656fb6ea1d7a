"""What is wrong with a field of a form or an address, in the words of the page."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from classmark.language import N_, _, general

LABELS = {
    "C": N_("Cost of a wrong order (C)"),
    "act": N_("Action"),
    "category": N_("Category"),
    "damping": N_("Damping"),
    "days": N_("Days"),
    "encoding": N_("Encoding"),
    "error": N_("Risk of an error"),
    "field": N_("Field"),
    "folds": N_("Folds"),
    "format": N_("Format"),
    "hours": N_("Hours"),
    "id": N_("Id"),
    "k": N_("Number of results"),
    "kind": N_("Kind"),
    "label": N_("Label"),
    "language": N_("Language"),
    "learner": N_("Learner"),
    "least": N_("At least this sure"),
    "measure": N_("Measure"),
    "method": N_("Method"),
    "model": N_("Model"),
    "name": N_("Name"),
    "note": N_("Note"),
    "number": N_("Number"),
    "order": N_("Order"),
    "page": N_("Page"),
    "precision": N_("At least this sure"),
    "q": N_("Search"),
    "role": N_("Role"),
    "show": N_("Show"),
    "since": N_("From"),
    "sort": N_("Sort by"),
    "source": N_("Source"),
    "state": N_("State"),
    "target": N_("Share to be found"),
    "text": N_("Text"),
    "top": N_("Number of results"),
    "until": N_("Until"),
    "who": N_("Person"),
    "words": N_("Words"),
}
CHOOSE = N_("%(value)s cannot be chosen: select one from the list")
WHOLE = N_("%(value)s is not a whole number: enter one such as 10")
NUMBER = N_("%(value)s is not a number: enter one such as 0.5")
LEAST, MOST = (
    N_("%(value)s is too small: enter %(limit)s or more"),
    N_("%(value)s is too large: enter %(limit)s or less"),
)
ABOVE, BELOW = (
    N_("%(value)s is too small: enter more than %(limit)s"),
    N_("%(value)s is too large: enter less than %(limit)s"),
)
LONG = N_("this is too long: use at most %(limit)s characters")
SHORT = N_("this is too short: use at least %(limit)s characters")
MANY = N_("there are too many: choose at most %(limit)s")
UNREADABLE = N_("%(value)s cannot be used here: correct it")
WORDS = {
    "literal_error": CHOOSE,
    "enum": CHOOSE,
    "bool_parsing": CHOOSE,
    "bool_type": CHOOSE,
    "missing": N_("nothing was entered: fill it in"),
    "int_parsing": WHOLE,
    "int_type": WHOLE,
    "int_from_float": WHOLE,
    "int_parsing_size": N_("%(value)s is too large: enter a smaller number"),
    "float_parsing": NUMBER,
    "float_type": NUMBER,
    "finite_number": NUMBER,
    "greater_than_equal": LEAST,
    "less_than_equal": MOST,
    "greater_than": ABOVE,
    "less_than": BELOW,
    "string_too_long": LONG,
    "string_too_short": SHORT,
    "too_long": MANY,
}  # by the kinds of error that pydantic knows
LONGEST = 60  # characters of a value that are repeated


def wrong_field(error: Mapping[str, Any]) -> str:
    """The field, what is wrong with its value, and what to do.

    error : as pydantic has it.

    >>> wrong_field({"type": "int_parsing", "loc": ("query", "k"), "input": "x"})
    'Number of results: “x” is not a whole number: enter one such as 10'
    """
    names = [part for part in error["loc"][1:] if isinstance(part, str)]
    name = names[0] if names else ""
    about = error.get("ctx", {})
    limits = ("ge", "le", "gt", "lt", "max_length", "min_length")
    limit = next((general(about[key]) for key in limits if key in about), "")
    values = {"value": _quoted(error.get("input")), "limit": limit}
    wrong = _(WORDS.get(str(error["type"]), UNREADABLE)) % values
    if error["type"] == "value_error":  # a check of ours: its message says it all
        wrong = str(about["error"])
    return f"{_(LABELS.get(name, name)) or _('The form')}: {wrong}"


def _quoted(value: object) -> str:
    text = str(value)
    shown = text if len(text) <= LONGEST else f"{text[:LONGEST]}…"
    return _("“%(text)s”", text=shown)
