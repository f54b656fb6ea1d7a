"""The analyzer: stages, description, mistakes."""

import copy
import sys

import pytest

from classmark.problems import MissingExtra, Mistake
from classmark.text import Analyzer, languages


def test_each_stage_does_its_work():
    text = "The Bees of 1984 visited 3 cafés"
    assert Analyzer(stop=False, stem=False)(text) == [
        *("the", "bees", "of", "1984", "visited", "3", "cafés")
    ]
    assert Analyzer(stem=False)(text) == ["bees", "1984", "visited", "3", "cafés"]
    assert Analyzer()(text) == ["bee", "1984", "visit", "3", "café"]
    assert Analyzer(digits="drop")(text) == ["bee", "visit", "café"]
    assert Analyzer(digits="token")(text) == ["bee", "#", "visit", "#", "café"]
    assert Analyzer(accents="fold")(text) == ["bee", "1984", "visit", "3", "cafe"]
    assert Analyzer(min_length=5, stem=False)(text) == ["visited", "cafés"]
    assert Analyzer(stop=["bees", "OF"], stem=False)("The bees of") == ["the"]


def test_the_courses_sentence_has_seven_words_of_six_types():
    text = "the importance of retrieving the good information"
    segmented = Analyzer(stop=False, stem=False)(text)
    assert (len(segmented), len(set(segmented))) == (7, 6)
    assert Analyzer()(text) == ["import", "retriev", "good", "inform"]


def test_porter_and_snowball_differ_where_they_should():
    assert Analyzer(stem="porter")("generously dying") == ["gener", "dy"]
    assert Analyzer(stem="snowball")("generously dying") == ["generous", "die"]


@pytest.mark.needs("simplemma")
def test_lemmas():
    assert Analyzer(stem="lemma")("The geese went") == ["goose", "go"]
    assert Analyzer("german", stem="lemma")("Häuser") == ["haus"]


def test_lemmas_without_the_package_name_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "simplemma", None)
    with pytest.raises(MissingExtra, match=r"classmark\[lemmas\]"):
        Analyzer(stem="lemma")("geese")


@pytest.mark.parametrize("language", languages())
def test_every_language_stems_and_keeps_the_number_token(language):
    analyzer = Analyzer(language, digits="token")
    assert analyzer("12") == ["#"]
    assert analyzer.terms([""]) == [""]
    assert str(analyzer).endswith(f"|stop({language})|snowball({language})")


def test_accents_are_folded_in_stop_words_too():
    assert Analyzer("french", accents="fold", stem=False)("été meme forêt") == ["foret"]


@pytest.mark.parametrize(
    ("analyzer", "description"),
    [
        (Analyzer(), "words|lower|stop(english)|snowball(english)"),
        (Analyzer(stop=False, stem=False), "words|lower"),
        (
            Analyzer(stop=["the", "a"], stem="porter"),
            "words|lower|stop[a the]|porter(english)",
        ),
        (
            Analyzer("german", digits="token", accents="fold", min_length=2),
            "words|lower|length(2)|digits(token)|accents|stop(german)|snowball(german)",
        ),
        (Analyzer("dutch", stem="porter", stop=False), "words|lower|porter(dutch)"),
        (Analyzer(stem="lemma"), "words|lower|stop(english)|lemmas(english)"),
        (Analyzer(stop=["english"], stem=False), "words|lower|stop[english]"),
    ],
)
def test_description(analyzer, description):
    assert str(analyzer) == description
    assert Analyzer.parse(description) == analyzer
    assert eval(repr(analyzer)) == analyzer  # noqa: S307 - the repr is what we promise


def test_equality_is_that_of_the_descriptions():
    assert Analyzer(stem=True) == Analyzer(stem="snowball")
    assert Analyzer("german", stop=False, stem=False) == Analyzer(stop=(), stem=False)
    assert Analyzer() != Analyzer(stem=False)
    assert Analyzer() != "words|lower"
    assert hash(Analyzer()) == hash(copy.deepcopy(Analyzer()))


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"language": "klingon"}, "klingon.*armenian.*yiddish"),
        ({"stem": "lancaster"}, "stem is 'lancaster'"),
        (
            {"stem": "porter", "language": "german"},
            "'german' has no stem='porter'.*dutch",
        ),
        ({"stem": "lemma", "language": "tamil"}, "'tamil' has no stem='lemma'"),
        ({"digits": "hash"}, "digits is 'hash'.*'token'"),
        ({"accents": True}, "accents is True"),
        ({"min_length": 0}, "min_length is 0"),
        ({"min_length": 1.5}, "min_length is 1.5"),
        ({"stop": "the"}, "stop is the string 'the'"),
        ({"stop": ["don't"]}, '"don\'t" is 2 tokens.*don, t'),
        ({"stop": ["--"]}, "'--' is 0 tokens"),
    ],
)
def test_mistakes_name_the_argument_and_the_remedy(settings, message):
    with pytest.raises(Mistake, match=message):
        Analyzer(**settings)


@pytest.mark.parametrize(
    ("description", "message"),
    [
        ("", "must begin with words"),
        ("words", "write 'words.lower'"),
        ("words|lowered", "must begin with words"),
        ("words|lower|fancy", "unknown stage 'fancy'.*snowball"),
        ("words|lower|length(two)", "unknown stage"),
        ("words|lower|accents[a]", "unknown stage"),
        ("words|lower|snowball(english)|stop(english)", "write 'words.lower.stop"),
        ("words|lower|stop[the a]", "out of order"),
        ("words|lower|stop(english)|snowball(german)", "two languages"),
        ("words|lower|digits(many)", "digits is 'many'"),
        ("words|lower|length(1)", "out of order"),
    ],
)
def test_descriptions_that_cannot_be_read(description, message):
    with pytest.raises(Mistake, match=message):
        Analyzer.parse(description)


def test_only_strings_are_analysed():
    with pytest.raises(Mistake, match="text is bytes"):
        Analyzer()(b"bees")
