"""Promise 14: readers stream, are deaf to entity tricks, and never surprised."""

import time
import tracemalloc

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from classmark.formats import READERS, read_records
from classmark.formats.annif import read_subjects
from classmark.formats.test_collections import (
    read_beir_judgments,
    read_npl_judgments,
    read_qrels,
    read_run,
    read_smart_judgments,
)
from classmark.problems import UnreadableFile

OTHERS = {
    "qrels": read_qrels,
    "run": read_run,
    "smart judgments": read_smart_judgments,
    "npl judgments": read_npl_judgments,
    "subjects": read_subjects,
}
STORY = (
    '<REUTERS TOPICS="YES" LEWISSPLIT="TRAIN" NEWID="{n}">\n'
    "<TEXT><BODY>{text}</BODY></TEXT></REUTERS>\n"
)
LONG = "words and more words " * 40
STREAMS = {
    "jsonl": ("", '{{"id": "{n}", "body": "{text}", "labels": ["a"]}}\n'),
    "csv": ("id,body\n", "{n},{text}\n"),
    "reuters": ("", STORY),
    "smart": ("", ".I {n}\n.W\n{text}\n"),
    "npl": ("", "{n}\n{text}\n/\n"),
    "trec": ("", "<DOC><DOCNO>{n}</DOCNO>\n{text}\n</DOC>\n"),
    "trec-topics": ("", "<top><num>{n}\n<title>{text}\n</top>\n"),
    "nfcorpus": ("", "{n}\t{text}\n"),
    "annif": ("", "{text}\t<u{n}>\n"),
    "annif-csv": ("document_id,text,subject_uris\n", "{n},{text},<u>\n"),
}


@pytest.mark.parametrize("name", [*STREAMS, "parquet", "folder", "beir"])
def test_readers_stream(tmp_path, name):
    """Ten megabytes of documents are read in a tenth of that."""
    count = 12_000
    path = large(tmp_path, name, count)
    read = READERS[name].load()
    sum(1 for _ in read_first(read, path))
    tracemalloc.start()
    try:
        assert sum(len(r.document.text) > 800 for r in read(path)) == (
            count // 10 if name == "folder" else count
        )
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 3_500_000


def read_first(read, path):
    """Import what is imported late before memory is measured."""
    for record in read(path):
        yield record
        return


