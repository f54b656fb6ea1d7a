"""Are the features of a query and a document what their formulas say?"""

import math

import numpy as np
import pytest

from classmark import DenseIndex, MeaningFacts
from classmark.evaluation.retrieval import tally
from classmark.index.feedback import feedback_from
from classmark.index.index import Index
from classmark.index.models import MODELS
from classmark.ltr.features import (
    COUNTED,
    FEEDBACK,
    Matches,
    PairFeatures,
    Recipe,
    counted,
    features_of,
    minmax,
)
from classmark.problems import Mistake

TEXTS = {
    "a": {"title": "Bees and hives", "body": "Bees hum by the hive. Bees work."},
    "b": {"title": "Honey", "body": "Made by bees, eaten by bears and people."},
    "c": {"title": "Wasps", "body": "Wasps eat bees, and honey too."},
    "d": {"title": "Tea", "body": "A cup of tea with honey. The people drink tea."},
    "e": {"body": "Bears sleep. Bees sleep. People do not."},
}


@pytest.fixture(scope="module")
def index(tmp_path_factory):
    rows = [{"id": id_, **fields} for id_, fields in TEXTS.items()]
    return Index.build(tmp_path_factory.mktemp("index"), rows)


def slow_counted(terms, documents, at):
    """Return f1 … f6 of one document, each sum written out."""
    size, tokens = len(documents), sum(map(len, documents))
    out = dict.fromkeys(COUNTED, 0.0)
    for term in set(terms):
        tf = documents[at].count(term)
        df = sum(term in document for document in documents)
        cf = sum(document.count(term) for document in documents)
        if not tf:
            continue
        idf, own = math.log(size / df), len(documents[at])
        out["f1"] += math.log(tf)
        out["f2"] += math.log(1 + tf / tokens)
        out["f3"] += math.log(idf) if idf else 0.0
        out["f4"] += math.log(tokens / cf)
        out["f5"] += math.log(1 + tf / tokens * idf)
        out["f6"] += math.log(1 + tf / tokens * tokens / cf)
        out["f2 by length"] += math.log(1 + tf / own)
        out["f5 by length"] += math.log(1 + tf / own * idf)
    return out


@pytest.mark.parametrize("side", ["title", "body", "all"])
def test_counted_features_are_those_of_the_list(index, side):
    query = "people and bees with honey, bees"
    names, X = features_of(index, query, list(TEXTS))
    analyse = index.analyzer
    documents = [
        [
            term
            for name in (("title", "body") if side == "all" else (side,))
            for term in analyse(fields.get(name, ""))
        ]
        for fields in TEXTS.values()
    ]
    column = {name: at for at, name in enumerate(names)}
    for at in range(len(TEXTS)):
        expected = slow_counted(index.terms(query), documents, at)
        for name, value in expected.items():
            assert X[at, column[f"{side}.{name}"]] == pytest.approx(value), name
        assert X[at, column[f"{side}.length"]] == len(documents[at])
        matched = len(set(index.terms(query)) & set(documents[at]))
        assert X[at, column[f"{side}.matched"]] == matched


@pytest.mark.parametrize("model", list(MODELS))
def test_model_features_are_the_scores_of_the_field(index, model):
    query, field = "bees and honey", {"body": 1.0}
    names, X = features_of(index, query, list(TEXTS))
    column = X[:, names.index(f"body.{model}")]
    hits = index.search(query, 5, model, fields=field)
    assert len(hits) == 5
    for hit in hits:
        assert column[hit.number] == pytest.approx(hit.score)


def test_feedback_features_are_the_scores_of_longer_queries(tmp_path):
    rows = [(id_, " ".join(fields.values())) for id_, fields in TEXTS.items()]
    index = Index.build(tmp_path / "i", rows)
    names, X = features_of(index, "bees honey", list(TEXTS))
    for model, kind in FEEDBACK:
        hits = index.ask("bees honey", 5, model=model, feedback=feedback_from(kind))
        column = X[:, names.index(f"{model}+{kind}")]
        assert {hit.id: pytest.approx(hit.score) for hit in hits} == {
            hit.id: column[hit.number] for hit in hits
        }
    assert len(hits) == 5


