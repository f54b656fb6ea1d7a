"""LiveTextRanker: ranks every category for the next text, and learns each decision."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from classmark.preferences.graph import PreferenceGraph, short_name
from classmark.problems import Mistake
from classmark.rankers.preference import PreferenceRanker, Words, lesson_of
from classmark.rankers.text_ranker import Suggestion, TextRanker
from classmark.solvers.live_documents import Lesson
from classmark.solvers.preference_live import LiveDual, from_arrays, to_arrays
from classmark.storage import (
    open_folder,
    pack_strings,
    prefixed,
    save,
    unpack_strings,
    with_prefix,
)
from classmark.weighting.live import LiveVectorizer

FORMAT, VERSION = "classmark live text ranker", 1
Labelling = PreferenceGraph | Sequence[int]


class LiveTextRanker:
    """Texts in, ranked category ids out; documents are taught, taught anew, forgotten.

    A document is taught under an id; to teach it anew takes back what it taught before.
    Its words are weighed once, when it is first taught. Categories are known by keys,
    which are numbered in the order they come; ``show`` says which of them are ranked.

    >>> ranker = LiveTextRanker(LiveVectorizer(), PreferenceRanker(C=3.0))
    >>> ranker.add(["bees", "roads"])
    >>> ranker.teach("d1", "A hive of bees", [0])
    True
    >>> ranker.suggest("the hive", k=1)[0].category
    'bees'
    """

    def __init__(
        self,
        vectorizer: LiveVectorizer,
        ranker: PreferenceRanker,
        categories: Sequence[str] = (),
    ) -> None:
        self.model = TextRanker(vectorizer, ranker, categories)
        self.vectorizer, self.ranker = vectorizer, ranker
        self.handles: dict[str, int] = {}
        if ranker.live_ is None:
            if callable(short_name(ranker.loss)):
                raise Mistake("loss is a function: use the name of a loss")
            ranker.begin_stream()

    @classmethod
    def start(cls, trained: TextRanker, ids: Iterable[str]) -> LiveTextRanker:
        """Go on from a trained ranker; ``ids`` name the documents it was fitted on."""
        ranker, vectorizer = trained.ranker.simple, trained.vectorizer
        if not isinstance(ranker, PreferenceRanker):
            raise Mistake(
                "only the learner plm learns from every decision: train with plm"
            )
        if isinstance(vectorizer, LiveVectorizer):
            raise Mistake("this ranker is live already: teach it")
        ranker.begin_stream()
        live = cls(LiveVectorizer.start(vectorizer), ranker, trained.categories)
        live.model.calibrator = trained.calibrator
        live.handles = {id_: handle for handle, id_ in enumerate(ids)}
        ranker.show_stream()
        return live

    @property
    def dual(self) -> LiveDual:
        """The problem that is being solved."""
        if self.ranker.live_ is None:
            raise Mistake("this ranker was fitted anew: make a new LiveTextRanker")
        return self.ranker.live_

    @property
    def categories(self) -> list[str]:
        """The keys of all categories, by number."""
        return self.model.categories

    def add(self, keys: Iterable[str]) -> None:
        """Know more categories."""
        self.categories.extend(keys)
        self.dual.grow(0, len(self.categories))
        self.ranker.show_stream()

    def show(self, numbers: Iterable[int]) -> None:
        """Rank these categories, and no others, from now on."""
        self.dual.hide(set(range(len(self.categories))) - set(numbers))

    def teach(self, id_: str, text: str, labels: Labelling | None) -> bool:
        """Learn the present labels of a document: a graph, label numbers, or None.

        Return whether anything was learned: labels as before are not learned again. A
        document that is no longer stored (``max_documents``) is learned once more.
        """
        handle, weigh = self.handles.get(id_), self.vectorizer
        if handle is None or not self.dual.knows(handle):
            if labels is None:
                return False
            words = weigh.learn(text) if handle is None else weigh.rows([text]).row(0)
            self.handles[id_] = self.dual.learn(self._lesson(words, labels))
        else:
            before = self.dual.lesson(handle)
            if labels is None:
                self.dual.forget(handle)
                weigh.forget(text, before.columns)
                del self.handles[id_]
            else:
                lesson = self._lesson((before.columns, before.values), labels)
                if lesson.prefers_as(before):
                    return False
                self.dual.replace(handle, lesson)
        self.ranker.show_stream()
        return True

    def _lesson(self, words: Words, labels: Labelling) -> Lesson:
        if not isinstance(labels, PreferenceGraph):
            labels = PreferenceGraph.multilabel(len(self.categories), labels)
        return lesson_of(words, labels, short_name(self.ranker.loss))

    def revisit(self, count: int | None = None) -> int:
        """Visit documents again; return how many visits were made."""
        visits = self.ranker.revisit(count)
        self.ranker.show_stream()
        return visits

    def merge(self, number: int, into: int) -> None:
        """Let what was learned of one category count for another."""
        self.dual.merge(number, into)
        self.ranker.show_stream()

    def move(self, ids: Iterable[str], number: int, to: int) -> None:
        """Let documents of one category have another instead, with what they taught."""
        handles = [self.handles[id_] for id_ in ids if id_ in self.handles]
        self.dual.move([h for h in handles if self.dual.knows(h)], number, to)
        self.ranker.show_stream()

    def suggest(self, text: str, k: int = 10, terms: int = 5) -> list[Suggestion]:
        """The best of the categories shown, each with its strongest terms."""
        return self.model.suggest(text, k, terms)

    def save(self, folder: Path, facts: dict[str, Any] | None = None) -> None:
        """Write everything as a new folder; opened, it goes on as if never closed."""
        stored, described = self.model.to_arrays(facts)
        stored |= prefixed("dual_", to_arrays(self.dual))
        stored["ids"], stored["ids_ends"] = pack_strings(list(self.handles))
        stored["handles"] = np.array(list(self.handles.values()), np.int64)
        save(folder, FORMAT, VERSION, stored, described)

    @classmethod
    def open(cls, folder: Path) -> tuple[LiveTextRanker, dict[str, Any]]:
        """Open a saved folder; return it and the facts kept beside it."""
        saved = open_folder(folder, FORMAT, VERSION)
        ranker = PreferenceRanker.from_params(saved.settings["parameters"])
        dual = with_prefix("dual_", saved.arrays)
        ranker.live_ = from_arrays(dual, short_name(ranker.loss))
        model: Any = TextRanker.from_arrays(saved, LiveVectorizer, ranker)
        opened = cls(model.vectorizer, ranker, model.categories)
        opened.model.calibrator = model.calibrator
        ids = unpack_strings(saved.arrays["ids"], saved.arrays["ids_ends"])
        opened.handles = dict(zip(ids, saved.arrays["handles"].tolist(), strict=True))
        ranker.show_stream()
        return opened, saved.settings["facts"]


@cache
def load_kernels() -> None:
    """Have the compiled steps ready, so that nobody has to wait for them later."""
    ranker = LiveTextRanker(LiveVectorizer(), PreferenceRanker())
    ranker.add(["a", "b"])
    ranker.teach("d", "one word", [0])
    ranker.revisit(1)
