"""Which public collections are known, and where do they come from?

They are listed in ``catalog.json``, beside this file.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from importlib.resources import files
from typing import Any

from classmark.problems import Mistake


@dataclass(frozen=True, slots=True)
class Source:
    """One file to download.

    address : https;  name : where it goes in the collection's folder (archives are
    unpacked there);  sha256 : its checksum, or "" where none is published: then the
    first download is pinned.
    """

    address: str
    name: str
    sha256: str = ""


@dataclass(frozen=True, slots=True)
class Known:
    """A public collection.

    sources : what ``classmark data get`` downloads; none where the publisher asks you
    to come to ``page`` (then use ``--from``).  family : the loader.  splits : what
    ``load`` takes as ``split``, the default first ("" stands for None).
    """

    name: str
    what: str
    family: str
    licence: str
    splits: tuple[str, ...] = ()
    page: str = ""
    sources: tuple[Source, ...] = ()


def _listed() -> dict[str, Known]:
    text = (files("classmark.datasets") / "catalog.json").read_text("utf-8")
    return {name: _known(name, row) for name, row in json.loads(text).items()}


def _known(name: str, row: dict[str, Any]) -> Known:
    sources = tuple(Source(**source) for source in row.pop("sources", ()))
    splits = tuple(row.pop("splits", ()))
    return Known(name, sources=sources, splits=splits, **row)


CATALOG = _listed()


def known(name: str) -> Known:
    """Return what is known of a collection, or say which there are.

    >>> known("cranfield").what
    '1,400 abstracts, 225 queries'
    """
    if name not in CATALOG:
        raise Mistake(
            f"{name!r} is not a known collection: give one of {', '.join(CATALOG)}"
        )
    return CATALOG[name]
