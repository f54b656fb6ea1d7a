"""The ascent over rows that workers have ends where the local one does."""

import numpy as np
import pytest

from benchmarks.synthetic_rows import SyntheticRows, synthetic_rows
from classmark import ExampleQuery
from classmark.arrays import rows_from, stack, take
from classmark.examples.problem import (
    PRICES,
    Collection,
    Hopeful,
    Prices,
    hinges_of,
    mean_of,
    training_set,
)
from classmark.machines import rows as ascending
from classmark.machines.portion import step
from classmark.machines.rows import SpreadRows
from classmark.problems import Mistake
from classmark.solvers.cutting_planes import linear
from classmark.solvers.hinge import Hinges, ascend

WIDTH = 2000
EXAMPLES = SyntheticRows(9, 20, WIDTH, 20, 20)


class Here(Collection):
    """Parts that lie here, asked as workers are; ``asked`` counts the rounds."""

    def __init__(self, parts):
        self.parts, self.rows, self.asked = parts, stack(parts), 0
        self.ends = np.cumsum([0, *map(len, parts)])

    def __len__(self):
        return len(self.rows)

    width = property(lambda self: self.rows.width)
    mean = property(lambda self: mean_of(self.rows))

    def product(self, weights):
        return linear([self.rows]).product(weights)

    def back(self, coefficients):
        return linear([self.rows]).back(coefficients)

    def take(self, rows):
        return take(self.rows, rows)

    def top(self, weights, k, hidden=()):
        raise NotImplementedError

    def step(self, shared, own):
        self.asked += 1
        each = zip(self.parts, own, strict=True)
        return [step(part, mine, *shared) for part, mine in each]

    def ascend(self, few, hinges, *, duals, weights=None, tol=1e-3):
        return SpreadRows.ascend(
            self, few, hinges, duals=duals, weights=weights, tol=tol
        )


def parts_of(sizes):
    return [
        synthetic_rows(SyntheticRows(i, n, WIDTH, 20, 5)) for i, n in enumerate(sizes)
    ]


def same(found, expected, tol):
    """Both are within their gap of the one optimum."""
    assert found.gap <= tol * found.objective
    assert expected.gap <= tol * expected.objective
    low = max(f.objective - f.gap for f in (found, expected))
    assert found.objective >= low - 1e-9 * abs(low)
    assert abs(found.objective - expected.objective) <= 2 * tol * expected.objective


def check(U, P, hinges, found):
    """The duals are in their boxes; objective and gap are those of the weights."""
    rows = stack([P, U.rows])
    assert ((found.duals >= 0.0) & (found.duals <= hinges.boxes)).all()
    c = hinges.signs * found.duals
    each = np.bincount(hinges.rows, c, minlength=len(rows))
    weights = linear([rows]).back(each.astype(np.float64))
    np.testing.assert_allclose(
        found.weights, weights, atol=1e-7 * np.abs(weights).max()
    )
    scores = linear([rows]).product(found.weights)[hinges.rows]
    slack = np.maximum(0.0, hinges.margins - hinges.signs * scores)
    half = 0.5 * found.weights @ found.weights
    objective = half + hinges.boxes @ slack
    assert objective == pytest.approx(found.objective, rel=1e-9)
    dual = hinges.margins @ found.duals - half
    assert objective - dual == pytest.approx(found.gap, abs=1e-6 * objective)


@pytest.mark.parametrize("sizes", [[400], [700, 500], [300, 0, 1, 250, 90, 80, 200]])
@pytest.mark.parametrize("method", list(PRICES))
@pytest.mark.parametrize("C", [0.1, 1.0, 100.0, 10_000.0])
def test_every_method_and_cost_finds_the_same_optimum(sizes, method, C):
    U, P = Here(parts_of(sizes)), synthetic_rows(EXAMPLES)
    all_ = training_set(P, U.rows)
    hinges, tol = hinges_of(all_, PRICES[method](all_, C)), 1e-3
    expected = ascend([P, U.rows], hinges, duals=hinges.boxes, tol=tol)
    found = U.ascend(P, hinges, duals=hinges.boxes, tol=tol)
    same(found, expected, tol)
    check(U, P, hinges, found)


@pytest.mark.parametrize("method", ["balanced", "two-class"])
def test_few_examples_need_one_round(method):
    U, P = Here(parts_of([700, 500])), synthetic_rows(EXAMPLES)
    all_ = training_set(P, U.rows)
    hinges = hinges_of(all_, PRICES[method](all_, 1.0))
    found = U.ascend(P, hinges, duals=hinges.boxes)
    assert U.asked == found.n_iter == 1


def test_a_tight_tolerance_is_reached():
    U, P = Here(parts_of([200, 150, 100])), synthetic_rows(EXAMPLES)
    all_ = training_set(P, U.rows)
    hinges = hinges_of(all_, PRICES["balanced"](all_, 10.0))
    expected = ascend([P, U.rows], hinges, duals=hinges.boxes, tol=1e-6)
    found = U.ascend(P, hinges, duals=hinges.boxes, tol=1e-6)
    same(found, expected, 1e-6)
    np.testing.assert_allclose(found.weights, expected.weights, atol=0.02)


