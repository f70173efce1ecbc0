"""How freed memory is kept in a process that fits a model: maps of the same sizes come again and again.

The C library of Linux gives each map above some size back to the system and asks for it anew, and the system
fills it with zeros each time. That takes a third of the time of a network on large images.
"""

import ctypes
import os
import sys

LARGE, KEPT = 32 * 1024 * 1024, 64 * 1024 * 1024
"""Bytes: blocks up to the first are kept when freed, while no more than the second is free at the end."""

_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3  # as malloc.h of glibc has them
SAID = ("MALLOC_MMAP_THRESHOLD_", "MALLOC_TRIM_THRESHOLD_", "GLIBC_TUNABLES")
"""Variables by which people say it themselves."""


def keep_blocks(large: int = LARGE, kept: int = KEPT) -> bool:
    """Let this process keep freed maps; tell whether it does. Commands call it: it is for a whole process."""
    if sys.platform != "linux" or any(name in os.environ for name in SAID):
        return False
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)  # another C library may have none
    return mallopt is not None and bool(mallopt(_MMAP_THRESHOLD, large) and mallopt(_TRIM_THRESHOLD, kept))
