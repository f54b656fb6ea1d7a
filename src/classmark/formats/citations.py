"""Lists of references for citation managers: RIS and BibTeX."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

from classmark.formats.records import Reference
from classmark.formats.text_files import write_lines


def write_ris(references: Iterable[Reference], path: Path | str) -> int:
    """Write references, and return how many: type, id, title, and a note if any."""
    return write_lines(map(_ris, references), path)


def _ris(reference: Reference) -> str:
    tags = {"TY": "GEN", "ID": reference.id, "TI": reference.title}
    tags["N1"] = reference.note
    lines = [f"{tag}  - {' '.join(text.split())}" for tag, text in tags.items() if text]
    return "\r\n".join([*lines, "ER  - ", "", ""])


_UNFIT = re.compile(r"[^A-Za-z0-9:./+_-]")
_SPECIAL = str.maketrans({
    "\\": r"\textbackslash{}", "{": r"\{", "}": r"\}", "%": r"\%", "&": r"\&",
    "#": r"\#", "$": r"\$", "_": r"\_", "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
})  # fmt: skip


def write_bibtex(references: Iterable[Reference], path: Path | str) -> int:
    """Write ``@misc`` entries, and return how many.

    Keys are ids with other signs than letters, digits and ``:./+_-`` replaced; the id
    itself is in ``howpublished`` where its key differs.
    """
    keys: set[str] = set()
    return write_lines((_bibtex(reference, keys) for reference in references), path)


def _bibtex(reference: Reference, keys: set[str]) -> str:
    plain = _UNFIT.sub("-", reference.id)
    key, count = plain, 1
    while key in keys:
        count += 1
        key = f"{plain}:{count}"
    keys.add(key)
    fields = {
        "title": reference.title,
        "howpublished": "" if key == reference.id else reference.id,
        "note": reference.note,
    }
    texts = {n: " ".join(t.split()).translate(_SPECIAL) for n, t in fields.items() if t}
    lines = [f"  {name} = {{{text}}}" for name, text in texts.items()]
    return "@misc{" + ",\n".join([key, *lines]) + "\n}\n\n"
