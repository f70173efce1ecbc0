"""Another sample rate, with numpy alone: a polyphase filter, the same as scipy's `resample_poly`.

With `up / down` the ratio of the rates in lowest terms, output n is sum_k h[n * down - k * up] x[k]. The
filter h is a sinc that ends at the lower of the two Nyquist frequencies, ten zero crossings to each side
under a Kaiser window (beta 5), its sum `up`. Of its taps only every `up`-th meets a sample, so each of the
`up` phases has a short filter of its own.

An output needs `reach` samples to either side, so a long wave can be converted in pieces that give the same
samples as the whole; outside the wave there is silence.
"""

from functools import lru_cache
from math import gcd
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from leantta.data.logmel import SAMPLE_RATE
from leantta.errors import DataError

SLOWEST, FASTEST = 1_000, 400_000
"""Sample rates that sound may have; what lies outside is a damaged header."""

_CROSSINGS = 10
_BETA = 5.0

Wave = npt.NDArray[np.float32]


class Phases(NamedTuple):
    """The filter of one pair of rates, cut into its phases."""

    up: int
    down: int
    reach: int  # samples to either side that an output depends on
    taps: npt.NDArray[np.float32]  # (up, 2 * reach + 1), over the samples around an output


def resample(wave: Wave, rate: int) -> Wave:
    """Return a wave of `rate` samples a second at 32 kHz.

    >>> resample(np.zeros(44_100, dtype=np.float32), 44_100).shape
    (32000,)

    Raises:
        DataError: the rate is not that of a sound.
    """
    return resample_part(wave, rate, 0, 0, resampled_length(len(wave), rate))


def resampled_length(length: int, rate: int) -> int:
    """Return how many samples at 32 kHz cover so many at `rate`.

    >>> resampled_length(3, 96_000), resampled_length(4, 96_000)
    (1, 2)
    """
    return -(-length * SAMPLE_RATE // rate)


def resample_part(wave: Wave, rate: int, begins: int, first: int, count: int) -> Wave:
    """Return the samples `first` to `first + count` at 32 kHz of a wave of which a part is at hand.

    `wave` is that part, its first sample is number `begins` of the whole, and beyond it there is silence.

    Raises:
        DataError: the rate is not that of a sound.
    """
    if rate == SAMPLE_RATE:
        return _part(wave, first - begins, count)
    up, down, reach, taps = phases_of(rate)
    out = np.empty(count, np.float32)
    nearest = (first + np.arange(min(up, count))) * down // up  # the sample before each of the first outputs
    low = int(nearest[0]) - reach
    steps = -(-count // up)
    around = _part(wave, low - begins, steps * down + int(nearest[-1]) - low + reach + 1)
    windows = np.lib.stride_tricks.sliding_window_view(around, 2 * reach + 1)
    for i, sample in enumerate(nearest.tolist()):
        each = out[i::up]
        start = sample - reach - low
        each[:] = windows[start : start + len(each) * down : down] @ taps[(first + i) % up]
    return out


def check_rate(rate: int, name: str) -> None:
    """Look whether a sample rate can be right; `name` is what has it, for the message.

    Raises:
        DataError: it is not that of a sound.
    """
    if not SLOWEST <= rate <= FASTEST:
        raise DataError(
            f"{name} has a sample rate of {rate:,} Hz; sound has between {SLOWEST:,} and {FASTEST:,}. "
            f"The header is damaged: save the sound again."
        )


@lru_cache(maxsize=4)
def phases_of(rate: int) -> Phases:
    """Return the filter from `rate` to 32 kHz.

    >>> phases_of(96_000)[:3]
    (1, 3, 31)

    Raises:
        DataError: the rate is not that of a sound.
    """
    check_rate(rate, "the wave")
    common = gcd(rate, SAMPLE_RATE)
    up, down = SAMPLE_RATE // common, rate // common
    half = _CROSSINGS * max(up, down)
    filter_ = np.sinc(np.arange(-half, half + 1) / max(up, down)) * np.kaiser(2 * half + 1, _BETA)
    filter_ *= up / filter_.sum()
    reach = half // up + 1
    # Output n lies between the samples s = n * down // up and s + 1; with p = n * down % up, the sample s + j
    # meets the tap p - j * up.
    places = (np.arange(up) * down % up)[:, np.newaxis] - np.arange(-reach, reach + 1) * up + half
    inside = (places >= 0) & (places < len(filter_))
    taps = np.where(inside, filter_[np.clip(places, 0, len(filter_) - 1)], 0).astype(np.float32)
    return Phases(up, down, reach, taps)


def _part(wave: Wave, start: int, count: int) -> Wave:
    """Return `count` samples from `start` on, with silence where there are none."""
    before, after = max(0, -start), max(0, start + count - len(wave))
    inside = wave[max(0, start) : max(0, min(start + count, len(wave)))]
    return np.pad(inside, (min(before, count), min(after, count)))[:count]
