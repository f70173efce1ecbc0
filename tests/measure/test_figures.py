"""Figures of known values, and intervals that hold the truth as often as they say."""

import numpy as np
import pytest

from leantta.measure.figures import flat, images_per_second, median, p95, paired_ratios, ratio


def test_median_and_p95_are_of_the_raw_values() -> None:
    values = [float(v) for v in np.random.default_rng(0).permutation(200)]
    assert median(values) == 99.5
    assert p95(values) == 189.0  # 190 of the 200 values are not above it
    assert p95([7.0]) == 7.0
    assert p95([1.0, 2.0, 3.0]) == 3.0
    assert images_per_second([4.0, 2.0, 3.0], batch=6) == 2000.0
    assert flat([[1.0], [], [2.0, 3.0]]) == [1.0, 2.0, 3.0]


def test_a_ratio_is_paired_within_its_round() -> None:
    """Twice as slow in every round, whatever the machine did from one round to the next."""
    base = [[1.0, 10.0, 1.0], [5.0, 2.0, 8.0]]
    found = ratio([[2 * value for value in session] for session in base], base)
    assert found == (2.0, 2.0, 2.0)


def test_a_row_that_takes_part_in_fewer_rounds_is_paired_with_those() -> None:
    base = [[1.0, 99.0, 99.0, 2.0, 99.0], [4.0, 99.0, 99.0, 8.0, 99.0]]
    own = [[3.0, 6.0], [12.0, 24.0]]
    assert [pairs.tolist() for pairs in paired_ratios(own, base, every=3)] == [[3.0, 3.0], [3.0, 3.0]]
    assert ratio(own, base, every=3).value == 3.0
    third, sixth = [[3.0, 5.0, 9.0, 7.0]], [[6.0, 18.0]]  # rounds 0 3 6 9, and 0 6
    assert [pairs.tolist() for pairs in paired_ratios(sixth, third, every=6, base_every=3)] == [[2.0, 2.0]]
    assert ratio(third, sixth, every=3, base_every=6).value == 0.5
    with pytest.raises(ValueError, match="2 values cannot be paired with 3"):
        paired_ratios(own, base, every=2)


@pytest.mark.parametrize("between", [0.0, 0.03], ids=["sessions alike", "sessions differ"])
def test_the_interval_covers_the_truth(between: float) -> None:
    """Of simulated runs whose true ratio is 1.2, nearly all intervals hold it, also if sessions differ."""
    random, truth, held = np.random.default_rng(1), 1.2, 0
    for _ in range(40):
        base = random.lognormal(0, 0.1, (12, 20))
        session = random.normal(0, between, (12, 1)) if between else np.zeros((12, 1))
        own = base * truth * np.exp(session + random.normal(0, 0.05, base.shape))
        found = ratio(own.tolist(), base.tolist())
        assert found.low <= found.value <= found.high
        held += found.low <= truth <= found.high
    assert held >= 34  # 38 are expected of 40
    assert found.half_width < 0.05


def test_the_interval_is_the_same_each_time() -> None:
    random = np.random.default_rng(2)
    own, base = (random.lognormal(0, 0.2, (3, 9)).tolist() for _ in range(2))
    assert ratio(own, base) == ratio(own, base)
