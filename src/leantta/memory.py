"""Stream mode: how a layer remembers the inputs before this one, as values.

Where inputs follow each other from one domain (a camera that looks at the same fog for minutes), the
statistics of the last few say more than those of one. Each adapting layer keeps their mean, per channel; an
input that lies another way from the source than what is remembered makes the layer forget. The formulas are
in `leantta.remembered`.
"""

from dataclasses import dataclass

from leantta.errors import SettingError


@dataclass(frozen=True, kw_only=True)
class StreamMemory:
    """How long a layer remembers, and when it forgets.

    >>> StreamMemory(length=0.5)
    Traceback (most recent call last):
    leantta.errors.SettingError: a memory holds at least one input, got length=0.5
    """

    length: float = 64.0  # inputs that the running mean counts for, at most
    agreement: float = 0.3  # part of the remembered shift that an input must have, or the layer forgets
    patience: float = 16.0  # inputs in a row that agree before it is used; `length` if that is less

    def __post_init__(self) -> None:
        """Refuse what is no memory."""
        if not self.length >= 1:
            raise SettingError(f"a memory holds at least one input, got length={self.length!r}")
        if not self.patience >= 1:
            raise SettingError(
                f"a memory is used from the first input on or later, got patience={self.patience!r}"
            )
