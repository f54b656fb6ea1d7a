"""MMP: one round by hand, growth, means, votes, kernels, budgets and manners."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_matrix
from sklearn.base import clone

from classmark.measures import category_ranking
from classmark.problems import Mistake
from classmark.rankers.online import MMP, CategoryPerceptron
from classmark.rankers.text_ranker import TextRanker
from classmark.weighting.vectorizer import Vectorizer

SEEDS = st.integers(0, 2**32 - 1)
LOSSES = st.sampled_from([1, 2, 3])
IN_ORDER = {"shuffle": False}
LEARNERS = [MMP(1), MMP(2), MMP(3), CategoryPerceptron()]


def problem(seed, n=20, d=6, k=5, *, whole=False):
    rng = np.random.default_rng(seed)
    X = rng.integers(-2, 3, (n, d)) if whole else rng.standard_normal((n, d))
    X = X * (rng.random((n, d)) < 0.6)
    return X.astype(float), (rng.random((n, k)) < 0.4).astype(int)


def test_one_round_by_hand():
    """Scores 2, 1, 1, 3 with Y = {0, 1}: E = {(0, 3), (1, 2), (1, 3)}, (1, 2) a tie."""
    for loss, c in ((1, 3), (2, 1), (3, 4)):
        ranker = MMP(loss)
        ranker.weights_ = np.array([[2.0, 1.0, 1.0, 3.0]])
        ranker.partial_fit([[1.0]], [[0, 1]])
        moved = ranker.coef_.ravel() - [2.0, 1.0, 1.0, 3.0]
        assert np.allclose(moved, np.array([1, 2, -1, -2]) / c)
        assert ranker.losses_.tolist() == [[1.0, 3.0, 0.75]]


@given(SEEDS, LOSSES)
def test_losses_are_those_of_the_measures_before_each_round(seed, loss):
    X, Y = problem(seed)
    ranker = MMP(loss).partial_fit(X[:0], Y[:0], n_labels=5)
    for x, y in zip(X, Y, strict=True):
        scores = ranker.decision_function(x[None])
        ranker.partial_fit(x[None], y[None])
        if y.any():
            found = category_ranking(scores, y[None])
            expected = [found["loss1"], found["loss2"], found["loss3"]]
            assert np.allclose(ranker.losses_[-1], expected)
        else:
            assert not ranker.losses_[-1].any()
    assert len(ranker.losses_) == ranker.n_rounds_ == len(X)


@pytest.mark.parametrize("learner", LEARNERS, ids=repr)
@pytest.mark.parametrize("kernel", [None, "linear"])
def test_no_label_and_all_labels_teach_mmp_nothing(learner, kernel):
    ranker = clone(learner).set_params(kernel=kernel)
    ranker.fit(np.eye(2), np.array([[0, 0, 0], [1, 1, 1]]))
    assert not ranker.losses_.any()
    if isinstance(learner, MMP):
        assert not ranker.decision_function(np.eye(2)).any()
    assert ranker.rank(np.zeros((1, 2))).tolist() == [[0, 1, 2]]
    assert clone(learner).fit(np.eye(2), [[], []]).rank(np.eye(2)).shape == (2, 0)


@pytest.mark.parametrize("learner", LEARNERS, ids=repr)
@pytest.mark.parametrize("how", [{}, {"average": True}, {"kernel": "rbf"}], ids=str)
def test_new_words_and_labels_begin_with_nothing(learner, how):
    X, Y = problem(3)
    ranker = clone(learner).set_params(**how).partial_fit(X[:, :4], Y[:, :3])
    before = ranker.decision_function(X[:, :4])
    assert np.allclose(
        ranker.partial_fit(X[:0], [], n_labels=5).decision_function(X[:, :4])[:, :3],
        before,
    )
    assert not ranker.decision_function(X[:, :4])[:, 3:].any()
    ranker.partial_fit(X, [[4]] * len(X))
    narrow, wide = X[:1, :2], np.hstack([X[:1, :2], np.zeros((1, 9))])
    assert np.allclose(ranker.decision_function(narrow), ranker.decision_function(wide))


@given(SEEDS, LOSSES)
def test_average_is_the_mean_of_the_prototypes_after_each_round(seed, loss):
    X, Y = problem(seed)
    ranker, along = MMP(loss), []
    for _ in range(2):
        for x, y in zip(X, Y, strict=True):
            along.append(ranker.partial_fit(x[None], y[None], n_labels=5).coef_)
    averaged = MMP(loss, passes=2, average=True, **IN_ORDER).fit(X, Y)
    assert np.allclose(averaged.coef_, np.mean(along, axis=0))
    assert np.allclose(averaged.decision_function(X), X @ np.mean(along, axis=0).T)


@given(SEEDS, st.booleans(), st.booleans())
def test_votes_are_the_rankings_of_the_prototypes_after_each_round(seed, mmp, poly):
    """Whole numbers: every sum is exact, so that ties are ties both ways."""
    X, Y = problem(seed, whole=True)
    kernel = {"kernel": "polynomial"} if poly else {}
    learner = MMP(2, **kernel) if mmp else CategoryPerceptron(**kernel)
    places = np.zeros((len(X), 5))
    for x, y in zip(X, Y, strict=True):
        learner.partial_fit(x[None], y[None], n_labels=5)
        for points, ranked in zip(places, learner.rank(X), strict=True):
            points[ranked] += [4, 3, 2, 1, 0]
    voted = clone(learner).set_params(vote=True, **IN_ORDER).fit(X, Y)
    assert np.allclose(voted.decision_function(X), places / len(X))


@given(SEEDS, st.sampled_from(LEARNERS), st.booleans())
def test_the_linear_kernel_is_no_kernel(seed, learner, average):
    X, Y = problem(seed)
    plain = clone(learner).set_params(average=average).fit(X, Y)
    dual = clone(plain).set_params(kernel="linear").fit(X, Y)
    assert np.allclose(dual.losses_, plain.losses_, atol=1e-12)
    assert np.allclose(
        dual.decision_function(X), plain.decision_function(X), atol=1e-9, rtol=0
    )


@given(SEEDS, st.sampled_from(LEARNERS))
def test_a_budget_for_all_is_no_budget(seed, learner):
    X, Y = problem(seed)
    free = clone(learner).set_params(kernel="rbf", passes=2).fit(X, Y)
    bounded = clone(free).set_params(max_documents=40).fit(X, Y)
    assert np.array_equal(free.decision_function(X), bounded.decision_function(X))


@pytest.mark.parametrize(
    ("learner", "forgotten"),
    [(MMP(1), 0), (MMP(2), 1), (MMP(3), 1), (CategoryPerceptron(), 0)],
    ids=repr,
)
def test_a_budget_forgets_the_oldest_or_the_smallest_update(learner, forgotten):
    X = np.diag([3.0, 1.0, 2.0])
    how = {"kernel": "linear", "max_documents": 2, **IN_ORDER}
    ranker = clone(learner).set_params(**how)
    ranker.fit(X, [[0], [1], [2]])
    scores = ranker.decision_function(np.eye(3))
    assert np.flatnonzero(~scores.any(axis=1)).tolist() == [forgotten]


def test_a_function_may_be_the_kernel():
    X, Y = problem(1)
    mine = MMP(kernel=lambda A, B: (A @ B.T).toarray() ** 3).fit(X, Y)
    named = MMP(kernel="polynomial", degree=3, coef0=0.0).fit(X, Y)
    assert np.allclose(mine.decision_function(X), named.decision_function(X))


def test_blocks_of_documents_are_one_stream():
    """More documents than are looked at together."""
    X, Y = problem(4, n=600)
    whole = MMP(kernel="rbf", max_documents=30, **IN_ORDER).fit(X, Y)
    streamed = MMP(kernel="rbf", max_documents=30)
    for part in np.array_split(np.arange(600), 7):
        streamed.partial_fit(X[part], Y[part])
    assert np.allclose(whole.losses_, streamed.losses_)
    assert np.allclose(whole.decision_function(X), streamed.decision_function(X))


@pytest.mark.parametrize("learner", [MMP, CategoryPerceptron])
def test_fit_shuffles_each_pass_by_a_seed_and_partial_fit_never(learner):
    X, Y = problem(2)
    first, again = learner().fit(X, Y), learner().fit(X, Y)
    assert np.array_equal(first.coef_, again.coef_)
    assert not np.allclose(first.coef_, learner(random_state=1).fit(X, Y).coef_)
    ordered = learner(**IN_ORDER).fit(X, Y)
    assert not np.allclose(first.coef_, ordered.coef_)
    assert np.array_equal(ordered.coef_, learner().partial_fit(X, Y).coef_)
    orders = np.random.default_rng(0)
    twice = learner()
    for order in (orders.permutation(len(X)), orders.permutation(len(X))):
        twice.partial_fit(X[order], Y[order])
    assert np.array_equal(learner(passes=2).fit(X, Y).coef_, twice.coef_)


@pytest.mark.parametrize("learner", LEARNERS, ids=repr)
def test_a_file_sorted_by_class_is_learned_as_well_as_a_shuffled_one(learner):
    rng = np.random.default_rng(4)
    classes = np.repeat(np.arange(8), 40)
    words = rng.random((8, 100)) < 0.2
    X = (rng.random((320, 100)) < 0.02 + 0.3 * words[classes]).astype(float)
    X /= np.maximum(np.linalg.norm(X, axis=1, keepdims=True), 1e-9)
    train = np.arange(320) % 2 == 0
    Y = np.eye(8, dtype=int)[classes]

    def one_error(order, **how):
        ranker = clone(learner).set_params(**how)
        ranker.fit(X[train][order], Y[train][order])
        scores = ranker.decision_function(X[~train])
        return category_ranking(scores, Y[~train])["one_error"]

    in_file, shuffled = np.arange(160), rng.permutation(160)
    assert one_error(in_file) <= one_error(shuffled) + 0.1
    assert one_error(in_file, shuffle=False) > one_error(in_file) + 0.1


def test_float32_stays_and_float64_may_follow():
    X, Y = problem(6)
    ranker = MMP().partial_fit(csr_matrix(X, dtype=np.float32), Y)
    assert ranker.weights_.dtype == np.float32
    assert ranker.decision_function(X).dtype == np.float64
    single = ranker.partial_fit(X, Y).coef_
    double = MMP(passes=2, **IN_ORDER).fit(X, Y).coef_
    assert np.allclose(single, double, atol=1e-5)


def test_saved_prototypes_go_on():
    """As an opened folder gives them: mapped, not to be written."""
    X, Y = problem(7)
    whole = MMP(passes=2, **IN_ORDER).fit(X, Y)
    weights = np.array(MMP(**IN_ORDER).fit(X, Y).weights_)
    weights.flags.writeable = False
    opened = MMP()
    opened.weights_ = weights
    assert np.allclose(opened.decision_function(X), X @ weights)
    assert np.allclose(opened.partial_fit(X, Y).coef_, whole.coef_)
    assert opened.evidence(X[:1], 0).parts.shape == (np.count_nonzero(X[0]),)


def test_a_text_ranker_saves_prototypes_and_refuses_supports(tmp_path):
    texts, labels = ["bees and honey", "bread", "honey bread"], [[0], [1], [0, 1]]

    def fitted(ranker):
        return TextRanker.fit(Vectorizer(), ranker, texts, labels, ["a", "b", "c"])

    trained = fitted(CategoryPerceptron(average=True))
    trained.save(tmp_path / "model")
    opened = TextRanker.open(tmp_path / "model")
    assert np.allclose(opened.scores(texts), trained.scores(texts))
    with pytest.raises(Mistake, match="no weights by feature"):
        fitted(CategoryPerceptron(kernel="rbf")).save(tmp_path / "other")


def test_votes_are_saved_with_the_documents_that_vote(tmp_path):
    texts, labels = ["honey hive", "dough oven", "wick wax"], [[0], [1], [2]]
    how = MMP(1, passes=3, vote=True)
    trained = TextRanker.fit(Vectorizer(), how, texts, labels, ["a", "b", "c"])
    trained.save(tmp_path / "model")
    opened = TextRanker.open(tmp_path / "model")
    assert np.array_equal(opened.scores(texts), trained.scores(texts))
    assert opened.suggest("the hive")[0].favour[0][0] == "hive"


def test_the_weights_of_votes_are_the_mean_of_the_prototypes():
    X, Y = problem(8)
    votes, mean = (
        MMP(2, **how, **IN_ORDER).fit(X, Y)
        for how in ({"vote": True}, {"average": True})
    )
    assert np.allclose(votes.weights_.toarray(), mean.weights_)


def test_the_mean_after_opening_is_that_of_the_rounds_since():
    X, Y = problem(8)
    opened = MMP(average=True)
    opened.weights_ = np.ones((6, 5))
    assert np.allclose(opened.decision_function(X), X @ np.ones((6, 5)))
    opened.partial_fit(X[:1], Y[:1])
    assert np.allclose(opened.weights_, opened.coef_.T)
    assert np.allclose(opened.decision_function(X), X @ opened.weights_)


def test_parameters_come_first_as_published():
    ranker = MMP(1, 2, True, "rbf")
    wanted = {"loss": 1, "passes": 2, "average": True, "kernel": "rbf"}
    assert wanted.items() <= ranker.get_params().items()
    assert not hasattr(ranker, "weights_")
    assert not hasattr(ranker, "losses_")


def test_mistakes_are_named():
    X, Y = problem(0)
    wrong = {
        "loss is 4": MMP(4),
        "passes is 0": MMP(passes=0),
        "vote needs every update": MMP(vote=True, average=True),
        "vote needs every": MMP(vote=True, kernel="rbf", max_documents=3),
        "give a kernel": MMP(max_documents=3),
        "max_documents is 0": MMP(kernel="rbf", max_documents=0),
        "kernel 'cosine' is not known": MMP(kernel="cosine"),
    }
    for message, ranker in wrong.items():
        with pytest.raises(Mistake, match=message):
            ranker.fit(X, Y)
    with pytest.raises(Mistake, match="X has 3 features, but MMP is expecting 6"):
        MMP().fit(X, Y).decision_function(X[:, :3])
    with pytest.raises(Mistake, match="not fitted"):
        MMP().decision_function(X)
    with pytest.raises(Mistake, match="no weights by feature"):
        MMP(kernel="rbf").fit(X, Y).coef_  # noqa: B018 (reading it is the test)
