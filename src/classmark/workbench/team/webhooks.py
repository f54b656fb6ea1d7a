"""Webhooks: what was decided or trained is told to addresses that an admin names.

They are told in the background, signed, and again where they do not answer; a decision
never waits for them. What is still to be told when the server ends is lost.
"""

from __future__ import annotations

import hmac
import json
import logging
import os
import secrets
import time
import urllib.error
import urllib.request
from collections import deque
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from hashlib import sha256
from ipaddress import ip_address
from threading import Event as Flag
from threading import Lock, Thread
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from classmark.language import N_, _
from classmark.problems import refusal
from classmark.storage import sync_folder
from classmark.workbench.store.log import now

if TYPE_CHECKING:
    from pathlib import Path

    from classmark.workbench.team.desk import Desk
    from classmark.workbench.team.events import Event


LOG = logging.getLogger(__name__)
FILE = "webhooks.json"
KINDS = (N_("decided"), N_("trained"))
MOST = 20  # webhooks of a project
LOOK = 0.2  # seconds between two looks at what happened
WAITS = (1.0, 5.0, 30.0, 120.0, 600.0)  # seconds before it is told again
TIMEOUT = 5.0  # seconds that an address has to answer
PENDING = 1000  # that may wait to be told
TROUBLES = 20  # failures that are remembered


@dataclass(frozen=True, slots=True)
class Webhook:
    """An address that is told; secret : what signs the messages."""

    id: str
    address: str
    kinds: tuple[str, ...]
    secret: str
    added: str
    by: str


@dataclass(frozen=True, slots=True)
class Delivery:
    """A message to one address; tries : how often it was sent;  due : when to send."""

    hook: Webhook
    kind: str
    body: bytes
    id: str
    tries: int = 0
    due: float = 0.0


@dataclass(frozen=True, slots=True)
class Trouble:
    """A message that was not taken; again : whether it will be sent again."""

    at: str
    address: str
    kind: str
    reason: str
    tries: int
    again: bool


@dataclass(slots=True)
class HookState:
    """How the messages of a webhook fare."""

    sent: int = 0
    failed: int = 0
    last: str = ""


def checked(address: str) -> str:
    """An address that may be told: https, or http on this machine itself.

    >>> checked("http://127.0.0.1:9000/hook")
    'http://127.0.0.1:9000/hook'
    """
    try:
        parts = urlsplit(address.strip())
        _ = parts.port
    except ValueError as problem:
        raise refusal(
            "%(address)r is not an address: %(problem)s",
            address=address,
            problem=problem,
        ) from problem
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise refusal(
            "%(address)r is not an address: enter one that begins with https://",
            address=address,
        )
    if parts.username or parts.password:
        raise refusal("leave name and password out of the address: messages are signed")
    if parts.scheme == "http" and not _is_loopback(parts.hostname):
        raise refusal(
            "%(hostname)s is another machine: use https:// for it",
            hostname=parts.hostname,
        )
    return address.strip()


