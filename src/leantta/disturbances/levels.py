"""What all disturbances share: five levels each, and the check of what is asked for."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Generic, TypeVar

from leantta.disturbances.corruptions.names import SEVERITIES
from leantta.errors import SettingError

Level = TypeVar("Level", bound=Callable[..., object])


@dataclass(frozen=True)
class Disturbance(Generic[Level]):
    """A way to change samples, at the severities 1 to 5."""

    levels: tuple[Level, ...]
    random: bool = True  # False: the seed changes nothing


def levels(change: Callable[..., object], **strengths: Sequence[object]) -> tuple[Any, ...]:
    """Return a change at its severities: each setting has one value per severity.

    >>> [level(10) for level in levels(pow, exp=(1, 2, 3))]
    [10, 100, 1000]
    """
    settings = [dict(zip(strengths, values, strict=True)) for values in zip(*strengths.values(), strict=True)]
    return tuple(partial(change, **each) for each in settings)


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