def large(tmp_path, name, count):
    if name == "parquet":
        from classmark.corpus.documents import Document
        from classmark.formats.records import Record
        from classmark.formats.tables import write_parquet

        path = tmp_path / "a.parquet"
        write_parquet(
            (Record(Document(str(n), {"body": LONG})) for n in range(count)), path
        )
        return path
    if name == "folder":
        for number in range(count // 10):
            (tmp_path / f"{number}.txt").write_text(LONG)
        return tmp_path
    if name == "beir":
        line = '{{"_id": "{n}", "text": "{text}"}}\n'
        path = tmp_path / "corpus.jsonl"
    else:
        line = STREAMS[name][1]
        path = tmp_path / "a"
    with path.open("w") as file:
        file.write("" if name == "beir" else STREAMS[name][0])
        file.writelines(line.format(n=n, text=LONG) for n in range(1, count + 1))
    return tmp_path if name == "beir" else path


LAUGHS = "".join(f'<!ENTITY lol{n} "{f"&lol{n - 1};" * 10}">\n' for n in range(1, 10))
TRICKS = [
    f'<!DOCTYPE lolz [\n<!ENTITY lol0 "lol">\n{LAUGHS}]>\n',
    '<!DOCTYPE x [<!ENTITY xxe SYSTEM "file:///etc/hostname">]>\n',
    "<!DOCTYPE x\n[\n]>\n",
    '<! entity x "y">\n',
]


@pytest.mark.parametrize("trick", TRICKS)
@pytest.mark.parametrize(
    ("name", "body"),
    [
        ("reuters", STORY.format(n=1, text="&lol9;&xxe;")),
        ("trec", "<DOC><DOCNO>1</DOCNO>&lol9;&xxe;</DOC>\n"),
        ("trec-topics", "<top><num>1<title>&lol9;&xxe;</top>\n"),
    ],
)
def test_entity_tricks_are_refused_at_once(tmp_path, name, body, trick):
    path = tmp_path / "a"
    path.write_text(trick + body)
    began = time.perf_counter()
    with pytest.raises(UnreadableFile):
        list(read_records(path, name))
    assert time.perf_counter() - began < 1


@pytest.mark.parametrize("name", ["reuters", "trec", "trec-topics"])
def test_undeclared_entities_are_not_expanded(tmp_path, name):
    bodies = {
        "reuters": STORY.format(n=1, text="&lol9; &amp;lt;"),
        "trec": "<DOC><DOCNO>1</DOCNO>&lol9; &amp;lt;</DOC>",
        "trec-topics": "<top><num>1<title>&lol9; &amp;lt;</top>",
    }
    (tmp_path / "a").write_text(bodies[name])
    (record,) = read_records(tmp_path / "a", name)
    assert record.document.text == "&lol9; &lt;"


@pytest.mark.parametrize("name", ["reuters", "trec", "trec-topics"])
@pytest.mark.parametrize(
    "piece", ["<a", "<" + "a" * 50, "&#", "<!DOCTYPE ", "< ", "<TITLE>", "</"]
)
def test_long_nonsense_is_read_quickly(tmp_path, name, piece):
    tag = {"reuters": "REUTERS", "trec": "DOC", "trec-topics": "top"}[name]
    nonsense = (piece * (400_000 // len(piece)))[:400_000]
    (tmp_path / "a").write_text(
        f'<{tag} TOPICS="" LEWISSPLIT="" NEWID="1">\n<TEXT><DOCNO>1</DOCNO>\n<num>1\n'
        f"{nonsense}\n</{tag}>\n"
    )
    began = time.perf_counter()
    reason(read_records, tmp_path / "a", name)
    assert time.perf_counter() - began < 2


SNIPPETS = (
    *("<DOC>", "</DOC>", "<DOCNO>", "</DOCNO>", "<top>", "</top>", "<num>", "<u>"),
    *('<REUTERS TOPICS="YES" LEWISSPLIT="TEST" NEWID="4">', "</REUTERS>", "<TEXT>"),
    *("</TEXT>", "<BODY>", "<TOPICS><D>", "</D>", "&#1114112;", "&lt;"),
    *(".I 1\n", ".I ", ".T", ".W", ".X", "/", "1", "-1", "0", ",", '"', "é"),
    *("{", "}", '{"id": "a"}', '"id":', "[", "]", ":", "1e999", "NaN", '"\\ud800"'),
    *(
        "id,body",
        "labels",
        "text,subject_uris",
        "\n",
        "\r\n",
        "\t",
        " ",
        "\0",
        "\ufeff",
    ),
)
TOKENS = st.sampled_from([*(text.encode() for text in SNIPPETS), b"\xff"])
NOISE = st.one_of(st.binary(max_size=200), st.lists(TOKENS, max_size=30).map(b"".join))
SINGLE_FILES = [
    name for name in READERS if name not in {"beir", "beir-queries", "annif-folder"}
]


def reason(read, *arguments):
    """Read all; return why it could not be read, or None."""
    try:
        for _ in read(*arguments):
            pass
    except UnreadableFile as problem:
        return str(problem)
    return None


@pytest.mark.parametrize("name", SINGLE_FILES)
@pytest.mark.parametrize("suffix", ["", ".gz", ".bz2", ".xz", ".zip", ".tar"])
def test_any_bytes_give_records_or_a_reason(tmp_path_factory, name, suffix, promised):
    path = tmp_path_factory.mktemp("noise") / f"a{suffix}"

    @settings(max_examples=promised(10 if suffix else 50, 1000))
    @given(NOISE)
    def check(noise):
        path.write_bytes(noise)
        problem = reason(read_records, path, name)
        assert problem is None or str(path) in problem

    check()


@pytest.mark.parametrize("name", ["beir", "beir-queries", "annif-folder", "folder"])
def test_any_bytes_in_folders_give_records_or_a_reason(tmp_path_factory, name):
    folder = tmp_path_factory.mktemp("noise")

    @given(NOISE, NOISE)
    def check(noise, more):
        for file in ("corpus.jsonl", "queries.jsonl", "a.txt"):
            (folder / file).write_bytes(noise)
        (folder / "a.key").write_bytes(more)
        problem = reason(read_records, folder, name)
        assert problem is None or str(folder) in problem

    check()


@pytest.mark.parametrize("name", [*OTHERS, "beir judgments"])
def test_any_bytes_give_judgments_or_a_reason(tmp_path_factory, name):
    folder = tmp_path_factory.mktemp("noise")
    (folder / "qrels").mkdir()
    path = folder / "qrels" / "test.tsv"
    read = OTHERS.get(name, lambda _: read_beir_judgments(folder))

    @given(NOISE)
    def check(noise):
        path.write_bytes(noise)
        problem = reason(read, path)
        assert problem is None or str(path) in problem

    check()
