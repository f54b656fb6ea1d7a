"""The command line: verbs, and errors as one line with exit code 2."""

from __future__ import annotations

import os
import sqlite3
import sys
from contextlib import AbstractContextManager, nullcontext
from typing import Annotated, Any, NoReturn

import typer

from classmark import __version__
from classmark.cli import (
    backup,
    branches,
    clicking,
    commands,
    decisions,
    liking,
    links,
    placing,
    progress,
    proposing,
    ranking,
    screening,
    searching,
    serving,
    streaming,
    taxonomies,
    training,
)
from classmark.problems import Mistake
from classmark.progress import shown_by

UsageError: Any = typer.BadParameter.__base__

app = typer.Typer(
    name="classmark",
    help="Put texts in their place: rank categories, find by example, search.",
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
taxonomy = typer.Typer(help="Show, bring in, write or change the taxonomy.")
data = typer.Typer(help="Known public collections.")
rank = typer.Typer(help="Learn how answers are to be ordered.")
users = typer.Typer(help="Who may log in, and as what.")
tokens = typer.Typer(help="Keys for programs that use the calls.")
screen = typer.Typer(help="Read until a share of the relevant documents is found.")
app.command()(commands.init)
app.command("import")(commands.import_)
app.command()(commands.export)
app.add_typer(taxonomy, name="taxonomy")
taxonomy.command()(taxonomies.show)
taxonomy.command("import")(taxonomies.import_)
taxonomy.command()(taxonomies.export)
taxonomy.command()(taxonomies.add)
taxonomy.command()(taxonomies.rename)
taxonomy.command()(taxonomies.describe)
taxonomy.command()(taxonomies.merge)
taxonomy.command()(taxonomies.split)
taxonomy.command()(taxonomies.move)
taxonomy.command()(taxonomies.retire)
taxonomy.command()(branches.report)
taxonomy.command()(branches.prune)
taxonomy.command()(proposing.propose)
taxonomy.command()(proposing.accept)
app.command()(training.train)
app.command()(training.evaluate)
app.command()(streaming.stream)
app.command()(commands.suggest)
app.command()(placing.place)
app.command()(searching.index)
app.command()(searching.search)
app.command()(clicking.click)
app.command()(searching.tune)
app.command()(liking.like)
app.add_typer(rank, name="rank")
rank.command()(ranking.features)
rank.command()(ranking.train)
rank.command()(ranking.evaluate)
rank.command()(ranking.use)
rank.command()(ranking.report)
app.add_typer(screen, name="screen")
screen.command()(screening.start)
screen.command("next")(screening.next_)
screen.command()(screening.mark)
screen.command()(screening.status)
screen.command()(screening.export)
screen.command()(screening.simulate)
app.command()(links.pagerank)
app.command()(decisions.decide)
app.command()(decisions.undo)
app.command()(decisions.history)
app.command()(decisions.queue)
app.command()(decisions.rebuild)
app.command()(progress.progress)
app.command()(progress.agreement)
app.add_typer(data, name="data")
data.command("list")(commands.data_list)
data.command("path")(commands.data_path)
data.command("get")(commands.data_get)
app.command()(commands.reproduce)
app.command()(commands.demo)
app.command()(commands.info)
app.command()(backup.backup)
app.command()(backup.restore)
app.command()(serving.serve)
app.add_typer(users, name="users")
users.command("add")(serving.users_add)
users.command("list")(serving.users_list)
users.command("role")(serving.users_role)
users.command("password")(serving.users_password)
users.command("remove")(serving.users_remove)
app.add_typer(tokens, name="tokens")
tokens.command("add")(serving.tokens_add)
tokens.command("list")(serving.tokens_list)
tokens.command("revoke")(serving.tokens_revoke)


def _version(wanted: bool) -> None:
    if wanted:
        sys.stdout.write(f"classmark {__version__}\n")
        raise typer.Exit


@app.callback()
def root(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True)
    ] = False,
) -> None:
    """Put texts in their place: rank categories, find by example, search."""


def main() -> None:
    """Run a command; a user's mistake is one clear line and exit code 2."""
    try:
        with _progress():
            sys.exit(app(standalone_mode=False))
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(141)
    except (Mistake, OSError, sqlite3.OperationalError) as problem:
        _refuse(str(problem))
    except UsageError as problem:
        command = problem.ctx.command_path if problem.ctx else "classmark"
        _refuse(f"{problem.format_message()} (see {command} --help)")
    except (typer.Abort, KeyboardInterrupt):
        sys.exit(130)


def _refuse(problem: str) -> NoReturn:
    sys.stderr.write(f"classmark: {' '.join(problem.split())}\n")
    sys.exit(2)


def _progress() -> AbstractContextManager[None]:
    if not sys.stderr.isatty():
        return nullcontext()
    from classmark.cli.output import Bars

    return shown_by(Bars())


if __name__ == "__main__":
    main()
