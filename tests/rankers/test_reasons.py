"""Why: how much came from words and from meaning, by which sentences and texts."""

import numpy as np
import pytest

import classmark as cm
from classmark.problems import Mistake
from classmark.rankers.reasons import meaning_cosines, meaning_parts
from classmark.text import sentences

TEXTS = [
    "bees and honey", "a hive of bees", "the queen of the swarm", "honeycomb and wax",
    "roads and cars", "a car on the road", "the lorry at the crossing", "a bridge",
    "rye bread and yeast", "an oven", "dough and flour", "the crust of a loaf",
]  # fmt: skip
LABELS = [[0]] * 4 + [[1]] * 4 + [[2]] * 4
NAMES = ["bees", "roads", "bread"]
TEXT = "My apiary stands by the road. Bees and honey! The dough\nis in the oven."


class Letters:
    """Seven numbers of a text: how often some letters are in it."""

    def encode(self, texts):
        return [[1.0 + text.lower().count(one) for one in "aeiorbw"] for text in texts]


def trained(ranker=None, **how):
    ranker = ranker or cm.PreferenceRanker(C=1.0)
    return cm.TextRanker.fit(cm.Vectorizer(**how), ranker, TEXTS, LABELS, NAMES)


def row_of_meaning(model, vector):
    """weight · (u − c)/‖u − c‖ with u = v/‖v‖, number by number."""
    block = model.vectorizer.meaning_
    length = sum(v * v for v in vector) ** 0.5
    seen = [v / length - c for v, c in zip(vector, block.centre, strict=True)]
    length = sum(v * v for v in seen) ** 0.5
    return [block.weight * v / length for v in seen]


def part_by_hand(model, text, category):
    """Σ_j x_j (w_{r,j} − mean_s w_{s,j}) over the columns of meaning."""
    W, first = model.ranker.coef_, len(model.vectorizer.vocabulary_)
    total = 0.0
    for j, x in enumerate(row_of_meaning(model, Letters().encode([text])[0])):
        mean = sum(W[s][first + j] for s in range(len(W))) / len(W)
        total += x * (W[category][first + j] - mean)
    return total


RANKERS = [
    cm.PreferenceRanker(C=1.0), cm.Rocchio(), cm.LogLinearRanker(C=1.0), cm.MMP(),
]  # fmt: skip


@pytest.mark.parametrize("ranker", RANKERS, ids=repr)
def test_the_parts_of_a_suggestion_add_up_to_its_lead(ranker):
    model = trained(ranker, meaning=Letters())
    scores = model.scores([TEXT])[0]
    suggestions = model.suggest(TEXT, k=3, terms=1)
    assert len(suggestions) == 3
    for one in suggestions:
        number = NAMES.index(one.category)
        lead = scores[number] - scores.mean()
        assert sum(one.parts) == pytest.approx(lead, abs=1e-6)
        by_hand = part_by_hand(model, TEXT, number)
        assert one.parts.meaning == pytest.approx(by_hand, abs=1e-6)
        assert one.parts == model.score_parts(TEXT, one.category)


def test_words_alone_have_no_parts_nor_has_what_nobody_asks_for():
    assert {one.parts for one in trained().suggest(TEXT)} == {None}
    model = trained(meaning=Letters())
    assert {one.parts for one in model.suggest(TEXT, terms=0)} == {None}


def test_a_ranker_whose_weights_are_not_of_columns_has_no_parts():
    model = trained(cm.PreferenceRanker(C=1.0, kernel="rbf"), meaning=Letters())
    assert {one.parts for one in model.suggest(TEXT, terms=0)} == {None}
    with pytest.raises(Mistake, match="no weights of columns"):
        cm.sentence_parts(model, TEXT, "bees")


@pytest.mark.parametrize("ranker", RANKERS, ids=repr)
@pytest.mark.parametrize("category", NAMES)
def test_a_sentence_adds_what_it_would_add_alone(ranker, category):
    model = trained(ranker, meaning=Letters())
    number = NAMES.index(category)
    by_hand = {s: part_by_hand(model, s, number) for s in sentences(TEXT)}
    ranked = sorted(by_hand.items(), key=lambda each: -each[1])
    expected = [each for each in ranked if each[1] > 0]
    found = cm.sentence_parts(model, TEXT, category)
    assert [each.sentence for each in found] == [s for s, _ in expected]
    parts = [each.part for each in found]
    assert parts == pytest.approx([part for _, part in expected], abs=1e-6)
    for each in found:
        alone = model.score_parts(each.sentence, category).meaning
        assert each.part == pytest.approx(alone, abs=1e-6)
    assert cm.sentence_parts(model, TEXT, category, k=1) == found[:1]


def test_a_text_without_a_vector_has_no_part():
    model = trained(meaning=Letters())
    assert meaning_parts(model, np.zeros((2, 7)), "bees").tolist() == [0.0, 0.0]
    assert meaning_parts(model, np.zeros((0, 7)), "bees").shape == (0,)
    assert cm.sentence_parts(model, " \n ", "bees") == []


def test_texts_are_compared_as_seen_from_the_centre():
    model = trained(meaning=Letters())
    vector, *vectors = Letters().encode([TEXT, *TEXTS])
    own, weight = row_of_meaning(model, vector), model.vectorizer.meaning_.weight
    cosines = meaning_cosines(model, vector, vectors)
    for each, cosine in zip(vectors, cosines, strict=True):
        other = row_of_meaning(model, each)
        dot = sum(a * b for a, b in zip(own, other, strict=True))
        assert cosine == pytest.approx(dot / weight**2, abs=1e-6)
    assert meaning_cosines(model, vector, np.zeros((0, 7))).shape == (0,)


def test_words_alone_are_no_meaning_to_explain():
    with pytest.raises(Mistake, match="words alone"):
        cm.sentence_parts(trained(), TEXT, "bees")
    with pytest.raises(Mistake, match="'ships' is not ranked"):
        cm.sentence_parts(trained(meaning=Letters()), TEXT, "ships")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("One. Two! Three? Four", ["One.", "Two!", "Three?", "Four"]),
        ("A title\nThe text goes\non here.", ["A title", "The text goes\non here."]),
        ("She said: “Go.” He went.", ["She said: “Go.”", "He went."]),
        ("J. K. Lane: 3.5 pages, e.g. this.", ["J. K. Lane: 3.5 pages, e.g. this."]),
        ("蜜蜂很忙。養蜂人也忙！", ["蜜蜂很忙。", "養蜂人也忙！"]),
        ("Пчёлы. Мёд", ["Пчёлы.", "Мёд"]),
        ("first part\n\nsecond part", ["first part", "second part"]),
        ("", []), (" \n\n ", []), ("...", ["..."]),
    ],
)  # fmt: skip
def test_a_text_is_cut_into_sentences(text, expected):
    assert sentences(text) == expected
