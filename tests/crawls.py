"""A small crawl of a made-up town, written by hand as WARC."""

import gzip

SITE = "http://eskerton.example"
FRAME = """<!DOCTYPE html><html lang="en"><head><title>{title}</title>
<style>p {{ color: red }}</style><script>var hidden = "<p>wasps</p>";</script></head>
<body><nav><a href="/">Eskerton</a> <a href="/map">Map</a></nav>
<main><h1>{title}</h1><p>{text}</p></main>
<footer><p>Imprint of the parish council</p></footer></body></html>"""
TEXTS = {
    "/": "The town has a <a href='/bees'>beekeepers&apos; club</a>, a <a"
    " href='bakery'>bakery</a> and a <a href='library'>library</a>. <a"
    " href='javascript:alert(1)'>Click</a> or <a href='mailto:a@b.example'>write</a>.",
    "/bees": "Bees &amp; honey: <a href='honey#a'>our jars of honey</a>, M&uuml;sli.",
    "/honey": "Jars are sold on Saturdays in the market hall of the town.",
    "/bakery": "Bread and <a href='/old-honey'>honey cake</a> every morning.",
    "/library": "Books on <a href='/bees'>keeping bees</a>, and on <a"
    " href='http://elsewhere.example/hives'>hives</a>.",
    "/map": "The market hall stands by the river, <a href='http://ESKERTON.example:80"
    "/library'><img alt='opening hours' src='x.png'></a> on the door.",
    "/club": "The club meets in the library; members bring <a href='/honey'>their"
    " honey</a> to the <a href='./bakery'>bakers</a>.",
    "/history": "The first hives came by ship, the <a href='/bees'>bees</a> on foot.",
}


def html(path, text=None):
    title = path.strip("/").capitalize() or "Eskerton"
    return FRAME.format(title=title, text=text or TEXTS[path])


def answer(body, status="200 OK", kind="text/html; charset=utf-8", headers=""):
    """An HTTP answer."""
    head = f"HTTP/1.1 {status}\r\nContent-Type: {kind}\r\n{headers}\r\n"
    return head.encode() + body


def record(address, block, kind="response", length=None, content="application/http"):
    """A WARC record."""
    length = len(block) if length is None else length
    head = (
        f"WARC/1.0\r\nWARC-Type: {kind}\r\nWARC-Target-URI: {address}\r\n"
        "WARC-Date: 2024-05-01T10:00:00Z\r\nContent-Type: "
        f"{content}\r\nContent-Length: {length}\r\n\r\n"
    )
    return head.encode() + block + b"\r\n\r\n"


def town():
    """The records of the crawl: eight pages, one in Latin-1, and what is no page."""
    pages = [
        record(SITE + path, answer(html(path).encode()))
        for path in TEXTS
        if path != "/honey"
    ]
    packed = gzip.compress(html("/honey").encode())
    latin = html("/mead", "Mead, or Bärenfang, is <a href='/honey'>honey</a> wine.")
    return [
        record(
            "", b"software: by hand\r\n", "warcinfo", content="application/warc-fields"
        ),
        *pages,
        record(SITE + "/honey", answer(packed, headers="Content-Encoding: gzip\r\n")),
        record(
            SITE + "/mead",
            answer(latin.encode("latin-1"), kind="text/html; charset=ISO-8859-1"),
        ),
        record(SITE + "/bees", b"GET /bees HTTP/1.1\r\n\r\n", "request"),
        record(SITE + "/x.png", answer(b"\x89PNG", kind="image/png")),
        record(
            SITE + "/old-honey",
            answer(b"", "301 Moved Permanently", headers="Location: /honey\r\n"),
        ),
        record(SITE + "/gone", answer(b"<p>no such page", "404 Not Found")),
        record(
            SITE + "/broken",
            answer(b"\x1f\x8bxx", headers="Content-Encoding: gzip\r\n"),
        ),
        record(SITE + "/bees", answer(b"<title>Later</title>")),
    ]


def write(path, records):
    """Write a crawl, of a gzip member each where the name ends in .gz."""
    pack = gzip.compress if path.suffix == ".gz" else bytes
    path.write_bytes(b"".join(map(pack, records)))
    return path
