"""Projects: several project directories in one folder, and what is done with them."""

from __future__ import annotations

import re
import shutil
from dataclasses import dataclass
from pathlib import Path
from secrets import token_hex

from classmark.problems import Mistake, worded
from classmark.storage import sync_folder, write_whole
from classmark.workbench.categories.outline import id_of_name
from classmark.workbench.files.backup import restore
from classmark.workbench.project import ARCHIVED, STORE, Project, create
from classmark.workbench.settings import FILE, Settings
from classmark.workbench.store.log import now
from classmark.workbench.store.state import LAST
from classmark.workbench.store.store import Store
from classmark.workbench.team.people import change_user, revoke, tokens, users

SERVER = ".server"  # of the folder: accounts, tokens and what was done to projects
TITLE = "Projects"
LONGEST_TITLE = 100
_NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,62}")
DECIDED = "SELECT count(DISTINCT document) FROM labels"
ASIDE = "SELECT count(*) FROM aside WHERE document NOT IN (SELECT document FROM labels)"
DOCUMENTS = "SELECT count(*) FROM documents"
ACTIVE = """
SELECT (SELECT at FROM judgments ORDER BY seq DESC LIMIT 1),
  (SELECT at FROM events ORDER BY seq DESC LIMIT 1)
"""


@dataclass(frozen=True, slots=True)
class Membership:
    """Somebody who may enter a project, and in which role."""

    name: str
    role: str


@dataclass(frozen=True, slots=True)
class ProjectSummary:
    """A project as a list shows it.

    name : of its directory;  title : what people see;  active : when something was last
    decided or changed, "" where that is unknown;  people : who may enter;  archived :
    closed, until it is brought back;  problem : why it cannot be opened, and the
    remedy, or "".
    """

    name: str
    title: str
    documents: int = 0
    decided: int = 0
    waiting: int = 0
    active: str = ""
    people: tuple[Membership, ...] = ()
    archived: bool = False
    problem: str = ""


