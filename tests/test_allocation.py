"""Keeping freed blocks: the system is asked for a large map once, unless people say otherwise."""

import os
import subprocess
import sys

import pytest

from leantta.allocation import SAID

PROGRAM = """
import resource, sys
import numpy as np
from leantta.allocation import keep_blocks
print(keep_blocks(*map(int, sys.argv[1:])))
np.ones(1 << 21)  # 16 MB
before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
for _ in range(20):
    np.ones(1 << 21)
print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
"""

pytestmark = pytest.mark.skipif(
    sys.platform != "linux" or "glibc" not in "".join(os.confstr("CS_GNU_LIBC_VERSION") or ""),
    reason="it is a matter of glibc",
)


def faults(*sizes: int, **said: str) -> tuple[str, int]:
    """Return whether a process keeps blocks, and how many pages it asks for to make one map 20 times."""
    others = {name: value for name, value in os.environ.items() if name not in SAID}
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, *map(str, sizes)], capture_output=True, text=True, env=others | said
    )
    kept, count = done.stdout.split()
    return kept, int(count)


def test_a_map_is_asked_for_once_unless_people_say_otherwise() -> None:
    kept, few = faults()
    stays, many = faults(MALLOC_MMAP_THRESHOLD_="1000000")
    assert (kept, stays) == ("True", "False")
    assert 4 * few < many


def test_larger_maps_than_asked_for_are_not_kept() -> None:
    small, many = faults(1 << 20, 1 << 30)
    large, few = faults(1 << 30, 1 << 30)
    assert (small, large) == ("True", "True")
    assert 4 * few < many
