"""Many forms of a word become one: Snowball and Porter stems, and lemmas."""

from __future__ import annotations

from functools import cache

from classmark.problems import MissingExtra, Mistake
from classmark.text.tokens import fold

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


def require_reduction(language: str, stem: str) -> None:
    """Refuse a language that the asked reduction does not know."""
    has = {"porter": _ORIGINAL, "lemma": _LEMMA_CODES}.get(stem, languages())
    if language not in has:
        raise Mistake(
            f"language {language!r} has no stem={stem!r}: "
            f"that is for {', '.join(sorted(has))}"
        )


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
