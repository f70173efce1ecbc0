"""How likely so many unusual inputs are if nothing has changed: an exact test.

1 % of the source images have a shift above 1. But the limit was set by N of them, so nobody knows the share
exactly. If inputs are like the source images and independent, the share p that a limit at the r-th smallest
of N images leaves above it has the distribution Beta(N - r + 1, r), however shifts are distributed. So among
n inputs the number K above the limit is beta-binomial:

    P(K >= k) = SUM_{j >= k} C(n, j) B(j + N - r + 1, n - j + r) / B(N - r + 1, r)
"""

from math import ceil, exp, lgamma

from leantta.runtime.metadata import SHIFT_QUANTILE


def chance(shifted: int, inputs: int, images: int) -> float:
    """Return how likely it is that `shifted` or more of `inputs` exceed 1, where nothing has changed.

    `images` is how many source images the limit was set by.

    >>> round(chance(1, 1, 1000), 4), round(chance(3, 10, 1000), 6)
    (0.01, 0.000147)
    """
    rank = ceil(SHIFT_QUANTILE * (images - 1)) + 1
    above, below = images - rank + 1, rank
    whole, usual, total = _log_beta(above, below), inputs * above / images, 0.0
    for count in range(shifted, inputs + 1):
        part = exp(_log_choices(inputs, count) + _log_beta(count + above, inputs - count + below) - whole)
        total += part
        if count > usual and part < 1e-17 * total:
            break  # the rest is smaller still
    return min(1.0, total)


def least_unusual(inputs: int, images: int, rate: float) -> list[int]:
    """Return for 0, 1, ... inputs the least number of shifted ones that is no likelier than `rate`.

    It is one more than there are inputs where even all of them would be likelier than that.

    >>> least_unusual(50, 1000, 1e-4)[50]
    6
    """
    found: list[int] = []
    least = 0
    for count in range(inputs + 1):
        while least <= count and chance(least, count, images) > rate:
            least += 1
        found.append(least)
    return found


def _log_beta(a: float, b: float) -> float:
    return lgamma(a) + lgamma(b) - lgamma(a + b)


def _log_choices(n: int, k: int) -> float:
    return lgamma(n + 1) - lgamma(k + 1) - lgamma(n - k + 1)
