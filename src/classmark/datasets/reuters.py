"""Reuters-21578 with its ModApté split."""

from __future__ import annotations

from typing import TYPE_CHECKING

from classmark.datasets.dataset import Dataset, Part, names_in
from classmark.formats.reuters import modapte_part, read_reuters
from classmark.problems import Mistake
from classmark.progress import track

if TYPE_CHECKING:
    from pathlib import Path


def load_reuters(folder: Path, split: str | None) -> Dataset:
    """Load ``reut2-*.sgm`` (or the tarball with them).

    split : ``"modapte"`` (the default), with 9,603 and 3,299 stories, of which 7,775
    and 3,019 have labels; or ``"all"``, all stories in ``train``. ``label_names`` are
    the 115 topics of the training stories; the three topics that only test stories have
    can't be learned and are left out of ``test.labels``.
    """
    split = split or "modapte"
    if split not in ("modapte", "all"):
        raise Mistake(f"split={split!r}: reuters-21578 has 'modapte' and 'all'")
    parts = {"train": Part(), "test": Part()}
    for record in track(read_reuters(folder), "reading Reuters-21578", 21_578):
        name = "train" if split == "all" else modapte_part(record)
        if name is not None:
            part = parts[name]
            part.ids.append(record.id)
            part.texts.append(record.document.text)
            part.labels.append(list(record.labels))
    known = names_in(parts["train"])
    seen = set(known)
    for labels in parts["test"].labels:
        labels[:] = [label for label in labels if label in seen]
    return Dataset("reuters-21578", parts["train"], parts["test"], label_names=known)
