"""Query weights: what a query by examples learned, readable, and read elsewhere.

A ``.tsv`` begins with lines ``# name: value`` (how texts become vectors, and how the
query was learned), then ``term<TAB>weight``, the heaviest first; a ``.json`` holds the
same under the same names, with the weights under ``weights``.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from classmark.formats.text_files import (
    FilePlace,
    lines,
    open_bytes,
    whole_text,
    write_lines,
)
from classmark.problems import Mistake, UnreadableFile

FORMAT = "classmark query 1"
HEADER = ("term", "weight")
FACTS = ("format", "analyzer", "weighting", "norm", "method", "C", "meaning")


@dataclass(frozen=True, slots=True)
class QueryWeights:
    """Term → weight, and what the terms and weights mean.

    analyzer, weighting, norm : how a text becomes a vector;  method, C : how the query
    was learned;  meaning : its share of the query, which has no terms and is not here;
    None for words alone.
    """

    analyzer: str
    weighting: str
    norm: str = "l2"
    method: str = ""
    C: float | None = None
    weights: Mapping[str, float] = field(default_factory=dict)
    meaning: float | None = None


def write_weights(query: QueryWeights, path: Path | str) -> int:
    """Write as TSV or JSON, by the name's ending; return how many terms."""
    heaviest = sorted(query.weights.items(), key=lambda item: (-abs(item[1]), item[0]))
    facts = {name: getattr(query, name) for name in FACTS[1:]}
    facts = {"format": FORMAT} | {n: v for n, v in facts.items() if v is not None}
    suffix = Path(path).suffix
    if suffix == ".json":
        whole = facts | {"weights": dict(heaviest)}
        texts = [json.dumps(whole, ensure_ascii=False, indent=1) + "\n"]
    elif suffix == ".tsv":
        texts = [f"# {name}: {fact}\n" for name, fact in facts.items()]
        texts += ["\t".join(HEADER) + "\n"]
        texts += [f"{term}\t{part!r}\n" for term, part in heaviest]
    else:
        raise Mistake(f"{path}: weights are written as .tsv or .json: choose one")
    write_lines(texts, path)
    return len(heaviest)


def read_weights(path: Path | str) -> QueryWeights:
    """Read what ``write_weights`` wrote, or somebody by hand."""
    facts, weights = (_json if Path(path).suffix == ".json" else _tsv)(path)
    place = FilePlace(path, 1)
    if facts.get("format") != FORMAT:
        place.refuse(f"not {FORMAT!r}: write it with classmark like --weights FILE")
    for name in ("analyzer", "weighting"):
        if not facts.get(name):
            raise UnreadableFile(path, 1, f"it does not say its {name}: add it")
    if not weights:
        raise UnreadableFile(path, None, "it has no weights: give a term and a weight")
    cost, meaning = (
        None if (fact := facts.get(name)) is None else place.finite(fact, name)
        for name in ("C", "meaning")
    )
    return QueryWeights(
        str(facts["analyzer"]),
        str(facts["weighting"]),
        str(facts.get("norm", "l2")),
        str(facts.get("method", "")),
        cost,
        weights,
        meaning,
    )


def _tsv(path: Path | str) -> tuple[dict[str, Any], dict[str, float]]:
    facts: dict[str, Any] = {}
    weights: dict[str, float] = {}
    file = lines(path, blank=False)
    for _, line in file:
        if line.startswith("# ") and not weights:
            name, _, fact = line[2:].partition(":")
            facts[name.strip()] = fact.strip()
        elif tuple(line.split("\t")) != HEADER:
            term, tab, weight = line.partition("\t")
            if not tab or term in weights:
                file.refuse("not a new term, a tab and a weight: mend the line")
            weights[term] = file.finite(weight, "weight")
    return facts, weights


def _json(path: Path | str) -> tuple[dict[str, Any], dict[str, float]]:
    with open_bytes(path) as stream:
        text = whole_text(stream, stream.path)
    try:
        facts = json.loads(text)
    except json.JSONDecodeError as error:
        raise UnreadableFile(path, error.lineno, f"no JSON: {error.msg}") from error
    weights = facts.pop("weights", None) if isinstance(facts, dict) else None
    place = FilePlace(path, 1)
    if not isinstance(weights, dict):
        place.refuse("no object with 'weights': term to weight")
    return facts, {term: place.finite(part, "weight") for term, part in weights.items()}
