"""Freed memory stays with the process: after some turns it is taken again without new pages."""

import platform
import subprocess
import sys

import pytest

COUNT = """
import resource, sys, torch
from leantta_lab.training.kept_memory import keep_freed_memory
if sys.argv[1] == "kept":
    assert keep_freed_memory()
seen = []
for _ in range(24):
    piece = torch.ones(16_000_000)
    seen.append(resource.getrusage(resource.RUSAGE_SELF).ru_minflt)
    del piece
print(seen[-1] - seen[-6])
"""


def faults(how: str) -> int:
    done = subprocess.run([sys.executable, "-c", COUNT, how], capture_output=True, text=True, check=True)
    return int(done.stdout)


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="only glibc hands memory back so eagerly")
def test_freed_memory_is_not_handed_back() -> None:
    assert faults("kept") < 100 < faults("as it is")
