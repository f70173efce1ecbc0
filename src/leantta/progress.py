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

    def __init__(self, label: str, stream: TextIO | None = None) -> None:
        self.label = label
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
            f"{spent:.0f} s" if finished else f"{spent / done * (total - done):.0f} s left" if done else "..."
        )
        filled = 24 * done // max(total, 1)
        bar = f"{self.label}  [{'#' * filled}{'.' * (24 - filled)}] {done}/{total}  {rest}"
        end = "\n" if finished or not self.redraws else ""
        self.stream.write(f"\r{bar}\x1b[K{end}" if self.redraws else f"{bar}{end}")
        self.stream.flush()
