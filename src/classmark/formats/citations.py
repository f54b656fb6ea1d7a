"""Lists of references for citation managers: RIS and BibTeX."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

from classmark.formats.records import Reference
from classmark.formats.text_files import write_lines


def write_ris(references: Iterable[Reference], path: Path | str) -> int:
    """Write references, and return how many: type, id, title, and a note if any."""
    entries = []
    for id_, title, note in references:
        tags = {"TY": "GEN", "ID": id_, "TI": title, "N1": note}
        texts = {tag: " ".join(text.split()) for tag, text in tags.items() if text}
        lines = [f"{tag}  - {text}" for tag, text in texts.items()]
        entries.append("\r\n".join([*lines, "ER  - ", "", ""]))
    return write_lines(entries, path)


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
    entries: dict[str, str] = {}
    for id_, title, note in references:
        plain = _UNFIT.sub("-", id_)
        key, count = plain, 1
        while key in entries:
            count += 1
            key = f"{plain}:{count}"
        fields = {"title": title, "howpublished": "" if key == id_ else id_}
        fields["note"] = note
        texts = {n: " ".join(t.split()) for n, t in fields.items() if t}
        lines = [f"  {n} = {{{t.translate(_SPECIAL)}}}" for n, t in texts.items()]
        entries[key] = "@misc{" + ",\n".join([key, *lines]) + "\n}\n\n"
    return write_lines(entries.values(), path)
