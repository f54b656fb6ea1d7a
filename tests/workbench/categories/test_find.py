"""Categories are found by what people type, as they type it, slips included."""

from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from classmark.problems import Mistake
from classmark.taxonomy.category import DEPRECATED, Category, taxonomy_of
from classmark.workbench.categories import find as finding
from classmark.workbench.categories.find import (
    Wordings,
    find_categories,
    finder_of,
    pieces,
)

TREE = [
    Category("life", "Natural history"),
    Category("q.bee", "Bees", "Not wasps.", ("apiculture",), ("life",), "595.799"),
    Category("q.wasp", "Wasps and hornets", parents=("life",), notation="595.798"),
    Category("h", "History"),
    Category("h.sea", "History of the sea", "Ships and salt roads.", parents=("h",)),
    Category(
        "h.cafe", "Cafés and inns", parents=("h",), guideline="Ask for a licence."
    ),
    Category("old", "Historical curiosities", parents=("h",), status=DEPRECATED),
]


class Shelf(SimpleNamespace):
    """What the finder needs of a desk."""

    def __init__(self):
        self.state = SimpleNamespace(derived={})

    def put(self, categories):
        self.categories = {category.id: category for category in categories}
        self.tree = taxonomy_of(categories)


@pytest.fixture
def shelf():
    shelf = Shelf()
    shelf.put(TREE)
    return shelf


def ids(shelf, words, **how):
    return [found.category for found in find_categories(shelf, words, **how)]


@pytest.mark.parametrize(
    ("words", "first"),
    [
        ("bees", "q.bee"),
        ("BEE", "q.bee"),
        ("apicult", "q.bee"),
        ("595.799", "q.bee"),
        ("595.798", "q.wasp"),
        ("q.wasp", "q.wasp"),
        ("cafes", "h.cafe"),
        ("café", "h.cafe"),
        ("licence", "h.cafe"),
        ("salt", "h.sea"),
        ("history", "h"),
        ("history of", "h.sea"),
        ("sea history", "h.sea"),
        ("hornet", "q.wasp"),
        ("ornets", "q.wasp"),
        ("wasps-and", "q.wasp"),
    ],
)
def test_what_people_type_finds_what_they_mean(shelf, words, first):
    assert ids(shelf, words)[0] == first


@pytest.mark.parametrize(
    ("slip", "meant"),
    [
        ("hornts", "q.wasp"),  # one letter less
        ("hornnets", "q.wasp"),  # one more
        ("harnets", "q.wasp"),  # another one
        ("hronets", "q.wasp"),  # two exchanged
        ("apicluture", "q.bee"),
        ("hystory", "h"),
        ("wasps hornts", "q.wasp"),
    ],
)
def test_one_wrong_letter_is_forgiven(shelf, slip, meant):
    assert ids(shelf, slip)[0] == meant


def test_nothing_is_made_up(shelf):
    assert ids(shelf, "xylophone") == []
    assert ids(shelf, "   ") == []
    assert ids(shelf, "\\d+ [a") == []
    with pytest.raises(Mistake, match="at least one"):
        find_categories(shelf, "bees", 0)


def test_a_word_too_many_still_finds_the_others(shelf):
    assert ids(shelf, "bees xylophone") == ["q.bee"]


def test_retired_categories_are_only_shown_where_asked(shelf):
    assert "old" not in ids(shelf, "histor")
    assert ids(shelf, "curiosities", retired=True) == ["old"]
    assert find_categories(shelf, "curiosities", retired=True)[0].retired


def test_it_says_by_which_words(shelf):
    (found,) = find_categories(shelf, "apicultur")
    assert found.path == ("Natural history", "Bees")
    assert not any(piece.hit for piece in found.name)
    assert found.said == "also called"
    assert [(p.text, p.hit) for p in found.also] == [("apicultur", True), ("e", False)]
    (found,) = find_categories(shelf, "bees")
    assert [(p.text, p.hit) for p in found.name] == [("Bees", True)]
    assert found.also == ()


def test_a_long_note_is_cut_around_the_words():
    shelf = Shelf()
    note = "Books that tell of the shore, " * 20 + "and of lighthouses."
    shelf.put([Category("x", "Coast", note)])
    (found,) = find_categories(shelf, "lighthouse")
    shown = "".join(piece.text for piece in found.also)
    assert "lighthouse" in shown
    assert shown.startswith("…")
    assert len(shown) < 120


def test_changes_are_found_without_reading_all_again(shelf, monkeypatch):
    first = finder_of(shelf)
    assert finder_of(shelf) is first
    changed = [c for c in TREE if c.id != "q.bee"]
    changed.append(Category("q.bee", "Bumblebees", parents=("life",)))
    shelf.put([*changed, Category("ant", "Ants", parents=("life",))])
    assert ids(shelf, "bumble") == ["q.bee"]
    assert ids(shelf, "ants")[0] == "ant"
    assert ids(shelf, "apiculture") == [], "what it said before does not count"
    shelf.put([c for c in changed if c.id != "q.wasp"])
    assert ids(shelf, "hornets") == []
    assert ids(shelf, "ants") == []
    monkeypatch.setattr(finding, "AFRESH", 0)
    shelf.put([*changed, Category("fly", "Flies", parents=("life",))])
    assert ids(shelf, "flies") == ["fly"]
    assert finder_of(shelf) is not first


def test_an_empty_taxonomy_has_nothing():
    shelf = Shelf()
    shelf.put([])
    assert ids(shelf, "bees") == []


WORD = st.text("abc", min_size=1, max_size=6)


@given(st.lists(st.lists(WORD, max_size=4), min_size=1, max_size=8), WORD)
def test_likeness_is_what_looking_at_every_word_says(texts, word):
    found = Wordings([dict.fromkeys(words, 1.0) for words in texts]).like(word)

    def like(words):
        if word in words:
            return 1.0
        if any(w.startswith(word) for w in words):
            return 0.85
        part = len(word) >= 3 and any(word in w for w in words)
        return 0.45 if part else 0.0

    plainly = np.array([like(words) for words in texts], np.float32)
    if plainly.any():
        np.testing.assert_allclose(found, plainly)
    else:
        slips = [len(word) >= 4 and any(near(word, w) for w in ws) for ws in texts]
        assert (found > 0).tolist() == slips


def near(word, other):
    """Whether the other begins with the word after one slip: tried one by one."""
    spots = range(len(word) + 1)
    tried = {word[:i] + word[i + 1 :] for i in range(len(word))}
    tried |= {word[:i] + c + word[i:] for i in spots for c in "abc"}
    tried |= {word[:i] + c + word[i + 1 :] for i in range(len(word)) for c in "abc"}
    swaps = range(len(word) - 1)
    tried |= {word[:i] + word[i + 1] + word[i] + word[i + 2 :] for i in swaps}
    return any(other.startswith(one) for one in tried)


@given(st.text(max_size=30), st.lists(st.text(min_size=1, max_size=3), max_size=3))
def test_pieces_are_the_whole_text(text, asked):
    assert "".join(piece.text for piece in pieces(text, asked)) == text
