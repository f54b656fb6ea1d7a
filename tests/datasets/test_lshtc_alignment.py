"""Crawled pages in the words of their descriptions: numbers shuffled, found again."""

import numpy as np
import pytest

from classmark.arrays import rows_from
from classmark.datasets import load, vectors
from classmark.datasets.vectors import aligned
from classmark.problems import Mistake

PAGES, CATEGORIES, WORDS, WIDTH = 60, 8, 40, 100


def drawn(random, height, chance):
    """Counts of words, most of them 0."""
    counts = random.integers(1, 4, (height, WORDS))
    return counts * (random.random((height, WORDS)) < chance)


class Shuffled:
    """Pages as three tasks, each with its own numbers for words."""

    def __init__(self, seed=0, chance=0.2):
        random = np.random.default_rng(seed)
        self.crawled = drawn(random, PAGES, chance)
        self.described = drawn(random, PAGES, chance / 2)
        self.said = drawn(random, CATEGORIES, chance)
        self.numbers = [random.permutation(WIDTH)[:WORDS] for _ in range(3)]

    def as_task(self, task, counts):
        wide = np.zeros((len(counts), WIDTH))
        wide[:, self.numbers[task - 1]] = counts
        return rows_from(wide)

    def align(self):
        together = self.crawled + self.described
        return aligned(
            self.as_task(1, self.crawled),
            (self.as_task(2, self.described), self.as_task(2, self.said)),
            (self.as_task(3, together), self.as_task(3, self.said)),
        )


@pytest.mark.parametrize("seed", range(3))
def test_every_word_is_found_again(seed):
    made = Shuffled(seed)
    pages, words, unsure = made.align()
    used = (made.described.sum(axis=0) + made.said.sum(axis=0)) > 0
    assert words == sorted(made.numbers[1][used].tolist())
    assert unsure == 0
    wanted = made.as_task(2, made.crawled * used).to_scipy()
    assert abs(pages.to_scipy() - wanted).sum() == 0
    assert pages.shape == (PAGES, WIDTH)


def test_words_that_look_alike_are_left_out():
    made = Shuffled()
    for counts in (made.crawled, made.described, made.said):
        counts[:, 1] = counts[:, 0]
    _, words, unsure = made.align()
    assert unsure == 2
    assert not set(made.numbers[1][:2].tolist()) & set(words)
    assert len(words) == WORDS - 2


def test_a_word_that_fits_two_places_takes_the_one_left():
    crawled = [[0, 2], [1, 1]]
    pages, joint = [[1, 0], [0, 0]], [[1, 2], [1, 1]]
    # The second word of the descriptions is on no page: both joint words fit it by
    # what is said, the first one is taken by the word that only it fits.
    said = rows_from([[1.0, 1.0]])
    rows, words, _ = aligned(
        rows_from(np.array(crawled, float)),
        (rows_from(np.array(pages, float)), said),
        (rows_from(np.array(joint, float)), said),
    )
    assert words == [0, 1]
    assert rows.to_scipy().toarray().tolist() == [[0, 2], [1, 1]]


def test_what_no_crawled_word_explains_is_no_match():
    made = Shuffled()
    made.crawled[:, 0] = 1
    crawled = made.crawled.copy()
    crawled[:, 0] = 2
    _, words, _ = aligned(
        made.as_task(1, crawled),
        (made.as_task(2, made.described), made.as_task(2, made.said)),
        (made.as_task(3, made.crawled + made.described), made.as_task(3, made.said)),
    )
    assert int(made.numbers[1][0]) not in words
    assert len(words) == WORDS - 1


def test_tasks_of_other_pages_are_refused():
    made = Shuffled()
    few = rows_from(np.ones((2, WIDTH)))
    task = (made.as_task(2, made.described), made.as_task(2, made.said))
    with pytest.raises(Mistake, match=r"\[2, 60\] pages, \[8\] descriptions"):
        aligned(few, task, task)


def lines(rows, labels):
    """LIBSVM lines; feature 0 is the page's number."""
    found = []
    for number, label in enumerate(labels):
        columns, values = rows.row(number)
        pairs = zip(columns.tolist(), values.tolist(), strict=True)
        words = " ".join(f"{c + 1}:{int(v)}" for c, v in pairs)
        found.append(f"{label} 0:{number} {words}\n")
    return "".join(found)


@pytest.fixture
def folder(tmp_path):
    made = Shuffled()
    labels = [100 + page % CATEGORIES for page in range(PAGES)]
    names = range(100, 100 + CATEGORIES)
    together = made.crawled + made.described
    said = {task: lines(made.as_task(task, made.said), names) for task in (2, 3)}
    files = {
        "cat_hier.txt": "".join(f"1 2 {name}\n" for name in names),
        "Task1_x/validation.txt": lines(made.as_task(1, made.crawled), labels),
        "Task2_x/train.txt": lines(made.as_task(2, made.described), labels),
        "Task2_x/validation.txt": lines(made.as_task(2, made.described), labels),
        "Task2_x/classDescr.txt": said[2],
        "Task4_x/validation.txt": lines(made.as_task(3, together), labels),
        "Task4_x/classDescr.txt": said[3],
    }
    for name, text in files.items():
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    return tmp_path


def test_crawled_pages_are_loaded(folder):
    made = Shuffled()
    used = (made.described.sum(axis=0) + made.said.sum(axis=0)) > 0
    found = load("lshtc", path=folder, split="crawl")
    wanted = made.as_task(2, made.crawled * used).to_scipy()[:, : found.test.X.shape[1]]
    assert abs(found.test.X - wanted).sum() == 0
    assert found.train.X.shape[1] == found.test.X.shape[1]
    assert found.test.labels == found.validation.labels
    assert found.descriptions.ids == [str(100 + at) for at in range(CATEGORIES)]
    assert found.descriptions.X.shape == (CATEGORIES, found.train.X.shape[1])
    said = made.as_task(2, made.said).to_scipy()[:, : found.train.X.shape[1]]
    assert abs(found.descriptions.X - said).sum() == 0


def test_the_tests_own_file_comes_first(folder):
    (folder / "Task2_x/test.txt").write_text("100 0:0 1:3\n")
    for split in ("crawl", None):
        assert load("lshtc", path=folder, split=split).test.X.sum() == 3


def test_pages_in_another_order_are_refused(folder):
    path = folder / "Task4_x/validation.txt"
    first, *others = path.read_text().splitlines(keepends=True)
    path.write_text("".join([*others, first]))
    with pytest.raises(Mistake, match="list the same in the same order"):
        load("lshtc", path=folder, split="crawl")
    (folder / "Task2_x/validation.txt").unlink()
    with pytest.raises(Mistake, match="list the same in the same order"):
        load("lshtc", path=folder, split="crawl")


@pytest.mark.usefixtures("data")
def test_words_of_the_dry_run(monkeypatch):
    kept = []

    def kept_too(*tasks):
        kept.append(aligned(*tasks))
        return kept[0]

    monkeypatch.setattr(vectors, "aligned", kept_too)
    found = load("lshtc1-dryrun", split="crawl")
    _, words, unsure = kept[0]
    assert (len(words), unsure) == (3_188, 3_759)
    seen = np.bincount(found.train.X.indices, minlength=found.train.X.shape[1])
    known = seen[words].sum() / seen.sum()
    assert known == pytest.approx(0.794, abs=0.002)
    assert len(np.unique(found.test.X.indices)) == 2_732
    assert found.test.X.shape[0] == 1_860
    assert np.diff(found.test.X.indptr).min() > 0
    assert len(found.descriptions) == 394
