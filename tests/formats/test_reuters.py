"""Reuters-21578 in its SGML."""

import zipfile
from pathlib import Path

import pytest

from classmark.formats.reuters import modapte_part, read_reuters
from classmark.problems import UnreadableFile

FILE = Path(__file__).parent / "files" / "wire.sgm"


def test_stories():
    normal, brief, raw = read_reuters(FILE)
    assert normal.id == "1"
    assert normal.labels == {"honey": 1.0, "wax": 1.0}
    assert normal.document.title == "HONEY UP, WAX <WAX> STEADY"
    assert normal.document.fields["body"] == (
        "The price of honey rose by a\npenny & the bakers noticed.\n"
        "    &unknown; things stay as they are.\n End"
    )
    assert normal.meta == {
        "lewissplit": "TRAIN",
        "topics": "YES",
        "cgisplit": "TRAINING-SET",
        "oldid": "11",
        "date": "2-MAY-1987 09:00:00.00",
        "type": "NORM",
        "author": "by a correspondent",
        "dateline": "ESKERTON, May 2 -",
        "places": "eskerton",
        "orgs": "beekeepers|bakers",
    }
    assert brief.document.fields == {"title": "BAKERS TO MEET"}
    assert brief.meta["type"] == "BRIEF"
    assert raw.document.fields == {"body": "HIVES   COUNTED   12\nJARS    FILLED    40"}


def test_the_split_of_apte():
    parts = [modapte_part(record) for record in read_reuters(FILE)]
    assert parts == ["train", "test", None]


def test_folders_and_archives_of_files(tmp_path):
    folder = tmp_path / "wire"
    folder.mkdir()
    (folder / "wire.sgm").write_bytes(FILE.read_bytes())
    (folder / "README.txt").write_text("not SGML")
    with zipfile.ZipFile(tmp_path / "wire.zip", "w") as archive:
        archive.write(FILE, "wire/wire.sgm")
    expected = list(read_reuters(FILE))
    assert list(read_reuters(folder)) == expected
    assert list(read_reuters(tmp_path / "wire.zip")) == expected
    (folder / "again.sgm").write_bytes(FILE.read_bytes())
    with pytest.raises(UnreadableFile, match="second time"):
        list(read_reuters(folder))


STORY = '<REUTERS TOPICS="YES" LEWISSPLIT="TRAIN" NEWID="1">\n'


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ("words\n", 1, "outside <REUTERS>"),
        ('\n<REUTERS TOPICS="YES">\n<TEXT></TEXT></REUTERS>', 2, "NEWID, LEWISSPLIT"),
        (STORY + "</REUTERS>", 1, "without <TEXT>"),
        ("\n\n" + STORY + "<TEXT>never closed", 3, "not closed"),
    ],
)
def test_bad_stories_are_named(tmp_path, text, line, message):
    path = tmp_path / "a.sgm"
    path.write_text(text)
    with pytest.raises(UnreadableFile, match=message) as caught:
        list(read_reuters(path))
    assert caught.value.line == line


def test_a_folder_without_stories_is_refused(tmp_path):
    with pytest.raises(UnreadableFile, match=r"no \.sgm file"):
        list(read_reuters(tmp_path))


def test_the_real_collection_has_its_published_sizes(data):
    parts = {"train": [], "test": [], None: []}
    for record in read_reuters(data / "reuters-21578"):
        parts[modapte_part(record)].append(record)
    train, test = parts["train"], parts["test"]
    assert [len(train), len(test), len(parts[None])] == [9_603, 3_299, 8_676]
    categories = {label for record in train for label in record.labels}
    assert len(categories) == 115
    assert sum(bool(record.labels) for record in train) == 7_775
    assert sum(bool(record.labels) for record in test) == 3_019
    assert sum(bool(categories & set(record.labels)) for record in test) == 3_019
    assert sum("earn" in record.labels for record in train) == 2_877
    assert sum("corn" in record.labels for record in test) == 56
    every = [*train, *test, *parts[None]]
    assert sum("body" not in r.document.fields for r in every) == 1_798 + 1
    assert not any("\x03" in record.document.text for record in every)
