"""How texts become vectors by default: which choices, made on what, judged where.

Run with ``OMP_NUM_THREADS=1 CLASSMARK_DATA=DIR python benchmarks/text_defaults.py PART
[--only VARIANT ...] [--json FILE]``:

design : every variant on the *design* sets of defaults.py that have texts, the mean,
         and which one each set would have got had it been left out of the choice.
judge  : the variants named, on its *judge* sets that have texts. Once a release;
         published whatever it says (docs/benchmarks.md, "How texts become vectors").

A variant says which terms are counted, in blocks; a block has its analysis, the fewest
documents a term must occur in, and a weight. Counts are (1 + ln tf) · idf unless it
says otherwise, and a row has length 1. The ranker is ``cm.PreferenceRanker()`` as
constructed, documents are cut as defaults.py does, texts analysed in their language. A
title is the first line of a text that has several: the title, the headline or a summary
in all design sets; ``From:`` in 20 Newsgroups; the other judge sets have one line, so
that what is done with titles changes nothing there. Seconds are processor time:
counting and weighing of all texts (by plain Python here), and training, one thread.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from defaults import DESIGN, JUDGE, LEARNED, TESTED, labelled, measured
from scipy.sparse import csr_matrix, hstack

import classmark as cm
from classmark.arrays import rows_from
from classmark.corpus.counting import statistics
from classmark.preferences.labels import labels_from
from classmark.text import Analyzer, words
from classmark.validation import generator
from classmark.weighting.vectorizer import weigh

LANGUAGE = {"annif-makupalat": "finnish"}
Terms = Callable[[str, str], list[str]]  # of a text, in a language


def analysed(*, stop: bool = True, stem: bool = True, language: str = "") -> Terms:
    """Words, without stop words, as stems."""
    return lambda text, own: Analyzer(language or own, stop=stop, stem=stem)(text)


def pairs(*, near: bool = True, stop: bool = True, stem: bool = True) -> Terms:
    """Two words that follow each other; near : in the text, else without stop words."""

    def terms(text: str, language: str) -> list[str]:
        reduced = Analyzer(language, stop=stop, stem=stem).terms(words(text))
        if not near:
            reduced = [term for term in reduced if term]
        return [f"{one} {other}" for one, other in pairwise(reduced) if one and other]

    return terms


def characters(shortest: int, longest: int, *, stop: bool = False) -> Terms:
    """Runs of characters inside words, with their ends marked; stop: not of such."""

    def terms(text: str, language: str) -> list[str]:
        runs = []
        for word in Analyzer(language, stop=stop, stem=False)(text):
            marked = f"_{word}_"
            for n in range(shortest, longest + 1):
                runs += [marked[i : i + n] for i in range(len(marked) - n + 1)]
        return runs

    return terms


def beginnings(length: int) -> Terms:
    """The first characters of words that are longer, without stop words."""

    def terms(text: str, language: str) -> list[str]:
        read = Analyzer(language, stem=False)(text)
        return [word[:length] for word in read if len(word) > length]

    return terms


@dataclass(frozen=True)
class Block:
    """Terms that are counted and weighed together."""

    terms: Terms
    weight: float = 1.0
    min_df: int = 1
    weighting: str = "log-tfidf"
    titles: int = 1  # how often a title counts


USUAL = analysed()
VARIANTS: dict[str, tuple[Block, ...]] = {
    "as it was": (Block(USUAL),),
    "min_df 2": (Block(USUAL, min_df=2),),
    "stop words stay": (Block(analysed(stop=False)),),
    "no stems": (Block(analysed(stem=False)),),
    "words as they are": (Block(analysed(stop=False, stem=False)),),
    "tfidf": (Block(USUAL, weighting="tfidf"),),
    "binary": (Block(USUAL, weighting="binary"),),
    "log, no idf": (Block(USUAL, weighting="log"),),
    "pivoted tf, plain idf": (Block(USUAL, weighting="pivoted"),),
    "titles twice": (Block(USUAL, titles=2),),
    "titles three times": (Block(USUAL, titles=3),),
    "titles five times": (Block(USUAL, titles=5),),
    "pairs": (Block(USUAL), Block(pairs())),
    "pairs, min_df 2": (Block(USUAL), Block(pairs(), min_df=2)),
    "pairs, min_df 3": (Block(USUAL), Block(pairs(), min_df=3)),
    "pairs, min_df 2, .7": (Block(USUAL), Block(pairs(), 0.7, 2)),
    "pairs, min_df 2, .5": (Block(USUAL), Block(pairs(), 0.5, 2)),
    "pairs, min_df 2, .3": (Block(USUAL), Block(pairs(), 0.3, 2)),
    "pairs over stop words, min_df 2, .5": (
        Block(USUAL),
        Block(pairs(near=False), 0.5, 2),
    ),
    "pairs of all words, min_df 2, .5": (
        Block(USUAL),
        Block(pairs(stop=False, stem=False), 0.5, 2),
    ),
    "beginnings of 4, .5": (Block(USUAL), Block(beginnings(4), 0.5, 2)),
    "beginnings of 5, .5": (Block(USUAL), Block(beginnings(5), 0.5, 2)),
    "beginnings of 6, .5": (Block(USUAL), Block(beginnings(6), 0.5, 2)),
    "titles twice, pairs, .5": (
        Block(USUAL, titles=2),
        Block(pairs(), 0.5, 2, titles=2),
    ),
    "titles twice, pairs over stop words, .5": (
        Block(USUAL, titles=2),
        Block(pairs(near=False), 0.5, 2, titles=2),
    ),
    "titles twice, beginnings of 5, .5": (
        Block(USUAL, titles=2),
        Block(beginnings(5), 0.5, 2, titles=2),
    ),
    "titles twice, pairs, beginnings of 5, .5": (
        Block(USUAL, titles=2),
        Block(pairs(), 0.5, 2, titles=2),
        Block(beginnings(5), 0.5, 2, titles=2),
    ),
    "titles twice, characters 4, .5": (
        Block(USUAL, titles=2),
        Block(characters(4, 4), 0.5, 2, titles=2),
    ),
    "titles twice, pairs, characters 4, .5": (
        Block(USUAL, titles=2),
        Block(pairs(), 0.5, 2, titles=2),
        Block(characters(4, 4), 0.5, 2, titles=2),
    ),
    "titles twice, characters 4, min_df 1, .5": (
        Block(USUAL, titles=2),
        Block(characters(4, 4), 0.5, titles=2),
    ),
    "titles twice, characters 4 without stop words, .5": (
        Block(USUAL, titles=2),
        Block(characters(4, 4, stop=True), 0.5, 2, titles=2),
    ),
    "titles twice, characters 5 without stop words, .5": (
        Block(USUAL, titles=2),
        Block(characters(5, 5, stop=True), 0.5, 2, titles=2),
    ),
    "titles twice, characters 5 without stop words, .7": (
        Block(USUAL, titles=2),
        Block(characters(5, 5, stop=True), 0.7, 2, titles=2),
    ),
    "titles twice, characters 5 without stop words, 1": (
        Block(USUAL, titles=2),
        Block(characters(5, 5, stop=True), 1.0, 2, titles=2),
    ),
    "titles twice, characters 6 without stop words, .5": (
        Block(USUAL, titles=2),
        Block(characters(6, 6, stop=True), 0.5, 2, titles=2),
    ),
    "titles twice, characters 5, min_df 3, .5": (
        Block(USUAL, titles=2),
        Block(characters(5, 5, stop=True), 0.5, 3, titles=2),
    ),
    "beside characters 5, .5": (Block(USUAL), Block(characters(5, 5), 0.5, 2)),
    "characters 3-5 alone": (Block(characters(3, 5), min_df=2),),
    "characters 4 alone": (Block(characters(4, 4), min_df=2),),
    "beside characters 3-5, .5": (Block(USUAL), Block(characters(3, 5), 0.5, 2)),
    "beside characters 4, .5": (Block(USUAL), Block(characters(4, 4), 0.5, 2)),
    "beside characters 4, .3": (Block(USUAL), Block(characters(4, 4), 0.3, 2)),
    "as they are, characters 4, .5": (
        Block(analysed(stop=False, stem=False)),
        Block(characters(4, 4), 0.5, 2),
    ),
    "as they are, characters 3-5, .5": (
        Block(analysed(stop=False, stem=False)),
        Block(characters(3, 5), 0.5, 2),
    ),
    "as they are, characters 4, 1": (
        Block(analysed(stop=False, stem=False)),
        Block(characters(4, 4), 1.0, 2),
    ),
}


def texts_of(name: str, split: str | None) -> tuple[Any, list[Any], list[Any]]:
    """Texts to learn and to test, and their labels; the documents of defaults.py."""
    random = generator(0)
    dataset = cm.datasets.load(name, split=split)
    tested = dataset.test if dataset.test.ids else dataset.validation
    k, texts, labels = len(dataset.label_names), [], []
    for part, most in ((dataset.train, LEARNED), (tested, TESTED)):
        Y = labels_from(dataset.label_numbers(part), len(part.ids), k).to_scipy()
        has = np.flatnonzero(np.diff(Y.indptr))
        has = np.sort(random.permutation(has)[:most])
        labels.append(Y[has])
        texts.append([part.texts[i] for i in has] if part.texts else [])
    return name, texts, labels


def title_of(text: str) -> str:
    """The first line of several, or nothing."""
    return text.split("\n", 1)[0] if "\n" in text else ""


def counted(block: Block, name: str, texts: Iterable[str]) -> list[Counter[str]]:
    """The terms of each text, those of its title as often as the block says."""
    language, rows = LANGUAGE.get(name, "english"), []
    for text in texts:
        row = Counter(block.terms(text, language))
        if block.titles > 1:
            for term in block.terms(title_of(text), language):
                row[term] += block.titles - 1
        rows.append(row)
    return rows


def vectors(blocks: tuple[Block, ...], name: str, texts: list[Any]) -> list[csr_matrix]:
    """Unit rows of the texts to learn and to test."""
    parts: list[list[csr_matrix]] = [[], []]
    for block in blocks:
        learned, tested = (counted(block, name, part) for part in texts)
        df = Counter(term for row in learned for term in row)
        number = {t: n for n, t in enumerate(sorted(df)) if df[t] >= block.min_df}
        number = {term: n for n, term in enumerate(number)}
        counts = [_matrix(rows, number) for rows in (learned, tested)]
        known = statistics(rows_from(counts[0]))
        for into, matrix in zip(parts, counts, strict=True):
            rows = weigh(rows_from(matrix), known, block.weighting, norm=None)
            into.append(block.weight * rows.to_scipy())
    return [_unit(csr_matrix(hstack(blocks))) for blocks in parts]


def _matrix(rows: list[Counter[str]], number: dict[str, int]) -> csr_matrix:
    cells = [sorted((number[t], n) for t, n in r.items() if t in number) for r in rows]
    starts = np.cumsum([0, *map(len, cells)])
    flat = np.array([cell for row in cells for cell in row]).reshape(-1, 2)
    shape = len(rows), len(number)
    return csr_matrix((flat[:, 1].astype(np.float32), flat[:, 0], starts), shape)


def _unit(X: csr_matrix) -> csr_matrix:
    norms = np.sqrt(np.asarray(X.multiply(X).sum(axis=1)).ravel())
    X.data /= np.repeat(np.where(norms > 0, norms, 1.0), np.diff(X.indptr))
    return X


def row_of(name: str, texts: list[Any], labels: Any, variant: str) -> dict[str, Any]:
    """One variant on one set."""
    started = time.process_time()
    X, X_test = vectors(VARIANTS[variant], name, texts)
    task = labelled(name, (X, X_test, X[:0]), labels)
    weighed = time.process_time()
    ranker = cm.PreferenceRanker().fit(task.X, task.Y)
    trained = time.process_time()
    values = measured(ranker.decision_function(task.X_test), task.Y_test)
    row = {
        "set": name,
        "variant": variant,
        "features": task.X.shape[1],
        "entries": task.X.nnz,
        "counting": weighed - started,
        "training": trained - weighed,
    }
    print(json.dumps(row | values), file=sys.stderr, flush=True)
    return row | values


def table(rows: list[dict[str, Any]]) -> str:
    """AvgP by variant and set, and times as ratios to the first variant."""
    names = list(dict.fromkeys(row["variant"] for row in rows))
    sets = list(dict.fromkeys(row["set"] for row in rows))
    by = {(row["set"], row["variant"]): row for row in rows}
    heads = " | ".join(sets)
    lines = [f"| variant | {heads} | mean | entries | training |"]
    lines.append("|---" * (len(sets) + 4) + "|")
    for name in names:
        mine = [by[each, name] for each in sets]
        values = [row["average_precision"] for row in mine]
        ratios = [
            np.exp(np.mean([np.log(r[w] / by[r["set"], names[0]][w]) for r in mine]))
            for w in ("entries", "training")
        ]
        cells = " | ".join(f"{value:.4f}" for value in values)
        lines.append(
            f"| {name} | {cells} | {np.mean(values):.4f} | {ratios[0]:.2f} | "
            f"{ratios[1]:.2f} |"
        )
    return "\n".join(lines)


def left_out(rows: list[dict[str, Any]]) -> str:
    """For each set, the variant with the highest mean AvgP on all others."""
    value = {(r["set"], r["variant"]): r["average_precision"] for r in rows}
    sets = list(dict.fromkeys(each for each, _ in value))
    names = list(dict.fromkeys(name for _, name in value))
    lines = []
    for out in sets:
        best = max(names, key=lambda v: sum(value[s, v] for s in sets if s != out))
        gain = value[out, best] - value[out, names[0]]
        lines.append(f"{out}: the others choose {best!r}, {gain:+.4f}")
    return "\n".join(lines)


def main() -> None:
    """Run a part, print its table, write its rows."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("part", choices=["design", "judge"])
    parser.add_argument("--only", nargs="*", default=list(VARIANTS))
    parser.add_argument("--sets", nargs="*")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    rows = []
    for name, split in JUDGE if options.part == "judge" else DESIGN:
        if name in {"made-up", "yahoo", "stackex"} or name.startswith("mulan"):
            continue
        if options.sets and name not in options.sets:
            continue
        _, texts, labels = texts_of(name, split)
        if texts[0]:
            rows += [row_of(name, texts, labels, each) for each in options.only]
    print(table(rows))
    print(left_out(rows))
    if options.json:
        options.json.write_text(json.dumps(rows))


if __name__ == "__main__":
    main()
