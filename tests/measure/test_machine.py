"""The verdict on the machine, from figures that are known."""

import math
import time
from pathlib import Path

import pytest

from leantta.measure.machine import LIMITS, CpuTime, cpu_time, judge_noise, noise_figures, noise_reasons

STEADY = [[1.0, 1.01, 0.99, 1.0], [1.0, 1.02, 0.98, 1.0]]
BEFORE = CpuTime(total=100.0, busy=50.0, steal=1.0, own=10.0)


def after(*, total: float = 100.0, others: float = 0.0, steal: float = 0.0, own: float = 40.0) -> CpuTime:
    return CpuTime(
        total=BEFORE.total + total,
        busy=BEFORE.busy + own + others,
        steal=BEFORE.steal + steal,
        own=BEFORE.own + own,
    )


def test_a_quiet_machine_passes() -> None:
    found = judge_noise(STEADY, BEFORE, after())
    assert (found["noisy"], found["reasons"]) == (False, [])
    assert found["limits"] == LIMITS


@pytest.mark.parametrize(
    ("base", "end", "figure", "value", "words"),
    [
        ([[1.0] * 90 + [2.0] * 10], after(), "tail", 2.0, "p95 is 2.00 times its median"),
        ([[1.0, 1.0], [1.2, 1.2]], after(), "drift", 0.2 / 1.1, "sessions differ by 18%"),
        (STEADY, after(steal=5.0), "steal", 0.05, "hypervisor took 5.0% of the time"),
        (STEADY, after(others=30.0), "others", 0.3, "other processes used 30% of the machine"),
    ],
    ids=["tail", "drift", "steal", "others"],
)
def test_each_kind_of_noise_is_found(
    base: list[list[float]], end: CpuTime, figure: str, value: float, words: str
) -> None:
    found = judge_noise(base, BEFORE, end)
    assert found["noisy"]
    assert math.isclose(found[figure], value)
    assert len(found["reasons"]) == 1
    assert words in found["reasons"][0]


def test_what_the_system_does_not_say_is_no_figure_and_no_reason(tmp_path: Path) -> None:
    figures = noise_figures(STEADY, None, None)
    assert (figures["steal"], figures["others"]) == (None, None)
    assert noise_reasons(figures) == []
    assert cpu_time(tmp_path / "stat") is None


def test_time_that_this_process_uses_is_its_own() -> None:
    before = cpu_time()
    if before is None:
        pytest.skip("this system does not say how its cores spend their time")
    until = time.process_time() + 0.1
    while time.process_time() < until:
        pass
    now = cpu_time()
    assert now is not None
    assert 0.08 <= now.own - before.own <= 1.0
    assert now.total >= now.busy
    assert now.total > before.total
