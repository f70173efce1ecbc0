"""The polyphase filter against scipy's, in one piece and in several."""

from math import gcd

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from leantta.data.resample import FASTEST, SLOWEST, resample, resample_part, resampled_length
from leantta.errors import DataError

signal = pytest.importorskip("scipy.signal", reason="the reference is scipy's")

RATES = [8_000, 11_025, 16_000, 22_050, 44_100, 48_000, 96_000, 192_000, 31_999]


def noise(length: int) -> npt.NDArray[np.float32]:
    return np.random.default_rng(length).normal(size=length).astype(np.float32)


def by_scipy(wave: npt.NDArray[np.float32], rate: int) -> npt.NDArray[np.float64]:
    common = gcd(rate, 32_000)
    return np.asarray(signal.resample_poly(wave.astype(np.float64), 32_000 // common, rate // common))


@pytest.mark.parametrize("rate", RATES)
@pytest.mark.parametrize("length", [1, 2, 999, 20_011])
def test_it_is_what_scipy_computes(rate: int, length: int) -> None:
    wave = noise(length)
    np.testing.assert_allclose(resample(wave, rate), by_scipy(wave, rate), rtol=0, atol=5e-6)


def test_an_error_of_one_percent_would_be_seen() -> None:
    with pytest.raises(AssertionError):
        np.testing.assert_allclose(
            1.01 * resample(noise(999), 8_000), by_scipy(noise(999), 8_000), rtol=0, atol=5e-6
        )


@settings(max_examples=40, deadline=None)
@given(st.sampled_from([*RATES[:-1], 32_000]), st.integers(1, 9_000), st.data())
def test_pieces_give_the_same_samples(rate: int, length: int, data: st.DataObject) -> None:
    wave = noise(length)
    whole = resample(wave, rate)
    assert len(whole) == resampled_length(length, rate)
    first = data.draw(st.integers(0, len(whole) - 1))
    count = data.draw(st.integers(1, len(whole) - first))
    np.testing.assert_allclose(
        resample_part(wave, rate, 0, first, count), whole[first : first + count], rtol=0, atol=5e-6
    )


def test_a_piece_needs_only_what_lies_around_it() -> None:
    wave = noise(100_000)
    part = resample_part(wave[20_000:60_000], 44_100, 20_000, 20_000, 15_000)
    np.testing.assert_allclose(part, resample(wave, 44_100)[20_000:35_000], rtol=0, atol=5e-6)


def test_what_32_khz_cannot_hold_is_filtered_out() -> None:
    too_high = (0.5 * np.sin(2 * np.pi * 20_000 * np.arange(48_000) / 48_000)).astype(np.float32)
    assert np.abs(resample(too_high, 48_000)[500:-500]).max() < 0.01


@pytest.mark.parametrize("rate", [1, SLOWEST - 1, FASTEST + 1, 2**31 - 1])
def test_a_rate_that_no_sound_has(rate: int) -> None:
    with pytest.raises(DataError, match=rf"the wave has a sample rate of {rate:,} Hz; .* 1,000 and 400,000"):
        resample(noise(10), rate)
