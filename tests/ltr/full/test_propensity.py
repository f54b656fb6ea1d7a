"""Position bias, found again in logs of a user whose bias is known."""

import numpy as np
import pytest

from classmark.ltr.propensity import (
    fit_click_model,
    propensity_weights,
    swap_propensities,
)
from classmark.problems import Mistake
from reproductions.click_model import User

PLACES = 8


def logs(user, seed, n=60_000, queries=30, swap=0.5):
    """Lists of graded documents, neighbours in them interchanged by chance.

    Return documents and clicks, shape (n, places); of each pair of neighbours on trial
    the positions, from 1, whether they were interchanged, and the clicks on them.
    """
    rng = np.random.default_rng(seed)
    grades = np.sort((rng.random((queries, PLACES)) < 0.5).astype(int))[:, ::-1]
    query = rng.integers(queries, size=n)
    order = np.tile(np.arange(PLACES), (n, 1))
    tried, swapped, rows = [], [], []
    for first in (0, 1):
        mine = np.flatnonzero(np.arange(n) % 2 == first)
        for above in range(first, PLACES - 1, 2):
            moved = rng.random(len(mine)) < swap
            order[mine[moved], above] += 1
            order[mine[moved], above + 1] -= 1
            tried.append(np.tile([above + 1, above + 2], (len(mine), 1)))
            swapped.append(moved)
            rows.append(mine)
    clicks = user.clicks(grades[query[:, None], order], rng)
    pairs = np.concatenate(tried)
    on_trial = clicks[np.concatenate(rows)[:, None], pairs - 1]
    trials = (pairs, np.concatenate(swapped), on_trial)
    return query[:, None] * PLACES + order, clicks, trials


def error(found, user):
    return np.abs(np.log(found / user.propensities(PLACES))).max()


@pytest.mark.parametrize("eta", [0.5, 1.0])
@pytest.mark.parametrize("swap", [0.5, 0.25])
def test_swaps_find_the_bias_within_a_fifth(eta, swap):
    user = User(attraction=(0.1, 0.8), eta=eta)
    _, _, trials = logs(user, 1, swap=swap)
    assert error(swap_propensities(*trials), user) < np.log(1.2)


@pytest.mark.parametrize("seed", [2, 4])
@pytest.mark.parametrize("eta", [0.0, 0.5, 1.0])
def test_the_click_model_finds_the_bias_within_an_eighth(eta, seed):
    user = User(attraction=(0.1, 0.8), eta=eta)
    documents, clicks, _ = logs(user, seed)
    places = np.broadcast_to(np.arange(1, PLACES + 1), documents.shape)
    found = fit_click_model(documents.ravel(), places.ravel(), clicks.ravel())
    assert found.propensities[0] == 1
    assert error(found.propensities, user) < np.log(1.125)
    first = found.attractions[found.pairs % PLACES == 0]
    assert np.abs(first - 0.8).max() < 0.1


def test_clicks_without_bias_but_worse_below_are_no_bias():
    """The naive rate falls with the place; neither estimate takes that for bias."""
    user = User(attraction=(0.1, 0.8), eta=0.0)
    documents, clicks, trials = logs(user, 3)
    naive = clicks.mean(axis=0)
    assert naive[-1] < 0.5 * naive[0]
    assert error(swap_propensities(*trials), user) < np.log(1.1)
    places = np.broadcast_to(np.arange(1, PLACES + 1), documents.shape)
    found = fit_click_model(documents.ravel(), places.ravel(), clicks.ravel())
    assert error(found.propensities, user) < np.log(1.1)


def test_expectation_maximisation_never_loses_likelihood():
    user = User(attraction=(0.1, 0.8))
    documents, clicks, _ = logs(user, 4, n=3000)
    places = np.broadcast_to(np.arange(1, PLACES + 1), documents.shape)
    log = documents.ravel(), places.ravel(), clicks.ravel()
    likely = [fit_click_model(*log, rounds=n).likelihood for n in (1, 2, 5, 20, 100)]
    assert likely == sorted(likely)
    assert fit_click_model(*log, rounds=7).rounds == 7


def test_swaps_with_the_first_place_and_of_neighbours_are_reconciled():
    clicks = [[1, 0], [1, 1], [1, 0], [1, 1]] * 3
    positions = [[1, 2]] * 4 + [[2, 3]] * 4 + [[1, 3]] * 4
    swapped = [True, False, False, True] * 3
    theta = swap_propensities(positions, swapped, clicks)
    assert theta[0] == 1
    assert 0.25 < theta[2] < 0.5 < theta[1] < 1


def test_weights_are_clipped():
    weights = propensity_weights([1.0, 0.2, 0.05], [[3, 1], [2, 3]])
    assert weights == pytest.approx(np.array([[10, 1], [5, 10]]))
    assert propensity_weights([1.0, 0.2], [2], clip=3).tolist() == [3]


@pytest.mark.parametrize(
    ("act", "said"),
    [
        (lambda: propensity_weights([1.0, 0.0], [1]), "above 0, one a position"),
        (lambda: propensity_weights([1.0], [2]), "positions go from 2 to 2"),
        (lambda: propensity_weights([1.0], [1], clip=0.5), "clip is 0.5"),
        (lambda: swap_propensities([[1, 2]], [True], [[1, 1]]), "never seen both"),
        (lambda: swap_propensities([[1, 1]], [True], [[1, 1]]), "two different"),
        (lambda: swap_propensities([[1, 2]], [True], [[1]]), "belong together"),
        (
            lambda: swap_propensities([[1, 2]] * 2, [True, False], [[1, 0], [1, 0]]),
            "never clicked in a trial",
        ),
        (
            lambda: swap_propensities([[2, 3]] * 2, [True, False], [[1, 1], [1, 1]]),
            "tied to the first",
        ),
        (lambda: fit_click_model([1], [1, 2], [1]), "the same number"),
        (lambda: fit_click_model([1, 2], [0, 1], [1, 1]), "positions go from 1"),
        (lambda: fit_click_model([1, 2], [1, 2], [1, 1]), "position 2 shares no"),
    ],
)
def test_what_is_refused(act, said):
    with pytest.raises(Mistake, match=said):
        act()
