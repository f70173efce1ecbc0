"""Rows really take turns: all in each round, in orders that differ, and slow ones less often."""

import time

import numpy as np

from leantta.measure.running import STRIDES, strides, take_turns


def test_every_round_calls_each_row_once_in_an_order_drawn_anew() -> None:
    called: list[str] = []
    calls = {name: lambda name=name: called.append(name) for name in "abcd"}  # type: ignore[misc]
    raw = take_turns(calls, 25, dict.fromkeys("abcd", 1), np.random.default_rng(0))
    rounds = [tuple(called[i : i + 4]) for i in range(0, len(called), 4)]
    assert len(rounds) == 25
    assert all(sorted(order) == list("abcd") for order in rounds)
    assert len(set(rounds)) > 10
    assert {name: len(values) for name, values in raw.items()} == dict.fromkeys("abcd", 25)
    assert all(value >= 0 for values in raw.values() for value in values)


def test_a_slow_row_takes_part_in_fewer_rounds_always_beside_the_others() -> None:
    called: list[str] = []
    calls = {name: lambda name=name: called.append(name) for name in "ab"}  # type: ignore[misc]
    raw = take_turns(calls, 7, {"a": 1, "b": 3}, np.random.default_rng(0))
    assert [len(raw["a"]), len(raw["b"])] == [7, 3]
    which = [i for i, order in enumerate(_rounds(called)) if "b" in order]
    assert which == [0, 3, 6]


def _rounds(called: list[str]) -> list[set[str]]:
    """The rounds, as each but those with b has a alone."""
    rounds: list[set[str]] = []
    pending: set[str] = set()
    for i, name in enumerate(called):
        pending.add(name)
        due = {"a", "b"} if len(rounds) % 3 == 0 else {"a"}
        if pending == due:
            rounds.append(pending)
            pending = set()
        assert len(pending) < 2, (i, name)
    return rounds


def test_times_are_those_of_the_calls() -> None:
    calls = {"short": lambda: None, "long": lambda: time.sleep(0.004)}
    raw = take_turns(calls, 5, {"short": 1, "long": 1}, np.random.default_rng(0))
    assert min(raw["long"]) >= 4.0
    assert min(raw["short"]) < 1.0


def test_strides_follow_how_slow_a_row_is_and_the_base_misses_no_round() -> None:
    calls = {
        "slowest": lambda: time.sleep(0.1),
        "base": lambda: time.sleep(0.002),
        "slow": lambda: time.sleep(0.02),
        "quick": lambda: None,
    }
    found = strides(calls, "base")
    assert (found["base"], found["quick"], found["slowest"]) == (1, 1, STRIDES[0])
    assert found["slow"] in (2, 4)
    assert strides(calls, "slowest") == dict.fromkeys(calls, 1)


def test_calls_before_do_not_count() -> None:
    called: list[str] = []
    calls = {name: (lambda name=name: called.append(name)) for name in "ab"}
    raw = take_turns(calls, 3, dict.fromkeys("ab", 1), np.random.default_rng(0), settle=2)
    assert {name: len(times) for name, times in raw.items()} == {"a": 3, "b": 3}
    assert all(len(set(called[i : i + 3])) == 1 for i in range(0, len(called), 3))
    assert len(called) == 18
