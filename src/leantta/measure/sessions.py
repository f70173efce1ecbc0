"""Latency and throughput: sessions in which all rows take turns, each file loaded anew for every session."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from leantta.measure.prepare import Ready
from leantta.measure.subjects import Array, Opened, open_subject
from leantta.measure.turns import Call, take_turns


class Times(NamedTuple):
    """What the calls of one row took in one session, in ms, in order."""

    warm_up: list[float]
    latency: list[float]
    throughput: list[float]


class Loaded:
    """What is open: files are loaded anew for each session, or for a few if that is slow."""

    def __init__(self, ready: Mapping[str, Ready], threads: int, random: np.random.Generator) -> None:
        self.ready, self.threads, self.random = ready, threads, random
        self.open: dict[str, Opened] = {}
        self.loads = dict.fromkeys(ready, 0)

    def __enter__(self) -> "Loaded":
        """Begin with nothing open."""
        return self

    def __exit__(self, *failure: object) -> None:
        """Close what is open."""
        self._close(list(self.open))

    def for_session(self, number: int) -> dict[str, Opened]:
        """Return each row opened, loaded in a random order: the first one gets the worst memory."""
        due = [name for name, each in self.ready.items() if each.opened is None and number % each.serves == 0]
        self._close(due)
        for i in self.random.permutation(len(due)):
            self.open[due[i]] = open_subject(self.ready[due[i]].subject, self.threads)
            self.loads[due[i]] += 1
        return {name: each.opened or self.open[name] for name, each in self.ready.items()}

    def _close(self, names: Sequence[str]) -> None:
        for name in names:
            if name in self.open:
                self.open.pop(name).close()


def calls_of(ready: Mapping[str, Ready], opened: Mapping[str, Opened]) -> dict[str, Call]:
    """Return a call of each row."""
    return {name: _call(each, ready[name].inputs) for name, each in opened.items()}


def one_session(
    ready: Mapping[str, Ready],
    opened: Mapping[str, Opened],
    every: Mapping[str, int],
    random: np.random.Generator,
    *,
    rounds: int,
    warm_up: int,
    settle: int,
    throughput_rounds: int,
) -> dict[str, Times]:
    """Return the times of each row in one session."""
    calls = calls_of(ready, opened)
    warm = take_turns(calls, warm_up, every, random)
    latency = take_turns(calls, rounds, every, random, settle)
    larger = {name: inputs for name, each in ready.items() if (inputs := each.larger) is not None}
    batches = {name: _call(opened[name], inputs) for name, inputs in larger.items()}
    throughput: dict[str, list[float]] = {}
    if throughput_rounds:
        take_turns(batches, 1, every, random)  # warms up
        throughput = take_turns(batches, throughput_rounds, every, random)
    return {name: Times(warm[name], latency[name], throughput.get(name, [])) for name in ready}


def _call(opened: Opened, inputs: Array) -> Call:
    run = opened.run
    return lambda: run(inputs)