def _is_loopback(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def signature(secret: str, body: bytes) -> str:
    """What the header X-Classmark-Signature says of a message.

    >>> signature("s", b"{}")[:15]
    'sha256=143ca8d5'
    """
    return f"sha256={hmac.new(secret.encode(), body, sha256).hexdigest()}"


def read_webhooks(folder: Path) -> list[Webhook]:
    """The webhooks of a project."""
    path = folder / FILE
    if not path.exists():
        return []
    try:
        rows = json.loads(path.read_text(encoding="utf-8"))
        return [Webhook(**{**row, "kinds": tuple(row["kinds"])}) for row in rows]
    except (ValueError, TypeError, KeyError) as problem:
        raise refusal(
            "%(path)s cannot be read (%(problem)s): remove it, and add the "
            "webhooks again",
            path=path,
            problem=problem,
        ) from problem


def _write(folder: Path, hooks: Sequence[Webhook]) -> None:
    """Write them whole or not at all; nobody else may read the secrets."""
    beside = folder / f".{FILE}.{os.getpid()}"
    with os.fdopen(
        os.open(beside, os.O_CREAT | os.O_WRONLY | os.O_TRUNC, 0o600), "w"
    ) as f:
        json.dump([asdict(hook) for hook in hooks], f, indent=1)
        f.flush()
        os.fsync(f.fileno())
    beside.replace(folder / FILE)
    sync_folder(folder)


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """An address that sends elsewhere has not taken the message."""

    def redirect_request(self, *_: object) -> None:
        return None


@dataclass(slots=True)
class Webhooks:
    """The webhooks of a desk, told by one thread of their own."""

    desk: Desk
    troubles: deque[Trouble] = field(default_factory=lambda: deque(maxlen=TROUBLES))
    states: dict[str, HookState] = field(default_factory=dict)
    _hooks: list[Webhook] = field(default_factory=list)
    _pending: deque[Delivery] = field(default_factory=deque)
    _lock: Lock = field(default_factory=Lock)
    _stop: Flag = field(default_factory=Flag)
    _file: tuple[int, int] | None = None
    _thread: Thread | None = None

    @property
    def hooks(self) -> list[Webhook]:
        """All of them."""
        return list(self._hooks)

    def state_of(self, id_: str) -> HookState:
        """How the messages of one fare."""
        return self.states.setdefault(id_, HookState())

    def start(self) -> None:
        """Read them, and begin to listen where there are any."""
        with self._lock:
            self._file = _state_of(self.desk.folder / FILE)
            self._hooks = read_webhooks(self.desk.folder)
            if self._hooks and self._thread is None:
                self._thread = Thread(target=self._run, name="webhooks", daemon=True)
                self._thread.start()

    def look_again(self) -> None:
        """Read them anew, where another process has changed them."""
        if self._file != _state_of(self.desk.folder / FILE):
            self.start()

    def stop(self) -> None:
        """Tell nothing more."""
        self._stop.set()
        if self._thread is not None:
            self._thread.join(TIMEOUT)

    def add(self, address: str, kinds: Sequence[str], by: str) -> Webhook:
        """Tell an address from now on; the secret is shown this once."""
        address = checked(address)
        if not kinds or set(kinds) - set(KINDS):
            raise refusal(
                "no event is chosen: choose %(kinds)s", kinds=" or ".join(KINDS)
            )
        with self._lock:
            if len(self._hooks) >= MOST:
                raise refusal(
                    "there are %(most)s webhooks: remove one first", most=MOST
                )
            chosen = tuple(kind for kind in KINDS if kind in kinds)
            secret = secrets.token_urlsafe(32)
            hook = Webhook(secrets.token_hex(4), address, chosen, secret, now(), by)
            _write(self.desk.folder, [*self._hooks, hook])
        self.start()
        return hook

    def remove(self, id_: str) -> None:
        """Tell an address nothing any more."""
        with self._lock:
            left = [hook for hook in self._hooks if hook.id != id_]
            if len(left) == len(self._hooks):
                raise refusal("this webhook no longer exists: reload the page")
            _write(self.desk.folder, left)
            self._hooks = left
            self._pending = deque(d for d in self._pending if d.hook.id != id_)

    def test(self, id_: str) -> None:
        """Send a message that says nothing happened, as soon as possible."""
        hook = next((each for each in self._hooks if each.id == id_), None)
        if hook is None:
            raise refusal("this webhook no longer exists: reload the page")
        self._put(hook, "test", {"said": "a test"})

    def _put(self, hook: Webhook, kind: str, facts: dict[str, object]) -> None:
        id_ = secrets.token_hex(8)
        about = {"event": kind, "delivery": id_, "project": self.desk.settings.name}
        body = json.dumps(about | {"at": now()} | facts).encode()
        with self._lock:
            if len(self._pending) >= PENDING:
                self._fail(
                    self._pending.popleft(),
                    _("too many messages are waiting"),
                    again=False,
                )
            self._pending.append(Delivery(hook, kind, body, id_))

    def _run(self) -> None:
        with self.desk.events.subscribe(here=True) as listener:
            while not self._stop.wait(LOOK):
                try:
                    while listener:
                        self._hear(listener.popleft())
                    self._send_due()
                except Exception:
                    LOG.exception("webhooks failed")

    def _hear(self, event: Event) -> None:
        if event.kind not in KINDS:
            return
        for hook in self.hooks:
            if event.kind in hook.kinds:
                facts = asdict(event)
                del facts["kind"]
                self._put(hook, event.kind, facts)

    def _send_due(self) -> None:
        with self._lock:
            moment = time.monotonic()
            due = [delivery for delivery in self._pending if delivery.due <= moment]
            self._pending = deque(d for d in self._pending if d.due > moment)
        for delivery in due:
            if self._stop.is_set():
                return
            self._send(delivery)

    def _send(self, delivery: Delivery) -> None:
        hook, state = delivery.hook, self.state_of(delivery.hook.id)
        request = urllib.request.Request(  # noqa: S310 (checked: http or https)
            hook.address,
            delivery.body,
            {
                "Content-Type": "application/json",
                "User-Agent": "classmark-webhook",
                "X-Classmark-Event": delivery.kind,
                "X-Classmark-Delivery": delivery.id,
                "X-Classmark-Signature": signature(hook.secret, delivery.body),
            },
        )
        opener = urllib.request.build_opener(
            urllib.request.ProxyHandler({}), _NoRedirect
        )
        try:
            with opener.open(request, timeout=TIMEOUT) as answer:
                state.sent, state.last = state.sent + 1, f"{answer.status} at {now()}"
        except (OSError, ValueError) as problem:  # HTTPError is an OSError
            self._try_later(delivery, _reason(problem))

    def _try_later(self, delivery: Delivery, reason: str) -> None:
        tries, again = delivery.tries + 1, delivery.tries < len(WAITS)
        delivery = replace(delivery, tries=tries)
        self._fail(delivery, reason, again=again)
        if again:
            due = time.monotonic() + WAITS[tries - 1]
            with self._lock:
                self._pending.append(replace(delivery, due=due))

    def _fail(self, delivery: Delivery, reason: str, *, again: bool) -> None:
        hook = delivery.hook
        trouble = (now(), hook.address, delivery.kind, reason, delivery.tries, again)
        self.troubles.appendleft(Trouble(*trouble))
        if not again:
            self.state_of(hook.id).failed += 1


def _state_of(path: Path) -> tuple[int, int] | None:
    """What changes when a file is written; None: there is none."""
    try:
        facts = path.stat()
    except FileNotFoundError:
        return None
    return facts.st_mtime_ns, facts.st_size


def _reason(problem: Exception) -> str:
    """Why an address did not take a message, in words."""
    if isinstance(problem, urllib.error.HTTPError):
        problem.close()
        return _("it answered %(code)s", code=problem.code)
    if isinstance(problem, urllib.error.URLError):
        return _("not reached (%(problem)s)", problem=problem.reason)
    return _("not reached (%(problem)s)", problem=problem)
