"""The progress of a reproduction, drawn: jobs done, the remaining time, and what is at work."""

import shutil
import sys
import time
from typing import TextIO

from leantta.reproduce.request import duration
from leantta.reproduce.schedule import Status


class Board:
    """A line that is redrawn on a terminal, and written every ten seconds elsewhere."""

    def __init__(self, stream: TextIO | None = None) -> None:
        self.stream = stream or sys.stderr
        self.redraws = self.stream.isatty()
        self.started = time.monotonic()
        self.drawn: float | None = None

    def __call__(self, status: Status) -> None:
        """Show how far it is."""
        now = time.monotonic()
        finished = not status.active
        if not finished and self.drawn is not None and now - self.drawn < (0.1 if self.redraws else 10):
            return
        self.drawn = now
        text = line(status, now - self.started)
        if self.redraws:
            width = shutil.get_terminal_size().columns - 1
            self.stream.write(f"\r{text[:width]}\x1b[K" + ("\n" if finished else ""))
        else:
            self.stream.write(f"{text}\n")
        self.stream.flush()

    def close(self) -> None:
        """Leave the line that is redrawn, so that what follows has its own."""
        if self.redraws and self.drawn is not None:
            self.stream.write("\n")


def line(status: Status, elapsed_seconds: float) -> str:
    """Return the status in a line."""
    head = f"{status.done} of {status.total} jobs"
    if not status.active:
        return f"{head}, {duration(elapsed_seconds)}"
    at_work = "; ".join(f"{each.job.name} {100 * each.share:.0f} %" for each in status.active)
    return f"{head}, about {duration(status.remaining_seconds)} left: {at_work}"
