import json
import math
from pathlib import Path

import numpy as np
import pytest
from sklearn.metrics import cohen_kappa_score

from classmark.measures import (
    calibration_error,
    cohen_kappa,
    documents_read,
    krippendorff_alpha,
    recall_curve,
    reliability,
    work_saved,
)
from classmark.problems import Mistake

GOLDEN = Path(__file__).parent.parent / "golden" / "measures.json"


@pytest.mark.parametrize("seed", range(5))
def test_kappa_equals_scikit_learn(seed):
    a, b = np.random.default_rng(seed).choice(["x", "y", "z"], size=(2, 30))
    assert cohen_kappa(a, b) == pytest.approx(cohen_kappa_score(a, b))


def test_alpha_of_the_book():
    golden = json.loads(GOLDEN.read_text())["krippendorff"]
    alpha = krippendorff_alpha(golden["decisions"])
    assert alpha == pytest.approx(golden["alpha"], abs=5e-4)
    gaps = [[math.nan if d is None else d for d in row] for row in golden["decisions"]]
    assert krippendorff_alpha(gaps) == alpha


def test_full_agreement_none_and_no_variation():
    assert krippendorff_alpha([[1, 2], [1, 2]]) == cohen_kappa([1, 2], [1, 2]) == 1
    assert cohen_kappa([1, 2], [2, 1]) == -1
    assert math.isnan(cohen_kappa(["a", "a"], ["a", "a"]))
    assert math.isnan(krippendorff_alpha([["a", "a"], ["a", "a"]]))


def test_agreement_mistakes_are_named():
    with pytest.raises(Mistake, match="item 1 has no decision"):
        cohen_kappa([1, None], [1, 2])
    with pytest.raises(Mistake, match=r"numbers of items are \[1, 2\]"):
        krippendorff_alpha([[1, 2], [1]])
    with pytest.raises(Mistake, match="no item has two"):
        krippendorff_alpha([[1, None], [None, 2]])
    with pytest.raises(Mistake, match="no decision at all"):
        krippendorff_alpha([[None], [None]])


def test_calibration_error_bin_by_bin():
    rng = np.random.default_rng(1)
    p = np.round(rng.random(500), 2)  # many on the edges of the bins
    true = rng.random(500) < p**2
    expected, counts = 0.0, []
    for b in range(10):
        inside = [
            i for i in range(500) if (p[i] > b / 10 or b == 0) and p[i] <= (b + 1) / 10
        ]
        counts.append(len(inside))
        if inside:
            gap = abs(np.mean(true[inside]) - np.mean(p[inside]))
            expected += len(inside) / 500 * gap
    assert calibration_error(p, true, bins=10) == pytest.approx(expected)
    assert reliability(p, true, bins=10).counts.tolist() == counts
    assert calibration_error([0.0, 1.0], [0, 1]) == 0


def test_calibration_mistakes_are_named():
    with pytest.raises(Mistake, match=r"probabilities, place 1: 1.5"):
        calibration_error([0.5, 1.5], [0, 1])
    with pytest.raises(Mistake, match="give one for one"):
        calibration_error([0.5], [0, 1])
    with pytest.raises(Mistake, match="bins is 0"):
        calibration_error([0.5], [0], bins=0)


def test_reading_until_enough_is_found():
    relevant = [0, 1, 1, 0, 1, 0, 0, 1, 0, 0]
    curve = recall_curve(relevant)
    for recall in (0.25, 0.5, 0.75, 0.95, 1.0):
        read = documents_read(relevant, recall)
        assert curve[read] >= recall > curve[read - 1]
        assert work_saved(relevant, recall) == pytest.approx(recall - read / 10)
    assert documents_read([1] * 20, 0.95) == 19


def test_reading_at_random_saves_nothing():
    rng = np.random.default_rng(0)
    flags = np.arange(2_000) < 200
    saved = [work_saved(rng.permutation(flags)) for _ in range(200)]
    assert np.mean(saved) == pytest.approx(0, abs=0.01)


def test_screening_mistakes_are_named():
    with pytest.raises(Mistake, match="at least one true"):
        recall_curve([0, 0])
    with pytest.raises(Mistake, match="at least one true"):
        work_saved([])
    with pytest.raises(Mistake, match=r"recall is 1\.5"):
        work_saved([1], recall=1.5)
