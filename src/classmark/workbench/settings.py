"""Settings: the file ``classmark.toml``, read, validated, explained and changed.

The field metadata of the dataclasses is what pydantic validates by and what the
Settings page shows.
"""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Mapping
from dataclasses import Field, asdict, dataclass, field, fields
from functools import cache
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_args, get_origin, get_type_hints
from urllib.parse import urlsplit

from classmark.problems import DamagedFolder, Mistake, UnreadableFile
from classmark.storage import sync_folder

if TYPE_CHECKING:
    from pydantic import TypeAdapter
    from pydantic_core import CoreSchema, ErrorDetails
    from tomlkit import TOMLDocument

FILE, FORMAT = "classmark.toml", 1
SCHEMA = re.compile("[a-z][a-z0-9_]{0,62}")
YES_NO = ("no", "yes")
NUMBERS = {int: "a whole number", float: "a number"}
_CLOSED = {"extra": "forbid"}


class OneOf:
    """An annotation of a text that is one of some choices.

    extensible : a file may have others, by which a learner or loss is registered.
    """

    def __init__(self, *choices: str, extensible: bool = False) -> None:
        self.choices, self.extensible = choices, extensible

    def __get_pydantic_core_schema__(self, *_: object) -> CoreSchema:
        from pydantic_core import core_schema

        if self.extensible:
            return core_schema.str_schema(strict=True)
        return core_schema.literal_schema(list(self.choices))


def _setting(default: Any, description: str, **rules: Any) -> Any:
    """A field with the text that explains it and pydantic's rules for its values."""
    return field(default=default, metadata={"description": description, **rules})


def _number(default: float, description: str) -> Any:
    return _setting(default, description, strict=True, ge=0, lt=1e9)


@dataclass(frozen=True, slots=True)
class TextSettings:
    """How texts become terms; ``fields`` empty means all fields."""

    __pydantic_config__ = _CLOSED
    analyzer: str = _setting(
        "words|lower|stop(english)|snowball(english)",
        "How a text is cut into words: steps separated by |.",
    )
    fields: tuple[str, ...] = _setting(
        (), "Which fields of a document are read, separated by commas; empty: all."
    )


@dataclass(frozen=True, slots=True)
class LearningSettings:
    """How terms are weighted and what learns from them."""

    __pydantic_config__ = _CLOSED
    weighting: Annotated[
        str, OneOf("binary", "count", "tf", "log", "tfidf", "log-tfidf", "pivoted")
    ] = _setting("log-tfidf", "How much a word counts by how often it occurs.")
    min_df: int = _number(1, "Words in fewer documents than this are left out.")
    learner: Annotated[
        str, OneOf("plm", "loglinear", "rocchio", "perceptron", extensible=True)
    ] = _setting(
        "plm",
        "What learns to order the categories; plm learns from every decision at once.",
    )
    loss: Annotated[
        str, OneOf("dom", "dis", "dme", "dom-dme", "svm", "zero-one", extensible=True)
    ] = _setting("dom", "Of plm and loglinear: which wrong orders are priced together.")
    C: float = _number(0.0, "What a wrong order costs; 0: the learner's usual price.")
    center: float = _number(
        5.0,
        "Of plm: how strongly categories begin at the average of their documents; "
        "0: not at all.",
    )
    grades: Annotated[str, OneOf("equal", "layered")] = _setting(
        "equal", "Whether a primary label stands above a secondary one."
    )
    strategy: Annotated[str, OneOf("auto", "plain", "flat", "top-down", "pruned")] = (
        _setting("auto", "How the tree of categories is used; auto chooses by size.")
    )
    base: Annotated[str, OneOf("svm", "logistic", "naive-bayes")] = _setting(
        "svm", "What decides at the nodes of the tree."
    )
    memory: str = _setting("4GB", "What the weights may take.")
    rare: bool = _setting(
        False,
        "Whether close calls with a rare category are voted on again.",
        strict=True,
    )
    policy: Annotated[str, OneOf("meta", "bound", "random")] = _setting(
        "meta", "By which rule a pruned tree loses nodes."
    )
    bold: bool = _setting(
        False, "Whether nodes go also where the gain is not sure.", strict=True
    )


@dataclass(frozen=True, slots=True)
class SearchSettings:
    """Whether searches and clicks are kept: no, anonymous or named.

    log : what is kept of a search is its time, its words, the ids and scores shown and
    what was opened from them; the user's name if "named".
    """

    __pydantic_config__ = _CLOSED
    log: Annotated[str, OneOf("no", "anonymous", "named")] = _setting(
        "no", "Whether searches and what was opened are kept, and with whose name."
    )

    def is_logged(self, override: bool | None = None) -> bool:
        """Whether a search is logged: ``override``, or by default the setting."""
        return self.log != "no" if override is None else override


