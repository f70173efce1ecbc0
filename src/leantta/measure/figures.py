"""From raw times to figures: median, p95, throughput, and the ratio of two rows that took turns.

Times come in sessions, and those of one session are alike: where its memory lies is worth some percent. So
the interval of a ratio is a bootstrap in two steps, sessions drawn first and rounds of each of them after.
"""

import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from leantta.evaluate.intervals import Interval

Sessions = Sequence[Sequence[float]]
"""Times of calls in order, session by session."""

RESAMPLES = 1000
INTERVAL_METHOD = (
    f"95 % percentile bootstrap of the median of the ratios within a round: {RESAMPLES} resamples, sessions "
    "first, then rounds inside them"
)


def flat(sessions: Sessions) -> list[float]:
    """Return the values of all sessions in order.

    >>> flat([[1.0], [2.0, 3.0]])
    [1.0, 2.0, 3.0]
    """
    return [value for session in sessions for value in session]


def median(values: Sequence[float]) -> float:
    """Return the middle value, the mean of the middle two of an even number.

    >>> median([3.0, 1.0, 2.0, 10.0])
    2.5
    """
    return float(np.median(values))


def p95(values: Sequence[float]) -> float:
    """Return the smallest value that at least 95 % of the values do not exceed: one that was measured.

    >>> p95([float(i) for i in range(1, 101)])
    95.0
    """
    return sorted(values)[math.ceil(0.95 * len(values)) - 1]


def paired_ratios(
    own: Sessions, base: Sessions, every: int, base_every: int = 1
) -> list[npt.NDArray[np.float64]]:
    """Return own / base of the same round, session by session; each took part in its `every`-th rounds.

    >>> [pairs.tolist() for pairs in paired_ratios([[3.0, 8.0]], [[1.0, 9.0, 2.0]], every=2)]
    [[3.0, 4.0]]
    """
    step = math.lcm(every, base_every)
    pairs = []
    for a, b in zip(own, base, strict=True):
        mine, beside = a[:: step // every], b[:: step // base_every]
        if len(mine) != len(beside):
            raise ValueError(f"{len(mine)} values cannot be paired with {len(beside)}")
        pairs.append(np.asarray(mine, np.float64) / np.asarray(beside, np.float64))
    return [session for session in pairs if len(session)]


def ratio(own: Sessions, base: Sessions, every: int = 1, base_every: int = 1) -> Interval:
    """Return the median of the ratios within a round, with its 95 % interval.

    >>> ratio([[2.0, 4.0]], [[1.0, 2.0]])
    Interval(value=2.0, low=2.0, high=2.0)
    """
    groups = paired_ratios(own, base, every, base_every)
    pairs, lengths = np.concatenate(groups), np.array([len(group) for group in groups])
    starts = np.cumsum(lengths) - lengths
    random = np.random.default_rng(0)  # the same record gives the same interval
    sessions = random.integers(len(groups), size=(RESAMPLES, len(groups), 1))
    drawn = random.random((RESAMPLES, len(groups), lengths.max())) * lengths[sessions]
    resampled = pairs[starts[sessions] + drawn.astype(np.int64)]  # (resamples, sessions, rounds)
    low, high = np.quantile(np.median(resampled, axis=(1, 2)), [0.025, 0.975])
    return Interval(float(np.median(pairs)), float(low), float(high))


def images_per_second(call_ms: Sequence[float], batch: int) -> float:
    """Return the throughput that the median call of a batch means.

    >>> images_per_second([100.0, 200.0, 160.0], batch=16)
    100.0
    """
    return batch * 1e3 / median(call_ms)
