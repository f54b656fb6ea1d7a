"""Why a category, by its meaning: sentences of the text, and documents labelled so."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from textwrap import shorten
from typing import TYPE_CHECKING, NamedTuple, cast

from classmark.formats.records import Record
from classmark.language import N_, _, joined, ngettext, whole
from classmark.problems import worded
from classmark.rankers.reasons import (
    SENTENCES,
    SentencePart,
    meaning_cosines,
    meaning_parts,
    source_of,
    strongest,
)
from classmark.ranking import order
from classmark.taxonomy.category import path_names
from classmark.text import sentences
from classmark.workbench.learning.fit import TEST, part_of
from classmark.workbench.learning.live import held
from classmark.workbench.store.store import title_of

if TYPE_CHECKING:
    from classmark.meaning.sources import Vectors
    from classmark.meaning.vector_file import VectorFile
    from classmark.rankers.text_ranker import TextRanker
    from classmark.workbench.project import Project

SHOWN = 3  # sentences, and documents
READ = N_("of %(n)s sentences the first %(first)s were read")
COMPARED = 10_000  # documents of a category, those decided last
ENCODED = 20  # of them, whose vectors are not stored
LONGEST = 300  # letters of a sentence that are shown


class NearDocument(NamedTuple):
    """A document, and the cosine of its meaning with that of the text in question."""

    document: str
    title: str
    cosine: float


@dataclass(frozen=True, slots=True)
class MeaningReasons:
    """What speaks for a category by its meaning.

    words, meaning : as of a suggestion;  sentences : of the text, the strongest first,
    with what each would add if it were the text;  documents : those learned from that
    have the category and mean most nearly the same;  note : what was not looked at, and
    why, or "".
    """

    category: str
    path: tuple[str, ...]
    words: float | None = None
    meaning: float | None = None
    sentences: tuple[SentencePart, ...] = ()
    documents: tuple[NearDocument, ...] = ()
    note: str = ""


def meaning_reasons(
    project: Project, text: str, categories: Sequence[str], document: str = ""
) -> list[MeaningReasons]:
    """What speaks for each of some categories by its meaning.

    document : the text's own, which is not compared with itself. Sentences are encoded
    once for all categories, while the model may go on learning.
    """
    model = project.require_model()
    for category in categories:
        model.require_ranked(category)
    if note := _without_parts(model):
        return [
            MeaningReasons(category, _path(project, category), note=note)
            for category in categories
        ]
    vectors, pieces = _stored_vectors(model), sentences(text)
    own, encoded, note = vectors.encode([text])[0], None, ""
    if vectors.source is None:
        note = _("your own vectors are of whole documents: its sentences have none")
    else:
        encoded = vectors.encode(pieces[:SENTENCES])
        if len(pieces) > SENTENCES:
            note = _(READ, n=whole(len(pieces)), first=whole(SENTENCES))
    found = []
    for category in categories:
        with held(model):
            words, meaning = model.score_parts(text, category)
            best = []
            if encoded is not None:
                best = strongest(pieces, meaning_parts(model, encoded, category), SHOWN)
        near, more = _nearest(project, model, own, category, document)
        notes = joined(note, more)
        found.append(
            MeaningReasons(
                category,
                _path(project, category),
                words,
                meaning,
                tuple(map(_short, best)),
                near,
                notes,
            )
        )
    return found


def _without_parts(model: TextRanker) -> str:
    """Why a model's scores have no part of meaning, in words; "" where they have."""
    if not model.has_meaning:
        return _("the model ranks by words alone")
    if not model.ranker.weighs_columns:
        return _("the scores of this model are not split into words and meaning")
    return ""


def _stored_vectors(model: TextRanker) -> VectorFile:
    """Those of a project's model, which are always stored by text."""
    return cast("VectorFile", source_of(model))


def _path(project: Project, category: str) -> tuple[str, ...]:
    return path_names(project.categories, project.tree, category)


def _short(each: SentencePart) -> SentencePart:
    return each._replace(sentence=shorten(each.sentence, LONGEST, placeholder=" …"))


def _nearest(
    project: Project, model: TextRanker, own: Vectors, category: str, document: str
) -> tuple[tuple[NearDocument, ...], str]:
    """Documents of a category nearest to a vector, and which were not compared.

    Stored vectors are compared, and of those decided since a training the last few.
    """
    store, vectors = project.store, _stored_vectors(model)
    ids = [id_ for id_ in project.state.documents.get(category, ()) if id_ != document]
    texts = {
        id_: project.text_of(Record(store.document(id_))) for id_ in ids[-COMPARED:]
    }
    new = [id_ for id_, text in texts.items() if text not in vectors]
    for id_ in new if vectors.source is None else new[:-ENCODED]:
        del texts[id_]
    notes = []
    if len(ids) > COMPARED:
        notes.append(
            _(
                "of its %(n)s documents the %(last)s decided last were compared",
                n=whole(len(ids)),
                last=whole(COMPARED),
            )
        )
    if len(new) > ENCODED:
        notes.append(
            ngettext(
                "%(n)s of its documents has no vector yet: %(remedy)s",
                "%(n)s of its documents have no vector yet: %(remedy)s",
                len(new) - ENCODED,
                remedy=worded("run classmark train"),
            )
        )
    cosines = meaning_cosines(model, own, vectors.encode(texts.values()))
    names, near = list(texts), list[NearDocument]()
    for at in order(cosines).tolist():
        if len(near) == SHOWN or cosines[at] <= 0:
            break
        record = store.record(names[at])
        if part_of(record) != TEST:
            title = title_of(record.document)
            near.append(NearDocument(record.id, title, float(cosines[at])))
    return tuple(near), joined(*notes)