@dataclass(frozen=True, slots=True)
class StoreSettings:
    """Where documents and decisions are kept: a file here, or a PostgreSQL server.

    url : postgresql://user@host/database, without a password;  schema : the project's
    own part of that database.  Without a url: the file store.sqlite.
    """

    __pydantic_config__ = _CLOSED
    url: str = ""
    schema: str = ""


SECTIONS = {
    "text": "How texts become words. Holds from the next training and indexing on.",
    "learning": "How the ranker learns. Holds from the next training on.",
    "search": "What is kept of searches. Holds at once.",
}  # those that a form shows


@dataclass(frozen=True, slots=True)
class Settings:
    """A project's settings."""

    __pydantic_config__ = _CLOSED
    name: str = field(
        metadata={"description": "What the project is called on every page."}
    )
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
        values = tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as problem:
        raise UnreadableFile(path, None, f"{problem}: correct the file") from problem
    version = values.pop("format", None)
    if not isinstance(version, int):
        raise UnreadableFile(path, None, "the line 'format = 1' is missing: add it")
    if version > FORMAT:
        raise DamagedFolder(
            f"{path} has format {version}, this program reads up to {FORMAT}: "
            "upgrade classmark"
        )
    learning = values.get("learning")
    if isinstance(learning, dict) and learning.keys() & {"cost", "decomposition"}:
        from classmark.validation import warn_renamed

        warn_renamed(f"{path}, [learning]", "cost or decomposition", "loss")
        values["learning"] = with_loss(learning)
    try:
        return validated(values)
    except Mistake as problem:
        raise UnreadableFile(path, None, str(problem)) from problem


def validated(values: Mapping[str, Any]) -> Settings:
    """The settings of a mapping; the first value that does not fit is a ``Mistake``.

    >>> validated({"name": "Shelf", "learning": {"C": 2}}).learning.C
    2.0
    """
    from pydantic import ValidationError

    try:
        settings: Settings = _validator().validate_python(values)
    except ValidationError as errors:
        raise Mistake(_explained(errors.errors(include_url=False)[0])) from None
    if problem := store_problem(settings.store):
        raise Mistake(f"store.{problem}")
    return settings


@cache
def _validator() -> TypeAdapter[Settings]:
    from pydantic import TypeAdapter

    return TypeAdapter(Settings)


def _explained(error: ErrorDetails) -> str:
    """What is wrong with a value, and the remedy."""
    *sections, key = (str(part) for part in error["loc"][:2])
    section = ".".join(sections)
    annotations = _annotations(section)
    if error["type"] == "unexpected_keyword_argument":
        place = f"of [{section}]" if section else "here"
        return f"{key!r} is not a setting {place}: use {', '.join(annotations)}"
    if error["type"] == "missing":
        return 'the project has no name: add name = "…"'
    value = error["input"]
    if error["loc"] != (*sections, key):
        value = [value]
    return f"{'.'.join((*sections, key))} is {value!r}: {_remedy(annotations[key])}"


def _remedy(annotation: Any) -> str:
    if annotation in NUMBERS:
        return f"give {NUMBERS[annotation]}, 0 or more"
    kinds = {bool: "a bool", str: "a str", tuple: "a list of str"}
    kind = kinds.get(get_origin(annotation) or annotation, "a section")
    choices = () if annotation is bool else _choices(annotation)
    return f"use {', '.join(choices)}" if choices else f"it is to be {kind}"


@cache
def _annotations(section: str = "") -> dict[str, Any]:
    """Name → annotation of the settings in a section."""
    kind = get_type_hints(Settings)[section] if section else Settings
    return get_type_hints(kind, include_extras=True)


def _choices(annotation: Any) -> tuple[str, ...]:
    if annotation is bool:
        return YES_NO
    return next((a.choices for a in get_args(annotation) if isinstance(a, OneOf)), ())


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


def store_at(url: str | None, name: str) -> StoreSettings:
    """The place of a project's store on a server, in a schema called like it.

    url : None for a file in its folder.

    >>> store_at("postgresql://desk/library", "The shelf, 2").schema
    'the_shelf_2'
    """
    if url is None:
        return StoreSettings()
    schema = re.sub("[^a-z0-9]+", "_", name.lower()).strip("_")
    if not schema[:1].isalpha():
        schema = f"project_{schema}"
    store = StoreSettings(url, schema[:63])
    if problem := store_problem(store):
        raise Mistake(f"store: {problem}")
    return store


