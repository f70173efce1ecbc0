"""Attacks on readers with a fault, to show that each kind of fault is found: the eleventh input meets it."""

import os
import random
import signal
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

import numpy as np

from hostile.attack import Attack, Try
from leantta.errors import DataError


def crash() -> None:
    os.kill(os.getpid(), signal.SIGSEGV)


def hang() -> None:
    time.sleep(1000)


def traceback() -> None:
    np.zeros(1)[2]


def wrong_answer() -> None:
    raise AssertionError("0.5 is not 0.25")


def endless_memory() -> None:
    bytearray(1 << 40)


def long_winded() -> None:
    raise DataError("first\nsecond")


def at_ten(fault: Callable[[], None]) -> Callable[[Path, ExitStack], Try]:
    """An attack whose fourth input is refused and whose eleventh meets the fault; all others are answered."""

    def begin(_: Path, __: ExitStack) -> Try:
        number = iter(range(1_000))

        def attempt(_: random.Random) -> None:
            place = next(number)
            if place == 3:
                raise DataError("refused.")
            if place == 10:
                fault()

        return attempt

    return begin


FAULTS = (crash, hang, traceback, wrong_answer, endless_memory, long_winded)
ATTACKS = {
    fault.__name__: Attack(
        name=fault.__name__, reader="a reader", inputs="numbers", begin=at_ten(fault), recorded=0
    )
    for fault in FAULTS
}
