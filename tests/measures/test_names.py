import re
from pathlib import Path

import pytest

from classmark.measures import MEASURES, Measure, parse
from classmark.problems import Mistake

BIBLIOGRAPHY = Path(__file__).parents[2] / "references.bib"


def every_form():
    for declared in MEASURES.values():
        averages = ["micro", "macro"] if declared.averaged else [None]
        cutoffs = {"no": [None], "may": [None, 5], "must": [1, 10]}[declared.cutoff]
        for average in averages:
            for cutoff in cutoffs:
                yield Measure(declared.name, cutoff, average)


@pytest.mark.parametrize("measure", [*every_form()], ids=str)
def test_a_name_parses_to_what_it_prints(measure):
    assert parse(str(measure)) == measure
    assert parse(str(measure).lower()) == measure
    assert parse(str(measure).upper()) == measure
    assert str(parse(str(measure))) == str(measure)


@pytest.mark.parametrize(
    ("typed", "printed"),
    [
        ("map", "AP"),
        ("mrr", "RR"),
        ("wta", "WTA"),
        ("ndcg@10", "nDCG@10"),
        ("p@10", "P@10"),
        ("r@10", "R@10"),
        ("prbep", "PRBEP"),
        ("one_error", "OneError"),
        ("average_precision", "AP"),
        ("max_f1", "MaxF1"),
        ("curve_max_f1", "CurveMaxF1"),
        ("f1(Macro)", "F1(macro)"),
        (" Coverage ", "Coverage"),
    ],
)
def test_other_spellings(typed, printed):
    assert str(parse(typed)) == printed


@pytest.mark.parametrize(
    ("typed", "message"),
    [
        ("ndgc@10", r"'ndgc@10' is not known: did you mean nDCG\? .*AP, RR, WTA"),
        ("zebra", "'zebra' is not known: the known ones are AP"),
        ("nDCG@", "not known: did you mean nDCG"),
        ("", "not known"),
        ("P", "write P@10"),
        ("P@0", "cut from 1 up"),
        ("Coverage@3", "write Coverage"),
        ("F1", r"write F1\(micro\) or F1\(macro\)"),
        ("F1(weighted)", r"write F1\(micro\)"),
        ("AP(macro)", "write AP"),
    ],
)
def test_mistakes_say_what_to_write(typed, message):
    with pytest.raises(Mistake, match=message):
        parse(typed)


def test_spellings_are_unambiguous_and_citations_known():
    spellings = [
        spelling.lower()
        for declared in MEASURES.values()
        for spelling in (declared.name, *declared.aliases)
    ]
    assert len(spellings) == len(set(spellings))
    known = set(re.findall(r"@\w+\{(\w+),", BIBLIOGRAPHY.read_text()))
    assert {declared.cites for declared in MEASURES.values()} <= known


def test_what_is_better():
    assert parse("nDCG").larger_is_better
    assert not parse("OneError").larger_is_better
