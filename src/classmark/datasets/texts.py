"""Texts with labels: newsgroups, newswire, packages, topics, library classes."""

from __future__ import annotations

from functools import cache
from itertools import groupby, pairwise
from operator import itemgetter
from typing import TYPE_CHECKING, Any

from classmark.corpus.documents import Document
from classmark.datasets.dataset import (
    Dataset,
    Documents,
    Link,
    Part,
    any_of,
    descriptions_of,
    in_test,
    names_in,
    one_of,
)
from classmark.formats.annif import read_annif
from classmark.formats.archive import read_newsgroups
from classmark.formats.jsonl import json_lines
from classmark.formats.reuters import modapte_part, read_reuters
from classmark.formats.taxonomies import read_children_lists
from classmark.formats.text_files import lines
from classmark.problems import Mistake, UnreadableFile
from classmark.progress import track
from classmark.taxonomy.category import Category, taxonomy_of
from classmark.taxonomy.tree import Taxonomy

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path


STEM = "20news-bydate-"


def load_newsgroups(folder: Path, _split: str | None) -> Dataset:
    """Load ``20news-bydate-{train,test}``, folders of messages or JSONL files."""
    train, test = (_part(folder, name) for name in ("train", "test"))
    names = names_in(train, test)
    return Dataset(
        "20newsgroups-bydate", train, test, label_names=names, tree=lambda: _tree(names)
    )


def _part(folder: Path, name: str) -> Part:
    part = Part()
    lines = any_of(folder, f"{STEM}{name}.jsonl*")
    records = _from_lines(lines) if lines else _from_folder(folder, name)
    for message, group, text in track(records, f"reading 20 Newsgroups, {name}"):
        part.ids.append(f"{group}/{message}")
        part.texts.append(text)
        part.labels.append([group])
    return part


def _from_lines(path: Path) -> Iterator[tuple[str, str, str]]:
    for number, row in json_lines(path):
        message, group, text = row.get("id"), row.get("group"), row.get("text")
        if not all(isinstance(value, str) for value in (message, group, text)):
            raise UnreadableFile(path, number, "id, group and text are needed, as text")
        yield str(message), str(group), str(text)


def _from_folder(folder: Path, name: str) -> Iterator[tuple[str, str, str]]:
    for record in read_newsgroups(one_of(folder, f"{STEM}{name}")):
        group, _, message = record.id.rpartition("/")
        yield message, group, record.document.text


def _tree(groups: list[str]) -> Taxonomy:
    """Groups below the first word of their names, comp.*, rec.*, …."""
    return Taxonomy([(group.split(".")[0], group) for group in groups])


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
    topics = names_in(parts["train"])
    seen = set(topics)
    for labels in parts["test"].labels:
        labels[:] = [label for label in labels if label in seen]
    return Dataset("reuters-21578", parts["train"], parts["test"], label_names=topics)


LAST_OF_TRAIN = 26_150


def load_rcv1(folder: Path, split: str | None) -> Dataset:
    """Load the topics of RCV1-v2.

    split : ``"lyrl2004"`` (the default), the labels of all 804,414 documents, 23,149 in
    train, without texts; or ``"tokens"``, the 2,316 documents of which the tokens are
    there, one in three in ``test``.
    """
    path = one_of(folder, "*.taxonomy")
    categories = read_children_lists(path)
    topics = [category.id for category in categories if category.parents]
    if split in (None, "lyrl2004"):
        train, test = _judged(one_of(folder, "*topics.qrels*"), topics)
    elif split == "tokens":
        train, test = _tokens(one_of(folder, "*rcv1_dev.json"))
    else:
        raise Mistake(f"split={split!r}: rcv1-v2-topics has 'lyrl2004' and 'tokens'")
    return Dataset(
        "rcv1-v2-topics",
        train,
        test,
        label_names=topics,
        tree=lambda: taxonomy_of(categories),
    )


