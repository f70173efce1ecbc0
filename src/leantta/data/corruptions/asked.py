"""What is asked of any change of samples, images or not: a name of its table, a severity, numbers from 0."""

from collections.abc import Collection

from leantta.data.corruptions.names import SEVERITIES
from leantta.errors import SettingError


def check_asked(
    kind: str, name: str, known: Collection[str], severity: int, *, seed: int, number: tuple[str, int]
) -> None:
    """Look whether a change can be made; `number` is that of the sample, and what it is called.

    Raises:
        SettingError: no such change, a severity outside 1 to 5, or a negative seed or number.
    """
    if name not in known:
        raise SettingError(f"no {kind} is called {name!r}; there are {', '.join(known)}.")
    if severity not in SEVERITIES:
        raise SettingError(f"severity {severity} of {name} was asked for; it is one of 1, 2, 3, 4, 5.")
    called, place = number
    if seed < 0 or place < 0:
        raise SettingError(f"seed {seed} and {called} {place} were asked for; both count from 0.")
