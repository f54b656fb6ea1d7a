"""What each column holds is guessed, or said, and rows become records."""

import json
import tracemalloc

import pytest

import own_files
from classmark.corpus.documents import Document
from classmark.formats import READERS, ROW_FORMATS
from classmark.formats.column_names import ROLES, role_by_name
from classmark.formats.columns import layout_of, open_rows
from classmark.formats.jsonl import write_jsonl
from classmark.formats.records import Record
from classmark.formats.rows import SOURCES, Layout, LeftOut
from classmark.formats.tables import write_delimited
from classmark.problems import Mistake, UnreadableFile


@pytest.fixture
def opened(tmp_path):
    """Write a file, and look at it."""

    def look(name, content, *columns, **how):
        path = tmp_path / name
        data = content if isinstance(content, bytes) else content.encode()
        path.write_bytes(data)
        return open_rows(path, layout=layout_of(columns, **how))

    return look


def roles(file):
    return {column.name: column.role for column in file.columns}


def facts(record):
    return dict(record.document.fields), dict(record.labels), dict(record.meta)


def test_semicolons_and_names_of_their_own_are_read_as_they_are(opened):
    file = opened("own.csv", own_files.SEMICOLONS)
    assert roles(file) == {
        "doc_id": "id", "title": "title", "abstract": "text", "category": "label",
    }  # fmt: skip
    assert (file.layout.delimiter, file.layout.separator) == (";", "|")
    first, second = file.read()
    assert first.id == "7"
    assert first.labels == {"nature": 1.0, "bees": 1.0}
    assert second.document.fields["abstract"] == "Rye, salt and a hot oven"


@pytest.mark.parametrize(
    ("encoding", "guess"),
    [("latin-1", "cp1252"), ("utf-8", "utf-8"), ("utf-8-sig", "utf-8"),
     ("utf-16", "utf-16")],
)  # fmt: skip
def test_the_encoding_is_told_by_the_bytes(opened, encoding, guess):
    file = opened("own.csv", own_files.LATIN.encode(encoding))
    assert file.layout.encoding == guess
    assert [record.document.title for record in file.read()] == ["Köln", "Müll"]


def test_bytes_that_windows_has_not_are_latin_1(opened):
    file = opened("own.csv", b"id,text\na,K\xf6ln \x81\n")
    assert file.layout.encoding == "latin-1"


def test_another_encoding_is_chosen_and_a_wrong_one_names_the_line(opened):
    content = "id,text\na,Łódź\n".encode("cp1250")
    (record,) = opened("own.csv", content, encoding="cp1250").read()
    assert record.document.text == "Łódź"
    with pytest.raises(UnreadableFile, match=r"line 2: not utf-8.*give --encoding"):
        opened("own.csv", content, encoding="utf-8")
    with pytest.raises(Mistake, match="is not known"):
        opened("own.csv", content, encoding="klingon")


def test_numbers_are_facts_and_categories_are_labels_in_json(opened):
    first, second = opened("own.jsonl", own_files.NUMBERS).read()
    assert facts(first) == (
        {"title": "The hive", "body": "honey"}, {"bees": 1.0}, {"year": "1934"},
    )  # fmt: skip
    assert second.meta == {"rating": "4.5"}


def test_lists_are_joined_and_objects_are_asked_about(opened):
    row = {"id": 1, "text": "wax", "authors": ["A", "B"], "source": {"page": 3}}
    file = opened("own.jsonl", json.dumps(row))
    assert file.unclear == ["source"]
    with pytest.raises(UnreadableFile, match="'source' may hold labels or text"):
        list(file.read())
    (record,) = opened("own.jsonl", json.dumps(row), "ignore=source").read()
    assert record.meta == {"authors": "A; B"}


def test_the_columns_of_asreview_are_known(opened):
    file = opened("review.csv", own_files.ASREVIEW)
    one, two, three = file.read()
    assert facts(one) == (
        {
            "title": "Wax in old hives",
            "abstract": "We looked at wax, and at combs.",
            "keywords": "wax",
        },
        {"included": 1.0},
        {"authors": "Ash, A.; Elm, E."},
    )
    assert (two.labels, three.labels) == ({"not included": 1.0}, {})
    assert [each.id for each in (one, two, three)] == [
        "review.csv:2", "review.csv:3", "review.csv:4",
    ]  # fmt: skip


