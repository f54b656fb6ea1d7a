"""Users, passwords, tokens of programs, logging in and out."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from fastapi import APIRouter, Form, Path, Query, Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response
from pydantic import Field

from classmark.language import N_, _, languages
from classmark.problems import refusal
from classmark.web import fields
from classmark.web.guard import auth
from classmark.web.guard.auth import Admin, Caller, Reader
from classmark.web.guard.errors import Missing, RefusedRequest, or_missing
from classmark.web.guard.gate import Doors
from classmark.web.render import THEMES, alone, page, redirect, with_cookie
from classmark.workbench.team import people
from classmark.workbench.team.desk import Desk

pages = APIRouter()
settings_pages = APIRouter(prefix="/settings")
api = fields.calls("users")
tokens_api = fields.calls("tokens")

FormText = Annotated[str, Form(max_length=1024)]
WRONG = N_("Wrong name or password, or the account is closed.")
WRONG_CODE = N_("Wrong code: it changes each time the server starts.")


@pages.get("/enter")
def log_in_page(
    request: Request, onward: Annotated[str, Query(alias="next", max_length=2048)] = "/"
) -> HTMLResponse:
    """Show what is asked for."""
    return _log_in(request, onward)


@pages.post("/enter")
def log_in_form(
    request: Request,
    code: FormText = "",
    name: FormText = "",
    password: FormText = "",
    onward: FormText = "/",
) -> Response:
    """Let somebody in who has the code, or name and password."""
    state, address = request.app.state, _address(request)
    state.tries.check(address, name)
    if code:
        doors: Doors = state.doors
        is_right = bool(doors.code) and auth.same(code, doors.code)
        stamp = auth.stamp_of(code) if is_right else None
    else:
        user = people.find_user(state.desk.store, name)
        user = None if user is None or user.disabled else user
        hashed = None if user is None else user.password
        is_right = auth.fits(
            password, hashed
        )  # takes as long where nobody is called so
        stamp = auth.stamp_of(user.password, user.role) if is_right and user else None
    if stamp is None:
        state.tries.failed(address, name)
        return _log_in(request, onward, _(WRONG_CODE if code else WRONG), name)
    state.sessions.close(request.state.session)
    secret = state.sessions.open("" if code else name, stamp)
    within = RedirectResponse(_within(onward), 303)
    return with_cookie(within, request, state.doors.cookie, secret, days=7)


@pages.post("/leave")
def log_out_form(request: Request) -> Response:
    """End the session."""
    state = request.app.state
    state.sessions.close(request.state.session)
    return with_cookie(redirect("/enter"), request, state.doors.cookie, "", days=0)


def _log_in(
    request: Request, onward: str, wrong: str = "", name: str = ""
) -> HTMLResponse:
    state = request.app.state
    code = bool(state.doors.code)
    users = any(not user.disabled for user in people.users(state.desk.store))
    return alone(
        request, "enter.html", title=_("Log in"), onward=_within(onward), code=code,
        people=users or not code, wrong=wrong, name=name,
        status_code=401 if wrong else 200,
    )  # fmt: skip


def _within(address: str) -> str:
    """An address on this server, whatever was asked for.

    >>> _within("/decide/b1?x=1"), _within("//elsewhere.example"), _within("https://a")
    ('/decide/b1?x=1', '/', '/')
    """
    ours = address.startswith("/") and not address.startswith(("//", "/\\"))
    return address if ours and address.isprintable() else "/"


def _address(request: Request) -> str:
    return request.client.host if request.client else ""


@settings_pages.get("/people")
def people_page(me: Admin) -> HTMLResponse:
    """Show who may log in."""
    users = people.users(me.desk.store)
    return page(
        me, "Settings", "people.html", part="people", users=users, roles=people.ROLES
    )


@settings_pages.post("/people")
def add_user_form(
    me: Admin, name: FormText, role: FormText, password: FormText = ""
) -> RedirectResponse:
    """Add a user."""
    _add_user(me, name, password or None, role)
    return redirect(
        "/settings/people", saved=_("%(name)s: %(role)s", name=name, role=_(role))
    )


@settings_pages.post("/people/change")
def change_user_form(me: Admin, name: FormText, role: FormText) -> RedirectResponse:
    """Give a user another role, or let them log in no more."""
    disabled = role == "none"
    _change_user(me, name, None if disabled else role, disabled=disabled)
    now = _("cannot log in") if disabled else _(role)
    saved = _("%(name)s: %(role)s", name=name, role=now)
    return redirect("/settings/people", saved=saved)


@settings_pages.post("/people/password")
def give_password_form(
    me: Admin, name: FormText, password: FormText
) -> RedirectResponse:
    """Give a user another password; their sessions end."""
    _change_user(me, name, password=password)
    return redirect(
        "/settings/people", saved=_("%(name)s: password changed", name=name)
    )


@settings_pages.get("/me")
def own_page(me: Reader) -> HTMLResponse:
    """Show what is one's own: look, keys, password."""
    return page(
        me, "Settings", "settings_me.html", part="me", themes=THEMES,
        user=me.request.state.user, chosen=me.request.cookies.get("language", ""),
    )  # fmt: skip


