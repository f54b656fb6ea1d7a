"""Text becomes terms: words in lower case, and an analyzer that prints as it is typed.

**Segmentation.** A token is a maximal run of letters, marks and numbers (Unicode's
general categories L*, M*, N*); everything else separates: blanks, punctuation, the
underscore, and the apostrophe ("don't" is ``don`` and ``t``). Characters of the scripts
Han and Hiragana stand alone, with the marks that follow them, as in Unicode's UAX #29;
Katakana stays together, and so does a run of Thai, Lao, Khmer or Burmese, whose words
only a dictionary can tell apart.

**Case.** ``str.lower`` between two normalisations to NFC, over the whole text: İ
becomes i with a dot above, a capital sigma at the end of a word becomes ς, ß and ſ stay
as they are (``str.casefold`` would make ss and s of them, which no stemmer expects).

This is the slow, obvious path; the fast one (``classmark.corpus``) must equal it.

Many forms of a word become one by Snowball and Porter stems, or by lemmas. The lists of
stop words are function words (articles, pronouns, prepositions, conjunctions, auxiliary
verbs), in lower case; where an apostrophe cuts a word, its pieces are listed.
"""

from __future__ import annotations

import csv
import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache, cached_property, lru_cache
from importlib.resources import files
from typing import Any, Literal
from unicodedata import category, normalize

import numpy as np
from numpy.typing import NDArray

from classmark.problems import MissingExtra, Mistake

SEPARATOR, WORD, ALONE, MARK = range(4)

#: Scripts Han and Hiragana: first and last code point of each range.
STANDING_ALONE = (
    (0x3005, 0x3007),
    (0x3021, 0x3029),
    (0x3038, 0x303B),
    (0x3041, 0x3096),
    (0x309D, 0x309F),
    (0x3400, 0x4DBF),
    (0x4E00, 0x9FFF),
    (0xF900, 0xFAFF),
    (0x1B001, 0x1B11F),
    (0x1B132, 0x1B132),
    (0x1B150, 0x1B152),
    (0x20000, 0x3FFFF),
)
_PLANES_WITH_LETTERS = (0, 1, 2, 3, 14)
_PLANE = 0x10000
_ASCII = re.compile("[a-z0-9]+")


def fold(text: str) -> str:
    r"""Lower the case and compose the accents.

    >>> fold("STRASSE Straße E\u0301TE\u0301")
    'strasse straße été'
    """
    if text.isascii():
        return text.lower()
    return normalize("NFC", normalize("NFC", text).lower())


@lru_cache(maxsize=1 << 16)
def kind(character: str) -> int:
    r"""Say which of SEPARATOR, WORD, ALONE and MARK a character is.

    >>> [kind(character) for character in "a_漢\u0301"]
    [1, 0, 2, 3]
    """
    major = category(character)[0]
    if major == "M":
        return MARK
    if major not in "LN":
        return SEPARATOR
    point = ord(character)
    alone = any(first <= point <= last for first, last in STANDING_ALONE)
    return ALONE if alone else WORD


@cache
def kinds() -> NDArray[np.uint8]:
    """Return the kind of every code point: one table, shape (1114112,)."""
    code: defaultdict[str, int] = defaultdict(int)
    code |= dict.fromkeys(("Mn", "Mc", "Me"), MARK)
    code |= dict.fromkeys(("Lu", "Ll", "Lt", "Lm", "Lo", "Nd", "Nl", "No"), WORD)
    table = np.zeros(17 * _PLANE, np.uint8)
    for plane in _PLANES_WITH_LETTERS:
        points = range(plane * _PLANE, (plane + 1) * _PLANE)
        codes = map(code.__getitem__, map(category, map(chr, points)))
        table[points.start : points.stop] = np.fromiter(codes, np.uint8, _PLANE)
    for first, last in STANDING_ALONE:
        run = table[first : last + 1]
        run[run == WORD] = ALONE
    table.flags.writeable = False
    return table


def words(text: str) -> list[str]:
    """Cut a text into lower-case tokens.

    >>> words("Don't panic: the R2_D2 is in 東京!")
    ['don', 't', 'panic', 'the', 'r2', 'd2', 'is', 'in', '東', '京']
    """
    if text.isascii():
        return _ASCII.findall(text.lower())
    folded = fold(text)
    if len(folded.encode("utf-16-le", "surrogatepass")) > 2 * len(folded):
        return one_by_one(text)
    return _tokens_of_first_plane().findall(folded)


@cache
def _tokens_of_first_plane() -> re.Pattern[str]:
    """A token of characters up to U+FFFF, of which an expression has a quick table."""
    plane = kinds()[:_PLANE]
    mark, alone, runs = (
        "".join(f"\\u{a:04x}-\\u{b - 1:04x}" for a, b in _runs(np.isin(plane, own)))
        for own in ([MARK], [ALONE], [WORD, MARK])
    )
    return re.compile(f"[{runs}]+|[{alone}][{mark}]*")


def _runs(is_in: NDArray[np.bool_]) -> list[list[int]]:
    """Where each run of what is in begins, and where it ends."""
    padded = np.concatenate(([False], is_in, [False]))
    edges: list[list[int]] = (
        np.flatnonzero(padded[1:] != padded[:-1]).reshape(-1, 2).tolist()
    )
    return edges


