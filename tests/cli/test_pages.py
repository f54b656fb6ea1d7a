"""Every command is in the table of docs/pages.md, with its page or a reason."""

import re
from pathlib import Path

import typer

from classmark.cli.main import app

DOCS = Path(__file__).parents[2] / "docs"
ROW = re.compile(r"^\| `([a-z -]+)` \| (.+) \|$", re.MULTILINE)
PAGES = (
    "Decide", "Projects", "Inbox", "Taxonomy", "Find by example", "Search", "History",
    "Progress", "Files", "Settings", "none: ",
)  # fmt: skip


def commands(command, before=()):
    for name, inner in command.commands.items():
        if hasattr(inner, "commands"):
            yield from commands(inner, (*before, name))
        else:
            yield " ".join((*before, name))


def test_every_command_has_a_page_or_a_reason():
    rows = ROW.findall((DOCS / "pages.md").read_text(encoding="utf-8"))
    listed = [name for name, _ in rows]
    assert listed == sorted(commands(typer.main.get_command(app)))
    for name, where in rows:
        assert where.startswith(PAGES), name
        assert not where.startswith("none: ") or len(where) > 20, name
