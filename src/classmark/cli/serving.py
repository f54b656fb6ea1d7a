"""Serve the workbench, and who may use it."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

Folder = Annotated[Path, typer.Argument(metavar="DIR", help="The project.")]
Name = Annotated[str, typer.Argument(metavar="NAME", help="The user's name.")]
Role = Annotated[str, typer.Option(help="reader, classifier or admin.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]
AllColumns = Annotated[
    bool, typer.Option("--all", help="Show every column, and texts in full.")
]


def serve(
    folder: Folder,
    host: Annotated[str, typer.Option(help="The address to listen at.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="The port; 0 takes a free one.")] = 8000,
    name: Annotated[
        list[str] | None,
        typer.Option("--name", help="A host name that browsers reach it by."),
    ] = None,
    certificate: Annotated[
        Path | None, typer.Option(help="A certificate for TLS, in PEM.")
    ] = None,
    key: Annotated[Path | None, typer.Option(help="Its key, in PEM.")] = None,
    behind_proxy: Annotated[
        str,
        typer.Option(metavar="ADDRESS", help="The address of a proxy that speaks TLS."),
    ] = "",
    annif: Annotated[
        bool | None,
        typer.Option(
            "--annif/--no-annif",
            help="Answer Annif's calls (/v1) without a token; usual on this machine "
            "as long as there are no users.",
        ),
    ] = None,
) -> None:
    """Serve the workbench of a project in the browser.

    Open the address that is printed: it carries a code that lets you in. Other
    addresses than this machine's own need users, and TLS or a proxy.
    """
    from classmark.web.serving import Entrance, serve_project

    names = tuple(name or ())
    entrance = Entrance(names, certificate, key, behind_proxy, annif)
    serve_project(folder, host, port, _say_at_once, entrance)


def _say_at_once(text: str) -> None:
    from classmark.cli.output import say

    say(text)
    sys.stdout.flush()


def users_add(folder: Folder, name: Name, role: Role = "classifier") -> None:
    """Add a user; the password is asked for, or read from the input."""
    from classmark.cli.options import open_project
    from classmark.cli.output import say
    from classmark.web.guard.passwords import hash_password
    from classmark.workbench.team.people import add_user

    with open_project(folder) as project:
        user = add_user(project.store, name, hash_password(_password(), name), role)
    say(f"{user.name} may log in, as {user.role}")


def users_list(
    folder: Folder, everything: AllColumns = False, as_json: AsJson = False
) -> None:
    """List the users."""
    from classmark.cli.options import open_project
    from classmark.cli.output import show_table
    from classmark.workbench.results import Table
    from classmark.workbench.team.people import users

    with open_project(folder) as project:
        rows = [
            {
                "name": user.name,
                "role": user.role,
                "added": user.added,
                "may log in": "no" if user.disabled else "yes",
            }
            for user in users(project.store)
        ]
    table = Table("Users", rows, "" if rows else "none yet")
    show_table(table, as_json=as_json, everything=everything)


def users_role(folder: Folder, name: Name, role: Role) -> None:
    """Let a user be a reader, a classifier or an admin."""
    from classmark.cli.options import open_project
    from classmark.cli.output import say
    from classmark.workbench.team.people import set_role

    with open_project(folder) as project:
        set_role(project.store, name, role)
    say(f"{name} is now {role}")


def users_password(folder: Folder, name: Name) -> None:
    """Give a user another password; their sessions end."""
    from classmark.cli.options import open_project
    from classmark.cli.output import say
    from classmark.web.guard.passwords import hash_password
    from classmark.workbench.team.people import set_password, user_of

    with open_project(folder) as project:
        user_of(project.store, name)
        set_password(project.store, name, hash_password(_password(), name))
    say(f"{name} has a new password")


def users_remove(folder: Folder, name: Name) -> None:
    """Let a user log in no more; what they decided keeps their name."""
    from classmark.cli.options import open_project
    from classmark.cli.output import say
    from classmark.workbench.team.people import disable

    with open_project(folder) as project:
        disable(project.store, name)
    say(f"{name} may not log in any more")


def tokens_add(
    folder: Folder,
    name: Name,
    role: Role = "reader",
    label: Annotated[str, typer.Option(help="What it is for.")] = "",
    days: Annotated[float | None, typer.Option(help="How long it opens.")] = None,
) -> None:
    """Make a token for a program; its secret is printed once and kept nowhere."""
    from classmark.cli.options import open_project
    from classmark.cli.output import say
    from classmark.workbench.team.people import add_token

    with open_project(folder) as project:
        id_, secret = add_token(project.store, name, role, label, days)
    say(f"token {id_} acts as {name}, {role}; its secret, shown only now:\n{secret}")


def tokens_list(
    folder: Folder, everything: AllColumns = False, as_json: AsJson = False
) -> None:
    """List the tokens, without their secrets."""
    from classmark.cli.options import open_project
    from classmark.cli.output import show_table
    from classmark.workbench.results import Table
    from classmark.workbench.team.people import tokens

    with open_project(folder) as project:
        rows = [
            {
                "id": token.id,
                "user": token.user,
                "role": token.role,
                "label": token.label,
                "created": token.created,
                "expires": token.expires,
                "opens": "yes" if token.is_open else "no",
            }
            for token in tokens(project.store)
        ]
    table = Table("Tokens", rows, "" if rows else "none yet")
    show_table(table, as_json=as_json, everything=everything)


def tokens_revoke(
    folder: Folder,
    id_: Annotated[str, typer.Argument(metavar="ID", help="As tokens list prints it.")],
) -> None:
    """Let a token open nothing from now on."""
    from classmark.cli.options import open_project
    from classmark.cli.output import say
    from classmark.workbench.team.people import revoke

    with open_project(folder) as project:
        revoke(project.store, id_)
    say(f"token {id_} opens nothing any more")


def _password() -> str:
    """Ask twice at a terminal; else the first line of the input."""
    if sys.stdin.isatty():
        password = typer.prompt("Password", hide_input=True, confirmation_prompt=True)
        return str(password)
    return sys.stdin.readline().rstrip("\r\n")
