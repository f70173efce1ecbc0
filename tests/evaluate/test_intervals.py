"""The intervals agree with scipy's, or with the formula of their authors worked out another way."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from leantta.evaluate.intervals import Z95, deviation, mean_of, paired_share, t_quantile, wilson


@given(st.integers(1, 20000).flatmap(lambda total: st.tuples(st.integers(0, total), st.just(total))))
def test_wilson(counts: tuple[int, int]) -> None:
    correct, total = counts
    expected = stats.binomtest(correct, total).proportion_ci(method="wilson")
    found = wilson(correct, total)
    assert found.value == correct / total
    assert found.low == pytest.approx(expected.low, abs=1e-12)
    assert found.high == pytest.approx(expected.high, abs=1e-12)
    assert 0 <= found.low <= found.value <= found.high <= 1
    assert found.half_width == (found.high - found.low) / 2


@pytest.mark.parametrize("degrees", [*range(1, 40), 99, 100, 1000])
def test_student_quantiles(degrees: int) -> None:
    assert t_quantile(degrees) == pytest.approx(stats.t.ppf(0.975, degrees), rel=1e-9)


def test_the_normal_quantile() -> None:
    assert pytest.approx(stats.norm.ppf(0.975), abs=1e-15) == Z95


@given(st.lists(st.floats(0, 1), min_size=2, max_size=10))
def test_mean_of(values: list[float]) -> None:
    found = mean_of(values)
    error = np.std(values, ddof=1) / math.sqrt(len(values))
    half = stats.t.ppf(0.975, len(values) - 1) * error
    mean = np.mean(values)
    assert found == pytest.approx((mean, mean - half, mean + half), abs=1e-9)
    assert deviation(values) == pytest.approx(np.std(values, ddof=1), abs=1e-12)


def test_one_seed_tells_nothing() -> None:
    assert mean_of([0.5]) == (0.5, -math.inf, math.inf)
    assert deviation([0.5]) == 0


@given(st.tuples(*[st.integers(0, 300)] * 4).filter(lambda table: sum(table) > 0))
def test_paired_share(table: tuple[int, int, int, int]) -> None:
    """Agresti and Min: Wald's interval of the mean of -1, 0, 1 with half an input more in each cell."""
    both, gained, lost, neither = table
    weights = np.array([both, gained, lost, neither]) + 0.5
    scores = np.array([0, 1, -1, 0])
    mean = np.average(scores, weights=weights)
    half = Z95 * math.sqrt(np.average((scores - mean) ** 2, weights=weights) / weights.sum())
    found = paired_share(gained, lost, sum(table))
    assert found.value == (gained - lost) / sum(table)
    assert found.low == pytest.approx(max(mean - half, -1), abs=1e-12)
    assert found.high == pytest.approx(min(mean + half, 1), abs=1e-12)
    assert found.low < found.high


def test_paired_share_covers_the_truth() -> None:
    """Of 2000 experiments with 100 inputs each, about 95 % hold the true difference of 0.10."""
    generator = np.random.default_rng(0)
    tables = generator.multinomial(100, [0.5, 0.18, 0.08, 0.24], size=2000)
    intervals = [paired_share(int(gained), int(lost), 100) for _, gained, lost, _ in tables]
    covered = np.mean([interval.low <= 0.10 <= interval.high for interval in intervals])
    assert 0.94 <= covered <= 0.97
