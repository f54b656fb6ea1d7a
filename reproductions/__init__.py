"""Published results computed again: one file a paper, one command.

``python -m reproductions NAME`` or ``make reproduce NAME=…`` computes a result and says
which of the paper's claims hold. It needs the public data sets (CLASSMARK_DATA).
"""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from classmark.problems import Mistake
from reproductions.report import require_matplotlib

if TYPE_CHECKING:
    from reproductions.report import Reproduction


# The name people type: the file, and what else it is told.
PAPERS: dict[str, tuple[str, ...]] = {
    "clicks": ("clicks",),
    "graphs-rcv1": ("graphs_rcv1",),
    "graphs-rcv1-boosting": ("graphs_rcv1", "boosting"),
    "ltr-cranfield": ("ltr_cranfield",),
    "ltr-mq2008": ("ltr_mq2008",),
    "mmp-reuters": ("mmp_reuters",),
    "plm-reuters": ("plm_reuters",),
    "qbme-news20": ("qbme", "news20"),
    "qbme-reuters": ("qbme", "reuters"),
    "qbme-siam": ("qbme", "siam"),
    "rare-lshtc": ("rare_lshtc",),
    "retrieval-models": ("retrieval_models",),
    "taxonomy-lshtc": ("taxonomy_lshtc",),
}
DRAWN_AS_SVG = {"mmp-reuters", "plm-reuters", "rare-lshtc"}  # without matplotlib


def reproduce(name: str, data: Path | None = None) -> Reproduction:
    """Compute a published result again.

    name : one of PAPERS;  data : the folder of the data sets, or None for that of
    ``CLASSMARK_DATA``.
    """
    if name not in PAPERS:
        raise Mistake(
            f"experiment {name!r} is not known: use {', '.join(sorted(PAPERS))}"
        )
    if name not in DRAWN_AS_SVG:
        require_matplotlib()
    file, *rest = PAPERS[name]
    result: Reproduction = import_module(f"reproductions.{file}").reproduce(data, *rest)
    return result
