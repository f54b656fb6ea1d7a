"""Lists of references as citation managers read them."""

import re

from classmark.formats.citations import write_bibtex, write_ris
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


def test_bibtex_has_a_key_of_its_own_for_every_id(tmp_path):
    assert write_bibtex(FOUND, tmp_path / "x.bib") == 3
    text = (tmp_path / "x.bib").read_text()
    assert text == BIB
    keys = re.findall(r"@misc\{([^,]*),", text)
    assert len(set(keys)) == 3
