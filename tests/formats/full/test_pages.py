"""Web pages: files, folders and crawls."""

import gzip
import time
import zipfile

import pytest

from classmark.formats import guess_format, read_records
from classmark.formats import pages as module
from classmark.formats.pages import read_pages
from classmark.problems import UnreadableFile
from classmark.progress import remarks
from crawls import SITE, TEXTS, answer, html, record, town, write

pytestmark = pytest.mark.needs("resiliparse")


def read(path, **options):
    with remarks() as notes:
        records = {record.id: record for record in read_pages(path, **options)}
    return records, " ".join(notes)


@pytest.fixture
def crawl(tmp_path):
    return read(write(tmp_path / "crawl.warc.gz", town()))


def test_a_crawl_gives_its_pages_and_counts_the_rest(crawl):
    pages, note = crawl
    assert set(pages) == {SITE + path for path in [*TEXTS, "/mead"]}
    assert note.endswith(
        "passed over: 1 not HTML, 1 redirected, 1 HTTP 404, 1 damaged, 1 captured "
        f"again (the first: record 15, {SITE}/broken)"
    )


def test_plain_and_packed_crawls_hold_the_same(crawl, tmp_path):
    assert read(write(tmp_path / "crawl.warc", town()))[0] == crawl[0]
    assert guess_format(tmp_path / "crawl.warc.gz") == "pages"
    assert guess_format(tmp_path) == "pages"
    parts = tmp_path / "parts"
    parts.mkdir()
    write(parts / "a.warc.gz", town()[:6])
    write(parts / "b.warc", town()[6:])
    assert read(parts)[0] == crawl[0]


def test_text_is_without_frame_scripts_and_entities(crawl):
    bees = crawl[0][SITE + "/bees"]
    assert bees.document.title == "Bees"
    assert (
        bees.document.fields["body"]
        == "Bees\n\nBees & honey: our jars of honey, Müsli."
    )
    assert bees.meta == {
        "encoding": "utf-8",
        "language": "en",
        "date": "2024-05-01T10:00:00Z",
    }


def test_the_frame_is_there_on_request(tmp_path):
    path = write(tmp_path / "crawl.warc", town())
    whole = {record.id: record for record in read_records(path, "pages-whole")}
    body = whole[SITE + "/bees"].document.fields["body"]
    assert "Map" in body
    assert "Imprint" in body
    assert "wasps" not in body
    assert "color" not in body


def test_links_are_addresses_of_pages_with_their_texts(crawl):
    pages = crawl[0]
    frame = ((SITE + "/", "Eskerton"), (SITE + "/map", "Map"))
    assert pages[SITE + "/"].links == (
        frame[1],
        (SITE + "/bees", "beekeepers' club"),
        (SITE + "/bakery", "bakery"),
        (SITE + "/library", "library"),
    )
    assert pages[SITE + "/bees"].links == (
        *frame,
        (SITE + "/honey", "our jars of honey"),
    )
    assert pages[SITE + "/map"].links[1:] == ((SITE + "/library", "opening hours"),)


def test_a_link_to_a_redirect_leads_to_its_target(crawl):
    assert (SITE + "/honey", "honey cake") in crawl[0][SITE + "/bakery"].links


def test_redirects_in_a_circle_end(tmp_path):
    moved = [
        record(f"{SITE}/{a}", answer(b"", "302 Found", headers=f"Location: {b}\r\n"))
        for a, b in ["ab", "ba"]
    ]
    page = record(SITE + "/", answer(b"<title>Home</title><a href=a>around</a>"))
    pages, _ = read(write(tmp_path / "crawl.warc", [*moved, page]))
    assert pages[SITE + "/"].links == ((SITE + "/a", "around"),)


PLAIN = "<title>Bär</title><p>Ein Bär in Köln und in Düsseldorf."


@pytest.mark.parametrize(
    ("content", "kind", "encoding"),
    [
        (PLAIN.encode("latin-1"), "text/html; charset=ISO-8859-1", "cp1252"),
        (PLAIN.encode(), 'text/html; charset="UTF-8"', "utf-8"),
        ("\ufeff".encode() + PLAIN.encode(), "text/html; charset=latin-1", "utf-8"),
        (("\ufeff" + PLAIN).encode("utf-16-le"), "text/html", "utf-16-le"),
        (b"<meta charset=latin1>" + PLAIN.encode("latin-1"), "text/html", "cp1252"),
        (PLAIN.encode(), "text/html", "utf-8"),
        (PLAIN.encode(), "text/html; charset=nonsense", "utf-8"),
        (PLAIN.encode("latin-1"), "", "cp1252"),
    ],
)
def test_the_encoding_is_told_by_mark_header_meta_or_letters(
    tmp_path, content, kind, encoding
):
    path = write(tmp_path / "a.warc", [record(SITE, answer(content, kind=kind))])
    (page,) = read(path)[0].values()
    assert page.id == SITE + "/"
    assert page.meta["encoding"] == encoding
    assert page.document.title == "Bär"
    assert page.document.fields["body"] == "Ein Bär in Köln und in Düsseldorf."


def site(folder):
    (folder / "pets").mkdir(parents=True)
    (folder / "index.html").write_text(
        "<a href='pets/cat.htm?x=1#top'>the cat</a> <a href='/pets/'>pets</a>"
        "<a href='#here'>here</a><a href='http://[bad/'>bad</a>"
    )
    (folder / "pets" / "cat.htm").write_text(
        "<base href='../'><title>Cat</title><a href='index.html'>home</a>"
        "<a href='http://other.example/a%20b.html'>away</a>"
    )
    (folder / "pets" / "index.html").write_text("<p>Pets")
    (folder / "robots.txt").write_text("User-agent: *")


