"""What range of values a tensor takes: three ways to decide it from what was seen.

Two passes over the calibration images: the first finds the extremes, the second counts values between them in
a histogram, for the observers that need one.
"""

from collections.abc import Callable, Mapping
from typing import Literal

import numpy as np
import numpy.typing as npt

from leantta.errors import SettingError
from leantta.quantize.params import LEVELS, Range

BINS = 2048
PERCENTILE = 99.99
"""How much of the values the percentile observer keeps on each side, in percent."""

Counts = npt.NDArray[np.int64]
ObserverName = Literal["auto", "minmax", "percentile", "mse"]
Observer = Callable[[Range, Counts], Range]


def minmax(extremes: Range, counts: Counts) -> Range:  # noqa: ARG001 - one signature for all
    """Return everything that was seen."""
    return extremes


def percentile(extremes: Range, counts: Counts) -> Range:
    """Return the range without the outermost values on each side.

    >>> counts = np.zeros(BINS, np.int64)
    >>> counts[:100], counts[-1] = 10**6, 1
    >>> low, high = percentile((0.0, 2048.0), counts)
    >>> low, high < 101
    (0.0, True)
    """
    edges = np.linspace(*extremes, len(counts) + 1)
    total = counts.sum()
    below = np.concatenate([[0], np.cumsum(counts)]) / max(total, 1)  # share of values under each edge
    tail = 1 - PERCENTILE / 100
    low = edges[max(int(np.searchsorted(below, tail, side="right")) - 1, 0)]
    high = edges[min(int(np.searchsorted(below, 1 - tail)), len(counts))]
    return float(low), float(high)


def mse(extremes: Range, counts: Counts) -> Range:
    """Return the range, shrunk on both sides alike, whose bytes are nearest to the values on average."""
    edges = np.linspace(*extremes, len(counts) + 1)
    middles = (edges[:-1] + edges[1:]) / 2
    best, least = extremes, np.inf
    for share in np.linspace(0.3, 1.0, 71):
        low, high = min(extremes[0] * share, 0.0), max(extremes[1] * share, 0.0)
        step = (high - low) / LEVELS
        if step <= 0:
            return extremes
        clipped = np.clip(middles, low, high)
        outside = (middles - clipped) ** 2
        inside = np.where(outside > 0, 0, step**2 / 12)
        error = float((counts * (outside + inside)).sum())
        if error < least:
            best, least = (float(low), float(high)), error
    return best


OBSERVERS: Mapping[Literal["minmax", "percentile", "mse"], Observer] = {
    "minmax": minmax,
    "percentile": percentile,
    "mse": mse,
}


def check_observer(name: str) -> None:
    """Refuse what is neither an observer nor `auto`.

    Raises:
        SettingError: it is neither.
    """
    if name != "auto":
        observer_of(name)


def observer_of(name: str) -> Observer:
    """Return the observer of that name.

    Raises:
        SettingError: there is none.
    """
    for known, observer in OBSERVERS.items():
        if known == name:
            return observer
    raise SettingError(f"no observer is called {name!r}; the observers are auto, {', '.join(OBSERVERS)}")
