"""Commands that serve the workbench, and say who may use it."""

from __future__ import annotations

import sys
from functools import partial
from pathlib import Path

import typer

from classmark.cli.options import ALL, DIR, argument, command, deferred, flag, option
from classmark.workbench.results import Table

with deferred():
    from classmark.web import serve as serving
    from classmark.web import serve_projects as several
    from classmark.web.guard import auth
    from classmark.workbench.project import Project
    from classmark.workbench.team import people

NAME = argument("The user's name.", "NAME")
YES_NO = ("no", "yes")
ROLE = "reader, classifier or admin."
JSON = {"as_json": flag("Print JSON.", "--json")}


@command()
def serve(
    folder: Path = DIR,
    host: str = option("The address to listen at.", "127.0.0.1"),
    port: int = option("The port; 0 takes a free one.", 8000),
    name: tuple[str, ...] = option(
        "A host name that browsers reach it by.", (), "--name"
    ),
    certificate: Path | None = option("A certificate for TLS, in PEM."),
    key: Path | None = option("Its key, in PEM."),
    behind_proxy: str = option(
        "The address of a proxy that speaks TLS.", "", metavar="ADDRESS"
    ),
    annif: bool | None = option(
        "Answer Annif's calls (/v1) without a token; usual on this machine "
        "as long as there are no users.",
        None,
        "--annif/--no-annif",
    ),
    access_log: str = option(
        "A file for one line about each request; - for the output.", "", metavar="FILE"
    ),
    projects: bool = flag("DIR holds projects: serve all of them.", "--projects"),
) -> None:
    """Serve the workbench of a project in the browser, or of all in a folder.

    Open the address that is printed: it carries a code that lets you in. Other
    addresses than this machine's own need users, and TLS or a proxy.
    """
    entrance = serving.Entrance(name, certificate, key, behind_proxy, annif, access_log)
    serve_it = several.serve_projects if projects else serving.serve_project
    serve_it(folder, host, port, partial(print, flush=True), entrance)


@command(accounts=True)
def users_add(
    project: Project = DIR,
    name: str = NAME,
    role: str = option(ROLE, "classifier"),
) -> str:
    """Add a user; the password is asked for, or read from the input."""
    password = auth.hash_password(_password(), name)
    user = people.add_user(project.store, name, password, role)
    return f"{user.name} may log in, as {user.role}"


@command(ALL | JSON, accounts=True)
def users_list(project: Project = DIR) -> Table:
    """List the users."""
    rows = [
        {"name": name, "role": role, "added": added, "may log in": YES_NO[not disabled]}
        for name, _, role, added, disabled in people.users(project.store)
    ]
    return Table("Users", rows, "" if rows else "none yet")


@command(accounts=True)
def users_role(
    project: Project = DIR,
    name: str = NAME,
    role: str = option(ROLE, ...),
) -> str:
    """Let a user be a reader, a classifier or an admin."""
    people.change_user(project.store, name, role=role)
    return f"{name} is now {role}"


@command(accounts=True)
def users_password(project: Project = DIR, name: str = NAME) -> str:
    """Give a user another password; their sessions end."""
    people.user_of(project.store, name)
    hashed = auth.hash_password(_password(), name)
    people.change_user(project.store, name, password=hashed)
    return f"{name} has a new password"


@command(accounts=True)
def users_remove(project: Project = DIR, name: str = NAME) -> str:
    """Let a user log in no more; what they decided keeps their name."""
    people.change_user(project.store, name, disabled=True)
    return f"{name} may not log in any more"


@command(accounts=True)
def tokens_add(
    project: Project = DIR,
    name: str = NAME,
    role: str = option(ROLE, "reader"),
    label: str = option("What it is for.", ""),
    days: float | None = option("How long it opens."),
) -> str:
    """Make a token for a program; its secret is printed once and kept nowhere."""
    id_, secret = people.add_token(project.store, name, role, label, days)
    opens = next(t.role for t in people.tokens(project.store, name) if t.id == id_)
    return f"token {id_} acts as {name}, {opens}; its secret, shown only now:\n{secret}"


@command(ALL | JSON, accounts=True)
def tokens_list(project: Project = DIR) -> Table:
    """List the tokens, without their secrets."""
    names = ("id", "user", "role", "label", "created", "expires")
    rows = [
        dict(zip(names, token, strict=False)) | {"opens": YES_NO[token.is_open]}
        for token in people.tokens(project.store)
    ]
    return Table("Tokens", rows, "" if rows else "none yet")


@command(accounts=True)
def tokens_revoke(
    project: Project = DIR,
    id_: str = argument("As tokens list prints it.", "ID"),
) -> str:
    """Let a token open nothing from now on."""
    people.revoke(project.store, id_)
    return f"token {id_} opens nothing any more"


def _password() -> str:
    """Ask twice at a terminal; else the first line of the input."""
    if sys.stdin.isatty():
        password = typer.prompt("Password", hide_input=True, confirmation_prompt=True)
        return str(password)
    return sys.stdin.readline().rstrip("\r\n")
