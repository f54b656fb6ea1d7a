"""Daughters of a category, proposed from its documents."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from hashlib import blake2b
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np

from classmark.arrays import Ints, Rows, take
from classmark.clusters.agglomerative import Agglomerative
from classmark.clusters.kmeans import (
    SoftMixture,
    SphericalKMeans,
    choose_n_clusters,
    name_clusters,
)
from classmark.language import whole
from classmark.problems import refusal, worded
from classmark.taxonomy.category import Category
from classmark.workbench.categories.edit import split
from classmark.workbench.examples.example_search import Explainer
from classmark.workbench.examples.vectors import DocumentVectors, vectors_of
from classmark.workbench.results import Cell, Logged, Table
from classmark.workbench.store.log import whoami

if TYPE_CHECKING:
    from classmark.workbench.project import Project
    from classmark.workbench.store.store import Store


PROPOSED = "proposed"  # the event that keeps proposals until they are accepted
METHODS = ("kmeans", "mixture", "agglomerative")
TERMS, EXAMPLES = 5, 3
NAMING = 2  # terms that make a label
LOOKED_AT = 30  # documents of a cluster that are searched for the words behind terms


@dataclass(frozen=True, slots=True)
class Proposal:
    """A daughter category that the documents of a category suggest.

    terms : what tells it from its sisters;  examples : the documents nearest to its
    centre;  cohesion : the mean cosine of its documents to the centre;  digest : of the
    documents' texts.
    """

    number: int
    id: str
    label: str
    terms: tuple[str, ...]
    examples: tuple[str, ...]
    cohesion: float
    documents: tuple[str, ...]
    digest: str


def propose(
    project: Project,
    node: str,
    *,
    k: int | None = None,
    method: str = "kmeans",
    who: str = "",
) -> list[Proposal]:
    """Cluster the documents that are in a category itself, not in those below it.

    k : how many daughters; None tries a few numbers and takes that with the greatest
    silhouette.  method : "kmeans", "mixture" (of distributions of words, which sees no
    meaning) or "agglomerative" (Ward). The proposals are kept, and those before them
    for the same category are forgotten. Documents without any known word are left out.
    """
    if method not in METHODS:
        raise refusal(
            "method is %(method)r: use %(methods)s",
            method=method,
            methods=", ".join(METHODS),
        )
    store = project.store
    store.require_open([node])
    collection = vectors_of(project)
    ids, rows = _documents(store, node, collection)
    if k is not None and not 2 <= k <= len(ids):
        raise refusal(
            "k is %(k)s, but only %(n)s documents of %(node)r can be "
            "grouped: enter a number from 2 to %(n)s",
            k=k,
            n=whole(len(ids)),
            node=node,
        )
    seen = collection.words(rows) if method == "mixture" else rows
    clusters = _clustered(seen, k, method)
    proposals = list(_described(project, node, collection, ids, rows, clusters))
    store.note_event(
        PROPOSED, who or whoami(), node=store.number_of(node), method=method,
        proposals=[asdict(proposal) for proposal in proposals],
    )  # fmt: skip
    return proposals


def accept(
    project: Project,
    node: str,
    number: int,
    *,
    id_: str | None = None,
    label: str | None = None,
    who: str = "",
) -> Logged:
    """Make a proposal a daughter of the category, and move its documents there.

    One act of the log, taken back by one undo. Refused when one of the documents is
    not in the category any more, or its text has changed.
    """
    store = project.store
    with store.transaction():
        store.require_open([node])
        chosen = _proposal(store, node, number)
        _require_unchanged(store, node, chosen)
        id_ = chosen.id if id_ is None else id_
        label = chosen.label if label is None else label
        new = Category(id_, label, parents=(node,))
        return split(project, node, new, chosen.documents, who)


def as_table(node: str, proposals: Sequence[Proposal]) -> Table:
    """The proposals as people read them."""
    rows: list[dict[str, Cell]] = [
        {
            "number": proposal.number,
            "id": proposal.id,
            "label": proposal.label,
            "documents": len(proposal.documents),
            "cohesion": proposal.cohesion,
            "terms": ", ".join(proposal.terms),
            "examples": ", ".join(proposal.examples),
        }
        for proposal in proposals
    ]
    note = (
        f"to take one: classmark taxonomy accept {node} NUMBER [--id ID --label LABEL]"
    )
    return Table(f"Proposed below {node}", rows, note)


def _documents(
    store: Store, node: str, collection: DocumentVectors
) -> tuple[list[str], Rows]:
    """The documents of a category itself that have words, and their vectors."""
    labelled = _labelled(store, node)
    if not labelled:
        raise refusal(
            "no document is in %(node)r itself: assign some, or choose a "
            "category that has documents",
            node=node,
        )
    places = [place for place, id_ in enumerate(collection.ids) if id_ in labelled]
    rows = take(collection.rows, places)
    has_words = np.flatnonzero(np.diff(collection.words(rows).starts))
    if len(has_words) < 2:
        raise refusal(
            "%(node)r has too few documents with words (%(n)s): at least "
            "two are needed",
            node=node,
            n=whole(len(has_words)),
        )
    ids = [collection.ids[places[at]] for at in has_words]
    return ids, take(rows, has_words)


def _labelled(store: Store, node: str) -> set[str]:
    sql = "SELECT document FROM labels WHERE category = ?"
    return {id_ for (id_,) in store.run(sql, (node,))}


def _clustered(rows: Rows, k: int | None, method: str) -> Ints:
    """Cluster numbers from 0, the greatest cluster first."""
    n_clusters = choose_n_clusters(rows) if k is None else k
    model: Any = {
        "kmeans": SphericalKMeans(n_clusters, n_init=5),
        "mixture": SoftMixture(n_clusters),
        "agglomerative": Agglomerative(n_clusters),
    }[method]
    labels = model.fit(rows).labels_
    _, labels, sizes = np.unique(labels, return_inverse=True, return_counts=True)
    place = np.empty(len(sizes), np.int64)
    place[np.argsort(-sizes, kind="stable")] = np.arange(len(sizes))
    return place[labels]


def _described(
    project: Project,
    node: str,
    collection: DocumentVectors,
    ids: list[str],
    rows: Rows,
    clusters: Ints,
) -> Iterator[Proposal]:
    terms_of = collection.vectorizer.vocabulary_.terms
    stems_of = name_clusters(collection.words(rows), clusters, terms_of, TERMS)
    lengths = collection.lengths(rows)
    ids_in_use = set(project.categories)
    prefix = prefix_of_ids(project, node)
    for cluster, stems in enumerate(stems_of):
        members = np.flatnonzero(clusters == cluster)
        matrix = take(rows, members).to_scipy().astype(np.float64)
        total = np.asarray(matrix.sum(axis=0)).ravel()
        cosines = matrix @ (total / np.linalg.norm(total)) / lengths[members]
        nearest = [ids[members[i]] for i in np.argsort(-cosines, kind="stable")]
        terms = words_behind(project, collection, stems, nearest)
        id_ = free_id(prefix, terms or (f"part {cluster + 1}",), ids_in_use)
        ids_in_use.add(id_)
        documents = tuple(ids[member] for member in members)
        yield Proposal(
            cluster + 1,
            id_,
            ", ".join(terms[:NAMING]).capitalize(),
            terms,
            tuple(nearest[:EXAMPLES]),
            float(cosines.mean()),
            documents,
            _digest(project.store, documents),
        )


def words_behind(
    project: Project,
    collection: DocumentVectors,
    stems: Sequence[str],
    documents: Sequence[str],
) -> tuple[str, ...]:
    """A word for each stem that became it in the first of some documents."""
    explainer = Explainer(project, collection)
    for id_ in documents[:LOOKED_AT]:
        if all(stem in explainer.words for stem in stems):
            break
        explainer.read(project.store.document(id_))
    return tuple(explainer.words.get(stem, stem) for stem in stems)


def prefix_of_ids(project: Project, node: str) -> str:
    """What ids of daughters begin with, if most begin with the parent's: «nature.»."""
    categories = project.categories.values()
    pairs = [(c.id, parent) for c in categories for parent in c.parents]
    signs = [id_[len(up)] for id_, up in pairs if id_.startswith(up) and id_ != up]
    signs = [sign for sign in signs if not sign.isalnum()]
    return node + signs[0] if 2 * len(signs) > len(pairs) else ""


