import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from leantta.errors import SettingError
from leantta.quantize.observers import BINS, OBSERVERS, PERCENTILE, mse, observer_of, percentile
from leantta.quantize.params import LEVELS, Range

Counts = NDArray[np.int64]


def histogram(values: NDArray[np.float64]) -> tuple[Range, Counts]:
    extremes = float(values.min()), float(values.max())
    return extremes, np.histogram(values, BINS, extremes)[0]


def rounding_error(values: NDArray[np.float64], span: Range) -> float:
    """The mean square of what is lost when values are rounded to bytes over a range that holds zero."""
    low, high = min(span[0], 0.0), max(span[1], 0.0)
    step = (high - low) / LEVELS
    back = np.clip(np.rint(values / step) * step, low, high)
    return float(((back - values) ** 2).mean())


def expected_error(extremes: Range, counts: Counts, span: Range) -> float:
    """The same of a histogram: a twelfth of the squared step inside of the range, the distance outside."""
    edges = np.linspace(*extremes, BINS + 1)
    values = (edges[1:] + edges[:-1]) / 2
    low, high = min(span[0], 0.0), max(span[1], 0.0)
    inside = (values >= low) & (values <= high)
    away = np.maximum(low - values, values - high)
    each = np.where(inside, ((high - low) / LEVELS) ** 2 / 12, away**2)
    return float((counts * each).sum())


NORMAL = np.random.default_rng(0).normal(size=200_000)


def test_minmax_keeps_everything() -> None:
    extremes, counts = histogram(np.append(NORMAL, 90.0))
    assert OBSERVERS["minmax"](extremes, counts) == extremes


@pytest.mark.parametrize("side", [1, -1])
def test_percentile_leaves_out_an_outlier_on_either_side(side: int) -> None:
    low, high = percentile(*histogram(np.append(NORMAL, side * 90.0)))
    far, near = (high, -low) if side > 0 else (-low, high)
    bin_width = 95 / BINS
    assert far <= 4.9 + bin_width
    assert far >= 3.0  # and not much more than the outlier
    assert near >= 3.0


def test_percentile_is_the_quantile_within_a_bin() -> None:
    extremes, counts = histogram(NORMAL)
    low, high = percentile(extremes, counts)
    width = (extremes[1] - extremes[0]) / BINS
    tail = 1 - PERCENTILE / 100
    assert abs(high - np.quantile(NORMAL, 1 - tail)) <= 2 * width
    assert abs(low - np.quantile(NORMAL, tail)) <= 2 * width


def test_percentile_keeps_a_range_without_tails() -> None:
    extremes = (-1.0, 3.0)
    found = percentile(extremes, np.full(BINS, 1000))
    assert found == pytest.approx(extremes, abs=4 / BINS)


def test_mse_shrinks_for_outliers_and_not_without() -> None:
    extremes, counts = histogram(np.append(NORMAL, [20.0, -20.0]))
    low, high = mse(extremes, counts)
    assert 4 < high < 15
    assert -15 < low < -4
    flat = (-1.0, 1.0)
    assert mse(flat, np.full(BINS, 100)) == pytest.approx(flat, abs=0.05)


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10**6), st.sampled_from([0.3, 1.0, 3.0]), st.floats(-2, 2), st.floats(1, 40))
def test_mse_is_never_worse_than_minmax(seed: int, tail: float, centre: float, outlier: float) -> None:
    random = np.random.default_rng(seed)
    values = centre + random.standard_gamma(1 / tail, 5000) * random.choice([-1, 1], 5000)
    extremes, counts = histogram(np.append(values, outlier))
    found = mse(extremes, counts)
    assert expected_error(extremes, counts, found) <= 1.000001 * expected_error(extremes, counts, extremes)


@pytest.mark.parametrize("outlier", [0.0, 8.0, 20.0])
def test_mse_loses_less_when_values_are_really_rounded(outlier: float) -> None:
    values = np.append(NORMAL, [outlier, -outlier])
    extremes, counts = histogram(values)
    lost, with_all = rounding_error(values, mse(extremes, counts)), rounding_error(values, extremes)
    assert lost <= (1.001 if outlier == 0 else 0.95) * with_all


@pytest.mark.parametrize("name", OBSERVERS)
@settings(max_examples=40, deadline=None)
@given(
    low=st.floats(-100, 100), width=st.floats(1e-3, 100), seed=st.integers(0, 1000), filled=st.integers(1, 20)
)
def test_no_observer_looks_beyond_what_was_seen(
    name: str, low: float, width: float, seed: int, filled: int
) -> None:
    random = np.random.default_rng(seed)
    counts = np.zeros(BINS, np.int64)
    counts[random.choice(BINS, filled)] = random.integers(1, 1000, filled)
    extremes = (low, low + width)
    found = observer_of(name)(extremes, counts)
    assert found[0] <= found[1]
    assert found[0] >= min(extremes[0], 0.0) - 1e-9
    assert found[1] <= max(extremes[1], 0.0) + 1e-9


def test_an_unknown_observer_is_named_with_those_there_are() -> None:
    with pytest.raises(SettingError, match=r"'entropy'.*minmax, percentile, mse"):
        observer_of("entropy")
