"""What makes a ranker a classifier: classes by name, answers, probabilities."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np

from classmark.arrays import Array, Floats, Rows, take
from classmark.estimator import Estimator, column_names, renamed, require_names
from classmark.preferences.labels import (
    NamedLabels,
    favoured,
    graphs_from,
    is_graphs,
    named_labels,
    relevant,
    some_labels,
)
from classmark.problems import Mistake
from classmark.validation import weights_of

HALF = 0.5  # the probability above which a category belongs
FOLDS = 5


@dataclass(eq=False)
class Chances:
    """How likely categories are, given scores: learned by folds, when first asked.

    rows, taught : what the ranker learned from, dropped once the folds are through;
    one : each document has one category.
    """

    rows: Rows | None
    taught: Any
    one: bool
    learned: Any = None

    def of(self, scores: Floats, ranker: Any) -> Floats:
        """Probabilities, shape of the scores: of one category, or of each by itself.

        ranker : the one that scores; its parameters and what it has chosen are taken.

        Where each document has one category, (n p + 1) / (n + k): p is the softmax of
        the scores, whose temperature is fitted on the n documents when held out
        [Guo17], and nothing is ever certain. Else they are those of a ``Calibrator``.
        """
        from classmark.rankers.calibration import posterior

        if self.rows is not None:
            self._learn(self.rows, ranker)
        if self.one:
            scale, n = self.learned
            mixed = (n * posterior(scores, scale) + 1.0) / (n + scores.shape[1])
            return np.asarray(mixed)
        return np.asarray(self.learned.transform(scores))

    def _learn(self, rows: Rows, ranker: Any) -> None:
        from classmark.rankers.calibration import (
            Calibrator,
            fitted_scale,
            held_out_scores,
        )

        labels, lessons = self.taught, None
        if is_graphs(labels):
            lessons, levels = labels, favoured(graphs_from(labels, thresholds=True))
            labels = relevant(levels, lessons)
        labelled = np.flatnonzero(np.diff(labels.starts) > 0)
        if len(labelled) < 2:
            raise Mistake(
                "probabilities are learned on documents held out: fit on two documents "
                "with labels or more"
            )
        if lessons is None:
            rows, labels = take(rows, labelled), take(labels, labelled)
        count = min(FOLDS, len(rows))
        held_out = held_out_scores(ranker.fresh(), rows, labels, lessons, count)
        if self.one:
            scale = fitted_scale(held_out.scores, held_out.labels)
            self.learned = scale, len(rows)
        else:
            self.learned = Calibrator().fit(*held_out)
        self.rows = self.taught = None


class RankingClassifier(Estimator):
    """A classifier that scores all categories of a document.

    classes_ : (k,), what the categories are called: names as ``Y`` has them, sorted,
    where it has names or one label for each document; else their numbers.
    """

    _kind: ClassVar[str | None] = "classifier"
    _needs_y: ClassVar[bool] = True
    _multi_label: ClassVar[bool] = True
    classes_: Array
    _form: str = "numbers"
    _chances: Chances | None = None

    def fresh(self) -> Self:
        """One like it that has not learned, and does not choose again what it chose."""
        fresh = type(self)(**self.get_params(deep=False))
        if setting := vars(self).get("setting_"):
            fresh.set_params(**setting._asdict())
        return fresh

    @abstractmethod
    def category_scores(self, X: Any) -> Floats:
        """Scores of all categories, shape (documents, categories)."""

    @property
    def limits(self) -> Floats | None:
        """The scores above which categories belong, (categories,); None if unknown."""
        return None

    def _taught(
        self, X: Any, y: Any, sample_weight: Any = None
    ) -> tuple[Rows, Any, Floats | None]:
        """Documents, labels by number (or graphs), and weights; classes_ are noted.

        Documents whose weight is 0 are left out.
        """
        rows, weights = self._taught_rows(X), None
        if sample_weight is not None:
            weights = weights_of(sample_weight, len(rows))
            some = np.flatnonzero(weights)
            if len(some) < len(rows):
                y = some_labels(y, some, len(rows))
                rows, weights = take(rows, some), weights[some]
        named = named_labels(y, len(rows))
        self._take_names(named)
        return rows, named.labels, weights

    def _take_names(self, named: NamedLabels) -> None:
        self.classes_, self._form, self._chances = named.classes, named.form, None

    def _more_rows(self, X: Any) -> Rows:
        """Documents to learn from besides: they may have more features."""
        require_names(vars(self).get("feature_names_in_"), column_names(X))
        return self._taught_rows(X, least=0)

    def _more_names(
        self, Y: Any, n_documents: int, classes: Any = None, n_labels: int | None = None
    ) -> Any:
        """Labels of more documents by number: new ones come after those there are.

        classes : what the first ones are called, before any was learned.
        """
        before = vars(self).get("classes_")
        if before is None and classes is not None:
            before = np.unique(np.asarray(classes))
        form = self._form if "classes_" in vars(self) else None
        known = before if form != "numbers" else None
        named = named_labels(Y, n_documents, known, n_labels)
        if form not in (None, named.form):
            raise Mistake(
                f"Y has labels in another form than before ({named.form}, {form}): "
                "give one for each document, lists of names, or numbers throughout"
            )
        if before is not None and len(before) > len(named.classes):
            named = named._replace(classes=before)
        self._take_names(named)
        return named.labels

    def _remember(self, rows: Rows, taught: Any) -> None:
        """Have what probabilities are learned from, when they are asked for."""
        self._chances = Chances(rows, taught, self._form == "one")

    def decision_function(self, X: Any) -> Floats:
        """Scores of all categories, shape (documents, categories).

        Of two classes, where ``Y`` had one for each document, how far the second is
        ahead, shape (documents,), as scikit-learn has it.
        """
        scores = self.category_scores(X)
        if self._form == "one" and len(self.classes_) == 2:
            return np.asarray(scores[:, 1] - scores[:, 0])
        return scores

    def predict(self, X: Any) -> Any:
        """The class of each document, (documents,), where ``Y`` had one for each.

        Else which categories belong: lists of names where ``Y`` had these, otherwise
        bool (documents, categories). They are those whose score is above their
        threshold or, of a ranker without thresholds, whose probability is above one
        half (``predict_proba``); there may be none, or several.
        """
        scores, limits = self.category_scores(X), self.limits
        if self._form == "one":
            return self.classes_[scores.argmax(axis=1)]
        if limits is not None:
            belongs = np.asarray(scores > limits)
        else:
            belongs = self._probabilities(scores) > HALF
        if self._form == "names":
            return [self.classes_[line].tolist() for line in belongs]
        return belongs

    def predict_proba(self, X: Any) -> Floats:
        """Probabilities of the categories, shape (documents, categories).

        Where ``Y`` had one label for each document they sum to 1; else each says by
        itself how likely the category belongs. They are learned from scores of
        documents held out: the first call fits the ranker five times more. Until then
        it keeps the documents it has learned from, also when it is pickled.
        """
        return self._probabilities(self.category_scores(X))

    def _probabilities(self, scores: Floats) -> Floats:
        if self._chances is None:
            raise Mistake(
                f"this {type(self).__name__} has no thresholds, and no documents to "
                "learn probabilities from: fit it, use PreferenceRanker with "
                "thresholds, or rank"
            )
        return self._chances.of(scores, self)

    @renamed(Y="y")
    def score(self, X: Any, y: Any) -> float:
        """What scikit-learn's tools compare, where no other measure is chosen.

        The share of documents whose class is predicted, where ``y`` had one label for
        each document in ``fit``; else the mean average precision of the rankings.
        """
        from classmark.measures import category_ranking

        scores = self.category_scores(X)
        if self._form == "one":
            right = named_labels(y, len(scores), self.classes_).labels.columns
            return float(np.mean(right == scores.argmax(axis=1)))
        labels: Any = y
        if not is_graphs(y):
            known = self.classes_ if self._form == "names" else None
            labels = named_labels(y, len(scores), known).labels
            unseen = max(0, labels.width - scores.shape[1])
            lowest = scores.min(axis=1, initial=0.0, keepdims=True) - 1.0
            scores = np.hstack([scores, np.repeat(lowest, unseen, axis=1)])
            labels = labels.with_width(scores.shape[1])
        return float(category_ranking(scores, labels)["average_precision"])