def free_id(prefix: str, terms: Sequence[str], ids_in_use: set[str]) -> str:
    """An id of the first term, of more of them, or with a number, not yet in use.

    >>> free_id("nature.", ("bees", "hive"), {"nature.bees"})
    'nature.bees-hive'
    """
    names = ["-".join(terms[:count]) for count in range(1, len(terms) + 1)]
    names = [prefix + name.replace(" ", "-") for name in names]
    numbered = (f"{names[0]}-{count}" for count in range(2, len(ids_in_use) + 3))
    return next(name for name in chain(names, numbered) if name not in ids_in_use)


def _digest(store: Store, documents: Sequence[str]) -> str:
    digest = blake2b(digest_size=16)
    for id_ in documents:
        fields = store.document(id_).fields
        digest.update(json.dumps([id_, dict(fields)], ensure_ascii=False).encode())
    return digest.hexdigest()


def proposals_below(store: Store, node: str) -> list[Proposal]:
    """What was proposed last below a category; empty where nothing was."""
    event = store.last_event(PROPOSED, node=store.number_of(node))
    proposals: list[dict[str, Any]] = event.get("proposals", [])
    return [
        Proposal(**each | {k: tuple(v) for k, v in each.items() if isinstance(v, list)})
        for each in proposals
    ]


def _remedy(node: str) -> str:
    return worded("run classmark taxonomy propose {node}", node=node)


def _proposal(store: Store, node: str, number: int) -> Proposal:
    proposals = proposals_below(store, node)
    if not proposals:
        raise refusal(
            "nothing is proposed below %(node)r: %(remedy)s",
            node=node,
            remedy=_remedy(node),
        )
    if not 1 <= number <= len(proposals):
        raise refusal(
            "there is no proposal %(number)s below %(node)r: give a number from "
            "1 to %(n)s",
            number=number,
            node=node,
            n=whole(len(proposals)),
        )
    return proposals[number - 1]


def _require_unchanged(store: Store, node: str, chosen: Proposal) -> None:
    remedy = f"{_remedy(node)} again"
    labelled = _labelled(store, node)
    gone = [id_ for id_ in chosen.documents if id_ not in labelled]
    if gone:
        raise refusal(
            "proposal %(number)s: %(n)s of its %(n2)s documents (the first "
            "is %(gone)r) are no longer in %(node)r: %(remedy)s",
            number=chosen.number,
            n=whole(len(gone)),
            n2=whole(len(chosen.documents)),
            gone=gone[0],
            node=node,
            remedy=remedy,
        )
    if _digest(store, chosen.documents) != chosen.digest:
        raise refusal(
            "proposal %(number)s: the text of a document has changed: %(remedy)s",
            number=chosen.number,
            remedy=remedy,
        )
