"""A part climbs alone: what it reports is exact, what it proposes is better."""

import numpy as np
import pytest

from classmark.arrays import rows_from
from classmark.machines.portion import (
    Aim,
    Few,
    UniformHinges,
    packed,
    step,
    unpacked,
)
from classmark.solvers.hinge import Hinges, ascend, joined, picked


def improve(rows, alike, duals, few, weights, aim):
    """A step, with what travels unpacked."""
    state = packed(duals, alike.box), alike
    moved = step(rows, state, few, weights, aim)
    if moved.duals is None:
        return moved
    change = moved.change.to_scipy().toarray()[0]
    return moved._replace(duals=unpacked(moved.duals, alike.box), change=change)


@pytest.fixture
def case():
    random = np.random.default_rng(3)
    rows = rows_from(random.normal(size=(40, 12)) * (random.random((40, 12)) < 0.5))
    near = rows_from(random.normal(size=(5, 12)))
    alike = UniformHinges(-1.0, 0.7, 0.9, np.array([3, 8]))
    hinges = Hinges(np.arange(5, dtype=np.uint32), *np.array([[1.0], [2.0], [1.0]])
                    .repeat(5, axis=1))  # fmt: skip
    few = Few(near, hinges, random.random(5))
    duals = random.choice([0.0, 0.7, 0.2], 40)
    duals[alike.out] = 0.0
    return rows, alike, duals, few


def weights_of(rows, alike, duals, few):
    pull = rows.to_scipy().T @ (alike.sign * duals)
    return pull + few.rows.to_scipy().T @ (few.hinges.signs * few.duals)


def value(weights, alike, duals, few):
    """The dual value."""
    worth = alike.margin * duals.sum() + few.hinges.margins @ few.duals
    return worth - 0.5 * weights @ weights


AIM = Aim(base=0.0, share=1.0, enough=0.0, tol=1e-6, passes=100)


def test_cost_and_gap_are_exact(case):
    rows, alike, duals, few = case
    weights = weights_of(*case)
    slopes = -(rows.to_scipy() @ weights) - 0.9
    boxes = np.full(40, 0.7)
    boxes[[3, 8]] = 0.0
    found = improve(rows, alike, duals, few, weights, AIM)
    assert found.cost == pytest.approx(boxes @ np.maximum(0.0, -slopes))
    gap = boxes * np.maximum(0.0, -slopes) + duals * slopes
    assert found.gap == pytest.approx(gap[boxes > 0.0].sum())


def test_the_change_is_of_these_rows_alone_and_raises_the_dual_value(case):
    rows, alike, duals, few = case
    weights = weights_of(*case)
    found = improve(rows, alike, duals, few, weights, AIM)
    assert ((found.duals >= 0.0) & (found.duals <= 0.7)).all()
    assert not found.duals[[3, 8]].any()
    change = rows.to_scipy().T @ (alike.sign * (found.duals - duals))
    np.testing.assert_allclose(found.change, change, atol=1e-12)
    assert found.worth == pytest.approx(0.9 * (found.duals - duals).sum())
    hinges = joined(few.hinges, Hinges(*(np.array([x]) for x in (5, 1.0, 1.0, 0.0))))
    hinges = hinges._replace(
        rows=hinges.rows.astype(np.uint32),
        margins=np.append(few.hinges.margins, found.worth),
    )
    pull = weights_of(rows, alike, duals, few._replace(duals=np.zeros(5)))
    both = [few.rows, rows_from(found.change[np.newaxis])]
    best = ascend(both, hinges, center=pull, tol=1e-9)
    length = best.duals[-1]
    after = duals + length * (found.duals - duals)
    better = few._replace(duals=best.duals[:5])
    np.testing.assert_allclose(
        best.weights, weights_of(rows, alike, after, better), atol=1e-9
    )
    assert value(best.weights, alike, after, better) > value(weights, *case[1:])


def test_alone_it_is_the_whole_ascent(case):
    rows, alike, duals, few = case
    own = alike.hinges(40)
    own = own._replace(rows=own.rows + np.uint32(5))
    both = joined(few.hinges, own)
    expected = ascend([few.rows, rows], both, tol=1e-9)
    for _ in range(40):
        weights = weights_of(rows, alike, duals, few)
        found = improve(rows, alike, duals, few, weights, AIM._replace(tol=1e-12))
        duals = duals if found.duals is None else found.duals
        pull = weights_of(rows, alike, duals, few._replace(duals=np.zeros(5)))
        solved = ascend([few.rows], few.hinges, center=pull, tol=1e-12)
        few = few._replace(duals=solved.duals)
    np.testing.assert_allclose(solved.weights, expected.weights, atol=1e-3)


def test_enough_is_left_alone(case):
    found = improve(*case, weights_of(*case), AIM._replace(enough=1e9))
    assert found.gap > 0.0
    assert (found.duals, found.change, found.worth) == (None, None, 0.0)


def test_hinges_are_picked_and_joined():
    one = Hinges(*(np.arange(3.0) + i for i in range(4)))
    both = joined(picked(one, slice(1)), picked(one, [1, 2]))
    assert all(map(np.array_equal, both, one))
