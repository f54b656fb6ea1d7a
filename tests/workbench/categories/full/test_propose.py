"""Daughters are proposed from documents, and an accepted one lives at once."""

import json
from collections import Counter

import pytest

from classmark.corpus.documents import Document
from classmark.datasets.library import library_records
from classmark.formats.records import Record
from classmark.problems import Mistake
from classmark.taxonomy.category import Category
from classmark.workbench.categories import edit
from classmark.workbench.categories.propose import METHODS, accept, as_table, propose
from classmark.workbench.learning.learner import open_learner
from classmark.workbench.learning.live import learn_at_once
from classmark.workbench.project import Project
from classmark.workbench.store.undo import undo
from projects import new_library, new_project
from workbench.acts import say, wrong_lessons

NODE = "nature"


@pytest.fixture(scope="module")
def truth():
    """Document → the branch of nature it was in."""
    return {
        record.id: next(iter(record.labels))
        for record in library_records()
        if any(name.startswith(NODE) for name in record.labels)
    }


@pytest.fixture
def library(tmp_path):
    """The embedded library, all below nature merged into it."""
    with Project(new_library(tmp_path / "lib")) as project:
        below = [c.id for c in project.store.categories() if c.id.startswith("nature.")]
        for name in below:
            edit.merge(project, name, NODE)
        yield project


@pytest.fixture
def shelf(tmp_path):
    """Nine documents in one category, on three subjects, learned."""
    with Project(new_project(tmp_path / "shelf")) as project:
        edit.add(project, Category("crafts"))
        for id_ in ("b1", "b2", "b3", "d1", "d2", "d3", "c1", "c2", "c3"):
            say(project, id_, "crafts", learn=False)
        say(project, "t1", "bread")
        yield project


def there(project, name):
    return {id_ for id_, has in project.store.labels().items() if name in has}


@pytest.mark.parametrize("method", METHODS)
def test_proposals_part_the_documents_of_a_node(library, truth, method):
    found = propose(library, NODE, k=6, method=method)
    assert [one.number for one in found] == [1, 2, 3, 4, 5, 6]
    sizes = [len(one.documents) for one in found]
    assert sizes == sorted(sizes, reverse=True)
    listed = [id_ for one in found for id_ in one.documents]
    assert len(listed) == len(set(listed))
    assert set(listed) == there(library, NODE)
    for one in found:
        assert set(one.examples) <= set(one.documents)
        assert one.id == f"nature.{one.terms[0]}"
        assert 0 < one.cohesion <= 1
    agree = sum(
        Counter(truth.get(id_) for id_ in one.documents).most_common(1)[0][1]
        for one in found
    )
    most = Counter(truth.get(id_) for id_ in listed).most_common(1)[0][1]
    assert agree > 1.5 * most


def test_names_are_words_of_the_texts_and_tell_apart(library):
    found = propose(library, NODE, k=7)
    terms = [set(one.terms) for one in found]
    assert any({"bees", "hive"} <= words for words in terms)
    assert len({one.id for one in found}) == 7
    texts = " ".join(library.store.document(id_).text for id_ in found[0].documents)
    assert all(word in texts.lower() for word in found[0].terms)
    table = as_table(NODE, found)
    assert table.rows[0]["documents"] == len(found[0].documents)
    assert "accept nature NUMBER" in table.note


def test_the_number_is_chosen_when_not_given(library):
    assert 3 <= len(propose(library, NODE)) <= 12


def test_an_accepted_daughter_takes_its_documents_and_undo_gives_them_back(library):
    found = propose(library, NODE, k=5)
    before, labels = there(library, NODE), library.store.labels()
    done = accept(library, NODE, 2)
    new = found[1]
    assert there(library, new.id) == set(new.documents)
    assert there(library, NODE) == before - set(new.documents)
    (made,) = (c for c in library.store.categories() if c.id == new.id)
    assert (made.parents, made.label) == ((NODE,), new.label)
    accept(library, NODE, 1, id_="nature.first", label="First")
    with pytest.raises(Mistake, match=r"documents .* are no longer in 'nature'"):
        accept(library, NODE, 1)
    undo(library)
    undo(library, done.numbers[0])
    assert library.store.labels() == labels
    accept(library, NODE, 1)


