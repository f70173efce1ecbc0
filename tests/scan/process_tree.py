"""Processes that a test started, and all that those started: to kill some of them, and nobody else's."""

import os
import signal
from contextlib import suppress
from pathlib import Path


def below(pid: int) -> list[int]:
    """The process and all that came from it, as far as they still know."""
    parents = {}
    for each in Path("/proc").iterdir():
        if each.name.isdigit():
            with suppress(OSError, IndexError):
                parents[int(each.name)] = int((each / "stat").read_text().rpartition(")")[2].split()[1])
    own = {pid}
    while more := {child for child, parent in parents.items() if parent in own} - own:
        own |= more
    return sorted(own)


def actors(pid: int) -> list[int]:
    """Those of them that do chunks."""
    return [each for each in below(pid) if title(each).startswith("ray::Actor")]


def title(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode()
    except OSError:
        return ""


def kill(pids: list[int]) -> None:
    for pid in pids:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