@settings_pages.post("/language")
def language_form(me: Reader, language: FormText = "") -> Response:
    """Choose the language of the pages; "" : the project's, or the browser's."""
    if language and language not in languages():
        raise refusal(
            "language is %(language)r: use %(names)s",
            language=language,
            names=", ".join(languages()),
        )
    onward = redirect("/settings/me")
    return with_cookie(onward, me.request, "language", language, days=365)


@settings_pages.post("/theme")
def theme_form(me: Reader, theme: FormText) -> Response:
    """Choose light, dark or the system's."""
    if theme not in THEMES:
        raise refusal(
            "theme is %(theme)r: use %(themes)s",
            theme=theme,
            themes=", ".join(THEMES),
        )
    return with_cookie(redirect("/settings/me"), me.request, "theme", theme, days=365)


@settings_pages.post("/me/password")
def own_password_form(
    me: Reader, old: FormText, password: FormText
) -> RedirectResponse:
    """Change one's own password; one logs in again."""
    _change_own_password(me, me.request.state.user, old, password)
    return redirect("/enter")


@settings_pages.get("/tokens")
def tokens_page(me: Admin) -> HTMLResponse:
    """Show the tokens, without their secrets."""
    return _tokens(me, None)


@settings_pages.post("/tokens")
def new_token_form(
    me: Admin,
    user: FormText,
    role: FormText,
    label: FormText = "",
    days: Annotated[str, Form(max_length=10)] = "",
) -> HTMLResponse:
    """Make a token; the answer shows its secret, this once."""
    try:
        lasts = float(days) if days.strip() else None
    except ValueError:
        raise refusal("days is %(days)r: enter a number", days=days) from None
    with me.desk.writing() as project:
        new = people.add_token(project.store, user, role, label, lasts)
    return _tokens(me, new)


@settings_pages.post("/tokens/revoke")
def revoke_form(
    me: Admin, token: Annotated[str, Form(alias="id", max_length=1024)]
) -> Response:
    """Let a token open nothing from now on."""
    _revoke(me, token)
    return redirect("/settings/tokens", saved=_("token %(id)s revoked", id=token))


def _tokens(me: Caller, new: tuple[str, str] | None) -> HTMLResponse:
    store = me.desk.store
    names = dict.fromkeys([me.name, *(user.name for user in people.users(store))])
    return page(
        me, "Settings", "tokens.html", part="tokens", made=new, roles=people.ROLES,
        tokens=people.tokens(store), names=list(names),
    )  # fmt: skip


def _add_user(me: Caller, name: str, password: str | None, role: str) -> people.Account:
    """Add a user; of a project among several, somebody who has an account already."""
    accounts: Desk | None = me.request.app.state.accounts
    if accounts is None:
        hashed = auth.hash_password(password or "", name)
    else:
        _require_no_password(me, password)
        if people.find_user(accounts.store, name) is None:
            raise refusal(
                "there is no account %(name)r: ask an admin of the server to create it",
                name=name,
            )
        hashed = people.NO_PASSWORD
    with me.desk.writing() as project:
        added = people.add_user(project.store, name, hashed, role)
    me.request.app.state.identity.forget()
    return added


def _require_no_password(me: Caller, password: str | None) -> None:
    """Refuse to choose a password where accounts are not the project's."""
    if password is not None and me.request.app.state.accounts is not None:
        raise refusal("passwords are set by an admin of the server: leave it out")


def _change_user(
    me: Caller,
    name: str,
    role: str | None = None,
    *,
    disabled: bool | None = None,
    password: str | None = None,
) -> None:
    """Change what is not None; refused where nobody would be an admin any more."""
    state = me.request.app.state
    _require_no_password(me, password)
    hashed = None if password is None else auth.hash_password(password, name)
    with me.desk.writing() as project:
        store = project.store
        people.change_user(store, name, password=hashed, role=role, disabled=disabled)
        changes_rights = role is not None or disabled
        by_itself = state.accounts is None and not state.doors.code
        if changes_rights and by_itself and not people.has_admin(store):
            raise refusal("this is the last admin: make somebody else an admin first")
    state.identity.forget()
    if state.accounts is None and (changes_rights or hashed is not None):
        state.sessions.close_all_of(name)


