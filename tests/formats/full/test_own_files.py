"""Spreadsheets, references and documents are read as rows; what is none is refused."""

import io
import zipfile
from functools import partial

import pytest

import own_files
from classmark.formats import guess_format, read_records
from classmark.formats.columns import open_rows
from classmark.formats.rows import LeftOut
from classmark.problems import UnreadableFile
from classmark.progress import remarks

pytest.importorskip("openpyxl")
pytest.importorskip("pypdf")
pytest.importorskip("bibtexparser")


@pytest.fixture
def written(tmp_path):
    def write(name, content):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return write


def test_the_first_sheet_is_read_and_others_are_told(written):
    path = written("own.xlsx", own_files.xlsx(own_files.SHEET, own_files.SHEET))
    assert guess_format(path) == "xlsx"
    with remarks() as told:
        first, second = read_records(path)
    assert first.id == "own.xlsx:2"
    assert dict(first.labels) == {"bees": 1.0}
    assert first.document.title == "The hive"
    assert second.meta == {"nr": "2"}
    assert "the sheet 'Sheet' was read, not more" in told[0]


REFERENCES = {
    "own.ris": (own_files.RIS, "own.ris:1"),
    "own.nbib": (own_files.NBIB, "101"),
    "own.enw": (own_files.ENW, "own.enw:1"),
    "own.bib": (own_files.BIB, "ash2014"),
}


@pytest.mark.parametrize("name", REFERENCES)
def test_references_keep_the_names_of_their_fields(written, name):
    content, id_ = REFERENCES[name]
    first, second = read_records(written(name, content))
    assert first.id == id_
    assert first.document.title.rstrip(".") in {"Wax in old hives", "Wax in old Hives"}
    assert first.document.fields["abstract"].startswith("We looked at wax")
    assert first.meta["authors"].startswith("Ash, A")
    assert "; Elm, E" in first.meta["authors"]
    assert (first.meta["doi"], first.meta["year"]) == ("10.1000/wax", "2014")
    assert second.document.title.startswith("Rye")


def test_lines_of_a_reference_go_on_and_asreview_says_what_is_relevant(written):
    first, second = read_records(written("own.ris", own_files.RIS))
    assert first.document.fields["abstract"] == "We looked at wax, and at combs."
    assert first.document.fields["keywords"] == "wax; combs"
    assert (first.labels, second.labels) == ({"included": 1.0}, {"not included": 1.0})


def test_accents_are_letters_and_a_broken_entry_is_named(written):
    path = written("own.bib", own_files.BIB + "\n@misc{cut, title = ")
    with pytest.raises(UnreadableFile, match=r"own\.bib, line 6: no entry"):
        list(read_records(path))
    left_out = LeftOut()
    titles = [r.document.title for r in open_rows(path).read(left_out)]
    assert titles == ["Wax in old Hives", "Rye über alles"]
    assert left_out.count == 1


def test_a_zip_of_documents_is_one_document_a_file(written):
    members = own_files.several() | {"letters/a.txt": "A letter.", ".hidden.txt": "no"}
    path = written("own.zip", own_files.packed(members))
    assert guess_format(path) == "files"
    records = {record.id: record for record in read_records(path)}
    assert records.keys() == {"mill", "tar", "wick", "letters/a"}
    assert records["mill"].document.fields == {
        "title": "The mill", "text": "The mill turns.\nIt grinds rye.",
    }  # fmt: skip
    assert records["tar"].document.title == "Tar"
    assert "keels of boats" in records["tar"].document.text
    assert records["letters/a"].labels == {"letters": 1.0}


def test_a_zip_of_tables_is_read_with_one_layout(written):
    members = {"a.csv": own_files.SEMICOLONS, "b.jsonl": own_files.NUMBERS}
    ids = [r.id for r in read_records(written("own.zip", own_files.packed(members)))]
    assert ids == ["7", "8", "1", "2"]


def bomb():
    return own_files.packed({"word/document.xml": b"0" * (64 << 20)})


