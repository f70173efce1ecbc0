"""How sure a figure is: 95 % intervals for one run, several seeds, two methods on the same inputs."""

import math
from collections.abc import Sequence
from typing import NamedTuple

Z95 = 1.959963984540054  # the normal distribution's 97.5 % quantile


class Interval(NamedTuple):
    """An estimate, and the range that holds the true value in 95 of 100 cases."""

    value: float
    low: float
    high: float

    @property
    def half_width(self) -> float:
        """Half the width of the range."""
        return (self.high - self.low) / 2

    @property
    def points(self) -> str:
        """A share in points, with its range.

        >>> Interval(0.02, 0.015, 0.025).points
        '+2.0 [+1.5, +2.5]'
        """
        return "{:+.1f} [{:+.1f}, {:+.1f}]".format(*(100 * value for value in self))


def wilson(correct: int, total: int) -> Interval:
    """Return the share of correct ones with Wilson's score interval, which is right near 0 and 1 too.

    >>> "{:.3f} {:.3f} {:.3f}".format(*wilson(9, 10))
    '0.900 0.596 0.982'
    """
    share = correct / total
    shrink = 1 + Z95**2 / total
    centre = (share + Z95**2 / (2 * total)) / shrink
    half = Z95 / shrink * math.sqrt(share * (1 - share) / total + Z95**2 / (4 * total**2))
    # At the ends the bound is exactly 0 or 1; rounding must not put the estimate outside its own interval.
    return Interval(share, 0.0 if correct == 0 else centre - half, 1.0 if correct == total else centre + half)


def mean_of(values: Sequence[float]) -> Interval:
    """Return the mean of several runs or inputs with Student's interval; after one it is infinite.

    >>> "{:.2f} {:.2f} {:.2f}".format(*mean_of([0.70, 0.72, 0.74]))
    '0.72 0.67 0.77'
    """
    mean = math.fsum(values) / len(values)
    if len(values) == 1:
        return Interval(mean, -math.inf, math.inf)
    quantile = t_quantile(len(values) - 1) if len(values) < 200 else Z95
    half = quantile * deviation(values) / math.sqrt(len(values))
    return Interval(mean, mean - half, mean + half)


def deviation(values: Sequence[float]) -> float:
    """Return the sample standard deviation (n - 1); 0 for a single value."""
    if len(values) < 2:
        return 0.0
    mean = math.fsum(values) / len(values)
    return math.sqrt(math.fsum((value - mean) ** 2 for value in values) / (len(values) - 1))


def paired_share(gained: int, lost: int, total: int) -> Interval:
    """Return by how much the share of correct ones grew between two runs over the same inputs.

    `gained` inputs became right, `lost` ones became wrong. The interval is Agresti and Min's (2005): the
    usual one after half an input is added to each of the four outcomes, so that it is not empty when nothing
    changed.

    >>> "{:+.3f} {:+.3f} {:+.3f}".format(*paired_share(gained=60, lost=10, total=1000))
    '+0.050 +0.034 +0.066'
    """
    n, up, down = total + 2, gained + 0.5, lost + 0.5
    centre = (up - down) / n
    half = Z95 * math.sqrt((up + down) - (up - down) ** 2 / n) / n
    return Interval((gained - lost) / total, max(centre - half, -1.0), min(centre + half, 1.0))


def t_quantile(degrees: int) -> float:
    """Return the 97.5 % quantile of Student's distribution with whole degrees of freedom.

    >>> round(t_quantile(4), 3)
    2.776
    """
    low, high = 0.0, 16.0  # 12.7 at one degree, falling towards 1.96
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if _t_inside(middle, degrees) < 0.95 else (low, middle)
    return high


def _t_inside(t: float, degrees: int) -> float:
    """Return the probability of |T| < t; for whole degrees it is a finite sum in atan(t / sqrt(degrees))."""
    angle = math.atan(t / math.sqrt(degrees))
    odd = degrees % 2 == 1
    term = math.cos(angle) if odd else 1.0
    total = 0.0
    for k in range(1 if odd else 0, degrees - 1, 2):
        total += term
        term *= math.cos(angle) ** 2 * (k + 1) / (k + 2)
    if odd:
        return 2 / math.pi * (angle + math.sin(angle) * total)
    return math.sin(angle) * total
