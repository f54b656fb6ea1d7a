"""Arrays that grow keep what they hold."""

import numpy as np

from classmark.arrays import Growing


def test_growing_keeps_what_it_has_and_seldom_moves():
    grown, moved, before = Growing(np.zeros((0, 2))), 0, None
    for i in range(1000):
        grown.append(np.full((1, 2), i))
        moved += grown.room is not before
        before = grown.room
    assert grown.array[:, 1].tolist() == list(range(1000))
    assert moved < 10


def test_rows_that_were_added_can_be_written():
    rounds = Growing(np.empty((0, 3)))
    for n in (3, 20, 0, 50):
        rounds.extend(n)[:] = n
    assert len(rounds) == 73
    assert rounds.array[:, 0].tolist() == [3.0] * 3 + [20.0] * 20 + [50.0] * 50
