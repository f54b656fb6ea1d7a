"""Words with * and ?, and fields that are read as one text."""

import numpy as np
import pytest

from classmark.index.index import Index
from classmark.index.query_language import MalformedQuery
from classmark.index.united import MOST_TERMS, together
from classmark.problems import Mistake

WORDS = ["bee", "beech", "beet", "been", "tea", "teal", "wax", "woman", "women", "hive"]
MODELS = ["bm25", "bm25+", "dirichlet", "jm", "kl", "pl2", "dph", "lgd", "spl", "bim"]
PLAIN = "words|lower"


def texts(n=60, seed=0):
    random = np.random.default_rng(seed)
    for number in range(n):
        title, body = (" ".join(random.choice(WORDS, size)) for size in (2, 9))
        yield str(number), title, body


def built(folder, documents, analyzer=PLAIN, **options):
    index = Index.build(folder, documents, analyzer=analyzer, **options)
    index.delete(["7", "8", "9"])
    return index.commit()


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    """Documents of two fields, some deleted."""
    documents = [{"id": i, "title": t, "body": b} for i, t, b in texts()]
    return built(tmp_path_factory.mktemp("pages"), documents, positions=True)


def same(hits, others):
    assert [hit.id for hit in hits] == [hit.id for hit in others]
    assert [h.score for h in hits] == pytest.approx([h.score for h in others])


@pytest.mark.parametrize("model", MODELS)
def test_fields_are_one_text_in_which_the_title_counts_thrice(pages, tmp_path, model):
    joined = built(
        tmp_path / "joined", [(i, f"{t} {t} {t} {b}") for i, t, b in texts()]
    )
    for query in ("bee", "bee wax wax hive"):
        hits = pages.search(query, 60, model)
        same(hits, joined.search(query, 60, model))
        explained = pages.explain(query, hits[3].id, model)
        assert explained.score == pytest.approx(hits[3].score)


def test_whole_weights_repeat_a_field_and_others_add_scores(pages, tmp_path):
    joined = built(tmp_path / "joined", [(i, f"{t} " * 5 + b) for i, t, b in texts()])
    weights = {"title": 5.0, "body": 1.0}
    same(pages.search("bee tea", fields=weights), joined.search("bee tea"))
    half = pages.search("bee tea", 60, fields={"title": 0.5, "body": 1.0})
    parts = {
        name: {hit.id: hit.score for hit in pages.search("bee tea", 60, fields=one)}
        for name, one in (("title", {"title": 1}), ("body", {"body": 1}))
    }
    for hit in half:
        each = 0.5 * parts["title"].get(hit.id, 0.0) + parts["body"].get(hit.id, 0.0)
        assert hit.score == pytest.approx(each)


@pytest.mark.parametrize("model", [*MODELS, "cosine"])
def test_a_pattern_is_one_term(tmp_path, model):
    """As if all its words had been written alike."""
    bodies = [(i, b) for i, _, b in texts()]
    index = built(tmp_path / "index", bodies)
    alike = [(i, b.replace("beech", "bee").replace("beet", "bee")) for i, b in bodies]
    alike = [(i, b.replace("been", "bee")) for i, b in alike]
    if model == "cosine":
        assert index.ask("bee*", 60, model=model)  # norms are those of the words
        return
    united = built(tmp_path / "united", alike)
    for query, plain in (("bee*", "bee"), ("bee* wax", "bee wax")):
        same(index.ask(query, 60, model=model), united.ask(plain, 60, model=model))


def test_patterns_make_sets(pages):
    def ids(query):
        hits = pages.ask(query, 60, model="boolean")
        return {hit.id for hit in hits}

    bees = ids("bee OR beech OR beet OR been")
    assert ids("bee*") == bees
    assert ids("+tea -bee*") == ids("tea") - bees
    either = "(woman OR women) AND (title:tea OR title:teal)"
    assert ids("wom?n AND title:tea*") == ids(either)
    assert ids("b?e*") == bees
    assert {hit.id for hit in pages.ask("#sum(bee* wax)", 60)} == ids("bee* OR wax")


def test_a_question_mark_at_the_end_is_one(pages):
    assert pages.ask("hive?") == pages.ask("hive")
    assert pages.ask("bee *") == pages.ask("bee")
    assert pages.expand("wom?n hive? bee") == {"wom?n": ["woman", "women"]}


def test_a_pattern_in_the_parts_of_a_score(pages):
    question = pages.question("bee* title:wom?n wax")
    for hit in question.answer(5):
        explained = question.explain(hit.number)
        assert sum(part.part for part in explained.parts) == pytest.approx(hit.score)
        assert {part.term for part in explained.parts} <= {"bee*", "wom?n", "wax"}


@pytest.mark.parametrize(
    ("query", "problem"),
    [
        ('"bee* wax"', "phrase takes no"),
        ("*bee", "begins with a letter"),
        ("tea-b*e", "one word"),
        ("w*", f"{MOST_TERMS:,} are looked for"),
    ],
)
def test_what_cannot_be_looked_up_is_refused(tmp_path, query, problem):
    words = " ".join(f"w{number}" for number in range(MOST_TERMS + 1))
    index = Index.build(tmp_path / "index", [("a", words)], analyzer=PLAIN)
    with pytest.raises(MalformedQuery, match=problem):
        index.ask(query)


def test_feedback_takes_words(pages):
    with pytest.raises(Mistake, match="write the words out"):
        pages.ask("bee*", feedback="rm3")


def test_a_text_warns_of_a_star(pages):
    with pytest.warns(UserWarning, match=r"index\.ask"):
        pages.search("bee*")


def test_a_prefix_means_its_own_stem_too(tmp_path):
    analyzer = "words|lower|snowball(english)"
    documents = [("a", "libraries"), ("b", "A librarian"), ("c", "books")]
    index = Index.build(tmp_path / "index", documents, analyzer=analyzer)
    assert index.expand("library* librar*") == {
        "library*": ["librari"],
        "librar*": ["librari", "librarian"],
    }


def test_words_of_one_field_are_apart():
    title, body = {"bee": 2.0}, {"bee": 1.0, "tea": -1.0}
    assert together({"title": title, "body": body}) == {
        ("title", "body"): {"bee": 1.0},
        ("title",): {"bee": 1.0},
        ("body",): {"tea": -1.0},
    }
