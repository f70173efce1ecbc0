"""Run an attack in a process of its own and count what came of it: crashes and hangs are answers, too."""

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

TESTS = Path(__file__).parents[1]
HANG_SECONDS = 60.0
"""For one input; usual ones take some milliseconds."""
MOST_FAULTS = 20
"""An attack with more of them has shown enough."""


@dataclass
class Tally:
    """How the inputs of an attack ended."""

    answered: int = 0
    refused: int = 0
    slowest_ms: float = 0
    faults: dict[int, str] = field(default_factory=dict)  # by the number of the input

    @property
    def inputs(self) -> int:
        return self.answered + self.refused + len(self.faults)

    def add(self, line: str) -> int:
        """Count a line of the child; return the number of its input."""
        number, taken, ending = line.split(" ", 2)
        self.slowest_ms = max(self.slowest_ms, float(taken))
        if ending == "answered":
            self.answered += 1
        elif ending == "refused":
            self.refused += 1
        else:
            self.faults[int(number)] = ending
        return int(number)


def attacked(
    name: str, first: int, end: int, *, module: str = "hostile.table", hang_seconds: float = HANG_SECONDS
) -> Tally:
    """Give the inputs from `first` to `end`; after a crash or a hang it goes on with the next one."""
    tally = Tally()
    at = first
    while at < end and len(tally.faults) < MOST_FAULTS:
        with tempfile.TemporaryDirectory() as folder:
            told = Path(folder) / "told"
            how = _watched([name, str(at), str(end), str(told), module], told, hang_seconds)
            lines = told.read_text().splitlines() if told.exists() else []
            assert lines, f"the attack {name} did not begin: {how}"
            for line in _whole(lines[1:]):
                at = tally.add(line) + 1
        if at < end:
            tally.faults[at] = f"fault: {how}"
            at += 1
    return tally


def _whole(lines: list[str]) -> Iterator[str]:
    return (line for line in lines if line.count(" ") >= 2)


def _watched(words: list[str], told: Path, hang_seconds: float) -> str:
    """Run the child until it ends or writes nothing for long; return how it ended."""
    path = os.pathsep.join([str(TESTS), os.environ.get("PYTHONPATH", "")])
    said = told.with_name("said")
    with said.open("wb") as file:
        process = subprocess.Popen(
            [sys.executable, "-X", "faulthandler", "-m", "hostile.child", *words],
            env={**os.environ, "PYTHONPATH": path, "OMP_NUM_THREADS": "1"},
            stdout=subprocess.DEVNULL,
            stderr=file,
        )
        size, since = -1, time.monotonic()
        while True:
            try:
                process.wait(0.5)
                break
            except subprocess.TimeoutExpired:
                now = told.stat().st_size if told.exists() else -1
                if now != size:
                    size, since = now, time.monotonic()
                elif time.monotonic() - since > hang_seconds:
                    process.kill()
                    process.wait()
                    return f"no end after {hang_seconds:g} seconds"
    if process.returncode:
        return f"the process ended with {process.returncode}: {said.read_text(errors='replace')[-300:]}"
    return "the process ended early"