def test_what_may_be_the_labels_is_never_guessed_to_be_text(opened):
    file = opened("mails.csv", own_files.SUBJECTS)
    assert roles(file) == {"id": "id", "subject": "", "body": "text"}
    with pytest.raises(UnreadableFile, match=r"'subject' may hold.*--label subject"):
        list(file.read())
    file = opened("mails.csv", own_files.SUBJECTS, "title=subject")
    assert next(file.read()).document.title == "Re: the mill"
    two = opened("two.csv", "id,text,label,class\n1,a,b,c\n")
    assert two.unclear == ["label", "class"]
    named = opened("two.csv", "id,text,label,class\n1,a,b,c\n", "label=class")
    assert named.unclear == ["label"]


def test_a_file_without_a_header_has_its_longest_column_for_text(opened):
    rows = "7,nature,The hive is full of honey\n8,crafts,Rye and an oven\n9,crafts,A\n"
    file = opened("own.csv", rows)
    assert file.layout.header == "no"
    first = next(file.read())
    assert first.document.fields == {"text": "The hive is full of honey"}
    assert first.id == "own.csv:1"
    said = opened("own.csv", rows, "id=column 1", "label=column 2")
    assert next(said.read()).labels == {"nature": 1.0}


def test_columns_without_a_name_or_with_one_name_get_names(opened):
    file = opened("own.csv", ",title,title\n0,Bees,wild\n1,Wax,old\n")
    assert roles(file) == {"column 1": "ignore", "title": "title", "title (2)": "fact"}


def test_rows_that_cannot_be_read_are_refused_or_left_out_and_named(opened):
    content = "id,text\n1,a\n1,b\n2\n3,c,d\n,e\n,\n4,f,\n"
    with pytest.raises(UnreadableFile, match="line 3: id '1' is used twice"):
        list(opened("own.csv", content).read())
    left_out = LeftOut()
    file = opened("own.csv", content, skip=True)
    assert [record.id for record in file.read(left_out)] == ["1", "4"]
    assert (left_out.count, left_out.blank) == (4, 1)
    assert [reason.partition(":")[0] for reason in left_out.first] == [
        "line 3", "line 4", "line 5", "line 6",
    ]  # fmt: skip
    assert "3 cells under 2 columns" in left_out.first[2]
    assert "column 'id'" in left_out.first[3]


@pytest.mark.parametrize(
    ("content", "columns", "problem"),
    [
        ("", (), "line 1: empty"),
        (
            "id,text\n1,a\n",
            ("text=abstract",),
            "no column 'abstract': choose",
        ),
        ("id,year\n1,1934\n", (), r"no column is a title or text \(id, year\)"),
        ('id,text\n1,"a\n', (), "line 2: not a row"),
        ("id,text,included\n1,a,maybe\n", (), "'included' holds 'maybe': write 1 or 0"),
    ],
)
def test_what_is_wrong_is_named_with_a_remedy(opened, content, columns, problem):
    with pytest.raises(UnreadableFile, match=problem):
        list(opened("own.csv", content, *columns).read())


@pytest.mark.parametrize("typed", ["abstract", "novel=abstract", "=abstract"])
def test_what_is_typed_wrongly_is_refused(typed):
    with pytest.raises(Mistake, match="write ROLE=COLUMN"):
        layout_of([typed])


def test_a_column_cannot_be_two_things():
    with pytest.raises(Mistake, match="two roles"):
        layout_of(["text=a"], ["a"])
    with pytest.raises(Mistake, match="use yes, no or"):
        layout_of(header="perhaps")


RECORD = Record(
    Document("1", {"title": "Re: honey", "year": "1934", "date": "May", "doi": "x"}),
    {"bees": 1.0},
    {"part": "test"},
)


@pytest.mark.parametrize(
    ("name", "write"), [("a.jsonl", write_jsonl), ("a.csv", write_delimited)]
)
def test_what_we_wrote_is_read_back_the_same(tmp_path, name, write):
    records = [RECORD, Record(Document("2", {"title": "wax"}))]
    write(records, tmp_path / name)
    assert list(open_rows(tmp_path / name).read()) == records


def test_every_role_is_explained_and_every_source_is_a_format():
    assert {"id", "text", "label", "primary", "date", "ignore"} <= ROLES.keys()
    assert set(ROW_FORMATS) == {*SOURCES, "files"}
    assert READERS.keys() >= set(ROW_FORMATS)
    assert role_by_name("Abstract Note") == "text"
    assert Layout() == layout_of()


def test_a_large_file_is_read_row_by_row(tmp_path):
    path = tmp_path / "large.csv"
    with path.open("w") as file:
        file.write("id;text;category\n")
        file.writelines(f"{n};{'wax ' * 500};c{n % 7}\n" for n in range(8000))
    size = path.stat().st_size
    tracemalloc.start()
    try:
        count = sum(1 for _ in open_rows(path).read())
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert count == 8000
    assert most < size / 4