def test_a_folder_gives_paths(tmp_path):
    site(tmp_path / "site")
    assert guess_format(tmp_path / "site") == "pages"
    pages, note = read(tmp_path / "site")
    assert note == ""
    assert list(pages) == ["index.html", "pets/cat.htm", "pets/index.html"]
    assert pages["index.html"].links == (
        ("pets/cat.htm", "the cat"),
        ("pets/index.html", "pets"),
    )
    assert pages["pets/cat.htm"].links == (
        ("index.html", "home"),
        ("other.example/a b.html", "away"),
    )
    with zipfile.ZipFile(tmp_path / "site.zip", "w") as archive:
        for name in ("index.html", "pets/cat.htm", "pets/index.html", "robots.txt"):
            archive.write(tmp_path / "site" / name, name)
    assert read(tmp_path / "site.zip")[0] == pages
    assert read(tmp_path / "site" / "index.html")[0] == {
        "index.html": pages["index.html"]
    }


def test_a_file_under_another_name_is_read_by_its_own(tmp_path):
    path = write(tmp_path / "data.gz", town())
    assert len(read(path, name="crawl.warc.gz")[0]) == 9
    (tmp_path / "data").write_text(html("/honey"))
    assert list(read(tmp_path / "data", name="honey.html")[0]) == ["honey.html"]


def test_what_is_no_warc_is_refused_with_the_place(tmp_path):
    good = town()
    for wrong, place in [
        ([b"hello\r\n\r\n"], "after its beginning: no WARC record"),
        ([*good[:3], b"garbage\r\n\r\n", *good[3:]], "after record 3, at byte "),
        (
            [good[0], record(SITE, b"x", length="no")],
            "record 2, at byte .*: no Content-L",
        ),
        ([good[1], record(SITE, b"abcdef", length=2), good[2]], "after record 2, at"),
    ]:
        with pytest.raises(UnreadableFile, match=place):
            list(read_pages(write(tmp_path / "bad.warc", wrong)))


def test_a_damaged_gzip_is_refused_with_the_place(tmp_path):
    path = write(tmp_path / "bad.warc.gz", town())
    path.write_bytes(path.read_bytes()[:-30])
    with pytest.raises(UnreadableFile, match=r"after byte [\d,]+: damaged"):
        list(read_pages(path))


def test_a_record_cut_short_by_the_end_is_counted(tmp_path):
    path = write(tmp_path / "cut.warc", [town()[1], town()[2][:-100]])
    pages, note = read(path)
    assert list(pages) == [SITE + "/"]
    assert note.count("1 cut short by the end of the file (the first: record 2") == 1
    huge = record(SITE + "/huge", b"x", length=10**15)
    pages, note = read(write(tmp_path / "cut.warc", [town()[1], huge, town()[2]]))
    assert list(pages) == [SITE + "/"]
    assert "1 larger than 8 MiB, 1 cut short" in note


def test_bombs_and_huge_pages_are_passed_over(tmp_path, monkeypatch):
    bomb = gzip.compress(b"<p>" + b" " * (1 << 26))
    wrong = [
        record(SITE + "/a", answer(bomb, headers="Content-Encoding: gzip\r\n")),
        record(SITE + "/b", answer(b"<p>" + b"x" * (9 << 20))),
    ]
    pages, note = read(write(tmp_path / "big.warc", [*wrong, town()[1]]))
    assert list(pages) == [SITE + "/"]
    assert "2 larger than 8 MiB" in note
    write(tmp_path / "bomb.warc.gz", [record(SITE, answer(b"<p>" + b" " * (1 << 27)))])
    with pytest.raises(UnreadableFile, match="grows more than 200 times"):
        list(read_pages(tmp_path / "bomb.warc.gz"))
    monkeypatch.setattr(module, "LARGEST", 50)
    (tmp_path / "page.html").write_text("<p>" + "x" * 100)
    assert "1 larger than" in read(tmp_path / "page.html")[1]


@pytest.mark.parametrize(
    "page",
    [
        "<div>" * 100_000,
        "<div></x>" * 100_000,
        "<rt>" * 90_000,
        "<div><!--</div>-->" * 100_000,
        "<div><script>'</div><a b=\"'</script>" * 50_000,
        "<p " + " ".join(f"a{n}=1" for n in range(100_000)) + ">",
        "<p a='>' \" " + " ".join(f"a{n}" for n in range(100_000)) + ">",
        "<p>a</p>" * 200_000,
    ],
)
def test_pages_made_to_take_long_are_passed_over(tmp_path, page):
    (tmp_path / "a.html").write_text(page)
    (tmp_path / "b.html").write_text("<p>short")
    start = time.monotonic()
    pages, note = read(tmp_path)
    assert time.monotonic() - start < 5
    assert list(pages) == ["b.html"]
    assert "1 nested too deeply, or of too many elements (the first: a.html)" in note


def test_odd_pages_are_read(tmp_path):
    odd = [
        "",
        "\0<p>\0a",
        "<svg><template>\n",
        "<a href=x><div>" * 2_000,
        "<li>" * 50_000,
    ]
    odd += ["<p>a<p>b" * 20_000, "<img src='data:" + "A/+ " * 100_000 + "'>text"]
    for number, page in enumerate(odd):
        (tmp_path / f"{number}.html").write_text(page)
    pages, note = read(tmp_path)
    assert note == ""
    assert len(pages) == len(odd)
    assert pages["6.html"].document.fields["body"] == "text"


def test_a_long_link_has_a_short_text(tmp_path):
    (tmp_path / "a.html").write_text("<a href=b.html>" + "word " * 10_000)
    ((target, text),) = read(tmp_path)[0]["a.html"].links
    assert target == "b.html"
    assert len(text) == 500
