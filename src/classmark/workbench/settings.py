"""Settings: what ``classmark.toml`` says, read, checked and written."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from classmark.problems import DamagedFolder, Mistake, UnreadableFile

FILE, FORMAT = "classmark.toml", 1
LOGS = ("no", "anonymous", "named")
SCHEMA = re.compile("[a-z][a-z0-9_]{0,62}")


@dataclass(frozen=True, slots=True)
class TextSettings:
    """How texts become terms; ``fields`` empty means all fields."""

    analyzer: str = "words|lower|stop(english)|snowball(english)"
    fields: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class LearningSettings:
    """How terms are weighted and what learns from them.

    loss, C : of the learners plm and loglinear, C 0 for the learner's usual price;
    center : of plm (0: none);  grades : of plm and loglinear, whether labels are all
    "equal", or "layered": primary over secondary.
    strategy : how the tree of categories is used ("auto", "plain", "flat", "top-down"
    or "pruned");  base : what decides at its nodes ("svm", "logistic", "naive-bayes");
    policy : by which a pruned tree loses nodes ("meta", "bound" or "random");  bold :
    whether also where the gain is not sure;
    memory : what the weights may take;  rare : whether close calls between a frequent
    and a rare category are voted on again.
    """

    weighting: str = "log-tfidf"
    min_df: int = 1
    learner: str = "plm"
    loss: str = "dom"
    C: float = 0.0
    center: float = 5.0
    grades: str = "equal"
    strategy: str = "auto"
    base: str = "svm"
    memory: str = "4GB"
    rare: bool = False
    policy: str = "meta"
    bold: bool = False


@dataclass(frozen=True, slots=True)
class SearchSettings:
    """Whether searches and clicks are kept: no, anonymous or named.

    log : what is kept of a search is its time, its words, the ids and scores shown and
    what was opened from them; the user's name if "named".
    """

    log: str = "no"

    def is_logged(self, asked: bool | None = None) -> bool:
        """Whether a search is to be kept: as asked, else as the settings say."""
        return self.log != "no" if asked is None else asked


@dataclass(frozen=True, slots=True)
class StoreSettings:
    """Where documents and decisions are kept: a file here, or a PostgreSQL server.

    url : postgresql://user@host/database, without a password;  schema : the project's
    own part of that database.  Without a url: the file store.sqlite.
    """

    url: str = ""
    schema: str = ""


@dataclass(frozen=True, slots=True)
class Settings:
    """A project's settings."""

    name: str
    text: TextSettings = field(default_factory=TextSettings)
    learning: LearningSettings = field(default_factory=LearningSettings)
    search: SearchSettings = field(default_factory=SearchSettings)
    store: StoreSettings = field(default_factory=StoreSettings)


def read_settings(folder: Path) -> Settings:
    """Read ``classmark.toml``; unknown keys and newer formats are refused."""
    path = folder / FILE
    if not path.is_file():
        raise DamagedFolder(
            f"{folder} is not a Classmark project (it has no {FILE}): "
            f"make one with: classmark init {folder}"
        )
    try:
        found = tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as problem:
        raise UnreadableFile(path, None, f"{problem}: correct the file") from problem
    version = found.pop("format", None)
    if not isinstance(version, int):
        raise UnreadableFile(path, None, "the line 'format = 1' is missing: add it")
    if version > FORMAT:
        raise DamagedFolder(
            f"{path} has format {version}, this program reads up to {FORMAT}: "
            "upgrade classmark"
        )
    return _checked(path, found)


def with_loss(learning: Mapping[str, Any]) -> dict[str, Any]:
    """Learning settings as a mapping; cost and decomposition were loss's old names.

    >>> with_loss({"learner": "plm", "cost": "dis", "decomposition": "domination"})
    {'learner': 'plm', 'loss': 'dis'}
    """
    from classmark.preferences.graph import short_name

    settings = dict(learning)
    cost, decomposition = settings.pop("cost", ""), settings.pop("decomposition", "")
    loss = decomposition if settings.get("learner") == "loglinear" else cost
    return {**settings, "loss": short_name(loss)} if loss else settings


