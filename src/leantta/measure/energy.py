"""Energy of predictions, where the machine can measure it: read from Linux's sysfs.

| source | files | what is read |
|---|---|---|
| RAPL | class/powercap/*-rapl:N/energy_uj | energy that a processor package has used so far, in uJ |
| sensor | class/hwmon/hwmonN/power1_input, or curr1_input and in1_input | power now: uW, or mA and mV |

Only sensors that are known to sit in a supply line are taken (INA219 and its family): another one may
measure something else, and no number is better than a wrong one.
"""

import math
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

SYSFS = Path("/sys")

SENSORS = tuple(f"ina{number}" for number in (209, 219, 220, 226, 230, 231, 233, 238, 260, 3221))
"""Names by which Linux knows power sensors of supply lines."""

SAMPLE_SECONDS = 0.005
"""How often a power sensor is read, at most: reading takes about a millisecond on a slow bus."""


class Meter:
    """Measures the energy of a while: `start`, then `tick` now and then, then `joules`."""

    name: str

    def start(self) -> None:
        """Begin."""
        self.used, self.last = 0.0, self._read()

    def tick(self) -> None:
        """Add what was used since the last look."""
        now = self._read()
        self.used += self._between(self.last, now)
        self.last = now

    def joules(self) -> float:
        """Return the energy since the start."""
        Meter.tick(self)  # whether it is time or not
        return self.used

    def _read(self) -> Any:
        """Return what the machine shows now."""
        raise NotImplementedError

    def _between(self, before: Any, after: Any) -> float:
        """Return the energy in J between two looks."""
        raise NotImplementedError


class Rapl(Meter):
    """The counters of processor packages; they begin again at 0 when they are full, perhaps each minute."""

    def __init__(self, domains: list[Path]) -> None:
        self.domains = domains
        self.name = "RAPL " + ", ".join((domain / "name").read_text().strip() for domain in domains)
        self.limits = [int((domain / "max_energy_range_uj").read_text()) for domain in domains]
        self.start()

    def _read(self) -> list[int]:
        return [int((domain / "energy_uj").read_text()) for domain in self.domains]

    def _between(self, before: list[int], after: list[int]) -> float:
        counters = zip(before, after, self.limits, strict=True)
        return sum(new - old if new >= old else new + limit - old for old, new, limit in counters) / 1e6


class PowerSensor(Meter):
    """A sensor in the supply line: power, or current and voltage, summed over time."""

    def __init__(self, folder: Path, clock: Callable[[], float] = time.perf_counter) -> None:
        self.folder, self.clock = folder, clock
        self.name = (folder / "name").read_text().strip()
        self.files = ("power1_input",) if (folder / "power1_input").exists() else ("curr1_input", "in1_input")
        self.start()

    def tick(self) -> None:
        """Read the power, unless it was read a moment ago."""
        if self.clock() - self.last[0] >= SAMPLE_SECONDS:
            super().tick()

    def _read(self) -> tuple[float, float]:
        micro = math.prod(int((self.folder / name).read_text()) for name in self.files)  # uW, or mA times mV
        return self.clock(), micro / 1e6

    def _between(self, before: tuple[float, float], after: tuple[float, float]) -> float:
        return (after[0] - before[0]) * (before[1] + after[1]) / 2


def find_meter(sysfs: Path = SYSFS) -> Meter | str:
    """Return what can measure energy here, or the reason why nothing can."""
    refused = ""
    domains = [
        domain
        for domain in sorted((sysfs / "class" / "powercap").glob("*-rapl:*"))
        if domain.name.count(":") == 1 and (domain / "energy_uj").exists()  # inner ones are parts of these
    ]
    sensors = [
        folder
        for folder in sorted((sysfs / "class" / "hwmon").glob("hwmon*"))
        if _name(folder) in SENSORS and _has_power(folder)
    ]
    try:
        if domains:
            return Rapl(domains)
    except PermissionError:
        refused = f"only root may read {domains[0] / 'energy_uj'}"
    except (OSError, ValueError) as e:
        refused = f"RAPL cannot be read: {e}"
    try:
        if sensors:
            return PowerSensor(sensors[0])
    except (OSError, ValueError) as e:
        refused = f"the power sensor {sensors[0]} cannot be read: {e}"
    return refused or f"no RAPL counter and no power sensor (INA219 or alike) in {sysfs}/class"


def _name(folder: Path) -> str:
    file = folder / "name"
    return file.read_text().strip() if file.exists() else ""


def _has_power(folder: Path) -> bool:
    pair = (folder / "curr1_input").exists() and (folder / "in1_input").exists()
    return pair or (folder / "power1_input").exists()


class Block(NamedTuple):
    """A block of calls: how many, for how long, with how much energy in all."""

    calls: int
    seconds: float
    joules: float


def measure_block(meter: Meter, call: Callable[[], object], seconds: float) -> Block:
    """Return what calls for that long use, one after another."""
    meter.start()
    started = time.perf_counter()
    calls = 0
    while True:
        call()
        calls += 1
        meter.tick()
        if time.perf_counter() - started >= seconds:
            joules = meter.joules()
            return Block(calls, time.perf_counter() - started, joules)


def idle_watts(meter: Meter, seconds: float) -> float:
    """Return the power of the machine while nothing is called."""
    block = measure_block(meter, lambda: time.sleep(2 * SAMPLE_SECONDS), seconds)
    return block.joules / block.seconds


def energy_mj(block: Block, idle: float) -> float:
    """Return the energy of one call in mJ, less what the machine uses anyway.

    >>> energy_mj(Block(calls=100, seconds=2.0, joules=5.0), idle=1.5)
    20.0
    """
    return (block.joules - idle * block.seconds) / block.calls * 1e3
