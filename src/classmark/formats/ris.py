"""RIS: a list of references that citation managers take in."""

from __future__ import annotations

from typing import TYPE_CHECKING

from classmark.formats.text_files import writing

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from classmark.formats.references import Reference


def write_ris(references: Iterable[Reference], path: Path | str) -> int:
    """Write references, and return how many: type, id, title, and a note if any."""
    count = 0
    with writing(path) as file:
        for reference in references:
            tags = {"TY": "GEN", "ID": reference.id, "TI": reference.title}
            tags["N1"] = reference.note
            for tag, text in tags.items():
                if text:
                    file.write(f"{tag}  - {' '.join(text.split())}\r\n")
            file.write("ER  - \r\n\r\n")
            count += 1
    return count
