"""LiveTextRanker: a text ranker that documents teach one by one."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from classmark.meaning.sources import TextEncoder
from classmark.preferences.graph import PreferenceGraph
from classmark.problems import Mistake
from classmark.rankers.linear import FixedRanker, LiveRanker
from classmark.rankers.online import RankerBeside
from classmark.rankers.preference import PreferenceRanker
from classmark.rankers.text_ranker import Suggestion, TextRanker, learner, name_of
from classmark.solvers.live_arrays import thresholds_in
from classmark.storage import (
    SavedFolder,
    open_folder,
    pack_strings,
    prefixed,
    save,
    saved_settings,
    unpack_strings,
    with_prefix,
)
from classmark.weighting.live import LiveVectorizer
from classmark.weighting.vectorizer import FixedVectorizer

LIVE_FORMAT, VERSION = "classmark live text ranker", 1
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
        ranker: LiveRanker,
        categories: Sequence[str] = (),
    ) -> None:
        self.model = TextRanker(vectorizer, ranker, categories)
        self.vectorizer, self.ranker = vectorizer, ranker
        self.handles: dict[str, int] = {}
        if ranker.live_ is None:
            ranker.begin_stream()
        if vectorizer.meaning is not None:  # its columns are there before any text
            self.dual.grow(vectorizer.n_features, 0)
            ranker.show_stream()

    @classmethod
    def start(
        cls, trained: TextRanker, ids: Iterable[str], beside: LiveRanker | None = None
    ) -> LiveTextRanker:
        """Go on from a trained ranker; ``ids`` name the documents it was fitted on.

        beside : what goes on in its place.
        """
        ranker, vectorizer = beside or trained.ranker.simple, trained.vectorizer
        if not isinstance(ranker, LiveRanker):
            raise Mistake(
                f"{type(ranker).__name__} learns from all documents at once: train "
                "with plm, mmp or perceptron, which learn from every decision"
            )
        if isinstance(vectorizer, FixedVectorizer):
            raise Mistake("this ranker is live already: teach it")
        ranker.begin_stream()
        live = cls(LiveVectorizer.start(vectorizer), ranker, trained.categories)
        live.model.calibrator = trained.calibrator
        live.handles = {id_: handle for handle, id_ in enumerate(ids)}
        ranker.show_stream()
        return live

    @property
    def dual(self) -> Any:
        """What learns: a ``LiveDual``, or prototypes that have its manners."""
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
            self.handles[id_] = self.dual.learn(self.ranker.lesson(words, labels))
        else:
            before = self.dual.lesson(handle)
            if labels is None:
                self.dual.forget(handle)
                weigh.forget(text, before.columns)
                del self.handles[id_]
            else:
                words = before.columns, before.values
                lesson = self.ranker.lesson(words, labels)
                if lesson.prefers_as(before):
                    return False
                self.dual.replace(handle, lesson)
        self.ranker.show_stream()
        return True

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
        saved = self.to_arrays(facts)
        save(folder, saved.format, saved.version, saved.arrays, saved.settings)

    def to_arrays(self, facts: dict[str, Any] | None = None) -> SavedFolder:
        """Everything as a folder would have it; some arrays are views."""
        stored, described = self.model.to_arrays(facts)
        stored |= prefixed("dual_", self.ranker.stream_arrays())
        described["learner"] = name_of(self.ranker)
        stored["ids"], stored["ids_ends"] = pack_strings(list(self.handles))
        stored["handles"] = np.array(list(self.handles.values()), np.int64)
        return SavedFolder(LIVE_FORMAT, VERSION, stored, described)

    @classmethod
    def open_to_rank(
        cls,
        folder: Path,
        meaning: TextEncoder | None = None,
        beside: RankerBeside | None = None,
    ) -> TextRanker:
        """What a saved folder ranks by: the same scores, and nothing to learn with.

        meaning : the source of its vectors, if it learned with one; another is refused;
        beside : as in :meth:`from_arrays`.
        """
        saved = open_folder(folder, LIVE_FORMAT, VERSION)
        if beside is not None:
            return cls.from_arrays(saved, meaning, beside)[0].model
        dual = with_prefix("dual_", saved.arrays)
        name, how = saved.settings.get("learner", "plm"), saved.settings["parameters"]
        learned: Any = learner(name, **how)
        weights, hidden = np.array(dual["weights"]), dual["retired"].tolist()
        ranker = FixedRanker(weights, hidden)
        if isinstance(learned, PreferenceRanker):
            learned.thresholds_ = thresholds_in(dual, learned.thresholds)
            ranker = FixedRanker(weights, hidden, learned.limits)
            if not learned.orders_scores:
                ranker.thresholds_ = learned.thresholds_
        return TextRanker.from_arrays(saved, FixedVectorizer, ranker, meaning)

    @classmethod
    def open(
        cls, folder: Path, meaning: TextEncoder | None = None
    ) -> tuple[LiveTextRanker, dict[str, Any]]:
        """Open a saved folder; return it and the facts kept beside it.

        meaning : the source of its vectors, if it learned with one; another is refused.
        """
        return cls.from_arrays(open_folder(folder, LIVE_FORMAT, VERSION), meaning)

    @classmethod
    def from_arrays(
        cls,
        saved: SavedFolder,
        meaning: TextEncoder | None = None,
        beside: RankerBeside | None = None,
    ) -> tuple[LiveTextRanker, dict[str, Any]]:
        """What :meth:`to_arrays` described, and the facts beside it.

        beside : what learns beside a trained model, where it does, as it begins.
        """
        name, how = saved.settings.get("learner", "plm"), saved.settings["parameters"]
        ranker: Any = beside or learner(name, **how)
        ranker.open_stream(with_prefix("dual_", saved.arrays))
        model: Any = TextRanker.from_arrays(saved, LiveVectorizer, ranker, meaning)
        opened = cls(model.vectorizer, ranker, model.categories)
        opened.model.calibrator = model.calibrator
        ids = unpack_strings(saved.arrays["ids"], saved.arrays["ids_ends"])
        opened.handles = dict(zip(ids, saved.arrays["handles"].tolist(), strict=True))
        return opened, saved.settings["facts"]


def live_facts(folder: Path) -> dict[str, Any]:
    """The facts kept beside a saved live ranker, whose arrays are not looked at."""
    return dict(saved_settings(folder, LIVE_FORMAT, VERSION)["facts"])


@cache
def load_kernels() -> None:
    """Have the compiled steps ready, so that nobody has to wait for them later."""
    ranker = LiveTextRanker(LiveVectorizer(), PreferenceRanker())
    ranker.add(["a", "b"])
    ranker.teach("d", "one word", [0])
    ranker.revisit(1)