def _judged(path: Path, topics: list[str]) -> tuple[Part, Part]:
    train, test = Part(), Part()
    interned = {topic: topic for topic in topics}
    rows = track(_lines(path, interned), "reading RCV1's labels", 2_606_875)
    for document, labels in groupby(rows, itemgetter(0)):
        part = train if int(document) <= LAST_OF_TRAIN else test
        part.ids.append(document)
        part.labels.append([topic for _, topic in labels])
    return train, test


def _lines(path: Path, topics: dict[str, str]) -> Iterator[tuple[str, str]]:
    for number, line in lines(path):
        row = line.split()
        if not row:
            continue
        if len(row) != 3 or row[0] not in topics or not row[1].isdecimal():
            raise UnreadableFile(
                path, number, "not 'topic document 1' with a known topic"
            )
        yield row[1], topics[row[0]]


def _tokens(path: Path) -> tuple[Part, Part]:
    train, test = Part(), Part()
    for number, row in json_lines(path):
        labels, tokens = row.get("doc_label"), row.get("doc_token")
        if not isinstance(labels, list) or not isinstance(tokens, list):
            raise UnreadableFile(path, number, "doc_label and doc_token are needed")
        part = test if in_test(str(number)) else train
        part.ids.append(str(number))
        part.texts.append(" ".join(map(str, tokens)))
        part.labels.append([str(label) for label in labels])
    return train, test


def tree_of_paths(names: Iterable[str], separator: str) -> Taxonomy:
    """Build the tree that names such as ``a.b.c`` spell, inner names included.

    >>> tree_of_paths(["a.b", "a.c"], ".").edges
    [('a', 'a.b'), ('a', 'a.c')]
    """
    edges: list[tuple[str, str]] = []
    nodes: dict[str, None] = {}
    for name in names:
        steps = name.split(separator)
        chain = [separator.join(steps[: at + 1]) for at in range(len(steps))]
        nodes.update(dict.fromkeys(chain))
        edges += pairwise(chain)
    return Taxonomy(edges, nodes=nodes)


def last_steps(names: Iterable[str], separator: str) -> Part:
    """Describe each category of a tree of paths by the last step of its name.

    >>> last_steps(["a.black_bees"], ".").texts
    ['a', 'black bees']
    """
    nodes = tree_of_paths(names, separator).nodes
    texts = [name.split(separator)[-1].replace("_", " ") for name in nodes]
    return Part(ids=nodes, texts=texts)


def _divided(rows: Iterable[tuple[str, str, str, list[str]]]) -> tuple[Part, Part]:
    """Share (id, key, text, labels) rows among train and test by their keys."""
    train, test = Part(), Part()
    for name, key, text, labels in rows:
        part = test if in_test(key) else train
        part.ids.append(name)
        part.texts.append(text)
        part.labels.append(labels)
    return train, test


def _needed(path: Path, line: int, row: dict[str, Any], **kinds: type) -> list[Any]:
    for key, kind in kinds.items():
        if not isinstance(row.get(key), kind):
            raise UnreadableFile(path, line, f"{key!r} is needed, a {kind.__name__}")
    return [row[key] for key in kinds]


def load_debtags(folder: Path, split: str | None) -> Dataset:
    """Load Debian packages with their tags; no tag is an empty list of labels.

    split : None for tags (``facet::tag``, some with a third level ``facet::a:b``), or
    ``"sections"`` for the section as the only label. Packages of one source, which
    share text, are in one part.
    """
    if split not in (None, "tags", "sections"):
        raise Mistake(f"split={split!r}: debian-debtags has 'tags' and 'sections'")

    def rows() -> Iterator[tuple[str, str, str, list[str]]]:
        path = one_of(folder, "packages.jsonl*")
        for line, row in track(json_lines(path), "reading packages", 63_440):
            name, source, section, tags, short, long = _needed(
                path,
                line,
                row,
                package=str,
                source=str,
                section=str,
                tags=list,
                short=str,
                long=str,
            )
            labels = [section] if split == "sections" else [str(tag) for tag in tags]
            yield name, source, f"{short}\n{long}", labels

    train, test = _divided(rows())
    names = names_in(train, test)
    tree = None if split == "sections" else lambda: _facets(names)
    return Dataset("debian-debtags", train, test, label_names=names, tree=tree)


