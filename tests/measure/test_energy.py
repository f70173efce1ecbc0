"""Energy from real files that count up, and no number where there is no sensor."""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from leantta.measure.energy import (
    Block,
    PowerSensor,
    Rapl,
    energy_mj,
    find_meter,
    idle_watts,
    measure_block,
)


def write(path: Path, value: object) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_suffix(".part")
    part.write_text(f"{value}\n")
    part.replace(path)  # a reader never finds it empty


def rapl(root: Path, number: int, energy_uj: int, limit: int = 10**9) -> Path:
    domain = root / "class" / "powercap" / f"intel-rapl:{number}"
    for name, value in (
        ("name", f"package-{number}"),
        ("energy_uj", energy_uj),
        ("max_energy_range_uj", limit),
    ):
        write(domain / name, value)
    write(domain / f"intel-rapl:{number}:0" / "energy_uj", 1)  # a part of it, which must not count twice
    return domain


@contextmanager
def counting_up(file: Path, watts: float) -> Iterator[None]:
    """Let a counter grow as a machine's does that uses so much power."""
    stop = threading.Event()
    started, first = time.perf_counter(), int(file.read_text())

    def count() -> None:
        while not stop.wait(0.001):
            write(file, first + int(watts * 1e6 * (time.perf_counter() - started)))

    thread = threading.Thread(target=count)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()


def test_a_counter_gives_the_energy_of_calls(tmp_path: Path) -> None:
    domain = rapl(tmp_path, 0, 5_000_000)
    meter = find_meter(tmp_path)
    assert isinstance(meter, Rapl)
    assert meter.name == "RAPL package-0"
    with counting_up(domain / "energy_uj", watts=20.0):
        block = measure_block(meter, lambda: time.sleep(0.01), seconds=0.4)
        idle = idle_watts(meter, seconds=0.2)
    assert 10 <= block.calls <= 40
    assert block.joules == pytest.approx(20.0 * block.seconds, rel=0.2)
    assert idle == pytest.approx(20.0, rel=0.25)
    assert energy_mj(block, idle=10.0) == pytest.approx(10.0 * block.seconds / block.calls * 1e3, rel=0.4)


def test_packages_are_summed_and_a_full_counter_begins_again(tmp_path: Path) -> None:
    first, second = rapl(tmp_path, 0, 900, limit=1000), rapl(tmp_path, 1, 0)
    meter = find_meter(tmp_path)
    assert isinstance(meter, Rapl)
    write(first / "energy_uj", 950)
    meter.tick()
    write(first / "energy_uj", 30)  # 50 up to the end, 30 after it
    write(second / "energy_uj", 7)
    assert meter.joules() == pytest.approx((50 + 80 + 7) * 1e-6)
    meter.start()
    assert meter.joules() == 0.0


def hwmon(root: Path, name: str, **values: int) -> Path:
    folder = root / "class" / "hwmon" / "hwmon0"
    write(folder / "name", name)
    for file, value in values.items():
        write(folder / file, value)
    return folder


@pytest.mark.parametrize(
    "values",
    [{"power1_input": 3_000_000}, {"curr1_input": 600, "in1_input": 5_000}],
    ids=["power", "current"],
)
def test_a_power_sensor_is_summed_over_time(tmp_path: Path, values: dict[str, int]) -> None:
    folder = hwmon(tmp_path, "ina219", **values)
    meter = find_meter(tmp_path)
    assert isinstance(meter, PowerSensor)
    assert meter.name == "ina219"
    block = measure_block(meter, lambda: time.sleep(0.002), seconds=0.1)
    assert block.joules == pytest.approx(3.0 * block.seconds, rel=0.02)
    now = [0.0]
    meter = PowerSensor(folder, clock=lambda: now[0])
    now[0] = 2.0
    for file in values:
        write(folder / file, values[file] * 3 if file != "in1_input" else values[file])
    meter.tick()  # from 3 W to 9 W in two seconds
    now[0] = 3.0
    assert meter.joules() == pytest.approx(2 * 6.0 + 9.0)


def test_without_a_sensor_there_is_a_reason_and_no_number(tmp_path: Path) -> None:
    assert find_meter(tmp_path) == (
        f"no RAPL counter and no power sensor (INA219 or alike) in {tmp_path}/class"
    )
    hwmon(tmp_path, "amdgpu", power1_input=40_000_000)  # measures something else
    assert isinstance(find_meter(tmp_path), str)
    domain = rapl(tmp_path, 0, 5)
    (domain / "energy_uj").unlink()
    (domain / "energy_uj").mkdir()  # cannot be read
    found = find_meter(tmp_path)
    assert isinstance(found, str)
    assert "RAPL cannot be read" in found


def test_the_idle_machine_does_not_count() -> None:
    assert energy_mj(Block(calls=10, seconds=1.0, joules=7.0), idle=5.0) == pytest.approx(200.0)
