"""Progress of long work, drawn by the caller: library code only says how far it is."""

import sys
import time
from collections.abc import Callable
from typing import TextIO

Progress = Callable[[int, int], None]
"""Called with (done, total) as the work goes on."""

Progresses = Callable[[str], Progress]
"""Gives the progress of each piece of the work by its label."""


def silent(done: int, total: int) -> None:
    """Draw nothing."""


class Bar:
    """A progress bar with the remaining time: redrawn on a terminal, a line every ten seconds elsewhere.

    Used as a `Progress`, one for each piece of work: `evaluate(..., progress=Bar("resnet18 none"))`.
    """

    def __init__(self, label: str, stream: TextIO | None = None, *, unit: str = "") -> None:
        self.label = label
        self.unit = unit  # of what is done; if it is said, the rate is shown
        self.stream = stream or sys.stderr
        self.redraws = self.stream.isatty()
        self.started = self.drawn = time.monotonic()

    def __call__(self, done: int, total: int) -> None:
        """Show that `done` of `total` is finished."""
        now = time.monotonic()
        finished = done >= total
        if not finished and now - self.drawn < (0.1 if self.redraws else 10):
            return
        self.drawn = now
        spent = now - self.started
        rest = (
            _duration(spent)
            if finished
            else f"{_duration(spent / done * (total - done))} left"
            if done
            else "..."
        )
        if self.unit:
            rest = f"{done / max(spent, 1e-9):,.0f} {self.unit}/s  {rest}"
        filled = 24 * done // max(total, 1)
        bar = f"{self.label}  [{'#' * filled}{'.' * (24 - filled)}] {done}/{total}  {rest}"
        end = "\n" if finished or not self.redraws else ""
        self.stream.write(f"\r{bar}\x1b[K{end}" if self.redraws else f"{bar}{end}")
        self.stream.flush()


def _duration(seconds: float) -> str:
    """Return a time as a person says it.

    >>> _duration(59.6), _duration(600), _duration(100_000)
    ('60 s', '10 min', '1 d 4 h')
    """
    if seconds < 600:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    if minutes < 60:
        return f"{minutes} min"
    if minutes < 1440:
        return f"{minutes // 60} h {minutes % 60} min"
    return f"{minutes // 1440} d {round(minutes % 1440 / 60)} h"
