"""Laws of measures: increasing transformations, bounds, ideal orders, renumbering."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from classmark.measures import (
    Measure,
    category_ranking,
    category_ranking_per_document,
    classification,
    parse,
    precision_at_rank,
    recall_at_rank,
    retrieval,
)
from classmark.measures.retrieval import MEASURES
from classmark.ranking import order, top

patient = settings(deadline=None)  # the first call compiles
RETRIEVAL = ["map", "mrr", "wta", "p@3", "r@3", "prbep", "ndcg@3", "ndcg"]
SHARES = ["loss1", "loss3", "one_error", "average_precision", "max_f1"]
SHARES += ["domination", "dominated", "P@2", "R@2", "nP@2"]
EXACT = ["loss1", "loss2", "loss3", "domination", "dominated"]


def close(left, right):
    return {n: round(v, 9) for n, v in left.items()} == {
        n: round(v, 9) for n, v in right.items()
    }


@st.composite
def ranked(draw):
    """Scores with ties, and labels, at least one somewhere."""
    n, k = draw(st.integers(1, 5)), draw(st.integers(1, 7))
    scores = draw(arrays(np.float64, (n, k), elements=st.integers(-4, 4)))
    labels = draw(arrays(np.int8, (n, k), elements=st.integers(0, 1)))
    labels[0, draw(st.integers(0, k - 1))] = 1
    return scores, labels


@st.composite
def judged(draw):
    names = [f"d{i}" for i in range(8)]
    queries = [f"q{i}" for i in range(draw(st.integers(1, 3)))]
    scores = st.dictionaries(st.sampled_from(names), st.integers(-4, 4), max_size=8)
    grades = st.dictionaries(st.sampled_from(names), st.integers(-1, 4), max_size=8)
    return {q: draw(scores) for q in queries}, {q: draw(grades) for q in queries}


@patient
@given(ranked(), st.sampled_from([np.exp, np.arctan, lambda s: s**3 + 5]))
def test_increasing_transformations_change_no_category_measure(case, rising):
    scores, labels = case
    assert category_ranking(scores, labels) == category_ranking(rising(scores), labels)


@patient
@given(judged(), st.sampled_from([np.exp, np.arctan, lambda s: s**3 + 5]))
def test_increasing_transformations_change_no_retrieval_measure(case, rising):
    run, qrels = case
    risen = {q: {d: rising(s) for d, s in found.items()} for q, found in run.items()}
    assert retrieval(run, qrels, RETRIEVAL) == retrieval(risen, qrels, RETRIEVAL)


@patient
@given(ranked(), st.permutations(range(6)), st.integers(0, 5))
def test_losses_and_retrieval_measures_are_related_as_the_paper_says(case, row, label):
    """A wrong top topic is a wrong ranking; one topic is covered as far as it errs."""
    values, labelled = category_ranking_per_document(*case), case[1].any(axis=1)
    assert (values["one_error"] <= values["loss1"])[labelled].all()
    alone = category_ranking([row], [[label]], ["coverage", "loss2"])
    assert alone["coverage"] == alone["loss2"]


@patient
@given(ranked())
def test_category_measures_are_shares(case):
    values = category_ranking(*case, SHARES)
    values.pop("skipped")
    assert all(0 <= value <= 1 for value in values.values())
    k = case[0].shape[1]
    assert 0 <= category_ranking(*case)["coverage"] <= k - 1
    precision = precision_at_rank(*case)
    assert ((precision >= 0) & (precision <= 1)).all()
    assert (np.diff(recall_at_rank(*case)) >= 0).all()
    assert recall_at_rank(*case)[-1] == 1 or abs(recall_at_rank(*case)[-1] - 1) < 1e-12


@patient
@given(judged())
def test_retrieval_measures_are_shares(case):
    assert all(0 <= value <= 1 for value in retrieval(*case, RETRIEVAL).values())


@patient
@given(ranked())
def test_the_ideal_order_of_categories_is_perfect(case):
    _, labels = case
    labels = labels[labels.any(axis=1)]
    values = category_ranking(labels, labels, [*SHARES, "coverage"])
    for name in ("loss1", "loss3", "one_error", "domination", "dominated"):
        assert values[name] == 0
    for name in ("average_precision", "max_f1", "nP@2"):
        assert values[name] == 1
    assert values["coverage"] == np.mean(labels.sum(axis=1) - 1)
    assert (precision_at_rank(labels, labels) == 1).all()


@patient
@given(judged())
def test_the_ideal_order_of_documents_is_perfect(case):
    qrels = {
        q: found for q, found in case[1].items() if max(found.values(), default=0) > 0
    }
    if qrels:
        values = retrieval(
            qrels, qrels, ["map", "mrr", "wta", "prbep", "ndcg", "ndcg@2"]
        )
        assert close(values, dict.fromkeys(values, 1.0))


@patient
@given(ranked(), st.randoms())
def test_permuting_documents_and_labels(case, random):
    """Documents never matter; labels matter only where they break ties."""
    scores, labels = case
    rows, columns = [*range(len(scores))], [*range(scores.shape[1])]
    random.shuffle(rows)
    random.shuffle(columns)
    moved = category_ranking(scores[rows], labels[rows])
    assert close(moved, category_ranking(scores, labels))
    renumbered = category_ranking(scores[:, columns], labels[:, columns], EXACT)
    assert close(renumbered, category_ranking(scores, labels, EXACT))
    untied = -np.argsort(order(scores), axis=1)
    renumbered = category_ranking(untied[:, columns], labels[:, columns])
    assert close(renumbered, category_ranking(untied, labels))


@patient
@given(judged(), st.randoms())
def test_permuting_queries_and_documents(case, random):
    run, qrels = case
    spread = {
        q: {d: s + i / 100 for i, (d, s) in enumerate(found.items())}
        for q, found in run.items()
    }
    shuffled = {}
    for q in random.sample([*spread], len(spread)):
        shuffled[q] = dict(random.sample([*spread[q].items()], len(spread[q])))
    values = retrieval(spread, qrels, RETRIEVAL)
    assert close(retrieval(shuffled, qrels, RETRIEVAL), values)


@patient
@given(ranked(), ranked())
def test_swapping_truth_and_prediction_swaps_precision_and_recall(a, b):
    n, k = min(len(a[1]), len(b[1])), min(a[1].shape[1], b[1].shape[1])
    truth, predicted = a[1][:n, :k], b[1][:n, :k]
    there, back = classification(truth, predicted), classification(predicted, truth)
    for average in ("micro", "macro"):
        assert there[f"F1({average})"] == back[f"F1({average})"]
        assert there[f"Precision({average})"] == back[f"Recall({average})"]


@patient
@given(
    arrays(
        np.float32,
        st.tuples(st.integers(1, 4), st.integers(1, 9)),
        elements=st.integers(0, 3),
    ),
    st.integers(0, 10),
)
def test_top_is_the_beginning_of_the_order(scores, k):
    np.testing.assert_array_equal(top(scores, k), order(scores)[:, :k])


@patient
@given(
    st.sampled_from([*MEASURES]),
    st.integers(1, 10**6),
    st.sampled_from(["micro", "macro"]),
)
def test_names_parse_to_what_they_print(name, cutoff, average):
    declared = MEASURES[name]
    measure = Measure(
        name,
        None if declared.cutoff == "no" else cutoff,
        average if declared.averaged else None,
    )
    assert parse(str(measure)) == parse(str(measure).swapcase()) == measure
