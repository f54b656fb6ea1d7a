"""SKOS vocabularies: concepts as categories, labels in one of their languages."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, unquote

from classmark.formats.text_files import LIMITS, open_bytes, safe_xml, write_lines
from classmark.language import N_, _
from classmark.problems import MissingExtra, UnreadableFile, refusal
from classmark.progress import remark
from classmark.taxonomy.category import ACTIVE, DEPRECATED, Category, taxonomy_of

if TYPE_CHECKING:
    from rdflib import Graph
    from rdflib.term import Node

SYNTAX = {".ttl": "turtle", ".nt": "nt", ".rdf": "xml", ".xml": "xml", ".owl": "xml"}
BASE = "urn:category:"


def skos_categories(
    path: Path | str, languages: Sequence[str], base: str = BASE
) -> list[Category]:
    """The concepts of a file as categories, in the order of their ids."""
    graph, syntax = _graph(path)
    from rdflib.namespace import RDF, SKOS

    with open_bytes(path) as stream:
        text = b"".join(iter(lambda: stream.read(LIMITS.line), b""))
    if syntax == "xml":
        safe_xml(path, text)
    try:
        graph.parse(data=text, format=syntax)
    except Exception as error:
        line = getattr(error, "lines", None)
        reason = " ".join(str(error).split())[:200]
        raise UnreadableFile(
            path,
            line + 1 if isinstance(line, int) else None,
            _("not %(syntax)s: %(reason)s", syntax=syntax, reason=reason),
        ) from error
    ids = {}
    for concept in set(graph.subjects(RDF.type, SKOS.Concept)):
        name = str(concept)
        is_short = name.startswith(base) and len(name) > len(base)
        ids[concept] = unquote(name.removeprefix(base)) if is_short else name
    if not ids:
        raise UnreadableFile(
            path, None, _("no skos:Concept: is this a SKOS vocabulary?")
        )
    tongues = Counter[str]()
    categories = [
        _described(graph, concept, ids, languages, tongues) for concept in ids
    ]
    if others := in_other_languages(tongues, languages[0]):
        remark(others)
    return sorted(categories, key=lambda category: category.id)


def in_other_languages(tongues: Mapping[str, int], language: str) -> str:
    """How many labels are in another language than was asked for, in words.

    tongues : of how many labels each is the language, "" of those that have none.

    >>> in_other_languages({"fi": 7, "en": 1}, "fi")
    'labels in another language than fi, for want of one in it: 1 (en 1)'
    """
    others = {
        name: n for name, n in sorted(tongues.items()) if name not in ("", language)
    }
    if not others:
        return ""
    listed = ", ".join(f"{name} {n:,}" for name, n in others.items())
    return (
        f"labels in another language than {language}, for want of one in it: "
        f"{sum(others.values()):,} ({listed})"
    )


def _graph(path: Path | str) -> tuple[Graph, str]:
    """Return an empty graph, and the syntax that the file's suffix says."""
    try:
        from rdflib import Graph
    except ImportError as error:
        raise MissingExtra(N_("SKOS files"), "skos") from error
    syntax = SYNTAX.get(Path(path).suffix.lower())
    if syntax is None:
        raise refusal(
            "%(path)s: the suffix says no syntax: use %(all)s",
            path=path,
            all=", ".join(SYNTAX),
        )
    return Graph(), syntax


def _described(
    graph: Graph,
    concept: Node,
    ids: dict[Node, str],
    languages: Sequence[str],
    tongues: Counter[str],
) -> Category:
    """Gather what the graph says about one concept, and count its label's language."""
    from rdflib.namespace import OWL, SKOS

    labels, others, notes, how = (
        _texts(graph, concept, about)
        for about in (SKOS.prefLabel, SKOS.altLabel, SKOS.scopeNote, SKOS.editorialNote)
    )
    spoken = labels or {**others, **notes, **how}
    preferred = [*languages, "", *sorted(spoken)]
    language = next((name for name in preferred if name in spoken), "")
    tongues[language] += 1
    deprecated = str(graph.value(concept, OWL.deprecated)).lower() in ("true", "1")
    above = set(graph.objects(concept, SKOS.broader))
    above |= set(graph.subjects(SKOS.narrower, concept))
    return Category(
        ids[concept],
        next(iter(labels.get(language, [])), ""),
        " ".join(notes.get(language, [])),
        tuple(others.get(language, [])),
        tuple(sorted(ids[parent] for parent in above & ids.keys())),
        min(map(str, graph.objects(concept, SKOS.notation)), default=""),
        DEPRECATED if deprecated else ACTIVE,
        " ".join(how.get(language, [])),
    )


def _texts(graph: Graph, concept: Node, about: Any) -> dict[str, list[str]]:
    by_language: dict[str, list[str]] = {}
    for text in graph.objects(concept, about):
        language = getattr(text, "language", None) or ""
        by_language.setdefault(language, []).append(str(text))
    return {language: sorted(texts) for language, texts in by_language.items()}


def write_skos(
    categories: Iterable[Category],
    path: Path | str,
    *,
    language: str = "en",
    base: str = BASE,
) -> int:
    """Write concepts, in the syntax the suffix says, and return how many.

    Ids that are no IRIs are written after ``base``. Labels and notes are marked with
    the language ("" for none). SKOS keeps no order among parents or synonyms.
    """
    graph, syntax = _graph(path)
    from rdflib import Literal, URIRef
    from rdflib.namespace import OWL, RDF, SKOS

    listed = list(categories)
    taxonomy_of(listed)
    for category in listed:
        concept = URIRef(_iri(category.id, base))
        graph.add((concept, RDF.type, SKOS.Concept))
        texts = [(SKOS.prefLabel, category.label), (SKOS.scopeNote, category.note)]
        texts.append((SKOS.editorialNote, category.guideline))
        texts += [(SKOS.altLabel, synonym) for synonym in category.synonyms]
        for about, text in texts:
            if text:
                graph.add((concept, about, Literal(text, lang=language or None)))
        if category.notation:
            graph.add((concept, SKOS.notation, Literal(category.notation)))
        for parent in category.parents:
            above = URIRef(_iri(parent, base))
            graph.add((concept, SKOS.broader, above))
            graph.add((above, SKOS.narrower, concept))
        if category.status == DEPRECATED:
            graph.add((concept, OWL.deprecated, Literal(True)))
    write_lines([graph.serialize(format=syntax)], path)
    return len(listed)


def _iri(name: str, base: str) -> str:
    is_iri = name.startswith(("http://", "https://", "urn:")) and not set(name) & set(
        '<>"{}|^`\\ \t\r\n'
    )
    return name if is_iri else base + quote(name, safe="")
