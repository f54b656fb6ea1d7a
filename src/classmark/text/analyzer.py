"""Analyzer: a chain from text to terms that prints as it is typed.

Many forms of a word become one by Snowball and Porter stems, or by lemmas. The lists of
stop words are function words (articles, pronouns, prepositions, conjunctions, auxiliary
verbs), in lower case; where an apostrophe cuts a word, its pieces are listed.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache, cached_property
from importlib.resources import files
from typing import Any, Literal

from classmark.problems import MissingExtra, Mistake
from classmark.text.tokens import fold, fold_accents, is_number, words

_ORIGINAL = {"english": "porter", "dutch": "dutch_porter"}
_LEMMA_CODES = {
    "armenian": "hy",
    "catalan": "ca",
    "czech": "cs",
    "danish": "da",
    "dutch": "nl",
    "english": "en",
    "estonian": "et",
    "finnish": "fi",
    "french": "fr",
    "german": "de",
    "greek": "el",
    "hindi": "hi",
    "hungarian": "hu",
    "indonesian": "id",
    "irish": "ga",
    "italian": "it",
    "lithuanian": "lt",
    "norwegian": "nb",
    "persian": "fa",
    "polish": "pl",
    "portuguese": "pt",
    "romanian": "ro",
    "russian": "ru",
    "serbian": "hbs",
    "spanish": "es",
    "swedish": "sv",
    "turkish": "tr",
}


@cache
def languages() -> tuple[str, ...]:
    """Return the languages that can be stemmed, by their English names."""
    import Stemmer

    return tuple(sorted(set(Stemmer.algorithms()) - set(_ORIGINAL.values())))


def stems(tokens: list[str], language: str, *, original: bool = False) -> list[str]:
    """Stem each token with the Snowball algorithm of a language [Porter01].

    ``original`` asks for Porter's first algorithm [Porter80] (English) and for the
    Dutch one made after it.

    >>> stems(["libraries", "generously"], "english")
    ['librari', 'generous']
    >>> stems(["libraries", "generously"], "english", original=True)
    ['librari', 'gener']
    """
    import Stemmer

    algorithm = _ORIGINAL[language] if original else language
    reduced: list[str] = Stemmer.Stemmer(algorithm, 0).stemWords(tokens)
    return reduced


def lemmas(tokens: list[str], language: str) -> list[str]:
    """Replace each token by its dictionary form, in lower case.

    >>> lemmas(["geese", "went"], "english")
    ['goose', 'go']
    """
    try:
        from simplemma import lemmatize
    except ImportError as error:
        raise MissingExtra("Lemmas", "lemmas") from error
    code = _LEMMA_CODES[language]
    return [fold(lemmatize(token, code)) if token else "" for token in tokens]


@cache
def stop_words(language: str) -> frozenset[str]:
    """Return the stop words of a language.

    >>> "the" in stop_words("english"), "library" in stop_words("english")
    (True, False)
    """
    source = files("classmark.text").joinpath("stopwords.csv")
    rows = csv.DictReader(source.read_text(encoding="utf-8").splitlines())
    lists = [row["words"].split() for row in rows if row["language"] == language]
    return frozenset(word for listed in lists for word in listed)


NUMBER = "#"
_STEMS = {"snowball": "snowball", "porter": "porter", "lemmas": "lemma"}
_STAGE = re.compile(r"(\w+)(?:\(([^()]*)\)|\[([^\[\]]*)\])?")
_STAGES = (
    "words, lower, length(N), digits(drop), digits(token), accents, stop(LANGUAGE), "
    "stop[WORD WORD ...], snowball(LANGUAGE), porter(LANGUAGE), lemmas(LANGUAGE)"
)


@dataclass(frozen=True, eq=False, repr=False)
class Analyzer:
    """Cut a text into words and reduce the words to terms.

    language : a name PyStemmer knows (``classmark.text.analyzer.languages()``).
    stop : True for the stop list of the language, False for none, or your own words.
    stem : True or "snowball", "porter" (English and Dutch), "lemma", or False.
    digits : what becomes of tokens made only of digits: "keep" them, "drop" them, or
        "token": all become the one term ``#``.
    accents : "keep", or "fold": é is e, before stop words (folded too) and stems.
    min_length : shorter tokens vanish.

    Two analyzers are equal when their descriptions, ``str(analyzer)``, are.

    >>> analyzer = Analyzer(digits="token")
    >>> analyzer("The 3 libraries of 1984 weren't closed.")
    ['#', 'librari', '#', 'close']
    >>> print(analyzer)
    words|lower|digits(token)|stop(english)|snowball(english)
    >>> Analyzer.parse("words|lower|digits(token)|stop(english)|snowball(english)") == (
    ...     analyzer
    ... )
    True
    """

    language: str = "english"
    stop: bool | Iterable[str] = True
    stem: bool | Literal["snowball", "porter", "lemma"] = True
    digits: Literal["keep", "drop", "token"] = "keep"
    accents: Literal["keep", "fold"] = "keep"
    min_length: int = 1

    def __post_init__(self) -> None:
        if self.language not in languages():
            raise Mistake(
                f"language {self.language!r} is not known: "
                f"choose one of {', '.join(languages())}"
            )
        _require(self.digits, "digits", ("keep", "drop", "token"))
        _require(self.accents, "accents", ("keep", "fold"))
        _require(self.stem, "stem", (True, False, "snowball", "porter", "lemma"))
        if isinstance(self.min_length, bool) or not isinstance(self.min_length, int):
            raise Mistake(f"min_length is {self.min_length!r}: give a whole number")
        if self.min_length < 1:
            raise Mistake(f"min_length is {self.min_length}: give 1 or more")
        stem = "snowball" if self.stem is True else self.stem
        has = {"porter": _ORIGINAL, "lemma": _LEMMA_CODES}.get(str(stem), languages())
        if stem and self.language not in has:
            raise Mistake(
                f"language {self.language!r} has no stem={stem!r}: "
                f"that is for {', '.join(sorted(has))}"
            )
        object.__setattr__(self, "stem", stem)
        object.__setattr__(self, "stop", _own_words(self.stop))

    @classmethod
    def parse(cls, description: str) -> Analyzer:
        """Read back what ``str`` wrote.

        >>> Analyzer.parse("words|lower|stop[of the]")("The end of the book")
        ['end', 'book']
        """
        start, _, rest = description.partition("|lower")
        if start != "words" or rest[:1] not in {"", "|"}:
            raise Mistake(f"analyzer {description!r} must begin with words|lower")
        settings: dict[str, Any] = {"stop": False, "stem": False}
        for stage in rest.split("|")[1:]:
            match = _STAGE.fullmatch(stage)
            setting = match and _setting(match[1], match[2], match[3])
            if not setting:
                raise Mistake(
                    f"analyzer {description!r} has an unknown stage {stage!r}: "
                    f"the stages are, in this order, {_STAGES}"
                )
            if settings.get("language", setting.get("language")) != setting.get(
                "language", settings.get("language")
            ):
                raise Mistake(f"analyzer {description!r} names two languages: use one")
            settings |= setting
        analyzer = cls(**settings)
        if str(analyzer) != description:
            raise Mistake(
                f"analyzer {description!r} is out of order: write {str(analyzer)!r}"
            )
        return analyzer

    def __str__(self) -> str:
        stages = ["words", "lower"]
        if self.min_length > 1:
            stages.append(f"length({self.min_length})")
        if self.digits != "keep":
            stages.append(f"digits({self.digits})")
        if self.accents == "fold":
            stages.append("accents")
        if self.stop is True:
            stages.append(f"stop({self.language})")
        elif not isinstance(self.stop, bool):
            stages.append(f"stop[{' '.join(self.stop)}]")
        if self.stem:
            name = {"lemma": "lemmas"}.get(str(self.stem), self.stem)
            stages.append(f"{name}({self.language})")
        return "|".join(stages)

    def __repr__(self) -> str:
        return f"Analyzer.parse({str(self)!r})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Analyzer) and str(self) == str(other)

    def __hash__(self) -> int:
        return hash(str(self))

    def __call__(self, text: str) -> list[str]:
        """Return the terms of a text, in its order."""
        if not isinstance(text, str):
            raise Mistake(f"text is {type(text).__name__}: give a string")
        return [term for term in self.terms(words(text)) if term]

    def terms(self, tokens: list[str]) -> list[str]:
        """Reduce each token to its term, or to "" where it is dropped.

        A token's term does not depend on its neighbours, so whoever counts a collection
        calls this once per distinct token.

        >>> Analyzer().terms(["the", "books"])
        ['', 'book']
        """
        terms = list(tokens)
        if self.min_length > 1:
            terms = [token if len(token) >= self.min_length else "" for token in terms]
        if self.digits != "keep":
            number = NUMBER if self.digits == "token" else ""
            terms = [number if is_number(token) else token for token in terms]
        if self.accents == "fold":
            terms = [fold_accents(token) for token in terms]
        if self._stopped:
            stopped = self._stopped
            terms = ["" if token in stopped else token for token in terms]
        if self.stem == "lemma":
            return lemmas(terms, self.language)
        if self.stem:
            return stems(terms, self.language, original=self.stem == "porter")
        return terms

    @property
    def dropped(self) -> list[str]:
        """The stop words: tokens known to have no term before any text is seen."""
        listed = sorted(self._stopped)
        pairs = zip(listed, self.terms(listed), strict=True)
        return [token for token, term in pairs if not term]

    @cached_property
    def _stopped(self) -> frozenset[str]:
        if isinstance(self.stop, bool):
            listed = stop_words(self.language) if self.stop else frozenset()
        else:
            listed = frozenset(self.stop)
        if self.accents == "fold":
            return frozenset(map(fold_accents, listed))
        return listed


def _require(value: object, name: str, allowed: tuple[object, ...]) -> None:
    if not any(value is item or value == item for item in allowed):
        shown = ", ".join(repr(item) for item in allowed)
        raise Mistake(f"{name} is {value!r}: choose one of {shown}")


def _own_words(stop: bool | Iterable[str]) -> bool | tuple[str, ...]:
    """Check and sort a user's stop words; none is False."""
    if isinstance(stop, bool):
        return stop
    if isinstance(stop, str):
        raise Mistake(f"stop is the string {stop!r}: give True, False or a list")
    listed = set()
    for word in stop:
        pieces = words(word)
        if len(pieces) != 1:
            raise Mistake(
                f"stop word {word!r} is {len(pieces)} tokens: "
                f"give single words{': ' + ', '.join(pieces) if pieces else ''}"
            )
        listed.add(pieces[0])
    return tuple(sorted(listed)) or False


def _setting(name: str, value: str | None, listed: str | None) -> dict[str, Any]:
    """Turn one stage into keyword arguments; nothing if there is no such stage."""
    if listed is not None:
        return {"stop": listed.split()} if name == "stop" else {}
    if value is None:
        return {"accents": "fold"} if name == "accents" else {}
    if name == "length" and value.isdecimal():
        return {"min_length": int(value)}
    if name == "digits":
        return {"digits": value}
    if name == "stop":
        return {"stop": True, "language": value}
    return {"stem": _STEMS[name], "language": value} if name in _STEMS else {}


def analyzer_from(analyzer: Analyzer | str | None) -> Analyzer:
    """Take an analyzer in any of its forms."""
    if analyzer is None:
        return Analyzer()
    if isinstance(analyzer, str):
        return Analyzer.parse(analyzer)
    if isinstance(analyzer, Analyzer):
        return analyzer
    raise Mistake(
        f"analyzer is {type(analyzer).__name__}: give an Analyzer, a description or "
        "None"
    )
