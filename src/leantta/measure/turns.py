"""Calls that take turns: all rows in each round, in an order drawn anew, so that they meet one machine."""

import time
from collections.abc import Callable, Mapping

import numpy as np

Call = Callable[[], object]

STRIDES = (8, 4, 2, 1)
"""A slow row takes part in each eighth round at least; of two rows, one's rounds are all the other's."""


def strides(calls: Mapping[str, Call], base: str, probes: int = 3) -> dict[str, int]:
    """Return in each which round a row takes part: all of them, but fewer for rows much slower than `base`.

    The first call of each is not counted; `base` takes part in all.
    """
    quickest = {}
    for name, call in calls.items():
        call()
        quickest[name] = min(_timed_ms(call) for _ in range(probes))
    slower = {name: quickest[name] / quickest[base] for name in calls}
    return {name: next((each for each in STRIDES if slow >= 2 * each), 1) for name, slow in slower.items()}


def take_turns(
    calls: Mapping[str, Call],
    rounds: int,
    every: Mapping[str, int],
    random: np.random.Generator,
    settle: int = 0,
) -> dict[str, list[float]]:
    """Return the time in ms of each call, in order; a row is called in each `every[name]`-th round.

    Before a call that counts the row is called `settle` times: the others have emptied the caches.
    """
    raw: dict[str, list[float]] = {name: [] for name in calls}
    for number in range(rounds):
        due = [name for name in calls if number % every[name] == 0]
        for i in random.permutation(len(due)):  # what ran before leaves its traces
            for _ in range(settle):
                calls[due[i]]()
            raw[due[i]].append(_timed_ms(calls[due[i]]))
    return raw


def _timed_ms(call: Call) -> float:
    start = time.perf_counter_ns()
    call()
    return round((time.perf_counter_ns() - start) / 1e6, 4)