def _change_own_password(me: Caller, name: str, old: str, new: str) -> None:
    """Change the password of who knows the old one; their sessions end."""
    state, address = me.request.app.state, _address(me.request)
    tries, accounts = state.tries, state.accounts or me.desk
    tries.check(address, name)
    user = people.find_user(accounts.store, name)
    if not auth.fits(old, None if user is None else user.password):
        tries.failed(address, name)
        raise RefusedRequest(403, _("The old password is wrong: nothing was changed."))
    hashed = auth.hash_password(new, name)
    with accounts.writing() as project:
        people.change_user(project.store, name, password=hashed)
    state.identity.forget()
    state.sessions.close_all_of(name)


def _revoke(me: Caller, token: str) -> None:
    with me.desk.writing() as project:
        people.revoke(project.store, token)
    me.request.app.state.identity.forget()


Role = Literal["reader", "classifier", "admin"]
Password = Annotated[str, Field(min_length=12, max_length=1024)]
TRIES: fields.Documented = {429: fields.error_answer("too many were wrong")}


class UserBody(fields.Body):
    """A person to be added."""

    name: fields.Id = Field(examples=["ada"])
    password: Password | None = Field(
        None,
        description="left out in a project among several: accounts are the server's",
    )
    role: Role = "classifier"


class UserChange(fields.Body):
    """What is different from now on; what is left out stays."""

    role: Role | None = None
    disabled: bool | None = None
    password: Password | None = Field(None, description="their sessions end")


class PasswordBody(fields.Body):
    """One's own password, as it is and as it is to be."""

    old: Annotated[str, Field(max_length=1024)]
    new: Password


class TokenBody(fields.Body):
    """A token to be made."""

    user: fields.Id = Field(description="under whose name it acts", examples=["ada"])
    role: Role = Field("reader", description="no more than the user's own")
    label: fields.Note = Field("", examples=["the catalogue's nightly run"])
    days: float | None = Field(
        None, gt=0, lt=36_500, description="how long it opens; null: until withdrawn"
    )


class NewToken(fields.CallAnswer):
    """A new token; secret : told once, kept nowhere."""

    id: str
    secret: str


fields.answer(
    people.Account,
    "password",
    model_name="UserAnswer",
    doc="A person, without the password; disabled : may not log in any more.",
)
fields.answer(
    people.AccessToken,
    "digest",
    model_name="TokenAnswer",
    doc="A token, without its secret.",
)
Users = fields.listing("Users", "Everybody, by name.", users=people.Account)
AllTokens = fields.listing(
    "AllTokens", "All tokens, the newest first.", tokens=people.AccessToken
)


@api.put("/me/password", status_code=204, responses=TRIES)
def own_password(me: Reader, body: PasswordBody) -> None:
    """Change your own password; your sessions end, your tokens stay."""
    _change_own_password(me, me.name, body.old, body.new)


@api.get("/users", response_model=Users)
def list_users(me: Admin) -> Any:
    """Who may log in, and as what."""
    return {"users": people.users(me.desk.store)}


@api.post("/users", status_code=201)
def add_user(me: Admin, body: UserBody) -> people.Account:
    """Add a person."""
    return _add_user(me, body.name, body.password, body.role)


@api.patch("/users/{name}", responses=fields.MISSING)
def change_user(me: Admin, name: fields.InPath, body: UserChange) -> people.Account:
    """Give a person another role or password, or let them log in no more."""
    if people.find_user(me.desk.store, name) is None:
        raise Missing(_("there is no user %(name)r: see the list of users", name=name))
    _change_user(me, name, **body.model_dump())
    return people.user_of(me.desk.store, name)


@tokens_api.get("/tokens", response_model=AllTokens)
def list_tokens(me: Admin) -> Any:
    """All tokens, also those that open nothing any more."""
    return {"tokens": people.tokens(me.desk.store)}


@tokens_api.post("/tokens", status_code=201)
def add_token(me: Admin, body: TokenBody) -> NewToken:
    """Make a token; its secret is told this once."""
    with me.desk.writing() as project:
        id_, secret = people.add_token(
            project.store, body.user, body.role, body.label, body.days
        )
    return NewToken(id=id_, secret=secret)


@tokens_api.delete("/tokens/{token}", status_code=204, responses=fields.MISSING)
def revoke_token(
    me: Admin, token: Annotated[str, Path(min_length=1, max_length=100)]
) -> None:
    """Let a token open nothing from now on."""
    with or_missing():
        _revoke(me, token)
