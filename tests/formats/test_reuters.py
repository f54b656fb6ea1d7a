"""Reuters-21578 in its SGML."""

import zipfile
from pathlib import Path

import pytest

from classmark.formats import guess_format, read_records
from classmark.formats.reuters import (
    modapte_part,
    rcv1_topics,
    read_rcv1_tokens,
    read_reuters,
    read_reuters_xml,
)
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


NEWSITEM = """<?xml version="1.0" encoding="iso-8859-1" ?>
<newsitem itemid="{id}" id="root" date="1996-08-20" xml:lang="en">
<title>ESKERTON: B\u00e4kers &amp; bees.</title>
<headline>{headline}</headline>
<byline>A. Correspondent</byline>
<dateline>ESKERTON 1996-08-20</dateline>
<text>
<p>Honey rose by a penny.</p>
<p>Bakers <em>noticed</em>.</p>
</text>
<copyright>(c) nobody</copyright>
<metadata>
<codes class="bip:countries:1.0"><code code="ESK"><editdetail/></code></codes>
<codes class="bip:topics:1.0">
  <code code="C11"><editdetail attribution="hand"/></code>
  <code code="CCAT"><editdetail attribution="hand"/></code>
</codes>
<dc element="dc.source" value="Wire"/>
</metadata>
</newsitem>
"""


def newsitem(number, headline="Bakers and bees"):
    return NEWSITEM.format(id=number, headline=headline).encode("latin-1")


def test_a_story_of_the_reuters_corpus(tmp_path):
    path = tmp_path / "2286newsML.xml"
    path.write_bytes(newsitem(2286))
    assert guess_format(path) == "reuters-xml"
    (story,) = read_records(path)
    assert story.id == "2286"
    assert story.document.fields == {
        "title": "Bakers and bees",
        "body": "Honey rose by a penny.\nBakers noticed.",
    }
    assert story.labels == {"C11": 1.0, "CCAT": 1.0}
    assert story.meta == {
        "date": "1996-08-20",
        "language": "en",
        "byline": "A. Correspondent",
        "dateline": "ESKERTON 1996-08-20",
        "countries": "ESK",
    }
    path.write_bytes(newsitem(2286, " "))
    assert next(read_reuters_xml(path)).document.title == "ESKERTON: Bäkers & bees."


def test_the_reuters_corpus_in_folders_zips_and_folders_of_zips(tmp_path):
    folder, days = tmp_path / "corpus", tmp_path / "days"
    folder.mkdir()
    days.mkdir()
    for number in (1, 2):
        (folder / f"{number}newsML.xml").write_bytes(newsitem(number))
        day = days / f"1996082{number}.zip"
        with zipfile.ZipFile(day, "w") as archive:
            archive.writestr(f"{number}newsML.xml", newsitem(number))
            archive.writestr("readme.txt", "no story")
    for place, ids in [
        (folder, ["1", "2"]),
        (days, ["1", "2"]),
        (days / "19960821.zip", ["1"]),
    ]:
        assert guess_format(place) == "reuters-xml"
        assert [story.id for story in read_records(place)] == ids
    (folder / "3newsML.xml").write_bytes(newsitem(1))
    with pytest.raises(UnreadableFile, match="second time"):
        list(read_reuters_xml(folder))


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (b'<!DOCTYPE n [<!ENTITY a "b">]><newsitem itemid="1">&a;</newsitem>', "a DTD"),
        (b'<newsitem itemid="1">', "line 1: not XML"),
        (b"<story/>", "no <newsitem itemid"),
        (b"<newsitem/>", "no <newsitem itemid"),
    ],
)
def test_other_xml_is_refused(tmp_path, content, problem):
    path = tmp_path / "1newsML.xml"
    path.write_bytes(content)
    with pytest.raises(UnreadableFile, match=problem):
        list(read_reuters_xml(path))


def test_token_files_have_the_topics_beside_them(tmp_path):
    train = tmp_path / "lyrl2004_tokens_train.dat"
    train.write_text(".I 2286\n.W\nhoney hiv\nbee \n\n.I 2287\n.W\n\n")
    (tmp_path / "lyrl2004_tokens_test_pt0.dat").write_text(".I 26151\n.W\nbread\n")
    assert [story.labels for story in read_records(train)] == [{}, {}]
    qrels = tmp_path / "rcv1-v2.topics.qrels"
    qrels.write_text("C11 2286 1\nCCAT 26151 1\nCCAT 2286 1\n")
    assert guess_format(train) == guess_format(tmp_path) == "rcv1"
    assert {story.id: story.labels for story in read_records(tmp_path)} == {
        "26151": {"CCAT": 1.0},
        "2286": {"C11": 1.0, "CCAT": 1.0},
        "2287": {},
    }
    assert next(read_rcv1_tokens(train)).document.fields == {"body": "honey hiv\nbee "}
    assert rcv1_topics(qrels)["2286"] == ("C11", "CCAT")


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("honey\n", "line 1: .I and the number"),
        (".I 1\n.W\nbee\n.I one\n", "line 4: a number"),
        (".I 1\n.W\n.I 1\n.W\n", "line 3: id '1' is there a second time"),
    ],
)
def test_damaged_token_files_are_refused(tmp_path, text, problem):
    path = tmp_path / "lyrl2004_tokens_train.dat"
    path.write_text(text)
    with pytest.raises(UnreadableFile, match=problem):
        list(read_rcv1_tokens(path))


def test_damaged_topic_files_are_refused(tmp_path):
    path = tmp_path / "rcv1-v2.topics.qrels"
    path.write_text("C11 1 1\nC11 one 1\n")
    with pytest.raises(UnreadableFile, match="line 2: not 'topic document 1'"):
        rcv1_topics(path)
    with pytest.raises(UnreadableFile, match="line 1: 'C11' is not a topic"):
        rcv1_topics(path, {"CCAT"})
