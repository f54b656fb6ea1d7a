"""Building an index beside tantivy and bm25s: speed, size and memory, in one run.

Run with ``CLASSMARK_DATA=DIR python benchmarks/bench_index.py [--json FILE]``. The
texts of 20 Newsgroups and of wikispeedia are indexed from memory, each contestant in a
fresh process of one thread, taking turns; the analysis is included: lower case, English
stop words (the same list), Porter stems. classmark has a memory of 256 MB, and so has
tantivy's one writing thread. Every index is on disk in the end, synced by those that
do; texts are not stored, ids are. tantivy keeps counts, no positions.

MB/s are those of the processor's time, all threads of a process together, beside those
of the clock (which, on a machine that others use, say less). A peer that is not
installed is left out, with that reason: ``pip install tantivy bm25s`` elsewhere than in
the environment of this project (they are no dependencies), and point PYTHONPATH there.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

MEMORY = 256
SETS = {
    "20 Newsgroups": "20newsgroups-bydate/*.jsonl",
    "wikispeedia": "wikispeedia/articles.jsonl",
}


def documents(folder: Path, name: str) -> list[tuple[str, str]]:
    """Return (id, text) of all documents of a set."""

    def read() -> Iterator[tuple[str, str]]:
        for path in sorted(folder.glob(SETS[name])):
            with path.open(encoding="utf-8") as lines:
                for number, line in enumerate(lines):
                    text = json.loads(line)["text"]
                    yield f"{path.stem}-{number}", text

    return list(read())


def build_classmark(where: Path, texts: list[tuple[str, str]]) -> None:
    """Build with classmark."""
    from classmark.index.index import Index
    from classmark.text import Analyzer

    Index.build(where, texts, memory=f"{MEMORY}MB", analyzer=Analyzer(stem="porter"))


def build_tantivy(where: Path, texts: list[tuple[str, str]]) -> None:
    """Build with tantivy: one writing thread."""
    import tantivy

    from classmark.text import stop_words

    chain = tantivy.TextAnalyzerBuilder(tantivy.Tokenizer.simple())
    for step in (
        tantivy.Filter.lowercase(),
        tantivy.Filter.custom_stopword(sorted(stop_words("english"))),
        tantivy.Filter.stemmer("english"),
    ):
        chain = chain.filter(step)
    schema = tantivy.SchemaBuilder()
    schema.add_text_field("id", stored=True, tokenizer_name="raw", index_option="basic")
    schema.add_text_field(
        "text", stored=False, tokenizer_name="ours", index_option="freq"
    )
    where.mkdir()
    index = tantivy.Index(schema.build(), path=str(where))
    index.register_tokenizer("ours", chain.build())
    writer = index.writer(MEMORY * 10**6, num_threads=1)
    for name, text in texts:
        document = tantivy.Document()
        document.add_text("id", name)
        document.add_text("text", text)
        writer.add_document(document)
    writer.commit()
    writer.wait_merging_threads()


def build_bm25s(where: Path, texts: list[tuple[str, str]]) -> None:
    """Build with bm25s, which holds everything in memory."""
    import bm25s
    import Stemmer

    from classmark.text import stop_words

    tokens = bm25s.tokenize(
        [text for _, text in texts],
        stopwords=sorted(stop_words("english")),
        stemmer=Stemmer.Stemmer("porter"),
        show_progress=False,
    )
    index = bm25s.BM25()
    index.index(tokens, show_progress=False)
    index.save(str(where), corpus=[{"id": name} for name, _ in texts])


BUILD = {
    "classmark": build_classmark,
    "tantivy": build_tantivy,
    "bm25s": build_bm25s,
}


def peak() -> int:
    """Return the largest resident set so far (Linux), in bytes."""
    status = Path("/proc/self/status").read_text()
    return 1024 * int(re.findall(r"VmHWM:\s*(\d+) kB", status)[0])


def measure(contestant: str, folder: Path, name: str) -> dict[str, float]:
    """Build once, warm; return seconds, processor seconds, bytes and memory."""
    texts = documents(folder, name)
    build = BUILD[contestant]
    with tempfile.TemporaryDirectory() as place:
        build(Path(place) / "warm", texts[:300])
        Path("/proc/self/clear_refs").write_text("5")
        before, begin, busy = peak(), time.perf_counter(), time.process_time()
        build(Path(place) / "index", texts)
        taken, used = time.perf_counter() - begin, time.process_time() - busy
        grown = peak() - before
        files = (Path(place) / "index").rglob("*")
        size = sum(file.stat().st_size for file in files if file.is_file())
    return {
        "text": sum(len(text.encode()) for _, text in texts),
        "seconds": taken,
        "processor": used,
        "bytes": size,
        "memory": grown,
    }


def in_fresh_process(contestant: str, folder: Path, name: str) -> dict[str, float]:
    """Measure in a process of its own."""
    command = [sys.executable, __file__, "--data", str(folder)]
    command += ["--one", contestant, name]
    answer = subprocess.run(command, check=True, capture_output=True, text=True)  # noqa: S603 - this very file
    measured: dict[str, float] = json.loads(answer.stdout)
    return measured


def compare(folder: Path, repeats: int) -> dict[str, Any]:
    """Run everything; keep the medians."""
    there = [name for name in BUILD if find_spec(name)]
    for name in BUILD.keys() - there:
        print(f"{name} is left out: it is not installed (see the head of this script)")
    found: dict[str, Any] = {}
    for data in SETS:
        runs: dict[str, list[dict[str, float]]] = {name: [] for name in there}
        for _ in range(repeats):
            for name in there:
                runs[name].append(in_fresh_process(name, folder, data))
        found[data] = {
            name: {key: statistics.median(r[key] for r in run) for key in run[0]}
            for name, run in runs.items()
        }
    return found


def table(found: dict[str, Any]) -> str:
    """Print the result as a Markdown table."""
    head = "set|index|MB/s, processor|ratio|MB/s, clock|ratio|size, MB|ratio|memory, MB"
    lines = [f"|{head}|", "|---" * (head.count("|") + 1) + "|"]
    for data, rows in found.items():
        ours = rows["classmark"]
        for name, row in rows.items():
            cells = [data, name]
            for key in ("processor", "seconds"):
                cells.append(f"{row['text'] / 1e6 / row[key]:.1f}")
                cells.append(f"{row[key] / ours[key]:.2f}")
            cells += [
                f"{row['bytes'] / 1e6:.2f}",
                f"{ours['bytes'] / row['bytes']:.2f}",
            ]
            cells.append(f"{row['memory'] / 1e6:.0f}")
            lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def main() -> None:
    """Compare, print, write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=os.environ.get("CLASSMARK_DATA"))
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--one", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.data is None:
        parser.error("give --data, or set CLASSMARK_DATA")
    if options.one:
        print(json.dumps(measure(options.one[0], options.data, options.one[1])))
        return
    found = compare(options.data, options.repeats)
    print(table(found))
    if options.json:
        options.json.write_text(json.dumps(found, indent=2) + "\n")


if __name__ == "__main__":
    main()