class Projects:
    """The projects of a folder.

    What is counted of each is kept until its log has grown.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._counted: dict[str, tuple[tuple[int, ...], tuple[int, int, int]]] = {}

    @property
    def server(self) -> Path:
        """Where accounts are, in a store of their own; made where it is missing."""
        place = self.folder / SERVER
        if not place.exists():
            create(place, Settings(TITLE))
        return place

    def names(self) -> list[str]:
        """The directories that are projects, also damaged ones."""
        if (self.folder / FILE).exists():
            raise Mistake(f"{self.folder} is a project itself: name the folder above")
        if not self.folder.is_dir():
            raise Mistake(f"{self.folder} is not a folder: make it, or name another")
        found = (entry.name for entry in self.folder.iterdir() if entry.is_dir())
        return sorted(name for name in found if self.has(name))

    def has(self, name: str) -> bool:
        """Whether a name is that of a project here; never one that leads elsewhere."""
        if not name or name.startswith(".") or Path(name).name != name or "\0" in name:
            return False
        return any((self.folder / name / file).is_file() for file in (FILE, STORE))

    def place(self, name: str) -> Path:
        """The directory of a project."""
        if not self.has(name):
            raise Mistake(
                f"there is no project {name!r}: {worded('see classmark projects list')}"
            )
        return self.folder / name

    def is_archived(self, name: str) -> bool:
        """Whether a project is closed."""
        return (self.place(name) / ARCHIVED).exists()

    def summaries(self) -> list[ProjectSummary]:
        """All projects by title, the archived ones last."""
        found = map(self.summary, self.names())
        return sorted(found, key=lambda p: (p.archived, p.title.casefold(), p.name))

    def summary(self, name: str) -> ProjectSummary:
        """One project; a damaged one with its problem."""
        place, archived = self.place(name), self.is_archived(name)
        if not (place / FILE).exists():
            missing = f"{FILE} is missing: put the file back, or restore a backup"
            return ProjectSummary(name, name, archived=archived, problem=missing)
        try:
            with Project(place) as project:
                documents, decided, aside = self._count(name, project.store)
                times = project.store.run(ACTIVE).fetchone()
                return ProjectSummary(
                    name,
                    project.settings.name,
                    documents,
                    decided,
                    waiting=max(0, documents - decided - aside),
                    active=max(filter(None, times), default=""),
                    people=members(project.store),
                    archived=archived,
                )
        except (Mistake, OSError) as problem:
            return ProjectSummary(name, name, archived=archived, problem=str(problem))

    def _count(self, name: str, store: Store) -> tuple[int, int, int]:
        moment = tuple(store.run(LAST).fetchone())
        before = self._counted.get(name)
        if before is None or before[0] != moment:
            with store.snapshot():
                counts = [
                    int(store.run(sql).fetchone()[0])
                    for sql in (DOCUMENTS, DECIDED, ASIDE)
                ]
            before = self._counted[name] = moment, (counts[0], counts[1], counts[2])
        return before[1]

    def new(self, title: str, name: str = "") -> str:
        """Make an empty project; return the name of its directory.

        name : "" for one derived from the title.
        """
        name = self._new_name(title, name)
        _ = self.server
        create(self.folder / name, Settings(_checked(title)))
        return name

    def rename(self, name: str, title: str, who: str) -> None:
        """Call a project otherwise; its directory and its addresses stay."""
        self.require_open(name)
        with Project(self.place(name)) as project:
            project.change_settings({"name": _checked(title)}, who)

    def require_open(self, name: str) -> None:
        """Refuse what is archived."""
        if self.is_archived(name):
            raise Mistake(f"{name} is archived: bring it back first")

    def archive(self, name: str, who: str) -> None:
        """Close a project: nothing is written to it until it is brought back."""
        self.require_open(name)
        with Project(self.place(name)) as project:
            project.store.note_event("archived", who)
        write_whole(self.place(name) / ARCHIVED, f"{now()} {who}\n")

    def unarchive(self, name: str, who: str) -> None:
        """Bring an archived project back."""
        place = self.place(name)
        (place / ARCHIVED).unlink(missing_ok=True)
        sync_folder(place)
        with Project(place) as project:
            project.store.note_event("unarchived", who)

    def restore(
        self,
        path: Path,
        who: str,
        title: str = "",
        name: str = "",
        *,
        people: bool = False,
    ) -> str:
        """Make a project of a backup; return the name of its directory.

        title : "" for that of the backup;  people : let those in whom it names, and
        their tokens; otherwise an admin lets them in again one by one.
        """
        if name:
            self._new_name("", name)
        beside = self.folder / f".{token_hex(8)}.restored"
        try:
            restore(path, beside)
            with Project(beside) as project:
                title = _checked(title or project.settings.name)
                project.change_settings({"name": title}, who)
                if not people:
                    _let_nobody_in(project.store)
            name = self._new_name(title, name)
            beside.rename(self.folder / name)
        finally:
            shutil.rmtree(beside, ignore_errors=True)
        sync_folder(self.folder)
        return name

    def _new_name(self, title: str, name: str) -> str:
        """A name for a new directory that is safe in paths and addresses."""
        self.folder.mkdir(parents=True, exist_ok=True)
        taken = {entry.name.lower() for entry in self.folder.iterdir()}
        if not name:
            stem = re.sub(r"[^a-z0-9-]+", "-", id_of_name(title, None, ()))
            return id_of_name(stem.strip("-")[:50] or "project", None, taken)
        if not _NAME.fullmatch(name):
            raise Mistake(
                f"the directory {name!r} cannot be used: up to 63 small letters, "
                "digits, - and _, a letter or digit first"
            )
        if name in taken:
            raise Mistake(f"{name} is already there: choose another directory")
        return name


def _checked(title: str) -> str:
    """A title that can be shown."""
    if not title.strip() or not title.isprintable() or len(title) > LONGEST_TITLE:
        raise Mistake(
            f"the name {title[:LONGEST_TITLE]!r} cannot be used: give up to "
            f"{LONGEST_TITLE} visible characters"
        )
    return title.strip()


def accounts_of(folder: Path) -> Path:
    """Where the accounts of a project are, or of the server over a folder of them.

    A folder that holds projects has one, even if no server has run there yet.
    """
    inside = (folder / SERVER).is_dir() or any(folder.glob(f"*/{FILE}"))
    several = not (folder / FILE).exists() and inside
    return Projects(folder).server if several else folder


def members(store: Store) -> tuple[Membership, ...]:
    """Who has a role in a project."""
    return tuple(Membership(u.name, u.role) for u in users(store) if not u.disabled)


def _let_nobody_in(store: Store) -> None:
    """Close the accounts and tokens of a store; they keep their roles."""
    with store.transaction():
        for user in users(store):
            change_user(store, user.name, disabled=True)
        for token in tokens(store):
            revoke(store, token.id)
