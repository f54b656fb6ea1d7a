"""The file ``classmark.toml``, written so that what did not change stays as it is."""

from __future__ import annotations

import re
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from classmark.problems import Mistake
from classmark.storage import write_whole
from classmark.workbench.older_settings import with_loss, with_reading
from classmark.workbench.settings import (
    BLANK,
    FILE,
    Settings,
    StoreSettings,
    store_problem,
)

if TYPE_CHECKING:
    from tomlkit import TOMLDocument


def settings_text(settings: Settings, earlier: str = "") -> str:
    """The settings as a TOML file.

    earlier : the text of a settings file; what is the same there stays as it is
    written, with comments and order. Without it, every setting is written down.
    """
    import tomlkit

    document = tomlkit.parse(earlier or BLANK)
    before: dict[str, Any] = document.unwrap()
    usual = asdict(Settings("")) if earlier else {}
    for name, value in asdict(settings).items():
        if name == "store" and not value["url"]:
            document.pop(name, None)
        elif not isinstance(value, dict):
            if before.get(name, usual.get(name)) != value:
                document[name] = value
        else:
            defaults, present = usual.get(name, {}), before.get(name, {})
            if name == "learning":
                present = with_reading(with_loss(present))
            _write_section(document, name, value, defaults | present)
    return tomlkit.dumps(document)


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
    path = folder / FILE
    write_whole(path, settings_text(settings, path.read_bytes().decode()))


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
