"""Texts for people in their language: catalogues of gettext, numbers and dates.

A text is written in English where it is shown, inside ``_()`` or ``ngettext()``; the
folder ``locale`` has its translations. Where nobody has chosen a language, as on the
command line and in the API, it stays English. What these functions return remembers how
it was made: shown later, elsewhere, it is in the language of whoever reads it then.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import datetime
from functools import cache, partial, wraps
from gettext import GNUTranslations, NullTranslations
from pathlib import Path
from typing import Any, ParamSpec

ENGLISH = "en"
CATALOGUES = Path(__file__).parent / "locale"
DOMAIN = "classmark"
_LANGUAGE: ContextVar[str] = ContextVar("language", default=ENGLISH)
P = ParamSpec("P")
_MAKERS: dict[str, Callable[..., str]] = {}  # of texts, by their names


class Text(str):
    """A text; ``str()`` and f-strings make it again, in the language of who reads it.

    Elsewhere, as in JSON, it is as it was made; copies and pickles are plain.
    """

    __slots__ = ("again",)
    again: Callable[[], str]

    def __str__(self) -> str:
        return self.again()

    def __format__(self, spec: str) -> str:
        return format(self.again(), spec)

    def __reduce__(self) -> tuple[type[str], tuple[str]]:
        return str, (self[:],)


def remade(function: Callable[P, str]) -> Callable[P, str]:
    """Let the texts that a function returns be made again where they are shown."""

    @wraps(function)
    def text(*args: P.args, **values: P.kwargs) -> Text:
        again = partial(function, *args, **values)
        made = Text(again())
        made.again = again
        return made

    _MAKERS[function.__name__] = text
    return text


def as_stored(value: object) -> object:
    """A text as JSON keeps it: how it was made. Anything else stays itself.

    >>> made = restored(as_stored(_("%(share)s of it", share=percent(0.5, 1))))
    >>> with in_language("de"):
    ...     print(made)
    50,0 % of it
    """
    if not isinstance(value, Text) or not isinstance(value.again, partial):
        return value
    args = [as_stored(each) for each in value.again.args]
    values = {name: as_stored(each) for name, each in value.again.keywords.items()}
    return [value.again.func.__name__, args, values]


def restored(value: Any) -> Any:
    """What JSON has kept; a text is in the language of whoever reads it."""
    if not isinstance(value, list):
        return value
    name, args, values = value
    values = {key: restored(each) for key, each in values.items()}
    return _MAKERS[name](*map(restored, args), **values)


def N_(message: str) -> str:  # noqa: N802 - gettext's own name
    """Mark a text for translation where it is written down; ``_`` translates it."""
    return message


# Translators: the name of your language, in your language.
OWN_NAME = N_("the name of this language")
# Translators: this number, as your language writes it.
EXAMPLE = N_("1,234.5")
# Translators: a day, as in 2026-01-31, by the directives of strftime.
DAY = N_("%Y-%m-%d")


@cache
def catalogue(language: str) -> NullTranslations:
    """The translations into a language; English has none."""
    path = CATALOGUES / language / "LC_MESSAGES" / f"{DOMAIN}.mo"
    if language == ENGLISH or not path.is_file():
        return NullTranslations()
    with path.open("rb") as file:
        return GNUTranslations(file)


@cache
def codes() -> tuple[str, ...]:
    """The codes of all languages, English first."""
    folders = {path.parent.parent.name for path in CATALOGUES.glob("*/*/*.mo")}
    return (ENGLISH, *sorted(folders))


@cache
def languages() -> dict[str, str]:
    """Every language: its code and its own name, English first.

    >>> languages()["de"]
    'Deutsch'
    """
    others = {code: catalogue(code).gettext(OWN_NAME) for code in codes()}
    return {**others, ENGLISH: "English"}


def language() -> str:
    """The code of the language in which texts are shown here."""
    return _LANGUAGE.get()


@contextmanager
def in_language(code: str) -> Iterator[None]:
    """Show texts in a language; in English where it has no catalogue."""
    token = _LANGUAGE.set(code if code in codes() else ENGLISH)
    try:
        yield
    finally:
        _LANGUAGE.reset(token)


def preferred(accepted: str) -> str:
    """The language that a browser likes best, of those there are; "" for none.

    >>> preferred("fr-CH, de-AT;q=0.9, en;q=0.8"), preferred("tlh, *;q=0.1")
    ('de', '')
    """
    wishes = []
    for place, part in enumerate(accepted.split(",")):
        code, _semicolon, quality = part.partition(";")
        try:
            weight = float(quality.strip().removeprefix("q=") or 1)
        except ValueError:  # a stranger may send anything
            continue
        wishes.append((-weight, place, code.strip().lower().partition("-")[0]))
    return next(
        (code for weight, _, code in sorted(wishes) if weight and code in codes()),
        "",
    )


@remade
def _(message: str, **values: object) -> str:
    """A text in the language of this place, with ``values`` for what is in %( )s.

    >>> _("added %(name)s", name="bees")
    'added bees'
    >>> yes = _("yes")
    >>> with in_language("de"):
    ...     f"{yes}, {percent(0.5)}"
    'ja, 50 %'
    """
    text = catalogue(_LANGUAGE.get()).gettext(message) if message else ""
    return text % values if values else text


@remade
def ngettext(singular: str, plural: str, n: int, **values: object) -> str:
    """The same for so many; %(n)s is the number, as the language writes it.

    >>> ngettext("%(n)s document", "%(n)s documents", 1200)
    '1,200 documents'
    """
    text = catalogue(_LANGUAGE.get()).ngettext(singular, plural, n)
    return text % {"n": whole(n), **values}


def several(n: int, thing: str) -> str:
    """A number of things in English, where a text is not translated.

    >>> several(1, "query"), several(1200, "query"), several(0, "document")
    ('1 query', '1,200 queries', '0 documents')
    """
    many = f"{thing[:-1]}ies" if thing.endswith("y") else f"{thing}s"
    return f"{n:,} {thing if n == 1 else many}"


@remade
def joined(*texts: str, by: str = "; ") -> str:
    """Several texts as one; those that are empty are left out."""
    return by.join(str(text) for text in texts if text)


@cache
def _marks(code: str) -> dict[int, str]:
    """From the marks of an English number to those of a language."""
    written = catalogue(code).gettext(EXAMPLE)
    return str.maketrans({",": written[1:-5] or "", ".": written[-2], "-": "−"})


@remade
def whole(value: float) -> str:
    """A whole number, with the language's mark between thousands.

    >>> with in_language("de"):
    ...     whole(12345), decimal(-1234.56, 1), signed(0.5), percent(0.875)
    ('12.345', '−1.234,6', '+0,50', '88 %')
    """
    return f"{value:,.0f}".translate(_marks(_LANGUAGE.get()))


@remade
def decimal(value: float, digits: int = 2) -> str:
    """A number with so many digits after the decimal mark."""
    return f"{value:,.{digits}f}".translate(_marks(_LANGUAGE.get()))


@remade
def signed(value: float, digits: int = 2) -> str:
    """The same, with a plus where it is positive."""
    return f"{value:+,.{digits}f}".translate(_marks(_LANGUAGE.get()))


@remade
def general(value: float, digits: int = 6) -> str:
    """A number with as many digits as it needs, up to ``digits``."""
    return f"{value:,.{digits}g}".translate(_marks(_LANGUAGE.get()))


@remade
def percent(share: float, digits: int = 0) -> str:
    """A share in percent."""
    return f"{decimal(100 * share, digits)} %"


@remade
def clock(at: str, detail: str = "second") -> str:
    """A time of the log as people read it; what is no time stays as it is.

    detail : "day", "minute" or "second"; "time" is the time of day alone.

    >>> at = "2026-01-02T03:04:05.678"
    >>> clock(at), clock(at, "day"), clock(at, "time")
    ('2026-01-02 03:04:05', '2026-01-02', '03:04:05')
    >>> with in_language("de"):
    ...     clock(at, "minute")
    '02.01.2026 03:04'
    """
    try:
        when = datetime.fromisoformat(at).astimezone()
    except ValueError:
        return at
    day = when.strftime(catalogue(_LANGUAGE.get()).gettext(DAY))
    time = f"{when:%H:%M}" if detail == "minute" else f"{when:%H:%M:%S}"
    return {"day": day, "time": time}.get(detail, f"{day} {time}")