def test_a_term_that_is_everywhere_adds_nothing_to_f3():
    found = Matches(
        ("a",), np.ones(1), np.array([4.0]), np.array([9.0]), np.ones((1, 2))
    )
    columns = dict(zip(COUNTED, counted(found, np.ones(2) * 3, (4, 30)), strict=True))
    assert columns["f3"].tolist() == [0.0, 0.0]
    assert columns["f4"].tolist() == [math.log(30 / 9)] * 2


def test_a_recipe_says_which_features(index):
    recipe = Recipe({"bm25": {"k1": 2.0}, "jm": {}}, feedback=(), pagerank=True)
    links = np.array([0.1, 0.2, 0.3, 0.1, 0.3])
    made = PairFeatures(index, recipe, pagerank=links)
    assert [name for name in made.names if "bm25" in name or "jm" in name] == [
        f"{side}.{model}"
        for side in ("title", "body", "all")
        for model in ("bm25", "jm")
    ]
    X = made.of(tally(index.terms("honey")), np.array([3, 1]))
    assert X.shape == (2, len(made.names))
    assert made.names[-1] == "pagerank"
    np.testing.assert_allclose(X[:, -1], np.log([0.1, 0.2]))


def test_documents_are_named_by_ids_or_numbers(index):
    _, by_id = features_of(index, "honey", ["d", "a"])
    _, by_number = features_of(index, "honey", np.array([3, 0]))
    np.testing.assert_array_equal(by_id, by_number)
    with pytest.raises(Mistake, match="document 'z' is not in the index"):
        features_of(index, "honey", ["z"])


def test_a_query_of_unknown_words_has_features_all_the_same(index):
    _, X = features_of(index, "zebra", ["a", "b"])
    assert np.isfinite(X).all()


def test_recipes_refuse(index, tmp_path):
    with pytest.raises(Mistake, match="pagerank is needed"):
        PairFeatures(index, Recipe(pagerank=True))
    with pytest.raises(Mistake, match="bm25 has no parameter 'mu'"):
        PairFeatures(index, Recipe({"bm25": {"mu": 1.0}}))
    rows = [{"id": "1", "all": "bees", "title": "hive"}]
    with pytest.raises(Mistake, match="a field is called 'all'"):
        PairFeatures(Index.build(tmp_path / "i", rows))


def test_scaling_is_within_the_query():
    X = np.array([[1.0, 7.0], [3.0, 7.0], [2.0, 7.0]])
    assert minmax(X).tolist() == [[0.0, 0.0], [1.0, 0.0], [0.5, 0.0]]
    assert minmax(np.empty((0, 2))).shape == (0, 2)


class ByLetters:
    def encode(self, texts):
        return [[text.count(letter) for letter in "aeiouhb"] for text in texts]


def test_meaning_is_the_cosine_of_query_and_document_and_the_last_feature(index):
    texts = [" ".join(fields.values()) for fields in TEXTS.values()]
    dense = DenseIndex.of(texts, ByLetters())
    recipe = Recipe({"bm25": {}}, ())
    plain = PairFeatures(index, recipe)
    both = PairFeatures(index, recipe._replace(meaning=dense.facts), dense=dense)
    assert both.names == (*plain.names, "meaning")
    query, items = "honey of bees", np.array([4, 0, 2])
    X = both.of(tally(index.terms(query)), items, query)
    assert np.array_equal(X[:, :-1], plain.of(tally(index.terms(query)), items))
    vectors = np.array(ByLetters().encode([query, *texts]), float)
    cosines = vectors[1:] @ vectors[0]
    cosines /= np.linalg.norm(vectors[1:], axis=1) * np.linalg.norm(vectors[0])
    assert X[:, -1] == pytest.approx(cosines[items], abs=1e-6)


def test_features_of_meaning_need_the_vectors_they_were_made_with(index):
    facts = MeaningFacts("letters", "0123", 7)
    recipe = Recipe({"bm25": {}}, (), meaning=facts)
    other = DenseIndex.of(["a"] * len(TEXTS), ByLetters())
    for dense in (None, other):
        with pytest.raises(Mistake, match=r"the vectors of letters .* are needed"):
            PairFeatures(index, recipe, dense=dense)
