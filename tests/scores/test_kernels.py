"""The kernels every learner shares, beside their slow versions."""

import numpy as np

from classmark.scores import kernels
from oracles import scores as slow


def test_the_square_of_a_row():
    row = np.array([1.5, -2.0], np.float32)
    assert kernels.square(row) == slow.square(row) == 6.25
