"""Scales, ticks and places that keep apart."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from classmark.figures import Scale, linear_ticks, log_ticks, spread

VALUES = st.floats(1e-6, 1e6)


def test_values_stand_where_they_belong():
    assert Scale(0, 10, 100, 300).at(2.5) == 150
    assert Scale(0, 10, 300, 100).at(2.5) == 250
    log = Scale(1, 1000, 0, 300, log=True)
    assert [log.at(value) for value in (1, 10, 100, 1000)] == [0, 100, 200, 300]


def test_a_scale_of_one_value_has_room():
    assert Scale(3, 3, 0, 100).at(3) == 0


def test_linear_ticks_are_round():
    assert linear_ticks(0, 1) == [0.0, 0.5, 1.0]
    assert linear_ticks(0, 1, 6) == [0, 0.2, 0.4, 0.6, 0.8, 1]
    assert linear_ticks(0.7803, 1, 6) == [0.8, 0.85, 0.9, 0.95, 1]
    assert linear_ticks(0, 0) == [0.0]


@given(VALUES, st.floats(1.001, 1e6), st.sampled_from([2, 4, 6]))
def test_linear_ticks_lie_between_the_ends_evenly(low, factor, count):
    high = low * factor
    ticks = linear_ticks(low, high, count)
    slack = 1e-6 * high
    assert all(low - slack <= tick <= high + slack for tick in ticks)
    steps = [b - a for a, b in pairwise(ticks)]
    assert steps == pytest.approx(steps[:1] * len(steps), rel=1e-3)


def test_ticks_of_a_log_axis_become_fewer_where_there_is_no_room():
    def ticks(last, room):
        scale = Scale(1, 10.0**last, 0, room, log=True)
        return scale.readable_ticks(lambda _: 20, 10)

    assert ticks(2, 600) == [1, 2, 5, 10, 20, 50, 100]
    assert ticks(4, 200) == [1, 10, 100, 1000, 10000]
    assert ticks(6, 80) == [1, 1e3, 1e6]
    assert ticks(6, 20) == []


def test_a_log_axis_within_a_decade_has_ticks():
    scale = Scale(0.31, 0.46, 0, 300, log=True)
    assert len(scale.readable_ticks(lambda _: 20, 10)) > 2
    assert log_ticks(0.31, 0.46, (1, 2, 5)) == []


@given(st.lists(st.floats(0, 100), max_size=6))
def test_places_keep_apart_in_order_and_within(places):
    moved = spread(places, 15, 0.0, 100.0)
    ordered = sorted(range(len(places)), key=places.__getitem__)
    gaps = [moved[b] - moved[a] for a, b in pairwise(ordered)]
    assert all(gap >= 14.8 for gap in gaps)
    assert all(0 <= place <= 100 for place in moved)


def test_places_that_are_apart_stay():
    moved = sorted(spread([50.0, 51.0, 52.0, 200.0], 15))
    assert all(b - a >= 15 for a, b in pairwise(moved))
    assert moved[-1] == 200
    assert spread([10.0, 90.0], 15) == [10.0, 90.0]
    assert spread([], 15) == []
