"""TextRanker and LiveTextRanker: texts in, ranked category ids with evidence out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from classmark.arrays import Array, Floats, Ints
from classmark.corpus.runs import RUN, CharacterRuns
from classmark.meaning.sources import TextEncoder
from classmark.preferences.graph import PreferenceGraph
from classmark.preferences.labels import is_graphs, labels_from
from classmark.problems import Mistake
from classmark.rankers.calibration import Calibrator, held_out_scores
from classmark.rankers.linear import (
    Evidence,
    FixedRanker,
    LinearRanker,
    LiveRanker,
    LogLinearRanker,
    Rocchio,
)
from classmark.rankers.meaning_weight import weigh_meaning
from classmark.rankers.online import MMP, CategoryPerceptron
from classmark.rankers.preference import PreferenceRanker
from classmark.ranking import top as best_of
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
from classmark.text import words
from classmark.weighting.dense import AUTO
from classmark.weighting.live import LiveVectorizer
from classmark.weighting.vectorizer import FixedVectorizer, Vectorizer

FORMAT, LIVE_FORMAT = "classmark text ranker", "classmark live text ranker"
VERSION = 1
Kinds = Mapping[str, type[LinearRanker]]
LEARNERS: dict[str, type[LinearRanker]] = {
    "loglinear": LogLinearRanker,
    "mmp": MMP,
    "plm": PreferenceRanker,
    "rocchio": Rocchio,
    "perceptron": CategoryPerceptron,
}
SPARSE = ("weights_values", "weights_columns", "weights_starts", "weights_shape")
Labelling = PreferenceGraph | Sequence[int]
WeighedWords = tuple[tuple[str, float], ...]


@dataclass(frozen=True, slots=True)
class Suggestion:
    """A category for a document, its place and score, and the terms behind it.

    probability : None where the scores are not calibrated;  belongs : whether the score
    is above the category's threshold, None where the ranker has learned none;  parts :
    what words and what meaning add, None for words alone and where no terms are asked
    for.
    """

    category: str
    rank: int
    score: float
    favour: tuple[tuple[str, float], ...] = ()
    against: tuple[tuple[str, float], ...] = ()
    probability: float | None = None
    belongs: bool | None = None
    parts: ScoreParts | None = None


class ScoreParts(NamedTuple):
    """How a category's score differs from the mean score, by where that comes from.

    words, meaning : Σ_j x_j (w_{r,j} − mean_s w_{s,j}) over the columns of either.
    """

    words: float
    meaning: float


class WordsBehind(NamedTuple):
    """Which words of a text stand behind which columns: what people recognise.

    words : the first of those that share a term;  columns, owners, shares : of each
    pair of a column and a word, the word's place and its share of the column, which is
    1 but for runs of characters, parted by how often they occur in each word.
    """

    words: list[str]
    columns: Ints
    owners: Ints
    shares: Floats

    @classmethod
    def of(cls, text: str, vectorizer: Vectorizer | FixedVectorizer) -> WordsBehind:
        """Read a text as the vectorizer does."""
        counts = Counter(words(text))
        number, tokens = vectorizer.vocabulary_.number, list(counts)
        first: dict[str, str] = {}  # term → word
        shown_as: dict[str, str] = {}  # token → word
        behind: Counter[tuple[int, str]] = Counter()
        for term, token in zip(vectorizer.analyzer_.terms(tokens), tokens, strict=True):
            if term in number:
                behind[number[term], first.setdefault(term, token)] = 1
            if term:  # stop words are no reasons, though their runs count
                shown_as[token] = first.get(term, token)
        if vectorizer.characters:
            runs = CharacterRuns(vectorizer.analyzer_, vectorizer.characters)
            for token, inside in zip(
                shown_as, runs.inside(list(shown_as)), strict=True
            ):
                for run in filter(number.__contains__, inside):
                    behind[number[run], shown_as[token]] += counts[token]
            for run in filter(number.__contains__, runs.across(text)):
                behind[number[run], run.removeprefix(RUN)] += 1
        named = list(dict.fromkeys(word for _, word in sorted(behind)))
        place = {word: at for at, word in enumerate(named)}
        pairs = np.array([(c, place[w]) for c, w in behind], np.int64).reshape(-1, 2)
        times = np.fromiter(behind.values(), np.float64, len(behind))
        _, which = np.unique(pairs[:, 0], return_inverse=True)
        shares = times / np.bincount(which, times)[which]
        return cls(named, pairs[:, 0], pairs[:, 1], shares)

    def evidence(self, of_columns: Evidence) -> Evidence:
        """The evidence of columns as that of the words behind them."""
        order = np.argsort(of_columns.features)
        features = of_columns.features[order]
        at = np.searchsorted(features, self.columns)
        here = np.append(features, -1)[at] == self.columns
        values = np.append(of_columns.parts[order], 0.0)[at] * self.shares
        totals: Floats = np.zeros(len(self.words))
        np.add.at(totals, self.owners[here], values[here])
        return Evidence(np.arange(len(self.words)), totals)


def learner(name: str, kinds: Kinds = LEARNERS, /, **parameters: Any) -> LinearRanker:
    """An unfitted ranker by its name."""
    if name not in kinds:
        raise Mistake(f"learner {name!r} is not known: use {', '.join(kinds)}")
    return kinds[name].from_params(parameters)


def name_of(ranker: LinearRanker) -> str:
    """The name by which a ranker is saved and opened."""
    kinds = {kind: name for name, kind in LEARNERS.items()}
    return ranker.kept_as[0] or kinds[type(ranker)]


class TextRanker:
    """A fitted vectorizer, a fitted ranker and the ids of its categories.

    calibrator : turns scores into probabilities; None until :meth:`calibrate`.
    """

    calibrator: Calibrator | None = None
    calibrated_by = Calibrator  # the class of it

    def __init__(
        self,
        vectorizer: Vectorizer | FixedVectorizer,
        ranker: LinearRanker,
        categories: Sequence[str],
    ) -> None:
        self.vectorizer = vectorizer
        self.ranker = ranker
        self.categories = list(categories)

    @classmethod
    def fit(
        cls,
        vectorizer: Vectorizer,
        ranker: LinearRanker,
        texts: Iterable[str],
        labels: Sequence[Sequence[int]] | Sequence[PreferenceGraph],
        categories: Sequence[str],
    ) -> TextRanker:
        """Learn from texts and, per text, numbers into ``categories``, or a graph."""
        X = vectorizer.fit_transform(texts)
        Y: Any = labels
        if not is_graphs(labels):
            Y = labels_from(labels, X.shape[0], len(categories))
            if vectorizer.meaning_weight == AUTO:
                X, ranker = weigh_meaning(vectorizer, ranker, X, Y)
        return cls(vectorizer, ranker.fit(X, Y), categories)

    def calibrate(
        self, texts: Iterable[str], labels: Sequence[Sequence[int]], lessons: Any = None
    ) -> TextRanker:
        """Learn probabilities from the texts this was fitted with, by folds.

        lessons : the graphs that ``fit`` learned from, if it learned from graphs.
        """
        X = self.vectorizer.transform(texts)
        Y = labels_from(labels, X.shape[0], len(self.categories))
        self.calibrator = Calibrator().fit(*held_out_scores(self.ranker, X, Y, lessons))
        return self

    def probabilities(self, scores: Floats, columns: Any = None) -> Floats | None:
        """How likely categories are by their scores, shape as given; None if unknown.

        scores : shape (texts, categories);  columns : the numbers of these categories,
        where they are not all of them.
        """
        if self.calibrator is None:
            return None
        return self.calibrator.transform(scores, columns)

    def ordered_by(self, scores: Floats, columns: Any = None) -> Floats:
        """What suggestions are ordered by: scores, or where calibrated, probabilities.

        The latter as standings, (texts, categories), which do not tie where the curve
        is flat. Arguments as of :meth:`probabilities`.
        """
        if self.calibrator is None:
            return scores
        return self.calibrator.shifted(scores, columns)

    def scores(self, texts: Iterable[str]) -> Floats:
        """Scores of all categories, shape (texts, categories)."""
        return self.ranker.decision_function(self.vectorizer.rows(texts))

    @property
    def n_ranked(self) -> int:
        """How many categories are ranked; a live ranker has hidden ones besides."""
        return int(np.isfinite(self.scores([""])).sum())

    def suggest(self, text: str, k: int = 10, terms: int = 5) -> list[Suggestion]:
        """The best categories for a text, each with its strongest terms."""
        X = self.vectorizer.rows([text])
        scores = self.ranker.decision_function(X)[0]
        shown = np.flatnonzero(np.isfinite(scores))
        likely = self.probabilities(scores[None, shown], shown)
        order = best_of(self.ordered_by(scores[None, shown], shown)[0], k)
        read = WordsBehind.of(text, self.vectorizer) if terms else None
        limits, suggestions = self.ranker.limits, []
        for place, at in enumerate(order, start=1):
            category = shown[at]
            favour, against, parts = self._reasons(X, int(category), terms, read)
            name, score = self.categories[category], float(scores[category])
            chance = None if likely is None else float(likely[0, at])
            belongs = None if limits is None else bool(score > limits[category])
            suggestions.append(
                Suggestion(name, place, score, favour, against, chance, belongs, parts)
            )
        return suggestions

    def _reasons(
        self, X: Any, category: int, terms: int, read: WordsBehind | None
    ) -> tuple[WeighedWords, WeighedWords, ScoreParts | None]:
        """The strongest words for a category and against it, and the score's parts.

        h7: a feature's own.
        """
        if not terms or read is None:
            return (), (), None
        evidence, parts = self.ranker.evidence(X, category), None
        named: Callable[[int], str] = "h{}".format
        if self.ranker.weighs_columns:
            evidence, meaning = evidence.split(self.vectorizer.meaning_columns)
            if self.has_meaning:
                parts = ScoreParts(evidence.total, meaning.total)
            evidence, named = read.evidence(evidence), read.words.__getitem__
        favour, against = (
            tuple((named(j), part) for j, part in side)
            for side in evidence.strongest(terms)
        )
        return favour, against, parts

    def score_parts(self, text: str, category: str) -> ScoreParts:
        """What words and what meaning add to a category's score, for one text."""
        self.require_ranked(category)
        X = self.vectorizer.rows([text])
        evidence = self.ranker.evidence(X, self.categories.index(category))
        sides = evidence.split(self.vectorizer.meaning_columns)
        return ScoreParts(*(side.total for side in sides))

    @property
    def has_meaning(self) -> bool:
        """Whether texts are more than words to it."""
        return self.vectorizer.meaning_ is not None

    def require_ranked(self, category: str) -> None:
        """Refuse a category that is not among the ranker's."""
        if category not in self.categories:
            raise Mistake(
                f"category {category!r} is not ranked: give one of categories"
            )

    def save(self, folder: Path, facts: dict[str, Any] | None = None) -> None:
        """Write everything as a new folder; ``facts`` are kept beside the settings."""
        stored, described = self.to_arrays(facts)
        for name, value in described["parameters"].items():
            if callable(value):
                raise Mistake(
                    f"{name} is a function, which cannot be saved: use a {name} that "
                    "has a name"
                )
        weights = self.ranker.weights_
        if isinstance(weights, np.ndarray):
            stored["weights"] = weights
        else:
            rows = weights.tocsr()
            parts = (rows.data, rows.indices, rows.indptr, np.array(rows.shape))
            stored |= dict(zip(SPARSE, parts, strict=True))
        if self.ranker.thresholds_ is not None:
            stored["thresholds"] = self.ranker.thresholds_
        stored |= prefixed("supports_", self.ranker.supports)
        described["learner"] = name_of(self.ranker)
        save(folder, FORMAT, VERSION, stored, described)

    def to_arrays(
        self, facts: dict[str, Any] | None
    ) -> tuple[dict[str, Array], dict[str, Any]]:
        """The arrays and settings to be saved, other than the weights."""
        words, settings = self.vectorizer.to_arrays()
        stored, calibrator = prefixed("vectorizer_", words), None
        if self.calibrator is not None:
            learned, calibrator = self.calibrator.to_arrays()
            stored |= prefixed("calibrator_", learned)
        stored["categories"], stored["categories_ends"] = pack_strings(self.categories)
        return stored, {
            "vectorizer": settings,
            "parameters": self.ranker.kept_as[1],
            "calibrator": calibrator,
            "facts": facts or {},
        }

    @classmethod
    def from_arrays(
        cls,
        saved: SavedFolder,
        vectorizer: Any,
        ranker: LinearRanker,
        meaning: TextEncoder | None = None,
    ) -> TextRanker:
        """What :meth:`to_arrays` described; vectorizer : the class of it.

        meaning : the source of its vectors, if it learned with one; another is refused.
        """
        arrays, settings = saved.arrays, saved.settings
        words = with_prefix("vectorizer_", arrays)
        names = unpack_strings(arrays["categories"], arrays["categories_ends"])
        opened = cls(
            vectorizer.from_arrays(words, settings["vectorizer"]), ranker, names
        )
        if (calibrator := settings.get("calibrator")) is not None:
            learned = with_prefix("calibrator_", arrays)
            opened.calibrator = cls.calibrated_by.from_arrays(learned, calibrator)
        opened.vectorizer.use_meaning(meaning)
        return opened

    @classmethod
    def open(
        cls,
        folder: Path,
        learners: Kinds = LEARNERS,
        meaning: TextEncoder | None = None,
    ) -> TextRanker:
        """Open a saved folder; its arrays stay on disk until they are used.

        learners : the kinds of rankers that may be in it, by name;  meaning : the
        source of its vectors, if it was trained with one; another is refused.
        """
        from scipy.sparse import csr_matrix

        saved = open_folder(folder, FORMAT, VERSION)
        parameters = saved.settings["parameters"]
        ranker = learner(saved.settings["learner"], learners, **parameters)
        if "weights" in saved.arrays:
            ranker.weights_ = saved.arrays["weights"]
        else:
            *parts, shape = (saved.arrays[name] for name in SPARSE)
            weights: Any = csr_matrix(tuple(parts), shape=tuple(shape.tolist()))
            ranker.weights_ = weights
        ranker.thresholds_ = saved.arrays.get("thresholds")
        ranker.supports = with_prefix("supports_", saved.arrays)
        return cls.from_arrays(saved, Vectorizer, ranker, meaning)


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
    def start(cls, trained: TextRanker, ids: Iterable[str]) -> LiveTextRanker:
        """Go on from a trained ranker; ``ids`` name the documents it was fitted on."""
        ranker, vectorizer = trained.ranker.simple, trained.vectorizer
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

    @staticmethod
    def open_to_rank(folder: Path, meaning: TextEncoder | None = None) -> TextRanker:
        """What a saved folder ranks by: the same scores, and nothing to learn with.

        meaning : the source of its vectors, if it learned with one; another is refused.
        """
        saved = open_folder(folder, LIVE_FORMAT, VERSION)
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
        cls, saved: SavedFolder, meaning: TextEncoder | None = None
    ) -> tuple[LiveTextRanker, dict[str, Any]]:
        """What :meth:`to_arrays` described, and the facts beside it."""
        name, parameters = (
            saved.settings.get("learner", "plm"),
            saved.settings["parameters"],
        )
        ranker: Any = learner(name, **parameters)
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
