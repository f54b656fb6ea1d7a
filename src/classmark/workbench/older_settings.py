"""Settings of learning as older versions wrote them down, in the names of today."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

#: What projects have whose settings were written down before there were these.
WORDS_ALONE = {"characters": 0, "first_line": 1}


def with_reading(learning: Mapping[str, Any]) -> dict[str, Any]:
    """Learning settings as a mapping, as those meant them who wrote them down.

    Files where every setting was written down before there were runs of characters
    have words alone.

    >>> with_reading({"weighting": "tfidf", "min_df": 1, "learner": "plm"})
    {'characters': 0, 'first_line': 1, 'weighting': 'tfidf', 'min_df': 1, \
'learner': 'plm'}
    """
    is_all = learning.keys() >= {"weighting", "min_df", "learner"}
    return {**(WORDS_ALONE if is_all else {}), **learning}


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
