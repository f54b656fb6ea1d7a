"""Write docs/commands.md from the commands: ``python docs/make_commands.py``."""

from __future__ import annotations

from pathlib import Path

import typer
from typer.testing import CliRunner

from classmark.cli.main import app

HEAD = """# Commands

Every command that prints a table takes `--json`. Tables fit the terminal, or 100
columns where the output is not one: what does not fit is named below the table, and
`--all` shows every column and whole texts. A user's mistake is one line on standard
error and exit code 2. The project is the current directory, `--project DIR`,
or the environment variable `CLASSMARK_PROJECT`.
"""


def pages() -> str:
    """The text of docs/commands.md."""
    root = typer.main.get_command(app)
    parts = [HEAD]
    for words in _paths(root, ()):
        shown = CliRunner().invoke(
            app, [*words, "--help"], prog_name="classmark", terminal_width=88
        )
        parts.append(f"## {' '.join(words)}\n\n```text\n{shown.output.strip()}\n```\n")
    return "\n".join(parts)


def _paths(command, before):  # noqa: ANN001, ANN202, typer's own classes
    for name, inner in sorted(command.commands.items()):
        if hasattr(inner, "commands"):
            yield from _paths(inner, (*before, name))
        else:
            yield (*before, name)


if __name__ == "__main__":
    (Path(__file__).parent / "commands.md").write_text(pages(), encoding="utf-8")