ABOVE = "Loans of the museum, 1931\nprinted on 3 May\n\n"


def test_rows_above_those_that_name_the_columns_are_passed_over(opened):
    file = opened("own.csv", ABOVE + "id;title;text\n1;Bees;Wax, and honey\n2;Mill;\n")
    assert (file.layout.delimiter, file.layout.header) == (";", "4")
    assert roles(file) == {"id": "id", "title": "title", "text": "text"}
    assert [record.id for record in file.read()] == ["1", "2"]
    assert "column names in row 4" in file.described()


def test_the_row_that_names_the_columns_may_be_said(opened):
    file = opened("own.csv", "a,b\nc,d\nid,text\n1,wax\n", header="3")
    assert [record.document.text for record in file.read()] == ["wax"]
    for wrong in ("0", "three"):
        with pytest.raises(Mistake, match="the number of the row"):
            layout_of(header=wrong)
    with pytest.raises(UnreadableFile, match="line 9: empty"):
        opened("own.csv", "id,text\n", header="9")


@pytest.mark.parametrize(
    "content", ["text\nhello\nworld, again\nbye, then\n", "w\nx\n"]
)
def test_a_single_column_has_no_rows_above_it(opened, content):
    assert not opened("own.csv", content).layout.header.isdecimal()


def test_a_sheet_is_chosen_and_its_row_of_columns_found(tmp_path):
    rows = [["Loans"], [], ["id", "title", "text"], [1, "Bees", "wax"], [2, "Tar"]]
    path = tmp_path / "own.xlsx"
    path.write_bytes(own_files.xlsx([["id", "text"]], rows))
    assert open_rows(path).sheets == ("Sheet", "more")
    file = open_rows(path, layout=layout_of(sheet="more"))
    assert [record.id for record in file.read()] == ["1", "2"]
    assert file.described().endswith("column names in row 3; sheet more")
    with pytest.raises(UnreadableFile, match="xlsx: there is no sheet 'Lost': choose"):
        open_rows(path, layout=layout_of(sheet="Lost"))


def test_too_many_cells_of_a_spreadsheet_are_told_without_separators(tmp_path):
    path = tmp_path / "own.xlsx"
    path.write_bytes(own_files.xlsx([["id", "text"], [1, "a", "b"]]))
    with pytest.raises(UnreadableFile, match="2 columns: name every column") as caught:
        list(open_rows(path).read())
    assert "quotes" not in str(caught.value)


RIS = "TY  - JOUR\nTI  - Mills\nER  - \nTY  - JOUR\nTI  - Tar\nER  - \n"


def test_of_several_files_those_without_an_id_column_name_their_rows(tmp_path):
    path = tmp_path / "own.zip"
    csv = "doc_id,title\n1,Bees\n,Wax\n"
    files = {"a.csv": csv, "b.ris": RIS, "wick.txt": "tallow"}
    path.write_bytes(own_files.packed(files))
    left_out = LeftOut()
    ids = [record.id for record in open_rows(path).read(left_out)]
    assert ids == ["1", "b.ris:1", "b.ris:4", "wick"]
    (reason,) = left_out.first
    assert reason.startswith("a.csv, line 3: no id in the column 'doc_id':")


def test_rows_without_title_and_text_are_told_and_left_out_if_asked(opened):
    content = "id,title,text,label\n1,Bees,,x\n2,,,x\n3,, ,\n"
    left_out = LeftOut()
    assert len(list(opened("own.csv", content).read(left_out))) == 3
    assert (left_out.count, left_out.textless) == (0, ["line 3", "line 4"])
    file = opened("own.csv", content, skip=True)
    assert [record.id for record in file.read()] == ["1"]


def test_documents_are_called_as_their_files_without_the_ending(tmp_path):
    path, word = tmp_path / "own.zip", own_files.docx("A wick.")
    files = {"7_mill.txt": "a mill", "8_wick.docx": word, "7_mill.docx": word}
    path.write_bytes(own_files.packed(files))
    ids = [record.id for record in open_rows(path).read()]
    assert ids == ["7_mill", "8_wick", "7_mill.docx"]


@pytest.mark.parametrize("name", ["tags", "Tag", "Schlagwörter"])
def test_tags_may_be_the_answer_so_people_are_asked(opened, name):
    row = json.dumps({"id": "1", "text": "wax", name: ["a, b", "c"]})
    file = opened("own.jsonl", row + "\n")
    assert file.unclear == [name]
    assert file.columns[-1].examples == ("a, b; c",)