def settings_text(settings: Settings) -> str:
    """The settings as a TOML file with a word of explanation."""
    lines = [
        "# A Classmark project. Edit by hand; unknown keys are refused.",
        f"format = {FORMAT}",
        f"name = {_toml(settings.name)}",
    ]
    for section, explanation in (
        ("text", TextSettings),
        ("learning", LearningSettings),
        ("search", SearchSettings),
        *([("store", StoreSettings)] if settings.store.url else []),
    ):
        first = (explanation.__doc__ or "").splitlines()[0]
        lines += ["", f"[{section}]  # {first}"]
        values = asdict(getattr(settings, section))
        lines += [f"{key} = {_toml(value)}" for key, value in values.items()]
    return "\n".join(lines) + "\n"


def _checked(path: Path, found: dict[str, Any]) -> Settings:
    sections = {
        "text": TextSettings,
        "learning": LearningSettings,
        "search": SearchSettings,
        "store": StoreSettings,
    }
    parts: dict[str, Any] = {}
    for key, value in found.items():
        if key == "name" and isinstance(value, str):
            parts[key] = value
        elif key in sections and isinstance(value, dict):
            values = _present_names(path, value) if key == "learning" else value
            parts[key] = _section(path, key, sections[key], values)
        else:
            known = ", ".join(["name", *sections])
            raise UnreadableFile(
                path, None, f"{key!r} is not a setting here: use {known}"
            )
    if "name" not in parts:
        raise UnreadableFile(path, None, 'the project has no name: add name = "…"')
    settings = Settings(**parts)
    if settings.search.log not in LOGS:
        raise UnreadableFile(
            path,
            None,
            f"[search] log is {settings.search.log!r}: use {', '.join(LOGS)}",
        )
    if problem := problem_of(settings.store):
        raise UnreadableFile(path, None, f"[store] {problem}")
    return settings


def _present_names(path: Path, learning: dict[str, Any]) -> dict[str, Any]:
    if not learning.keys() & {"cost", "decomposition"}:
        return learning
    from classmark.validation import warn_renamed

    warn_renamed(f"{path}, [learning]", "cost or decomposition", "loss")
    return with_loss(learning)


def store_at(url: str, name: str) -> StoreSettings:
    """The place of a project's store on a server, in a schema called like it.

    >>> store_at("postgresql://desk/library", "The shelf, 2").schema
    'the_shelf_2'
    """
    schema = re.sub("[^a-z0-9]+", "_", name.lower()).strip("_")
    if not schema[:1].isalpha():
        schema = f"project_{schema}"
    found = StoreSettings(url, schema[:63])
    if problem := problem_of(found):
        raise Mistake(f"store: {problem}")
    return found


def problem_of(store: StoreSettings) -> str:
    """What is wrong with the place of a store, and the remedy; "": nothing.

    >>> problem_of(StoreSettings("mysql://host/db", "shelf"))
    "url is 'mysql://host/db': begin it with postgresql://"
    """
    if not store.url:
        return "schema is given without a url: remove it" if store.schema else ""
    if not store.url.startswith(("postgresql://", "postgres://")):
        return f"url is {store.url!r}: begin it with postgresql://"
    if urlsplit(store.url).password is not None or "password=" in store.url:
        return (
            "url holds a password: take it out, and give it by PGPASSWORD, ~/.pgpass "
            "or the whole url by CLASSMARK_STORE"
        )
    if not SCHEMA.fullmatch(store.schema):
        return (
            f"schema is {store.schema!r}: use up to 63 small letters, digits and _, "
            "a letter first"
        )
    return ""


def _section(path: Path, name: str, kind: Any, values: dict[str, Any]) -> Any:
    defaults = asdict(kind())
    for key, value in values.items():
        if key not in defaults:
            raise UnreadableFile(
                path, None, f"{key!r} is not a setting of [{name}]: use "
                f"{', '.join(defaults)}",
            )  # fmt: skip
        expected = list if isinstance(defaults[key], tuple) else type(defaults[key])
        fits = isinstance(value, int | float if expected is float else expected)
        if not fits or isinstance(value, bool) is not (expected is bool):
            raise UnreadableFile(
                path, None, f"[{name}] {key} is {value!r}: it is to be a "
                f"{expected.__name__}",
            )  # fmt: skip
    chosen = {k: tuple(v) if isinstance(v, list) else v for k, v in values.items()}
    return kind(**chosen)


def _toml(value: object) -> str:
    """A string, number or list of strings in TOML, which shares JSON's form of them."""
    if isinstance(value, str | int | float):
        return json.dumps(value, ensure_ascii=False)
    if isinstance(value, list | tuple):
        return json.dumps(list(value), ensure_ascii=False)
    raise Mistake(f"a setting cannot hold {value!r}")
