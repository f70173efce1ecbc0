"""Stream mode: a layer remembers what the inputs before this one had in common.

Where inputs follow each other from one domain (a camera that looks at the same fog for minutes), the last few
say more than one. The shift filter knows r directions of shift; a layer keeps the mean of the inputs along
them, the mean and mean square of each channel, how many inputs that counts for, and how well they agree:
r + 2c + 2 numbers. The formulas are in `leantta.layer_memory`. While inputs do not agree, as
in a stream whose domain changes all the time, nothing but the input itself is used.

The settings are torch-free, so that options and records can name them. The native kernel has the same numbers
(`native/answer.h`), and a test compares the two.
"""

import math
from dataclasses import dataclass

from leantta.errors import SettingError

AGREEMENT_OVER = 6.0
"""Inputs of a stream that their agreement is averaged over."""

DOUBT = 0.2
"""The most agreement that is left after an input that lies the other way."""

LEAST_AGREEMENT, FULL_AGREEMENT = 0.3, 0.6
"""From which agreement on a memory is used, and from which on it is used in full."""

NOW, DOMAIN = 0.6, 0.4
"""What the filter's answer to the input and the statistics of all inputs remembered count, in a memory that
is used in full."""


@dataclass(frozen=True, kw_only=True)
class StreamMemory:
    """How long a layer remembers.

    >>> StreamMemory(length=0.5)
    Traceback (most recent call last):
    leantta.errors.SettingError: a memory holds one input or more, but not endlessly many; got length=0.5
    """

    length: float = 16.0  # inputs that the running mean counts for, at most

    def __post_init__(self) -> None:
        """Refuse what is no memory."""
        if not 1 <= self.length < math.inf:
            raise SettingError(
                f"a memory holds one input or more, but not endlessly many; got length={self.length!r}"
            )
