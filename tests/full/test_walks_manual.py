"""What the walks for researchers, search engineers and owners of trees show, runs."""

import re
import shlex
import sys
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[2] / "docs"
FILES = {
    "researcher.md": {
        "documents": "LISA0.001", "queries": "LISA.QUE", "judgments": "LISA.REL",
    },
    "engineer.md": {
        "jsonl": "log.jsonl", "tsv": "asked.tsv", "qrels": "judged.qrels",
    },
    "owner.md": {},
}  # fmt: skip


def walk(name, monkeypatch, capsys):
    """Write the page's files, run its commands and its Python; return what they say."""
    from classmark.cli.main import main

    page = (DOCS / name).read_text()

    def blocks(kind):
        return re.findall(rf"```{kind}\n(.*?)```", page, flags=re.DOTALL)

    for kind, file in FILES[name].items():
        Path(file).write_text(*blocks(kind))
    shown = {}
    for line in "".join(blocks("sh")).splitlines():
        monkeypatch.setattr(sys, "argv", shlex.split(line))
        with pytest.raises(SystemExit) as stop:
            main()
        out = capsys.readouterr()
        assert not stop.value.code, f"{line}: {out.err}"
        shown[line.removeprefix("classmark ")] = out.out
    for block in blocks("python"):
        exec(compile(block, name, "exec"), {})  # noqa: S102 (the manual's own lines)
    return shown, capsys.readouterr().out


@pytest.fixture(autouse=True)
def in_an_empty_folder(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)


def said(shown, start):
    return next(out for line, out in shown.items() if line.startswith(start))


def test_the_walk_of_researchers(monkeypatch, capsys):
    shown, printed = walk("researcher.md", monkeypatch, capsys)
    assert "librar* = librari, librarian +" in said(shown, "search '+librar*")
    assert "1.0000" in said(shown, "measure bm25.run LISA.REL")
    tuned = said(shown, "tune --parameter b=0:1:0.25")
    assert re.search(r"on the 18 queries held out: 0\.\d{4}, and 0\.\d{4}", tuned)
    assert len(Path("lm.run").read_text().splitlines()) >= 2
    assert Path("comparison.svg").exists()
    assert "{'map': 1.0, 'ndcg@10': 1.0}" in printed
    assert "{'librar*': ['librari', 'librarian']}" in printed


def test_the_walk_of_search_engineers(monkeypatch, capsys):
    shown, printed = walk("engineer.md", monkeypatch, capsys)
    judged = said(shown, "rank train --clicks")
    assert "learned from clicks; tested on judgments" in " ".join(judged.split())
    reason = r"ndcg@10 0\.\d+ against 0\.\d+ on 18 held-out queries, \d+ better"
    assert re.search(reason, " ".join(said(shown, "rank train --dataset").split()))
    assert "ordered by ranker 2" in said(shown, "search moon")
    rows = len(Path("library.letor").read_text().splitlines())
    assert len(Path("scores.txt").read_text().splitlines()) == rows
    assert printed.count(" ") >= 2


LEAVES = {11: 1, 12: 1, 21: 2, 22: 2, 31: 3, 32: 3}  # category → the one above it


def vectors(first, count):
    """Lines of LIBSVM; a leaf has six features of its own, a branch four."""
    for at in range(first, first + count):
        leaf, turn = list(LEAVES)[at % len(LEAVES)], at // len(LEAVES)
        features = {10 * leaf + turn % 6: 2, 10 * leaf + (turn + 2) % 6: 1}
        features |= {1000 * LEAVES[leaf] + turn % 4: 1, 9000 + at % 13: 1}
        yield leaf, " ".join(f"{n}:{v}" for n, v in sorted(features.items()))


@pytest.fixture
def large_taxonomy(in_an_empty_folder):  # noqa: ARG001 (its files lie there)
    edges = [(0, branch) for branch in sorted(set(LEAVES.values()))]
    edges += [(branch, leaf) for leaf, branch in LEAVES.items()]
    Path("cat_hier.txt").write_text("".join(f"{a} {b}\n" for a, b in edges))
    for name, first, count in (("train", 0, 240), ("test", 240, 60)):
        lines = (f"{leaf} {vector}\n" for leaf, vector in vectors(first, count))
        Path(f"{name}.svm").write_text("".join(lines))
    lines = (f"{vector}\n" for _, vector in vectors(300, 6))
    Path("new.svm").write_text("".join(lines))


@pytest.mark.usefixtures("large_taxonomy")
def test_the_walk_of_owners_of_large_taxonomies(monkeypatch, capsys):
    shown, _ = walk("owner.md", monkeypatch, capsys)
    report = " ".join(said(shown, "taxonomy report").split())
    counted = "The taxonomy has 10 categories: 1 at the top, 6 without subcategories"
    assert counted in report
    assert "strategy flat: it fits the memory" in said(shown, "train")
    measured = said(shown, "evaluate test.svm").split()
    assert measured[measured.index("test.svm") + 1 :][:2] == ["60", "1.000"]
    assert said(shown, "evaluate --strategy").count("1.000") >= 4
    assert "removed, of 3 inner categories" in said(shown, "taxonomy prune")
    assert "6 at a leaf" in said(shown, "place --project")
    assert len(Path("decided.jsonl").read_text().splitlines()) == 246
