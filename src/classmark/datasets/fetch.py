"""How does a collection come onto this machine?

Nothing appears until it is whole: files are written beside, checked, and then renamed.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from dataclasses import dataclass
from http.client import HTTPException
from pathlib import Path
from typing import Any
from urllib.error import URLError
from urllib.parse import urlsplit
from urllib.request import HTTPRedirectHandler, build_opener

from classmark.datasets.dataset import PublicCollection, Source, known, user_cache
from classmark.formats.archive import entries, is_archive
from classmark.formats.text_files import FileLimits, write_lines
from classmark.problems import Mistake
from classmark.progress import track

CHUNK = 1 << 20
PATIENCE = 60
PINS = "checksums.json"
LIMITS = FileLimits(size=1 << 34)


@dataclass(frozen=True, slots=True)
class Fetched:
    """Where a collection lies now, and the checksums of what was downloaded.

    pinned : those that were not known before; the next download must have the same.
    """

    path: Path
    sums: dict[str, str]
    pinned: dict[str, str]


def get(
    name: str,
    *,
    from_: Path | str | None = None,
    to: Path | str | None = None,
    again: bool = False,
) -> Fetched:
    """Put a known collection into the user's cache, or into ``to``.

    from_ : a folder, an archive or a file that you have; else it is downloaded.
    again : replace what is there. Checksums that the catalogue lacks are pinned, in
    ``checksums.json`` beside the collections, when first seen.
    """
    entry = known(name)
    if entry.family == "library":
        raise Mistake("'library' comes with Classmark: nothing has to be fetched")
    home = Path(to) if to is not None else user_cache()
    target = home / name
    if target.exists() and not again:
        return Fetched(target, {}, {})
    home.mkdir(parents=True, exist_ok=True)
    pins = _pins(home)
    beside = home / f".{name}.{os.getpid()}.part"
    shutil.rmtree(beside, ignore_errors=True)
    beside.mkdir()
    try:
        if from_ is None:
            sums = _download_all(entry, beside, pins)
            files = [source.name for source in entry.sources]
        else:
            sums, files = {}, [str(from_)]
            _take(Path(from_), beside)
        _replace(beside, target, lift=len(files) == 1 and is_archive(files[0]))
    finally:
        shutil.rmtree(beside, ignore_errors=True)
    fresh = {key: value for key, value in sums.items() if key not in pins}
    if pins or fresh:
        text = json.dumps({**pins, **fresh}, indent=1, sort_keys=True)
        write_lines([text, "\n"], home / PINS)
    return Fetched(target, sums, fresh)


def _pins(home: Path) -> dict[str, str]:
    path = home / PINS
    if not path.exists():
        return {}
    try:
        pins = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError) as error:
        raise Mistake(f"{path} is damaged ({error}): remove it") from error
    return {str(key): str(value) for key, value in dict(pins).items()}


def _download_all(
    entry: PublicCollection, folder: Path, pins: dict[str, str]
) -> dict[str, str]:
    if not entry.sources:
        raise Mistake(
            f"{entry.name!r} has no direct address: fetch it from {entry.page} and "
            f"run: classmark data get {entry.name} --from FILE_OR_FOLDER"
        )
    sums = {}
    for source in entry.sources:
        path = folder / source.name
        path.parent.mkdir(parents=True, exist_ok=True)
        expected = source.sha256 or pins.get(source.address, "")
        sums[source.address] = download(source, path, expected, entry.name)
        if is_archive(path):
            unpack(path, folder)
            path.unlink()
    return sums


def download(source: Source, path: Path, expected: str, name: str) -> str:
    """Download one file, over https only, and return its sha256."""
    _require_https(source.address)
    digest = hashlib.sha256()
    try:
        with _opened(source.address) as answer, path.open("wb") as out:
            size = int(answer.headers.get("Content-Length") or 0)
            chunks = iter(lambda: answer.read(CHUNK), b"")
            total = -(-size // CHUNK) or None
            for chunk in track(chunks, f"downloading {source.name} (MiB)", total):
                digest.update(chunk)
                out.write(chunk)
                if out.tell() > LIMITS.size:
                    raise Mistake(f"the download is over {LIMITS.size} bytes: stopped")
    except (OSError, URLError, HTTPException) as error:
        raise Mistake(
            f"{source.address} cannot be reached ({error}): download it elsewhere and "
            f"run: classmark data get {name} --from FILE_OR_FOLDER"
        ) from error
    checksum = digest.hexdigest()
    if expected and checksum != expected:
        raise Mistake(
            f"{source.address}: the checksum is {checksum}, not {expected}: the file "
            "has changed or was damaged on the way: do not trust it"
        )
    return checksum


def _require_https(address: str) -> None:
    if urlsplit(address).scheme != "https":
        raise Mistake(f"{address}: only https addresses are fetched")


class OnlyHttps(HTTPRedirectHandler):
    """Follow redirections, but not away from https."""

    def redirect_request(
        self, req: Any, fp: Any, code: int, msg: str, headers: Any, newurl: str
    ) -> Any:
        """Refuse an address that is not https."""
        _require_https(newurl)
        return super().redirect_request(req, fp, code, msg, headers, newurl)


def _opened(address: str) -> Any:
    return build_opener(OnlyHttps).open(address, timeout=PATIENCE)


def unpack(archive: Path, folder: Path) -> None:
    """Unpack a zip or tar; names that leave the folder, links and bombs are refused."""
    for entry in track(entries(archive, LIMITS), f"unpacking {archive.name}"):
        path = folder / entry.name
        path.parent.mkdir(parents=True, exist_ok=True)
        with entry.open() as stream, path.open("wb") as out:
            while chunk := stream.read(CHUNK):
                out.write(chunk)


def _take(source: Path, folder: Path) -> None:
    """Copy a folder's plain files, unpack an archive, or copy a file."""
    if not source.exists():
        raise Mistake(f"--from {source}: there is no such file or folder")
    if source.is_dir() or is_archive(source):
        unpack(source, folder)
    else:
        shutil.copyfile(source, folder / source.name)


def _replace(folder: Path, target: Path, *, lift: bool) -> None:
    """Put a folder at its place; ``lift`` steps into one that stands alone in it."""
    inside = list(folder.iterdir())
    if lift and len(inside) == 1 and inside[0].is_dir():
        folder = inside[0]
    old = target.with_name(f".{target.name}.{os.getpid()}.old")
    if target.exists():
        target.rename(old)
    folder.rename(target)
    shutil.rmtree(old, ignore_errors=True)
