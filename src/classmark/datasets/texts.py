"""Texts with labels: newsgroups, newswire, packages, classes; and graphs of links."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

from classmark.corpus.documents import Document
from classmark.datasets.dataset import (
    CollectionDocuments,
    Dataset,
    DatasetPart,
    Link,
    any_of,
    chosen_split,
    descriptions_of,
    in_test,
    json_rows,
    names_in,
    one_of,
)
from classmark.formats.annif import read_annif
from classmark.formats.archive import read_newsgroups
from classmark.formats.reuters import (
    TOKENS,
    TOPICS,
    modapte_part,
    rcv1_topics,
    read_rcv1_tokens,
    read_reuters,
)
from classmark.formats.taxonomies import read_categories, tree_of_chains
from classmark.formats.text_files import Numbered, lines
from classmark.progress import track
from classmark.taxonomy.category import Category, taxonomy_of
from classmark.taxonomy.tree import Taxonomy

STEM = "20news-bydate-"
Labelled = tuple[str, str, str, Iterable[str]]  # id, key of the split, text, labels


def load_newsgroups(folder: Path, _split: str | None) -> Dataset:
    """Load ``20news-bydate-{train,test}``, folders of messages or JSONL files.

    The tree has the groups below the first word of their names, comp.*, rec.*, ….
    """
    parts = []
    for name in ("train", "test"):
        part = DatasetPart()
        path = one_of(folder, f"{STEM}{name}.jsonl*", f"{STEM}{name}")
        for group, message, text in track(
            _messages(path), f"reading 20 Newsgroups, {name}"
        ):
            part.add(f"{group}/{message}", text, [group])
        parts.append(part)
    names = names_in(*parts)
    return Dataset(
        "20newsgroups-bydate",
        parts[0],
        parts[1],
        label_names=names,
        tree=lambda: Taxonomy([(group.split(".")[0], group) for group in names]),
    )


def _messages(path: Path) -> Iterator[list[str]]:
    """Yield group, number and text of each message."""
    if path.is_dir():
        for record in read_newsgroups(path):
            yield [*record.id.rsplit("/", 1), record.document.text]
        return
    yield from json_rows(path, group=str, id=str, text=str)


def load_reuters(folder: Path, split: str | None) -> Dataset:
    """Load ``reut2-*.sgm`` (or the tarball with them).

    split : ``"modapte"`` (the default), with 9,603 and 3,299 stories, of which 7,775
    and 3,019 have labels; or ``"all"``, all stories in ``train``. ``label_names`` are
    the 115 topics of the training stories; the three topics that only test stories have
    can't be learned and are left out of ``test.labels``.
    """
    split = chosen_split(split, "modapte", "all")
    parts = {"train": DatasetPart(), "test": DatasetPart()}
    for record in track(read_reuters(folder), "reading Reuters-21578", 21_578):
        name = "train" if split == "all" else modapte_part(record)
        if name is not None:
            parts[name].add(record.id, record.document.text, record.labels)
    topics = names_in(parts["train"])
    seen = set(topics)
    for labels in parts["test"].labels:
        labels[:] = [label for label in labels if label in seen]
    return Dataset("reuters-21578", parts["train"], parts["test"], label_names=topics)


LAST_OF_TRAIN = 26_150


def load_rcv1(folder: Path, split: str | None) -> Dataset:
    """Load the topics of RCV1-v2.

    split : ``"lyrl2004"`` (the default), the labels of all 804,414 documents, 23,149 in
    train, without texts; where ``lyrl2004_tokens_*.dat`` are there, their documents,
    with the stems of their words; or ``"tokens"``, the 2,316 documents of which the
    tokens are there in JSON, one in three in ``test``. The tree is that of
    ``rcv1.topics.hier.orig`` or of a ``.taxonomy``.
    """
    path = one_of(folder, "*.hier.orig", "*.taxonomy")
    categories = read_categories(path)
    topics = [category.id for category in categories if category.parents]
    if chosen_split(split, "lyrl2004", "tokens") == "tokens":
        path = one_of(folder, "*rcv1_dev.json")
        rows = json_rows(path, doc_label=list, doc_token=list)
        train, test = _divided(
            (str(number), str(number), " ".join(map(str, tokens)), map(str, labels))
            for number, (labels, tokens) in enumerate(rows, 1)
        )
    else:
        train, test = _judged(folder, topics)
    return Dataset(
        "rcv1-v2-topics",
        train,
        test,
        label_names=topics,
        tree=lambda: taxonomy_of(categories),
    )


def _judged(folder: Path, topics: list[str]) -> tuple[DatasetPart, DatasetPart]:
    train, test = DatasetPart(), DatasetPart()
    topics_of = rcv1_topics(one_of(folder, TOPICS), set(topics))
    if any_of(folder, TOKENS) is None:
        for name, labels in topics_of.items():
            part = train if int(name) <= LAST_OF_TRAIN else test
            part.ids.append(name)
            part.labels.append(list(labels))
    else:
        for record in track(read_rcv1_tokens(folder, topics_of), "reading RCV1"):
            part = train if int(record.id) <= LAST_OF_TRAIN else test
            part.add(record.id, record.document.text, record.labels)
    return train, test


def tree_of_paths(names: Iterable[str], separator: str) -> Taxonomy:
    """Build the tree that names such as ``a.b.c`` spell, inner names included.

    >>> tree_of_paths(["a.b", "a.c"], ".").edges
    [('a', 'a.b'), ('a', 'a.c')]
    """
    paths = [name.split(separator) for name in names]
    return tree_of_chains(
        [separator.join(steps[: at + 1]) for at in range(len(steps))] for steps in paths
    )


def last_steps(names: Iterable[str], separator: str) -> DatasetPart:
    """Describe each category of a tree of paths by the last step of its name.

    >>> last_steps(["a.black_bees"], ".").texts
    ['a', 'black bees']
    """
    nodes = tree_of_paths(names, separator).nodes
    texts = [name.split(separator)[-1].replace("_", " ") for name in nodes]
    return DatasetPart(ids=nodes, texts=texts)


def _divided(rows: Iterable[Labelled]) -> tuple[DatasetPart, DatasetPart]:
    """Share (id, key, text, labels) rows among train and test by their keys."""
    train, test = DatasetPart(), DatasetPart()
    for name, key, text, labels in rows:
        (test if in_test(key) else train).add(name, text, labels)
    return train, test


def load_debtags(folder: Path, split: str | None) -> Dataset:
    """Load Debian packages with their tags; no tag is an empty list of labels.

    split : None for tags (``facet::tag``, some with a third level ``facet::a:b``), or
    ``"sections"`` for the section as the only label. Packages of one source, which
    share text, are in one part.
    """
    by_section = chosen_split(split, "tags", "sections") == "sections"

    kinds = dict.fromkeys(("package", "source", "short", "long", "section"), str)
    rows = json_rows(one_of(folder, "packages.jsonl*"), **kinds, tags=list)
    packages = track(rows, "reading packages", 63_440)
    train, test = _divided(
        (name, source, f"{short}\n{long}", [section] if by_section else map(str, tags))
        for name, source, short, long, section, tags in packages
    )
    names = names_in(train, test)
    chains = []
    for tag in names:
        facet, _, rest = tag.partition("::")
        group, colon, _ = rest.partition(":")
        chains.append([facet, *([f"{facet}::{group}"] if colon else []), tag])
    tree = None if by_section else lambda: tree_of_chains(chains)
    return Dataset("debian-debtags", train, test, label_names=names, tree=tree)


def load_pypi(folder: Path, _split: str | None) -> Dataset:
    """Load Python projects with their ``Topic ::`` classifiers."""
    path = one_of(folder, "packages.jsonl*")
    rows = json_rows(path, name=str, summary=str, topics=list, description=str)
    parts = _divided(
        (name, name, f"{summary}\n{text}", map(str, topics))
        for name, summary, topics, text in rows
    )
    return _with_paths("pypi-topics", parts, names_in(*parts), " :: ")


def _with_paths(
    name: str,
    parts: tuple[DatasetPart, DatasetPart],
    names: list[str],
    separator: str,
    **more: Any,
) -> Dataset:
    """Return a set whose labels are paths in a tree, described by their last steps."""
    return Dataset(
        name,
        *parts,
        label_names=names,
        tree=lambda: tree_of_paths(names, separator),
        about=lambda: last_steps(names, separator),
        **more,
    )


def load_makupalat(folder: Path, _split: str | None) -> Dataset:
    """Load Finnish link descriptions with decimal classes (URIs) and their tree."""
    parts = []
    for name in ("train", "validate", "test"):
        part = DatasetPart()
        for record in read_annif(one_of(folder, f"*-{name}.tsv"), name=name):
            id_ = record.id.replace(":", "-")
            part.add(id_, record.document.text, record.labels)
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
    table = one_of(folder, "categories.tsv", "*/categories.tsv")
    for article, category in _pairs(table):
        labels.setdefault(article, []).append(category)
    path = one_of(folder, "articles.jsonl*", "plaintext_articles")
    articles = track(_articles(path), "reading articles", 4_604)
    parts = _divided((n, n, text, labels.get(n, [])) for n, text in articles)
    return _with_paths(
        "wikispeedia",
        parts,
        sorted({category for categories in labels.values() for category in categories}),
        ".",
        documents=CollectionDocuments(
            lambda: (Document(name, {"body": text}) for name, text in _articles(path))
        ),
        links=[
            Link(*pair) for pair in _pairs(one_of(folder, "links.tsv", "*/links.tsv"))
        ],
    )


def _articles(path: Path) -> Iterator[list[str]]:
    if path.is_dir():
        for file in sorted(path.glob("*.txt")):
            yield [file.stem, "\n".join(line for _, line in lines(file))]
        return
    yield from json_rows(path, id=str, text=str)


def _pairs(path: Path, separator: str | None = "\t") -> Iterator[list[str]]:
    """Yield the two cells of each line that is no comment."""
    file = lines(path, blank=False)
    for _, line in file:
        if not line.startswith("#"):
            cells = line.split(separator)
            if len(cells) != 2:
                file.refuse(f"{len(cells)} cells: two are needed")
            yield cells


FIELD = re.compile(r'\s*(id|label|value|source|target)\s+(?:"([^"]*)"|(-?\d{1,18}))\s*')
SIDES = {"0": "liberal", "1": "conservative"}


def load_edges(folder: Path, _split: str | None) -> Dataset:
    """Load a list of ``source target`` lines; ``#`` begins a comment line.

    ``train.ids`` are the nodes, in the order of first appearance.
    """
    path = one_of(folder, "edges.tsv*", "*.tsv*", "[!R]*.txt*")
    links = [Link(*ends) for ends in _pairs(path, None)]
    nodes = list(dict.fromkeys(end for link in links for end in link[:2]))
    return Dataset(
        folder.name, DatasetPart(nodes, labels=[[] for _ in nodes]), links=links
    )


def load_polblogs(folder: Path, _split: str | None) -> Dataset:
    """Load the political blogs of 2004 (GML): labels liberal (0), conservative (1)."""
    path = one_of(folder, "*.gml*")
    part, links = DatasetPart(), []
    names: dict[str, str] = {}
    blocks = Numbered(path, _blocks(path))
    for _, (kind, fields) in blocks:
        if kind == "node":
            name = fields.get("label") or fields.get("id", "")
            names[fields.get("id", "")] = name
            part.ids.append(name)
            part.labels.append([SIDES[fields["value"]]] if "value" in fields else [])
        else:
            ends = fields.get("source", ""), fields.get("target", "")
            if not set(ends) <= names.keys():
                blocks.refuse("an edge without its two nodes")
            links.append(Link(names[ends[0]], names[ends[1]]))
    return Dataset("graph-polblogs", part, label_names=names_in(part), links=links)


def _blocks(path: Path) -> Iterator[tuple[int, tuple[str, dict[str, str]]]]:
    """Yield (line, (node or edge, its fields)) of a GML file."""
    kind = ""
    fields: dict[str, str] = {}
    for number, line in lines(path, blank=False):
        word = line.split()[0]
        if word in ("node", "edge"):
            kind, fields = word, {}
        elif word == "]" and kind:
            yield number, (kind, fields)
            kind = ""
        elif kind and (match := FIELD.fullmatch(line)):
            fields[match[1]] = match[2] if match[3] is None else match[3]