def with_entities(member):
    """A spreadsheet in which one part declares an entity."""
    whole = zipfile.ZipFile(io.BytesIO(own_files.xlsx(own_files.SHEET)))
    parts = {name: whole.read(name).decode() for name in whole.namelist()}
    head, end, rest = parts[member].rpartition("?>")
    parts[member] = f'{head}{end}<!DOCTYPE a [<!ENTITY b "c">]>{rest}'
    return own_files.packed(parts)


BAD = {
    "sheet.xlsx": (
        partial(with_entities, "xl/worksheets/sheet1.xml"),
        "no spreadsheet that can be read",
    ),
    "book.xlsx": (
        partial(with_entities, "xl/workbook.xml"),
        "no spreadsheet that can be read",
    ),
    "rubbish.xlsx": (b"no spreadsheet at all", "not a readable .xlsx file"),
    "old.xlsx": (b"\xd0\xcf\x11\xe0 rest", "old Office program"),
    "other.xlsx": (own_files.packed({"a": "b"}), "no spreadsheet that can be read"),
    "empty.xlsx": (partial(own_files.xlsx, ()), "every sheet of it is empty"),
    "rubbish.docx": (b"PK\x03\x04 nothing", "not a readable .docx file"),
    "other.docx": (own_files.packed({"a": "b"}), "not a readable Word file"),
    "bomb.docx": (bomb, "grow too far"),
    "entities.docx": (
        own_files.packed(
            {"word/document.xml": '<!DOCTYPE a [<!ENTITY b "c">]><a>&b;</a>'}
        ),
        "DTD or entities",
    ),
    "rubbish.pdf": (b"%PDF-1.4 and nothing more", "not a readable PDF file"),
    "scan.pdf": (own_files.pdf(""), "if it is a scan"),
    "empty.txt": (b"  \n", "it contains no text"),
    "rubbish.ris": (b"<html>no reference</html>", "no document in it"),
    "rubbish.bib": (b"not a reference", "no document in it"),
}


@pytest.mark.parametrize("name", BAD)
def test_bytes_that_are_something_else_are_refused(written, name):
    content, problem = BAD[name]
    path = written(name, content() if callable(content) else content)
    format_ = name.rpartition(".")[2]
    with pytest.raises(UnreadableFile, match=problem) as told:
        list(read_records(path, format_))
    assert name in str(told.value)


def test_members_that_point_outside_are_refused(tmp_path):
    path = tmp_path / "own.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("../escaped.csv", own_files.SEMICOLONS)
    with pytest.raises(UnreadableFile, match="points outside"):
        list(read_records(path, "files"))


ENDNOTE = """<?xml version="1.0" encoding="UTF-8"?><xml><records><record>
<rec-number>4</rec-number><ref-type name="Journal Article">17</ref-type>
<contributors><authors><author><style face="normal">Ash, A</style></author>
<author>Elm, E</author></authors></contributors>
<titles><title><style>Wax in </style><style>old hives</style></title>
<secondary-title>Hives</secondary-title></titles><dates><year>2014</year></dates>
<abstract><style>We looked at wax.</style></abstract>
<notes>ASReview_irrelevant</notes></record></records></xml>"""


def test_the_xml_of_endnote_is_read(written):
    (record,) = read_records(written("own.xml", ENDNOTE))
    fields = {"title": "Wax in old hives", "abstract": "We looked at wax."}
    assert (record.id, dict(record.document.fields)) == ("4", fields)
    assert record.meta["authors"] == "Ash, A; Elm, E"
    assert (record.meta["year"], record.meta["journal"]) == ("2014", "Hives")
    assert dict(record.labels) == {"not included": 1.0}
    with pytest.raises(UnreadableFile, match="no record of EndNote"):
        list(read_records(written("other.xml", "<a/>")))


def test_notes_and_dates_of_ris_are_facts(written):
    text = (
        "TY  - JOUR\nTI  - Rye\nPY  - 2003/05/01/\nN1  - ASReview_relevant\nN1  - x\n"
    )
    (record,) = read_records(written("own.ris", f"{text}ER  - \n"))
    assert (record.meta["year"], record.meta["notes"]) == ("2003", "x")
    assert dict(record.labels) == {"included": 1.0}