_END = re.compile(  # of a sentence; a full stop behind one letter is an initial's
    r"""(?:(?<!\b\w)\.|[!?…؟۔।])["'’”»)\]]*\s+|[。！？]["'’”」』）]*\s*|\n\s*"""
)


def sentences(text: str) -> list[str]:
    r"""Cut a text into sentences, by punctuation and line breaks alone.

    What follows must not begin with a small letter, unless a line is empty before it:
    lines of one sentence stay together.

    >>> sentences("A hive. Dr K. Bee, who\nkeeps it, is in! Where?")
    ['A hive.', 'Dr K. Bee, who\nkeeps it, is in!', 'Where?']
    """
    pieces, at = [], 0
    for end in _END.finditer(text):
        goes_on = text[end.end() : end.end() + 1].islower()
        if not goes_on or end[0].count("\n") > 1:
            pieces.append(text[at : end.end()].strip())
            at = end.end()
    return [piece for piece in (*pieces, text[at:].strip()) if piece]


def one_by_one(text: str) -> list[str]:
    """As ``words``, looking at every character.

    >>> one_by_one("Déjà vu")
    ['déjà', 'vu']
    """
    tokens: list[list[str]] = []
    last = SEPARATOR
    for character in fold(text):
        now = kind(character)
        if now == SEPARATOR:
            last = SEPARATOR
        elif last != SEPARATOR and (now == MARK or now == last == WORD):
            tokens[-1].append(character)
        else:
            tokens.append([character])
            last = WORD if now == MARK else now
    return ["".join(token) for token in tokens]


def is_number(token: str) -> bool:
    """Say whether a token has only characters of the categories N*.

    >>> is_number("1984"), is_number("½"), is_number("mp3")
    (True, True, False)
    """
    if token.isascii() or token.isdecimal():
        return token.isdecimal()
    return all(category(character)[0] == "N" for character in token)


def fold_accents(token: str) -> str:
    """Take the marks (category Mn) off the letters.

    >>> fold_accents("naïveté")
    'naivete'
    """
    if token.isascii():
        return token
    bare = (c for c in normalize("NFD", token) if category(c) != "Mn")
    return normalize("NFC", "".join(bare))


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


def detect_languages(text: str, codes: Sequence[str]) -> list[tuple[str | None, float]]:
    """Which of some languages a text is in, the surest first; None: another one.

    The share of the words that are known in each, by simplemma's lists. Text without a
    known word is in another language, for sure.

    >>> detect_languages("the bees and the hives", ["fi", "en"])[0]
    ('en', 1.0)
    """
    try:
        from simplemma import langdetect
    except ImportError as error:
        raise MissingExtra("Telling languages apart", "lemmas") from error
    try:
        shares = langdetect(text, tuple(codes))
    except ValueError as error:
        raise Mistake(
            f"a language of {', '.join(codes)} is not known: give codes such as en, fi"
        ) from error
    return [(None if code == "unk" else code, share) for code, share in shares]


@cache
def stop_words(language: str) -> frozenset[str]:
    """Return the stop words of a language.

    >>> "the" in stop_words("english"), "library" in stop_words("english")
    (True, False)
    """
    source = files("classmark").joinpath("stopwords.csv")
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

    language : a name PyStemmer knows (``classmark.text.languages()``).
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


OTHER = "other"  # a language without a stemmer


def usual_analyzer(language: str) -> Analyzer:
    """The analyzer for texts in a language; words as they are for any "other".

    language : its English name, or its code.

    >>> print(usual_analyzer("finnish"))
    words|lower|stop(finnish)|snowball(finnish)
    >>> usual_analyzer("fi") == usual_analyzer("finnish")
    True
    >>> print(usual_analyzer("other"))
    words|lower
    """
    if language == OTHER:
        return Analyzer(stop=False, stem=False)
    codes = {code: name for name, code in CODES.items() if name in languages()}
    language = codes.get(language, language)
    if language not in languages():
        raise Mistake(
            f"language {language!r} has no stemmer: choose one of "
            f"{', '.join(languages())}, or {OTHER} for words as they are"
        )
    return Analyzer(language)


CODES = {
    "arabic": "ar", "armenian": "hy", "basque": "eu", "catalan": "ca", "czech": "cs",
    "danish": "da", "dutch": "nl", "english": "en", "esperanto": "eo",
    "estonian": "et", "finnish": "fi", "french": "fr", "german": "de", "greek": "el",
    "hindi": "hi", "hungarian": "hu", "indonesian": "id", "irish": "ga",
    "italian": "it", "lithuanian": "lt", "nepali": "ne", "norwegian": "no",
    "persian": "fa", "polish": "pl", "porter": "en", "portuguese": "pt",
    "romanian": "ro", "russian": "ru", "serbian": "sr", "sesotho": "st",
    "spanish": "es", "swedish": "sv", "tamil": "ta", "turkish": "tr", "yiddish": "yi",
}  # fmt: skip


def language_code(analyzer: str) -> str:
    """The code of the language that an analyzer is for; "" if it is for none.

    >>> language_code("words|lower|stop(english)"), language_code("words|lower")
    ('en', '')
    """
    names = re.findall(r"[a-z]+", analyzer.lower())
    return next((CODES[name] for name in names if name in CODES), "")


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