@pytest.mark.parametrize("rounds", [0, 1, 2])
def test_the_gap_is_that_of_the_weights_when_rounds_run_out(monkeypatch, rounds):
    monkeypatch.setattr(ascending, "ROUNDS", rounds)
    U, P = Here(parts_of([200, 150, 100])), synthetic_rows(EXAMPLES)
    all_ = training_set(P, U.rows)
    hinges = hinges_of(all_, PRICES["balanced"](all_, 100.0))
    found = U.ascend(P, hinges, duals=hinges.boxes, tol=1e-9)
    assert found.n_iter == U.asked == rounds + 1
    check(U, P, hinges, found)


def test_any_start_will_do_and_known_rows_and_hopeful_ones_too():
    U, P = Here(parts_of([200, 0, 150])), synthetic_rows(EXAMPLES)
    N = synthetic_rows(SyntheticRows(11, 6, WIDTH, 20))
    all_ = training_set(P, U.rows, N, labelled=[0, 3, 200, 349])
    hopeful = Hopeful(np.array([1, 4, 201]), 0.3)
    hinges = hinges_of(all_, Prices(3.0, 0.5, (1.0, 0.25)), hopeful)
    expected = ascend([all_.judged(), U.rows], hinges, tol=1e-4)
    starts = [np.zeros(len(hinges.rows)), hinges.boxes, 0.3 * hinges.boxes]
    for start in starts:
        found = U.ascend(all_.judged(), hinges, duals=start, tol=1e-4)
        same(found, expected, 1e-4)
        check(U, all_.judged(), hinges, found)
        assert not found.duals[26 + all_.labelled].any()
    rows = stack([all_.judged(), U.rows])
    each = np.bincount(hinges.rows, hinges.signs * starts[2], minlength=len(rows))
    weights = linear([rows]).back(each.astype(np.float64))
    found = U.ascend(all_.judged(), hinges, duals=starts[2], weights=weights, tol=1e-4)
    same(found, expected, 1e-4)


def test_hinges_of_the_few_alone_ask_nobody():
    U, P = Here(parts_of([20])), synthetic_rows(EXAMPLES)
    all_ = training_set(P, U.rows)
    hinges = hinges_of(all_, PRICES["one-class"](all_, 100.0))
    expected = ascend([P], hinges, duals=hinges.boxes)
    found = U.ascend(P, hinges, duals=hinges.boxes)
    assert np.array_equal(found.weights, expected.weights)
    assert U.asked == 0


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda h: h._replace(boxes=np.arange(float(len(h.rows)))), "must share"),
        (lambda h: h._replace(margins=np.arange(float(len(h.rows)))), "must share"),
        (lambda h: h._replace(signs=np.resize([1.0, -1.0], len(h.rows))), "must share"),
        (lambda h: Hinges(*(part[:-1] for part in h)), "in order, or none"),
        (lambda h: h._replace(rows=h.rows[::-1].copy()), "in order, or none"),
    ],
)
def test_hinges_that_differ_are_refused(change, message):
    U, P = Here(parts_of([20, 15])), synthetic_rows(EXAMPLES)
    all_ = training_set(P, U.rows)
    hinges = change(hinges_of(all_, PRICES["balanced"](all_, 1.0)))
    with pytest.raises(Mistake, match=message):
        U.ascend(P, hinges, duals=hinges.boxes)


def test_another_width_is_refused():
    U, P = Here(parts_of([20])), synthetic_rows(EXAMPLES._replace(width=77))
    all_ = training_set(synthetic_rows(EXAMPLES), U.rows)
    hinges = hinges_of(all_, PRICES["balanced"](all_, 1.0))
    with pytest.raises(Mistake, match="few has 77 columns"):
        U.ascend(P, hinges, duals=hinges.boxes)


def test_workers_find_it_too(two):
    sources = [SyntheticRows(i, n, WIDTH, 20, 5) for i, n in enumerate([700, 0, 500])]
    spread, here = SpreadRows(two, sources), Here(parts_of([700, 0, 500]))
    P = synthetic_rows(EXAMPLES)
    all_ = training_set(P, here.rows)
    for method, C in (("balanced", 1.0), ("balanced", 30.0), ("two-class", 5000.0)):
        hinges = hinges_of(all_, PRICES[method](all_, C))
        expected = here.ascend(P, hinges, duals=hinges.boxes)
        found = spread.ascend(P, hinges, duals=hinges.boxes)
        assert found.objective == pytest.approx(expected.objective, rel=1e-9)
        np.testing.assert_allclose(found.duals, expected.duals, atol=1e-9)


@pytest.mark.parametrize("method", ["precision-recall", "precision@k", "recall@k"])
def test_examples_that_lie_elsewhere_too_stand_in_no_table(method):
    random = np.random.default_rng(19)
    P, U, N = (np.abs(random.normal(size=(n, 8))) for n in (4, 30, 2))
    both = Here([rows_from(U), rows_from(P)])
    apart = ExampleQuery(method, tol=1e-6).fit(P, U, N)
    among = ExampleQuery(method, tol=1e-6).fit(P, both, N, known=range(30, 34))
    assert among.objective_ == pytest.approx(apart.objective_, rel=1e-5)
