"""SKOS vocabularies: concepts as categories, in Turtle, RDF/XML and N-Triples.

Nothing is fetched: only the file is read, and RDF/XML with a DTD or entities refused.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, unquote

from classmark.formats.taxonomies import checked
from classmark.formats.text_files import LIMITS, open_bytes, writing
from classmark.problems import MissingExtra, Mistake, UnreadableFile
from classmark.taxonomy.category import ACTIVE, DEPRECATED, Category, taxonomy_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from rdflib import Graph
    from rdflib.term import Node

SYNTAX = {".ttl": "turtle", ".nt": "nt", ".rdf": "xml", ".xml": "xml", ".owl": "xml"}
BASE = "urn:category:"


def read_skos(
    path: Path | str, *, languages: Sequence[str] = ("en",), base: str = BASE
) -> list[Category]:
    """Read every ``skos:Concept``, in the order of their ids.

    id : the concept's IRI; one that begins with ``base`` is shortened to what follows.
    label, note, synonyms : prefLabel, scopeNote and altLabels in the first of the
    ``languages`` the concept has a prefLabel in, else without language, else in the
    alphabetically first one. parents : broader concepts, and those that name it as
    narrower; those that the file does not describe are left out. status : deprecated,
    where ``owl:deprecated`` says so.
    """
    graph = _parsed(path)
    from rdflib.namespace import RDF, SKOS

    concepts = set(graph.subjects(RDF.type, SKOS.Concept))
    if not concepts:
        raise UnreadableFile(path, None, "no skos:Concept: is this a SKOS vocabulary?")
    view = _View(graph, concepts, languages, base)
    found = [view.category(concept) for concept in concepts]
    return checked(sorted(found, key=lambda category: category.id), path)


def _parsed(path: Path | str) -> Graph:
    try:
        from rdflib import Graph
    except ImportError as error:
        raise MissingExtra("SKOS files", "skos") from error
    syntax = SYNTAX.get(Path(path).suffix.lower())
    if syntax is None:
        raise Mistake(f"{path}: the suffix says no syntax: use {', '.join(SYNTAX)}")
    with open_bytes(path) as stream:
        text = b"".join(iter(lambda: stream.read(LIMITS.line), b""))
    if syntax == "xml":
        _refuse_entities(path, text)
    graph = Graph()
    try:
        graph.parse(data=text, format=syntax)
    except Exception as error:
        line = getattr(error, "lines", None)
        reason = " ".join(str(error).split())[:200]
        raise UnreadableFile(
            path,
            line + 1 if isinstance(line, int) else None,
            f"not {syntax}: {type(error).__name__}: {reason}",
        ) from error
    return graph


def _refuse_entities(path: Path | str, text: bytes) -> None:
    from xml.sax import SAXException, SAXParseException
    from xml.sax.handler import ContentHandler

    from defusedxml.common import DefusedXmlException
    from defusedxml.sax import parseString

    try:
        parseString(text, ContentHandler(), forbid_dtd=True)
    except DefusedXmlException as error:
        raise UnreadableFile(
            path, None, f"XML with a DTD or entities is refused ({error})"
        ) from error
    except (SAXException, ValueError, LookupError) as error:
        line = error.getLineNumber() if isinstance(error, SAXParseException) else None
        raise UnreadableFile(path, line, f"not XML: {error}") from error


class _View:
    """The concepts of a graph as categories."""

    def __init__(
        self, graph: Graph, concepts: set[Node], languages: Sequence[str], base: str
    ) -> None:
        self.graph, self.concepts = graph, concepts
        self.languages, self.base = languages, base

    def category(self, concept: Node) -> Category:
        """Gather what the graph says about one concept."""
        from rdflib.namespace import OWL, SKOS

        labels = self._texts(concept, SKOS.prefLabel)
        others = self._texts(concept, SKOS.altLabel)
        notes = self._texts(concept, SKOS.scopeNote)
        how = self._texts(concept, SKOS.editorialNote)
        language = self._language(labels or {**others, **notes, **how})
        gone = self.graph.value(concept, OWL.deprecated)
        above = set(self.graph.objects(concept, SKOS.broader))
        above |= set(self.graph.subjects(SKOS.narrower, concept))
        return Category(
            self._id(concept),
            next(iter(labels.get(language, [])), ""),
            " ".join(notes.get(language, [])),
            tuple(others.get(language, [])),
            tuple(sorted(map(self._id, above & self.concepts))),
            min(map(str, self.graph.objects(concept, SKOS.notation)), default=""),
            DEPRECATED if str(gone).lower() in ("true", "1") else ACTIVE,
            " ".join(how.get(language, [])),
        )

    def _id(self, concept: Node) -> str:
        name = str(concept)
        return unquote(name.removeprefix(self.base)) if self._short(name) else name

    def _short(self, name: str) -> bool:
        return name.startswith(self.base) and len(name) > len(self.base)

    def _texts(self, concept: Node, about: Any) -> dict[str, list[str]]:
        found: dict[str, list[str]] = {}
        for text in self.graph.objects(concept, about):
            language = getattr(text, "language", None) or ""
            found.setdefault(language, []).append(str(text))
        return {language: sorted(texts) for language, texts in found.items()}

    def _language(self, labels: dict[str, list[str]]) -> str:
        wanted = [*self.languages, "", *sorted(labels)]
        return next((name for name in wanted if name in labels), "")


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
    try:
        from rdflib import Graph
    except ImportError as error:
        raise MissingExtra("SKOS files", "skos") from error
    syntax = SYNTAX.get(Path(path).suffix.lower())
    if syntax is None:
        raise Mistake(f"{path}: the suffix says no syntax: use {', '.join(SYNTAX)}")
    listed = list(categories)
    taxonomy_of(listed)
    graph = Graph()
    for category in listed:
        _describe(graph, category, language, base)
    with writing(path) as out:
        out.write(graph.serialize(format=syntax))
    return len(listed)


def _iri(name: str, base: str) -> str:
    is_iri = name.startswith(("http://", "https://", "urn:")) and not set(name) & set(
        '<>"{}|^`\\ \t\r\n'
    )
    return name if is_iri else base + quote(name, safe="")


def _describe(graph: Graph, category: Category, language: str, base: str) -> None:
    from rdflib import Literal, URIRef
    from rdflib.namespace import OWL, RDF, SKOS

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
