"""What is claimed of a learned ranker beside single models."""

from classmark.ltr.training import BEST, LEARNED, MEASURES
from reproductions.ltr_cranfield import ALONE, LONGER, ONE_TEXT, Row, claims


def row(method, seed, values, chance):
    mean = sum(values.values()) / len(values)
    return Row(
        "c",
        seed,
        method,
        "",
        dict.fromkeys(MEASURES, mean),
        {} if method == LEARNED else dict.fromkeys(MEASURES, chance),
        dict.fromkeys(MEASURES, values),
    )


def test_queries_are_averaged_over_the_partings_that_held_them_out():
    rows = [
        row(LEARNED, 0, {"a": 0.5, "b": 0.7}, 1.0),
        row(LEARNED, 1, {"b": 0.6, "c": 0.8}, 1.0),
    ]
    for rival in (BEST, ONE_TEXT, LONGER, ALONE):
        rows.append(row(rival, 0, {"a": 0.3, "b": 0.6}, 0.01))
        rows.append(row(rival, 1, {"b": 0.9, "c": 1.0}, 0.01))
    first, *rest = claims(rows)
    # a +0.2, b (+0.1 − 0.3) / 2 = −0.1, c −0.2
    assert first.startswith(f"c, {MEASURES[0]}: learned is above {BEST}: does not hold")
    assert "; -0.0333 (-0.2000 … +0.2000) over 3 queries; above in 1 of 2" in first
    assert first.endswith("surely in 1, surely below in 1")
    assert len(rest) == 7
