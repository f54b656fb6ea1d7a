"""Segmentation, case, numbers and accents."""

import unicodedata

import pytest

from classmark.text import (
    ALONE,
    fold,
    fold_accents,
    is_number,
    kind,
    kinds,
    words,
)


def test_the_table_has_the_kind_of_every_code_point():
    table = kinds().tolist()
    assert table == [kind(chr(point)) for point in range(0x110000)]


def test_han_and_hiragana_stand_alone_and_nothing_else():
    named = ("CJK UNIFIED IDEOGRAPH", "CJK COMPATIBILITY IDEOGRAPH", "HIRAGANA LETTER")
    others = {"〇", "々", "〆", "〻", "ゝ", "ゞ", "ゟ"}
    for point in range(0x110000):
        character = chr(point)
        name = unicodedata.name(character, "")
        if name.startswith(named):
            assert kind(character) == ALONE, name
        elif kind(character) == ALONE:
            assert (
                character in others
                or name.startswith(("HANGZHOU NUMERAL", "HENTAIGANA LETTER"))
                or "IDEOGRAPHIC" in name
            ), name


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("", []),
        ("  --  ", []),
        ("snake_case's end", ["snake", "case", "s", "end"]),
        ("Ünï-cödé", ["ünï", "cödé"]),
        ("U\u0308ni", ["üni"]),
        ("İstanbul", ["i\u0307stanbul"]),
        ("Stra\u1e9ee STRASSE ſo", ["straße", "strasse", "ſo"]),
        ("ΟΔΟΣ ΣΟΦΟΣ.", ["οδος", "σοφος"]),
        ("J\u030cx", ["ǰx"]),
        ("日本語の本", ["日", "本", "語", "の", "本"]),
        ("か\u3099カタカナabc", ["が", "カタカナabc"]),
        ("葛\U000e0100飾x", ["葛\U000e0100", "飾", "x"]),
        ("ภาษาไทย 123๔", ["ภาษาไทย", "123๔"]),
        ("हिन्दी में", ["हिन्दी", "में"]),
        ("\u0301a", ["\u0301a"]),
        ("a\ud800b", ["a", "b"]),
        ("x\u00adb", ["x", "b"]),
    ],
)
def test_words(text, tokens):
    assert words(text) == tokens


def test_fold_keeps_what_casefold_would_change():
    assert fold("ß") == "ß"
    assert fold("SS") == "ss"


@pytest.mark.parametrize(
    ("token", "answer"),
    [("12", True), ("1a", False), ("Ⅷ", True), ("½", True), ("٣", True), ("一", False)],
)
def test_is_number(token, answer):
    assert is_number(token) is answer


def test_accents_fold_to_nothing_where_only_a_mark_was():
    assert fold_accents("\u0301") == ""
    assert fold_accents("ångström") == "angstrom"
    assert fold_accents("i\u0307") == "i"
    assert fold_accents("ø") == "ø"