def test_the_learner_follows_at_once(shelf):
    assert learn_at_once(shelf) is not None
    found = propose(shelf, "crafts", k=3)
    assert sorted(sorted(one.documents) for one in found) == [
        ["b1", "b2", "b3"], ["c1", "c2", "c3"], ["d1", "d2", "d3"]
    ]  # fmt: skip
    accept(shelf, "crafts", 1)
    learn_at_once(shelf)
    assert wrong_lessons(shelf) == []
    text = shelf.store.document(found[0].documents[0]).text
    assert open_learner(shelf).model().suggest(text, 1)[0].category == found[0].id
    undo(shelf)
    learn_at_once(shelf)
    assert wrong_lessons(shelf) == []


def test_an_id_that_is_taken_is_not_proposed(shelf):
    first = propose(shelf, "crafts", k=3)[0]
    edit.add(shelf, Category(first.id))
    again = propose(shelf, "crafts", k=3)[0]
    assert again.id == "-".join(first.terms[:2])
    with pytest.raises(Mistake, match="bees"):
        accept(shelf, "crafts", 1, id_="bees")


def test_a_document_that_left_or_changed_is_refused(shelf):
    found = propose(shelf, "crafts", k=3)
    say(shelf, found[0].documents[0], remove=("crafts",), learn=False)
    with pytest.raises(Mistake, match=r"1 of its 3 documents .* propose crafts again"):
        accept(shelf, "crafts", 1)
    changed = Document(found[1].documents[0], {"text": "other words"})
    shelf.store.put_documents([Record(changed)])
    with pytest.raises(Mistake, match="the text of a document has changed"):
        accept(shelf, "crafts", 2)
    accept(shelf, "crafts", 3)


def test_proposals_outlive_a_new_name_of_the_node(shelf):
    propose(shelf, "crafts", k=3)
    edit.rename(shelf, "crafts", new_id="trades")
    accept(shelf, "trades", 1)
    assert json.loads(shelf.store.run("SELECT detail FROM events WHERE what='proposed'")
                      .fetchone()[0])["method"] == "kmeans"  # fmt: skip


def test_documents_without_words_are_left_out(shelf):
    shelf.store.put_documents([Record(Document("empty", {"text": "!"}))])
    shelf.store.note_event("imported", "test")
    say(shelf, "empty", "crafts", learn=False)
    found = propose(shelf, "crafts", k=3)
    assert "empty" not in {id_ for one in found for id_ in one.documents}


@pytest.mark.parametrize(
    ("node", "how", "said"),
    [
        ("nowhere", {}, "there is no category 'nowhere'"),
        ("bees", {}, "no document is in 'bees' itself"),
        ("bread", {}, "'bread' has too few documents"),
        ("crafts", {"k": 10}, "k is 10, but only 9 documents"),
        ("crafts", {"k": 1}, "k is 1, but only 9 documents"),
        ("crafts", {"method": "magic"}, "method is 'magic': use kmeans"),
    ],
)
def test_what_cannot_be_proposed(shelf, node, how, said):
    with pytest.raises(Mistake, match=said):
        propose(shelf, node, **how)


def test_what_cannot_be_accepted(shelf):
    with pytest.raises(Mistake, match="nothing is proposed below 'crafts'"):
        accept(shelf, "crafts", 1)
    propose(shelf, "crafts", k=3)
    for number in (0, 4):
        with pytest.raises(Mistake, match=f"no proposal {number} below 'crafts'"):
            accept(shelf, "crafts", number)
    edit.retire(shelf, "crafts")
    with pytest.raises(Mistake, match="retired"):
        accept(shelf, "crafts", 1)
