"""The manual's table of limits has every limit of the API's description."""

import re
from pathlib import Path

from classmark.web.serve import create_app

PAGE = Path(__file__).parents[2] / "docs" / "api.md"
KINDS = ("maximum", "exclusiveMaximum", "maxItems", "maxLength", "maxProperties")


def limits(node, name=""):
    """The name and the limit of everything that a description bounds.

    A list of one length is a tuple, whose length is no limit.
    """
    if isinstance(node, list):
        for each in node:
            yield from limits(each, name)
    elif isinstance(node, dict):
        name = node["name"] if "in" in node and "schema" in node else name
        for kind in KINDS:
            fixed = kind == "maxItems" and node.get(kind) == node.get("minItems")
            if isinstance(node.get(kind), int | float) and not fixed:
                yield name, node[kind]
        for key, inner in node.items():
            for own, each in inner.items() if key == "properties" else [(name, inner)]:
                yield from limits(each, own)


def listed():
    """Names in backticks and the number of each row of the table."""
    section = PAGE.read_text().split("## Limits")[1]
    for row in re.findall(
        r"^\| (.+) \| (?:below )?([\d.,]+) \|$", section, re.MULTILINE
    ):
        yield set(re.findall(r"`(\w+)`", row[0])), float(row[1].replace(",", ""))


def test_every_limit_of_the_api_is_in_the_manual(desk):
    told = {(name, number) for names, number in listed() for name in names}
    described = {each for each in limits(create_app(desk).openapi()) if each[0]}
    assert len(described) > 150
    missing = sorted(described - told)
    assert not missing, f"docs/api.md, Limits, does not say {missing}"


def test_the_manual_says_no_limit_that_is_not_there(desk):
    described = set(limits(create_app(desk).openapi()))
    numbers = {number for _, number in described}
    assert {number for _, number in listed()} <= numbers
