"""Meaning beside words: further columns of a row, from a source of vectors."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from importlib import import_module
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from classmark.arrays import Array, Floats, Rows, beside, rows_from
from classmark.corpus.documents import TokenNumbers
from classmark.corpus.runs import CharacterRuns
from classmark.estimator import Estimator
from classmark.meaning.sources import (
    MeaningFacts,
    MeaningSource,
    TextEncoder,
    Vectors,
    require_same,
    source_from,
    unit_rows,
)
from classmark.problems import Mistake
from classmark.text import Analyzer

OUTPUTS = ("default", "pandas", "polars")
DENSE = 1 << 28  # cells of a dense data frame: 1 GiB
AUTO = "auto"  # the weight that is chosen where there is something to rank
COLUMN = "meaning["  # what the names of its columns begin with; no word does
RESERVED = "\0"  # begins terms that no analyzer makes


def centre_of(vectors: ArrayLike) -> Floats:
    """Mean of the unit vectors, c = (1/n) Σ v/‖v‖; those of length 0 do not count.

    >>> centre_of([[2.0, 0.0], [0.0, 5.0], [0.0, 0.0]]).tolist()
    [0.5, 0.5]
    """
    units = unit_rows(vectors).astype(np.float64)
    return np.asarray(units.sum(axis=0) / max(int(units.any(axis=1).sum()), 1))


def centred(vectors: ArrayLike, centre: Floats) -> Vectors:
    """Unit vectors seen from the centre: z = (u − c)/‖u − c‖, u = v/‖v‖.

    What all texts of a collection share says nothing of any of them, and makes all
    alike. A vector of length 0 (a text without a known token) stays 0.

    >>> centred([[2.0, 0.0], [0.0, 0.0]], np.array([0.5, 0.5])).round(3).tolist()
    [[0.7070000171661377, -0.7070000171661377], [0.0, 0.0]]
    """
    units = unit_rows(vectors).astype(np.float64)
    return unit_rows(np.where(units.any(axis=1, keepdims=True), units - centre, 0.0))


@dataclass(frozen=True)
class MeaningBlock:
    """The part of a row that is not words: weight · centred unit vector.

    facts : which vectors;  weight : the length of the part;  centre : shape
    (dimension,), float64;  source : makes the vectors; None while it is not at hand.
    """

    facts: MeaningFacts
    weight: float
    centre: NDArray[np.float64]
    source: MeaningSource | None = None

    @property
    def feature_names(self) -> list[str]:
        """The names of its columns."""
        return [f"{COLUMN}{number}]" for number in range(self.facts.dimension)]

    @property
    def terms(self) -> list[str]:
        """What stands for its columns in a growing vocabulary; no text has these."""
        return [f"{RESERVED}{name}" for name in self.feature_names]

    @property
    def settings(self) -> dict[str, Any]:
        """What is saved beside the centre, fit for JSON."""
        return self.facts._asdict() | {"weight": self.weight}

    @classmethod
    def from_settings(cls, settings: Mapping[str, Any], centre: Floats) -> MeaningBlock:
        """What was saved; its source is still to come."""
        facts = MeaningFacts(*(settings[name] for name in MeaningFacts._fields))
        return cls(facts, settings["weight"], np.asarray(centre))

    def vectors(self, texts: Iterable[str]) -> Vectors:
        """The vectors of texts, as the source makes them; 0 for blank ones."""
        if self.source is None:
            raise self.without_source()
        listed = list(texts)
        vectors = np.zeros((len(listed), self.facts.dimension), np.float32)
        if written := [at for at, text in enumerate(listed) if text.strip()]:
            vectors[written] = self.source.encode([listed[at] for at in written])
        return vectors

    def rows(self, vectors: Vectors) -> Rows:
        """The part alone, of texts whose vectors are at hand."""
        return rows_from(np.float32(self.weight) * centred(vectors, self.centre))

    def without_source(self) -> Mistake:
        """What is wrong where the source is not at hand."""
        return Mistake(
            f"the model was made with the vectors of {self.facts}: open it with them "
            "(meaning=…)"
        )


class WithMeaning(Estimator, ABC):
    """What vectorizers have in common whose rows may have meaning beside words.

    meaning, meaning_weight : the parameters;  meaning_ : the part beside the words,
    None for words alone.
    """

    _kind: ClassVar[str | None] = "transformer"
    _takes_text: ClassVar[bool] = True

    _unsaved: ClassVar[frozenset[str]] = frozenset({"meaning", "meaning_weight"})

    analyzer_: Analyzer
    characters: int
    ngram_range: tuple[int, int]
    meaning: TextEncoder | None
    meaning_weight: float | str | None
    meaning_: MeaningBlock | None = None
    vocabulary_: Any
    _memory: TokenNumbers | None = None

    _sklearn_output_config: ClassVar[dict[str, str]] = {"transform": "default"}

    def set_output(self, *, transform: str | None = None) -> Self:
        """Choose what ``transform`` returns, as scikit-learn's transformers can.

        transform : "default" for a sparse matrix; "pandas" for a data frame whose
        columns are sparse, "polars" for a dense one; None: as it was.
        """
        if transform not in (None, *OUTPUTS):
            raise Mistake(f"transform is {transform!r}: use {', '.join(OUTPUTS)}")
        if transform is not None:
            self._sklearn_output_config = {"transform": transform}  # type: ignore[misc]
        return self

    @abstractmethod
    def get_feature_names_out(self, input_features: Any = None) -> NDArray[np.object_]:
        """The name of each column."""

    def _as_chosen(self, rows: Rows, texts: Any) -> Any:
        """The rows as ``set_output`` has chosen; texts : may have an index."""
        chosen, matrix = self._sklearn_output_config["transform"], rows.to_scipy()
        if chosen == "default":
            return matrix
        try:
            frames: Any = import_module(chosen)
        except ImportError as problem:
            raise Mistake(
                f"set_output(transform={chosen!r}) needs {chosen}: pip install {chosen}"
            ) from problem
        names = self.get_feature_names_out()
        if chosen == "pandas":
            index = getattr(texts, "index", None) if hasattr(texts, "iloc") else None
            make = frames.DataFrame.sparse.from_spmatrix
            return make(matrix, index=index, columns=names)
        if (cells := len(rows) * rows.width) > DENSE:
            raise Mistake(
                f"a polars data frame is dense and would have {cells:,} cells: use "
                "'pandas', whose columns can be sparse, or 'default'"
            )
        return frames.DataFrame(matrix.toarray(), schema=names.tolist())

    @property
    def meaning_columns(self) -> slice:
        """The columns that are no words; none for words alone."""
        first, block = self._first_dense, self.meaning_
        return slice(first, first + (0 if block is None else block.facts.dimension))

    @property
    def _first_dense(self) -> int:
        """The column at which meaning begins: behind the words."""
        return len(self.vocabulary_)

    @property
    def _analysis(self) -> Analyzer | CharacterRuns:
        """What makes terms of texts."""
        return self._reader(self.analyzer_)

    def _reader(self, analyzer: Analyzer) -> Analyzer | CharacterRuns:
        """An analyzer, with runs beside the words where there are any."""
        most = int(self.ngram_range[1])
        if not self.characters and most == 1:
            return analyzer
        return CharacterRuns(analyzer, self.characters, most)

    @property
    def _tokens(self) -> TokenNumbers:
        """The terms of tokens that texts have had before."""
        tokens, analysis = self._memory, self._analysis
        if (
            tokens is None
            or tokens.vocabulary is not self.vocabulary_
            or tokens.analysis != analysis
        ):
            self._memory = tokens = TokenNumbers(analysis, self.vocabulary_)
        return tokens

    @property
    def runs_(self) -> CharacterRuns | None:
        """What is read beside words; None for words alone."""
        reader = self._analysis
        return reader if isinstance(reader, CharacterRuns) else None

    @classmethod
    def _saved_parameters(cls, settings: Mapping[str, Any]) -> dict[str, Any]:
        """The parameters among settings; in old files some are missing."""
        defaults = cls._defaults().items()
        saved = {n: settings.get(n, d) for n, d in defaults if n not in cls._unsaved}
        return saved | {"ngram_range": tuple(saved["ngram_range"])}

    def use_meaning(self, meaning: TextEncoder | None) -> None:
        """Make vectors by this source, after ``from_arrays``; refuse another's."""
        self.meaning_, self.meaning = made_by(self.meaning_, meaning), meaning

    def _dense(self, texts: Iterable[str]) -> Rows | None:
        """The part of meaning of texts; None for words alone."""
        block = self.meaning_
        return None if block is None else block.rows(block.vectors(texts))

    def _beside(self, words: Rows, dense: Rows | None) -> Rows:
        """Both parts of rows, each in its columns."""
        if dense is None:
            return words
        return beside(words, dense, self.meaning_columns.start)

    def _uncentred(self) -> MeaningBlock | None:
        """The part as the parameters describe it, with a centre of zeros."""
        if self.meaning is None:
            return None
        source, weight = source_from(self.meaning), self.meaning_weight
        weight = source.weight if weight in {None, AUTO} else weight
        if isinstance(weight, str) or weight is None or not 0.0 < weight < np.inf:
            raise Mistake(
                f"meaning_weight is {weight!r}: give a number over 0, or {AUTO!r}"
            )
        centre = np.zeros(source.dimension)
        return MeaningBlock(source.facts, float(weight), centre, source)

    def _save_meaning(self, arrays: dict[str, Array], settings: dict[str, Any]) -> None:
        """Add to what is saved which vectors they are, and their centre."""
        if self.meaning_ is not None:
            arrays["meaning_centre"] = self.meaning_.centre
            settings["meaning"] = self.meaning_.settings

    def _open_meaning(
        self, arrays: Mapping[str, Array], settings: Mapping[str, Any]
    ) -> None:
        """Have what ``_save_meaning`` added; the source is still to come."""
        if (meaning := settings.get("meaning")) is not None:
            centre = arrays["meaning_centre"]
            self.meaning_ = MeaningBlock.from_settings(meaning, centre)
            self.meaning_weight = meaning["weight"]


def made_by(
    block: MeaningBlock | None, meaning: TextEncoder | None
) -> MeaningBlock | None:
    """The same part with its source at hand; other vectors are refused."""
    if block is None:
        if meaning is not None:
            raise Mistake("meaning: this was fitted on words alone: leave it out")
        return None
    if meaning is None:
        raise block.without_source()
    source = source_from(meaning)
    require_same(source, block.facts, "the model")
    return replace(block, source=source)