def _facets(tags: list[str]) -> Taxonomy:
    edges: list[tuple[str, str]] = []
    for tag in tags:
        facet, _, rest = tag.partition("::")
        group, colon, _ = rest.partition(":")
        middle = [f"{facet}::{group}"] if colon else []
        chain = [facet, *middle, tag]
        edges += pairwise(chain)
    return Taxonomy(edges)


def load_pypi(folder: Path, _split: str | None) -> Dataset:
    """Load Python projects with their ``Topic ::`` classifiers."""

    def rows() -> Iterator[tuple[str, str, str, list[str]]]:
        path = one_of(folder, "packages.jsonl*")
        for line, row in json_lines(path):
            name, summary, topics, text = _needed(
                path, line, row, name=str, summary=str, topics=list, description=str
            )
            yield name, name, f"{summary}\n{text}", [str(topic) for topic in topics]

    train, test = _divided(rows())
    names = names_in(train, test)
    return Dataset(
        "pypi-topics",
        train,
        test,
        label_names=names,
        tree=lambda: tree_of_paths(names, " :: "),
        about=lambda: last_steps(names, " :: "),
    )


def load_makupalat(folder: Path, _split: str | None) -> Dataset:
    """Load Finnish link descriptions with decimal classes (URIs) and their tree."""
    parts = []
    for name in ("train", "validate", "test"):
        part = Part()
        for record in read_annif(one_of(folder, f"*-{name}.tsv")):
            part.ids.append(f"{name}-{record.id}")
            part.texts.append(record.document.text)
            part.labels.append(list(record.labels))
        parts.append(part)
    vocabulary = one_of(folder, "*skos*.ttl", "*.ttl")

    @cache
    def categories() -> list[Category]:
        from classmark.formats.taxonomies import read_skos

        return read_skos(vocabulary, languages=("fi",))

    train, validation, test = parts
    return Dataset(
        "annif-makupalat",
        train,
        test,
        validation,
        label_names=names_in(*parts),
        tree=lambda: taxonomy_of(categories()),
        about=lambda: descriptions_of(categories()),
    )


def load_wikispeedia(folder: Path, _split: str | None) -> Dataset:
    """Load the articles with their category paths, and the links between them."""
    labels: dict[str, list[str]] = {}
    for article, category in _pairs(
        one_of(folder, "categories.tsv", "*/categories.tsv")
    ):
        labels.setdefault(article, []).append(category)
    path = one_of(folder, "articles.jsonl*", "plaintext_articles")

    def rows() -> Iterator[tuple[str, str, str, list[str]]]:
        for name, text in track(_articles(path), "reading articles", 4_604):
            yield name, name, text, labels.get(name, [])

    train, test = _divided(rows())
    names = sorted(
        {category for categories in labels.values() for category in categories}
    )
    return Dataset(
        "wikispeedia",
        train,
        test,
        label_names=names,
        tree=lambda: tree_of_paths(names, "."),
        about=lambda: last_steps(names, "."),
        documents=Documents(
            lambda: (Document(name, {"body": text}) for name, text in _articles(path))
        ),
        links=[
            Link(*pair) for pair in _pairs(one_of(folder, "links.tsv", "*/links.tsv"))
        ],
    )


def _articles(path: Path) -> Iterator[tuple[str, str]]:
    if path.is_dir():
        for file in sorted(path.glob("*.txt")):
            yield file.stem, "\n".join(line for _, line in lines(file))
        return
    for line, row in json_lines(path):
        name, text = _needed(path, line, row, id=str, text=str)
        yield name, text


def _pairs(path: Path) -> Iterator[tuple[str, str]]:
    for number, line in lines(path):
        if line.strip() and not line.startswith("#"):
            cells = line.split("\t")
            if len(cells) != 2:
                raise UnreadableFile(path, number, "two cells and a tab are needed")
            yield cells[0], cells[1]
