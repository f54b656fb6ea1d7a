"""Lists of references as citation managers read them."""

import re

import pytest

from classmark.formats import read_records
from classmark.formats.citations import reference_of, write_bibtex, write_ris
from classmark.formats.records import Reference

FOUND = [
    Reference("r1", "Bees & {honey}\n100 %", "rank 1"),
    Reference("a b"),
    Reference("a,b", "Ünder_line"),
]
RIS = (
    "TY  - GEN\r\nID  - r1\r\nTI  - Bees & {honey} 100 %\r\nN1  - rank 1\r\nER  - \r\n"
    "\r\nTY  - GEN\r\nID  - a b\r\nER  - \r\n"
    "\r\nTY  - GEN\r\nID  - a,b\r\nTI  - Ünder_line\r\nER  - \r\n\r\n"
)
BIB = r"""@misc{r1,
  title = {Bees \& \{honey\} 100 \%},
  note = {rank 1}
}

@misc{a-b,
  howpublished = {a b}
}

@misc{a-b:2,
  title = {Ünder\_line},
  howpublished = {a,b}
}

"""


def test_ris_has_type_id_title_and_note(tmp_path):
    assert write_ris(FOUND, tmp_path / "x.ris") == 3
    assert (tmp_path / "x.ris").read_bytes().decode() == RIS


@pytest.mark.parametrize(
    ("facts", "said"),
    [
        ({"type": "Journal Article; Review"}, "JOUR"),
        ({"type": "Review", "journal": "Fens"}, "GEN"),
        ({"journal": "Fens"}, "JOUR"),
        ({"type": "CHAP", "journal": "Fens"}, "CHAP"),
        ({}, "GEN"),
    ],
)
def test_ris_calls_an_article_what_one_of_its_types_does(tmp_path, facts, said):
    write_ris([Reference("a", "Pumps", "", facts)], tmp_path / "x.ris")
    assert (tmp_path / "x.ris").read_text().startswith(f"TY  - {said}\n")


@pytest.mark.needs("bibtexparser")
@pytest.mark.parametrize("words", ["pumps, drains,fens", "pumps; drains; fens"])
def test_keywords_of_bibtex_are_several_and_come_out_one_by_one(tmp_path, words):
    path = tmp_path / "a.bib"
    path.write_text(f"@article{{k1, title = {{Pumps}}, keywords = {{{words}}}}}\n")
    (record,) = read_records(path)
    write_ris([reference_of(record, "Pumps")], tmp_path / "x.ris")
    lines = (tmp_path / "x.ris").read_text().splitlines()
    found = [line for line in lines if line.startswith("KW")]
    assert found == ["KW  - pumps", "KW  - drains", "KW  - fens"]


def test_bibtex_has_a_key_of_its_own_for_every_id(tmp_path):
    assert write_bibtex(FOUND, tmp_path / "x.bib") == 3
    text = (tmp_path / "x.bib").read_text()
    assert text == BIB
    keys = re.findall(r"@misc\{([^,]*),", text)
    assert len(set(keys)) == 3
