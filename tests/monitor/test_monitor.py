"""The monitor over streams: how often it is wrong, how soon it sees, and when it is over."""

from collections.abc import Sequence

import numpy as np
import pytest

from leantta.errors import SettingError
from leantta.monitor.monitor import Event, Monitor
from leantta.runtime.session import load
from runtime.artifacts import artifact

IMAGES = 500


def events(monitor: Monitor, shifts: Sequence[float]) -> list[Event]:
    return [event for shift in shifts if (event := monitor.see(shift)) is not None]


def test_false_alarms_stay_below_the_stated_rate() -> None:
    random, rate, inputs, alarms = np.random.default_rng(1), 1e-3, 1000, 0
    for _ in range(100):
        limit = np.sort(random.random(IMAGES))[int(np.ceil(0.99 * (IMAGES - 1)))]
        found = events(Monitor(images=IMAGES, false_alarms=rate), random.random(inputs) / limit)
        alarms += sum(event.kind == "alarm" for event in found)
    assert 0 < alarms <= 100 * inputs * rate


def test_drift_is_seen_soon_and_its_end_too() -> None:
    random = np.random.default_rng(2)
    calm, shifted = random.random(300) * 0.9, 0.9 + random.random(100)
    found = events(Monitor(images=IMAGES), [*calm, *shifted, *calm])
    assert [event.kind for event in found] == ["alarm", "recovery"]
    assert 300 < found[0].input < 310
    assert 400 < found[1].input <= 425


def test_a_weak_drift_is_seen_by_a_long_window_alone() -> None:
    shifts = [2.0 if number % 15 == 0 else 0.5 for number in range(1, 1000)]  # 7 % instead of 1 %
    assert not events(Monitor(images=IMAGES, windows=[25]), shifts)
    assert [event.inputs > 100 for event in events(Monitor(images=IMAGES), shifts)] == [True]


def test_an_alarm_is_told_once() -> None:
    assert len(events(Monitor(images=IMAGES), [5.0] * 200)) == 1


def test_it_says_which_layers_moved_the_most() -> None:
    monitor = Monitor(images=IMAGES)
    for _ in range(60):
        assert monitor.see(0.1, {"first": 1.0, "last": 2.0}) is None
    told = [event for _ in range(20) if (event := monitor.see(4.0, {"first": 5.0, "last": 3.0}))]
    assert list(told[0].moved.items()) == [("first", pytest.approx(5.0)), ("last", pytest.approx(1.5))]
    assert "first 5.0 x" in str(told[0])


def test_what_is_no_number_is_shifted() -> None:
    assert [event.kind for event in events(Monitor(images=IMAGES), [float("nan")] * 10)] == ["alarm"]


def test_reset_forgets() -> None:
    random = np.random.default_rng(3)
    shifts = [*random.random(80), *(1 + random.random(20))]
    monitor = Monitor(images=IMAGES)
    first = events(monitor, shifts)
    monitor.reset()
    assert events(monitor, shifts) == first


def test_it_is_made_of_a_file(tmp_path) -> None:
    with load(artifact(tmp_path / "a.onnx")) as session:
        assert session.info.shift is not None
        assert Monitor.of(session.info).images == session.info.shift.images
    with load(artifact(tmp_path / "b.onnx", adapts=False)) as session, pytest.raises(SettingError):
        Monitor.of(session.info)


@pytest.mark.parametrize(
    "wrong",
    [
        {"images": 0},
        {"windows": (1,)},
        {"windows": (5000,)},
        {"false_alarms": 0},
        {"false_alarms": 0.5},
        {"images": 1},
    ],
)
def test_numbers_that_cannot_be_are_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(SettingError):
        Monitor(**{"images": IMAGES, **wrong})  # type: ignore[arg-type]