def store_problem(store: StoreSettings) -> str:
    """What is wrong with the place of a store, and the remedy; "": nothing.

    >>> store_problem(StoreSettings("mysql://host/db", "shelf"))
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


def settings_text(settings: Settings, earlier: str = "") -> str:
    """The settings as a TOML file.

    earlier : the text of a settings file; what is the same there stays as it is
    written, with comments and order. Without it, every setting is written down.
    """
    import tomlkit

    document = tomlkit.parse(earlier or _blank_file())
    before: dict[str, Any] = document.unwrap()
    for name, value in asdict(settings).items():
        if name == "store" and not value["url"]:
            document.pop(name, None)
        elif not isinstance(value, dict):
            if before.get(name) != value:
                document[name] = value
        else:
            defaults = asdict(get_type_hints(Settings)[name]()) if earlier else {}
            present = before.get(name, {})
            present = with_loss(present) if name == "learning" else present
            _write_section(document, name, value, defaults | present)
    return tomlkit.dumps(document)


def _blank_file() -> str:
    lines = [
        "# A Classmark project. Edit by hand; unknown keys are refused.",
        f"format = {FORMAT}",
    ]
    for section in SECTIONS:
        kind = get_type_hints(Settings)[section]
        lines += ["", f"[{section}]  # {kind.__doc__.splitlines()[0]}"]
    return "\n".join(lines) + "\n"


def _write_section(
    document: TOMLDocument, name: str, values: dict[str, Any], present: dict[str, Any]
) -> None:
    """Write the values that differ from the present ones."""
    from tomlkit import table

    for key, value in values.items():
        plain = list(value) if isinstance(value, tuple) else value
        if key not in present or present[key] not in (plain, value):
            if name not in document:
                document[name] = table()
            section: Any = document[name]
            _put(section, key, plain)
            if (name, key) == ("learning", "loss"):
                section.pop("cost", None)
                section.pop("decomposition", None)


def _put(section: Any, key: str, value: Any) -> None:
    """Set a key; a new one comes before the comments that lead to the next section."""
    from tomlkit.items import Table

    rest = []
    if isinstance(section, Table) and key not in section:
        body = section.value.body
        while body and body[-1][0] is None:
            rest.append(body.pop()[1])
    section[key] = value
    for item in reversed(rest):
        section.add(item)


def write_settings(folder: Path, settings: Settings) -> None:
    """Write ``classmark.toml`` so that it is there whole, before or after a crash.

    The comments and the order of the file that is there stay.
    """
    path, beside = folder / FILE, folder / f"{FILE}.new"
    text = settings_text(settings, path.read_bytes().decode())
    with beside.open("wb") as file:
        file.write(text.encode())
        file.flush()
        os.fsync(file.fileno())
    beside.replace(path)
    sync_folder(folder)


@dataclass(frozen=True, slots=True)
class FormField:
    """A setting as a form shows it: its full name, its value as text, what it means.

    choices : empty where any text may be sent.
    """

    name: str
    value: str
    says: str
    choices: tuple[str, ...] = ()

    @property
    def label(self) -> str:
        """Its name without the section's."""
        return self.name.rpartition(".")[2].replace("_", " ")


def form_fields(settings: Settings) -> dict[str, list[FormField]]:
    """All settings that a form may change, by section; "" has the name.

    >>> [field.value for field in form_fields(Settings("Shelf"))["search"]]
    ['no']
    """
    form = {"": [_form_field("", fields(settings)[0], settings.name)]}
    for section in SECTIONS:
        part = getattr(settings, section)
        form[section] = [
            _form_field(f"{section}.", setting, getattr(part, setting.name))
            for setting in fields(part)
        ]
    return form


def _form_field(prefix: str, setting: Field[Any], value: Any) -> FormField:
    text = _as_text(value)
    choices = _choices(_annotations(prefix[:-1])[setting.name])
    if choices and text not in choices:
        choices = (text, *choices)
    description = setting.metadata["description"]
    return FormField(prefix + setting.name, text, description, choices)


def _as_text(value: Any) -> str:
    if isinstance(value, bool):
        return YES_NO[value]
    if isinstance(value, tuple):
        return ", ".join(value)
    return f"{value:g}" if isinstance(value, float) else str(value)


def with_form_values(settings: Settings, texts: Mapping[str, str]) -> Settings:
    """The settings with values that a form sent, by full name.

    >>> with_form_values(Settings("Shelf"), {"learning.rare": "yes"}).learning.rare
    True
    """
    values = asdict(settings)
    for setting in chain.from_iterable(form_fields(settings).values()):
        if setting.name not in texts:
            continue
        text = texts[setting.name]
        if setting.choices and text not in setting.choices:
            choices = ", ".join(setting.choices)
            raise Mistake(f"{setting.name} is {text!r}: use {choices}")
        section, _, key = setting.name.rpartition(".")
        value = _from_text(setting.name, _annotations(section)[key], text)
        (values[section] if section else values)[key] = value
    return validated(values)


def _from_text(name: str, annotation: Any, text: str) -> Any:
    """A value out of a text; one that does not fit stays text, and is refused later."""
    if annotation is bool:
        return text == YES_NO[True]
    if get_origin(annotation) is tuple:
        return tuple(part.strip() for part in text.split(",") if part.strip())
    if annotation in NUMBERS:
        try:
            return annotation(text)
        except ValueError:
            return text
    least, most = (1, 200) if name == "name" else (0, 500)
    if not text.isprintable() or not least <= len(text) <= most:
        length = f"{least} to {most}" if least else f"up to {most}"
        raise Mistake(f"{name} is not usable: give one line of {length} characters")
    return text
