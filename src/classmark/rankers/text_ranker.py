"""TextRanker: texts in, ranked category ids with evidence out."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from classmark.arrays import Array, Floats, Rows, take
from classmark.meaning.sources import TextEncoder
from classmark.preferences.graph import PreferenceGraph
from classmark.preferences.labels import is_graphs, labels_from
from classmark.problems import Mistake, refusal
from classmark.rankers.calibration import (
    Calibrator,
    PathCalibrator,
    held_out_scores,
)
from classmark.rankers.ensemble import EnsembleRanker
from classmark.rankers.linear import (
    LinearRanker,
    LogLinearRanker,
    Rocchio,
    Standing,
)
from classmark.rankers.meaning_weight import weigh_meaning
from classmark.rankers.online import (
    MMP,
    CategoryPerceptron,
)
from classmark.rankers.preference import PreferenceRanker
from classmark.rankers.reasons import WordsBehind
from classmark.rankers.short_texts import UsualText, lengths_of
from classmark.ranking import top as best_of
from classmark.storage import (
    SavedFolder,
    open_folder,
    pack_strings,
    prefixed,
    save,
    unpack_strings,
    with_prefix,
)
from classmark.weighting.dense import AUTO
from classmark.weighting.vectorizer import FixedVectorizer, Vectorizer

FORMAT, VERSION = "classmark text ranker", 1
Kinds = Mapping[str, type[LinearRanker]]
LEARNERS: dict[str, type[LinearRanker]] = {
    "ensemble": EnsembleRanker,
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
    for;  name : which of the category's names the text has, and what it adds.
    """

    category: str
    rank: int
    score: float
    favour: tuple[tuple[str, float], ...] = ()
    against: tuple[tuple[str, float], ...] = ()
    probability: float | None = None
    belongs: bool | None = None
    parts: ScoreParts | None = None
    name: tuple[str, float] | None = None


class ScoreParts(NamedTuple):
    """How a category's score differs from the mean score, by where that comes from.

    words, meaning : Σ_j x_j (w_{r,j} − mean_s w_{s,j}) over the columns of either.
    """

    words: float
    meaning: float


def learner(name: str, kinds: Kinds = LEARNERS, /, **parameters: Any) -> LinearRanker:
    """An unfitted ranker by its name."""
    if name not in kinds:
        raise refusal(
            "learner %(name)r is not known: use %(kinds)s",
            name=name,
            kinds=", ".join(kinds),
        )
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
    _numbers: tuple[list[str] | None, dict[str, int]] = (None, {})

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
        self.note_lengths(X)
        return self

    def note_lengths(self, X: Any) -> None:
        """Let the calibrator know how long the texts are that it learned from."""
        if (learned := self.calibrator) is not None:
            learned.usual_text_ = UsualText.of(X, self.vectorizer, learned.rate_)

    def probabilities(
        self,
        scores: Floats,
        columns: Any = None,
        X: Any = None,
        standing: Floats | None = None,
    ) -> Floats | None:
        """How likely categories are by their scores, shape as given; None if unknown.

        scores : shape (texts, categories);  columns : the numbers of these categories,
        where they are not all of them;  X : the texts' rows; short ones count less;
        standing : what :meth:`ordered_by` says of them, where that is known.
        """
        if self.calibrator is None:
            return None
        if standing is None:
            chances = self.calibrator.transform(scores, columns)
        else:
            chances = self.calibrator.chances(standing)
        if X is None or (usual := self.calibrator.usual_text_) is None:
            return chances
        return usual.sobered(chances, lengths_of(X, self.vectorizer))

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

    def standings(self, text: str, ids: Iterable[str]) -> dict[str, Standing | None]:
        """Where some categories stand for a text; None for those not ranked."""
        numbers = {id_: self.number_of(id_) for id_ in ids}
        known = [number for number in numbers.values() if number is not None]
        each = iter(self.ranker.ranks(self.vectorizer.rows([text]), known))
        return {i: None if n is None else next(each) for i, n in numbers.items()}

    def number_of(self, id_: str) -> int | None:
        """The number of a category; None where it is not one of the ranker's."""
        names, number = self._numbers
        if names is not self.categories or len(number) != len(names):
            number = {id_: at for at, id_ in enumerate(self.categories)}
            self._numbers = self.categories, number
        return number.get(id_)

    @property
    def calibrated_by(self) -> type[Calibrator]:
        """What turns such scores into probabilities."""
        return PathCalibrator if self.ranker.descends else Calibrator

    @property
    def n_ranked(self) -> int:
        """How many categories are ranked; a live ranker has hidden ones besides."""
        if self.ranker.descends:
            return int(self.ranker.n_ranked)  # type: ignore[attr-defined]
        return int(np.isfinite(self.scores([""])).sum())

    def suggest(self, text: str, k: int = 10, terms: int = 5) -> list[Suggestion]:
        """The best categories for a text, each with its strongest terms."""
        X = self.vectorizer.rows([text])
        read = WordsBehind.of(text, self.vectorizer) if terms else None
        limits, suggestions = self.ranker.limits, []
        for rank, (category, score, chance) in enumerate(self._best(X, k), start=1):
            favour, against, parts = self._reasons(X, category, terms, read)
            belongs = None if limits is None else bool(score > limits[category])
            match = self.ranker.matched_name(X, category) if terms else None
            name = self.categories[category]
            suggestions.append(
                Suggestion(
                    name, rank, score, favour, against, chance, belongs, parts, match
                )
            )
        return suggestions

    def _best(self, X: Rows, k: int) -> list[tuple[int, float, float | None]]:
        """The best categories of one row, their scores and probabilities."""
        if self.ranker.descends:
            best = self.ranker.best(X, k)  # type: ignore[attr-defined]
            table = np.array([score for _, score in best]).reshape(-1, 1)
            likely = self.probabilities(table, X=take(X, np.zeros(len(best), int)))
            columns, scores = [category for category, _ in best], table[:, 0]
        else:
            every = self.ranker.decision_function(X)[0]
            shown = np.flatnonzero(np.isfinite(every))
            standing = self.ordered_by(every[None, shown], shown)
            likely = self.probabilities(every[None, shown], shown, X, standing)
            order = best_of(standing[0], k)
            columns, scores = shown[order].tolist(), every[shown[order]]
            likely = None if likely is None else likely[0, order]
        chances = [None] * len(columns) if likely is None else likely.ravel().tolist()
        return list(zip(columns, scores.tolist(), chances, strict=True))

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
            opened.calibrator = opened.calibrated_by.from_arrays(learned, calibrator)
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
        saved = open_folder(folder, FORMAT, VERSION)
        parameters = saved.settings["parameters"]
        ranker = learner(saved.settings["learner"], learners, **parameters)
        ranker.weights_ = weights_in(saved.arrays)
        ranker.thresholds_ = saved.arrays.get("thresholds")
        ranker.supports = with_prefix("supports_", saved.arrays)
        return cls.from_arrays(saved, Vectorizer, ranker, meaning)


def weights_in(arrays: Mapping[str, Array]) -> Any:
    """The weights that were saved, dense or sparse; they stay on disk until used."""
    from scipy.sparse import csr_matrix

    if "weights" in arrays:
        return arrays["weights"]
    *parts, shape = (arrays[name] for name in SPARSE)
    return csr_matrix(tuple(parts), shape=tuple(shape.tolist()))
